/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * task_hot.h - is the wakee's data still in the cache of the CPU where it ran?  As in v2.6.26 to v4.6
 * for a task that sleeps: it is if it ran less than migration_cost_us ago.  Buddies, which always
 * are, cease to be some when they sleep.
 */
#ifndef PLACE_TASK_HOT_H
#define PLACE_TASK_HOT_H

#include "types.h"

/* since_ran_ns: by a clock that may be behind; cost_us: 0: never, 4294967295: always. */
place_inline int task_hot(s64 since_ran_ns, u32 cost_us)
{
	if (cost_us == ~0u)
		return 1;
	return cost_us && since_ran_ns < (s64)cost_us * 1000;
}

#endif /* PLACE_TASK_HOT_H */
