/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * newload.h - the load and the utilisation a new task is given before it has run (policies.md C.2
 * to C.4).
 *
 * none: neither; it builds up as the task runs.
 *
 * All others, in these steps:
 *   1. at fork (new_task_load): the load of a task that has always been runnable, its weight.
 *      v46: a utilisation of 1024 too, and no step 2.
 *   2. when its CPU is chosen (new_task_attach), a guess of its utilisation: what the queue's tasks
 *      use per weight, times its own weight, at most half of what is left; on a queue without
 *      utilisation that half itself.  A queue that is full gives none.
 *        full (v6.12): left of the CPU's capacity.
 *        v48_* (v4.7, v4.8): left of 1024, and its own weight counts 1024-fold, which nearly always
 *        makes it half of what is left.
 *      The task becomes one of the queue's, as of the queue's clock.
 *   3. it is enqueued (new_task_catch_up).
 *
 * The clock.  v46, v48_clock, full: the queue is up to now before step 2.  v48_stale, v48_fixed_decay: it
 * is not, but stands where something last happened on that CPU, for an idle one when it went idle.
 * Then the clock is read, and task and queue catch up: the gap counts as time in which the task was
 * not runnable,
 *        v48_stale: for the queue and for the task, so what it adds to the runnable load has decayed, and
 *        the next fork that reads it finds its predecessor's CPU nearly unloaded;
 *        v48_fixed_decay: for the queue's load_avg and util_avg alone.  The task's record stays behind,
 *        and its next update, when it runs, takes the gap for time runnable.
 *
 * Where each goes: new_task_load in init_task, on a zeroed record.  In the enqueue of a task that has
 * never run, new_task_attach: where new_task_is_stale() before the queue is updated to now, else after
 * that, in either case folded; then new_task_catch_up, with the queue updated, and pelt_enqueue.
 * Step 2 divides, once in a task's life.
 */
#ifndef PLACE_NEWLOAD_H
#define PLACE_NEWLOAD_H

#include "pelt.h"
#include "policy.h"

/* The sum goes with the average, so that pelt_task_reweight() holds for a task without a queue. */
place_inline void new_task_load(const struct place_policy *pol, struct pelt_task *t, u32 weight)
{
	u32 rule = pol->axis[PLACE_AXIS_newload];

	if (rule == PLACE_newload_none)
		return;
	t->load_sum = PELT_MIN_DIVIDER;
	t->load_avg = weight;
	if (rule == PLACE_newload_v46)
		t->util_avg = 1024;
}

/* Step 2's guess.  capacity: of the CPU, 1024 for the largest. */
place_inline void new_task_util(u32 rule, struct pelt_task *t, const struct pelt_queue *q, u32 weight,
				u32 capacity)
{
	u64 own = weight, util;
	u32 half;

	if (rule != PLACE_newload_full) {
		own *= 1024;
		capacity = 1024;
	}
	if (q->util_avg >= capacity)
		return;
	half = (capacity - q->util_avg) / 2;
	if (!half)
		return;
	util = half;
	if (q->util_avg)
		util = q->util_avg * own / ((u64)q->load_avg + 1);
	t->util_avg = util < half ? util : half;
}

/* Does a new task join this queue before its clock is read?  One that was never used has no time. */
place_inline int new_task_is_stale(const struct place_policy *pol, const struct pelt_queue *q)
{
	u32 rule = pol->axis[PLACE_AXIS_newload];

	return (rule == PLACE_newload_v48_stale || rule == PLACE_newload_v48_fixed_decay) && q->last_ns;
}

place_inline void new_task_attach(const struct place_policy *pol, struct pelt_task *t,
				  struct pelt_queue *q, u32 weight, u32 inverse, u32 capacity)
{
	u32 rule = pol->axis[PLACE_AXIS_newload];

	if (rule != PLACE_newload_none && rule != PLACE_newload_v46)
		new_task_util(rule, t, q, weight, capacity);
	pelt_attach(q, t, weight, inverse);
}

/* weight: the task's; its queue is up to now. */
place_inline void new_task_catch_up(const struct place_policy *pol, struct pelt_task *t, u64 now_ns,
				    u32 weight)
{
	if (pol->axis[PLACE_AXIS_newload] != PLACE_newload_v48_fixed_decay)
		pelt_task_update(t, now_ns, weight, 0, 0);
}

#endif /* PLACE_NEWLOAD_H */
