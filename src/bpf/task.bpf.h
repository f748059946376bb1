/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * task.bpf.h - a task's record: where it is kept, and what changes when the task moves.
 *
 * A record is known by a key made of its task's address, which stays while everything else of a
 * task can change (an exec by a thread that is not the leader swaps pids).  Records live in a table
 * in one of the two slots that the key selects, a few instructions a look-up; a task that finds
 * both taken keeps its record in task-local storage.  A task without a record, which memory
 * pressure can cause, is served all the same, first come, first served.
 *
 * Functions that are not static are proved by the verifier once, however often they are called.
 *
 * Ownership: a CPU's sums are changed under its run-queue lock only.  A task that turns up on a
 * CPU other than its home (pulled, or its affinity changed) is added here and subtracted there
 * through the old home's inbox, whose sums only grow.
 */
#ifndef PLACE_TASK_BPF_H
#define PLACE_TASK_BPF_H

#include "glue.bpf.h"
#include "policy/fair_queue.h"

#define POLICY_SCHED_BATCH 3
#define POLICY_SCHED_IDLE 5
#define MAX_RT_PRIO 100
#define PICK_SLACK_NS 64000	/* between a CPU's wakeup and the run that follows; counts as the run */

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct place_task);
} place_task_overflow SEC(".maps");

/* Subtracting two pointers is the one way to turn a pointer into a number. */
static __always_inline u64 task_key(struct task_struct *p)
{
	u64 key = (u64)p;

	asm volatile("%0 -= %1" : "+r"(key) : "r"(place_task_table));
	return key;
}

/* Slots which = 0 and 1 of a key. */
static __always_inline struct place_task *task_slot(u64 key, u32 which)
{
	u64 slot = (key * 0x9e3779b97f4a7c15ULL) >> (task_shift & 63);

	return TABLE_AT(place_task_table, slot ^ which, slot | 1);
}

/* The record of a task if it is in the table, where most are; NULL: it may be elsewhere. */
static __always_inline struct place_task *task_in_table(struct task_struct *p)
{
	u64 key = task_key(p);
	struct place_task *t = task_slot(key, 0);

	if (likely(t->key == key))
		return t;
	t = task_slot(key, 1);
	return t->key == key ? t : NULL;
}

static __always_inline struct place_task *task_of(struct task_struct *p)
{
	struct place_task *t = task_in_table(p);

	return t ?: bpf_task_storage_get(&place_task_overflow, p, NULL, 0);
}

