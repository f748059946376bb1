# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# For the scripts that run in the guest. They only produce facts, files in /out; the Rust tests judge them.

OUT=/out
mkdir -p $OUT
CPUS=$(nproc --all)
TRACING=/sys/kernel/tracing
LOADS=()
set -m # every background job is a process group of its own
chrt -f -p 1 $$ # loads must not slow down what watches them; they and the scheduler get the ordinary policy back

note() { printf '%s\n' "${*:2}" >"$OUT/$1"; }

# Runs a command; its output and status are facts: NAME and NAME.status.
try() {
	local status=0
	"${@:2}" >"$OUT/$1" 2>&1 || status=$?
	note "$1.status" $status
}

state() { cat /sys/kernel/sched_ext/state; }

give_up() {
	echo "guest: $*"
	note gave_up "$*"
	exit 90
}

# Waits up to two minutes: loading takes long in emulation.
wait_state() {
	local i
	for ((i = 0; i < 1200; i++)); do
		[[ $(state) == "$1" ]] && return
		[[ -z $PLACE || -d /proc/$PLACE ]] || return
		sleep 0.1
	done
}

# Starts the scheduler; its messages are the fact "log".
start() {
	chrt -o 0 scx_place "$@" >>$OUT/log 2>&1 &
	PLACE=$!
	wait_state enabled
	[[ $(state) == enabled ]] || give_up "scx_place $* was not attached: $(tail -n 3 $OUT/log)"
}

# Ends the scheduler with a signal; NAME.status is its status, NAME.state the kernel's afterwards.
stop() {
	local status=0
	kill "-$2" "$PLACE"
	wait "$PLACE" || status=$?
	PLACE=''
	note "$1.status" $status
	note "$1.state" "$(state)"
}

stats() { scx_place stats --json >"$OUT/$1.stats"; }
switch() { try "$1.set" scx_place policy set --json "${@:2}"; }

# Emulated CPUs take turns of up to 100 ms: what has to go from one to the other waits for all that are busy.  Those
# who switch policies many times stay on one CPU, the last, which loads must leave alone.
gather() {
	taskset -acp $((CPUS - 1)) "$PLACE" >/dev/null
	taskset -cp $((CPUS - 1)) $$ >/dev/null
}

# The processes whose name matches.
processes() {
	local folder name
	for folder in /proc/[0-9]*; do
		read -r name 2>/dev/null <"$folder/comm" && [[ $name =~ $1 ]] && echo "${folder#/proc/}"
	done
}

# The threads of a process.
threads() { (cd "/proc/$1/task" && echo *); }

# Runs a command in the background until quiet.
load() {
	chrt -o 0 "$@" >/dev/null 2>&1 &
	LOADS+=($!)
}

# Ends all loads and whatever they started.
quiet() {
	local group
	for group in "${LOADS[@]}"; do kill -KILL -- "-$group" 2>/dev/null; done
	wait "${LOADS[@]}" 2>/dev/null
	LOADS=()
}

# Starts a command on a CPU that it may leave.
on_cpu() { load taskset -c "$1" taskset -c "0-$((CPUS - 1))" "${@:2}"; }

# A task that never sleeps, bound to a CPU.
hog() { load taskset -c "$1" bash -c 'while :; do :; done'; }

# One hackbench, two tasks a pair, until it is ended.
bench() { on_cpu "$1" hackbench -l 100000000 -s 32 -g 1 -f "$2"; }

trace_on() {
	local event
	echo 0 >$TRACING/tracing_on
	echo 16384 >$TRACING/buffer_size_kb
	echo >$TRACING/trace
	for event in "$@"; do echo 1 >"$TRACING/events/sched/$event/enable"; done
	echo 1 >$TRACING/tracing_on
}

trace_off() {
	echo 0 >$TRACING/tracing_on
	echo 0 >$TRACING/events/sched/enable
	cat $TRACING/trace >"$OUT/$1.trace"
	echo >$TRACING/trace
}

# The record that bpftool shows of the program behind select_cpu.
select_cpu_program() {
	bpftool -j prog show | sed 's/},{/}\n{/g' | grep '"place_select_cpu"' >"$OUT/$1.program"
}

# The counters before and after the run count, so that it must lie between them.
bracket() {
	stats "$1.before"
	select_cpu_program "$1"
	stats "$1.after"
}

# Every value of every axis and the bounds of every parameter: lines "axis NAME VALUE" and "param NAME MIN MAX".
settings() {
	scx_place policy list --json | awk -F'"' '
		/^      "name"/ { axis = $4 }
		/^      "(params|values)"/ { kind = $2 }
		/^          "(min|max)"/ { split($3, number, /[^0-9]+/); bound[$2] = number[2] }
		/^          "name"/ && kind == "values" { print "axis", axis, $4 }
		/^          "name"/ && kind == "params" { print "param", $4, bound["min"], bound["max"] }'
}

# Reads them once, and later sets ITEMS to one to four settings of random value.
read_settings() { mapfile -t SETTINGS < <(settings); }
random_items() {
	local -A chosen=()
	local i kind name first last
	for ((i = RANDOM % 4; i >= 0; i--)); do
		read -r kind name first last <<<"${SETTINGS[RANDOM % ${#SETTINGS[@]}]}"
		[[ $kind == axis ]] || first=$((first + (RANDOM * 32768 + RANDOM) % (last - first + 1)))
		chosen[$name]=$first
	done
	ITEMS=()
	for name in "${!chosen[@]}"; do ITEMS+=("$name=${chosen[$name]}"); done
}
