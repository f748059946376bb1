/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * idle_history.h - the idle searches up to v5.11, and those that were posted and never merged.
 *
 * W is the waker's CPU.  T is W or P.
 *
 * scan_2637 (v2.6.37, v2.6.38):
 *   1. T idle: T.
 *   2. T's core, if it has several threads and is not all of the cache: its lowest idle allowed
 *      thread.  If the core holds both W and P, this one or T.
 *   3. the cache's lowest idle allowed CPU, also over one that step 2 found.
 *   4. T.
 *   (No level between core and cache, as in mainline_46.)
 *
 * mainline_46 (v4.6; "Mainline" of the schbench mail, May 2016):
 *   1. T idle: T.
 *   2. P another CPU of T's cache, idle: P.
 *   3. cores in ring order behind T's: the first whose threads are all idle and one of which is
 *      allowed; its lowest allowed thread.  (v4.6 knows no level between core and cache.)
 *   4. T's other threads in ring order behind T: the first that is idle and allowed.
 *   5. T.
 *
 * mason_first (RFC of 5 April 2016, as it is remembered):
 *   1. and 2. as in mainline_46.
 *   3. the cache's lowest idle allowed CPU.
 *   4. T.
 *
 * mason_pkg (April 2016, as it is remembered; believed to be "Mason" of the schbench mail):
 *   1. to 4. as in mainline_46.
 *   5. T alone in its cache, or T runs more than one task, or the wakee is cache hot: T.
 *   6. the cache's lowest idle allowed CPU.
 *   7. T.
 *   Cache hot: P's clock shows less than migration_cost_us since the wakee's run was charged last.
 *   The clock stands still while P idles.
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
 * peter_rfc (May 2016; "Peter" of the schbench mail): sis_49.  It is the first posting of what v4.9
 * has.  What is remembered of it says nothing else; whether it divided the idle time is not certain,
 * sis_fudge=1 is the form that did not.
 *
 * sis_avg_cpu, sis_prop (v5.10 with the feature bit of that name, as its stable releases have it).
 * free = idle or running SCHED_IDLE tasks only.
 *   1. T free: T.
 *   2. P another CPU of T's cache, free: P.
 *   3. the waker is a per-CPU kernel thread on P, alone there: P.
 *   4. the recently used CPU, in T's cache, free, allowed, neither P nor T: that one, and P becomes
 *      the recently used CPU.
 *   5. to 9. as 3. to 7. of sis_49 with free CPUs in place of idle ones, but for the idle core of
 *      step 4, whose limit of the scan of step 5 is
 *      sis_avg_cpu  the same, of a cost higher by 1 ns.
 *      sis_prop     nr - 1 CPUs, where nr is the number of CPUs in T's cache, times the idle time
 *                   divided by sis_fudge, divided by the cost plus 1; at least 4.  A scan that
 *                   comes to the limit does not correct the cost.
 *   Whatever comes out, W becomes the waker's recently used CPU if the wakee may run there and
 *   wake_wide did not forbid it (which is not asked where W is P).
 *   sis_prop divides twice, as the kernel does; no other search does.
 */
#ifndef PLACE_IDLE_HISTORY_H
#define PLACE_IDLE_HISTORY_H

#include "idle_scan.h"

/* The order of table.h, on which comparisons of rules below rely. */
_Static_assert(PLACE_idle_search_mainline_46 == PLACE_idle_search_scan_2637 + 1 &&
	       PLACE_idle_search_mason_first == PLACE_idle_search_scan_2637 + 2 &&
	       PLACE_idle_search_mason_pkg == PLACE_idle_search_scan_2637 + 3 &&
	       PLACE_idle_search_peter_rfc == PLACE_idle_search_scan_2637 + 4 &&
	       PLACE_idle_search_sis_49 == PLACE_idle_search_scan_2637 + 5 &&
	       PLACE_idle_search_sis_avg_cpu == PLACE_idle_search_scan_2637 + 6 &&
	       PLACE_idle_search_sis_prop == PLACE_idle_search_scan_2637 + 7, "by age");

/* Does the rule read what place_in has for some of these rules only? */
place_inline int idle_search_reads_more(u32 rule)
{
	return rule >= PLACE_idle_search_mason_pkg && rule <= PLACE_idle_search_sis_prop;
}

/* The lowest free allowed CPU of the cache. */
place_inline s32 scan_cache(const struct place_llc *llc, const struct place_view *v,
			    struct place_search *s, const u32 nw)
{
	mask_and(&s->cpus, &v->allowed, &llc->span, nw);
	return scan_ascending(s, nw);
}

