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
 *	policy decide, and takes the chosen CPU's idle bit (placement.bpf.h).  A claimed CPU whose
 *	task ends elsewhere is kicked, or it would stay invisible.
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
 *	dispatch (one that finds nothing always precedes idle), the end of idleness in enqueue and
 *	dispatch, sleep in stopping.  Nothing tells of a pick: who looks at a running task first
 *	makes up for that (task_settle).  exec_start is the run-queue clock in stopping, dispatch
 *	and tick; run time is the difference of sum_exec_runtime.
 */
#include "balance.bpf.h"
#include "placement.bpf.h"

/*
 * A task that waits this long in a queue runs next: whatever weights, lags and wakeups did to its
 * turn, the kernel's watchdog (30 s) must not end the scheduler.
 */
#define STARVED_NS 10000000000LL
#define STARVE_LOOK_PERIOD_NS 1000000000ULL	/* between two walks through a queue */

/* ---- placement ---- */

s32 BPF_STRUCT_OPS(place_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	u32 cpu = bpf_get_smp_processor_id(), slot = slot_now();
	const struct place_policy *pol = policy_at(slot);
	struct place_counters *cnt = counters_of(cpu, slot);
	struct place_scratch *sc = scratch_at(cpu);
	struct place_task *t = task_of(p);
	bool claimed = false;

	check_slot(pol, cnt);
	sc->in.waker = cpu;
	sc->in.prev = prev_cpu;
	if (unlikely(wake_flags & SCX_WAKE_FORK)) {
		place_new(p, t, sc, slot, cnt);
		note_branch(t, sc, slot);
		return sc->out.cpu;
	}
	if (t)
		t->flags = (t->flags & ~PLACE_TASK_SYNC) | PLACE_TASK_WOKEN |
			   (wake_flags & SCX_WAKE_SYNC ? PLACE_TASK_SYNC : 0);

	if (pol->axis[PLACE_AXIS_idle_search] == PLACE_idle_search_scx_default) {
		sc->out.cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &claimed);
		sc->out.search = claimed ? PLACE_CNT_search_scx_idle : PLACE_CNT_search_scx_prev;
		count_in(cnt, sc->out.search, 1);
		count_opaque(cnt);
	} else if (nr_llc_words == 1) {
		claimed = place_and_claim(p, t, sc, wake_flags, slot, 1);
	} else if (nr_llc_words == 4) {
		claimed = place_and_claim_4(p, t, sc, wake_flags, slot);
	} else {
		claimed = place_and_claim_16(p, t, sc, wake_flags, slot);
	}
	note_branch(t, sc, slot);
	if (claimed && t)
		t->claimed = sc->out.cpu;
	return sc->out.cpu;
}

/* ---- queueing ---- */

/* A claimed CPU that the task did not reach goes idle again, and visible. */
static __always_inline void kick_claimed(struct place_task *t)
{
	scx_bpf_kick_cpu(t->claimed, SCX_KICK_IDLE);
	t->claimed = -1;
	count(PLACE_CNT_event_kick_claimed);
}

/* Virtual time of the first task of a queue; false: the queue is empty. */
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
 * May a wakee that preempts run next?  Not past tasks in the local queue, which have been picked,
 * nor past a leftmost one that would preempt it in turn (its weight is taken for that one's).
 */
static __always_inline bool runs_next(const struct place_policy *pol, struct place_task *t,
				      struct place_cpu *c, u32 cpu)
{
	u64 head_v;

	if (c->starve_look || scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | cpu) > 0)
		return false;
	return !c->queued || !leftmost(cpu, &head_v) ||
	       !fair_preempts(pol, t->vruntime, head_v, t->weight, t->inverse);
}

/* The task that runs on a CPU whose run-queue lock is held; NULL: unknown. */
static __always_inline struct task_struct *curr_on(u32 cpu)
{
	if (cpu == bpf_get_smp_processor_id())
		return (void *)bpf_get_current_task_btf();
	return __COMPAT_scx_bpf_cpu_curr(cpu);
}

/*
 * Its record, with the CPU's loads up to now; NULL: it is idle or of another class, or its record is
 * not in the table.
 */
static __always_inline struct place_task *settle_curr(struct task_struct *curr, struct place_cpu *c,
						      u32 cpu, u64 now_ns)
{
	struct place_task *t = NULL;

	if (curr && !(curr->flags & PF_IDLE))
		t = task_in_table(curr);
	if (t && !(t->flags & PLACE_TASK_RUNNABLE))
		t = NULL;
	if (t)
		task_settle(t, c, cpu, curr->se.exec_start + t->picked_ns - curr->se.sum_exec_runtime);
	cpu_update_load(c, now_ns, !!t);
	return t;
}

