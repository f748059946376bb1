/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * main.bpf.c - the scheduler's operations, in the order of a task's life.
 *
 * 1. Who does what
 *
 *	user space  reads the topology, fills the tables, switches policies, reads the counters
 *	glue        (this file and *.bpf.h) task_struct, queues, kernel functions, kicks
 *	policy      (policy/) pure functions from what a decision reads to what it decides
 *
 * 2. Snapshot, decide, claim
 *
 *	select_cpu copies the idle masks, the affinity mask and the hints into place_in, lets the
 *	policy decide, and takes the chosen CPU's idle bit.  claim=test_and_clear decides again
 *	when somebody else took it first; claim=test_only keeps the decision, as the fair class
 *	does, and clears the bit all the same, since there the idle test turns false at enqueue.
 *	A claimed CPU whose task ends elsewhere is kicked, or it would stay invisible.
 *
 * 3. Queues
 *
 *	One queue per CPU, its number the CPU's, ordered by virtual time.  enqueue always inserts
 *	into the queue of the CPU that the task is on, so the CPU's own dispatch can always run what
 *	waits there, and an insert into an idle CPU's queue needs no kick: the wakeup itself
 *	reschedules.  The local queue of the kernel is used where nothing can be overtaken: a
 *	claimed idle CPU, a pinned task before an empty queue, a sync wakee behind its lone waker,
 *	a wakee that preempts.
 *
 * 4. Why so few callbacks
 *
 *	Each costs more than a hundred instructions a call even if empty.  Going idle is seen in
 *	dispatch (one that finds nothing always precedes idle), the end of idleness in running,
 *	sleep in stopping.  exec_start is the run-queue clock in running, stopping, dispatch and
 *	tick; run time is the difference of sum_exec_runtime.
 */
#include "balance.bpf.h"
#include "idle.bpf.h"
#include "record.bpf.h"
#include "task.bpf.h"

/* ---- placement ---- */

static __always_inline u32 waker_flags(struct task_struct *waker, const struct cpumask *allowed,
				       u32 cpu, u64 wake_flags)
{
	u32 flags = 0;

	if ((wake_flags & SCX_WAKE_SYNC) && !(waker->flags & PF_EXITING))
		flags |= PLACE_IN_SYNC;
	if ((waker->flags & PF_KTHREAD) && waker->nr_cpus_allowed == 1 &&
	    !(waker->flags & PF_IDLE) && bpf_in_task())
		flags |= PLACE_IN_WAKER_KTHREAD;
	if (mask_has_cpu(allowed, cpu))
		flags |= PLACE_IN_WAKER_ALLOWED;
	return flags;
}

/*
 * Completes place_in, whose waker and prev are set.  Returns 0 where the topology does not know one
 * of the CPUs.
 */
static __always_inline int snapshot(struct place_in *in, struct task_struct *p, struct place_task *t,
				    u64 wake_flags, const u32 nw)
{
	struct place_where *w = where_at(in->waker), *pw = where_at(in->prev), *rw;
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

	m.allowed = p->cpus_ptr;
	m.idle = scx_bpf_get_idle_cpumask();
	m.smt = has_smt ? scx_bpf_get_idle_smtmask() : m.idle;
	in->flags = waker_flags((void *)bpf_get_current_task_btf(), m.allowed, in->waker, wake_flags);
	if (llc_w->near_nodes >> (pw->node & 63) & 1)
		in->flags |= PLACE_IN_AFFINE_DOMAIN;
	view_fill(&in->view[0], llc_p, &m, nw);
	if (w->llc != pw->llc)
		view_fill(&in->view[1], llc_w, &m, nw);
	if (has_smt)
		scx_bpf_put_idle_cpumask(m.smt);
	scx_bpf_put_idle_cpumask(m.idle);
	return 1;
}

/*
 * One decision from sc->in.  Global functions, so that the verifier proves each once, whatever loop
 * they are called from, and only the one whose width the machine needs.
 */
static __always_inline int decide(struct place_scratch *sc, u32 slot, const u32 nw)
{
	struct place_llc *llc_p = llc_at(sc->in.prev_at.llc), *llc_w = llc_at(sc->in.waker_at.llc);

	place_wakeup(policy_at(slot), &sc->in, llc_p, llc_w, &sc->search, &sc->out, nw);
	return 1;
}

