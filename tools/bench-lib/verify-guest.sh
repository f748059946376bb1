#!/bin/bash
# The guest's half of "tools/bench verify": loads scx_place and writes what the verifier said of each program.
#
# A record is one line of fields parted by tabs:  kernel VERSION | program NAME INSTRUCTIONS US | load MS | failed WHAT
set -u

STATE=/sys/kernel/sched_ext/state
LOG=/tmp/place.log
# Guest seconds.
START_LIMIT=300

record() {
	local IFS=$'\t'
	printf '%s\n' "$*"
}
uptime_ms() {
	local uptime
	read -r uptime _ </proc/uptime
	uptime=${uptime/./}
	printf '%s0' "${uptime#0}"
}

record kernel "$(uname -r)"
begin=$(uptime_ms)
scx_place -vv --verifier-stats </dev/null >$LOG 2>&1 &
PID=$!
until [[ $(cat $STATE) == enabled ]]; do
	if ! kill -0 $PID 2>/dev/null || (($(uptime_ms) - begin > START_LIMIT * 1000)); then
		record failed "$(tail -n 1 $LOG | tr '\t' ' ')"
		exit 1
	fi
	sleep 0.02
done
record load $(($(uptime_ms) - begin))
kill -INT $PID
wait $PID
# Three lines a program: its name, the time, the count.
awk -v OFS='\t' -F "'" '
	/BEGIN PROG LOAD LOG/ { name = $2 }
	/^verification time/ { split($0, word, " "); us = word[3] }
	/^processed [0-9]+ insns/ { split($0, word, " "); if (name != "" && name !~ /probe/) print "program", name, word[2], us; name = "" }
' $LOG
