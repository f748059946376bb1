#!/bin/bash
# The guest's half of tools/demo: loads scx_place, switches its rules under load, shows and checks what happened.
# Exit status: 0 if everything was as it should be.
# Time is read and waited for without new processes: they would have to compete with the load.
set -u

HERE=$(dirname "$0")
SYSFS=/sys/kernel/sched_ext
LOG=/tmp/scx_place.log
PHASE_SECONDS=6
LOAD_SECONDS=120 # an emulated CPU verifies the program at a hundredth of a real one's speed
# As many tasks as CPUs: enough to keep them busy, and now and then an idle one to be found.
HACKBENCH=(hackbench -g 2 -f 4 -l 100000000)
HACKBENCH_TASKS=16
# What each phase sets; the first runs with the defaults.
PHASES=('idle_search=sis_modern affine=wa_414' 'idle_search=mainline_46 affine=off' 'idle_search=none affine=always')
CHECKS=0 FAILED=0
declare -A STATS

heading() { printf '\n== %s ==\n\n' "$*"; }
# The command as a reader would type it, then what it prints.
try() { printf '# %s\n' "$*"; "$@"; }

# check WHAT CONDITION...: a condition that must hold.
check() {
	local what=$1
	shift
	CHECKS=$((CHECKS + 1))
	if "$@"; then
		printf '  ok      %s\n' "$what"
	else
		FAILED=$((FAILED + 1))
		printf '  FAILED  %s\n' "$what"
	fi
}

# Sets NOW to the seconds since the boot.
now() {
	read -r NOW _ </proc/uptime
	NOW=${NOW%.*}
}

# Dots until CONDITION holds, at most SECONDS; then how long it took.
wait_until() {
	local what=$1 seconds=$2 start
	shift 2
	now
	start=$NOW
	printf '%s ' "$what"
	until "$@"; do
		if ((NOW - start >= seconds)); then
			printf ' not after %d s\n' "$seconds"
			return 1
		fi
		printf .
		read -rt 1 <>/tmp/never
		now
	done
	printf ' %d s\n' $((NOW - start))
}

state() { cat $SYSFS/state; }
ops() { cat $SYSFS/root/ops 2>/dev/null || echo '(none)'; }
show_kernel() {
	printf '  %-32s %s\n' $SYSFS/state "$(state)" $SYSFS/root/ops "$(ops)"
}

# Conditions.
passed() { ((NOW >= $1)); }
enabled() { [[ $(state) == enabled ]]; }
gone() { [[ $(state) == disabled && ! -e $SYSFS/root ]]; }
ours() { [[ $(ops) == place_* ]]; }
alive() { kill -0 "$1" 2>/dev/null; }
ended() { ! alive "$1"; }
# Loaded, or never to be.
loaded() { enabled || ended "$PLACE"; }
logged() { dmesg | grep -Eq "$1"; }
not_logged() { ! logged "$1"; }
in_force() {
	[[ $(scx_place policy | awk '$1 == "idle_search" || $1 == "affine" { printf "%s=%s ", $1, $2 }') == "$1 " ]]
}

give_up() {
	printf '\n%s The log of scx_place and of the kernel:\n' "$1"
	cat $LOG
	dmesg | tail -n 20
	exit 1
}

load() {
	heading 'scx_place replaces the kernel'\''s scheduler'
	echo 'Before:'
	show_kernel
	check 'no sched_ext scheduler is attached' gone
	printf '\n# scx_place &\n'
	scx_place >$LOG 2>&1 &
	PLACE=$!
	wait_until 'the kernel verifies the program and attaches it' $LOAD_SECONDS loaded || give_up 'scx_place did not attach.'
	enabled || give_up 'scx_place ended.'
	sed 's/^\[[^]]*\] /  /' $LOG
	printf '\nAfter:\n'
	show_kernel
	check 'the kernel runs a sched_ext scheduler' enabled
	check 'it is scx_place' ours
	printf '\nThe policy in force, here the defaults:\n\n'
	try scx_place policy
}

# The tasks of the load that sched_ext schedules.
count_ext() {
	local child line
	EXT=0
	# One line; a task's name cannot hold what is asked for here.
	for child in $(</proc/$LOAD/task/$LOAD/children); do
		while read -r line; do
			[[ ! $line =~ ^ext\.enabled\ *:\ *1$ ]] || EXT=$((EXT + 1))
		done <"/proc/$child/sched"
	done
}

run_phases() {
	local n
	heading "${#PHASES[@]} policies under one load"
	echo "hackbench runs through all of them: 2 groups of 4 senders and 4 receivers on $(nproc) CPUs."
	printf '\n# %s &\n' "${HACKBENCH[*]}"
	"${HACKBENCH[@]}" >/tmp/hackbench.log 2>&1 &
	LOAD=$!
	for n in "${!PHASES[@]}"; do
		echo
		if ((n)); then
			# shellcheck disable=SC2086 # a list of settings
			try scx_place policy set ${PHASES[n]}
			check 'the switch was accepted' [ $? -eq 0 ]
		fi
		now
		wait_until "phase $((n + 1)): counting" 60 passed $((NOW + PHASE_SECONDS))
		check "in force: ${PHASES[n]}" in_force "${PHASES[n]}"
		check 'hackbench is still running' alive $LOAD
		enabled || give_up 'The kernel ended scx_place.'
		if ((n == 0)); then
			count_ext
			check "sched_ext schedules its $HACKBENCH_TASKS tasks (/proc/PID/sched: ext.enabled)" [ $EXT -eq $HACKBENCH_TASKS ]
		fi
	done
	# The last phase ends here, too.
	echo
	try scx_place policy reset
	check "in force: ${PHASES[0]}" in_force "${PHASES[0]}"
	kill -TERM $LOAD
	wait $LOAD
}

