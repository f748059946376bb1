# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The scheduler's counters beside the kernel's own counts of the same things.

. /guest/lib.sh

# The kernel counts runs of BPF programs only while this is on: for all of the scheduler's life.
sysctl -q kernel.bpf_stats_enabled=1
start
bracket idle

mixed() {
	local cpu
	for ((cpu = 0; cpu < CPUS; cpu += 3)); do bench $cpu 1; done
	load stress-ng --switch 2 --fork 2 --affinity 2 --timeout 600
}

# A histogram by priority tells our tasks from realtime ones, which are not ours to count.  Both counts begin
# and end while next to nothing runs: reading them takes a second under load.
TRIGGER=$TRACING/events/sched/sched_migrate_task
echo 'hist:keys=prio' >$TRIGGER/trigger
stats migrate.before
mixed
for ((i = 0; i < 30; i++)); do
	sleep 2
	(($(sed -n 's/^ *Hits: //p' $TRIGGER/hist) < 1200)) || break
done
quiet
sleep 1
stats migrate.after
cat $TRIGGER/hist >$OUT/migrate.hist
echo '!hist:keys=prio' >$TRIGGER/trigger

# Every rule's branches count their part of the runs.
mixed
for rule in idle_search=scx_default idle_search=mainline_46 idle_search=none affine=always balance=off claim=test_only; do
	switch rules $rule
	sleep 1
done
quiet
sleep 1
bracket busy
stop int INT
