# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Faults that emulation hardly ever brings about: claims lost, stale snapshots, policies published late.

. /guest/lib.sh

work() {
	local cpu
	for ((cpu = 0; cpu < CPUS; cpu += 5)); do bench $cpu 1; done
	load stress-ng --fork 1 --affinity 1 --timeout 600
}

sysctl -q kernel.bpf_stats_enabled=1
start --verify-slots --inject lost=2,stale=3,publish=5 --policy fork=v48
read_settings
for ((i = 0; i < 120; i++)); do
	random_items
	echo "${ITEMS[@]}"
done >/tmp/lines
work
for rule in claim=test_and_clear idle_search=mainline_46 idle_search=mason_pkg idle_search=sis_prop claim=test_only; do
	switch "${rule#*=}" $rule
	sleep 2
	stats "${rule#*=}"
done

# Late publications one after the other.
gather
timeout 60 scx_place policy set - </tmp/lines >$OUT/switched 2>&1
note state "$(state)"
quiet
sleep 1
bracket faults
stop int INT
