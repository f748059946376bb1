/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * history.bpf.h - what only older rules read (policy/wake_affine_history.h, mason_pkg to sis_prop of
 * policy/idle_history.h): loads at the last ticks, overlaps of tasks, weights, idle times.
 *
 * All of it is kept and gathered while PLACE_WORD_HISTORY is set: a policy that reads it is in force,
 * or placements are sampled, for any policy to be asked about them.  Otherwise callbacks pay a test of
 * that word each, and no more.  What is kept starts at 0 with the program; when the word is set again, it
 * goes on: a CPU's loads as if it had idled, overlaps as they were.  Ticks while another class runs are
 * not seen either, and count as idle ones.
 *
 * An overlap's stamp is put, as in v2.6.27, on the waker; with affine=v2626 in force as in v2.6.26 on
 * the task that runs on the wakee's CPU.  The former happens in select_cpu, which wakees that may
 * run on one CPU only do not pass.  The stamp is the CPU time consumed until the wakeup itself; the
 * kernel's lacks what was not charged yet, if the wakee goes to another CPU.
 */
#ifndef PLACE_HISTORY_BPF_H
#define PLACE_HISTORY_BPF_H

#include "idle.bpf.h"
#include "task.bpf.h"

static __always_inline bool keeps_history(u32 slot)
{
	return unlikely(slot & PLACE_WORD_HISTORY);
}

static __always_inline bool stamps_as_v2626(u32 slot)
{
	return policy_at(slot)->axis[PLACE_AXIS_affine] == PLACE_affine_v2626;
}

static __always_inline u32 at_most_u32(u64 v)
{
	return v < 0xffffffff ? v : 0xffffffff;
}

/* CPU time that a task which runs now has consumed, at now_ns of its CPU's run-queue clock. */
static __always_inline u64 consumed_at(struct task_struct *p, u64 now_ns)
{
	s64 since = now_ns - p->se.exec_start;

	return p->se.sum_exec_runtime + (since > 0 ? since : 0);
}

static __always_inline void note_wakes(struct place_task *t, struct task_struct *p, u64 now_ns)
{
	overlap_wake(&t->overlap, consumed_at(p, now_ns));
	t->woke = 1;
}

/* The stamp of v2.6.26: a wakee was enqueued on the CPU where curr runs; curr_t NULL: no task of ours. */
static __noinline void history_woken(struct place_task *curr_t, struct task_struct *curr, u64 now_ns)
{
	if (curr_t && curr && stamps_as_v2626(slot_now()))
		note_wakes(curr_t, curr, now_ns);
}

/* It sleeps, and has a stamp. */
static __noinline void history_sleep(struct place_task *t __arg_nonnull, u64 consumed_ns)
{
	overlap_sleep(&t->overlap, consumed_ns);
	t->woke = 0;
}

static __always_inline void history_tick(struct place_cpu *c)
{
	cpu_load_tick(&c->tick_load, bpf_jiffies64(), cpu_weight(c));
}

/* Weights of the two CPUs and tasks.  A waker that was pulled may be in the sums of its old home. */
static __always_inline void snapshot_weights(struct place_in *in, const struct place_task *t,
					     const struct place_task *wt)
{
	in->waker_weight = cpu_weight(cpu_at(in->waker));
	in->prev_weight = cpu_weight(cpu_at(in->prev));
	in->wakee_weight = t ? t->weight : fair_weight(20, 0);
	in->curr_weight = 0;
	if (!wt || !(wt->flags & PLACE_TASK_RUNNABLE))
		return;
	in->curr_weight = wt->weight;
	if (likely(wt->home == in->waker))
		return;
	in->waker_weight += wt->weight;
	if (wt->home == in->prev && in->prev_weight >= wt->weight)
		in->prev_weight -= wt->weight;
}

static __always_inline void snapshot_tick_loads(struct place_in *in)
{
	const struct place_cpu_load *w = &cpu_at(in->waker)->tick_load, *p = &cpu_at(in->prev)->tick_load;
	u32 now = bpf_jiffies64();

	for (u32 i = 0; i < PLACE_CPU_LOADS; i++) {
		in->waker_tick_load[i] = cpu_load_at(w, i, now);
		in->prev_tick_load[i] = cpu_load_at(p, i, now);
	}
}

/* What the kernel keeps as avg_load_per_task: of the last time that the CPU had tasks when asked. */
static __always_inline void snapshot_tpt(struct place_in *in)
{
	struct place_cpu *c = cpu_at(in->waker);

	if (in->waker_nr_running) {
		c->tpt_weight = in->waker_weight;
		c->tpt_nr = in->waker_nr_running;
	}
	in->tpt_weight = c->tpt_weight;
	in->tpt_nr = c->tpt_nr;
}

/*
 * Since the wakee ran, exec_start of a task that sleeps being when it ceased to.  The clock of prev is
 * read as the fair class reads it, without its lock: it stands where the last event of that CPU left it.
 */
static __always_inline s64 since_ran_ns(struct task_struct *p, u32 prev)
{
	return scx_clock_task(prev) - p->se.exec_start;
}

/*
 * The blocks of place_in for affine=v2626 to v46 and idle_search=mason_pkg to sis_prop.  t, wt: records
 * of the wakee and of the waker, which is current; NULL: none.  Afterwards the waker has its stamp, also
 * where no CPU is left to choose.
 */
static __noinline void snapshot_history(struct place_in *in __arg_nonnull, struct task_struct *p,
					struct place_task *t, struct place_task *wt, u32 slot)
{
	struct task_struct *waker = (void *)bpf_get_current_task_btf();
	u64 wall = scx_bpf_now();

	in->since_ran_ns = since_ran_ns(p, in->prev);
	in->prev_nr_running = cpu_nr(cpu_at(in->prev));
	in->avg_idle_ns = cpu_at(in->waker)->avg_idle_ns;
	in->scan_cost_ns = llc_at(in->waker_at.llc)->avg_scan_cost_ns;
	if (t && (t->flags & PLACE_TASK_IDLE_POLICY))
		in->flags |= PLACE_IN_WAKEE_SCHED_IDLE;
	snapshot_weights(in, t, wt);
	if (in->waker != in->prev) {
		snapshot_tick_loads(in);
		snapshot_tpt(in);
		in->curr_overlap_ns = wt ? at_most_u32(wt->overlap.avg_ns) : 0;
		in->wakee_overlap_ns = t ? at_most_u32(t->overlap.avg_ns) : 0;
		in->waker_runnable_load = cpu_runnable_load(in->waker, wall);
		in->prev_runnable_load = cpu_runnable_load(in->prev, wall);
		in->wakee_load_avg = t ? t->load.load_avg : 0;
	}
	if (wt && in->curr_weight && !stamps_as_v2626(slot))
		note_wakes(wt, waker, clock_task_at(in->waker, wall));
}

#endif /* PLACE_HISTORY_BPF_H */