__noinline int decide_1(struct place_scratch *sc __arg_nonnull, u32 slot)
{
	return decide(sc, slot, 1);
}

__noinline int decide_4(struct place_scratch *sc __arg_nonnull, u32 slot)
{
	return decide(sc, slot, 4);
}

__noinline int decide_16(struct place_scratch *sc __arg_nonnull, u32 slot)
{
	return decide(sc, slot, 16);
}

static __always_inline void forget_lost_claim(struct place_scratch *sc, const u32 nw)
{
	struct place_out *out = &sc->out;
	struct place_where *at = where_at(out->cpu);

	place_claim_lost(&sc->in.view[out->view & 1], llc_at(at->llc), out->local, at->core,
			 &sc->search, nw);
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
		if (scx_bpf_test_and_clear_cpu_idle(out->cpu)) {
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

	sc->out.cpu = sc->in.prev;
	if (!snapshot(&sc->in, p, t, wake_flags, nw)) {
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

static __always_inline void check_slot(const struct place_policy *pol, struct place_counters *cnt)
{
	if (verify_slots && place_policy_checksum(pol) != pol->checksum)
		count_in(cnt, PLACE_CNT_event_slot_mismatch, 1);
}

s32 BPF_STRUCT_OPS(place_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	u32 cpu = bpf_get_smp_processor_id(), slot = slot_now();
	const struct place_policy *pol = policy_at(slot);
	struct place_counters *cnt = counters_of(cpu, slot);
	struct place_scratch *sc = scratch_at(cpu);
	struct place_task *t = task_of(p);
	bool claimed = false;
	s32 to = prev_cpu;

	check_slot(pol, cnt);
	sc->in.waker = cpu;
	sc->in.prev = prev_cpu;
	if (unlikely(wake_flags & SCX_WAKE_FORK)) {
		place_fork(pol, &sc->in, &sc->out);
		count_in(cnt, sc->out.search, 1);
		return sc->out.cpu;
	}
	if (t)
		t->flags = (t->flags & ~PLACE_TASK_SYNC) | PLACE_TASK_WOKEN |
			   (wake_flags & SCX_WAKE_SYNC ? PLACE_TASK_SYNC : 0);

	if (pol->axis[PLACE_AXIS_idle_search] == PLACE_idle_search_scx_default) {
		sc->out.cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &claimed);
		count_in(cnt, claimed ? PLACE_CNT_search_scx_idle : PLACE_CNT_search_scx_prev, 1);
		count_opaque(cnt);
	} else if (nr_llc_words == 1) {
		claimed = place_and_claim(p, t, sc, wake_flags, slot, 1);
	} else if (nr_llc_words == 4) {
		claimed = place_and_claim_4(p, t, sc, wake_flags, slot);
	} else {
		claimed = place_and_claim_16(p, t, sc, wake_flags, slot);
	}
	to = sc->out.cpu;
	if (claimed) {
		if (t)
			t->claimed = to;
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_ns, 0);
		count_in(cnt, PLACE_CNT_enqueue_direct, 1);
	}
	return to;
}

/* ---- queueing ---- */

/* A claimed CPU that the task did not reach goes idle again, and visible. */
static __always_inline void settle_claim(struct place_task *t, s32 cpu)
{
	s32 claimed = t->claimed;

	if (likely(claimed < 0))
		return;
	t->claimed = -1;
	if (claimed != cpu) {
		scx_bpf_kick_cpu(claimed, SCX_KICK_IDLE);
		count(PLACE_CNT_event_kick_claimed);
	}
}

/* Does a wakee that has just been placed on c preempt the task that runs there? */
static __always_inline bool wakeup_preempts(const struct place_policy *pol, struct place_task *t,
					    const struct place_cpu *c, struct place_counters *cnt, u32 cpu)
{
	struct place_task *curr = task_slot(c->curr, 0);
	u64 curr_v;
	bool yes;
	s64 ran;

	if (!c->curr || (t->flags & (PLACE_TASK_IDLE_POLICY | PLACE_TASK_BATCH)))
		return false;
	if (curr->key != c->curr) {
		curr = task_slot(c->curr, 1);
		if (curr->key != c->curr)
			return false;	/* its record is elsewhere */
	}
	curr_v = curr->vruntime;
	ran = scx_clock_task(cpu) - curr->since_ns;
	if (ran > 0)
		curr_v += fair_delta(ran, curr->weight, curr->inverse);
	yes = (curr->flags & PLACE_TASK_IDLE_POLICY) ||
	      fair_preempts(pol, curr_v, t->vruntime, t->weight, t->inverse);
	count_in(cnt, yes ? PLACE_CNT_preempt_granted : PLACE_CNT_preempt_refused, 1);
	return yes;
}

/* Where a wakee goes that nothing is queued before; see "Queues" above. */
static __always_inline u32 local_reason(struct task_struct *p, struct place_task *t,
					struct place_cpu *c, s32 cpu)
{
	if (p->nr_cpus_allowed == 1 || p->migration_disabled)
		return PLACE_CNT_enqueue_local_pinned;
	if ((t->flags & PLACE_TASK_SYNC) && cpu_nr(c) == 2 && cpu == bpf_get_smp_processor_id())
		return PLACE_CNT_enqueue_local_sync;
	return PLACE_CNT_enqueue_queued;
}

void BPF_STRUCT_OPS(place_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 slot = slot_now(), reason = PLACE_CNT_enqueue_queued;
	const struct place_policy *pol = policy_at(slot);
	struct place_counters *cnt = counters_of(bpf_get_smp_processor_id(), slot);
	s32 cpu = task_on_cpu(p);
	struct place_task *t = task_of(p);
	struct place_cpu *c = cpu_at(cpu);

	if (unlikely(!t)) {
		c->queued++;
		count_in(cnt, PLACE_CNT_enqueue_no_record, 1);
		scx_bpf_dsq_insert_vtime(p, cpu, slice_ns, c->min_v, enq_flags);
		return;
	}
	settle_claim(t, cpu);
	if (enq_flags & SCX_ENQ_WAKEUP)
		t->flags |= PLACE_TASK_WOKEN;
	task_arrive(t, c, cpu);
	task_place(t, c, pol);

	if (enq_flags & SCX_ENQ_WAKEUP) {
		if (wakeup_preempts(pol, t, c, cnt, cpu)) {
			enq_flags |= SCX_ENQ_PREEMPT;
			reason = PLACE_CNT_enqueue_preempt;
		} else if (!c->queued) {
			reason = local_reason(p, t, c, cpu);
		}
		t->flags &= ~PLACE_TASK_SYNC;
	}
	count_in(cnt, reason, 1);
	if (reason != PLACE_CNT_enqueue_queued) {
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_ns, enq_flags);
		return;
	}
	note_waiting(p, c, cpu, pol);
	c->queued++;
	t->flags |= PLACE_TASK_QUEUED;
	scx_bpf_dsq_insert_vtime(p, cpu, slice_ns,
				 fair_queue_key(t->vruntime, c->min_v, cpu_weight(c)), enq_flags);
}

