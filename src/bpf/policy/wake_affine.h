/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * wake_affine.h - should a wakeup's search start at the waker's CPU (W) or the previous one (P)?
 *
 * Common frame, in this order:
 *   1. W == P: nothing to decide.
 *   2. W outside the wakee's affinity mask: P.
 *   3. no domain that allows affine wakeups holds both (nodes beyond the reclaim distance): P.
 *   4. the rule in force; what does not pull to W leaves the target at P.
 *
 * off, always: bounds for comparison.
 *
 * wa_414 (v4.14 to v7.3), the part WA_IDLE:
 *   i.   W idle and cache shared with P: P if P is idle too, else W.
 *   ii.  sync, and the waker is the only runnable task of W: W.
 *   iii. P idle: P.
 * "Runnable tasks" counts tasks of this scheduler; the kernel counts those of other classes too.
 *
 * Two judgements that need more than place_in holds yet stand here as functions of their numbers:
 * wake_wide() and wake_affine_weight(), which is the part WA_WEIGHT of wa_414.
 */
#ifndef PLACE_WAKE_AFFINE_H
#define PLACE_WAKE_AFFINE_H

#include "place.h"

/* Half of a level's imbalance percentage above 100: what a pull must be cheaper by. */
place_inline u32 affine_scale(u32 imbalance_pct)
{
	return 100 + (imbalance_pct - 100) / 2;
}

/*
 * wake_wide (v4.3 to v7.3): does the waker feed so many wakees that pulling them would pile them
 * up?  flips count changes of wakee, halved once a second; llc_size is the size of W's cache.
 */
place_inline int wake_wide(u32 waker_flips, u32 wakee_flips, u32 llc_size)
{
	u32 hi = waker_flips > wakee_flips ? waker_flips : wakee_flips;
	u32 lo = waker_flips > wakee_flips ? wakee_flips : waker_flips;

	return lo >= llc_size && hi >= (u64)lo * llc_size;
}

/* What WA_WEIGHT compares.  Loads are load_avg, blocked load included; capacities 0..1024. */
struct wa_weight {
	u64 waker_load, prev_load;	/* of the two CPUs */
	u64 curr_load, task_load;	/* of the waker and of the wakee */
	u32 waker_capacity, prev_capacity;
	u32 imbalance_pct;		/* of the domain that holds both CPUs */
	u32 sync, bias;			/* sync wakeup; feature bit WA_BIAS */
};

/*
 * WA_WEIGHT (v4.14 to v7.3): pull to W if W with the wakee is less loaded than P without it, loads
 * scaled by the other CPU's capacity and P's raised by half the imbalance percentage.
 *   1. sync: the waker's load leaves W; if that leaves nothing, pull.
 *   2. compare strictly; a sync wakeup wins ties.
 */
place_inline int wake_affine_weight(const struct wa_weight *a)
{
	s64 waker = a->waker_load, prev;

	if (a->sync) {
		if (a->curr_load > a->waker_load)
			return 1;
		waker -= a->curr_load;
	}
	waker += a->task_load;
	prev = (s64)a->prev_load - (s64)a->task_load;
	if (a->bias) {
		waker *= 100;
		prev *= affine_scale(a->imbalance_pct);
	}
	waker *= a->prev_capacity;
	prev *= a->waker_capacity;
	if (a->sync)
		prev += 1;
	return waker < prev;
}

place_inline int in_prev_idle(const struct place_in *in, const u32 nw)
{
	return mask_test(&in->view[0].idle, in->prev_at.local, nw);
}

place_inline int in_same_llc(const struct place_in *in)
{
	return in->waker_at.llc == in->prev_at.llc;
}

place_inline u32 wake_affine_idle(const struct place_in *in, const u32 nw)
{
	if (in_same_llc(in) && mask_test(&in->view[0].idle, in->waker_at.local, nw))
		return in_prev_idle(in, nw) ? PLACE_CNT_affine_idle_prev : PLACE_CNT_affine_idle_waker;
	if ((in->flags & PLACE_IN_SYNC) && in->waker_nr_running == 1)
		return PLACE_CNT_affine_sync_alone;
	if (in_prev_idle(in, nw))
		return PLACE_CNT_affine_prev_idle;
	return PLACE_CNT_affine_undecided;
}

/* The branch that decides; affine_pulls() says what it means. */
place_inline u32 wake_affine(const struct place_policy *pol, const struct place_in *in, const u32 nw)
{
	u32 rule = pol->axis[PLACE_AXIS_affine];

	if (in->waker == in->prev)
		return PLACE_CNT_affine_same_cpu;
	if (!(in->flags & PLACE_IN_WAKER_ALLOWED))
		return PLACE_CNT_affine_not_allowed;
	if (!(in->flags & PLACE_IN_AFFINE_DOMAIN))
		return PLACE_CNT_affine_no_domain;
	if (rule == PLACE_affine_always)
		return PLACE_CNT_affine_always;
	if (rule != PLACE_affine_wa_414)
		return PLACE_CNT_affine_off;
	return pol->param[PLACE_PARAM_wa_idle] ? wake_affine_idle(in, nw) : PLACE_CNT_affine_undecided;
}

place_inline int affine_pulls(u32 branch)
{
	return branch == PLACE_CNT_affine_always || branch == PLACE_CNT_affine_idle_waker ||
	       branch == PLACE_CNT_affine_sync_alone;
}

#endif /* PLACE_WAKE_AFFINE_H */
