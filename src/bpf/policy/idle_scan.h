/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * idle_scan.h - what the idle searches are made of: cores and threads, scans, the CPUs that are known
 * without one.
 *
 * T is the target, P the previous CPU, A(p) the affinity mask, "from x" the ascending order of CPU
 * numbers that starts at x and wraps around.  Every scan decides what the kernel's linear one decides
 * and reports how many CPUs that would have looked at, by operations on whole words.
 *
 * A rule sets s->free, the CPUs that it takes for idle, before it calls anything below, and s->cpus,
 * the candidates, before a scan.
 */
#ifndef PLACE_IDLE_SCAN_H
#define PLACE_IDLE_SCAN_H

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
 * The idle core met first from s->from on, by its CPU met first; -1: none.  *fallback, while negative,
 * becomes the free thread to take if no pass finds a core.  A core counts as one visit.
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

/* The free CPU met first from s->from on; -1: none, -2: s->budget CPUs were looked at before. */
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

/* The same in ascending order and without a limit. */
place_inline s32 scan_ascending(struct place_search *s, const u32 nw)
{
	s->from = 0;
	s->budget = ~0u;
	return scan_threads(s, nw);
}

/* The lowest free allowed thread of a core; -1: none. */
place_inline s32 scan_core_threads(const struct place_llc *llc, const struct place_view *v,
				   struct place_search *s, u32 core, const u32 nw)
{
	llc_core_threads(llc, s, &s->t[0], core, nw);
	mask_and(&s->cpus, &s->t[0], &v->allowed, nw);
	return scan_ascending(s, nw);
}

/* The first two checks of v4.6 and v4.9.  Returns 1 if the search is over. */
place_inline int search_target_prev(const struct place_in *in, const struct place_where *t_at,
				    struct place_search *s, const u32 nw)
{
	const struct place_where *p = &in->prev_at;

	if (mask_test(&s->free, s->target, nw)) {
		search_end(s, s->target, PLACE_CNT_search_target_idle);
		return 1;
	}
	if (p->llc == t_at->llc && p->local != s->target && mask_test(&s->free, p->local, nw)) {
		search_end(s, p->local, PLACE_CNT_search_prev_idle);
		return 1;
	}
	return 0;
}

/* CPUs that are kept for the case that nothing better is found. */
struct place_kept {
	s32 prev, recent;
};

/*
 * The CPUs known without a scan, from v5.6 on: T, P, P under a kernel thread, the recently used one.
 * Returns 1 if the search is over.  clusters: the number of L2 clusters in T's cache, if they count.
 */
place_inline int search_known(const struct place_in *in, const struct place_view *v,
			      const struct place_where *t_at, u32 clusters, struct place_search *s,
			      u16 *effects, struct place_kept *kept, const u32 nw)
{
	const struct place_where *p = &in->prev_at, *r = &in->recent_at;

	if (mask_test(&s->free, s->target, nw)) {
		search_end(s, s->target, PLACE_CNT_search_target_idle);
		return 1;
	}
	if (p->llc == t_at->llc && p->local != s->target && mask_test(&s->free, p->local, nw)) {
		if (!clusters || p->cluster == t_at->cluster) {
			search_end(s, p->local, PLACE_CNT_search_prev_idle);
			return 1;
		}
		kept->prev = p->local;
	}
	if ((in->flags & PLACE_IN_WAKER_KTHREAD) && in->prev == in->waker && in->waker_nr_running <= 1) {
		search_end(s, s->target, PLACE_CNT_search_kthread_stack);	/* T is P here */
		return 1;
	}
	if (in->recent >= 0 && r->valid && in->recent != in->prev && r->llc == t_at->llc &&
	    r->local != s->target &&
	    mask_test(&s->free, r->local, nw) && mask_test(&v->allowed, r->local, nw)) {
		if (!clusters || r->cluster == t_at->cluster) {
			*effects |= PLACE_EFFECT_SET_RECENT;
			search_end(s, r->local, PLACE_CNT_search_recent_idle);
			return 1;
		}
		kept->recent = r->local;
	}
	return 0;
}

#endif /* PLACE_IDLE_SCAN_H */
