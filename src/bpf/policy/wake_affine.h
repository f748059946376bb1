/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * wake_affine.h - should a wakeup's search start at the waker's CPU (W) or the previous one (P)?
 *
 * Common frame, in this order:
 *   1. W == P: nothing to decide.
 *   2. wa_414, v46 with wake_wide: the waker feeds too many wakees: P.
 *   3. W outside the wakee's affinity mask: P.
 *   4. no domain that allows affine wakeups holds both (nodes beyond the reclaim distance): P.
 *      v2626 and v2627 know no such distance.
 *   5. the rule in force; what does not pull to W leaves the target at P.
 *
 * off, always: bounds for comparison.
 *
 * v2626 to v46: wake_affine_history.h.
 *
 * wa_414 (v4.14 to v7.3), the checks in the order of v6.12, each part a switch:
 *   wa_idle    i.   W idle and cache shared with P: P if P is idle too, else W.
 *              ii.  sync, and the waker is the only runnable task of W: W.
 *              iii. P idle: P.
 *   wa_weight  iv.  sync: the waker's load leaves W; if it exceeds W's, which averages make
 *                   possible: W.
 *              v.   W with the wakee less loaded than P without it: W, else P.  With wa_bias P's
 *                   load counts more by half the imbalance percentage of the smallest domain that
 *                   holds both.  Each load counts as the other CPU's capacity says.
 * "Runnable tasks" counts tasks of this scheduler; the kernel counts those of other classes too.
 *
 * wake_wide (v4.3 to v7.3) compares flips, kept by record_wakee(), with the size of W's cache.
 */
#ifndef PLACE_WAKE_AFFINE_H
#define PLACE_WAKE_AFFINE_H

#include "wake_affine_history.h"

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

/*
 * The waker, whose record holds *f, wakes the task of that key.  To be called once for every wakeup,
 * before the decision, whatever rule is in force.  hz: jiffies per second.  A second after the last
 * decay the flips are halved, once, however long ago it was.
 */
place_inline void record_wakee(struct place_flips *f, u64 wakee, u64 now_jiffies, u32 hz)
{
	u32 now = now_jiffies;

	if ((s32)(now - f->decayed_at - hz) > 0) {
		f->flips >>= 1;
		f->decayed_at = now;
	}
	if (f->last_wakee != wakee) {
		f->last_wakee = wakee;
		f->flips++;
	}
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
 *   1. sync: the waker's load leaves W; if that is more than all of it, pull.
 *   2. compare strictly; a sync wakeup wins ties.
 */
place_inline u32 wake_affine_weight(const struct wa_weight *a)
{
	s64 waker = a->waker_load, prev;

	if (a->sync) {
		if (a->curr_load > a->waker_load)
			return PLACE_CNT_affine_weight_sync;
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
	return waker < prev ? PLACE_CNT_affine_weight_waker : PLACE_CNT_affine_weight_prev;
}

place_inline int in_prev_idle(const struct place_in *in, const u32 nw)
{
	return mask_test(&in->view[0].idle, in->prev_at.local, nw);
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

place_inline u32 wake_affine_loads(const struct place_policy *pol, const struct place_in *in)
{
	struct wa_weight a = {
		.waker_load = in->waker_load,
		.prev_load = in->prev_load,
		.curr_load = in->curr_load,
		.task_load = in->task_load,
		.waker_capacity = in->waker_capacity,
		.prev_capacity = in->prev_capacity,
		.imbalance_pct = affine_imbalance_pct(pol, in),
		.sync = in->flags & PLACE_IN_SYNC,
		.bias = pol->param[PLACE_PARAM_wa_bias],
	};

	return wake_affine_weight(&a);
}

place_inline u32 wake_affine_414(const struct place_policy *pol, const struct place_in *in, const u32 nw)
{
	u32 branch = PLACE_CNT_affine_undecided;

	if (pol->param[PLACE_PARAM_wa_idle])
		branch = wake_affine_idle(in, nw);
	if (pol->param[PLACE_PARAM_wa_weight] && branch == PLACE_CNT_affine_undecided)
		branch = wake_affine_loads(pol, in);
	return branch;
}

/* The branch that decides; affine_pulls() says what it means.  llc_size: CPUs in the waker's cache. */
place_inline u32 wake_affine(const struct place_policy *pol, const struct place_in *in, u32 llc_size,
			     const u32 nw)
{
	u32 rule = pol->axis[PLACE_AXIS_affine];

	if (in->waker == in->prev)
		return PLACE_CNT_affine_same_cpu;
	if ((rule == PLACE_affine_wa_414 || rule == PLACE_affine_v46) && pol->param[PLACE_PARAM_wake_wide] &&
	    wake_wide(in->waker_flips, in->wakee_flips, llc_size))
		return PLACE_CNT_affine_wake_wide;
	if (!(in->flags & PLACE_IN_WAKER_ALLOWED))
		return PLACE_CNT_affine_not_allowed;
	if (!(in->flags & PLACE_IN_AFFINE_DOMAIN) && !affine_knows_no_distance(rule))
		return PLACE_CNT_affine_no_domain;
	if (rule == PLACE_affine_wa_414)
		return wake_affine_414(pol, in, nw);
	if (rule == PLACE_affine_off)
		return PLACE_CNT_affine_off;
	if (rule == PLACE_affine_always)
		return PLACE_CNT_affine_always;
	return wake_affine_history(pol, in);
}

_Static_assert(PLACE_CNT_affine_undecided < 64, "the branches of affine are bits of a word");

#define AFFINE_BRANCH(name) (1ULL << PLACE_CNT_affine_##name)

place_inline int affine_pulls(u32 branch)
{
	const u64 pulls = AFFINE_BRANCH(always) | AFFINE_BRANCH(idle_waker) | AFFINE_BRANCH(sync_alone) |
			  AFFINE_BRANCH(weight_sync) | AFFINE_BRANCH(weight_waker) |
			  AFFINE_BRANCH(passive_waker) | AFFINE_BRANCH(unloaded) |
			  AFFINE_BRANCH(sync_overlap) | AFFINE_BRANCH(sync_balanced) |
			  AFFINE_BRANCH(balanced) | AFFINE_BRANCH(light);

	return pulls >> (branch & 63) & 1;
}

#endif /* PLACE_WAKE_AFFINE_H */