/* ---- picking ---- */

/* Virtual time of the first task of a queue, as it was queued; false: the queue is empty. */
static __always_inline bool leftmost(u32 cpu, u64 *v)
{
	struct task_struct *head = __COMPAT_scx_bpf_dsq_peek(cpu);
	u64 head_v;

	if (!head)
		return false;
	head_v = head->scx.dsq_vtime;
	barrier_var(head_v);	/* or this load and a caller's of its own table become one */
	*v = head_v;
	return true;
}

/*
 * prev's turn is over.  It goes on if it would be picked again: nothing is queued, or nothing with a
 * smaller virtual time.
 */
static __always_inline bool picks_prev(struct task_struct *prev, struct place_cpu *c, u32 cpu)
{
	struct place_task *t = task_of(prev);
	u64 head_v;

	if (!t)
		return false;
	task_charge(t, c, prev);
	t->vruntime = fair_bound_lag(t->vruntime, c->min_v, t->weight);
	if (!leftmost(cpu, &head_v) ||
	    (s64)(head_v - fair_queue_key(t->vruntime, c->min_v, cpu_weight(c))) <= 0)
		return false;
	t->picked_ns = t->charged_ns;
	scx_bpf_task_set_slice(prev, slice_ns);
	return true;
}

static __always_inline bool dispatch_own(struct place_cpu *c, u32 cpu)
{
	if (!c->queued)
		return false;
	if (scx_bpf_dsq_move_to_local(cpu, 0)) {
		/* Others' pulls and dequeues are in this number, and not in ours. */
		if (--c->queued)
			c->queued = scx_bpf_dsq_nr_queued(cpu);
		count(PLACE_CNT_dispatch_own);
		return true;
	}
	c->queued = 0;
	return false;
}