read_statistics() {
	local path value
	while read -r path value; do STATS[$path]=$value; done < <(scx_place stats --json | awk -f "$HERE/json-paths.awk")
}

# The following set SUM, of the generation GEN counted from 0.
# sum STAGE.BRANCH...: of these branches.
sum() {
	local branch
	SUM=0
	for branch; do SUM=$((SUM + ${STATS[generations.$GEN.counters.$branch]:-0})); done
}
# stage NAME: of all its branches.
stage() {
	local path
	SUM=0
	for path in "${!STATS[@]}"; do
		[[ $path != "generations.$GEN.counters.$1."* ]] || SUM=$((SUM + STATS[$path]))
	done
}

# row NAME FORMAT FACTOR STAGE [BRANCH...]: FACTOR times the branches (none: the stage's sum) by the number of wakeups.
row() {
	local name=$1 format=$2 factor=$3 stage=$4 wakeups number
	shift 4
	printf '  %-42s' "$name"
	for GEN in "${!PHASES[@]}"; do
		stage search
		wakeups=$SUM
		if (($#)); then sum "${@/#/$stage.}"; else stage "$stage"; fi
		# Rounded to hundredths: the guest's bash has no fractions.
		number=$((wakeups ? (SUM * factor * 200 + wakeups) / (2 * wakeups) : 0))
		# shellcheck disable=SC2059 # the format is one of ours
		printf '%16s' "$(printf "$format" "$((number / 100)).$(printf %02d $((number % 100)))")"
	done
	echo
}

show_statistics() {
	heading 'What each rule did, branch by branch'
	cat <<-'TEXT'
		A column is a policy, from one switch to the next; a row is a branch with its count and its share of the
		decisions of its stage: affine = where the search for a CPU started, search = where it ended, outcome =
		what was known of the CPU chosen. "scx_place --help-stats" explains each. The last column is what came
		after the reset.

	TEXT
	try scx_place stats --by-generation
	read_statistics

	heading 'In short'
	printf '  %-42s%16s%16s%16s\n' '' 'phase 1' 'phase 2' 'phase 3' \
		idle_search sis_modern mainline_46 none affine wa_414 off always
	row 'searched from the waker'\''s CPU' '%.1f %%' 100 affine always idle_waker sync_alone
	row 'placed on an idle CPU' '%.1f %%' 100 outcome idle_core idle_thread
	row 'placed on a busy CPU although one was idle' '%.1f %%' 100 outcome busy_rule busy_throttled
	row 'CPUs a linear scan looks at, per wakeup' '%.2f' 1 sum scanned
	row 'migrations per 100 wakeups' '%.0f' 100 migration
	cat <<-'TEXT'

		The guest's CPUs share one emulated CPU: the counts show how the rules decide, not how fast they are.

	TEXT
}

check_statistics() {
	local wakeups
	for GEN in "${!PHASES[@]}"; do
		stage search
		check "phase $((GEN + 1)): $SUM wakeups were placed" [ $SUM -gt 100 ]
	done
	GEN=0
	sum search.recent_idle search.thread search.no_budget search.budget_spent
	check "phase 1: $SUM searches ended in branches that only sis_modern has" [ $SUM -gt 0 ]
	GEN=1
	sum search.none search.recent_idle search.thread search.no_budget search.budget_spent
	check 'phase 2: with mainline_46 none did' [ $SUM -eq 0 ]
	sum affine.always affine.idle_waker affine.sync_alone
	check 'phase 2: with affine=off no search started at the waker'\''s CPU' [ $SUM -eq 0 ]
	GEN=2
	stage search
	wakeups=$SUM
	sum search.none
	check 'phase 3: with idle_search=none 100 % of the wakeups stayed at the target CPU' [ $SUM -eq $wakeups ]
	sum affine.off affine.idle_prev affine.prev_idle affine.undecided
	check 'phase 3: with affine=always none was left to another rule' [ $SUM -eq 0 ]
}

stop() {
	local status
	heading 'The kernel'\''s scheduler comes back'
	printf '# kill -INT %d    (as Ctrl-C does)\n' $PLACE
	kill -INT $PLACE
	wait_until 'scx_place detaches' 60 ended $PLACE
	wait $PLACE
	status=$?
	printf '  %-32s %d\n' 'exit status of scx_place' $status
	show_kernel
	printf '\n# dmesg | grep sched_ext\n'
	dmesg | grep sched_ext:
	echo
	check 'scx_place ended with status 0' [ $status -eq 0 ]
	check 'no sched_ext scheduler is attached' gone
	check 'the kernel took it off because it was told to' logged 'place_.*disabled \(unregistered from user space\)'
	check 'the kernel logged no warning, stall or error' \
		not_logged 'WARNING:|BUG:|Oops|Call Trace|stall|runtime error'
}

mkfifo /tmp/never
load
run_phases
show_statistics
check_statistics
stop
printf '\n%d checks, %d failed\n' $CHECKS $FAILED
((FAILED == 0))
