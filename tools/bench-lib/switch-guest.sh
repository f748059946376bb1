#!/bin/bash
# The guest's half of "tools/bench switch": runs the ring under each scheduler in turn and writes records.
#
#   switch-guest.sh ROUNDS LOOPS REPEATS PLACE [FLAG...]   PLACE: run, or why there is no scx_place to run
#
# A record is one line of fields parted by tabs; place_bench_report (tools/workloads/src/report.rs) reads them:
#   kernel VERSION | ring SCHEDULER JSON | programs SCHEDULER PLACEMENT before|after JSON | metered SCHEDULER JSON |
#   failed SCHEDULER WHAT | progress TEXT | done
set -u

ROUNDS=$1 LOOPS=$2 REPEATS=$3 PLACE=$4
shift 4
PLACE_FLAGS=("$@")

STATE=/sys/kernel/sched_ext/state
OPS=/sys/kernel/sched_ext/root/ops
# Guest seconds. Loading is instructions too: a large program takes several of these seconds to verify.
START_LIMIT=300
STOP_LIMIT=30
# After boot the kernel still works for a while; idle guest time costs nothing.
QUIET_TIME=5
WARMUP=8

record() {
	local IFS=$'\t'
	printf '%s\n' "$*"
}

progress() { record progress "$*"; }

# What a scheduler's log says of its failure, on one line.
last_words() {
	local text
	text=$(grep -v '^libbpf: .*skipping it' "/tmp/$1.log" | grep -m 1 -i -E 'error|fail|panick' || tail -n 1 "/tmp/$1.log")
	printf '%s' "${text:-it said nothing}" | tr '\t' ' '
}

# A scheduler that failed once is not tried again: one clear failure is enough.
declare -A FAILED=()
fail() {
	record failed "$1" "$2"
	FAILED[$1]=1
}

seconds() {
	local uptime
	read -r uptime _ </proc/uptime
	printf '%s' "${uptime%.*}"
}

in_force() {
	local state ops=''
	read -r state <$STATE
	[[ $state == enabled ]] || return
	read -r ops 2>/dev/null <$OPS
	[[ $ops == "$1"* ]]
}

# Starts a scheduler and waits until it is in force; sets PID, empty for the kernel's own.
start() {
	local scheduler=$1 begin status
	local -a command
	PID=''
	case $scheduler in
	kernel) return 0 ;;
	floor) command=(place_floor) ;;
	place) command=(scx_place "${PLACE_FLAGS[@]}") ;;
	esac
	"${command[@]}" </dev/null >"/tmp/$scheduler.log" 2>&1 &
	PID=$!
	begin=$(seconds)
	until in_force "$scheduler"; do
		if ! kill -0 "$PID" 2>/dev/null; then
			wait "$PID"
			status=$?
			fail "$scheduler" "ended with status $status before it was in force: $(last_words "$scheduler")"
			return 1
		fi
		if (($(seconds) - begin > START_LIMIT)); then
			fail "$scheduler" "not in force after $START_LIMIT s: $(last_words "$scheduler")"
			stop "$scheduler"
			return 1
		fi
		sleep 0.2
	done
}

stop() {
	local scheduler=$1 begin status
	[[ -n $PID ]] || return 0
	kill -TERM "$PID" 2>/dev/null
	begin=$(seconds)
	while kill -0 "$PID" 2>/dev/null; do
		if (($(seconds) - begin > STOP_LIMIT)); then
			kill -KILL "$PID"
			fail "$scheduler" "still there $STOP_LIMIT s after SIGTERM"
			break
		fi
		sleep 0.2
	done
	wait "$PID"
	status=$?
	((status == 0)) || [[ -n ${FAILED[$scheduler]:-} ]] ||
		fail "$scheduler" "ended with status $status: $(last_words "$scheduler")"
	PID=''
}

# Is what is being measured still what runs? A scheduler that the kernel threw out leaves the kernel's own.
still_there() {
	local state
	if [[ $1 == kernel ]]; then
		read -r state <$STATE
		[[ $state == disabled ]] || fail kernel "another scheduler is in force: $(cat $OPS)"
	else
		in_force "$1" || fail "$1" "thrown out by the kernel while it was measured: $(last_words "$1")"
	fi
	[[ -z ${FAILED[$1]:-} ]]
}

# Runs the ring and hands its JSON on as a record, if it belongs to the scheduler it claims to belong to.
measure() {
	local kind=$1 scheduler=$2 placement=$3 json
	if ! json=$(place_ring --tasks 2 --placement "$placement" --loops "$LOOPS" --rounds "$REPEATS" --warmup $WARMUP --json 2>"/tmp/ring.log"); then
		fail "$scheduler" "place_ring $placement: $(tail -n 1 /tmp/ring.log)"
		return 1
	fi
	still_there "$scheduler" || return 1
	record "$kind" "$scheduler" "$json"
}

round() {
	local scheduler placement
	for scheduler in kernel floor place; do
		[[ -z ${FAILED[$scheduler]:-} ]] || continue
		progress "round $1 of $ROUNDS: $scheduler"
		start "$scheduler" || continue
		for placement in same cross; do measure ring "$scheduler" "$placement" || break; done
		stop "$scheduler"
	done
}

programs() { record programs "$1" "$2" "$3" "$(bpftool -j prog show)"; }

# A pass of its own: the meter makes every call longer. The first ring is only a warm-up.
meter() {
	local scheduler=$1 placement
	[[ -z ${FAILED[$scheduler]:-} ]] || return 0
	progress "instructions per call: $scheduler"
	start "$scheduler" || return 0
	place_ring --loops 500 --warmup 0 --rounds 1 >/dev/null 2>&1
	echo 1 >/proc/sys/kernel/bpf_stats_enabled
	for placement in same cross; do
		programs "$scheduler" $placement before
		measure metered "$scheduler" $placement || break
		programs "$scheduler" $placement after
	done
	echo 0 >/proc/sys/kernel/bpf_stats_enabled
	stop "$scheduler"
}

record kernel "$(uname -r)"
sleep $QUIET_TIME
[[ $PLACE == run ]] || fail place "$PLACE"
[[ $PLACE != run ]] || type -P scx_place >/dev/null || fail place 'the guest has no scx_place'
for ((number = 1; number <= ROUNDS; number++)); do round "$number"; done
for metered in floor place; do meter $metered; done
record 'done'
