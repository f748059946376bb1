/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * decide.bpf.h - one decision by the policy of a slot.
 */
#ifndef PLACE_DECIDE_BPF_H
#define PLACE_DECIDE_BPF_H

#include "snapshot.bpf.h"

/*
 * One decision from sc->in.  Global functions, so that the verifier proves each once, whatever loop
 * they are called from, and only the one whose width the machine needs.
 */
static __always_inline int decide(struct place_scratch *sc, u32 slot, const u32 nw)
{
	struct place_llc *llc_p = llc_at(sc->in.prev_at.llc), *llc_w = llc_at(sc->in.waker_at.llc);

	place_wakeup(policy_at(slot), &sc->in, llc_p, llc_w, &sc->search, &sc->out, nw);
	return 1;
}

__noinline int decide_1(struct place_scratch *sc __arg_nonnull, u32 slot)
{
	return decide(sc, slot, 1);
}

__noinline int decide_4(struct place_scratch *sc __arg_nonnull, u32 slot)
{
	return decide(sc, slot, 4);
}

__noinline int decide_16(struct place_scratch *sc __arg_nonnull, u32 slot)
{
	return decide(sc, slot, 16);
}

#endif /* PLACE_DECIDE_BPF_H */
