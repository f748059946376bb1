/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * newload.h - the load and the utilisation a new task is given before it has run.
 *
 * none: neither; it builds up as the task runs.
 *
 * full (v6.12), in two steps:
 *   1. at fork: the load of a task that has always been runnable, its weight (new_task_load).
 *   2. when its CPU is chosen and the queue's clock is fresh, a guess of its utilisation: what the
 *      queue's tasks use per weight, times its own weight, at most half of the capacity that is
 *      left; on a queue without utilisation that half itself.  A CPU that is full gives none.
 *
 * Where each goes: new_task_load in init_task, on a zeroed record.  new_task_util in the enqueue of
 * a task that has never run, after the queue has been folded and updated to now and before
 * pelt_attach; the second step divides, once in a task's life.
 */
#ifndef PLACE_NEWLOAD_H
#define PLACE_NEWLOAD_H

#include "pelt.h"
#include "policy.h"

place_inline void new_task_load(const struct place_policy *pol, struct pelt_task *t, u32 weight)
{
	if (pol->axis[PLACE_AXIS_newload] == PLACE_newload_full)
		t->load_avg = weight;
}

/* capacity: of the CPU, 1024 for the largest. */
place_inline void new_task_util(const struct place_policy *pol, struct pelt_task *t,
				const struct pelt_queue *q, u32 weight, u32 capacity)
{
	u64 util;
	u32 half;

	if (pol->axis[PLACE_AXIS_newload] != PLACE_newload_full || q->util_avg >= capacity)
		return;
	half = (capacity - q->util_avg) / 2;
	if (!half)
		return;
	util = half;
	if (q->util_avg)
		util = (u64)q->util_avg * weight / ((u64)q->load_avg + 1);
	t->util_avg = util < half ? util : half;
}

#endif /* PLACE_NEWLOAD_H */