place_inline void search_scan_2637(const struct place_in *in, const struct place_llc *llc,
				   const struct place_view *v, const struct place_where *t_at,
				   struct place_search *s, const u32 nw)
{
	u32 threads;
	s32 cpu;

	if (mask_test(&s->free, s->target, nw))
		return search_end(s, s->target, PLACE_CNT_search_target_idle);
	if (llc->nr_cpus < 2)
		return search_end(s, -1, PLACE_CNT_search_nothing);
	llc_core_threads(llc, s, &s->t[0], t_at->core, nw);
	threads = mask_count(&s->t[0], nw);
	if (threads > 1 && threads < llc->nr_cpus) {
		cpu = scan_core_threads(llc, v, s, t_at->core, nw);
		if (in->waker_at.llc == in->prev_at.llc && in->waker_at.core == in->prev_at.core)
			return search_end(s, cpu, cpu >= 0 ? PLACE_CNT_search_smt_target
							   : PLACE_CNT_search_nothing);
	}
	cpu = scan_cache(llc, v, s, nw);
	search_end(s, cpu, cpu >= 0 ? PLACE_CNT_search_thread : PLACE_CNT_search_nothing);
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

/* Steps 3 and 4 of mainline_46.  Returns 1 if the search is over. */
place_inline int search_46_levels(const struct place_llc *llc, const struct place_view *v,
				  const struct place_where *t_at, struct place_search *s, const u32 nw)
{
	s32 cpu = search_46_cores(llc, v, s, t_at->core, nw);

	if (cpu >= 0) {
		search_end(s, cpu, llc->threads > 1 ? PLACE_CNT_search_core : PLACE_CNT_search_thread);
		return 1;
	}
	if (llc->threads > 1) {
		cpu = search_46_threads(llc, v, s, t_at->core, nw);
		if (cpu >= 0)
			search_end(s, cpu, PLACE_CNT_search_smt_target);
	}
	return cpu >= 0;
}

/* Is a task cache hot whose run was charged so long ago?  cost_us: 0: never, ~0: always. */
place_inline int wakee_is_hot(s64 since_ran_ns, u32 cost_us)
{
	if (cost_us == ~0u)
		return 1;
	return cost_us && since_ran_ns < (s64)cost_us * 1000;
}

/* Step 5 of mason_pkg.  Returns 1 if the search is over. */
place_inline int mason_bounces(const struct place_policy *pol, const struct place_in *in,
			       struct place_search *s, const struct place_out *out)
{
	u32 nr = out->target == in->waker ? in->waker_nr_running : in->prev_nr_running;

	s->throttled = 1;
	if (nr > 1) {
		search_end(s, -1, PLACE_CNT_search_bounce_busy);
		return 1;
	}
	if (wakee_is_hot(in->since_ran_ns, pol->param[PLACE_PARAM_migration_cost_us])) {
		search_end(s, -1, PLACE_CNT_search_bounce_hot);
		return 1;
	}
	s->throttled = 0;
	return 0;
}

/* mainline_46, mason_first, mason_pkg. */
place_inline void search_46(const struct place_policy *pol, u32 rule, const struct place_in *in,
			    const struct place_llc *llc, const struct place_view *v,
			    const struct place_where *t_at, struct place_search *s,
			    const struct place_out *out, const u32 nw)
{
	s32 cpu;

	if (search_target_prev(in, t_at, s, nw))
		return;
	search_end(s, -1, PLACE_CNT_search_nothing);
	if (rule != PLACE_idle_search_mason_first && search_46_levels(llc, v, t_at, s, nw))
		return;
	if (rule == PLACE_idle_search_mainline_46 || llc->nr_cpus < 2)
		return;
	if (rule == PLACE_idle_search_mason_pkg && mason_bounces(pol, in, s, out))
		return;
	cpu = scan_cache(llc, v, s, nw);
	if (cpu >= 0)
		search_end(s, cpu, PLACE_CNT_search_thread);
}

/* How many CPUs the scan for a thread may look at; 0: no scan. */
place_inline u32 scan_limit(const struct place_policy *pol, u32 rule, const struct place_in *in,
			    const struct place_llc *llc)
{
	u64 fudge = pol->param[PLACE_PARAM_sis_fudge], cost = in->scan_cost_ns, span;

	if (rule >= PLACE_idle_search_sis_avg_cpu)
		cost++;
	/* idle time / fudge < cost for whole numbers, without dividing */
	if (rule != PLACE_idle_search_sis_prop)
		return in->avg_idle_ns < cost * fudge ? 0 : ~0u;
	span = llc->nr_cpus * (in->avg_idle_ns / (fudge | !fudge));
	return span > 4 * cost ? span / cost - 1 : 3;
}

/* Step 5 of sis_49.  The new average cost goes to *out. */
place_inline s32 scan_limited(const struct place_policy *pol, const struct place_in *in, u32 limit,
			      struct place_search *s, u16 *effects, struct place_out *out, const u32 nw)
{
	u32 before = s->visited, cost = in->scan_cost_ns, spent;
	s32 cpu = -1;

