/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * idle_search.h - select_idle_sibling: an idle CPU in the cache of the target T.
 *
 * none: T.
 *
 * idle_history.h has the kernels up to v5.11 and what was posted and not merged: scan_2637,
 * mainline_46, mason_first, mason_pkg, peter_rfc, sis_49, sis_avg_cpu, sis_prop.
 *
 * idle_fused.h has the kernels from v5.12 on: sis_util, sis_modern.
 *
 * Where one word is a mask, all but the default, sis_modern, are in a function of their own, which
 * keeps their needs of registers from it.  Wider masks are in memory anyway, and the BPF stack has no
 * room for one call more.
 */
#ifndef PLACE_IDLE_SEARCH_H
#define PLACE_IDLE_SEARCH_H

#include "idle_fused.h"
#include "idle_history.h"

place_inline void search_begin(struct place_search *s, const struct place_where *t_at,
			       struct place_out *out)
{
	s->target = t_at->local;
	s->from = t_at->local + 1;
	s->visited = 0;
	s->throttled = 0;
	out->scan_cost_ns = 0;
	search_end(s, -1, PLACE_CNT_search_none);
}

/* How the chosen CPU looked, and if it was busy, whether it had to be. */
place_inline u32 search_outcome(const struct place_view *v, struct place_search *s, u32 local,
				const u32 nw)
{
	struct place_mask *q = &s->t[0];

	if (mask_test(&v->idle_core, local, nw))
		return PLACE_CNT_outcome_idle_core;
	if (mask_test(&v->idle, local, nw))
		return PLACE_CNT_outcome_idle_thread;
	mask_and(q, &v->idle, &v->allowed, nw);
	if (mask_empty(q, nw))
		return PLACE_CNT_outcome_busy_none;
	return s->throttled ? PLACE_CNT_outcome_busy_throttled : PLACE_CNT_outcome_busy_rule;
}

/* Completes *out. */
place_inline void search_complete(const struct place_llc *llc, const struct place_view *v,
				  const struct place_where *t_at, struct place_search *s, u16 effects,
				  struct place_out *out, const u32 nw)
{
	out->local = s->found >= 0 ? s->found : t_at->local;
	out->search = s->branch;
	out->visited = s->visited;
	out->effects = effects;
	out->outcome = search_outcome(v, s, out->local, nw);
	/* A target outside the affinity mask is the kernel's to correct: never claim it. */
	out->idle = (out->outcome == PLACE_CNT_outcome_idle_core ||
		     out->outcome == PLACE_CNT_outcome_idle_thread) &&
		    mask_test(&v->allowed, out->local, nw);
	out->cpu = llc->cpu_of[mask_wrap(out->local, nw)];
}

/*
 * All rules but sis_modern.  The target and its view are in *out, the size of the waker's cache in
 * memory->waker_llc_cpus.
 */
place_inline int idle_search_other(const struct place_policy *pol, const struct place_in *in,
				   const struct place_llc *llc, struct place_search *memory,
				   struct place_out *out, const u32 nw)
{
	const struct place_where *t_at = out->target == in->waker ? &in->waker_at : &in->prev_at;
	const struct place_view *v = &in->view[out->view & 1];
	struct place_search registers;
	struct place_search *s = nw == 1 ? &registers : memory;
	u32 rule = pol->axis[PLACE_AXIS_idle_search];
	u16 effects = 0;

	search_begin(s, t_at, out);
	if (rule == PLACE_idle_search_sis_util)
		search_fused(in, llc, v, t_at, 0, s, &effects, nw);
	else if (rule >= PLACE_idle_search_scan_2637 && rule <= PLACE_idle_search_sis_prop)
		search_history(pol, rule, in, llc, v, t_at, memory->waker_llc_cpus, s, &effects, out, nw);
	search_complete(llc, v, t_at, s, effects, out, nw);
	return 0;
}

place_wide int idle_search_other_1(const struct place_policy *pol __arg_nonnull,
				   const struct place_in *in __arg_nonnull,
				   const struct place_llc *llc __arg_nonnull,
				   struct place_search *memory __arg_nonnull,
				   struct place_out *out __arg_nonnull)
{
	return idle_search_other(pol, in, llc, memory, out, 1);
}

/*
 * Searches the cache of the target, whose description, view and place are given, and completes
 * *out, which has the target and the number of its view.  `memory`: where wide forms work;
 * waker_llc_cpus: CPUs in the waker's cache.
 */
place_inline void idle_search(const struct place_policy *pol, const struct place_in *in,
			      const struct place_llc *llc, const struct place_view *v,
			      const struct place_where *t_at, u32 waker_llc_cpus,
			      struct place_search *memory, struct place_out *out, const u32 nw)
{
	struct place_search registers;
	struct place_search *s = nw == 1 ? &registers : memory;
	u16 effects = 0;

	if (pol->axis[PLACE_AXIS_idle_search] != PLACE_idle_search_sis_modern) {
		memory->waker_llc_cpus = waker_llc_cpus;
		if (nw == 1)
			idle_search_other_1(pol, in, llc, memory, out);
		else
			idle_search_other(pol, in, llc, memory, out, nw);
		return;
	}
	search_begin(s, t_at, out);
	search_fused(in, llc, v, t_at, llc->nr_clusters, s, &effects, nw);
	search_complete(llc, v, t_at, s, effects, out, nw);
}

#endif /* PLACE_IDLE_SEARCH_H */
