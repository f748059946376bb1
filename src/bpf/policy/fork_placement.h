/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fork_placement.h - where a new task starts.
 *
 * stay: on its parent's CPU, which is its previous CPU.
 *
 * All others walk (policies.md C.5) down the levels that hold the current CPU, at first the one that
 * executes the fork, from the widest on:
 *   1. find_idlest_group: groups without an allowed CPU are passed.  The rule names the best of the
 *      others but the current CPU's own, the first one behind that if several are alike.
 *   2. no best, or the rule keeps the own group: nothing moves at this level.
 *   3. find_idlest_cpu: the rule names one of the best group's allowed CPUs.
 *   4. that CPU becomes the current one.
 * The last current CPU is the result; the previous CPU if nothing moved (v612: the one that executes
 * the fork, if the widest level has an allowed CPU).
 *
 * Groups.  A group's load is the sum over its CPUs, allowed or not, per capacity of all its CPUs;
 * pct is the level's imbalance percentage, scale half of what it is above 100, margin so many
 * percent of 1024 as it is above 100.  An own group without an allowed CPU counts as not loaded.
 *
 *   v2627 (v2.6.26 to v2.6.38), load = weight of what is runnable; v48 (v4.6 to v4.9), load = average
 *   of what is runnable:
 *     i.   best: least load.
 *     ii.  keeps if 100 * own < scale * best.  (Nothing loaded anywhere: it moves.)
 *   v2.6.27 compares with averages of ticks, the larger of a tick's and now's for other groups, the
 *   smaller for the own one; both are taken as now's.
 *
 *   v410 (v4.10), load as v48's, and load_avg, in which sleeping tasks are too:
 *     i.   better than the best: load below it by more than the margin; else load not above it by
 *          the margin, and scale * load_avg below 100 times the best's.  The latter gives the best its
 *          load_avg, but leaves it the load.
 *     ii.  keeps if the best's load is above the own by more than the margin.
 *     iii. keeps if own load < best load + margin and 100 * own load_avg < scale * best load_avg.
 *   (Its comparison of spare capacity is for tasks that have run: not for a fork.)
 *
 *   fig_v1r1 (prototype of 10 October 2016 on v4.8, as remembered): v410 with pct instead of scale, and
 *     iii. keeps if own load < best load + margin and 100 * best load_avg > pct * own load_avg.
 *
 *   v612 (v6.12 and v7.3; the types came with v5.5), of allowed CPUs only: load_avg, utilisation, what is
 *   runnable, tasks, idle CPUs:
 *     a group is overloaded with more tasks than CPUs and (100 * capacity < pct * utilisation or
 *     pct * capacity < 100 * runnable); it has spare capacity with fewer, or with pct * capacity >= 100 *
 *     runnable and 100 * capacity > pct * utilisation; else it is fully busy.
 *     i.   best: the less full type; then less load, or with spare capacity more idle CPUs, then
 *          less utilisation.
 *     ii.  moves if the own group has no allowed CPU.
 *     iii. keeps if the own type is less full, moves if it is fuller.
 *     iv.  between nodes keeps if best load + margin >= own load, or with spare capacity if own tasks
 *          and this one are no more than imb_numa_nr and the idle CPUs differ by no more than 2.
 *     v.   keeps if best load >= own load + margin; if 100 * own load <= pct * best load; with spare
 *          capacity instead if no more CPUs are idle in the best.
 *   imb_numa_nr: fork_imb_numa_nr().  A task of this class has no preferred node, so the rules about
 *   that have no case.  The kernel also averages the number of runnable tasks: here that is load_avg
 *   at the mean weight of those that are runnable now.
 *   Utilisation has no estimates of sleeping tasks.  The types of asymmetric CPUs are left out.
 *
 * CPUs, in ascending order:
 *   v2627: the one with the least load; the current one of several.
 *   the others:
 *     i.   v410, v612: a group's only CPU without a look.
 *     ii.  v612: one that runs nothing but SCHED_IDLE tasks ends the search.
 *     iii. an idle one: that with the least known exit latency; at the same one, or if its own is not
 *          known, the one that idled last.
 *     iv.  before any idle one is met: the one with the least load (v612: load_avg); the current one
 *          of several, but with v612 the first one.
 *
 * Imbalance percentages: 110 between threads; v2627 125 elsewhere, v612 117; v48, fig_v1r1, v410 117
 * within a cache, 125 above.
 *
 * What the caller supplies: place_levels; and for each fork place_fork_in, all online CPUs copied at
 * that time, with the facts that fork_needs_cpus() names.
 */
