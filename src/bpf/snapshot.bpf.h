/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * snapshot.bpf.h - copies what a placement reads into place_in.
 *
 * The kernel allocates its masks for the machine's real number of CPUs, so no more than
 * nr_mask_words words are read.  The verifier refuses a variable index into a kernel cpumask; a
 * switch of constant indices costs a few compares where a probe read costs a call.
 */
#ifndef PLACE_SNAPSHOT_BPF_H
#define PLACE_SNAPSHOT_BPF_H

#include "glue.bpf.h"
#include "policy/placement.h"

#define MASK_WORD(n) case n: return nr_mask_words > n ? m->bits[n] : 0
static __always_inline u64 mask_word(const struct cpumask *m, u32 word)
{
	switch (word) {
	MASK_WORD(0); MASK_WORD(1); MASK_WORD(2); MASK_WORD(3);
	MASK_WORD(4); MASK_WORD(5); MASK_WORD(6); MASK_WORD(7);
	MASK_WORD(8); MASK_WORD(9); MASK_WORD(10); MASK_WORD(11);
	MASK_WORD(12); MASK_WORD(13); MASK_WORD(14); MASK_WORD(15);
	}
	return 0;
}

/* The three kernel masks a view is cut from. */
struct place_masks {
	const struct cpumask *idle, *smt, *allowed;
};

static __always_inline void view_add(struct place_view *v, const struct place_seg *seg,
				     const struct place_masks *m)
{
	u32 w = seg->local_word & (PLACE_MAX_WORDS - 1), up = seg->local_shift & 63;
	u32 down = seg->shift & 63;

	v->idle.w[w] |= ((mask_word(m->idle, seg->word) >> down) & seg->mask) << up;
	v->idle_core.w[w] |= ((mask_word(m->smt, seg->word) >> down) & seg->mask) << up;
	v->allowed.w[w] |= ((mask_word(m->allowed, seg->word) >> down) & seg->mask) << up;
}

/* On machines of up to 64 CPUs a local index is the CPU's number. */
static __always_inline void view_fill(struct place_view *v, const struct place_llc *llc,
				      const struct place_masks *m, const u32 nw)
{
	if (nr_mask_words == 1) {
		v->idle.w[0] = m->idle->bits[0];
		v->idle_core.w[0] = m->smt->bits[0];
		v->allowed.w[0] = m->allowed->bits[0];
	} else {
		place_for_words(i, nw)
			v->idle.w[i] = v->idle_core.w[i] = v->allowed.w[i] = 0;
		for (u32 i = 0; i < PLACE_MAX_SEGS && i < llc->nr_segs && can_loop; i++)
			view_add(v, &llc->seg[i & (PLACE_MAX_SEGS - 1)], m);
	}
	mask_and(&v->idle, &v->idle, &llc->span, nw);
	mask_and(&v->idle_core, &v->idle_core, &v->idle, nw);
	mask_and(&v->allowed, &v->allowed, &llc->span, nw);
	place_for_words(i, nw)
		v->sched_idle.w[i] = llc->sched_idle.w[i];
	v->has_idle_cores = llc->has_idle_cores;
	v->nr_idle_scan = llc->nr_idle_scan;
}

static __always_inline int mask_has_cpu(const struct cpumask *m, u32 cpu)
{
	return (mask_word(m, cpu >> 6) >> (cpu & 63)) & 1;
}

#endif /* PLACE_SNAPSHOT_BPF_H */
