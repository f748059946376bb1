# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What happens to a scheduler in the field: CPUs go and come, it is stopped, killed, ended by the kernel, started twice.

. /guest/lib.sh

work() { for ((cpu = 0; cpu < CPUS; cpu += 2)); do bench $cpu 1; done; }

# What a scheduler could leave behind.
left() {
	bpftool prog show | grep place_
	bpftool map show | grep -E 'place_|\.data\.'
	find /run /var/run/scx /sys/fs/bpf -type s -o -path '/sys/fs/bpf/*' ! -name '*.debug' 2>/dev/null
	grep -H . /proc/sys/kernel/{sched,bpf,numa}* /proc/sys/net/core/bpf* 2>/dev/null
	ulimit -a
}

# Waits until the scheduler has been loaded N times altogether.
wait_loads() {
	local i
	for ((i = 0; i < 900; i++)); do
		(($(grep -c 'scheduling on' $OUT/log) >= $1)) && [[ $(state) == enabled ]] && return
		[[ -d /proc/$PLACE ]] || return
		sleep 0.1
	done
}

left >$OUT/left.before
start --policy idle_search=mainline_46
work
switch before affine=always latency_us=12345
sleep 1
stats before

# Away and back under load, each time loaded again.
echo 0 >/sys/devices/system/cpu/cpu5/online
wait_loads 2
try offline.status scx_place status --json
stats offline
echo 1 >/sys/devices/system/cpu/cpu5/online
wait_loads 3
try online.status scx_place status --json
stats online
switch online balance=off

# The program stands still, its scheduler does not.
kill -STOP "$PLACE"
sleep 10
try stopped.status timeout 60 scx_place status
sleep 25
try stopped.hackbench timeout 100 chrt -o 0 hackbench -l 5 -g 1
note stopped.state "$(state)"
kill -CONT "$PLACE"
sleep 1
try continued.status scx_place status --json

# Its socket is gone: it goes on and can be ended.
rm /run/scx_place/control.sock
try removed.policy scx_place policy
note unlinked.state "$(state)"
stop removed INT

# Killed under load: the kernel's scheduler is back, and the next start works.
start
kill -KILL "$PLACE"
wait "$PLACE"
PLACE=''
wait_state disabled
note killed.state "$(state)"
try killed.hackbench timeout 60 chrt -o 0 hackbench -l 5 -g 1
try killed.policy scx_place policy

# Two at once: one of them runs.
chrt -o 0 scx_place >$OUT/first 2>&1 &
FIRST=$!
chrt -o 0 scx_place >$OUT/second 2>&1 &
SECOND=$!
wait_state enabled
for ((i = 0; i < 600; i++)); do
	[[ -d /proc/$FIRST && -d /proc/$SECOND ]] || break
	sleep 0.1
done
note twice.running "$(processes '^scx_place$' | grep -c .)"
note twice.state "$(state)"
try twice.status scx_place status --json
kill -INT $FIRST $SECOND 2>/dev/null
status=0
wait $FIRST || status=$?
note first.status $status
status=0
wait $SECOND || status=$?
note second.status $status

# The kernel ends it.
start
echo S >/proc/sysrq-trigger
status=0
wait "$PLACE" || status=$?
PLACE=''
note sysrq.status $status
note sysrq.state "$(state)"
quiet
try end.hackbench timeout 60 hackbench -l 5 -g 1
left >$OUT/left.after