#ifndef PLACE_FORK_PLACEMENT_H
#define PLACE_FORK_PLACEMENT_H

#include "levels.h"
#include "wake_affine.h"

enum place_fork_type {
	PLACE_FORK_HAS_SPARE,
	PLACE_FORK_FULLY_BUSY,
	PLACE_FORK_OVERLOADED,
};

#define FORK_NUMA_IMBALANCE 2	/* idle CPUs by which two nodes may differ */

/*
 * What the caller must fill in of place_fork_in (enum place_fork_facts), to call place_fork_levels();
 * 0: place_fork() decides without.
 */
place_inline u32 fork_needs_cpus(const struct place_policy *pol)
{
	u32 rule = pol->axis[PLACE_AXIS_fork];

	if (rule == PLACE_fork_stay)
		return 0;
	if (rule == PLACE_fork_v2627)
		return PLACE_FORK_WEIGHT;
	if (rule == PLACE_fork_v48)
		return PLACE_FORK_LOAD;
	if (rule == PLACE_fork_v612)
		return PLACE_FORK_LOAD_AVG | PLACE_FORK_WEIGHT | PLACE_FORK_UTIL;
	return PLACE_FORK_LOAD | PLACE_FORK_LOAD_AVG;
}

place_inline void fork_end(struct place_out *out, s32 cpu, u32 branch, u32 top, u32 depth)
{
	out->cpu = out->target = cpu;
	out->view = out->local = 0;
	out->affine = top;
	out->search = branch;
	out->outcome = depth;
	out->effects = 0;
	out->visited = 0;
	out->idle = 0;
}

/* fork=stay. */
place_inline void place_fork(const struct place_policy *pol, const struct place_in *in,
			     struct place_out *out)
{
	(void)pol;
	fork_end(out, in->prev, PLACE_CNT_fork_stay, PLACE_CNT_fork_top_none, PLACE_CNT_fork_depth_none);
}

place_inline u32 fork_imbalance_pct(u32 rule, u32 kind)
{
	if (kind == PLACE_LEVEL_SMT)
		return 110;
	if (rule == PLACE_fork_v2627)
		return 125;
	if (rule == PLACE_fork_v612)
		return 117;
	return kind == PLACE_LEVEL_CLUSTER || kind == PLACE_LEVEL_LLC ? 117 : 125;
}

/*
 * The functions below are global ones, which the verifier proves one by one.  Each has one loop at
 * most, which starts and ends at numbers that the verifier does not know and keeps little: it goes
 * through all values of a known number that becomes an index, and tells apart what registers hold.
 */

/* ---- a group ---- */

/* The load by which a rule tells CPUs apart, and groups except for v612. */
place_inline u32 fork_load(const struct place_fork_cpu *f, u32 rule)
{
	if (rule == PLACE_fork_v2627)
		return f->weight;
	return rule == PLACE_fork_v612 ? f->load_avg : f->load;
}

/* Average number of runnable tasks times 1024; see above. */
place_inline u64 fork_runnable(const struct place_fork_cpu *f)
{
	return f->weight ? (u64)f->load_avg * f->nr_running * 1024 / f->weight : f->load_avg;
}

