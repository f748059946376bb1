/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * wake_affine_history.h - wake_affine() as it was from v2.6.26 to v4.9.
 *
 * Begins where the frame of wake_affine.h ends: W and P differ, W is allowed.  Common names:
 *
 *   tl, pl      loads of W and of P, made smaller or larger in W's disfavour by the average of
 *               cpu_load.h (v2626, v2627; not within a core): target(W), source(P).  Weights of
 *               runnable tasks; v46: tracked load of what is runnable.
 *   w, l        weight of a task; its tracked load
 *   EL(t, c, a, b)   effective_load of t's group on c when a is added there and b to the group
 *   tpt         weight of the tasks of W over their number
 *   scale       100 and half of what the imbalance percentage of the domain is above that
 *
 * v2626 (v2.6.26), v2627 (v2.6.27):
 *   1. W and P on different nodes: W if scale tl <= 100 pl, else P (x86's node domain allows no affine
 *      wakeups, but this "passive balancing"; how far the nodes are apart does not matter).
 *   2. sync: tl += EL(waker, W, -w, -w), pl += EL(waker, P, 0, -w).
 *   3. balanced := 100 (tl + EL(wakee, W, w, w)) <= scale (pl + EL(wakee, P, 0, w)).
 *   4. sync, balanced, and the overlaps of waker and wakee below the migration cost: W.  v2626 asks
 *      for a waker of the fair class, too.
 *   5. balanced: W.
 *   6. tl <= pl and tl + target(P) <= tpt: W.   7. P.
 *   v2626 knows no groups: plain weights.  Where W has no tasks, tpt is 1024 in v2626 and in v2627
 *   what it was when there were some.
 *
 * v2637 (v2.6.37), v2638rc (between the rewrite of the shares and that of effective_load), v2638
 * (v2.6.38), v2638_nohot (with the third patch of the mail of January 2011):
 *   1. v2638_nohot: the wakee is cache hot on P: P.  With nohot_sync=0 not at sync wakeups.
 *   2. as 2. above.
 *   3. tl is 0, in v2638 and v2638_nohot 0 or less: W.
 *   4. balanced := 100 power(P) (tl + EL(wakee, W, w, w)) <= scale power(W) (pl + EL(wakee, P, 0, w)).
 *   5. sync and balanced: W.   6. balanced: W.   7. as 6. above, tpt 0 where W has no tasks.   8. P.
 *
 * v46 (v4.6 to v4.9; the veto of v4.10 for CPUs of little capacity is not part of it):
 *   1. as 2. above with l for w.
 *   2. tl is 0 or less: W if 100 cap(P) <= scale cap(W), else P.
 *   3. 100 cap(P) (tl + EL(wakee, W, l, l)) <= scale cap(W) (pl + EL(wakee, P, 0, l)): W.   4. P.
 *
 * Arithmetic is that of each kernel in 64 bits: unsigned up to v2638rc, so that a load below zero is a
 * huge one, signed since.  Loads are sums of at most 65535 weights up to 88761, below 2^33, effective
 * loads below 2^27 (effective_load.h); times 150, scale at most, and 1024 they stay below 2^51.
 *
 * sync is what the waker said; the kernel's test whether it is exiting is younger than these rules.
 * Every task is in the root group so far: see effective_load_of_root().
 */
#ifndef PLACE_WAKE_AFFINE_HISTORY_H
#define PLACE_WAKE_AFFINE_HISTORY_H

#include "task_hot.h"
#include "affine_domain.h"
#include "effective_load.h"

/*
 * How long a task goes on running after it woke another: CPU time from its last wakeup until it
 * sleeps, averaged.
 */
struct place_overlap {
	u64 woke_ns;		/* CPU time it had consumed at its last wakeup */
	u64 avg_ns;
};

/* It wakes a task. */
place_inline void overlap_wake(struct place_overlap *o, u64 consumed_ns)
{
	o->woke_ns = consumed_ns;
}

/* It sleeps, and has woken a task since it slept last.  The shift is an arithmetic one. */
place_inline void overlap_sleep(struct place_overlap *o, u64 consumed_ns)
{
	s64 difference = consumed_ns - o->woke_ns - o->avg_ns;

	o->avg_ns += difference >> 3;
}

/* None of SCHED_IDLE is. */
place_inline int wakee_is_hot(const struct place_policy *pol, const struct place_in *in)
{
	return !(in->flags & PLACE_IN_WAKEE_SCHED_IDLE) &&
	       task_hot(in->since_ran_ns, pol->param[PLACE_PARAM_migration_cost_us]);
}

