/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * idle_search.h - select_idle_sibling: an idle CPU in the cache of the target T.
 *
 * P is the previous CPU, A(p) the affinity mask, "from x" the ascending order of CPU numbers that
 * starts at x and wraps around.  Every search decides what the kernel's linear scan decides and
 * reports how many CPUs that scan would have looked at, by operations on whole words.
 *
 * none: T.
 *
 * mainline_46 (v4.6; "Mainline" of the schbench mail, May 2016):
 *   1. T idle: T.
 *   2. P another CPU of T's cache, idle: P.
 *   3. cores in ring order behind T's: the first whose threads are all idle and one of which is
 *      allowed; its lowest allowed thread.  (v4.6 knows no level between core and cache.)
 *   4. T's other threads in ring order behind T: the first that is idle and allowed.
 *   5. T.
 *
 * sis_49 (v4.9):
 *   1. T idle: T.
 *   2. P another CPU of T's cache, idle: P.
 *   3. T alone in its cache: T.
 *   4. SMT and an idle core expected: from T, the first allowed CPU whose core is all idle.  None:
 *      has_idle_cores is cleared.
 *   5. the average idle time of the waker's CPU, divided by sis_fudge, is at least the average cost
 *      of a scan, kept in the waker's cache: from T, the first idle allowed CPU.  An eighth of what
 *      the cost was off is corrected, whether the scan found one or not.  The waker's CPU alone in
 *      its cache has no such average and does not scan.
 *   6. SMT: the lowest idle allowed thread of T's core.
 *   7. T.
 *   The kernel measures what a scan costs; here each look at a CPU costs scan_cost_ns.
 *
 * sis_modern (v6.12), free = idle or running SCHED_IDLE tasks only:
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
 */
#ifndef PLACE_IDLE_SEARCH_H
#define PLACE_IDLE_SEARCH_H

#include "place.h"

/* d = the cores, named by their first threads, that own a thread of m.  Uses t[3]. */
place_inline void llc_cores_of(const struct place_llc *llc, struct place_search *s,
			       struct place_mask *d, const struct place_mask *m, const u32 nw)
{
	struct place_mask *x = &s->t[3], *y = &s->t[4];

	mask_and(d, m, &llc->plane[0], nw);
	for (u32 k = 1; k < PLACE_MAX_THREADS && k < llc->threads; k++) {
		mask_and(x, m, &llc->plane[k], nw);
		mask_shift_down(y, x, k * llc->stride, nw);
		mask_or(d, d, y, nw);
	}
}

/* d = all threads of the cores in m, cores named by their first threads. */
place_inline void llc_threads_of(const struct place_llc *llc, struct place_search *s,
				 struct place_mask *d, const struct place_mask *m, const u32 nw)
{
	struct place_mask *x = &s->t[3];

	mask_and(d, m, &llc->plane[0], nw);
	for (u32 k = 1; k < PLACE_MAX_THREADS && k < llc->threads; k++) {
		mask_shift_up(x, m, k * llc->stride, nw);
		mask_and(x, x, &llc->plane[k], nw);
		mask_or(d, d, x, nw);
	}
}

/* d = all threads of the core whose first thread is `core`. */
place_inline void llc_core_threads(const struct place_llc *llc, struct place_search *s,
				   struct place_mask *d, u32 core, const u32 nw)
{
	mask_one(&s->t[5], core, nw);
	llc_threads_of(llc, s, d, &s->t[5], nw);
}

place_inline void search_end(struct place_search *s, s32 local, u32 branch)
{
	s->found = local;
	s->branch = branch;
}

/*
 * Step 3 of mainline_46 among the cores behind T's.  The kernel's walk looks at a core's threads
 * until one is busy, so a core passed counts one visit more for each leading idle thread.
 */
place_inline u32 visits_46_cores(const struct place_llc *llc, const struct place_view *v,
				 struct place_search *s, struct place_mask *cores, const u32 nw)
{
	struct place_mask *x = &s->t[3], *y = &s->t[4];
	u32 n = mask_count(cores, nw);

	for (u32 k = 0; k + 1 < PLACE_MAX_THREADS && k + 1 < llc->threads; k++) {
		mask_and(x, &v->idle, &llc->plane[k], nw);
		mask_shift_down(y, x, k * llc->stride, nw);
		mask_and(cores, cores, y, nw);
		mask_shift_down(y, &llc->plane[k + 1], (k + 1) * llc->stride, nw);
		mask_and(cores, cores, y, nw);
		n += mask_count(cores, nw);
	}
	return n;
}

