/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fork_placement.h - where a new task starts.
 *
 * stay: on its parent's CPU, which is its previous CPU.
 */
#ifndef PLACE_FORK_PLACEMENT_H
#define PLACE_FORK_PLACEMENT_H

#include "place.h"

place_inline void place_fork(const struct place_policy *pol, const struct place_in *in,
			     struct place_out *out)
{
	(void)pol;
	out->cpu = out->target = in->prev;
	out->search = PLACE_CNT_fork_stay;
	out->effects = 0;
	out->visited = 0;
	out->idle = 0;
}

#endif /* PLACE_FORK_PLACEMENT_H */