/* Does a wakee that has just been placed on cpu preempt the task that runs there? */
static __always_inline bool wakeup_preempts(const struct place_policy *pol, const struct place_task *t,
					    u32 flags, const struct place_task *curr_t, struct task_struct *curr,
					    struct place_counters *cnt, u64 now_ns)
{
	u64 curr_v;
	bool yes;
	s64 ran;

	if (!curr_t || (flags & (PLACE_TASK_IDLE_POLICY | PLACE_TASK_BATCH)))
		return false;
	ran = now_ns - curr->se.exec_start;
	if (ran < 0)
		ran = 0;
	ran += curr->se.sum_exec_runtime - curr_t->charged_ns;
	curr_v = curr_t->vruntime + fair_delta(ran, curr_t->weight, curr_t->inverse);
	yes = (curr_t->flags & PLACE_TASK_IDLE_POLICY) ||
	      fair_preempts(pol, curr_v, t->vruntime, t->weight, t->inverse);
	if (!yes)
		count_in(cnt, PLACE_CNT_preempt_refused, 1);
	return yes;
}

/* Inserts into the CPU's own queue, in the order of virtual time. */
static __always_inline void queue_task(struct task_struct *p, struct place_task *t,
				       struct place_cpu *c, u32 cpu, u64 now_ns, u64 enq_flags)
{
	c->queued++;
	t->flags |= PLACE_TASK_QUEUED;
	t->queued_ns = now_ns;
	t->vruntime = fair_bound_lead(t->vruntime, c->min_v, cpu_weight(c));
	scx_bpf_dsq_insert_vtime(p, cpu, slice_ns, t->vruntime, enq_flags);
}

/* Where a wakee goes that does not preempt; see "Queues" above. */
static __always_inline u32 wakee_reason(struct task_struct *p, u32 flags, struct place_cpu *c, s32 cpu)
{
	if (c->queued)
		return PLACE_CNT_enqueue_queued;
	if (p->nr_cpus_allowed == 1 || p->migration_disabled)
		return PLACE_CNT_enqueue_local_pinned;
	if ((flags & PLACE_TASK_SYNC) && cpu_nr(c) == 2 && cpu == bpf_get_smp_processor_id())
		return PLACE_CNT_enqueue_local_sync;
	return PLACE_CNT_enqueue_queued;
}

/*
 * A woken task arrives on its CPU and is placed.  Returns the counter of where it goes;
 * preempt.queued: to the queue, and the running task's turn ends.
 */
static __always_inline u32 enqueue_woken(struct task_struct *p, struct place_task *t,
					 struct place_cpu *c, s32 cpu, const struct place_policy *pol,
					 struct place_counters *cnt, u64 now_ns)
{
	struct task_struct *curr = curr_on(cpu);
	struct place_task *curr_t = settle_curr(curr, c, cpu, now_ns);
	u32 flags = task_wake(t, c, cpu, pol, now_ns);

	if (keeps_history(slot_now()))
		history_woken(curr_t, curr, now_ns);
	if (!wakeup_preempts(pol, t, flags, curr_t, curr, cnt, now_ns))
		return wakee_reason(p, flags, c, cpu);
	return runs_next(pol, t, c, cpu) ? PLACE_CNT_enqueue_preempt : PLACE_CNT_preempt_queued;
}

/* A task that reaches the idle CPU claimed for it. */
static __always_inline void enqueue_claimed(struct task_struct *p, struct place_task *t,
					    struct place_cpu *c, s32 cpu, const struct place_policy *pol,
					    struct place_counters *cnt, u64 now_ns, u64 enq_flags)
{
	t->claimed = -1;
	if (unlikely(t->flags & PLACE_TASK_NEW))
		new_task_early(t, c, cpu);
	cpu_update_load(c, now_ns, 0);
	task_wake(t, c, cpu, pol, now_ns);
	count_in(cnt, PLACE_CNT_enqueue_direct, 1);
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_ns, enq_flags);
}

/* A task that did not wake up: it is new, was moved here, or its turn is over. */
static __always_inline void enqueue_other(struct place_task *t, struct place_cpu *c, s32 cpu,
					  const struct place_policy *pol, u64 now_ns)
{
	if (t->home == cpu && (t->flags & PLACE_TASK_RUNNABLE))
		return;
	if (t->flags & PLACE_TASK_NEW)
		new_task_early(t, c, cpu);
	cpu_update_load(c, now_ns, cpu_nr(c) > 0);
	task_arrive(t, c, cpu, now_ns);
	task_place(t, c, pol);
}

