/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fork_placement.h - where a new task starts.
 *
 * stay: on its parent's CPU, which is its previous CPU.
 *
 * v48 (v4.6 to v4.9, the walk of policies.md C.5): down the levels that hold the current CPU, at
 * first the one that executes the fork, from the widest on:
 *   1. find_idlest_group: groups without an allowed CPU are passed.  A group's load is what is
 *      runnable on all its CPUs, allowed or not, per capacity.  The best is the least loaded group
 *      but the current CPU's own, the first one behind that if several are.
 *   2. no best, or the own group's load times 100 is below the best's times 100 and half the
 *      imbalance percentage above 100: nothing moves at this level.  (Nothing loaded anywhere:
 *      it moves.  An own group that was passed counts as not loaded.)
 *   3. find_idlest_cpu: of the group's allowed CPUs in ascending order, an idle one: that with the
 *      least known exit latency; at the same one, or if its own is not known, the one that idled
 *      last.  Before any idle one is met: the one with the least load.
 *   4. that CPU becomes the current one.
 * The last current CPU is the result; the previous CPU if nothing moved.
 * Imbalance percentages are those of v4.8: 110 between threads, 117 within a cache, 125 above.
 *
 * What the caller supplies to v48: place_levels; and for each fork place_fork_in, all online CPUs
 * copied at that time.  Rules that need it: fork_needs_cpus().
 */
#ifndef PLACE_FORK_PLACEMENT_H
#define PLACE_FORK_PLACEMENT_H

#include "levels.h"
#include "wake_affine.h"

/* Must the caller fill place_fork_in and call place_fork_v48()?  Else place_fork() does. */
place_inline int fork_needs_cpus(const struct place_policy *pol)
{
	return pol->axis[PLACE_AXIS_fork] == PLACE_fork_v48;
}

place_inline void fork_end(struct place_out *out, s32 cpu, u32 branch, u32 depth)
{
	out->cpu = out->target = cpu;
	out->view = out->local = 0;
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
	fork_end(out, in->prev, PLACE_CNT_fork_stay, PLACE_CNT_fork_depth_none);
}

place_inline u32 imbalance_pct_v48(u32 kind)
{
	if (kind == PLACE_LEVEL_SMT)
		return 110;
	return kind == PLACE_LEVEL_CLUSTER || kind == PLACE_LEVEL_LLC ? 117 : 125;
}

/*
 * The functions below are global ones, which the verifier proves one by one.  Each has one loop at
 * most, which starts and ends at numbers that the verifier does not know and keeps little: it goes
 * through all values of a known number that becomes an index, and tells apart what registers hold.
 */

/* What is runnable on a group's CPUs per capacity; all ones: none of them is allowed. */
place_wide u64 fork_group_load(const struct place_levels *lv __arg_nonnull,
			       const struct place_fork_in *in __arg_nonnull, u32 first, u32 end)
{
	u64 load = 0, capacity = 0;
	u32 allowed = 0;

	for (u32 i = first; i < end && place_can_loop; i++) {
		u32 cpu = level_index(lv->cpu_at[level_index(i)]);

		load += in->cpu[cpu].load;
		capacity += in->cpu[cpu].capacity;
		allowed |= fork_test(in->allowed, cpu);
	}
	return allowed ? load * 1024 / (capacity ? capacity : 1) : ~0ULL;
}

/*
 * Steps 1 and 2 at a level, for the current CPU's position there.  One round through the domain,
 * from behind the own group to that group.  Returns the first position of the group to move to, or
 * -1.
 */
place_wide s32 find_idlest_group_v48(const struct place_levels *lv __arg_nonnull,
				     const struct place_fork_in *in __arg_nonnull, u32 level, u32 here)
{
	struct place_span domain = level_domain(lv, level, here), own = level_group(lv, level, here);
	u64 own_load = fork_group_load(lv, in, own.first, own.end), least = ~0ULL;
	u32 position = own.end;
	s32 best = -1;

	if (own_load == ~0ULL)
		own_load = 0;
	for (u32 i = domain.first; i < domain.end && place_can_loop; i++) {
		struct place_span group;
		u64 load;

		if (position >= domain.end)
			position = domain.first;
		if (position == own.first)
			break;
		group = level_group(lv, level, position);
		load = fork_group_load(lv, in, position, group.end);
		if (load < least) {
			least = load;
			best = position;
		}
		position = group.end;
	}
	if (best < 0 ||
	    100 * own_load < affine_scale(imbalance_pct_v48(lv->kind[level_number(level)])) * least)
		return -1;
	return best;
}

/* Step 3 for one allowed CPU; `here`: the current one. */
place_wide int fork_consider_v48(struct place_fork_in *in __arg_nonnull, u32 cpu, s32 here)
{
	const struct place_fork_cpu *f = &in->cpu[level_index(cpu)];
	struct place_fork_walk *b = &in->walk;
	u32 latency = f->exit_latency_us;

	if (!fork_test(in->idle, cpu)) {
		if (b->idlest < 0 && (f->load < b->load || (f->load == b->load && (s32)cpu == here))) {
			b->load = f->load;
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

/* Step 3 in the group of a level that begins at that position; `here`: the current CPU. */
place_wide s32 find_idlest_cpu_v48(const struct place_levels *lv __arg_nonnull,
				   struct place_fork_in *in __arg_nonnull, u32 level, u32 first, s32 here)
{
	struct place_span group = level_group(lv, level, first);
	u32 left = group.end - group.first;

	in->walk.latest = 0;
	in->walk.latency = in->walk.load = ~0u;
	in->walk.idlest = -1;
	in->walk.least_loaded = here;
	for (u32 c = lv->cpu_at[level_index(first)]; c < PLACE_MAX_CPUS && left && place_can_loop; c++) {
		u32 cpu = level_index(c), position = lv->position[cpu];

		if (position < group.first || position >= group.end)
			continue;
		left--;
		if (fork_test(in->allowed, cpu))
			fork_consider_v48(in, cpu, here);
	}
	return in->walk.idlest >= 0 ? in->walk.idlest : in->walk.least_loaded;
}

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

/* One level of the walk. */
place_wide int fork_descend_v48(struct place_fork_in *in __arg_nonnull,
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
	group = find_idlest_group_v48(lv, in, level, position);
	if (group < 0)
		return 0;
	span = level_group(lv, level, group);
	in->walk.visited += span.end - span.first;
	cpu = find_idlest_cpu_v48(lv, in, level, group, in->walk.here);
	if (cpu != in->walk.here)
		in->walk.moves++;
	in->walk.here = in->walk.cpu = cpu;
	return 0;
}

/*
 * fork=v48.  out->search is the branch of the stage `fork`, out->outcome that of `fork_depth`.
 * visited: a look at each CPU of each domain searched, and at each of the groups moved to.
 */
place_wide int place_fork_v48(struct place_fork_in *in __arg_nonnull,
			      const struct place_levels *lv __arg_nonnull,
			      struct place_out *out __arg_nonnull)
{
	u32 level = lv->nr_levels, cpu;

	in->walk.here = in->waker;
	in->walk.cpu = in->prev;
	in->walk.moves = in->walk.visited = 0;
	while (level > 0 && place_can_loop)
		fork_descend_v48(in, lv, --level);
	cpu = in->walk.cpu;
	fork_end(out, cpu, fork_distance(lv, in->prev, cpu), fork_depth(in->walk.moves));
	out->visited = in->walk.visited;
	out->idle = fork_test(in->idle, cpu) && fork_test(in->allowed, cpu);
	return 0;
}

#endif /* PLACE_FORK_PLACEMENT_H */
