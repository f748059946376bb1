/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fair_queue.h - the order of tasks on one CPU: virtual runtime, placement, slices, preemption.
 *
 * cfs_61 (v6.1):
 *   advance    v += dt * 1024 / w
 *   woken      v = max(v, min_v - latency / 2)                  (GENTLE_FAIR_SLEEPERS);
 *              SCHED_IDLE: min granularity / 2
 *   new        v = max(v of the parent, min_v + slice * 1024 / w)    (START_DEBIT)
 *   migrated   v += min_v of the new CPU - min_v of the old one
 *   slice      max(period(n) * w / sum of weights, min granularity);
 *              period(n) = latency if n tasks fit it, else n * min granularity
 *   tick       reschedule when the run time since the pick exceeds the slice; or, after the min
 *              granularity, when v(curr) - v(leftmost) exceeds it
 *   wakeup     1. SCHED_BATCH and SCHED_IDLE wakees never preempt;
 *              2. any other wakee preempts a SCHED_IDLE task;
 *              3. preempt when v(curr) - v(wakee) > granularity * 1024 / w(wakee).
 *   pick       leftmost, or the running task if its v is smaller; a wakee that preempts is the next
 *              buddy: it runs before the leftmost unless rule 3 lets that one preempt it
 *
 * Not of v6.1, since the watchdog of sched_ext ends a scheduler that lets a task wait for 30 s, while
 * CFS makes a nice 19 task wait for minutes beside enough nice -20 ones, or beside one with an old
 * lag: a task is queued at most STARVE_NS of its queue's time ahead (more is forgiven), and may lag
 * behind its queue by no more than CATCH_UP_NS of its own run time.
 *
 * Virtual times are compared as signed differences.  Divisions happen at ticks and forks only:
 * running tasks are charged through the inverse 2^32 / w, as in the kernel.
 */
#ifndef PLACE_FAIR_QUEUE_H
#define PLACE_FAIR_QUEUE_H

#include "policy.h"

#define NICE_0_WEIGHT 1024u
#define WEIGHT_IDLEPRIO 3u
#define STARVE_NS 5000000000ULL
#define CATCH_UP_NS 200000000ULL
#define STARVE_LOOK_NS 50000000LL	/* a lead below this is not looked at more closely */

/* Weight by nice + 20, and its inverse 2^32 / w. */
static const u32 fair_prio_to_weight[40] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
	9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277,
	1024, 820, 655, 526, 423, 335, 272, 215, 172, 137,
	110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
};

place_inline u32 fair_weight(u32 nice_index, int idle_policy)
{
	if (idle_policy)
		return WEIGHT_IDLEPRIO;
	return fair_prio_to_weight[nice_index < 40 ? nice_index : 20];
}

place_inline u32 fair_inverse(u32 weight)
{
	return weight ? 0xffffffffu / weight : 0;
}

/* delta * 1024 / w without dividing.  delta below 2^53 ns. */
place_inline u64 fair_delta(u64 delta, u32 weight, u32 inverse)
{
	if (weight == NICE_0_WEIGHT)
		return delta;
	delta <<= 10;
	return (delta >> 32) * inverse + (((delta & 0xffffffff) * inverse) >> 32);
}

place_inline u64 fair_max(u64 a, u64 b)
{
	return (s64)(a - b) > 0 ? a : b;
}

place_inline u64 fair_place_woken(const struct place_policy *pol, u64 v, u64 min_v, int idle_policy)
{
	u64 credit = idle_policy ? pol->derived.min_granularity_ns : pol->derived.latency_ns;

	return fair_max(v, min_v - (credit >> 1));
}

/* Virtual time of a task that is put in a queue whose tasks weigh sum_w, its lead bounded. */
place_inline u64 fair_bound_lead(u64 v, u64 min_v, u64 sum_w)
{
	s64 lead = v - min_v;
	u64 most;

	if (lead < STARVE_LOOK_NS || !sum_w)
		return v;
	most = STARVE_NS * NICE_0_WEIGHT / sum_w;
	if (most < STARVE_LOOK_NS)	/* or a greater lead would come out ahead of a smaller one */
		most = STARVE_LOOK_NS;
	return (u64)lead > most ? min_v + most : v;
}

/* Virtual time of a task of weight w with its lag bounded. */
place_inline u64 fair_bound_lag(u64 v, u64 min_v, u32 w)
{
	s64 lag = min_v - v;
	u64 most;

	if (lag < STARVE_LOOK_NS || !w)
		return v;
	most = CATCH_UP_NS * NICE_0_WEIGHT / w;
	if (most < STARVE_LOOK_NS)
		most = STARVE_LOOK_NS;
	return (u64)lag > most ? min_v - most : v;
}

/* Does the tick end the turn of a task that ran for `ran` since its pick? */
place_inline int fair_turn_over(const struct place_policy *pol, u64 ran, u64 slice, u64 v,
				u64 leftmost_v)
{
	if (ran > slice)
		return 1;
	return ran >= pol->derived.min_granularity_ns && (s64)(v - leftmost_v) > (s64)slice;
}

/* Period in which nr runnable tasks run once each, in ns. */
place_inline u64 fair_period(const struct place_policy *pol, u32 nr)
{
	if (nr > pol->derived.nr_latency)
		return nr * pol->derived.min_granularity_ns;
	return pol->derived.latency_ns;
}

/* Wall-clock share of one task of weight w among nr of sum_w in all, itself included, in ns. */
place_inline u64 fair_slice(const struct place_policy *pol, u32 w, u32 nr, u64 sum_w)
{
	u64 slice;

	if (sum_w < w)
		sum_w = w;
	slice = sum_w ? fair_period(pol, nr) * w / sum_w : 0;
	return slice > pol->derived.min_granularity_ns ? slice : pol->derived.min_granularity_ns;
}

/* Start of a new task on a queue that has nr tasks of sum_w before it. */
place_inline u64 fair_place_new(const struct place_policy *pol, u64 parent_v, u64 min_v, u32 w,
				u32 inverse, u32 nr, u64 sum_w)
{
	u64 slice = fair_slice(pol, w, nr + 1, sum_w + w);

	return fair_max(parent_v, min_v + fair_delta(slice, w, inverse));
}

/* Does a wakee with virtual time v preempt the running task, whose virtual time is curr_v? */
place_inline int fair_preempts(const struct place_policy *pol, u64 curr_v, u64 v, u32 w, u32 inverse)
{
	s64 lead = curr_v - v;

	return lead > 0 && (u64)lead > fair_delta(pol->derived.wakeup_granularity_ns, w, inverse);
}

#endif /* PLACE_FAIR_QUEUE_H */