void BPF_STRUCT_OPS(place_dispatch, s32 cpu, struct task_struct *prev)
{
	struct place_cpu *c = cpu_at(cpu);
	bool keep = prev && (prev->scx.flags & SCX_TASK_QUEUED);
	u32 pulled;

	if (keep && c->queued && picks_prev(prev, c, cpu))
		return count(PLACE_CNT_dispatch_keep);
	if (dispatch_own(c, cpu))
		return;
	if (keep)
		return count(PLACE_CNT_dispatch_keep);
	if (anything_overloaded() &&
	    policy_at(slot_now())->axis[PLACE_AXIS_balance] != PLACE_balance_off) {
		pulled = pull_task(cpu);
		if (pulled != PLACE_NR_COUNTERS)
			return count(pulled);
		/* The pull may have let go of the run-queue lock, and a wakeup come in. */
		if (dispatch_own(c, cpu))
			return;
	}
	enter_idle(c, cpu, prev ? prev->se.exec_start : scx_clock_task(cpu));
}

/* ---- running ---- */

void BPF_STRUCT_OPS(place_running, struct task_struct *p)
{
	s32 cpu = task_on_cpu(p);
	struct place_task *t = task_of(p);
	struct place_cpu *c = cpu_at(cpu);
	u64 now = p->se.exec_start;
	bool in_order;

	if (c->idle_since_ns)
		leave_idle(c, now);
	if (unlikely(!t)) {
		c->curr = 0;
		return;
	}
	settle_claim(t, cpu);
	in_order = t->home == cpu && (t->flags & PLACE_TASK_QUEUED);
	t->flags &= ~PLACE_TASK_QUEUED;
	if (t->home != cpu || !(t->flags & PLACE_TASK_RUNNABLE))
		task_arrive(t, c, cpu);
	if (t->flags & (PLACE_TASK_WOKEN | PLACE_TASK_NEW))
		task_place(t, c, policy_at(slot_now()));
	if (in_order || cpu_nr(c) <= 1)
		c->min_v = fair_max(c->min_v, t->vruntime);
	t->charged_ns = t->picked_ns = p->se.sum_exec_runtime;
	t->since_ns = now;
	c->curr = t->key;
}

void BPF_STRUCT_OPS(place_stopping, struct task_struct *p, bool runnable)
{
	s32 cpu = task_on_cpu(p);
	struct place_task *t = task_of(p);
	struct place_cpu *c = cpu_at(cpu);

	if (unlikely(!t))
		return;
	task_charge(t, c, p);
	t->stopped_ns = p->se.exec_start;
	c->curr = 0;
	if (!runnable && (t->flags & PLACE_TASK_RUNNABLE))
		cpu_sub(c, cpu, t);
}

/* ---- the tick ---- */

/* Is the running task's turn over?  What waits in the local queue cannot be pulled: at once then. */
static __always_inline bool turn_over(const struct place_policy *pol, struct place_task *t,
				      struct place_cpu *c, u32 cpu)
{
	u64 nr = cpu_nr(c), ran = t->charged_ns - t->picked_ns, head_v, slice;

	if (scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | cpu) > 0)
		return true;
	if (nr < 2)
		return false;
	slice = fair_slice(pol, t->weight, nr, cpu_weight(c));
	if (!c->queued || !leftmost(cpu, &head_v))
		head_v = t->vruntime;
	return fair_turn_over(pol, ran, slice, t->vruntime, head_v);
}

void BPF_STRUCT_OPS(place_tick, struct task_struct *p)
{
	const struct place_policy *pol = policy_at(slot_now());
	s32 cpu = task_on_cpu(p);
	struct place_task *t = task_of(p);
	struct place_cpu *c = cpu_at(cpu);

	if (unlikely(!t))
		return;
	task_charge(t, c, p);
	pelt_update(&c->util, p->se.exec_start, 0, 1);
	update_nr_idle_scan(where_at(cpu)->llc);
	if (turn_over(pol, t, c, cpu)) {
		count(PLACE_CNT_event_slice_end);
		scx_bpf_task_set_slice(p, 0);
	}
	if (c->queued && pol->axis[PLACE_AXIS_balance] != PLACE_balance_off)
		kick_nearest_idle(cpu);
}

