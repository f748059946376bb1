/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * affine_domain.h - what the rules of wake_affine.h and wake_affine_history.h share: the smallest
 * domain that holds the waker's CPU and the previous one, and its imbalance percentage.
 */
#ifndef PLACE_AFFINE_DOMAIN_H
#define PLACE_AFFINE_DOMAIN_H

#include "place.h"

/* Half of a level's imbalance percentage above 100: what a pull must be cheaper by. */
place_inline u32 affine_scale(u32 imbalance_pct)
{
	return 100 + (imbalance_pct - 100) / 2;
}

place_inline int in_same_llc(const struct place_in *in)
{
	return in->waker_at.llc == in->prev_at.llc;
}

place_inline int in_same_core(const struct place_in *in)
{
	return in_same_llc(in) && in->waker_at.core == in->prev_at.core;
}

/* Of the smallest domain that holds both CPUs. */
place_inline u32 affine_imbalance_pct(const struct place_policy *pol, const struct place_in *in)
{
	if (!in_same_llc(in))
		return pol->param[PLACE_PARAM_imbalance_pct_wide];
	if (in->waker_at.core != in->prev_at.core)
		return pol->param[PLACE_PARAM_imbalance_pct_llc];
	return pol->param[PLACE_PARAM_imbalance_pct_smt];
}

#endif /* PLACE_AFFINE_DOMAIN_H */
