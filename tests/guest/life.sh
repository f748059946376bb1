# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The scheduler's life: refused, started, a second one refused, work under it, ended by each signal.
# Arguments: of the second scheduler.

. /guest/lib.sh

# Runs a command as somebody else.
as_nobody() { su nobody -s /bin/sh -c "$*"; }
echo 'nobody:x:65534:65534::/:/bin/sh' >>/etc/passwd

# Nothing runs yet: the subcommands say so, the obstacles are told, and nothing is touched.
try off.policy scx_place policy
try off.set scx_place policy set affine=off
try off.reset scx_place policy reset
try off.stats scx_place stats
try off.status scx_place status
try off.list scx_place policy list
try refused.nobody as_nobody scx_place
mount -t tmpfs none /sys/kernel/btf
try refused.btf scx_place
umount /sys/kernel/btf
mount -t tmpfs none /sys/kernel/sched_ext
try refused.sched_ext scx_place
umount /sys/kernel/sched_ext
try refused.policy scx_place --policy affine=up
note refused.state "$(state)"
note refused.files "$(find /run /var/run/scx -type s 2>/dev/null)"

start
note ops "$(cat /sys/kernel/sched_ext/root/ops)"
try on.status scx_place status --json
try second scx_place
try on.nobody as_nobody scx_place policy set affine=off
try hackbench timeout 120 chrt -o 0 hackbench -l 20 -g 2
try stress timeout 120 chrt -o 0 stress-ng --switch 2 --yield 2 --affinity 2 --fork 2 --timeout 5
try after.status scx_place status --json
stats after
note exposed "$(find /run -type s -perm /077)"
stop int INT
note int.ops "$(cat /sys/kernel/sched_ext/root/ops 2>/dev/null)"
note int.files "$(find /run /var/run/scx -type s 2>/dev/null)"
try int.hackbench timeout 120 hackbench -l 5 -g 1

# Ended while it has work, with the wide masks of another machine.
start "$@"
for ((cpu = 0; cpu < CPUS; cpu++)); do bench $cpu 1; done
sleep 2
stats wide
stop term TERM
quiet