place_inline s32 search_46_cores(const struct place_llc *llc, const struct place_view *v,
				 struct place_search *s, u32 target_core, const u32 nw)
{
	struct place_mask *q = &s->t[0], *cores = &s->t[1];
	s32 core;

	mask_and(q, &v->idle_core, &v->allowed, nw);
	llc_cores_of(llc, s, cores, q, nw);
	mask_clear_bit(cores, target_core, nw);
	core = mask_first_from(cores, target_core + 1, nw);

	llc_cores_of(llc, s, q, &v->allowed, nw);	/* others are passed without a look */
	mask_clear_bit(q, target_core, nw);
	mask_until(cores, q, target_core + 1, core < 0 ? target_core : (u32)core, nw);
	s->visited += visits_46_cores(llc, v, s, cores, nw);
	if (core < 0)
		return -1;
	llc_core_threads(llc, s, q, core, nw);
	mask_and(q, q, &v->allowed, nw);
	return mask_first_from(q, 0, nw);
}

/* Step 4 of mainline_46: threads that A(p) excludes are passed without a look. */
place_inline s32 search_46_threads(const struct place_llc *llc, const struct place_view *v,
				   struct place_search *s, u32 target_core, const u32 nw)
{
	struct place_mask *own = &s->t[0], *q = &s->t[1];
	s32 cpu;

	llc_core_threads(llc, s, own, target_core, nw);
	mask_clear_bit(own, s->target, nw);
	mask_and(own, own, &v->allowed, nw);
	mask_and(q, own, &v->idle, nw);
	cpu = mask_first_from(q, s->from, nw);
	s->visited += cpu < 0 ? mask_count(own, nw) : mask_count_until(own, s->from, cpu, nw);
	return cpu;
}

place_inline void search_mainline_46(const struct place_in *in, const struct place_llc *llc,
				     const struct place_view *v, const struct place_where *t_at,
				     struct place_search *s, const u32 nw)
{
	s32 cpu;

	if (mask_test(&v->idle, s->target, nw))
		return search_end(s, s->target, PLACE_CNT_search_target_idle);
	if (in->prev_at.llc == t_at->llc && in->prev_at.local != s->target &&
	    mask_test(&v->idle, in->prev_at.local, nw))
		return search_end(s, in->prev_at.local, PLACE_CNT_search_prev_idle);
	cpu = search_46_cores(llc, v, s, t_at->core, nw);
	if (cpu >= 0)
		return search_end(s, cpu, llc->threads > 1 ? PLACE_CNT_search_core
							   : PLACE_CNT_search_thread);
	if (llc->threads > 1) {
		cpu = search_46_threads(llc, v, s, t_at->core, nw);
		if (cpu >= 0)
			return search_end(s, cpu, PLACE_CNT_search_smt_target);
	}
	search_end(s, -1, PLACE_CNT_search_nothing);
}

/* The lowest free candidate of the first core, in visiting order, that has one; -1: none. */
place_inline s32 first_free_of_cores(const struct place_llc *llc, struct place_search *s, const u32 nw)
{
	struct place_mask *q = &s->t[0], *x = &s->t[1], *y = &s->t[2];
	s32 first;

	mask_and(q, &s->free, &s->cpus, nw);
	llc_cores_of(llc, s, x, q, nw);
	llc_threads_of(llc, s, y, x, nw);
	mask_and(y, y, &s->cpus, nw);		/* all candidates of cores with a free one */
	first = mask_first_from(y, s->from, nw);
	if (first < 0)
		return -1;
	mask_one(x, first, nw);
	llc_cores_of(llc, s, y, x, nw);
	llc_threads_of(llc, s, x, y, nw);
	mask_and(x, x, q, nw);
	return mask_first_from(x, 0, nw);
}

/*
 * Step 6b over s->cpus: the CPU of an idle core, or -1.  *fallback, while negative, becomes the free
 * thread to take if no pass finds a core.  A core counts as one visit.
 */
place_inline s32 scan_cores(const struct place_llc *llc, const struct place_view *v,
			    struct place_search *s, s32 *fallback, const u32 nw)
{
	struct place_mask *q = &s->t[0], *seen = &s->t[1];
	s32 cpu;

	mask_and(q, &v->idle_core, &s->cpus, nw);
	cpu = mask_first_from(q, s->from, nw);
	/* From s->from around to the CPU before it is everything. */
	mask_until(q, &s->cpus, s->from, cpu < 0 ? s->from - 1 : (u32)cpu, nw);
	llc_cores_of(llc, s, seen, q, nw);
	s->visited += mask_count(seen, nw);
	if (cpu < 0 && *fallback < 0)
		*fallback = first_free_of_cores(llc, s, nw);
	return cpu;
}

