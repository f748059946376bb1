/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * intf.h - what the BPF program and user space share: plain structures, sizes and enums.
 *
 * All tables are arrays in data sections of their own, sized at load for the machine and mapped
 * by user space.  Who writes what:
 *
 *   policies   user space, while no callback can read the slot
 *   cpus       the BPF program, under the run-queue lock of the CPU the record belongs to,
 *              but for the line `inbox`, which other CPUs add to atomically
 *   counters   the BPF program, each CPU its own lines
 *   llcs       topology by user space before attaching; hints by the BPF program
 *   tasks      the BPF program
 *   control    user space
 */
#ifndef PLACE_INTF_H
#define PLACE_INTF_H

#include "policy/pelt.h"
#include "policy/place.h"
#include "policy/policy.h"
#include "record.h"
#ifndef __VMLINUX_H__
#include "policy/host.h"
#endif

enum place_limits {
	PLACE_NR_SLOTS = 32,		/* policy slots; a power of two */
	PLACE_COUNTERS_STRIDE = 128,	/* counters per slot; a power of two above PLACE_NR_COUNTERS */
};

/* The words of the section .data.control. */
enum place_control {
	PLACE_CONTROL_SLOT,		/* number of the policy slot in force */
	/*
	 * 0: nothing is sampled.  Low half: one in so many placements of a CPU is recorded, 0: none.
	 * High half: the same for the evaluation of the shadow policy.
	 */
	PLACE_CONTROL_SAMPLING,
	PLACE_NR_CONTROLS
};

/* The counters of one CPU under one policy slot, indexed by enum place_counter. */
struct place_counters {
	u64 n[PLACE_COUNTERS_STRIDE];
} __attribute__((aligned(64)));

/*
 * One CPU.  Loads and counts cover the tasks of this scheduler that are runnable here, the running
 * one included.
 */
struct place_cpu {
	u64 min_v;		/* cfs_61: base of the queue's virtual time, monotonic */
	u64 added_nr;		/* tasks that became runnable here, less those that stopped here */
	u64 added_weight;	/* their weights */
	u64 idle_since_ns;	/* 0: not idle */
	u64 curr;		/* key of the running task; 0: none of this scheduler's */
	/*
	 * Tasks that may wait in this CPU's queue: all that were inserted, less those its own dispatch
	 * took.  Never too low; 0 once dispatch finds the queue empty, which pulls and dequeues by
	 * others made it.
	 */
	u32 queued;
	u32 added_idle;		/* how many of the tasks are SCHED_IDLE */
	u32 sched_idle_set;	/* this CPU's bit in place_llc.sched_idle */
	u64 avg_idle_ns;
	struct pelt util;
	/* Added to by other CPUs, atomically: tasks pulled from here or moved away.  Never reset. */
	u64 inbox_nr __attribute__((aligned(64)));
	u64 inbox_weight;
	u64 inbox_idle;
} __attribute__((aligned(64)));

enum place_task_flags {
	PLACE_TASK_RUNNABLE = 1,	/* counted in its home CPU's sums */
	PLACE_TASK_WOKEN = 2,		/* must be placed before it runs: woke up */
	PLACE_TASK_NEW = 4,		/* must be placed before it runs: has never run */
	PLACE_TASK_SYNC = 8,		/* this wakeup came with the sync flag */
	PLACE_TASK_IDLE_POLICY = 16,	/* SCHED_IDLE */
	PLACE_TASK_BATCH = 32,		/* SCHED_BATCH */
	PLACE_TASK_QUEUED = 64,		/* inserted into its home CPU's queue, not picked yet */
};

/* One task; where it is kept: task.bpf.h. */
struct place_task {
	u64 key;		/* whose record this is; 0: free */
	u32 flags;		/* enum place_task_flags */
	s32 home;		/* CPU whose sums and virtual time it belongs to; -1: none yet */
	s32 claimed;		/* CPU claimed for this wakeup and not yet reached; -1: none */
	s32 recent;		/* recent_used_cpu; -1: none */
	u32 weight;
	u32 inverse;		/* 2^32 / weight */
	u64 vruntime;		/* relative to the home CPU's min_v by convention of fair_queue.h */
	u64 charged_ns;		/* consumed CPU time already charged to vruntime */
	u64 since_ns;		/* run-queue clock of that charge, while it runs */
	u64 picked_ns;		/* consumed CPU time when it was last picked */
	u64 stopped_ns;		/* when it last stopped running */
} __attribute__((aligned(64)));

/* Per-CPU working memory of select_cpu, which runs with interrupts off and cannot nest. */
struct place_scratch {
	struct place_in in;
	struct place_out out;
	struct place_search search;	/* only where a cache has more than 64 CPUs */
	struct place_out shadow;	/* what the shadow policy decides */
	u32 lost;			/* claims lost before the decision in `out` */
	u32 record_left, shadow_left;	/* placements until the next one that is sampled */
} __attribute__((aligned(64)));

#endif /* PLACE_INTF_H */