/* Adds one CPU to in->walk.group. */
place_wide int fork_add(struct place_fork_in *in __arg_nonnull, u32 cpu)
{
	const struct place_fork_cpu *f = &in->cpu[level_index(cpu)];
	struct place_fork_group *g = &in->walk.group;
	u32 rule = in->walk.rule, allowed = fork_test(in->allowed, cpu);

	g->cpus++;
	g->allowed += allowed;
	g->capacity += f->capacity;
	if (rule == PLACE_fork_v612 && !allowed)
		return 0;
	g->load += fork_load(f, rule);
	g->load_avg += f->load_avg;
	if (rule != PLACE_fork_v612)
		return 0;
	g->util += f->util;
	g->runnable += fork_runnable(f);
	g->nr_running += f->nr_running;
	g->idle += !f->nr_running && fork_test(in->idle, cpu);
	return 0;	/* not read; BPF has no global functions without a result */
}

place_inline u32 fork_group_type(const struct place_fork_group *g, u32 pct)
{
	if (g->nr_running > g->cpus &&
	    (100 * g->capacity < pct * g->util || pct * g->capacity < 100 * g->runnable))
		return PLACE_FORK_OVERLOADED;
	if (g->nr_running < g->cpus ||
	    (pct * g->capacity >= 100 * g->runnable && 100 * g->capacity > pct * g->util))
		return PLACE_FORK_HAS_SPARE;
	return PLACE_FORK_FULLY_BUSY;
}

/* Sums up the CPUs at these positions in in->walk.group.  Returns how many of them are allowed. */
place_wide u32 fork_sum_group(const struct place_levels *lv __arg_nonnull,
			      struct place_fork_in *in __arg_nonnull, u32 first, u32 end)
{
	struct place_fork_group *g = &in->walk.group;
	u64 capacity;

	g->load = g->load_avg = g->util = g->runnable = g->capacity = 0;
	g->cpus = g->allowed = g->nr_running = g->idle = 0;
	for (u32 i = first; i < end && place_can_loop; i++)
		fork_add(in, lv->cpu_at[level_index(i)]);
	g->type = fork_group_type(g, in->walk.pct);
	capacity = g->capacity ? g->capacity : 1;
	g->load = g->load * 1024 / capacity;
	g->load_avg = g->load_avg * 1024 / capacity;
	return g->allowed;
}

/* ---- find_idlest_group ---- */

place_inline u64 fork_margin(u32 pct)
{
	return 1024 * (pct - 100) / 100;
}

place_inline int fork_better_v612(const struct place_fork_group *g, const struct place_fork_group *best)
{
	if (g->type != best->type)
		return g->type < best->type;
	if (g->type != PLACE_FORK_HAS_SPARE)
		return g->load < best->load;
	return g->idle != best->idle ? g->idle > best->idle : g->util < best->util;
}

/* fig_v1r1 and v410, where the load does not decide. */
place_inline int fork_better_load_avg(const struct place_fork_walk *w)
{
	u32 pct = w->rule == PLACE_fork_v410 ? affine_scale(w->pct) : w->pct;

	return w->group.load < w->best.load + fork_margin(w->pct) &&
	       100 * w->best.load_avg > pct * w->group.load_avg;
}

/* Step 1 for in->walk.group: it becomes in->walk.best if it is better.  Returns whether it is. */
place_wide int fork_better(struct place_fork_in *in __arg_nonnull, u32 have_best)
{
	struct place_fork_walk *w = &in->walk;
	struct place_fork_group *g = &w->group, *best = &w->best;

	if (have_best && w->rule == PLACE_fork_v612 && !fork_better_v612(g, best))
		return 0;
	if (have_best && (w->rule == PLACE_fork_v2627 || w->rule == PLACE_fork_v48) &&
	    g->load >= best->load)
		return 0;
	if (have_best && (w->rule == PLACE_fork_fig_v1r1 || w->rule == PLACE_fork_v410) &&
	    best->load <= g->load + fork_margin(w->pct)) {
		if (!fork_better_load_avg(w))
			return 0;
		best->load_avg = g->load_avg;
		return 1;
	}
	*best = *g;
	return 1;
}

