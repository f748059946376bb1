# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The policy as an operator changes it while there is work.

. /guest/lib.sh

sysctl -q kernel.bpf_stats_enabled=1
start --policy affine=off --verify-slots
bench 0 1
bench 4 1

try show scx_place policy
try list scx_place policy list
try start scx_place policy --json
switch several idle_search=mainline_46 affine=always wa_idle=0 latency_us=10000
try several.show scx_place policy
sleep 1
stats several

# None of these may change anything.
try refused.axis scx_place policy set affine=wa_414 idle_serch=none
try refused.value scx_place policy set affine=wa_414 idle_search=mainline_64
try refused.range scx_place policy set affine=wa_414 latency_us=99999999
try refused.number scx_place policy set affine=wa_414 latency_us=much
try refused.twice scx_place policy set affine=wa_414 affine=off
try refused.form scx_place policy set affine
try after_refused scx_place policy --json

switch same idle_search=mainline_46
try reset scx_place policy reset --json
stats reset

gather
# More switches than there are slots, without losing a count.
for ((i = 0; i < 70; i++)); do
	scx_place policy set "latency_us=$((1000 + i))" idle_search=none >/dev/null || break
	scx_place policy set idle_search=sis_modern >/dev/null || break
done
quiet
sleep 1
bracket many
try by_generation scx_place stats --by-generation
try table scx_place stats
stop int INT
try gone scx_place policy set affine=off
