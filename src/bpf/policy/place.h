/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * place.h - what a placement decision reads and what it yields.
 *
 * A rule is a function of place_in, place_llc and place_policy to place_out.  place_in is a copy:
 * nothing can change between the decision and its record.  The glue fills it, applies the effects
 * that place_out asks for, and claims the CPU; see placement.bpf.h.
 */
#ifndef PLACE_PLACE_H
#define PLACE_PLACE_H

#include "cpu_load.h"
#include "mask.h"
#include "policy.h"

#define PLACE_MAX_CPUS 1024
#define PLACE_MAX_THREADS 8	/* hardware threads per core */
#define PLACE_MAX_SEGS 32
#define PLACE_MAX_CLUSTERS 32	/* L2 clusters per last-level cache */
#define PLACE_NO_CLUSTER 0xffff

/* A run of machine CPUs within one machine word that is a run of local indices too. */
struct place_seg {
	u64 mask;		/* width of the run: the lowest n bits */
	u16 word, shift;	/* where it starts in a machine-wide mask */
	u16 local_word, local_shift;
};

/*
 * One last-level cache.  Local indices ascend with CPU numbers.  Threads are regular: thread k of
 * the core whose first thread has local index l has index l + k * stride; plane[k] is the set of
 * all k-th threads, so plane[0] names the cores.
 */
struct place_llc {
	u32 nr_cpus;
	u32 nr_segs;
	u16 threads;		/* per core, at most */
	u16 stride;
	u16 node;
	u16 nr_clusters;	/* 0: no cluster level between core and cache */
	u64 near_nodes;		/* nodes within the reclaim distance, by node index (at most 64) */
	struct place_seg seg[PLACE_MAX_SEGS];
	struct place_mask span;
	struct place_mask plane[PLACE_MAX_THREADS];
	struct place_mask cluster[PLACE_MAX_CLUSTERS];
	u16 cpu_of[PLACE_MAX_WORDS * 64];	/* local index -> CPU */
	u16 nearest[PLACE_MAX_CPUS];		/* all caches by distance, this one first */
	/* Hints, written by the BPF program. */
	u32 has_idle_cores __attribute__((aligned(64)));
	u32 nr_idle_scan;	/* the SIS_UTIL budget */
	u32 avg_scan_cost_ns;	/* peter_rfc to sis_prop: what a scan costs */
	u64 next_scan_update_ns;
	struct place_mask sched_idle;	/* CPUs that run nothing but SCHED_IDLE tasks */
};

/* Where a CPU stands in the topology. */
struct place_where {
	u16 llc;
	u16 local;		/* index in that cache */
	u16 node;
	u16 core;		/* local index of its core's first thread */
	u16 cluster;		/* index in place_llc.cluster, or PLACE_NO_CLUSTER */
	u16 valid;		/* 0: offline or absent */
};

/* One cache as the snapshot saw it. */
struct place_view {
	struct place_mask idle;		/* idle CPUs */
	struct place_mask idle_core;	/* CPUs all of whose core is idle */
	struct place_mask sched_idle;
	struct place_mask allowed;	/* the wakee's affinity */
	u32 has_idle_cores;
	u32 nr_idle_scan;
};

/*
 * What is kept of a waker: how often it turns to another wakee, halved once a second.  It lives in
 * the waker's record; see record_wakee().
 */
struct place_flips {
	u64 last_wakee;			/* key of the task it woke last; 0: none yet */
	u32 flips;
	u32 decayed_at;			/* in jiffies, their lowest 32 bits */
};

enum place_in_flags {
	PLACE_IN_SYNC = 1,		/* the waker says it is about to sleep (and is not exiting) */
	PLACE_IN_WAKER_KTHREAD = 2,	/* the waker is a per-CPU kernel thread in task context */
	PLACE_IN_WAKER_ALLOWED = 4,	/* the waker's CPU is in the wakee's affinity mask */
	PLACE_IN_AFFINE_DOMAIN = 8,	/* a domain of affine wakeups holds both CPUs */
	PLACE_IN_SYNC_EXITING = 16,	/* the waker says it is about to sleep, but it is exiting */
	PLACE_IN_WAKEE_SCHED_IDLE = 32,	/* with since_ran_ns */
};