/* To the CPU's own queue. */
static __always_inline void enqueue_queued(struct task_struct *p, struct place_task *t,
					   struct place_cpu *c, s32 cpu, const struct place_policy *pol,
					   struct place_counters *cnt, u64 now_ns, u64 enq_flags)
{
	count_in(cnt, PLACE_CNT_enqueue_queued, 1);
	if (!c->idle_since_ns)
		note_waiting(p, cpu, pol);
	queue_task(p, t, c, cpu, now_ns, enq_flags);
}

void BPF_STRUCT_OPS(place_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 slot = slot_now(), reason = PLACE_CNT_enqueue_queued;
	const struct place_policy *pol = policy_at(slot);
	struct place_counters *cnt = counters_of(bpf_get_smp_processor_id(), slot);
	s32 cpu = task_on_cpu(p);
	struct place_task *t = task_of(p);
	struct place_cpu *c = cpu_at(cpu);
	u64 now_ns = scx_clock_task(cpu);

	if (unlikely(!t)) {
		c->queued++;
		count_in(cnt, PLACE_CNT_enqueue_no_record, 1);
		scx_bpf_dsq_insert_vtime(p, cpu, slice_ns, c->min_v, enq_flags);
		goto awake;
	}
	t->flags &= ~PLACE_TASK_QUEUED;
	if (unlikely(timing(slot)) && (enq_flags & SCX_ENQ_WAKEUP || t->flags & PLACE_TASK_NEW))
		time_wait(t, cpu, now_ns);
	if (t->claimed >= 0) {
		if (t->claimed == cpu) {
			enqueue_claimed(p, t, c, cpu, pol, cnt, now_ns, enq_flags);
			goto awake;
		}
		kick_claimed(t);
	}

	if (enq_flags & SCX_ENQ_WAKEUP)
		reason = enqueue_woken(p, t, c, cpu, pol, cnt, now_ns);
	else
		enqueue_other(t, c, cpu, pol, now_ns);
	if (reason == PLACE_CNT_enqueue_queued) {
		enqueue_queued(p, t, c, cpu, pol, cnt, now_ns, enq_flags);
	} else if (reason == PLACE_CNT_preempt_queued) {
		enqueue_queued(p, t, c, cpu, pol, cnt, now_ns, enq_flags);
		count_in(cnt, PLACE_CNT_preempt_queued, 1);
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	} else {
		count_in(cnt, reason, 1);
		if (reason == PLACE_CNT_enqueue_preempt) {
			count_in(cnt, PLACE_CNT_preempt_granted, 1);
			enq_flags |= SCX_ENQ_PREEMPT;
		}
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_ns, enq_flags);
	}
awake:
	if (c->idle_since_ns)
		leave_idle(c, now_ns);
}

/* ---- picking ---- */

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
	task_charge(t, c, cpu, prev);
	t->vruntime = fair_bound_lag(t->vruntime, c->min_v, t->weight);
	t->vruntime = fair_bound_lead(t->vruntime, c->min_v, cpu_weight(c));
	if (!leftmost(cpu, &head_v) || (s64)(head_v - t->vruntime) <= 0)
		return false;
	t->picked_ns = t->charged_ns;
	scx_bpf_task_set_slice(prev, slice_ns);
	return true;
}

/*
 * The first task found that has waited STARVED_NS runs next, whatever its virtual time.  If there
 * are more, the next dispatch looks again.
 */
__noinline int dispatch_starved(u32 cpu)
{
	struct place_cpu *c = cpu_at(cpu);
	u64 now = scx_clock_task(cpu);
	struct task_struct *p;
	bool moved = false;

	c->starve_look = 0;
	bpf_for_each(scx_dsq, p, cpu, 0) {
		struct place_task *t = task_of(p);

		if (!t || (s64)(now - t->queued_ns) < STARVED_NS)
			continue;
		if (moved) {
			c->starve_look = 1;
			break;
		}
		t->vruntime = c->min_v;
		moved = scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL, 0);
	}
	if (moved && c->queued)
		c->queued--;
	return moved;
}

static __always_inline bool dispatch_own(struct place_cpu *c, u32 cpu)
{
	if (!c->queued)
		return false;
	if (scx_bpf_dsq_move_to_local(cpu, 0)) {
		/* Others' pulls and dequeues are in this number, and not in ours. */
		if (--c->queued)
			c->queued = scx_bpf_dsq_nr_queued(cpu);
		return true;
	}
	c->queued = 0;
	return false;
}

