/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * glue.bpf.h - the tables, what user space fixes at load, and how to reach their elements.
 *
 * Arrays of one element are resized at load to what the machine has (RESIZABLE_ARRAY); the numbers
 * below are constants to the verifier, which removes what the machine does not need.
 */
#ifndef PLACE_GLUE_BPF_H
#define PLACE_GLUE_BPF_H

#include <scx/common.bpf.h>
#include "bpf_experimental.h"
#define place_can_loop can_loop
#include "intf.h"

char _license[] SEC("license") = "GPL";

UEI_DEFINE(uei);

/* Fixed at load. */
const volatile u32 nr_cpu_ids = 1;	/* possible CPUs: highest number + 1 */
const volatile u32 nr_mask_words = 1;	/* words of a machine-wide mask */
const volatile u32 nr_llc_words = 1;	/* words of a cache's mask: 1, 4 or 16 */
const volatile u32 nr_llcs = 1;
/* Sizes of the tables less 1; each size is a power of two. */
const volatile u32 cpu_mask = 0;
const volatile u32 llc_mask = 0;
const volatile u32 counter_mask = PLACE_NR_SLOTS - 1;
const volatile u32 task_shift = 63;	/* 64 - log2 of the number of task slots */
const volatile u32 has_smt = 0;
const volatile u32 verify_slots = 0;	/* checksum the policy slot at every placement */
const volatile u32 kernel_hz = 250;	/* jiffies per second */
/* Faults for tests, one in so many: a claim is lost, a snapshot shows an earlier one's idle CPUs. */
const volatile u32 inject_lost = 0;
const volatile u32 inject_stale = 0;
const volatile u32 slice_ns = 20000000;	/* given to every task; cut at ticks by fair_queue.h */
const volatile u32 claim_retries = 3;	/* decisions after the first */

/* What user space tells the running program: a policy goes into a spare slot, then its number here. */
volatile u32 place_control[PLACE_NR_CONTROLS] SEC(".data.control");
struct place_policy place_policies[PLACE_NR_SLOTS] SEC(".data.policies");

struct place_cpu RESIZABLE_ARRAY(data, place_cpu_table);
struct place_where RESIZABLE_ARRAY(data, place_where_table);
struct place_llc RESIZABLE_ARRAY(data, place_llc_table);
struct place_task RESIZABLE_ARRAY(data, place_task_table);
struct place_counters RESIZABLE_ARRAY(data, place_counter_table);	/* [cpu][slot] */
struct place_latency RESIZABLE_ARRAY(data, place_latency_table);	/* [cpu][slot] */
u64 RESIZABLE_ARRAY(data, place_clock_table);	/* [cpu]; see place_read_clocks() */
struct place_scratch RESIZABLE_ARRAY(data, place_scratch_table);
struct place_fork_in RESIZABLE_ARRAY(data, place_fork_table);	/* [cpu], as place_scratch_table */

/* The machine's levels, for forks: written by user space before attaching. */
struct place_levels place_levels SEC(".data.levels");

/* Caches that may have waiting tasks, by number: read by CPUs about to idle, rarely written. */
u64 place_overload[PLACE_MAX_CPUS / 64] SEC(".data.overload");

/*
 * Element i of a table whose size is a power of two.  The mask is a constant to the verifier, so
 * the index needs no test: one that is out of range, which never happens, lands on some element.
 */
#define TABLE_AT(table, i, mask) ({					\
	u64 __off = ((u64)(i) & (mask)) * sizeof(table[0]);		\
									\
	barrier_var(__off);						\
	(typeof(table[0]) *)((void *)table + __off);			\
})

static __always_inline struct place_cpu *cpu_at(u32 cpu)
{
	return TABLE_AT(place_cpu_table, cpu, cpu_mask);
}

static __always_inline struct place_where *where_at(u32 cpu)
{
	return TABLE_AT(place_where_table, cpu, cpu_mask);
}

static __always_inline struct place_llc *llc_at(u32 llc)
{
	return TABLE_AT(place_llc_table, llc, llc_mask);
}

static __always_inline struct place_scratch *scratch_at(u32 cpu)
{
	return TABLE_AT(place_scratch_table, cpu, cpu_mask);
}

static __always_inline struct place_fork_in *fork_in_at(u32 cpu)
{
	return TABLE_AT(place_fork_table, cpu, cpu_mask);
}

/* The CPU a task is on; what scx_bpf_task_cpu() returns, without the call. */
static __always_inline s32 task_on_cpu(const struct task_struct *p)
{
	return p->thread_info.cpu;
}

/*
 * The slot in force as callbacks hand it on: the whole word, of which policy_at(), counters_of() and
 * latency_of() take their part.
 */
static __always_inline u32 slot_now(void)
{
	return place_control[PLACE_CONTROL_SLOT];
}

static __always_inline bool timing(u32 slot)
{
	return slot & PLACE_WORD_FULL;
}

static __always_inline const struct place_policy *policy_at(u32 slot)
{
	return &place_policies[(slot >> PLACE_WORD_SLOT_SHIFT) & (PLACE_NR_SLOTS - 1)];
}

/* Index of a CPU's line in the tables of counts. */
static __always_inline u32 line_of(u32 cpu, u32 slot)
{
	return cpu * PLACE_NR_SLOTS + (slot & PLACE_WORD_LINE_MASK);
}

/* The counters of a CPU, which must be the executing one, under a policy slot. */
static __always_inline struct place_counters *counters_of(u32 cpu, u32 slot)
{
	return TABLE_AT(place_counter_table, line_of(cpu, slot), counter_mask);
}

static __always_inline struct place_latency *latency_of(u32 cpu, u32 slot)
{
	return TABLE_AT(place_latency_table, line_of(cpu, slot), counter_mask);
}

static __always_inline struct place_counters *counters_here(void)
{
	return counters_of(bpf_get_smp_processor_id(), slot_now());
}

static __always_inline void count_in(struct place_counters *c, u32 counter, u64 n)
{
	c->n[counter & (PLACE_COUNTERS_STRIDE - 1)] += n;
}

/* Interrupts are off in every callback but the sleepable ones, which do not count. */
static __always_inline void count(u32 counter)
{
	count_in(counters_here(), counter, 1);
}

#endif /* PLACE_GLUE_BPF_H */
