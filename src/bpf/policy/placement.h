/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * placement.h - the whole decision of a wakeup: affine target, then idle search (policies.md 0.2).
 */
#ifndef PLACE_PLACEMENT_H
#define PLACE_PLACEMENT_H

#include "fork_placement.h"
#include "idle_search.h"
#include "wake_affine.h"

/* Does the policy read what is kept and gathered for older rules only (history.bpf.h)? */
place_inline int place_reads_history(const struct place_policy *pol)
{
	return affine_is_history(pol->axis[PLACE_AXIS_affine]) ||
	       idle_search_reads_history(pol->axis[PLACE_AXIS_idle_search]);
}

/*
 * llc_prev and llc_waker describe the caches of view[0] and view[1] (the same one if they share a
 * cache).  Decides from `in` alone; completes *out.  `memory`: see idle_search().
 */
place_inline void place_wakeup(const struct place_policy *pol, const struct place_in *in,
			       const struct place_llc *llc_prev, const struct place_llc *llc_waker,
			       struct place_search *memory, struct place_out *out, const u32 nw)
{
	u32 affine = wake_affine(pol, in, llc_waker->nr_cpus, nw);
	int pull = affine_pulls(affine), far = pull && !in_same_llc(in);

	out->affine = affine;
	out->target = pull ? in->waker : in->prev;
	out->view = far;
	idle_search(pol, in, far ? llc_waker : llc_prev, &in->view[far],
		    pull ? &in->waker_at : &in->prev_at, llc_waker->nr_cpus, memory, out, nw);
}

/* A claim was lost: the CPU is idle no more, and neither is its core, whose threads are given. */
place_inline void place_claim_lost(struct place_view *v, const struct place_llc *llc, u32 local,
				   u32 core, struct place_search *memory, const u32 nw)
{
	struct place_search registers;
	struct place_search *s = nw == 1 ? &registers : memory;

	mask_clear_bit(&v->idle, local, nw);
	llc_core_threads(llc, s, &s->t[0], core, nw);
	mask_andnot(&v->idle_core, &v->idle_core, &s->t[0], nw);
}

#endif /* PLACE_PLACEMENT_H */