/* Takes a free slot, else makes a record elsewhere.  NULL: no memory. */
static __always_inline struct place_task *task_new(struct task_struct *p)
{
	u64 key = task_key(p);
	struct place_task *t;

	t = task_slot(key, 0);
	if (!__sync_val_compare_and_swap(&t->key, 0, key))
		return t;
	t = task_slot(key, 1);
	if (!__sync_val_compare_and_swap(&t->key, 0, key))
		return t;
	t = bpf_task_storage_get(&place_task_overflow, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (t)
		t->key = key;
	return t;
}

static __always_inline void task_set_weight(struct place_task *t, struct task_struct *p)
{
	u32 idle = p->policy == POLICY_SCHED_IDLE;

	t->weight = fair_weight(p->static_prio - MAX_RT_PRIO, idle);
	t->inverse = fair_inverse(t->weight);
	t->share = t->weight | 1ULL << PLACE_SUM_NR_SHIFT | (u64)idle << PLACE_SUM_IDLE_SHIFT;
	t->flags &= ~(PLACE_TASK_IDLE_POLICY | PLACE_TASK_BATCH);
	if (idle)
		t->flags |= PLACE_TASK_IDLE_POLICY;
	else if (p->policy == POLICY_SCHED_BATCH)
		t->flags |= PLACE_TASK_BATCH;
}

static __always_inline u64 cpu_sum(const struct place_cpu *c)
{
	return c->added - c->inbox;
}

static __always_inline u32 cpu_nr(const struct place_cpu *c)
{
	return (cpu_sum(c) >> PLACE_SUM_NR_SHIFT) & 0xffff;
}

static __always_inline u32 cpu_weight(const struct place_cpu *c)
{
	return cpu_sum(c);
}

/* Keeps place_llc.sched_idle up to date; called where SCHED_IDLE tasks come or go. */
static void cpu_update_sched_idle(struct place_cpu *c, u32 cpu)
{
	u32 idle = cpu_sum(c) >> PLACE_SUM_IDLE_SHIFT;
	u8 set = idle && idle == cpu_nr(c);
	struct place_where *at = where_at(cpu);
	struct place_llc *llc;
	u64 bit;

	if (set == c->sched_idle_set)
		return;
	llc = llc_at(at->llc);
	c->sched_idle_set = set;
	bit = 1ULL << (at->local & 63);
	if (set)
		__sync_fetch_and_or(&llc->sched_idle.w[(at->local >> 6) & (PLACE_MAX_WORDS - 1)], bit);
	else
		__sync_fetch_and_and(&llc->sched_idle.w[(at->local >> 6) & (PLACE_MAX_WORDS - 1)], ~bit);
}

static __always_inline void cpu_sum_changed(struct place_cpu *c, u32 cpu)
{
	if (unlikely((c->added >> PLACE_SUM_IDLE_SHIFT) | c->sched_idle_set))
		cpu_update_sched_idle(c, cpu);
}

/* Takes out of a CPU's loads what others have removed. */
static __always_inline void cpu_fold_load(struct place_cpu *c)
{
	struct pelt_queue *q = &c->load;
	u64 inbox, seen;

	/* What has a runnable part has a load; the two first words are compared as one. */
	__builtin_memcpy(&inbox, &c->inbox_load, sizeof(inbox));
	__builtin_memcpy(&seen, &q->seen, sizeof(seen));
	if (unlikely(inbox != seen))
		pelt_queue_fold(q, c->inbox_load.load, c->inbox_load.runnable, c->inbox_load.util);
}

/*
 * Brings a CPU's loads up to now.  running: a task of this scheduler has run there since they were.
 * Before the sums change.
 */
static __always_inline void cpu_update_load(struct place_cpu *c, u64 now_ns, u32 running)
{
	cpu_fold_load(c);
	pelt_queue_update(&c->load, now_ns, cpu_weight(c), running);
}

/* The task's sums and loads join c's, which are up to date, as is the task's load. */
static __always_inline void cpu_add(struct place_cpu *c, u32 cpu, struct place_task *t)
{
	if (unlikely(!t->load.last_ns))
		pelt_attach(&c->load, &t->load, t->weight, t->inverse);
	pelt_enqueue(&c->load, &t->load, t->weight);
	c->added += t->share;
	t->flags |= PLACE_TASK_RUNNABLE;
	cpu_sum_changed(c, cpu);
}

/* It sleeps: the load stays, as one that decays. */
static __always_inline void cpu_sub(struct place_cpu *c, u32 cpu, struct place_task *t)
{
	pelt_dequeue(&c->load, &t->load, t->weight);
	c->added -= t->share;
	t->flags &= ~PLACE_TASK_RUNNABLE;
	cpu_sum_changed(c, cpu);
}

/* The run-queue clock, without interrupts, that a CPU will show at `wall` of the clocks with them. */
static __always_inline u64 clock_task_at(u32 cpu, u64 wall)
{
	struct rq *rq = (void *)bpf_per_cpu_ptr(&runqueues, cpu);

	return rq ? wall - (rq->clock - rq->clock_task) : wall;
}

/* The other way: the clock with interrupts, which is one for all CPUs. */
static __always_inline u64 wall_at(u32 cpu, u64 clock_task)
{
	struct rq *rq = (void *)bpf_per_cpu_ptr(&runqueues, cpu);

	return rq ? clock_task + (rq->clock - rq->clock_task) : clock_task;
}

/* Takes a task, runnable or not, out of the sums and loads of its home, whose lock is not held. */
__noinline int task_leave_home(struct place_task *t __arg_nonnull)
{
	struct place_cpu *old = cpu_at(t->home);
	u32 runnable = t->flags & PLACE_TASK_RUNNABLE;
	struct pelt_inbox out;

	pelt_leave(&t->load, READ_ONCE(old->load.last_ns), clock_task_at(t->home, scx_bpf_now()), t->weight,
		   runnable, &out);
	if (out.load)
		__sync_fetch_and_add(&old->inbox_load.load, out.load);
	if (out.runnable)
		__sync_fetch_and_add(&old->inbox_load.runnable, out.runnable);
	if (out.util)
		__sync_fetch_and_add(&old->inbox_load.util, out.util);
	if (runnable)
		__sync_fetch_and_add(&old->inbox, t->share);
	t->flags &= ~PLACE_TASK_RUNNABLE;
	return 0;
}

static __always_inline u32 migration_distance(u32 from, u32 to)
{
	struct place_where *a = where_at(from), *b = where_at(to);

	if (a->node != b->node)
		return PLACE_CNT_migration_machine;
	if (a->llc != b->llc)
		return PLACE_CNT_migration_node;
	return a->core == b->core ? PLACE_CNT_migration_core : PLACE_CNT_migration_llc;
}

/* The task's home becomes cpu, its virtual time is put on this queue's base. */
static __always_inline void task_move_home(struct place_task *t, struct place_cpu *c, u32 cpu)
{
	if (t->home == (s32)cpu)
		return;
	if (t->home >= 0) {
		t->vruntime += c->min_v - cpu_at(t->home)->min_v;
		t->vruntime = fair_bound_lag(t->vruntime, c->min_v, t->weight);
		task_leave_home(t);
		if (!(t->flags & PLACE_TASK_NEW))
			count(migration_distance(t->home, cpu));
	}
	t->home = cpu;
}

/*
 * A new task is about to be enqueued on cpu, whose loads are not up to now: see newload.h.  A global
 * function, as the next one, since callers are large and the verifier proves it once.
 */
__noinline int new_task_early(struct place_task *t __arg_nonnull, struct place_cpu *c __arg_nonnull, u32 cpu)
{
	const struct place_policy *pol = policy_at(slot_now());

	if (t->load.last_ns || !new_task_is_stale(pol, &c->load))
		return 0;
	task_move_home(t, c, cpu);
	cpu_fold_load(c);
	new_task_attach(pol, &t->load, &c->load, t->weight, t->inverse, 1024);
	return 0;
}

/* The same, and they are. */
__noinline int new_task_late(struct place_task *t __arg_nonnull, struct place_cpu *c __arg_nonnull, u64 now_ns)
{
	const struct place_policy *pol = policy_at(slot_now());

	if (!t->load.last_ns)
		new_task_attach(pol, &t->load, &c->load, t->weight, t->inverse, 1024);
	new_task_catch_up(pol, &t->load, now_ns, t->weight);
	return 0;
}

/*
 * The task is on cpu now, whose run-queue lock is held and whose loads are up to now: make that its
 * home, with its weight in the sums and its virtual time on this queue's base.
 */
static __always_inline void task_arrive(struct place_task *t, struct place_cpu *c, u32 cpu, u64 now_ns)
{
	task_move_home(t, c, cpu);
	if (t->flags & PLACE_TASK_RUNNABLE)
		return;
	if (t->flags & PLACE_TASK_NEW)
		new_task_late(t, c, now_ns);
	else
		pelt_task_update(&t->load, now_ns, t->weight, 0, 0);
	cpu_add(c, cpu, t);
}

/* Virtual time of a task that has just arrived: woken and new ones get their place. */
static __always_inline void task_place(struct place_task *t, struct place_cpu *c,
				       const struct place_policy *pol)
{
	if (t->flags & PLACE_TASK_NEW)
		t->vruntime = fair_bound_lag(fair_place_new(pol, t->vruntime, c->min_v, t->weight,
							    t->inverse, cpu_nr(c) - 1,
							    cpu_weight(c) - t->weight),
					     c->min_v, t->weight);
	else if (t->flags & PLACE_TASK_WOKEN)
		t->vruntime = fair_place_woken(pol, t->vruntime, c->min_v,
					       t->flags & PLACE_TASK_IDLE_POLICY);
	t->flags &= ~(PLACE_TASK_NEW | PLACE_TASK_WOKEN);
}

static __always_inline void note_wait(struct place_cpu *c, s64 waited_ns)
{
	if (waited_ns > (s64)c->longest_wait_ns)
		c->longest_wait_ns = waited_ns;
}

/*
 * A task wakes up on cpu, whose loads are up to now.  Returns the flags it came with.  Nearly always
 * it wakes where it slept; then each thing is done once, by hand.
 */
static __always_inline u32 task_wake(struct place_task *t, struct place_cpu *c, u32 cpu,
				     const struct place_policy *pol, u64 now_ns)
{
	u32 flags = t->flags;

	if (unlikely(t->home != (s32)cpu || (flags & (PLACE_TASK_NEW | PLACE_TASK_RUNNABLE)))) {
		t->flags = (flags | PLACE_TASK_WOKEN) & ~PLACE_TASK_SYNC;
		task_arrive(t, c, cpu, now_ns);
		task_place(t, c, pol);
	} else {
		pelt_task_update(&t->load, now_ns, t->weight, 0, 0);
		t->vruntime = fair_place_woken(pol, t->vruntime, c->min_v, flags & PLACE_TASK_IDLE_POLICY);
		t->flags = flags & ~(PLACE_TASK_WOKEN | PLACE_TASK_SYNC);
		cpu_add(c, cpu, t);
	}
	return flags;
}

/* Level full: a woken or new task is enqueued on cpu, before anything else looks at its flags. */
__noinline int time_wait(struct place_task *t __arg_nonnull, u32 cpu, u64 now_ns)
{
	t->timed_ns = wall_at(cpu, now_ns);
	t->wake_type = t->flags & PLACE_TASK_NEW ? PLACE_LATENCY_NEW
		       : t->flags & PLACE_TASK_SYNC ? PLACE_LATENCY_SYNC : PLACE_LATENCY_WOKEN;
	t->flags |= PLACE_TASK_TIMED;
	return 0;
}

/* It has run on cpu since since_ns.  Counts under the policy that is in force now. */
__noinline int count_wait(struct place_task *t __arg_nonnull, u32 cpu, u64 since_ns)
{
	struct place_latency *l = latency_of(bpf_get_smp_processor_id(), slot_now());
	s64 waited_ns = wall_at(cpu, since_ns) - t->timed_ns;
	u64 bucket = latency_bucket(waited_ns > 0 ? waited_ns : 0);

	barrier_var(bucket);	/* the verifier sees no bound, the compiler would drop the test of it */
	if (bucket >= PLACE_LATENCY_BUCKETS)
		return 0;
	l->n[latency_branch_row(t->branch) & (PLACE_LATENCY_ROWS - 1)][bucket]++;
	l->n[t->wake_type & (PLACE_LATENCY_ROWS - 1)][bucket]++;
	t->branch = 0;
	t->flags &= ~PLACE_TASK_TIMED;
	return 0;
}

/* What task_settle does where there is something to do. */
__noinline int task_catch_up(struct place_task *t __arg_nonnull, struct place_cpu *c __arg_nonnull, u32 cpu,
			     u64 since_ns)
{
	u32 flags = t->flags;
	bool away = t->home != (s32)cpu;
	s32 waited_on = t->home;

	/* Pulled, or kept waiting by another class: the run does not begin where the loads stand. */
	if ((s64)(since_ns - c->load.last_ns) > (away ? 0 : PICK_SLACK_NS))
		cpu_update_load(c, since_ns, 0);
	if (away || !(flags & PLACE_TASK_RUNNABLE))
		task_arrive(t, c, cpu, c->load.last_ns);
	if (flags & PLACE_TASK_QUEUED) {
		if (!away) {
			note_wait(c, since_ns - t->queued_ns);
			c->min_v = fair_max(c->min_v, t->vruntime);
		} else if (waited_on >= 0) {	/* on another CPU's clock */
			note_wait(c, wall_at(cpu, since_ns) - wall_at(waited_on, t->queued_ns));
		}
		t->flags &= ~PLACE_TASK_QUEUED;
	}
	if (flags & (PLACE_TASK_WOKEN | PLACE_TASK_NEW))
		task_place(t, c, policy_at(slot_now()));
	if (flags & PLACE_TASK_TIMED)
		count_wait(t, cpu, since_ns);
	return 0;
}

/*
 * A task runs on c's CPU since since_ns, and no callback told of its pick: one that was pulled
 * arrives, and the queue's time follows one that was picked in order.  For whoever looks at a
 * running task first.
 */
static __always_inline void task_settle(struct place_task *t, struct place_cpu *c, u32 cpu, u64 since_ns)
{
	const u32 settled = PLACE_TASK_RUNNABLE | PLACE_TASK_QUEUED | PLACE_TASK_WOKEN | PLACE_TASK_NEW |
			    PLACE_TASK_TIMED;

	if (unlikely(t->home != (s32)cpu || (t->flags & settled) != PLACE_TASK_RUNNABLE ||
		     (s64)(since_ns - c->load.last_ns) > PICK_SLACK_NS))
		task_catch_up(t, c, cpu, since_ns);
}

/*
 * Charges the CPU time consumed since the last charge, and brings the loads of the task and its CPU
 * up to now; p runs on c's CPU.
 */
static __always_inline void task_charge(struct place_task *t, struct place_cpu *c, u32 cpu,
					struct task_struct *p)
{
	u64 sum = p->se.sum_exec_runtime, ran = sum - t->charged_ns;
	u64 now = p->se.exec_start, since = now - ran;

	task_settle(t, c, cpu, since);
	cpu_update_load(c, now, 1);
	pelt_task_ran(&t->load, since, now, t->weight);
	t->charged_ns = sum;
	t->vruntime += fair_delta(ran, t->weight, t->inverse);
	/* Alone: what waits, in either queue, must not be passed. */
	if (cpu_nr(c) <= 1)
		c->min_v = fair_max(c->min_v, t->vruntime);
}

#endif /* PLACE_TASK_BPF_H */
