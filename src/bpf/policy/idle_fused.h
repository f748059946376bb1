/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * idle_fused.h - the idle searches from v5.12 on, which look for cores and threads in one scan.
 *
 * free = idle or running SCHED_IDLE tasks only.
 *
 * sis_modern (v6.12):
 *   1. T free: T.
 *   2. P another CPU of T's cache, free: P; with L2 clusters only if P is in T's, else kept.
 *   3. the waker is a per-CPU kernel thread on P, alone there: P.
 *   4. the recently used CPU, in T's cache, free, allowed, neither P nor T: that one; with L2
 *      clusters only if it is in T's, else kept.  From here on P is the recently used CPU.
 *   5. SMT, no idle core expected, P in T's cache: first free allowed thread of P's core, P excluded.
 *   6. one scan of A(p), T's L2 cluster first, from T + 1:
 *      a. no budget (nr_idle_scan 0): no scan, not even for cores.
 *      b. an idle core expected: the first allowed CPU whose core is all idle; failing that the
 *         first free allowed thread of the first core that has one, and has_idle_cores is cleared.
 *      c. otherwise the first free CPU among the next nr_idle_scan.
 *   7. the kept P, the kept recent CPU, T.
 *
 * sis_util (v6.1, as its stable releases have it): the same without L2 clusters, which came in v6.7.
 * The steps, their order, and the budget with its formula are equal.  So nothing is ever kept, and a
 * scan that wraps around the whole cache takes the place of that of T's cluster first.
 *
 * Not covered: v6.1 has SIS_PROP beside SIS_UTIL, off, in another form than sis_prop (idle_history.h):
 * of an idle time of its own, halved for every jiffy since the last wakeup and less what scans took,
 * and not divided by anything; from T + 1.
 */
#ifndef PLACE_IDLE_FUSED_H
#define PLACE_IDLE_FUSED_H

#include "idle_scan.h"

/* The compiler may test one copy of a number and index with another: for the verifier. */
place_inline u32 cluster_index(u32 cluster)
{
	asm volatile("" : "+r"(cluster));
	cluster &= PLACE_MAX_CLUSTERS - 1;
	asm volatile("" : "+r"(cluster));
	return cluster;
}

/* Step 6, the part in T's cluster first.  *effects may gain the clearing of has_idle_cores. */
place_inline void search_scan(const struct place_llc *llc, const struct place_view *v,
			      struct place_search *s, u32 cluster, u32 cores, u16 *effects,
			      const u32 nw)
{
	s32 cpu, fallback = -1;
	u32 passes = 1;

	if (!v->nr_idle_scan) {
		s->throttled = 1;
		return search_end(s, -1, PLACE_CNT_search_no_budget);
	}
	s->budget = v->nr_idle_scan;
	mask_and(&s->cpus, &v->allowed, &llc->span, nw);
	if (cluster < PLACE_MAX_CLUSTERS) {
		const struct place_mask *own = &llc->cluster[cluster_index(cluster)];

		mask_andnot(&s->rest, &s->cpus, own, nw);
		mask_and(&s->cpus, &s->cpus, own, nw);
		passes = 2;
	}
	for (u32 i = 0; i < passes; i++) {
		cpu = cores ? scan_cores(llc, v, s, &fallback, nw) : scan_threads(s, nw);
		if (cpu >= 0)
			return search_end(s, cpu, cores ? PLACE_CNT_search_core : PLACE_CNT_search_thread);
		if (cpu == -2) {
			s->throttled = 1;
			return search_end(s, -1, PLACE_CNT_search_budget_spent);
		}
		if (passes == 2)
			mask_and(&s->cpus, &s->rest, &llc->span, nw);
	}
	if (cores)
		*effects |= PLACE_EFFECT_CLEAR_IDLE_CORES;
	search_end(s, fallback, fallback >= 0 ? PLACE_CNT_search_core_thread : PLACE_CNT_search_nothing);
}

/* Step 5 of sis_modern. */
place_inline s32 search_prev_core(const struct place_in *in, const struct place_llc *llc,
				  const struct place_view *v, struct place_search *s, const u32 nw)
{
	struct place_mask *q = &s->t[0];

	llc_core_threads(llc, s, q, in->prev_at.core, nw);
	mask_clear_bit(q, in->prev_at.local, nw);
	mask_and(q, q, &v->allowed, nw);
	mask_and(q, q, &s->free, nw);
	return mask_first_from(q, 0, nw);
}

/* clusters: the number of L2 clusters in T's cache; 0: they do not count. */
place_inline void search_fused(const struct place_in *in, const struct place_llc *llc,
			       const struct place_view *v, const struct place_where *t_at,
			       u32 clusters, struct place_search *s, u16 *effects, const u32 nw)
{
	struct place_kept kept = { .prev = -1, .recent = -1 };
	u32 cores = 0;
	s32 cpu;

	mask_or(&s->free, &v->idle, &v->sched_idle, nw);
	if (search_known(in, v, t_at, clusters, s, effects, &kept, nw))
		return;
	*effects |= PLACE_EFFECT_SET_RECENT;
	if (llc->threads > 1) {
		cores = v->has_idle_cores;
		if (!cores && in->prev_at.llc == t_at->llc) {
			cpu = search_prev_core(in, llc, v, s, nw);
			if (cpu >= 0)
				return search_end(s, cpu, PLACE_CNT_search_smt_prev);
		}
	}
	search_scan(llc, v, s, clusters ? t_at->cluster : PLACE_NO_CLUSTER, cores, effects, nw);
	if (s->found >= 0)
		return;
	if (kept.prev >= 0)
		return search_end(s, kept.prev, PLACE_CNT_search_prev_kept);
	if (kept.recent >= 0)
		search_end(s, kept.recent, PLACE_CNT_search_recent_kept);
}

#endif /* PLACE_IDLE_FUSED_H */
