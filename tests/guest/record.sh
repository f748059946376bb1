# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Recordings under every value of every placement axis, which the host replays, and the shadow policy.
# Recordings go to /records; the names of the values to be found there are the fact "recorded".

. /guest/lib.sh

# Lines "AXIS VALUE" of the axes that decide where a task is placed.
placement_values() {
	scx_place policy list --json | awk -F'"' '
		/^      "name"/ { axis = $4 }
		/^      "scope"/ { scope = $4 }
		/^      "(params|values)"/ { kind = $2 }
		/^          "name"/ && kind == "values" && scope == "placement" { print axis, $4 }'
}

# Pairs of hackbench on CPUs of both caches.
work() {
	gather
	bench 0 1
	bench $((CPUS / 2 - 2)) 1
	bench $((CPUS / 2 + 2)) 1
}

record() { try "$1" scx_place record --out "/records/$1.rec" --for "${2:-2s}" "${@:3}"; }

mkdir /records
try off.record scx_place record --out /records/off.rec
try off.shadow scx_place shadow
start
work

# The rules, one by one, from the defaults.
mapfile -t VALUES < <(placement_values)
for value in "${VALUES[@]}"; do
	axis=${value% *} name=${value#* }
	switch "$axis.$name" "$axis=$name"
	if [[ $axis == fork ]]; then
		# On all CPUs: a task bound to one, as this shell is, is placed by nobody.  Alone: beside hackbench, a guest of
		# one host CPU hardly comes to make a task.
		quiet
		on_cpu 2 bash -c 'while :; do for ((i = 0; i < 4; i++)); do sleep 0.01 & done; wait; done'
		record "$axis.$name" 10s
		quiet
		work
	else
		record "$axis.$name"
	fi
	echo "$axis $name" >>$OUT/recorded
	scx_place policy reset >/dev/null
done

# Switched while recorded.
record switched 6s &
RECORDER=$!
for rule in idle_search=mainline_46 affine=off idle_search=none affine=always claim=test_only; do
	sleep 1
	switch switching "$rule"
done
wait $RECORDER
scx_place policy reset >/dev/null

# One in seven; one recorder at a time; not for others than root; a killed one is noticed.
record sampled 2s --sample 1/7
scx_place record --out /records/killed.rec --for 600s &
KILLED=$!
sleep 3
try second scx_place record --out /records/second.rec
kill -KILL $KILLED
sleep 18 # longer than the scheduler waits
stats killed.before
sleep 1
stats killed.after
record again 1s
try usage.sample scx_place record --out /records/x.rec --sample 1/0
try usage.for scx_place record --out /records/x.rec --for never
try unwritable scx_place record --out /no/such/folder/x.rec

# The shadow policy: itself, another one, none.
try shadow.opaque scx_place shadow idle_search=scx_default
try shadow.same scx_place shadow claim=test_and_clear --json
sleep 2
try shadow.same.report scx_place shadow --json
try shadow.other scx_place shadow idle_search=none affine=always --sample 1/2
sleep 2
try shadow.other.report scx_place shadow --json
try shadow.text scx_place shadow
try shadow.off scx_place shadow off
stats shadow.before
sleep 1
stats shadow.after
quiet
stop int INT

# The code for wide caches.
start --force-llc-words 4
work
record wide
quiet
stop wide.int INT
