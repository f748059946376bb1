/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * placement.bpf.h - the placement of woken and of new tasks: snapshot, decide, claim, and what is done
 * with the answer.
 *
 *   1. snapshot: place_in is a copy of all that the decision reads.
 *   2. decide (decide.bpf.h).
 *   3. claim: the chosen CPU's idle bit is taken.  claim=test_and_clear decides again when somebody else
 *      took it first; claim=test_only keeps the decision, as the fair class does, and clears the bit
 *      all the same, since there the idle test turns false at enqueue.
 *   4. apply the effects that the decision asks for, count its branches, sample it (record.bpf.h).
 *
 * New tasks: a copy of all CPUs (snapshot_cpus), then place_fork_levels; no claim is tried twice.
 */
#ifndef PLACE_PLACEMENT_BPF_H
#define PLACE_PLACEMENT_BPF_H

#include "history.bpf.h"
#include "record.bpf.h"

static __always_inline u32 waker_flags(struct task_struct *waker, const struct cpumask *allowed,
				       u32 cpu, u64 wake_flags)
{
	u32 flags = 0;

	if (wake_flags & SCX_WAKE_SYNC)
		flags |= waker->flags & PF_EXITING ? PLACE_IN_SYNC_EXITING : PLACE_IN_SYNC;
	if ((waker->flags & PF_KTHREAD) && waker->nr_cpus_allowed == 1 &&
	    !(waker->flags & PF_IDLE) && bpf_in_task())
		flags |= PLACE_IN_WAKER_KTHREAD;
	if (mask_has_cpu(allowed, cpu))
		flags |= PLACE_IN_WAKER_ALLOWED;
	return flags;
}

/* What affine=wa_414 reads of the waker, whose record is wt, and of the two CPUs. */
static __always_inline void snapshot_affine(struct place_in *in, struct place_task *t,
					    const struct place_task *wt)
{
	u64 home_ns;

	in->waker_flips = wt ? wt->flips.flips : 0;
	in->wakee_flips = t ? t->flips.flips : 0;
	in->waker_capacity = in->prev_capacity = 1024;
	if (in->waker == in->prev)
		return;
	in->waker_load = cpu_load(in->waker);
	in->prev_load = cpu_load(in->prev);
	in->curr_load = wt ? wt->load.load_avg : 0;
	in->task_load = 0;
	if (t && t->home >= 0) {
		/* Up to where its CPU's load stands, of which it is a part. */
		home_ns = cpu_at(t->home)->load.last_ns;
		in->task_load = pelt_read_task_load(&t->load, home_ns, t->weight, 0);
	}
}

/* Injected fault: the view shows the idle CPUs of the snapshot before, of whatever cache. */
static __always_inline void make_stale(struct place_scratch *sc, const u32 nw)
{
	struct place_view *v = &sc->in.view[0];
	struct place_llc *llc = llc_at(sc->in.prev_at.llc);
	bool due = is_due(&sc->stale_left, inject_stale);

	place_for_words(i, nw) {
		u64 idle = v->idle.w[i];

		if (due)
			v->idle.w[i] = sc->earlier.w[i] & llc->span.w[i];
		sc->earlier.w[i] = idle;
	}
	mask_and(&v->idle_core, &v->idle_core, &v->idle, nw);
}

/*
 * Completes place_in, whose waker and prev are set.  Returns 0 where the topology does not know one
 * of the CPUs.  Global functions for the same reason as those of decide.bpf.h.
 */