/* v612, own and best of the same type; no load where there is spare capacity. */
place_inline u32 fork_decide_v612(const struct place_fork_walk *w)
{
	const struct place_fork_group *own = &w->own, *best = &w->best;
	u64 margin = fork_margin(w->pct);
	u32 apart = own->idle > best->idle ? own->idle - best->idle : best->idle - own->idle;

	if (own->type == PLACE_FORK_HAS_SPARE) {
		if (own->nr_running < w->imb_numa_nr && own->nr_running < own->allowed &&
		    apart <= FORK_NUMA_IMBALANCE)
			return PLACE_CNT_fork_top_numa;
		return own->idle >= best->idle ? PLACE_CNT_fork_top_idle : PLACE_CNT_fork_top_moved;
	}
	if (w->imb_numa_nr && best->load + margin >= own->load)
		return PLACE_CNT_fork_top_numa;
	if (best->load >= own->load + margin || 100 * own->load <= w->pct * best->load)
		return PLACE_CNT_fork_top_load;
	return PLACE_CNT_fork_top_moved;
}

/* fig_v1r1 and v410. */
place_inline u32 fork_decide_load_avg(const struct place_fork_walk *w)
{
	const struct place_fork_group *own = &w->own, *best = &w->best;
	u64 margin = fork_margin(w->pct);
	int stays = w->rule == PLACE_fork_v410
		    ? 100 * own->load_avg < affine_scale(w->pct) * best->load_avg
		    : 100 * best->load_avg > w->pct * own->load_avg;

	if (best->load > own->load + margin)
		return PLACE_CNT_fork_top_load;
	return own->load < best->load + margin && stays ? PLACE_CNT_fork_top_load_avg
							: PLACE_CNT_fork_top_moved;
}

/* Step 2: in->walk.own or in->walk.best?  Returns enum place_counter. */
place_wide u32 fork_decide(const struct place_fork_in *in __arg_nonnull)
{
	const struct place_fork_walk *w = &in->walk;
	const struct place_fork_group *own = &w->own, *best = &w->best;

	if (w->rule == PLACE_fork_fig_v1r1 || w->rule == PLACE_fork_v410)
		return fork_decide_load_avg(w);
	if (w->rule != PLACE_fork_v612)
		return 100 * own->load < affine_scale(w->pct) * best->load ? PLACE_CNT_fork_top_load
									   : PLACE_CNT_fork_top_moved;
	if (!own->allowed)
		return PLACE_CNT_fork_top_moved;
	if (own->type != best->type)
		return own->type < best->type ? PLACE_CNT_fork_top_type : PLACE_CNT_fork_top_moved;
	return fork_decide_v612(w);
}

/*
 * v612: as many tasks may stay together in a node, seen from a position at a level between nodes: one
 * for each of the node's caches, or an eighth of its CPUs if there is one; more of them at wider
 * levels.  0 at other levels.
 */
place_wide u32 fork_imb_numa_nr(const struct place_levels *lv __arg_nonnull, u32 level, u32 position)
{
	struct place_span d = level_domain(lv, level, position);
	u32 size = d.end - d.first, narrowest = size, node = 0, cache = 1, imb;

	if (lv->kind[level_number(level)] != PLACE_LEVEL_NUMA)
		return 0;
	for (u32 l = level; l > 0 && place_can_loop;) {
		u32 kind = lv->kind[level_number(--l)];

		d = level_domain(lv, l, position);
		if (kind == PLACE_LEVEL_NUMA) {
			narrowest = d.end - d.first;
		} else if (kind == PLACE_LEVEL_NODE) {
			node = d.end - d.first;
		} else {
			cache = d.end - d.first;
			break;
		}
	}
	if (!node)	/* there is no such level, because the node is the cache */
		node = cache;
	imb = node / (cache ? cache : 1);
	if (imb == 1)
		imb = node / 8;
	size /= narrowest ? narrowest : 1;
	return (imb ? imb : 1) * (size ? size : 1);
}

