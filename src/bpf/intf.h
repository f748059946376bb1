/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * intf.h - what the BPF program and user space share: plain structures, sizes and enums.
 *
 * All tables are arrays in data sections of their own, sized at load for the machine and mapped
 * by user space.  Who writes what:
 *
 *   policies   user space, while no callback can read the slot
 *   cpus       the BPF program, under the run-queue lock of the CPU the record belongs to,
 *              but for the line `inbox`, which other CPUs add to atomically, and what stands behind
 *              it, which this CPU alone writes in any callback
 *   counters   the BPF program, each CPU its own lines
 *   latencies  the BPF program, each CPU its own lines
 *   clocks     the BPF program, when user space asks
 *   llcs       topology by user space before attaching; hints by the BPF program
 *   levels     topology by user space before attaching
 *   tasks      the BPF program
 *   control    user space
 */
#ifndef PLACE_INTF_H
#define PLACE_INTF_H

#include "policy/latency.h"
#include "policy/levels.h"
#include "policy/newload.h"
#include "policy/place.h"
#include "policy/policy.h"
#include "policy/wake_affine_history.h"
#include "record.h"
#ifndef __VMLINUX_H__
#include "policy/host.h"
#endif

enum place_limits {
	PLACE_NR_SLOTS = 32,		/* policy slots; a power of two */
	PLACE_UNREAD_SLOT = 31,		/* never in force: its counters and histograms are read by nobody */
	PLACE_SHADOW_SLOT = PLACE_UNREAD_SLOT,	/* and its policy is the shadow policy */
	PLACE_COUNTERS_STRIDE = 128,	/* counters per slot; a power of two above PLACE_NR_COUNTERS */
};

/*
 * The word that every callback reads, once, so that what it holds is of one moment.  Where to count
 * is a field of its own, which leads to lines that nobody reads with the level `off`: asking at each
 * count whether to count would cost more than counting.
 */
enum place_word {
	PLACE_WORD_LINE_MASK = PLACE_NR_SLOTS - 1,	/* whose lines counts go to: the slot's or PLACE_UNREAD_SLOT's */
	PLACE_WORD_SLOT_SHIFT = 8,	/* the policy slot in force; by the size of a policy no shift is left */
	PLACE_WORD_FULL = 1 << 16,	/* level full: wakeups are timed */
	PLACE_WORD_HISTORY = 1 << 17,	/* history.bpf.h is at work: rules that read it are in force or sampled */
};

/* count_in() masks its index by the stride: one counter too many would be added to another. */
_Static_assert((int)PLACE_NR_COUNTERS < (int)PLACE_COUNTERS_STRIDE, "raise PLACE_COUNTERS_STRIDE");

/* The words of the section .data.control. */
enum place_control {
	PLACE_CONTROL_SLOT,		/* the policy in force and the level: enum place_word */
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
 * The histograms of one CPU under one policy slot, rows as in policy/latency.h: 6 KiB, so 192 KiB per
 * CPU for all slots.
 */
struct place_latency {
	u64 n[PLACE_LATENCY_ROWS][PLACE_LATENCY_BUCKETS];
} __attribute__((aligned(64)));

/*
 * The runnable tasks of a CPU, the running one included, in one number of three fields that add up
 * without carries: their weights below, how many, how many of them SCHED_IDLE.
 */
enum place_sum {
	PLACE_SUM_NR_SHIFT = 32,	/* 16 bits */
	PLACE_SUM_IDLE_SHIFT = 48,	/* 16 bits */
};

/* One CPU.  Loads and sums cover the tasks of this scheduler. */
struct place_cpu {
	u64 min_v;		/* cfs_61: base of the queue's virtual time, monotonic */
	u64 added;		/* place_sum of the tasks that became runnable here, less those that stopped here */
	u64 idle_since_ns;	/* 0: not idle */
	/*
	 * Tasks that may wait in this CPU's queue: all that were inserted, less those its own dispatch
	 * took.  Never too low; 0 once dispatch finds the queue empty, which pulls and dequeues by
	 * others made it.
	 */
	u32 queued;
	u32 sched_idle_set;	/* this CPU's bit in place_llc.sched_idle */
	u64 avg_idle_ns;
	u64 longest_wait_ns;	/* of a task in this CPU's queue, since the program was loaded */
	u64 next_starve_look_ns;	/* when a tick asks dispatch to look for starving tasks again */
	u64 starve_look;	/* dispatch is to look; until then nothing goes past the queue */
	struct pelt_queue load;
	/* Added to by other CPUs, atomically: tasks pulled from here or moved away.  Never reset. */
	u64 inbox __attribute__((aligned(64)));	/* place_sum */
	struct pelt_inbox inbox_load;
	/* With PLACE_WORD_HISTORY, by this CPU only; here because there is room. */
	struct place_cpu_load tick_load;
	u32 tpt_weight, tpt_nr;	/* place_in.tpt_weight and tpt_nr */
} __attribute__((aligned(64)));

enum place_task_flags {
	PLACE_TASK_RUNNABLE = 1,	/* counted in its home CPU's sums */
	PLACE_TASK_WOKEN = 2,		/* must be placed before it runs: woke up */
	PLACE_TASK_NEW = 4,		/* must be placed before it runs: has never run */
	PLACE_TASK_SYNC = 8,		/* this wakeup came with the sync flag */
	PLACE_TASK_IDLE_POLICY = 16,	/* SCHED_IDLE */
	PLACE_TASK_BATCH = 32,		/* SCHED_BATCH */
	PLACE_TASK_QUEUED = 64,		/* inserted into its home CPU's queue, not picked yet */
	PLACE_TASK_TIMED = 128,		/* level full: woken or new, has not run since */
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
	u64 picked_ns;		/* consumed CPU time when its turn began */
	u64 queued_ns;		/* run-queue clock when it was inserted into its home CPU's queue */
	u64 share;		/* its part of place_cpu.added */
	struct pelt_task load;
	struct place_flips flips;
	/* Level full. */
	u64 timed_ns;		/* run-queue clock, with interrupts, when it woke up or was made */
	u16 branch;		/* enum place_counter: where its placement ended; 0: not placed */
	u16 wake_type;		/* enum place_latency_row */
	/*
	 * With PLACE_WORD_HISTORY: overlap.woke_ns is set.  Only what asks for this word touches the third
	 * line, which the rules of before v2.6.29 need and no other.
	 */
	u32 woke;
	struct place_overlap overlap;
} __attribute__((aligned(64)));

_Static_assert(__builtin_offsetof(struct place_task, overlap) == 128 && sizeof(struct place_task) == 192,
	       "two cache lines, and one for old rules");

/* Per-CPU working memory of select_cpu, which runs with interrupts off and cannot nest. */
struct place_scratch {
	struct place_in in;
	struct place_out out;
	struct place_search search;	/* only where a cache has more than 64 CPUs */
	struct place_out shadow;	/* what the shadow policy decides */
	struct place_out kept;		/* `out` while it does: on the stack of wide masks is no room */
	u32 lost;			/* claims lost before the decision in `out` */
	u32 record_left, shadow_left;	/* placements until the next one that is sampled */
	u32 lost_left, stale_left;	/* until the next injected fault */
	struct place_mask earlier;	/* idle CPUs of the snapshot before, for injected faults */
} __attribute__((aligned(64)));

#endif /* PLACE_INTF_H */
