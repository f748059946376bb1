/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * latency.h - wakeup latency, from the enqueue of a woken or new task to the beginning of its run, as
 * log2 histograms: their rows and their buckets.
 *
 * Each wait is counted in two rows, one of each family:
 *   by branch   where the placement ended: the counters of the stages `search` and `fork`, and
 *               wakeups that were not placed, since the task may run on one CPU only
 *   by type     woken, woken with the sync flag, new
 *
 * Both ends are times of the run-queue clock, as those of the kernel's run_delay.  The kernel does not
 * advance it between a wakeup that reschedules its CPU at once and the switch that follows: the
 * interrupt, the way out of idle and the switch itself are not in such a wait, which is below 1 us.
 */
#ifndef PLACE_LATENCY_H
#define PLACE_LATENCY_H

#include "policy.h"

enum place_latency_row {
	/* A row for each counter of the stages search and fork, in their order. */
	PLACE_LATENCY_BRANCHES = PLACE_CNT_fork_depth_none - PLACE_CNT_search_none,
	PLACE_LATENCY_NOT_PLACED = PLACE_LATENCY_BRANCHES,
	PLACE_LATENCY_WOKEN,
	PLACE_LATENCY_SYNC,
	PLACE_LATENCY_NEW,
	PLACE_LATENCY_NR_ROWS,
	PLACE_LATENCY_ROWS = 32,	/* a power of two that holds them */
};

_Static_assert(PLACE_LATENCY_NR_ROWS <= PLACE_LATENCY_ROWS, "more rows than the tables have");

/* Bucket 0: below 1 us; n: from 2^(n-1) us to below 2^n us; the last: from 2^22 us, 4.2 s, on. */
#define PLACE_LATENCY_BUCKETS 24

place_inline u32 latency_bucket(u64 ns)
{
	u64 us = ns / 1000;
	u32 n = 0;

	if (us >> (PLACE_LATENCY_BUCKETS - 2))
		return PLACE_LATENCY_BUCKETS - 1;
	for (u32 half = 16; half > 1; half >>= 1) {
		if (us >> half) {
			us >>= half;
			n += half;
		}
	}
	return n + (us >> 1) + !!us;	/* us is 0 to 3 */
}

/* branch: the counter where the placement ended; 0: not placed. */
place_inline u32 latency_branch_row(u32 branch)
{
	u32 row = branch - PLACE_CNT_search_none;

	return row < PLACE_LATENCY_BRANCHES ? row : PLACE_LATENCY_NOT_PLACED;
}

#endif /* PLACE_LATENCY_H */
