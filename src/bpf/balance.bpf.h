/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * balance.bpf.h - waiting tasks reach idle CPUs (policies.md 0.2).
 *
 * newidle: a CPU about to idle pulls one task: from the longest queue of its own cache, else of the
 * nearest cache that has one.  Only caches marked in place_overload are visited; the mark is set
 * where a task is queued behind another, and cleared by a visit that finds nothing.
 *
 * The tick of a CPU with waiting tasks kicks the nearest idle CPU that may run one of them, which
 * then pulls: what the kernel's nohz kick does.
 */
#ifndef PLACE_BALANCE_BPF_H
#define PLACE_BALANCE_BPF_H

#include "snapshot.bpf.h"

#define KICK_LOOKS 4	/* waiting tasks whose affinity a tick looks at */

static __always_inline u64 *overload_word(u32 llc)
{
	return &place_overload[(llc >> 6) & (PLACE_MAX_CPUS / 64 - 1)];
}

static __always_inline void overload_set(u32 llc)
{
	u64 *w = overload_word(llc), bit = 1ULL << (llc & 63);

	if (!(READ_ONCE(*w) & bit))
		__sync_fetch_and_or(w, bit);
}

/* A CPU whose idle task runs although something is queued is being woken for it. */
static __always_inline bool runs_idle_task(u32 cpu)
{
	struct task_struct *curr = __COMPAT_scx_bpf_cpu_curr(cpu);

	return !curr || curr->flags & PF_IDLE;
}

/* How much waits on a CPU behind a running task, of this class or another. */
static __always_inline u32 pullable(u32 cpu)
{
	s32 n;

	if (!cpu_at(cpu)->queued || runs_idle_task(cpu))
		return 0;
	n = scx_bpf_dsq_nr_queued(cpu);
	return n > 0 ? n : 0;
}

/* The CPU of the longest queue of a cache other than `not`; -1: nothing waits. */
__noinline s32 longest_queue(u32 llc_id, s32 not)
{
	struct place_llc *llc = llc_at(llc_id);
	u32 longest = 0, w, n;
	s32 from = -1;

	bpf_for(w, 0, nr_llc_words) {
		u64 left = llc->span.w[w & (PLACE_MAX_WORDS - 1)];

		while (left && can_loop) {
			u32 cpu = llc->cpu_of[(w * 64 + place_ctz(left)) & (PLACE_MAX_WORDS * 64 - 1)];

			left &= left - 1;
			n = pullable(cpu);
			if (n > longest && (s32)cpu != not) {
				longest = n;
				from = cpu;
			}
		}
	}
	return from;
}

/*
 * Pulls one task from a queue of the cache: the longest first, then, if none of its tasks may run
 * here or somebody was faster, the next.  The mark goes before the look, so that one set meanwhile
 * stays.
 */
__noinline int pull_from_llc(u32 llc_id)
{
	s32 from;

	__sync_fetch_and_and(overload_word(llc_id), ~(1ULL << (llc_id & 63)));
	from = longest_queue(llc_id, -1);
	if (from < 0)
		return 0;
	overload_set(llc_id);
	if (scx_bpf_dsq_move_to_local(from, 0))
		return 1;
	from = longest_queue(llc_id, from);
	return from >= 0 && scx_bpf_dsq_move_to_local(from, 0);
}

/* Returns the counter of what was pulled, or dispatch.idle. */
__noinline u32 pull_task(u32 cpu)
{
	struct place_where *at = where_at(cpu);
	struct place_llc *own;
	u32 i;

	own = llc_at(at->llc);
	bpf_for(i, 0, nr_llcs) {
		u32 id = own->nearest[i & (PLACE_MAX_CPUS - 1)];
		struct place_llc *llc;

		if (!(READ_ONCE(*overload_word(id)) & (1ULL << (id & 63))))
			continue;
		if (!pull_from_llc(id))
			continue;
		llc = llc_at(id);
		if (id == at->llc)
			return PLACE_CNT_dispatch_pull_llc;
		return llc->node == at->node ? PLACE_CNT_dispatch_pull_node
						    : PLACE_CNT_dispatch_pull_machine;
	}
	return PLACE_CNT_dispatch_idle;
}

static __always_inline bool anything_overloaded(void)
{
	u64 any = 0;

	for (u32 i = 0; i < PLACE_MAX_CPUS / 64; i++)
		if (i * 64 < nr_llcs)
			any |= READ_ONCE(place_overload[i]);
	return any;
}

/* The nearest idle CPU that p may run on, seen from a cache; -1: none. */
__noinline s32 nearest_idle(struct task_struct *p __arg_trusted, u32 llc_id)
{
	struct place_llc *own = llc_at(llc_id);
	const struct cpumask *idle;
	s32 cpu = -1;
	u32 i, j;

	idle = scx_bpf_get_idle_cpumask();
	bpf_for(i, 0, nr_llcs) {
		struct place_llc *llc = llc_at(own->nearest[i & (PLACE_MAX_CPUS - 1)]);

		bpf_for(j, 0, llc->nr_segs) {
			struct place_seg *seg = &llc->seg[j & (PLACE_MAX_SEGS - 1)];
			u64 x = mask_word(idle, seg->word) & mask_word(p->cpus_ptr, seg->word);
			u32 w = seg->local_word & (PLACE_MAX_WORDS - 1);

			x = ((x >> (seg->shift & 63)) & seg->mask) << (seg->local_shift & 63);
			x &= llc->span.w[w];
			if (x) {
				cpu = llc->cpu_of[(w * 64 + place_ctz(x)) & (PLACE_MAX_WORDS * 64 - 1)];
				break;
			}
		}
		if (cpu >= 0)
			break;
	}
	scx_bpf_put_idle_cpumask(idle);
	return cpu;
}

/* Tick of a CPU with waiting tasks. */
static __always_inline void kick_nearest_idle(u32 cpu)
{
	struct place_where *at = where_at(cpu);
	struct task_struct *p;
	u32 looks = 0;
	s32 idle = -1;

	bpf_for_each(scx_dsq, p, cpu, 0) {
		if (p->nr_cpus_allowed > 1 && !p->migration_disabled)
			idle = nearest_idle(p, at->llc);
		if (idle >= 0 || ++looks >= KICK_LOOKS)
			break;
	}
	if (idle < 0)
		return;
	overload_set(at->llc);
	scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
	count(PLACE_CNT_event_kick_waiting);
}

/* Does a CPU, whose run-queue lock is held, have runnable tasks of other classes? */
static __always_inline bool shares_cpu(u32 cpu)
{
	struct rq *rq = (void *)bpf_per_cpu_ptr(&runqueues, cpu);

	return rq && rq->nr_running != rq->scx.nr_running;
}

/*
 * p is about to be queued on a busy CPU: tell CPUs that will idle, if one of them may take it.
 * Behind a task of another class no tick of ours will come, so the nearest idle CPU is kicked now.
 */
static __always_inline void note_waiting(struct task_struct *p, u32 cpu, const struct place_policy *pol)
{
	struct place_where *at = where_at(cpu);
	s32 idle;

	if (p->nr_cpus_allowed == 1 || p->migration_disabled)
		return;
	overload_set(at->llc);
	if (pol->axis[PLACE_AXIS_balance] == PLACE_balance_off || !shares_cpu(cpu))
		return;
	idle = nearest_idle(p, at->llc);
	if (idle >= 0) {
		scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
		count(PLACE_CNT_event_kick_waiting);
	}
}

#endif /* PLACE_BALANCE_BPF_H */