/* All a wakeup's placement reads.  CPUs are machine-wide numbers; -1: none. */
struct place_in {
	s32 waker, prev, recent;
	struct place_where waker_at, prev_at, recent_at;
	u32 flags;			/* enum place_in_flags */
	u32 waker_nr_running;		/* runnable tasks on the waker's CPU, the waker included */
	/*
	 * For affine=wa_414 where waker and prev differ; not read otherwise.  Flips with wake_wide,
	 * after record_wakee().  Loads with wa_weight: load_avg, the sleeping part included, read by
	 * pelt_read_load and pelt_read_task_load.  Capacities: 1024 for the largest CPU.
	 */
	u32 waker_flips, wakee_flips;
	u32 waker_load, prev_load;	/* of the two CPUs */
	u32 curr_load, task_load;	/* of the waker and of the wakee */
	u32 waker_capacity, prev_capacity;
	/*
	 * For affine=v2626 to v46 where waker and prev differ; not read otherwise.  What is not kept
	 * without need (history.bpf.h) is 0 at first.  Weights are load weights, 1024 for nice 0;
	 * curr_weight is 0 if the waker is not a runnable task of this scheduler.
	 */
	u32 waker_weight, prev_weight;	/* of the runnable tasks of the two CPUs */
	u32 curr_weight, wakee_weight;	/* of the waker and of the wakee */
	u32 waker_tick_load[PLACE_CPU_LOADS], prev_tick_load[PLACE_CPU_LOADS];	/* cpu_load_at() */
	u32 curr_overlap_ns, wakee_overlap_ns;	/* averages of place_overlap, at most 2^32 - 1 */
	u32 tpt_weight, tpt_nr;		/* waker_weight and waker_nr_running when the latter was not 0 last */
	u32 waker_runnable_load, prev_runnable_load;	/* v46: tracked load of the runnable tasks */
	u32 wakee_load_avg;		/* v46: as of when it slept */
	u32 pad;			/* named, since records hold the bytes */
	/*
	 * For idle_search=sis_49 and its like, mason_pkg to sis_prop in the order of table.h; not read
	 * otherwise.
	 */
	u64 avg_idle_ns;		/* average idle time of the waker's CPU */
	s64 since_ran_ns;		/* what prev's clock shows, less when the wakee's run was charged last */
	u32 scan_cost_ns;		/* avg_scan_cost_ns of the waker's cache */
	u32 prev_nr_running;		/* runnable tasks on prev */
	struct place_view view[2];	/* [0] cache of prev; [1] cache of waker, if another */
};

enum place_effects {
	PLACE_EFFECT_CLEAR_IDLE_CORES = 1,	/* has_idle_cores of the target's cache was wrong */
	PLACE_EFFECT_SET_RECENT = 2,		/* recent_used_cpu becomes prev */
	PLACE_EFFECT_SCAN_COST = 4,		/* avg_scan_cost_ns of the waker's cache becomes scan_cost_ns */
	PLACE_EFFECT_WAKER_RECENT = 8,		/* the waker's recent_used_cpu becomes waker */
};

struct place_out {
	s32 cpu;
	s32 target;		/* T, from the affine decision */
	u16 view;		/* which view the search used */
	u16 local;		/* index of cpu in that cache */
	u16 affine, search, outcome;	/* enum place_counter */
	u16 effects;		/* enum place_effects */
	u32 visited;		/* CPUs a linear scan would have looked at */
	u32 idle;		/* the snapshot showed cpu idle and allowed: claim it */
	u32 scan_cost_ns;	/* with PLACE_EFFECT_SCAN_COST */
};

/*
 * What one search works on, and what it found.  CPUs are local indices.  With one word per mask all
 * of it lives in registers; wider ones live in memory of the caller, since a BPF stack is 512 bytes.
 */
struct place_search {
	struct place_mask free, cpus, rest;	/* free CPUs; candidates now and after */
	struct place_mask t[6];			/* scratch: [0..2] rules, [3..5] the helpers below them */
	u32 target;
	u32 from;				/* where a scan starts */
	u32 budget;
	u32 visited;
	u32 throttled;				/* a limit ended the scan, or a check forbade it */
	s32 found;
	u32 branch;
	u32 waker_llc_cpus;			/* CPUs in the waker's cache, for older rules */
};

#endif /* PLACE_PLACE_H */
