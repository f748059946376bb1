/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * levels.h - the machine as nested groups of CPUs, and what a fork's placement reads of each CPU.
 *
 * A level is what the kernel calls a domain level: hardware threads of a core, L2 cluster, last-level
 * cache, node, and nodes by distance.  At each level a CPU has one domain, the CPUs that it shares
 * that thing with; the domain's groups are the domains of its members one level below, single CPUs
 * below the lowest.  Levels that the machine does not have are left out, and so are those beyond
 * the reclaim distance, from which the kernel takes the balancing of forks.  Where only some CPUs
 * lack a level, their domain equals the one below, which is then its only group.
 *
 * CPUs are lined up so that every domain of every level is a run of positions, the groups of a
 * domain in ascending order of their lowest CPU, which comes first.
 */
#ifndef PLACE_LEVELS_H
#define PLACE_LEVELS_H

#include "place.h"

#define PLACE_MAX_LEVELS 8
#define PLACE_NO_POSITION 0xffff

enum place_level_kind {
	PLACE_LEVEL_SMT,
	PLACE_LEVEL_CLUSTER,
	PLACE_LEVEL_LLC,
	PLACE_LEVEL_NODE,	/* the kernel's package level, which spans a node */
	PLACE_LEVEL_NUMA,
};

/* A run of positions. */
struct place_span {
	u16 first, end;
};

/* Written by user space before attaching. */
struct place_levels {
	u32 nr_levels;
	u32 nr_cpus;			/* online: positions in use */
	u32 kind[PLACE_MAX_LEVELS];	/* enum place_level_kind, from the smallest level up */
	u16 cpu_at[PLACE_MAX_CPUS];	/* by position */
	u16 position[PLACE_MAX_CPUS];	/* by CPU; PLACE_NO_POSITION: offline */
	struct place_span domain[PLACE_MAX_LEVELS][PLACE_MAX_CPUS];	/* by position */
};

/* One CPU as a fork sees it.  Loads and sums cover the tasks of this scheduler. */
struct place_fork_cpu {
	u64 idle_stamp_ns;	/* since when it is idle; not read of a busy one */
	u32 load;		/* pelt_read_runnable_load: what is runnable there now */
	u32 load_avg;		/* pelt_read_load: the same and what sleeps */
	u32 weight;		/* of the runnable tasks */
	u16 nr_running;		/* how many they are */
	u16 util;		/* pelt_read_util, at most 1024 */
	u16 exit_latency_us;	/* of its idle state, at most 65535; 0: not known */
	u16 capacity;		/* 1024 for the largest */
	u16 sched_idle;		/* it runs nothing but SCHED_IDLE tasks */
	u16 pad;		/* named, since records hold the bytes */
};

/* What of place_fork_cpu a rule reads; all else is always there. */
enum place_fork_facts {
	PLACE_FORK_LOAD = 1,
	PLACE_FORK_LOAD_AVG = 2,
	PLACE_FORK_WEIGHT = 4,		/* and nr_running */
	PLACE_FORK_UTIL = 8,
	PLACE_FORK_ALL = 15,
};

/* Sums over a group's CPUs.  Which CPUs and what is done to a sum: fork_placement.h. */
struct place_fork_group {
	u64 load, load_avg, util, runnable, capacity;
	u32 cpus, allowed;	/* how many it has; how many of them are allowed */
	u32 nr_running, idle;
	u32 type;		/* v612: enum place_fork_type */
	u32 pad;
};

/*
 * What a walk keeps: where it is, what it did, and the best CPUs and groups met at the level it
 * looks at.  In memory, because the verifier tells apart what a loop keeps elsewhere.
 */
struct place_fork_walk {
	u32 rule;		/* enum place_value */
	s32 here, cpu;		/* current CPU; the result so far */
	u32 moves, visited;
	u32 top;		/* enum place_counter: what the widest level decided */
	u32 pct, imb_numa_nr;	/* of the level; the latter of levels between nodes, else 0 */
	u64 latest;		/* idle stamp of the idlest */
	u32 latency, load;	/* least exit latency, least load */
	s32 idlest, least_loaded;
	struct place_fork_group own, best, group;
};

/* All a fork's placement reads: a copy, of all online CPUs.  `walk` is for the rules alone. */
struct place_fork_in {
	struct place_fork_walk walk;
	s32 waker, prev;	/* CPU that executes the fork; CPU the new task has from its parent */
	u64 allowed[PLACE_MAX_WORDS];	/* the new task's affinity, by CPU number */
	u64 idle[PLACE_MAX_WORDS];	/* idle CPUs */
	struct place_fork_cpu cpu[PLACE_MAX_CPUS];
};

/*
 * A CPU number or position, in range for the verifier: in a loop it forgets what a bound that was
 * tested before place_can_loop says, so the compiler must not save the mask on account of one.
 */
place_inline u32 level_index(u32 i)
{
	asm volatile("" : "+r"(i));
	i &= PLACE_MAX_CPUS - 1;
	asm volatile("" : "+r"(i));
	return i;
}

place_inline u32 level_number(u32 level)
{
	asm volatile("" : "+r"(level));
	level &= PLACE_MAX_LEVELS - 1;
	asm volatile("" : "+r"(level));
	return level;
}

place_inline struct place_span level_domain(const struct place_levels *lv, u32 level, u32 position)
{
	return lv->domain[level_number(level)][level_index(position)];
}

/* The group of a level's domain that the CPU at that position is in. */
place_inline struct place_span level_group(const struct place_levels *lv, u32 level, u32 position)
{
	struct place_span one = { .first = position, .end = position + 1 };

	return level ? level_domain(lv, level - 1, position) : one;
}

place_inline int fork_test(const u64 *words, u32 cpu)
{
	return (words[mask_word_index(cpu >> 6)] >> (cpu & 63)) & 1;
}

#endif /* PLACE_LEVELS_H */