/* What a rule compares.  el: effective loads, of the waker that leaves and of the wakee that comes. */
struct affine_loads {
	u64 waker, prev;		/* tl and pl */
	u64 prev_target;		/* target(P) */
	s64 el_waker_leaves, el_prev_leaves;
	s64 el_waker_comes, el_prev_comes;
	u32 tpt_weight, tpt_nr;		/* weight and number of W's tasks, whose quotient is tpt */
	u32 waker_power, prev_power;	/* 1024 for the largest CPU */
	u32 scale;
	u32 sync;
	u32 short_overlaps;		/* step 4 of v2626 and v2627: those of both tasks are */
};

/* load <= weight / nr without the division; nr is not 0. */
place_inline int load_fits_average(u64 load, u32 weight, u32 nr)
{
	return load <= weight && load * nr <= weight;
}

/* The last resort of v2626 to v2638: little runs on either CPU. */
place_inline u32 wake_affine_light(const struct affine_loads *a, u64 tl, u64 pl)
{
	if (tl <= pl && load_fits_average(tl + a->prev_target, a->tpt_weight, a->tpt_nr))
		return PLACE_CNT_affine_light;
	return PLACE_CNT_affine_imbalanced;
}

/* v2626 and v2627 between nodes, by the loads alone. */
place_inline u32 wake_balance_passive(const struct affine_loads *a)
{
	return a->scale * a->waker <= 100 * a->prev ? PLACE_CNT_affine_passive_waker
						    : PLACE_CNT_affine_passive_prev;
}

/* v2626 and v2627 within a node, steps 2 to 7. */
place_inline u32 wake_affine_2627(const struct affine_loads *a)
{
	u64 tl = a->waker, pl = a->prev;
	int balanced;

	if (a->sync) {
		tl += a->el_waker_leaves;
		pl += a->el_prev_leaves;
	}
	balanced = 100 * (tl + a->el_waker_comes) <= a->scale * (pl + a->el_prev_comes);
	if (a->sync && balanced && a->short_overlaps)
		return PLACE_CNT_affine_sync_overlap;
	if (balanced)
		return PLACE_CNT_affine_balanced;
	return wake_affine_light(a, tl, pl);
}

/* v2637 to v2638rc, steps 2 to 8. */
place_inline u32 wake_affine_2637(const struct affine_loads *a)
{
	u64 tl = a->waker, pl = a->prev, here, there;

	if (a->sync) {
		tl += a->el_waker_leaves;
		pl += a->el_prev_leaves;
	}
	if (!tl)
		return PLACE_CNT_affine_unloaded;
	here = 100 * (u64)a->prev_power * (tl + a->el_waker_comes);
	there = a->scale * (u64)a->waker_power * (pl + a->el_prev_comes);
	if (here <= there)
		return a->sync ? PLACE_CNT_affine_sync_balanced : PLACE_CNT_affine_balanced;
	return wake_affine_light(a, tl, pl);
}

/* v2638 and v2638_nohot, steps 2 to 8: the same, signed. */
place_inline u32 wake_affine_2638(const struct affine_loads *a)
{
	s64 tl = a->waker, pl = a->prev, here, there;

	if (a->sync) {
		tl = wrap_add(tl, a->el_waker_leaves);
		pl = wrap_add(pl, a->el_prev_leaves);
	}
	if (tl <= 0)
		return PLACE_CNT_affine_unloaded;
	here = wrap_mul(100 * (s64)a->prev_power, wrap_add(tl, a->el_waker_comes));
	there = wrap_mul(a->scale * (s64)a->waker_power, wrap_add(pl, a->el_prev_comes));
	if (here <= there)
		return a->sync ? PLACE_CNT_affine_sync_balanced : PLACE_CNT_affine_balanced;
	return tl <= pl ? wake_affine_light(a, tl, pl) : PLACE_CNT_affine_imbalanced;
}

/* v46. */
place_inline u32 wake_affine_46(const struct affine_loads *a)
{
	s64 here = 100 * (s64)a->prev_power, there = a->scale * (s64)a->waker_power;
	s64 tl = a->waker, pl = a->prev;

	if (a->sync) {
		tl = wrap_add(tl, a->el_waker_leaves);
		pl = wrap_add(pl, a->el_prev_leaves);
	}
	if (tl <= 0)
		return here <= there ? PLACE_CNT_affine_unloaded : PLACE_CNT_affine_imbalanced;
	here = wrap_mul(here, wrap_add(tl, a->el_waker_comes));
	there = wrap_mul(there, wrap_add(pl, a->el_prev_comes));
	return here <= there ? PLACE_CNT_affine_balanced : PLACE_CNT_affine_imbalanced;
}

