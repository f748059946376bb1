# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What is measured under load: latencies by the level, what tasks leave behind, the longest wait.

. /guest/lib.sh

benches() { for ((cpu = 0; cpu < CPUS; cpu += 2)); do bench $cpu "$1"; done; }

# Off: what was counted stands still under load.
start --stats-level off
try off.level scx_place stats level
benches 1
sleep 1
stats off.before
sleep 3
stats off.after
try off.shadow scx_place shadow affine=off
quiet

# Full, from one idle moment to the next: all wakeups that began have ended.
sleep 3
try full.level scx_place stats level full
sleep 2
stats full.before
benches 2
load stress-ng --fork 1 --timeout 600
load stress-ng --switch 2 --affinity 1 --timeout 600
sleep 8
stats full.busy
quiet
sleep 4
stats full.after
try full.latency scx_place stats --latency
try full.cpus scx_place stats --cpus
cat "$OUT/full.latency" "$OUT/full.cpus"

# No more of it with the level below.
try counters.level scx_place stats level counters
benches 1
sleep 1
stats counters.before
sleep 2
stats counters.after
quiet

# Nice 19 beside 20 of nice 0.
load taskset -c 2 nice -n 19 bash -c 'while :; do :; done'
for ((i = 0; i < 20; i++)); do hog 2; done
sleep 40
stats starved
note starved.state "$(state)"
try starved.overview scx_place stats
quiet

# Churn: affinities, weights, policies, ends.
random_cpus() {
	local first=$((RANDOM % CPUS))
	echo "$first-$((first + RANDOM % (CPUS - first)))"
}
churn() {
	local task=${TASKS[RANDOM % ${#TASKS[@]}]}
	case $((RANDOM % 8)) in
	0) renice $((RANDOM % 40 - 20)) "$task" ;;
	1) chrt --idle -p 0 "$task" ;;
	2) chrt --other -p 0 "$task" ;;
	3) chrt --batch -p 0 "$task" ;;
	4) kill -STOP "$task" && kill -CONT "$task" ;;
	5) ((RANDOM % 8)) || kill -KILL "$task" ;;
	*) taskset -cp "$(random_cpus)" "$task" ;;
	esac
} >/dev/null 2>&1
benches 4
load stress-ng --fork 1 --timeout 600
hog 1
for ((round = 0; round < 4; round++)); do
	sleep 1
	mapfile -t TASKS < <(processes 'hackbench|stress-ng')
	for ((i = 0; i < 100; i++)); do churn; done
	benches 1
done
stats churn.busy
quiet
# Who answers is on the last CPU: a connection's thread is a new task, whose load is not zero.
gather
sleep 6
for ((i = 0; i < 3; i++)); do
	stats churn.idle$i
	sleep 1
done

stop int INT
