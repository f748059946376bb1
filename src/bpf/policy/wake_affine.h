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
 */
#ifndef PLACE_WAKE_AFFINE_H
#define PLACE_WAKE_AFFINE_H

#include "place.h"

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
