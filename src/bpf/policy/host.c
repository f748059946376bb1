/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * host.c - the policy files compiled for the host: the tables that name everything, and the rules
 * behind plain functions for the tests.
 */
#include "host.h"

#define PLACEMENT 1
#define MACHINE 0

const struct place_axis_info place_axes[PLACE_NR_AXES] = {
#define PLACE_AXIS(axis, dflt, scope, help) { #axis, #dflt, help, scope },
#include "table.h"
};

const struct place_value_info place_values[PLACE_NR_VALUES] = {
#define PLACE_VALUE(axis, value, help, provenance) { #axis, #value, help, provenance },
#include "table.h"
};

const struct place_param_info place_params[PLACE_NR_PARAMS] = {
#define PLACE_PARAM(axis, name, dflt, min, max, unit, help, provenance) \
	{ #axis, #name, unit, help, provenance, dflt, min, max },
#include "table.h"
};

const struct place_stage_info place_stages[PLACE_NR_STAGES] = {
#define PLACE_STAGE(stage, help) { #stage, help },
#include "counters.h"
};

const struct place_counter_info place_counters[PLACE_NR_COUNTERS] = {
#define PLACE_COUNTER(stage, name, help) { #stage, #name, help },
#include "counters.h"
};

u32 place_host_policy_checksum(const struct place_policy *pol)
{
	return place_policy_checksum(pol);
}
