/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * record.bpf.h - sampled placements: written to a ring buffer, and put before a second policy.
 *
 * Both read place_in as the decision read it: after lost claims were taken out of it, before
 * anything else changes.  Neither has an effect on the placement.  With both off, select_cpu pays
 * one branch on a word beside the slot's number.
 *
 * record: the bytes that struct place_record describes; a full buffer is counted, never waited for.
 *         Forks are recorded as wakeups are.
 * shadow: decides with the policy of PLACE_SHADOW_SLOT, too, and counts how far apart the two are; it
 *         claims nothing and applies no effects.
 */
#ifndef PLACE_RECORD_BPF_H
#define PLACE_RECORD_BPF_H

#include "decide.bpf.h"

/* At a million wakeups a second of some 300 bytes, 13 ms: more often than user space looks. */
#define RECORD_BUFFER_BYTES (4 << 20)

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RECORD_BUFFER_BYTES);
} place_records SEC(".maps");

static __always_inline u32 sampling(void)
{
	return place_control[PLACE_CONTROL_SAMPLING];
}

/* A placement that no rule of ours decided. */
static __always_inline void count_opaque(struct place_counters *cnt)
{
	if (unlikely(sampling() & 0xffff))
		count_in(cnt, PLACE_CNT_record_opaque, 1);
}

/* Is this placement one of the `every` of its CPU that is sampled? */
static __always_inline bool is_due(u32 *left, u32 every)
{
	if (!every)
		return false;
	if (*left > 1 && *left <= every) {
		(*left)--;
		return false;
	}
	*left = every;
	return true;
}

/* ---- record ---- */

/*
 * Copies a multiple of 4 bytes and returns the place behind them.  The compiler must not make it a
 * memcpy, which BPF has for short ones only.
 */
static __always_inline void *record_add(void *to, const void *from, const u32 bytes)
{
	const volatile u32 *word = from;
	u32 *d = to;

#pragma unroll
	for (u32 i = 0; i < bytes / sizeof(*d); i++)
		d[i] = word[i];
	return to + bytes;
}

static __always_inline void *record_add_view(void *to, const struct place_view *v, const u32 nw)
{
	const struct place_mask *m = (const void *)v;

	for (u32 i = 0; i < PLACE_RECORD_VIEW_MASKS; i++)
		to = record_add(to, &m[i], nw * sizeof(u64));
	return record_add(to, &m[PLACE_RECORD_VIEW_MASKS], PLACE_RECORD_VIEW_TAIL);
}

/* The size of a record must be a constant to the verifier, hence nw and views are. */
static __always_inline bool record_write(struct place_scratch *sc, const struct place_record *head,
					 const u32 nw, const u32 views)
{
	const u32 view_bytes = PLACE_RECORD_VIEW_MASKS * nw * sizeof(u64) + PLACE_RECORD_VIEW_TAIL;
	struct place_record *r;
	void *to;

	r = bpf_ringbuf_reserve(&place_records, PLACE_RECORD_FIXED + views * view_bytes, 0);
	if (!r)
		return false;
	*r = *head;
	r->nw = nw;
	r->views = views;
	to = record_add(r + 1, &sc->in, PLACE_RECORD_IN_HEAD);
	to = record_add(to, &sc->in.view[2], PLACE_RECORD_IN_TAIL);
	to = record_add(to, &sc->out, sizeof(sc->out));
	to = record_add_view(to, &sc->in.view[0], nw);
	if (views == 2)
		record_add_view(to, &sc->in.view[1], nw);
	bpf_ringbuf_submit(r, 0);
	return true;
}

#define RECORD_WRITE(nw)								\
	(views == 2 ? record_write(sc, &head, nw, 2) : record_write(sc, &head, nw, 1))

__noinline int record(struct place_scratch *sc __arg_nonnull, u32 slot, u32 pid, u32 claimed)
{
	u32 views = sc->in.waker_at.llc == sc->in.prev_at.llc ? 1 : 2;
	struct place_record head = {
		.time_ns = bpf_ktime_get_ns(),
		.type = PLACE_RECORD_WAKEUP,
		.generation = policy_at(slot)->generation,
		.cpu = sc->in.waker,
		.pid = pid,
		.lost = sc->lost,
		.claimed = claimed,
	};

	if (nr_llc_words == 1)
		return RECORD_WRITE(1);
	if (nr_llc_words == 4)
		return RECORD_WRITE(4);
	return RECORD_WRITE(16);
}

