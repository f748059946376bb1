# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Sleeps 20 ms again and again, without starting a process, for SECONDS; prints the longest delay of a wakeup in us.

fifo=$(mktemp -u)
mkfifo "$fifo"
exec 3<>"$fifo"
rm "$fifo"
longest=0
end=$((SECONDS + $1))
while ((SECONDS < end)); do
	before=${EPOCHREALTIME/[.,]/}
	read -r -t 0.02 -u 3
	late=$((${EPOCHREALTIME/[.,]/} - before - 20000))
	((late > longest)) && longest=$late
done
echo $longest