/*
 * Steps 1 and 2 at a level, for the current CPU's position there.  One round through the domain,
 * from behind the own group to that group.  Sets in->walk.top, of this level.  Returns the first
 * position of the group to move to, or -1.
 */
place_wide s32 find_idlest_group(const struct place_levels *lv __arg_nonnull,
				 struct place_fork_in *in __arg_nonnull, u32 level, u32 here)
{
	struct place_span domain = level_domain(lv, level, here), own = level_group(lv, level, here);
	u32 position = own.end;
	s32 best = -1;

	if (!fork_sum_group(lv, in, own.first, own.end))
		in->walk.group.load = in->walk.group.load_avg = 0;
	in->walk.own = in->walk.group;
	for (u32 i = domain.first; i < domain.end && place_can_loop; i++) {
		u32 first;

		if (position >= domain.end)
			position = domain.first;
		if (position == own.first)
			break;
		first = position;
		position = level_group(lv, level, first).end;
		if (fork_sum_group(lv, in, first, position) && fork_better(in, best >= 0))
			best = first;
	}
	in->walk.top = best < 0 ? PLACE_CNT_fork_top_alone : fork_decide(in);
	return in->walk.top == PLACE_CNT_fork_top_moved ? best : -1;
}

/* ---- find_idlest_cpu ---- */

/* Step 3 for one allowed CPU; `here`: the current one.  Returns whether the search ends. */
place_wide int fork_consider(struct place_fork_in *in __arg_nonnull, u32 cpu, s32 here)
{
	const struct place_fork_cpu *f = &in->cpu[level_index(cpu)];
	struct place_fork_walk *b = &in->walk;
	u32 latency = f->exit_latency_us, load = fork_load(f, b->rule);
	int modern = b->rule == PLACE_fork_v612;

	if (modern && f->sched_idle) {
		b->idlest = cpu;
		return 1;
	}
	if (b->rule == PLACE_fork_v2627 || !fork_test(in->idle, cpu)) {
		if (b->idlest < 0 &&
		    (load < b->load || (load == b->load && !modern && (s32)cpu == here))) {
			b->load = load;
			b->least_loaded = cpu;
		}
		return 0;
	}
	if (latency && latency < b->latency)
		b->latency = latency;
	else if ((latency && latency != b->latency) || f->idle_stamp_ns <= b->latest)
		return 0;
	b->latest = f->idle_stamp_ns;
	b->idlest = cpu;
	return 0;
}

/* Is a group's only CPU taken without a look? */
place_inline int fork_takes_single(u32 rule)
{
	return rule == PLACE_fork_v410 || rule == PLACE_fork_v612;
}

/* Step 3 in the group of a level that begins at that position; `here`: the current CPU. */
place_wide s32 find_idlest_cpu(const struct place_levels *lv __arg_nonnull,
			       struct place_fork_in *in __arg_nonnull, u32 level, u32 first, s32 here)
{
	struct place_span group = level_group(lv, level, first);
	u32 size = group.end - group.first, left = size, lowest = lv->cpu_at[level_index(first)];

	if (size == 1 && fork_takes_single(in->walk.rule))
		return lowest;
	in->walk.latest = 0;
	in->walk.latency = in->walk.load = ~0u;
	in->walk.idlest = -1;
	in->walk.least_loaded = here;
	for (u32 c = lowest; c < PLACE_MAX_CPUS && left && place_can_loop; c++) {
		u32 cpu = level_index(c), position = lv->position[cpu];

		if (position < group.first || position >= group.end)
			continue;
		left--;
		if (fork_test(in->allowed, cpu) && fork_consider(in, cpu, here))
			break;
	}
	in->walk.visited += size - left;
	return in->walk.idlest >= 0 ? in->walk.idlest : in->walk.least_loaded;
}

/* ---- the walk ---- */

