/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * host.h - the host build of the policy files: the tables as data, the rules as functions.
 */
#ifndef PLACE_HOST_H
#define PLACE_HOST_H

#include "policy.h"

/* One line of table.h or counters.h each.  `axis` and `stage` are names, all strings static. */
struct place_axis_info {
	const char *name, *dflt, *help;
	u32 placement;			/* 1: scope PLACEMENT, 0: scope MACHINE */
};

struct place_value_info {
	const char *axis, *name, *help, *provenance;
};

struct place_param_info {
	const char *axis, *name, *unit, *help, *provenance;
	u32 dflt, min, max;
};

struct place_stage_info {
	const char *name, *help;
};

struct place_counter_info {
	const char *stage, *name, *help;
};

extern const struct place_axis_info place_axes[PLACE_NR_AXES];
extern const struct place_value_info place_values[PLACE_NR_VALUES];
extern const struct place_param_info place_params[PLACE_NR_PARAMS];
extern const struct place_stage_info place_stages[PLACE_NR_STAGES];
extern const struct place_counter_info place_counters[PLACE_NR_COUNTERS];

u32 place_host_policy_checksum(const struct place_policy *pol);

#endif /* PLACE_HOST_H */