/* Step 6c over s->cpus.  -2: the budget is spent. */
place_inline s32 scan_threads(struct place_search *s, const u32 nw)
{
	struct place_mask *q = &s->t[0];
	u32 n;
	s32 cpu;

	mask_and(q, &s->free, &s->cpus, nw);
	cpu = mask_first_from(q, s->from, nw);
	n = cpu < 0 ? mask_count(&s->cpus, nw) : mask_count_until(&s->cpus, s->from, cpu, nw);
	if (n > s->budget) {
		s->visited += s->budget;
		return -2;
	}
	s->visited += n;
	s->budget -= n;
	return cpu;
}

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

/* Step 5 of sis_49, throttle aside.  The new average cost goes to *out. */
place_inline s32 scan_49(const struct place_policy *pol, const struct place_in *in,
			 struct place_search *s, struct place_out *out, const u32 nw)
{
	u32 before = s->visited, cost = in->scan_cost_ns, spent;
	s32 cpu;

	s->budget = ~0u;
	cpu = scan_threads(s, nw);
	spent = (s->visited - before) * pol->param[PLACE_PARAM_scan_cost_ns];
	/* The kernel's signed division cuts off towards zero. */
	out->scan_cost_ns = spent < cost ? cost - (cost - spent) / 8 : cost + (spent - cost) / 8;
	return cpu;
}

/* a / fudge < cost for whole numbers, without dividing. */
place_inline int throttles_49(const struct place_policy *pol, const struct place_in *in)
{
	return in->avg_idle_ns < (u64)in->scan_cost_ns * pol->param[PLACE_PARAM_sis_fudge];
}

/* Step 6 of sis_49. */
place_inline s32 search_49_smt(const struct place_llc *llc, const struct place_view *v,
			       struct place_search *s, u32 target_core, const u32 nw)
{
	struct place_mask *own = &s->t[0], *q = &s->t[1];
	s32 cpu;

	llc_core_threads(llc, s, own, target_core, nw);
	mask_and(own, own, &v->allowed, nw);
	mask_and(q, own, &v->idle, nw);
	cpu = mask_first_from(q, 0, nw);
	s->visited += cpu < 0 ? mask_count(own, nw) : mask_count_until(own, 0, cpu, nw);
	return cpu;
}

/* waker_llc_cpus: CPUs in the waker's cache. */
place_inline void search_sis_49(const struct place_policy *pol, const struct place_in *in,
				const struct place_llc *llc, const struct place_view *v,
				const struct place_where *t_at, u32 waker_llc_cpus,
				struct place_search *s, u16 *effects, struct place_out *out,
				const u32 nw)
{
	s32 cpu, no_fallback = 0;

	if (mask_test(&v->idle, s->target, nw))
		return search_end(s, s->target, PLACE_CNT_search_target_idle);
	if (in->prev_at.llc == t_at->llc && in->prev_at.local != s->target &&
	    mask_test(&v->idle, in->prev_at.local, nw))
		return search_end(s, in->prev_at.local, PLACE_CNT_search_prev_idle);
	if (llc->nr_cpus < 2)
		return search_end(s, -1, PLACE_CNT_search_nothing);
	s->from = s->target;
	mask_and(&s->free, &v->idle, &llc->span, nw);
	mask_and(&s->cpus, &v->allowed, &llc->span, nw);
	if (llc->threads > 1 && v->has_idle_cores) {
		cpu = scan_cores(llc, v, s, &no_fallback, nw);
		if (cpu >= 0)
			return search_end(s, cpu, PLACE_CNT_search_core);
		*effects |= PLACE_EFFECT_CLEAR_IDLE_CORES;
	}
	if (waker_llc_cpus > 1) {
		s->throttled = throttles_49(pol, in);
		if (!s->throttled) {
			*effects |= PLACE_EFFECT_SCAN_COST;
			cpu = scan_49(pol, in, s, out, nw);
			if (cpu >= 0)
				return search_end(s, cpu, PLACE_CNT_search_thread);
		}
	}
	if (llc->threads > 1) {
		cpu = search_49_smt(llc, v, s, t_at->core, nw);
		if (cpu >= 0)
			return search_end(s, cpu, PLACE_CNT_search_smt_target);
	}
	search_end(s, -1, s->throttled ? PLACE_CNT_search_throttled : PLACE_CNT_search_nothing);
}