/* The part of *a that all rules take alike.  leaves, comes: w or l of waker and wakee. */
place_inline void affine_loads_fill(struct affine_loads *a, const struct place_policy *pol,
				    const struct place_in *in, u32 leaves, u32 comes)
{
	a->el_waker_leaves = effective_load_of_root(-(s64)leaves);
	a->el_waker_comes = effective_load_of_root(comes);
	a->el_prev_leaves = a->el_prev_comes = effective_load_of_root(0);
	a->waker_power = in->waker_capacity;
	a->prev_power = in->prev_capacity;
	a->scale = affine_scale(affine_imbalance_pct(pol, in));
	a->sync = !!(in->flags & (PLACE_IN_SYNC | PLACE_IN_SYNC_EXITING));
}

/* tpt and, as there is no average, the loads now. */
place_inline void affine_loads_2637(struct affine_loads *a, const struct place_in *in)
{
	a->waker = in->waker_weight;
	a->prev = a->prev_target = in->prev_weight;
	a->tpt_weight = in->waker_nr_running ? in->waker_weight : 0;
	a->tpt_nr = in->waker_nr_running ? in->waker_nr_running : 1;
}

/* source and target, tpt and overlaps of v2626 and v2627. */
place_inline void affine_loads_2627(struct affine_loads *a, const struct place_policy *pol,
				    const struct place_in *in)
{
	u32 cost_us = pol->param[PLACE_PARAM_migration_cost_us], idx = pol->param[PLACE_PARAM_wake_idx];
	u64 cost_ns = (u64)cost_us * 1000;
	u32 waker_avg = in->waker_weight, prev_avg = in->prev_weight;
	int v2626 = pol->axis[PLACE_AXIS_affine] == PLACE_affine_v2626;

	affine_loads_2637(a, in);
	/* The domain of a core's threads has wake_idx 0. */
	if (idx && !in_same_core(in)) {
		waker_avg = in->waker_tick_load[(idx - 1) & (PLACE_CPU_LOADS - 1)];
		prev_avg = in->prev_tick_load[(idx - 1) & (PLACE_CPU_LOADS - 1)];
	}
	if (waker_avg > a->waker)
		a->waker = waker_avg;
	if (prev_avg < a->prev)
		a->prev = prev_avg;
	if (prev_avg > a->prev_target)
		a->prev_target = prev_avg;
	if (!in->waker_nr_running) {
		a->tpt_weight = v2626 ? 1024 : in->tpt_weight;
		a->tpt_nr = v2626 || !in->tpt_nr ? 1 : in->tpt_nr;
	}
	/* Only a runnable task of this scheduler has a weight on W. */
	a->short_overlaps = in->curr_overlap_ns < cost_ns && in->wakee_overlap_ns < cost_ns &&
			    (!v2626 || in->curr_weight);
}

/* Is the rule one of this file? */
place_inline int affine_is_history(u32 rule)
{
	return rule != PLACE_affine_off && rule != PLACE_affine_always && rule != PLACE_affine_wa_414;
}

/* Does it decide between any two nodes? */
place_inline int affine_knows_no_distance(u32 rule)
{
	return rule == PLACE_affine_v2626 || rule == PLACE_affine_v2627;
}

/* The rule in force, one of this file.  A function of its own: the common rules need not pass by. */
place_wide u32 wake_affine_history(const struct place_policy *pol __arg_nonnull,
				   const struct place_in *in __arg_nonnull)
{
	u32 rule = pol->axis[PLACE_AXIS_affine];
	struct affine_loads a;

	if (rule == PLACE_affine_v46) {
		affine_loads_fill(&a, pol, in, in->curr_load, in->wakee_load_avg);
		a.waker = in->waker_runnable_load;
		a.prev = in->prev_runnable_load;
		return wake_affine_46(&a);
	}
	affine_loads_fill(&a, pol, in, in->curr_weight, in->wakee_weight);
	if (affine_knows_no_distance(rule)) {
		affine_loads_2627(&a, pol, in);
		if (in->waker_at.node != in->prev_at.node)
			return wake_balance_passive(&a);
		return wake_affine_2627(&a);
	}
	if (rule == PLACE_affine_v2638_nohot && (!a.sync || pol->param[PLACE_PARAM_nohot_sync]) &&
	    wakee_is_hot(pol, in))
		return PLACE_CNT_affine_hot;
	affine_loads_2637(&a, in);
	if (rule == PLACE_affine_v2637 || rule == PLACE_affine_v2638rc)
		return wake_affine_2637(&a);
	return wake_affine_2638(&a);
}

#endif /* PLACE_WAKE_AFFINE_HISTORY_H */
