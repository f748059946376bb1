/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cpu_load.h - averages of a CPU's load over its last ticks, the form of v2.6.26 and v2.6.27
 * (policies.md B.2).
 *
 * The load of a CPU is the weight of its runnable tasks.  At every tick
 *
 *   load[i] = (load[i] * (2^i - 1) + load now) / 2^i
 *
 * rounded up while it rises, else it would never arrive.  So load[0] is the load at the last tick,
 * load[1] an average over about two ticks, and so on.  wake_affine reads load[wake_idx - 1]
 * (LB_BIAS): the smaller of it and the load now of the CPU that would lose the task, the larger of
 * the CPU that would get it.
 *
 * An idle CPU does not tick here.  In those kernels it does, unless built with NO_HZ, with which
 * its averages froze as they were (a defect, mended in v2.6.35); here they go on as if it ticked:
 * every tick that was missed was one of an idle CPU.  Each then halves load[1] and clears load[0],
 * so that any number of them is a shift.
 */
#ifndef PLACE_CPU_LOAD_H
#define PLACE_CPU_LOAD_H

#include "types.h"

#define PLACE_CPU_LOADS 2		/* averages kept; v2.6.26 keeps 5, of which wakeups read the first */

struct place_cpu_load {
	u32 load[PLACE_CPU_LOADS];
	u32 tick;			/* when they were renewed: jiffies, their lowest 32 bits */
};

_Static_assert(PLACE_CPU_LOADS == 2, "the decay of load[2] and more is no shift");

/* load[i] after so many ticks of an idle CPU. */
place_inline u32 cpu_load_decayed(u32 load, u32 i, u32 ticks)
{
	if (!ticks)
		return load;
	return i && ticks < 32 ? load >> ticks : 0;
}

place_inline u32 cpu_load_renewed(u32 old, u32 i, u32 now)
{
	u64 scale = 1ULL << i, add = now;

	if (now > old)
		add += scale - 1;
	return (old * (scale - 1) + add) >> i;
}

/* A tick of a CPU that is not idle; weight: of its runnable tasks.  Only one a jiffy counts. */
place_inline void cpu_load_tick(struct place_cpu_load *l, u32 jiffies, u32 weight)
{
	u32 missed = jiffies - l->tick - 1;

	if (jiffies == l->tick)
		return;
	for (u32 i = 0; i < PLACE_CPU_LOADS; i++)
		l->load[i] = cpu_load_renewed(cpu_load_decayed(l->load[i], i, missed), i, weight);
	l->tick = jiffies;
}

/*
 * load[i] as it would be had the CPU ticked until now.  A busy one whose tick of this jiffy is still
 * to come counts as idle at it: that lasts microseconds, while CPUs that were idle at the tick and
 * are not any more are common.
 */
place_inline u32 cpu_load_at(const struct place_cpu_load *l, u32 i, u32 jiffies)
{
	u32 ticks = jiffies - l->tick;

	/* -1: the tick came after jiffies was read. */
	return cpu_load_decayed(l->load[i], i, ticks == ~0u ? 0 : ticks);
}

#endif /* PLACE_CPU_LOAD_H */