/* CPUs that are kept for the case that nothing better is found. */
struct place_kept {
	s32 prev, recent;
};

/* Steps 1 to 4 of sis_modern: the CPUs known without a scan.  Returns 1 if the search is over. */
place_inline int search_known(const struct place_in *in, const struct place_llc *llc,
			      const struct place_view *v, const struct place_where *t_at,
			      struct place_search *s, u16 *effects, struct place_kept *kept,
			      const u32 nw)
{
	const struct place_where *p = &in->prev_at, *r = &in->recent_at;

	if (mask_test(&s->free, s->target, nw)) {
		search_end(s, s->target, PLACE_CNT_search_target_idle);
		return 1;
	}
	if (p->llc == t_at->llc && p->local != s->target && mask_test(&s->free, p->local, nw)) {
		if (!llc->nr_clusters || p->cluster == t_at->cluster) {
			search_end(s, p->local, PLACE_CNT_search_prev_idle);
			return 1;
		}
		kept->prev = p->local;
	}
	if ((in->flags & PLACE_IN_WAKER_KTHREAD) && in->prev == in->waker && in->waker_nr_running <= 1) {
		search_end(s, s->target, PLACE_CNT_search_kthread_stack);	/* T is P here */
		return 1;
	}
	*effects |= PLACE_EFFECT_SET_RECENT;
	if (in->recent >= 0 && r->valid && in->recent != in->prev && r->llc == t_at->llc &&
	    r->local != s->target &&
	    mask_test(&s->free, r->local, nw) && mask_test(&v->allowed, r->local, nw)) {
		if (!llc->nr_clusters || r->cluster == t_at->cluster) {
			search_end(s, r->local, PLACE_CNT_search_recent_idle);
			return 1;
		}
		kept->recent = r->local;
	}
	return 0;
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

place_inline void search_sis_modern(const struct place_in *in, const struct place_llc *llc,
				    const struct place_view *v, const struct place_where *t_at,
				    struct place_search *s, u16 *effects, const u32 nw)
{
	struct place_kept kept = { .prev = -1, .recent = -1 };
	u32 cores = 0;
	s32 cpu;

	mask_or(&s->free, &v->idle, &v->sched_idle, nw);
	if (search_known(in, llc, v, t_at, s, effects, &kept, nw))
		return;
	if (llc->threads > 1) {
		cores = v->has_idle_cores;
		if (!cores && in->prev_at.llc == t_at->llc) {
			cpu = search_prev_core(in, llc, v, s, nw);
			if (cpu >= 0)
				return search_end(s, cpu, PLACE_CNT_search_smt_prev);
		}
	}
	search_scan(llc, v, s, llc->nr_clusters ? t_at->cluster : PLACE_NO_CLUSTER, cores, effects, nw);
	if (s->found >= 0)
		return;
	if (kept.prev >= 0)
		return search_end(s, kept.prev, PLACE_CNT_search_prev_kept);
	if (kept.recent >= 0)
		search_end(s, kept.recent, PLACE_CNT_search_recent_kept);
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

/*
 * Searches the cache of the target, whose description, view and place are given, and completes
 * *out.  `memory` is used by the wide forms only; waker_llc_cpus: CPUs in the waker's cache.
 */
place_inline void idle_search(const struct place_policy *pol, const struct place_in *in,
			      const struct place_llc *llc, const struct place_view *v,
			      const struct place_where *t_at, u32 waker_llc_cpus,
			      struct place_search *memory, struct place_out *out, const u32 nw)
{
	struct place_search registers;
	struct place_search *s = nw == 1 ? &registers : memory;
	u32 rule = pol->axis[PLACE_AXIS_idle_search];
	u16 effects = 0;

	s->target = t_at->local;
	s->from = t_at->local + 1;
	s->visited = 0;
	s->throttled = 0;
	out->scan_cost_ns = 0;
	search_end(s, -1, PLACE_CNT_search_none);
	if (rule == PLACE_idle_search_mainline_46)
		search_mainline_46(in, llc, v, t_at, s, nw);
	else if (rule == PLACE_idle_search_sis_49)
		search_sis_49(pol, in, llc, v, t_at, waker_llc_cpus, s, &effects, out, nw);
	else if (rule == PLACE_idle_search_sis_modern)
		search_sis_modern(in, llc, v, t_at, s, &effects, nw);

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

#endif /* PLACE_IDLE_SEARCH_H */
