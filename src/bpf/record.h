/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * record.h - a recorded decision: what the BPF program writes to the ring buffer and files hold.
 */
#ifndef PLACE_RECORD_H
#define PLACE_RECORD_H

#include "policy/levels.h"
#include "policy/place.h"

/*
 * A record of a wakeup, in the ring buffer and in files: the head below, then without gaps the
 * parts of place_in before its views, place_in behind its views, place_out, and the views that were
 * read: `nw` words of each of a view's masks, then the rest of the view.  Sizes and offsets are
 * those of the structures, so fields that are added to them travel along.
 *
 * A record of a fork: the head; place_fork_in from `waker` up to `allowed`; place_out; `nw` words of
 * `allowed`, then of `idle`; `cpu` of each possible CPU.  It holds the CPUs whatever policy decided.
 */
struct place_record {
	u64 time_ns;		/* CLOCK_MONOTONIC */
	u32 type;		/* enum place_record_type */
	u32 generation;		/* of the policy that decided */
	u32 cpu;		/* that executed it */
	u32 pid;		/* of the wakee's thread */
	u32 lost;		/* claims lost before this decision; 0 of a fork */
	u16 nw;			/* words of each mask: 1, 4 or 16; of a fork, those of all possible CPUs */
	u8 views;		/* 1, or 2: the waker's cache is another one; 0 of a fork */
	u8 claimed;		/* the chosen CPU's idle bit was taken */
};

enum place_record_type {
	PLACE_RECORD_WAKEUP = 1,
	PLACE_RECORD_FORK,
};

/* Sizes of a record's parts in bytes, all multiples of 4. */
enum place_record_part {
	PLACE_RECORD_IN_HEAD = __builtin_offsetof(struct place_in, view),
	PLACE_RECORD_IN_TAIL = sizeof(struct place_in) - sizeof(struct place_view) * 2 -
			       PLACE_RECORD_IN_HEAD,
	PLACE_RECORD_VIEW_MASKS = __builtin_offsetof(struct place_view, has_idle_cores) /
				  sizeof(struct place_mask),	/* how many */
	PLACE_RECORD_VIEW_TAIL = sizeof(struct place_view) -
				 PLACE_RECORD_VIEW_MASKS * sizeof(struct place_mask),
	PLACE_RECORD_FIXED = sizeof(struct place_record) + PLACE_RECORD_IN_HEAD +
			     PLACE_RECORD_IN_TAIL + sizeof(struct place_out),
	PLACE_RECORD_FORK_HEAD = __builtin_offsetof(struct place_fork_in, allowed) -
				 __builtin_offsetof(struct place_fork_in, waker),
	PLACE_RECORD_FORK_FIXED = sizeof(struct place_record) + PLACE_RECORD_FORK_HEAD +
				  sizeof(struct place_out),
};

#endif /* PLACE_RECORD_H */
