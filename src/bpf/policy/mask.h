/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mask.h - sets of the CPUs of one last-level cache, as words, and the searches on them.
 *
 * Rules search inside one last-level cache.  Its CPUs are numbered by local index, in ascending
 * order of CPU number (with holes where that keeps the numbering regular), so a set of them is one
 * word on nearly every machine, however large the machine is; see place_llc in place.h.
 *
 * Every function takes nw, the number of words, as a constant of the caller: 1, 4 or 16.  One word is
 * straight-line code on registers.  More are loops in functions of their own (*_wide), not static:
 * the BPF verifier proves such a function once, however often it is called.
 *
 * "From" and "until" wrap around, so a start beyond the last CPU of the cache means the first.  A
 * destination may be one of the sources only in mask_and, mask_andnot and mask_or.
 */
#ifndef PLACE_MASK_H
#define PLACE_MASK_H

#include "types.h"

#define PLACE_MAX_WORDS 16

struct place_mask {
	u64 w[PLACE_MAX_WORDS];
};

/* BPF has no instruction for either of these two; both forms below are free of loops. */
static const u8 place_debruijn[64] = {
	0, 1, 2, 53, 3, 7, 54, 27, 4, 38, 41, 8, 34, 55, 48, 28,
	62, 5, 39, 46, 44, 42, 22, 9, 24, 35, 59, 56, 49, 18, 29, 11,
	63, 52, 6, 26, 37, 40, 33, 47, 61, 45, 43, 21, 23, 58, 17, 10,
	51, 25, 36, 32, 60, 20, 57, 16, 50, 31, 19, 15, 30, 14, 13, 12,
};

/* Index of the lowest set bit; x must not be 0. */
place_inline u32 place_ctz(u64 x)
{
	return place_debruijn[((x & -x) * 0x022fdd63cc95386dULL) >> 58];
}

place_inline u32 place_popcount(u64 x)
{
	x -= (x >> 1) & 0x5555555555555555ULL;
	x = (x & 0x3333333333333333ULL) + ((x >> 2) & 0x3333333333333333ULL);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (x * 0x0101010101010101ULL) >> 56;
}

#define place_wide __attribute__((noinline))
#define place_for_words(i, nw) for (u32 i = 0; i < PLACE_MAX_WORDS && i < (nw); i++)

place_inline u32 mask_wrap(u32 bit, const u32 nw)
{
	return bit & (nw * 64 - 1);
}

/* Word number i of a mask, in range for compiler and verifier alike. */
place_inline u32 mask_word_index(u32 i)
{
	i &= PLACE_MAX_WORDS - 1;
	asm volatile("" : "+r"(i));
	return i;
}

place_inline int mask_test(const struct place_mask *m, u32 bit, const u32 nw)
{
	bit = mask_wrap(bit, nw);
	return (m->w[nw == 1 ? 0 : mask_word_index(bit >> 6)] >> (bit & 63)) & 1;
}

place_inline void mask_clear_bit(struct place_mask *m, u32 bit, const u32 nw)
{
	bit = mask_wrap(bit, nw);
	m->w[nw == 1 ? 0 : mask_word_index(bit >> 6)] &= ~(1ULL << (bit & 63));
}

place_wide int mask_one_wide(struct place_mask *d __arg_nonnull, u32 bit, u32 nw)
{
	place_for_words(i, nw)
		d->w[i] = i == bit >> 6 ? 1ULL << (bit & 63) : 0;
	return 0;
}

/* d = the set of one CPU. */
place_inline void mask_one(struct place_mask *d, u32 bit, const u32 nw)
{
	bit = mask_wrap(bit, nw);
	if (nw == 1)
		d->w[0] = 1ULL << bit;
	else
		mask_one_wide(d, bit, nw);
}

place_wide int mask_empty_wide(const struct place_mask *m __arg_nonnull, u32 nw)
{
	u64 any = 0;

	place_for_words(i, nw)
		any |= m->w[i];
	return !any;
}

place_inline int mask_empty(const struct place_mask *m, const u32 nw)
{
	return nw == 1 ? !m->w[0] : mask_empty_wide(m, nw);
}

#define MASK_BINARY(name, op)								\
place_wide int name##_wide(struct place_mask *d __arg_nonnull,				\
			   const struct place_mask *a __arg_nonnull,			\
			   const struct place_mask *b __arg_nonnull, u32 nw)		\
{											\
	place_for_words(i, nw)								\
		d->w[i] = a->w[i] op b->w[i];						\
	return 0;									\
}											\
											\
place_inline void name(struct place_mask *d, const struct place_mask *a,		\
		       const struct place_mask *b, const u32 nw)			\
{											\
	if (nw == 1)									\
		d->w[0] = a->w[0] op b->w[0];						\
	else										\
		name##_wide(d, a, b, nw);						\
}

MASK_BINARY(mask_and, &)
MASK_BINARY(mask_andnot, & ~)
MASK_BINARY(mask_or, |)

place_wide s32 mask_first_from_wide(const struct place_mask *m __arg_nonnull, u32 start, u32 nw)
{
	u32 w = mask_word_index(start >> 6);
	u64 x = m->w[w] & ~0ULL << (start & 63);

	if (x)
		return w * 64 + place_ctz(x);
	place_for_words(i, nw) {
		w = mask_word_index((w + 1) & (nw - 1));
		x = m->w[w];
		if (x)
			return w * 64 + place_ctz(x);
	}
	return -1;
}

