# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The utilisation of a CPU of which one task wants about a half, and the kernel's own count of that task's run time. To be
# run with the clock of instructions: there, emulated CPUs take turns that are short against what is measured.

. /guest/lib.sh

READINGS=40
DUTY_CPU=0

start
gather
load taskset -c $DUTY_CPU bash /guest/duty.sh
sleep 2
DUTY=$(processes bash | while read -r task; do
	grep -q '^bash /guest/duty.sh' < <(tr '\0' ' ' 2>/dev/null <"/proc/$task/cmdline") && echo "$task"
done)
# Run time in ns, and the time in us.
ran() { note "duty.$1" "$(cut -d' ' -f1 "/proc/$DUTY/schedstat") ${EPOCHREALTIME/[.,]/}"; }
ran before
for ((i = 0; i < READINGS; i++)); do
	stats duty$i
	sleep 0.0$((RANDOM % 90 + 10))
done
ran after
quiet
stop int INT