	s->from = s->target;
	s->budget = limit;
	if (limit)
		cpu = scan_threads(s, nw);
	if (!limit || cpu == -2) {
		s->throttled = 1;
		search_end(s, -1, limit ? PLACE_CNT_search_budget_spent : PLACE_CNT_search_throttled);
		return -1;
	}
	*effects |= PLACE_EFFECT_SCAN_COST;
	spent = (s->visited - before) * pol->param[PLACE_PARAM_scan_cost_ns];
	/* The kernel's signed division cuts off towards zero. */
	out->scan_cost_ns = spent < cost ? cost - (cost - spent) / 8 : cost + (spent - cost) / 8;
	return cpu;
}

/* Steps 3 to 7 of sis_49, 5 to 9 of v5.10.  waker_llc_cpus: CPUs in the waker's cache. */
place_inline void search_three_scans(const struct place_policy *pol, u32 rule, const struct place_in *in,
				     const struct place_llc *llc, const struct place_view *v,
				     const struct place_where *t_at, u32 waker_llc_cpus,
				     struct place_search *s, u16 *effects, struct place_out *out,
				     const u32 nw)
{
	s32 cpu, no_fallback = 0;

	search_end(s, -1, PLACE_CNT_search_nothing);
	if (llc->nr_cpus < 2)
		return;
	s->from = s->target;
	mask_and(&s->cpus, &v->allowed, &llc->span, nw);
	if (llc->threads > 1 && v->has_idle_cores) {
		cpu = scan_cores(llc, v, s, &no_fallback, nw);
		if (cpu >= 0)
			return search_end(s, cpu, PLACE_CNT_search_core);
		*effects |= PLACE_EFFECT_CLEAR_IDLE_CORES;
	}
	if (waker_llc_cpus > 1) {
		cpu = scan_limited(pol, in, scan_limit(pol, rule, in, llc), s, effects, out, nw);
		if (cpu >= 0)
			return search_end(s, cpu, PLACE_CNT_search_thread);
	}
	if (llc->threads > 1) {
		cpu = scan_core_threads(llc, v, s, t_at->core, nw);
		if (cpu >= 0)
			search_end(s, cpu, PLACE_CNT_search_smt_target);
	}
}

/* Steps 1 to 4 of v5.10.  Returns 1 if the search is over. */
place_inline int search_510_known(const struct place_in *in, const struct place_view *v,
				  const struct place_where *t_at, struct place_search *s, u16 *effects,
				  const struct place_out *out, const u32 nw)
{
	struct place_kept none;

	mask_or(&s->free, &v->idle, &v->sched_idle, nw);
	if ((in->flags & PLACE_IN_WAKER_ALLOWED) && out->affine != PLACE_CNT_affine_wake_wide)
		*effects |= PLACE_EFFECT_WAKER_RECENT;
	return search_known(in, v, t_at, 0, s, effects, &none, nw);
}

/* All of the above.  waker_llc_cpus: CPUs in the waker's cache. */
place_inline void search_history(const struct place_policy *pol, u32 rule, const struct place_in *in,
				 const struct place_llc *llc, const struct place_view *v,
				 const struct place_where *t_at, u32 waker_llc_cpus,
				 struct place_search *s, u16 *effects, struct place_out *out, const u32 nw)
{
	mask_and(&s->free, &v->idle, &llc->span, nw);
	if (rule == PLACE_idle_search_scan_2637)
		return search_scan_2637(in, llc, v, t_at, s, nw);
	if (rule <= PLACE_idle_search_mason_pkg)
		return search_46(pol, rule, in, llc, v, t_at, s, out, nw);
	if (rule >= PLACE_idle_search_sis_avg_cpu ? search_510_known(in, v, t_at, s, effects, out, nw)
						  : search_target_prev(in, t_at, s, nw))
		return;
	search_three_scans(pol, rule, in, llc, v, t_at, waker_llc_cpus, s, effects, out, nw);
}

#endif /* PLACE_IDLE_HISTORY_H */
