# shellcheck shell=bash
# Long steps of tools/demo and tools/test: each has a name, a log, a sign of life while it runs, and at its end a line
# with its time. The caller sets STEP_LOGS, the folder for the logs.

STEP_NAMES=() STEP_RESULTS=() STEP_SECONDS=()
STEP_WIDTH=100
STEP_PID=0
STEP_PULSE=10 # seconds between two signs of life where the output is no terminal
STEP_SHOWN=150 # lines of a failed step's log that are shown, each cut where a value fills pages

# rustup and non-login shells often leave the tool chain off the PATH.
command -v cargo >/dev/null || PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH
export CARGO_TERM_COLOR=never CARGO_TERM_PROGRESS_WHEN=never

step_log() { printf '%s/%s.log\n' "$STEP_LOGS" "${1//[^A-Za-z0-9._-]/-}"; }

# What the running step said last, on one line.
step_last_line() {
	tail -c 2000 -- "$1" | tr '\r' '\n' | sed 's/\x1b\[[0-9;]*[A-Za-z]//g; s/^[[:space:]]*//; /^$/d' | tail -n 1
}

# One line on a terminal that the next one overwrites; elsewhere a line now and then.
step_pulse() {
	local seconds=$1 log=$2 line
	line=$(printf '  %-28s %5d s  %s' "$STEP_NAME" "$seconds" "$(step_last_line "$log")")
	line=${line:0:STEP_WIDTH}
	if [[ -t 1 ]]; then
		printf '\r\033[K%s' "${line%%[[:space:]]}"
	elif ((seconds && seconds % STEP_PULSE == 0)); then
		printf '%s\n' "$line"
	fi
}

# Runs COMMAND as the step NAME, without input, its output in a log. Returns its status.
step() {
	local start=$SECONDS log status=0 result=ok
	STEP_NAME=$1
	shift
	log=$(step_log "$STEP_NAME")
	mkdir -p "$STEP_LOGS"
	: >"$log"
	# A session of its own: an interrupt ends all that the step has started.
	setsid "$@" >"$log" 2>&1 </dev/null &
	STEP_PID=$!
	while kill -0 $STEP_PID 2>/dev/null; do
		step_pulse $((SECONDS - start)) "$log"
		sleep 1
	done
	wait $STEP_PID || status=$?
	STEP_PID=0
	((status == 0)) || result=FAILED
	[[ ! -t 1 ]] || printf '\r\033[K'
	step_record "$STEP_NAME" "$result" $((SECONDS - start))
	((status == 0)) || step_show "$log"
	return $status
}

# Notes a result and prints its line.
step_record() {
	STEP_NAMES+=("$1") STEP_RESULTS+=("$2") STEP_SECONDS+=("$3")
	printf '  %-28s %5d s  %s\n' "$1" "$3" "$2"
}

# The end of a failed step's log.
step_show() {
	printf '%s\n' "---- $1"
	tail -n $STEP_SHOWN -- "$1" | cut -c 1-400
	printf '%s\n' '----'
}

# The result of a step, empty if it was not run.
step_result() {
	local i
	for i in "${!STEP_NAMES[@]}"; do
		[[ ${STEP_NAMES[i]} != "$1" ]] || printf '%s\n' "${STEP_RESULTS[i]}"
	done
}

step_interrupted() {
	((STEP_PID == 0)) || kill -TERM -- -$STEP_PID 2>/dev/null || true
	printf '\ninterrupted\n' >&2
	exit 130
}
trap step_interrupted INT TERM HUP
