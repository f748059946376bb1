# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# A machine of any size under tasks that mostly sleep. Arguments: CPUs to take offline before the scheduler starts.

. /guest/lib.sh

for cpu in "$@"; do echo 0 >"/sys/devices/system/cpu/cpu$cpu/online"; done
sysctl -q kernel.bpf_stats_enabled=1
try topology scx_place topology --json
start --verify-slots --policy fork=v48
note ops "$(cat /sys/kernel/sched_ext/root/ops)"
ONLINE=$(nproc)
for ((i = 0; i < ONLINE && i < 40; i++)); do load bash /guest/sleeper.sh 600; done
for rule in idle_search=mainline_46 idle_search=mason_pkg idle_search=sis_prop affine=v46 fork=v612 affine=always \
	idle_search=sis_modern; do
	switch rule $rule
	sleep 1
done
note state "$(state)"
quiet
sleep 1
bracket machine
stop int INT
