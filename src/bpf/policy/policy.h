/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * policy.h - the policy in force as data: one value per axis, one number per parameter.
 *
 * Enums and the structure are expansions of table.h and counters.h.
 */
#ifndef PLACE_POLICY_H
#define PLACE_POLICY_H

#include "types.h"

enum place_axis {
#define PLACE_AXIS(axis, dflt, scope, help) PLACE_AXIS_##axis,
#include "table.h"
	PLACE_NR_AXES
};

enum place_param {
#define PLACE_PARAM(axis, name, dflt, min, max, unit, help, provenance) PLACE_PARAM_##name,
#include "table.h"
	PLACE_NR_PARAMS
};

/*
 * Values are numbered through all axes (an X-macro cannot restart a count), so a value names its
 * axis too and a mix-up of axes cannot pass unnoticed.
 */
enum place_value {
#define PLACE_VALUE(axis, value, help, provenance) PLACE_##axis##_##value,
#include "table.h"
	PLACE_NR_VALUES
};

enum place_counter {
#define PLACE_COUNTER(stage, name, help) PLACE_CNT_##stage##_##name,
#include "counters.h"
	PLACE_NR_COUNTERS
};

enum place_stage {
#define PLACE_STAGE(stage, help) PLACE_STAGE_##stage,
#include "counters.h"
	PLACE_NR_STAGES
};

/*
 * Constants derived from the parameters and the machine by user space, so that no wakeup path
 * divides or scales.
 */
struct place_derived {
	u64 latency_ns;			/* period, scaled by the number of CPUs */
	u64 min_granularity_ns;		/* likewise */
	u64 wakeup_granularity_ns;	/* likewise */
	u32 nr_latency;			/* tasks that fit the period */
	u32 pad;
};

/*
 * One slot.  Written whole by user space while no callback can read it, then published.  Of a size
 * that is a power of two: a slot's number leads to it by a mask alone.
 */
struct place_policy {
	u32 generation;			/* counts switches; 0 = slot never used */
	u32 checksum;			/* place_policy_checksum() of the rest */
	u32 axis[PLACE_NR_AXES];	/* enum place_value */
	u32 param[PLACE_NR_PARAMS];	/* enum place_param; unit as in the table */
	struct place_derived derived;
} __attribute__((aligned(256)));

_Static_assert(sizeof(struct place_policy) == 256, "raise it to 512, and PLACE_WORD_SLOT_SHIFT by one");

/* FNV-1a over the words behind the checksum; both sides use this one. */
place_inline u32 place_policy_checksum(const struct place_policy *pol)
{
	u32 sum = 2166136261u ^ pol->generation;
	u32 i;

	for (i = 0; i < PLACE_NR_AXES; i++)
		sum = (sum ^ pol->axis[i]) * 16777619u;
	for (i = 0; i < PLACE_NR_PARAMS; i++)
		sum = (sum ^ pol->param[i]) * 16777619u;
	sum = (sum ^ (u32)pol->derived.latency_ns) * 16777619u;
	sum = (sum ^ (u32)pol->derived.min_granularity_ns) * 16777619u;
	sum = (sum ^ (u32)pol->derived.wakeup_granularity_ns) * 16777619u;
	return (sum ^ pol->derived.nr_latency) * 16777619u;
}

#endif /* PLACE_POLICY_H */
