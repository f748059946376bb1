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
 */
#ifndef PLACE_INTF_H
#define PLACE_INTF_H

#include "policy/policy.h"
#ifndef __VMLINUX_H__
#include "policy/host.h"
#endif

enum place_limits {
	PLACE_MAX_CPUS = 1024,
	PLACE_NR_SLOTS = 32,		/* policy slots; a power of two */
	PLACE_COUNTERS_STRIDE = 128,	/* counters per slot; a power of two above PLACE_NR_COUNTERS */
};

/* The counters of one CPU under one policy slot, indexed by enum place_counter. */
struct place_counters {
	u64 n[PLACE_COUNTERS_STRIDE];
} __attribute__((aligned(64)));

#endif /* PLACE_INTF_H */