static __always_inline int snapshot(struct task_struct *p, struct place_scratch *sc, u64 wake_flags,
				    u32 slot, const u32 nw)
{
	struct place_in *in = &sc->in;
	struct place_where *w = where_at(in->waker), *pw = where_at(in->prev), *rw;
	struct task_struct *waker = (void *)bpf_get_current_task_btf();
	struct place_task *wt = task_in_table(waker), *t = task_of(p);
	struct place_cpu *c = cpu_at(in->waker);
	struct place_llc *llc_p, *llc_w;
	struct place_masks m;

	if (!pw->valid || !w->valid)
		return 0;
	llc_p = llc_at(pw->llc);
	llc_w = llc_at(w->llc);

	in->waker_at = *w;
	in->prev_at = *pw;
	in->recent = t ? t->recent : -1;
	if (in->recent >= 0) {
		rw = where_at(in->recent);
		in->recent_at = *rw;
	}
	in->waker_nr_running = cpu_nr(c);
	if (wt && (wt->flags & PLACE_TASK_RUNNABLE) && wt->home != in->waker)
		in->waker_nr_running++;		/* pulled, and still counted elsewhere */
	if (wt && t)
		record_wakee(&wt->flips, t->key, bpf_jiffies64(), kernel_hz);
	snapshot_affine(in, t, wt);

	m.allowed = p->cpus_ptr;
	in->flags = waker_flags(waker, m.allowed, in->waker, wake_flags);
	if (llc_w->near_nodes >> (pw->node & 63) & 1)
		in->flags |= PLACE_IN_AFFINE_DOMAIN;
	if (keeps_history(slot))
		snapshot_history(in, p, t, wt, slot);

	m.idle = scx_bpf_get_idle_cpumask();
	m.smt = has_smt ? scx_bpf_get_idle_smtmask() : m.idle;
	view_fill(&in->view[0], llc_p, &m, nw);
	if (w->llc != pw->llc)
		view_fill(&in->view[1], llc_w, &m, nw);
	if (inject_stale)
		make_stale(sc, nw);
	if (has_smt)
		scx_bpf_put_idle_cpumask(m.smt);
	scx_bpf_put_idle_cpumask(m.idle);
	return 1;
}

__noinline int snapshot_1(struct task_struct *p __arg_trusted, struct place_scratch *sc __arg_nonnull,
			  u64 wake_flags, u32 slot)
{
	return snapshot(p, sc, wake_flags, slot, 1);
}

__noinline int snapshot_4(struct task_struct *p __arg_trusted, struct place_scratch *sc __arg_nonnull,
			  u64 wake_flags, u32 slot)
{
	return snapshot(p, sc, wake_flags, slot, 4);
}

__noinline int snapshot_16(struct task_struct *p __arg_trusted, struct place_scratch *sc __arg_nonnull,
			   u64 wake_flags, u32 slot)
{
	return snapshot(p, sc, wake_flags, slot, 16);
}

static __always_inline void forget_lost_claim(struct place_scratch *sc, const u32 nw)
{
	struct place_out *out = &sc->out;
	struct place_where *at = where_at(out->cpu);

	place_claim_lost(&sc->in.view[out->view & 1], llc_at(at->llc), out->local, at->core,
			 &sc->search, nw);
}

static __always_inline bool take_idle(struct place_scratch *sc, s32 cpu)
{
	if (inject_lost && is_due(&sc->lost_left, inject_lost))
		return false;
	return scx_bpf_test_and_clear_cpu_idle(cpu);
}

/* Decides, claims, and decides again as often as the claim is lost and the policy cares. */
static __always_inline bool decide_and_claim(struct place_scratch *sc, struct place_counters *cnt,
					     u32 slot, const u32 nw)
{
	struct place_out *out = &sc->out;
	u32 i;

	sc->lost = 0;
	for (i = 0; i <= claim_retries && can_loop; i++) {
		int ok;

		/* Here and not when it is lost: place_in stays as the last decision read it. */
		if (i)
			forget_lost_claim(sc, nw);
		ok = nw == 1 ? decide_1(sc, slot) : nw == 4 ? decide_4(sc, slot) : decide_16(sc, slot);

		if (!ok || !out->idle)
			return false;
		if (take_idle(sc, out->cpu)) {
			count_in(cnt, PLACE_CNT_claim_won, 1);
			return true;
		}
		count_in(cnt, PLACE_CNT_claim_lost, 1);
		if (policy_at(slot)->axis[PLACE_AXIS_claim] == PLACE_claim_test_only)
			return false;
		sc->lost = i + 1;
	}
	count_in(cnt, PLACE_CNT_claim_gave_up, 1);
	return false;
}