/* Copies any number of bytes that is a constant to the verifier; returns the place behind them. */
static __always_inline void *record_copy(void *to, const void *from, u32 bytes)
{
	bpf_probe_read_kernel(to, bytes, from);
	return to + bytes;
}

/*
 * A fork, decided on fork_in_at(sc->in.waker).  The sizes are constants to the verifier, because the
 * machine's are.
 */
__noinline int record_fork(struct place_scratch *sc __arg_nonnull, u32 slot, u32 pid, u32 claimed)
{
	u32 set_bytes = nr_mask_words * sizeof(u64), cpu_bytes = nr_cpu_ids * sizeof(struct place_fork_cpu);
	struct place_fork_in *in = fork_in_at(sc->in.waker);
	struct place_record *r;
	void *to;

	r = bpf_ringbuf_reserve(&place_records, PLACE_RECORD_FORK_FIXED + 2 * set_bytes + cpu_bytes, 0);
	if (!r)
		return false;
	*r = (struct place_record) {
		.time_ns = bpf_ktime_get_ns(),
		.type = PLACE_RECORD_FORK,
		.generation = policy_at(slot)->generation,
		.cpu = sc->in.waker,
		.pid = pid,
		.nw = nr_mask_words,
		.claimed = claimed,
	};
	to = record_copy(r + 1, &in->waker, PLACE_RECORD_FORK_HEAD);
	to = record_copy(to, &sc->out, sizeof(sc->out));
	to = record_copy(to, in->allowed, set_bytes);
	to = record_copy(to, in->idle, set_bytes);
	record_copy(to, in->cpu, cpu_bytes);
	bpf_ringbuf_submit(r, 0);
	return true;
}

/* ---- shadow ---- */

/*
 * What the shadow policy, in the slot that is never in force, decides on the same copy; sc->out stays
 * as it was.
 */
static __always_inline bool shadow_decide(struct place_scratch *sc)
{
	const u32 slot = PLACE_SHADOW_SLOT << PLACE_WORD_SLOT_SHIFT;
	int ok;

	sc->kept = sc->out;
	ok = nr_llc_words == 1 ? decide_1(sc, slot)
			       : nr_llc_words == 4 ? decide_4(sc, slot) : decide_16(sc, slot);
	sc->shadow = sc->out;
	sc->out = sc->kept;
	return ok;
}

static __always_inline u32 shadow_distance(u32 cpu, u32 shadow)
{
	struct place_where *a = where_at(cpu), *b = where_at(shadow);

	if (cpu == shadow)
		return PLACE_CNT_shadow_same_cpu;
	if (a->node != b->node)
		return PLACE_CNT_shadow_farther;
	if (a->llc != b->llc)
		return PLACE_CNT_shadow_same_node;
	return a->core == b->core ? PLACE_CNT_shadow_same_core : PLACE_CNT_shadow_same_llc;
}

static __always_inline void shadow_compare(struct place_scratch *sc, struct place_counters *cnt)
{
	u32 found = sc->shadow.idle ? (sc->out.idle ? PLACE_CNT_shadow_idle_both
						    : PLACE_CNT_shadow_idle_shadow_only)
				    : (sc->out.idle ? PLACE_CNT_shadow_idle_policy_only
						    : PLACE_CNT_shadow_idle_neither);

	count_in(cnt, shadow_distance(sc->out.cpu, sc->shadow.cpu), 1);
	count_in(cnt, found, 1);
}

/* ---- both ---- */

/* Is this fork to be recorded? */
static __always_inline bool fork_is_due(struct place_scratch *sc)
{
	return unlikely(sampling()) && is_due(&sc->record_left, sampling() & 0xffff);
}

/* The placement in sc->in and sc->out, if its turn has come. */
static __always_inline void sample(struct place_scratch *sc, u32 slot, u32 pid, u32 claimed)
{
	struct place_counters *cnt = counters_of(sc->in.waker, slot);
	u32 control = sampling();

	if (is_due(&sc->record_left, control & 0xffff))
		count_in(cnt, record(sc, slot, pid, claimed) ? PLACE_CNT_record_written
							     : PLACE_CNT_record_dropped, 1);
	if (is_due(&sc->shadow_left, control >> 16) && shadow_decide(sc))
		shadow_compare(sc, cnt);
}

#endif /* PLACE_RECORD_BPF_H */