/* First set bit in wrapping order from start; -1 if there is none. */
place_inline s32 mask_first_from(const struct place_mask *m, u32 start, const u32 nw)
{
	u64 x;

	start = mask_wrap(start, nw);
	if (nw != 1)
		return mask_first_from_wide(m, start, nw);
	x = m->w[0] & ~0ULL << start;
	if (!x)
		x = m->w[0];
	return x ? (s32)place_ctz(x) : -1;
}

/* All ones if a < b, else 0; free of branches, which multiply in a loop under the BPF verifier. */
place_inline u64 mask_ones_if_less(u32 a, u32 b)
{
	u64 d = ((s64)a - (s64)b) >> 63;

	asm volatile("" : "+r"(d));
	return d;
}

/*
 * Word i of the range that wraps from start up to and with last.  `from` covers the bits of start's
 * word from it upwards, `upto` those of last's word up to it; words between are whole.
 */
place_inline u64 mask_range_word(u32 i, u32 start, u32 last, const u32 nw)
{
	u64 from = ~0ULL << (start & 63), upto = ~0ULL >> (63 - (last & 63)), wraps;

	if (nw == 1)
		return start <= last ? from & upto : from | upto;
	from = (from | mask_ones_if_less(start >> 6, i)) & ~mask_ones_if_less(i, start >> 6);
	upto = (upto | mask_ones_if_less(i, last >> 6)) & ~mask_ones_if_less(last >> 6, i);
	wraps = mask_ones_if_less(last, start);
	return (from & upto) | ((from | upto) & wraps);
}

place_wide u32 mask_count_until_wide(const struct place_mask *m __arg_nonnull, u32 start, u32 last,
				     u32 nw)
{
	u32 n = 0;

	place_for_words(i, nw)
		n += place_popcount(m->w[i] & mask_range_word(i, start, last, nw));
	return n;
}

/* Number of set bits met in wrapping order from start up to and with last. */
place_inline u32 mask_count_until(const struct place_mask *m, u32 start, u32 last, const u32 nw)
{
	start = mask_wrap(start, nw);
	last = mask_wrap(last, nw);
	if (nw == 1)
		return place_popcount(m->w[0] & mask_range_word(0, start, last, 1));
	return mask_count_until_wide(m, start, last, nw);
}

place_wide int mask_until_wide(struct place_mask *d __arg_nonnull,
			       const struct place_mask *m __arg_nonnull, u32 start, u32 last, u32 nw)
{
	place_for_words(i, nw)
		d->w[i] = m->w[i] & mask_range_word(i, start, last, nw);
	return 0;
}

/* The part of m met in wrapping order from start up to and with last. */
place_inline void mask_until(struct place_mask *d, const struct place_mask *m, u32 start, u32 last,
			     const u32 nw)
{
	start = mask_wrap(start, nw);
	last = mask_wrap(last, nw);
	if (nw == 1)
		d->w[0] = m->w[0] & mask_range_word(0, start, last, 1);
	else
		mask_until_wide(d, m, start, last, nw);
}

place_wide u32 mask_count_wide(const struct place_mask *m __arg_nonnull, u32 nw)
{
	u32 n = 0;

	place_for_words(i, nw)
		n += place_popcount(m->w[i]);
	return n;
}

place_inline u32 mask_count(const struct place_mask *m, const u32 nw)
{
	return nw == 1 ? place_popcount(m->w[0]) : mask_count_wide(m, nw);
}

place_wide int mask_shift_down_wide(struct place_mask *d __arg_nonnull,
				    const struct place_mask *m __arg_nonnull, u32 n, u32 nw)
{
	u32 words = n >> 6, bits = n & 63;

	place_for_words(i, nw) {
		u64 lo = i + words < nw ? m->w[mask_word_index(i + words)] : 0;
		u64 hi = i + words + 1 < nw ? m->w[mask_word_index(i + words + 1)] : 0;

		d->w[i] = bits ? lo >> bits | hi << (64 - bits) : lo;
	}
	return 0;
}

/* d = m shifted towards index 0 by n bits; n below 64 * nw. */
place_inline void mask_shift_down(struct place_mask *d, const struct place_mask *m, u32 n, const u32 nw)
{
	if (nw == 1)
		d->w[0] = m->w[0] >> (n & 63);
	else
		mask_shift_down_wide(d, m, n, nw);
}

place_wide int mask_shift_up_wide(struct place_mask *d __arg_nonnull,
				  const struct place_mask *m __arg_nonnull, u32 n, u32 nw)
{
	u32 words = n >> 6, bits = n & 63;

	place_for_words(i, nw) {
		u64 hi = i >= words ? m->w[mask_word_index(i - words)] : 0;
		u64 lo = i >= words + 1 ? m->w[mask_word_index(i - words - 1)] : 0;

		d->w[i] = bits ? hi << bits | lo >> (64 - bits) : hi;
	}
	return 0;
}

/* d = m shifted away from index 0 by n bits; n below 64 * nw. */
place_inline void mask_shift_up(struct place_mask *d, const struct place_mask *m, u32 n, const u32 nw)
{
	if (nw == 1)
		d->w[0] = m->w[0] << (n & 63);
	else
		mask_shift_up_wide(d, m, n, nw);
}

#endif /* PLACE_MASK_H */
