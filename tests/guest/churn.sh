# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Everything at once for a while, and a random policy twice a second. Argument: seconds.

. /guest/lib.sh

# A random non-empty list of CPUs.
random_cpus() {
	local first=$((RANDOM % CPUS))
	echo "$first-$((first + RANDOM % (CPUS - first)))"
}

# stress-ng's churn of the ordinary policies and affinities; in versions without it, affinities and yields, and churn()
# does the rest. No realtime policies: before 7.0 nothing saves an ordinary task pinned behind one that never rests.
sched_stress() {
	if stress-ng --help | grep -q -e '--cpu-sched '; then
		load stress-ng --cpu-sched 1 --timeout 3600
	else
		load stress-ng --affinity 1 --affinity-rand --timeout 3600
	fi
}

# Changes the affinity, the niceness, the policy and the cgroup of tasks of others, and stops them for a moment.
CGROUPS=/sys/fs/cgroup
churn() {
	local task=${TASKS[RANDOM % ${#TASKS[@]}]}
	case $((RANDOM % 10)) in
	0) renice $((RANDOM % 40 - 20)) "$task" ;;
	1) chrt --idle -p 0 "$task" ;;
	2) chrt --other -p 0 "$task" ;;
	3) chrt --batch -p 0 "$task" ;;
	4) kill -STOP "$task" && kill -CONT "$task" ;;
	5) echo "$task" >"$CGROUPS/churn$((RANDOM % 2))/cgroup.procs" ;;
	6) random_cpus >"$CGROUPS/churn$((RANDOM % 2))/cpuset.cpus" ;;
	*) taskset -cp "$(random_cpus)" "$task" ;;
	esac
} >/dev/null 2>&1

sysctl -q kernel.bpf_stats_enabled=1
start --verify-slots
read_settings
# Made now, since this shell runs at realtime priority: under load it has to be brief.
for ((i = 0; i < 1000; i++)); do
	random_items
	echo "${ITEMS[@]}"
done >/tmp/lines
echo +cpuset >$CGROUPS/cgroup.subtree_control
mkdir $CGROUPS/churn0 $CGROUPS/churn1
bench 0 1
sched_stress
load stress-ng --fork 1 --timeout 3600
hog 3
for cpu in 3 8; do load taskset -c $cpu bash /guest/sleeper.sh 3600; done
sleep 3
mapfile -t TASKS < <(processes 'hackbench|stress-ng')
gather

end=$((SECONDS + $1))
going() { ((SECONDS < end)) && [[ -d /proc/$PLACE ]]; }

# Of the ordinary class: at realtime priority it would starve what it churns. Before most of it, as is the scheduler's
# own process: both are to do something all the time.
churn_on() {
	chrt -o -p 0 $BASHPID >/dev/null
	renice -n -15 $BASHPID >/dev/null
	taskset -cp "0-$((CPUS - 1))" $BASHPID >/dev/null
	while going; do
		churn
		echo x
	done
}
threads "$PLACE" | xargs renice -n -15 -p >/dev/null
churn_on >$OUT/churned &
CHURN=$!

# A switch a line, read by one process.
while going && read -r line; do
	echo "$line"
	usleep 500000
done </tmp/lines | scx_place policy set - >$OUT/slow 2>&1
note slow.status $?
wait $CHURN
note churn.state "$(state)"
echo "guest: $(grep -c since $OUT/slow) switches, $(wc -l <$OUT/churned) changes, $(state)"

# And now as fast as it goes, for a while.
timeout 30 scx_place policy set - </tmp/lines >$OUT/fast 2>&1
note fast.state "$(state)"
echo "guest: $(grep -c since $OUT/fast) fast switches, $(state)"
quiet
sleep 2
bracket churn
echo "guest: stopping, $(state)"
stop int INT
