# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Tasks that only one CPU may serve, on CPUs that never rest: the longest delay of each, and of per-CPU kernel threads.

. /guest/lib.sh

SECONDS_EACH=8

# Sleepers bound to every second CPU, each beside a hog that is bound there too and two that are not.
serve() {
	local cpu
	for ((cpu = 0; cpu < CPUS; cpu++)); do
		hog $cpu
		on_cpu $cpu bash -c 'while :; do :; done'
	done
	local probes=()
	for ((cpu = 0; cpu < CPUS; cpu += 2)); do
		chrt -o 0 taskset -c $cpu bash /guest/sleeper.sh $SECONDS_EACH >"$OUT/$1.late.$cpu" &
		probes+=($!)
	done
	# New tasks are set up in a callback that may sleep, its task bound to its CPU meanwhile.
	load bash -c 'while :; do (:); done'
	# Reading this runs a per-CPU kernel thread on every CPU and waits for all.
	local before=${EPOCHREALTIME/[.,]/}
	cat /proc/sys/vm/stat_refresh
	note "$1.kthreads" $((${EPOCHREALTIME/[.,]/} - before))
	wait "${probes[@]}"
	quiet
}

serve kernel
start
serve newidle
switch off balance=off affine=off idle_search=none
serve off
stats served
stop term TERM
