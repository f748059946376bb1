/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * effective_load.h - by how much the load of a CPU, as the root group sees it, changes when weight
 * moves in a group of tasks (policies.md B.6).
 *
 * A group's tasks run on one queue per CPU, and that queue takes part in the parent's as one entity,
 * whose weight is the group's shares divided by how its load is spread over the CPUs.  So a task
 * that moves changes the load of a CPU by less than its own weight, and, because the shares are
 * divided anew, also that of CPUs where it never was.
 *
 *   effective_load(group, CPU, wl, wg)
 *       wl: weight added to the group's queue on that CPU; wg: weight added to the whole group.
 *       The root group: wl.  Else from the group's level up, each level's result the next one's wl,
 *       with wg = 0 from the second on: what moves further up are shares, not tasks.
 *
 * With S the shares of the group, s the weight of its entity on the CPU, all numbers as named in
 * struct group_level, a level yields
 *
 *   2627, 2637   (v2.6.27 to v2.6.37)  Shares are adjusted now and then, so what changed since, m,
 *                counts too: m = queue - queue_then, wl += m, wg += m.  Then with rw = queue_then
 *                    a = S * (rw + wl),  b = S * rw + s * wg,  s * (a - b) / b, undivided if b is 0.
 *                2627 adds m before the first level only, 2637 at each.  With wl = 0 at the start
 *                the result is 0: what the previous CPU would win is left out on purpose.
 *   2638rc       The same a and b while shares are adjusted at once, before anybody took that into
 *                account: rw = queue, no m, and wl = 0 counts.  On a CPU where the group runs
 *                nothing, s is no longer what a first task would get and the result is meaningless.
 *   2638         (v2.6.38) The new weight of the entity less the old one:
 *                    W = total - contribution + queue + wg,  x = queue + wl,
 *                    x * S / W if W > 0 and x < W, else S; at least 2; less s.
 *   46           (v4.6) The same with tracked loads: x = queue load + wl, s the entity's load; W has
 *                the queue's weight all the same, which the kernel puts in the place of its
 *                contribution.
 *
 * Division cuts off towards zero, as in C.
 *
 * Range: with shares and s up to 2^18, the most the kernel allows, and weights and loads up to 2^44, no
 * product exceeds 2^63 as long as |wl| + |wg| + 2 |m| stays below 2^27, a hundred thousand nice-0 tasks
 * that move at once.  What an undivided level yields (b = 0) can be more than the next level bears:
 * then numbers wrap around, as they do in the kernel.
 */
#ifndef PLACE_EFFECTIVE_LOAD_H
#define PLACE_EFFECTIVE_LOAD_H

#include "types.h"

#define GROUP_MIN_SHARES 2
#define GROUP_MAX_DEPTH 8

/* One group on one CPU. */
struct group_level {
	s64 shares;		/* S: of the group, 1024 by default */
	s64 entity;		/* s: weight of its entity in the parent's queue; 46: the entity's load */
	s64 queue;		/* weight of its queue now */
	s64 queue_then;		/* 2627, 2637: when shares were last adjusted */
	s64 queue_load;		/* 46: tracked load of its queue */
	s64 total;		/* 2638: sum of its contributions of all CPUs; 46: of tracked loads */
	s64 contribution;	/* of this CPU in that */
};

enum effective_load_form {
	EFFECTIVE_LOAD_2627,
	EFFECTIVE_LOAD_2637,
	EFFECTIVE_LOAD_2638RC,
	EFFECTIVE_LOAD_2638,
	EFFECTIVE_LOAD_46,
};

/* The kernel is compiled so that signed numbers wrap around; these do too, anywhere. */
place_inline s64 wrap_add(s64 a, s64 b)
{
	return (u64)a + (u64)b;
}

place_inline s64 wrap_sub(s64 a, s64 b)
{
	return (u64)a - (u64)b;
}

place_inline s64 wrap_mul(s64 a, s64 b)
{
	return (u64)a * (u64)b;
}

/* n / d cut off towards zero; BPF before version 4 has no signed division. */
place_inline s64 div_toward_zero(s64 n, s64 d)
{
	u64 q = (n < 0 ? 0 - (u64)n : (u64)n) / (d < 0 ? 0 - (u64)d : (u64)d);

	return (n < 0) != (d < 0) ? 0 - q : q;
}

/* The change of a share that is kept in proportion: 2627, 2637, 2638rc. */
place_inline s64 effective_load_ratio(const struct group_level *g, s64 rw, s64 wl, s64 wg)
{
	s64 a = wrap_mul(g->shares, wrap_add(rw, wl));
	s64 b = wrap_add(wrap_mul(g->shares, rw), wrap_mul(g->entity, wg));
	s64 change = wrap_mul(g->entity, wrap_sub(a, b));

	return b ? div_toward_zero(change, b) : change;
}

/* The new share less the old one: 2638, 46.  x: the CPU's part; whole: all CPUs'. */
place_inline s64 effective_load_share(const struct group_level *g, s64 x, s64 whole)
{
	s64 share = g->shares;

	if (whole > 0 && x < whole)
		share = div_toward_zero(wrap_mul(x, share), whole);
	if (share < GROUP_MIN_SHARES)
		share = GROUP_MIN_SHARES;
	return wrap_sub(share, g->entity);
}

place_inline s64 effective_load_level(u32 form, const struct group_level *g, s64 wl, s64 wg)
{
	s64 moved = wrap_sub(g->queue, g->queue_then);
	s64 whole = wrap_add(wrap_add(wrap_sub(g->total, g->contribution), g->queue), wg);

	switch (form) {
	case EFFECTIVE_LOAD_2627:
		return effective_load_ratio(g, g->queue_then, wl, wg);
	case EFFECTIVE_LOAD_2637:
		return effective_load_ratio(g, g->queue_then, wrap_add(wl, moved), wrap_add(wg, moved));
	case EFFECTIVE_LOAD_2638RC:
		return effective_load_ratio(g, g->queue, wl, wg);
	case EFFECTIVE_LOAD_2638:
		return effective_load_share(g, wrap_add(g->queue, wl), whole);
	default:
		return effective_load_share(g, wrap_add(g->queue_load, wl), whole);
	}
}

/*
 * g[0] is the task's group, the last one a child of the root group; depth 0: the root group itself.  No more
 * than GROUP_MAX_DEPTH levels are looked at.
 */
place_inline s64 effective_load(u32 form, const struct group_level *g, u32 depth, s64 wl, s64 wg)
{
	if (!depth)
		return wl;
	if ((form == EFFECTIVE_LOAD_2627 || form == EFFECTIVE_LOAD_2637) && !wl)
		return 0;
	if (form == EFFECTIVE_LOAD_2627) {
		wl = wrap_add(wl, wrap_sub(g[0].queue, g[0].queue_then));
		wg = wrap_add(wg, wrap_sub(g[0].queue, g[0].queue_then));
	}
	for (u32 i = 0; i < depth && i < GROUP_MAX_DEPTH && place_can_loop; i++) {
		wl = effective_load_level(form, &g[i], wl, wg);
		wg = 0;
	}
	return wl;
}

/*
 * Where groups of tasks are not known, which is everywhere so far (axis group=none), all tasks are
 * of the root group and all forms say the same.  The rules of wake_affine_history.h ask this one.
 */
place_inline s64 effective_load_of_root(s64 wl)
{
	return wl;
}

#endif /* PLACE_EFFECTIVE_LOAD_H */