/* ---- coming and going ---- */

static __always_inline void task_init(struct place_task *t, struct task_struct *p, bool fork)
{
	struct task_struct *parent_p = (void *)bpf_get_current_task_btf();
	struct place_task *parent = fork ? task_of(parent_p) : NULL;

	t->flags = PLACE_TASK_NEW;
	t->home = parent ? parent->home : -1;
	t->vruntime = parent ? parent->vruntime + fair_delta(parent_p->se.sum_exec_runtime - parent->charged_ns,
							     parent->weight, parent->inverse)
			     : 0;
	t->claimed = -1;
	t->recent = parent ? parent->home : -1;	/* at fork recent_used_cpu is the parent's CPU */
	t->charged_ns = t->picked_ns = p->se.sum_exec_runtime;
	t->stopped_ns = 0;
	task_set_weight(t, p);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(place_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct place_task *t = task_new(p);

	if (t)
		task_init(t, p, args->fork);
	return 0;
}

/* New in this class, or back from another, where neither its time nor its place were kept. */
void BPF_STRUCT_OPS(place_enable, struct task_struct *p)
{
	struct place_task *t = task_of(p);

	if (!t)
		return;
	task_set_weight(t, p);
	t->charged_ns = t->picked_ns = p->se.sum_exec_runtime;
	if (!(t->flags & PLACE_TASK_NEW))
		t->flags |= PLACE_TASK_WOKEN;
}

/* nice or the policy changed; the run-queue lock is held. */
void BPF_STRUCT_OPS(place_set_weight, struct task_struct *p, u32 weight)
{
	struct place_task *t = task_of(p);
	struct place_cpu *c;

	if (!t)
		return;
	if (!(t->flags & PLACE_TASK_RUNNABLE)) {
		task_set_weight(t, p);
	} else if (t->home != task_on_cpu(p)) {
		/* Pulled, and not running yet: that adds it where it is now. */
		cpu_sub_remote(t);
		task_set_weight(t, p);
	} else {
		c = cpu_at(t->home);
		cpu_sub(c, t->home, t);
		task_set_weight(t, p);
		cpu_add(c, t->home, t);
	}
}

/* The task leaves this class, perhaps while it waits in a queue. */
void BPF_STRUCT_OPS(place_disable, struct task_struct *p)
{
	struct place_task *t = task_of(p);

	if (t && t->home >= 0 && (t->flags & PLACE_TASK_RUNNABLE))
		cpu_sub_remote(t);
}

void BPF_STRUCT_OPS(place_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct place_task *t = task_of(p);

	if (!t)
		return;
	if (t->home >= 0 && (t->flags & PLACE_TASK_RUNNABLE))
		cpu_sub_remote(t);
	t->flags = 0;
	__sync_fetch_and_and(&t->key, 0);	/* the next owner must not see its stores before this */
}

s32 BPF_STRUCT_OPS_SLEEPABLE(place_init)
{
	u32 cpu;
	s32 err;

	bpf_for(cpu, 0, nr_cpu_ids) {
		cpu_at(cpu)->avg_idle_ns = MAX_AVG_IDLE_NS;
		err = scx_bpf_create_dsq(cpu, -1);
		if (err) {
			scx_bpf_error("cannot create the queue of CPU %u: %d", cpu, err);
			return err;
		}
	}
	return 0;
}

void BPF_STRUCT_OPS(place_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(place_ops,
	       .select_cpu		= (void *)place_select_cpu,
	       .enqueue			= (void *)place_enqueue,
	       .dispatch		= (void *)place_dispatch,
	       .running			= (void *)place_running,
	       .stopping		= (void *)place_stopping,
	       .tick			= (void *)place_tick,
	       .init_task		= (void *)place_init_task,
	       .enable			= (void *)place_enable,
	       .set_weight		= (void *)place_set_weight,
	       .disable			= (void *)place_disable,
	       .exit_task		= (void *)place_exit_task,
	       .init			= (void *)place_init,
	       .exit			= (void *)place_exit,
	       .name			= "place");
