# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# One phase for each relation between a rule and what it may do. Arguments: of the scheduler.

. /guest/lib.sh

# Light: three CPUs have a pair of tasks; the others stay idle unless a rule uses them.
light() { for cpu in 0 2 $((CPUS / 2)); do bench $cpu 1; done; }
# Heavy: the first cache, of eight CPUs in each machine, is full.
heavy() { for ((cpu = 0; cpu < 8; cpu++)); do bench $cpu 1; done; }

# A phase: a policy, some seconds of the load that runs, what was counted.
phase() {
	switch "$1" "${@:3}"
	sleep "$2"
	stats "$1"
}

start "$@"

# Nothing but wakeups can move a task here, and these must not.
switch settle idle_search=none affine=off balance=off
light
sleep 3
trace_on sched_waking sched_wakeup sched_migrate_task
switch none_off wa_idle=0
sleep 2
stats none_off
trace_off none_off

switch none_always affine=always
sleep 1
trace_on sched_waking sched_wakeup sched_migrate_task
sleep 2
trace_off none_always
stats none_always

phase none_wa 2 affine=wa_414 wa_idle=1 balance=newidle
phase sis_light 3 idle_search=sis_modern
quiet
switch settle_heavy idle_search=none affine=off balance=off
heavy
sleep 3
phase sis_heavy 3 idle_search=sis_modern affine=wa_414
quiet

# Every core of the first cache half busy, and the one with the sleeper busy altogether: CPU 2 is the nearest idle one.
switch settle_half idle_search=none affine=off balance=off
for cpu in 0 1 3 5 7; do hog $cpu; done
on_cpu 1 bash /guest/sleeper.sh 1000
SLEEPER=${LOADS[-1]}
sleep 3
half() {
	local i
	taskset -cp 1 "$SLEEPER" >/dev/null
	sleep 0.5
	taskset -cp "0-$((CPUS - 1))" "$SLEEPER" >/dev/null
	switch "$1" "idle_search=$2"
	for ((i = 0; i < 4; i++)); do
		sleep 1
		note "$1.cpu" "$(cut -d ' ' -f 39 "/proc/$SLEEPER/stat")"
	done
	stats "$1"
}
half half_46 mainline_46
half half_sis sis_modern
quiet
stop term TERM