/* Effects that only older rules ask for. */
static __noinline void apply_rare_effects(struct place_scratch *sc)
{
	struct place_out *out = &sc->out;
	struct place_task *wt;

	if (out->effects & PLACE_EFFECT_SCAN_COST)
		llc_at(sc->in.waker_at.llc)->avg_scan_cost_ns = out->scan_cost_ns;
	if (out->effects & PLACE_EFFECT_WAKER_RECENT) {
		wt = task_in_table((void *)bpf_get_current_task_btf());
		if (wt)
			wt->recent = sc->in.waker;
	}
}

static __always_inline void apply_effects(struct place_scratch *sc, struct place_task *t,
					  struct place_counters *cnt)
{
	struct place_out *out = &sc->out;
	struct place_llc *llc;

	if ((out->effects & PLACE_EFFECT_SET_RECENT) && t)
		t->recent = sc->in.prev;
	if (out->effects & PLACE_EFFECT_CLEAR_IDLE_CORES) {
		llc = llc_at(out->view ? sc->in.waker_at.llc : sc->in.prev_at.llc);
		llc->has_idle_cores = 0;
		count_in(cnt, PLACE_CNT_event_cores_cleared, 1);
	}
	if (unlikely(out->effects & (PLACE_EFFECT_SCAN_COST | PLACE_EFFECT_WAKER_RECENT)))
		apply_rare_effects(sc);
}

static __always_inline void count_decision(const struct place_out *out, struct place_counters *cnt)
{
	count_in(cnt, out->affine, 1);
	count_in(cnt, out->search, 1);
	count_in(cnt, out->outcome, 1);
	count_in(cnt, PLACE_CNT_sum_scanned, out->visited);
}

/* The placement of a wakeup.  Returns whether the CPU in sc->out is claimed. */
static __always_inline bool place_and_claim(struct task_struct *p, struct place_task *t,
					    struct place_scratch *sc, u64 wake_flags, u32 slot,
					    const u32 nw)
{
	struct place_counters *cnt = counters_of(sc->in.waker, slot);
	bool claimed;
	int known;

	sc->out.cpu = sc->in.prev;
	known = nw == 1 ? snapshot_1(p, sc, wake_flags, slot)
			: nw == 4 ? snapshot_4(p, sc, wake_flags, slot)
				  : snapshot_16(p, sc, wake_flags, slot);
	if (!known) {
		sc->out.search = PLACE_CNT_search_unknown;
		count_in(cnt, PLACE_CNT_search_unknown, 1);
		count_opaque(cnt);
		return false;
	}
	claimed = decide_and_claim(sc, cnt, slot, nw);
	apply_effects(sc, t, cnt);
	count_decision(&sc->out, cnt);
	if (unlikely(sampling()))
		sample(sc, slot, p->pid, claimed);
	return claimed;
}

/* Machines with a cache of more than 64 CPUs: functions of their own for a stack of their own. */
static __noinline bool place_and_claim_4(struct task_struct *p, struct place_task *t,
					 struct place_scratch *sc, u64 wake_flags, u32 slot)
{
	return place_and_claim(p, t, sc, wake_flags, slot, 4);
}

static __noinline bool place_and_claim_16(struct task_struct *p, struct place_task *t,
					  struct place_scratch *sc, u64 wake_flags, u32 slot)
{
	return place_and_claim(p, t, sc, wake_flags, slot, 16);
}

/*
 * Copies what a fork's placement reads of one CPU; facts: enum place_fork_facts.  A function of its
 * own, which the verifier proves once, not at each turn of the loop that calls it.
 */
