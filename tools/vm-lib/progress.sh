# shellcheck shell=bash
# What tools/vm says: always on stderr, so that stdout carries nothing but the guest command's output.

QUIET=0
STEP_OPEN=0

# Milliseconds, for the time shown at the end of each step.
now_ms() {
	local seconds=${EPOCHREALTIME%[.,]*} micros=${EPOCHREALTIME#*[.,]}
	printf '%d\n' "$((seconds * 1000 + 10#$micros / 1000))"
}

# A note the user may silence with --quiet.
say() { ((QUIET)) || printf 'vm: %s\n' "$*" >&2; }

# A step's line is begun before the work, so that a long wait has a name, and ended with its time.
step_begin() {
	STEP_START=$(now_ms)
	STEP_OPEN=1
	((QUIET)) || printf 'vm: %s ... ' "$*" >&2
}

step_end() {
	local ms=$(($(now_ms) - STEP_START))
	STEP_OPEN=0
	((QUIET)) || printf '%d.%d s\n' "$((ms / 1000))" "$((ms % 1000 / 100))" >&2
}

# Ends an unfinished step's line; what follows on stderr must not be glued to it.
step_fail() {
	((STEP_OPEN && !QUIET)) && printf 'failed\n' >&2
	STEP_OPEN=0
}

# An error is never silenced.
complain() {
	step_fail
	printf 'vm: %s\n' "$*" >&2
}

# The status of everything that keeps the guest from being started at all.
EXIT_SETUP=123
die() {
	complain "$@"
	exit "$EXIT_SETUP"
}

# Waits for a lock file that another tools/vm may hold, and says so when that takes long.
lock() {
	local file=$1
	exec {LOCK_FD}>"$file"
	flock -w 2 "$LOCK_FD" && return
	say "waiting for another tools/vm that holds $file"
	flock "$LOCK_FD"
}

unlock() { exec {LOCK_FD}>&-; }