/* Something for a CPU whose running task has nothing left to run; the counter of what it was. */
static __always_inline u32 dispatch_next(struct place_cpu *c, u32 cpu, bool keep)
{
	u32 pulled;

	if (dispatch_own(c, cpu))
		return PLACE_CNT_dispatch_own;
	if (keep)
		return PLACE_CNT_dispatch_keep;
	if (!anything_overloaded() ||
	    policy_at(slot_now())->axis[PLACE_AXIS_balance] == PLACE_balance_off)
		return PLACE_CNT_dispatch_idle;
	pulled = pull_task(cpu);
	if (pulled != PLACE_CNT_dispatch_idle)
		return pulled;
	/* The pull may have let go of the run-queue lock, and a wakeup come in. */
	return dispatch_own(c, cpu) ? PLACE_CNT_dispatch_own : PLACE_CNT_dispatch_idle;
}

void BPF_STRUCT_OPS(place_dispatch, s32 cpu, struct task_struct *prev)
{
	struct place_cpu *c = cpu_at(cpu);
	bool keep = prev && (prev->scx.flags & SCX_TASK_QUEUED);
	u32 got;

	if (unlikely(c->starve_look) && dispatch_starved(cpu))
		return count(PLACE_CNT_dispatch_starved);
	if (keep && c->queued && picks_prev(prev, c, cpu))
		return count(PLACE_CNT_dispatch_keep);
	got = dispatch_next(c, cpu, keep);
	count(got);
	if (got == PLACE_CNT_dispatch_idle)
		enter_idle(c, cpu, prev ? prev->se.exec_start : scx_clock_task(cpu));
	else if (c->idle_since_ns)
		leave_idle(c, scx_clock_task(cpu));
}

/* ---- stopping ---- */