__noinline int snapshot_cpu(struct place_fork_cpu *to __arg_nonnull, u32 cpu, u64 wall, u32 facts)
{
	struct place_cpu *c = cpu_at(cpu);

	to->idle_stamp_ns = c->idle_since_ns;
	to->exit_latency_us = 0;
	to->capacity = 1024;
	to->sched_idle = c->sched_idle_set;
	if (facts & PLACE_FORK_LOAD)
		to->load = cpu_runnable_load(cpu, wall);
	if (facts & PLACE_FORK_LOAD_AVG)
		to->load_avg = cpu_load_by(cpu, wall);
	if (facts & PLACE_FORK_UTIL)
		to->util = cpu_util(cpu, wall);
	if (facts & PLACE_FORK_WEIGHT) {
		to->weight = cpu_weight(c);
		to->nr_running = cpu_nr(c);
	}
	return 0;
}

/* The same of all CPUs, once. */
__noinline int snapshot_cpus(struct task_struct *p __arg_trusted, u32 waker, s32 prev, u32 facts)
{
	struct place_fork_in *in = fork_in_at(waker);
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();
	u64 wall = scx_bpf_now();
	u32 i;

	in->waker = waker;
	in->prev = prev;
	bpf_for(i, 0, nr_mask_words) {
		in->idle[i & (PLACE_MAX_WORDS - 1)] = mask_word(idle, i);
		in->allowed[i & (PLACE_MAX_WORDS - 1)] = mask_word(p->cpus_ptr, i);
	}
	scx_bpf_put_idle_cpumask(idle);
	bpf_for(i, 0, nr_cpu_ids) {
		struct place_where *at = where_at(i);

		if (at->valid)
			snapshot_cpu(&in->cpu[level_index(i)], i, wall, facts);
	}
	return 0;
}

/* The placement of a new task. */
static __always_inline void place_new(struct task_struct *p, struct place_task *t,
				      struct place_scratch *sc, u32 slot, struct place_counters *cnt)
{
	const struct place_policy *pol = policy_at(slot);
	u32 facts = fork_needs_cpus(pol), rule = pol->axis[PLACE_AXIS_fork];
	struct place_out *out = &sc->out;
	bool due = fork_is_due(sc), claimed;

	/* A record holds all of the CPUs in any case: other policies are asked about it. */
	if (facts || due)
		snapshot_cpus(p, sc->in.waker, sc->in.prev, due ? PLACE_FORK_ALL : facts);
	if (facts)
		place_fork_levels(fork_in_at(sc->in.waker), &place_levels, rule, out);
	else
		place_fork(pol, &sc->in, out);
	count_in(cnt, out->search, 1);
	count_in(cnt, out->affine, 1);
	count_in(cnt, out->outcome, 1);
	count_in(cnt, PLACE_CNT_sum_fork_scanned, out->visited);
	/* The fair class sees a CPU busy as soon as a task is enqueued there. */
	claimed = out->idle && scx_bpf_test_and_clear_cpu_idle(out->cpu);
	if (claimed && t) {
		t->claimed = out->cpu;
		count_in(cnt, PLACE_CNT_claim_fork, 1);
	}
	if (due)
		count_in(cnt, record_fork(sc, slot, p->pid, claimed) ? PLACE_CNT_record_written
								     : PLACE_CNT_record_dropped, 1);
}

static __always_inline void check_slot(const struct place_policy *pol, struct place_counters *cnt)
{
	if (verify_slots && place_policy_checksum(pol) != pol->checksum)
		count_in(cnt, PLACE_CNT_event_slot_mismatch, 1);
}

/* Where a placement ended, for the latency of its wakeup. */
static __always_inline void note_branch(struct place_task *t, const struct place_scratch *sc, u32 slot)
{
	if (unlikely(timing(slot)) && t)
		t->branch = sc->out.search;
}

#endif /* PLACE_PLACEMENT_BPF_H */