/* How far the new task went, by the smallest level that holds both CPUs. */
place_wide u32 fork_distance(const struct place_levels *lv __arg_nonnull, u32 from, u32 to)
{
	u32 a = lv->position[level_index(from)], b = lv->position[level_index(to)];
	u32 level = lv->nr_levels, kind = PLACE_LEVEL_NUMA;

	if (from == to)
		return PLACE_CNT_fork_local;
	while (level > 0 && place_can_loop) {
		struct place_span d = level_domain(lv, --level, a);

		if (b < d.first || b >= d.end)
			break;
		kind = lv->kind[level_number(level)];
	}
	if (kind == PLACE_LEVEL_SMT)
		return PLACE_CNT_fork_core;
	if (kind == PLACE_LEVEL_CLUSTER || kind == PLACE_LEVEL_LLC)
		return PLACE_CNT_fork_llc;
	return kind == PLACE_LEVEL_NODE ? PLACE_CNT_fork_node : PLACE_CNT_fork_machine;
}

place_inline u32 fork_depth(u32 moves)
{
	/* The counters are in that order. */
	return PLACE_CNT_fork_depth_none + (moves < 4 ? moves : 4);
}

/* One level of the walk.  Returns whether groups were compared. */
place_wide int fork_descend(struct place_fork_in *in __arg_nonnull,
			    const struct place_levels *lv __arg_nonnull, u32 level)
{
	u32 position = lv->position[level_index(in->walk.here)];
	struct place_span span, own;
	s32 group, cpu;

	if (position >= PLACE_MAX_CPUS)	/* offline: nothing is known of it */
		return 0;
	span = level_domain(lv, level, position);
	own = level_group(lv, level, position);
	if (span.first == own.first && span.end == own.end)	/* no such level here */
		return 0;
	in->walk.visited += span.end - span.first;
	in->walk.pct = fork_imbalance_pct(in->walk.rule, lv->kind[level_number(level)]);
	if (in->walk.rule == PLACE_fork_v612)
		in->walk.imb_numa_nr = fork_imb_numa_nr(lv, level, position);
	group = find_idlest_group(lv, in, level, position);
	if (group < 0)
		return 1;
	cpu = find_idlest_cpu(lv, in, level, group, in->walk.here);
	if (cpu != in->walk.here)
		in->walk.moves++;
	in->walk.here = in->walk.cpu = cpu;
	return 1;
}

/* After the widest level of the executing CPU: v612 stays there, if the task may run anywhere in it. */
place_inline void fork_stay_at_waker(struct place_fork_in *in)
{
	int allowed = in->walk.own.allowed || in->walk.top != PLACE_CNT_fork_top_alone;

	if (in->walk.rule == PLACE_fork_v612 && in->walk.top != PLACE_CNT_fork_top_moved && allowed)
		in->walk.cpu = in->walk.here;
}

/*
 * All rules but stay; `rule` is the value of the axis.  out->search is the branch of the stage `fork`,
 * out->affine that of `fork_top`, out->outcome that of `fork_depth`.  visited: a look at each CPU of
 * each domain searched, and at those of the groups moved to.
 */
place_wide int place_fork_levels(struct place_fork_in *in __arg_nonnull,
				 const struct place_levels *lv __arg_nonnull, u32 rule,
				 struct place_out *out __arg_nonnull)
{
	u32 level = lv->nr_levels, top = PLACE_CNT_fork_top_none, cpu;

	in->walk.rule = rule;
	in->walk.here = in->waker;
	in->walk.cpu = in->prev;
	in->walk.moves = in->walk.visited = in->walk.imb_numa_nr = 0;
	while (level > 0 && place_can_loop) {
		if (fork_descend(in, lv, --level) && top == PLACE_CNT_fork_top_none) {
			top = in->walk.top;
			fork_stay_at_waker(in);
		}
	}
	cpu = in->walk.cpu;
	fork_end(out, cpu, fork_distance(lv, in->prev, cpu), top, fork_depth(in->walk.moves));
	out->visited = in->walk.visited;
	out->idle = fork_test(in->idle, cpu) && fork_test(in->allowed, cpu);
	return 0;	/* not read */
}

#endif /* PLACE_FORK_PLACEMENT_H */