void BPF_STRUCT_OPS(place_stopping, struct task_struct *p, bool runnable)
{
	s32 cpu = task_on_cpu(p);
	struct place_task *t = task_of(p);
	struct place_cpu *c = cpu_at(cpu);

	if (unlikely(!t))
		return;
	task_charge(t, c, cpu, p);
	t->picked_ns = t->charged_ns;
	if (!runnable && (t->flags & PLACE_TASK_RUNNABLE)) {
		cpu_sub(c, cpu, t);
		if (unlikely(t->woke))
			history_sleep(t, t->charged_ns);
	}
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

/* A walk through the queue now and then; see dispatch_starved(). */
static __always_inline void ask_for_starved(struct place_cpu *c, u64 now)
{
	if ((s64)(now - c->next_starve_look_ns) < 0)
		return;
	c->next_starve_look_ns = now + STARVE_LOOK_PERIOD_NS;
	c->starve_look = 1;
}

void BPF_STRUCT_OPS(place_tick, struct task_struct *p)
{
	const struct place_policy *pol = policy_at(slot_now());
	s32 cpu = task_on_cpu(p);
	struct place_task *t = task_of(p);
	struct place_cpu *c = cpu_at(cpu);

	if (unlikely(!t))
		return;
	task_charge(t, c, cpu, p);
	if (keeps_history(slot_now()))
		history_tick(c);
	update_nr_idle_scan(where_at(cpu)->llc);
	if (turn_over(pol, t, c, cpu)) {
		count(PLACE_CNT_event_slice_end);
		scx_bpf_task_set_slice(p, 0);
	}
	if (c->queued) {
		ask_for_starved(c, p->se.exec_start);
		if (pol->axis[PLACE_AXIS_balance] != PLACE_balance_off)
			kick_nearest_idle(cpu);
	}
}

/* ---- coming and going ---- */

static __always_inline void task_init(struct place_task *t, struct task_struct *p, bool fork)
{
	struct task_struct *parent_p = (void *)bpf_get_current_task_btf();
	struct place_task *parent = fork ? task_of(parent_p) : NULL;

	t->flags = fork ? PLACE_TASK_NEW : PLACE_TASK_WOKEN;
	t->home = parent ? parent->home : -1;
	t->vruntime = parent ? parent->vruntime + fair_delta(parent_p->se.sum_exec_runtime - parent->charged_ns,
							     parent->weight, parent->inverse)
			     : 0;
	t->claimed = -1;
	t->branch = 0;
	t->woke = 0;
	__builtin_memset(&t->overlap, 0, sizeof(t->overlap));
	t->recent = parent ? parent->home : -1;	/* at fork recent_used_cpu is the parent's CPU */
	t->charged_ns = t->picked_ns = p->se.sum_exec_runtime;
	task_set_weight(t, p);
	__builtin_memset(&t->load, 0, sizeof(t->load));
	__builtin_memset(&t->flips, 0, sizeof(t->flips));
	if (fork)	/* what others did so far is unknown */
		new_task_load(policy_at(slot_now()), &t->load, t->weight);
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

/* Its weight changes on the CPU whose sums it is in and whose run-queue lock is held. */
static __always_inline void reweigh_here(struct place_task *t, struct place_cpu *c, u32 cpu,
					 struct task_struct *p)
{
	u32 runnable = t->flags & PLACE_TASK_RUNNABLE, old = t->weight;
	u64 now_ns = scx_clock_task(cpu);

	cpu_update_load(c, now_ns, cpu_nr(c) > 0);
	pelt_task_update(&t->load, now_ns, old, runnable, 0);
	if (runnable)
		cpu_sub(c, cpu, t);
	task_set_weight(t, p);
	pelt_queue_reweight(&c->load, &t->load, old, t->weight, 0);
	if (runnable)
		cpu_add(c, cpu, t);
}

/* nice or the policy changed; the run-queue lock is held. */
void BPF_STRUCT_OPS(place_set_weight, struct task_struct *p, u32 weight)
{
	struct place_task *t = task_of(p);

	if (!t)
		return;
	if (t->load.last_ns && t->home == task_on_cpu(p))
		return reweigh_here(t, cpu_at(t->home), t->home, p);
	/* In nobody's loads yet, or pulled and not settled, or asleep: added where it is seen next. */
	if (t->load.last_ns)
		task_leave_home(t);
	task_set_weight(t, p);
	pelt_task_reweight(&t->load, t->weight);
}

/* The task leaves this class, perhaps while it waits in a queue. */
void BPF_STRUCT_OPS(place_disable, struct task_struct *p)
{
	struct place_task *t = task_of(p);

	if (!t)
		return;
	t->flags &= ~(PLACE_TASK_QUEUED | PLACE_TASK_TIMED);
	if (t->home >= 0)
		task_leave_home(t);
}

void BPF_STRUCT_OPS(place_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct place_task *t = task_of(p);

	if (!t)
		return;
	if (t->home >= 0)
		task_leave_home(t);
	t->flags = 0;
	__sync_fetch_and_and(&t->key, 0);	/* the next owner must not see its stores before this */
}

/* What the kernel prints of a scheduler that it ends. */
void BPF_STRUCT_OPS(place_dump_cpu, struct scx_dump_ctx *dctx, s32 cpu, bool idle)
{
	struct place_cpu *c = cpu_at(cpu);

	if (idle)
		return;
	scx_bpf_dump("min_v=%llu nr=%u weight=%u queued=%u longest_wait_ms=%llu starve_look=%llu", c->min_v,
		     cpu_nr(c), cpu_weight(c), c->queued, c->longest_wait_ns / 1000000, c->starve_look);
}

void BPF_STRUCT_OPS(place_dump_task, struct scx_dump_ctx *dctx, struct task_struct *p)
{
	struct place_task *t = task_of(p);

	if (!t)
		return scx_bpf_dump("no record");
	scx_bpf_dump("home=%d flags=%x weight=%u lead_us=%lld queued_ms=%lld", t->home, t->flags, t->weight,
		     t->home < 0 ? 0 : (s64)(t->vruntime - cpu_at(t->home)->min_v) / 1000,
		     (s64)(dctx->at_ns - t->queued_ns) / 1000000);
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

/* ---- for user space ---- */

/* What each CPU's run-queue clock shows now, from which the loads of idle CPUs are decayed. */
SEC("syscall")
int place_read_clocks(void *ctx)
{
	u64 wall = scx_bpf_now();
	u32 cpu;

	bpf_for(cpu, 0, nr_cpu_ids)
		*TABLE_AT(place_clock_table, cpu, cpu_mask) = clock_task_at(cpu, wall);
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
	       .stopping		= (void *)place_stopping,
	       .tick			= (void *)place_tick,
	       .init_task		= (void *)place_init_task,
	       .enable			= (void *)place_enable,
	       .set_weight		= (void *)place_set_weight,
	       .disable			= (void *)place_disable,
	       .exit_task		= (void *)place_exit_task,
	       .dump_cpu		= (void *)place_dump_cpu,
	       .dump_task		= (void *)place_dump_task,
	       .init			= (void *)place_init,
	       .exit			= (void *)place_exit,
	       .name			= "place");
