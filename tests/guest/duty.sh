# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Sleeps about 20 ms and then works for as long as that took, until it is ended: half of the time it does not want to run.

fifo=$(mktemp -u)
mkfifo "$fifo"
exec 3<>"$fifo"
rm "$fifo"
while :; do
	asleep=${EPOCHREALTIME/[.,]/}
	read -r -t 0.02 -u 3
	awake=${EPOCHREALTIME/[.,]/}
	until=$((awake + awake - asleep))
	while ((${EPOCHREALTIME/[.,]/} < until)); do :; done
done
