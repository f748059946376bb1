/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pelt.h - per-entity load tracking, the form of v6.12 (policies.md C.1).
 *
 * Time is cut into periods of 1024 units of 1024 ns.  What happened n periods ago counts y^n, with
 * y^32 = 1/2.  A signal held for ever approaches 1024 * sum(y^k) = 47742 in the kernel's
 * truncating arithmetic, called PELT_MAX here.
 *
 * An update over d units, with `contrib` units already in the current period, meets three parts:
 *
 *         d1          d2           d3
 *         ^           ^            ^
 *   |<->|<----------------->|<--->|
 *   ... |---x---|-----...---|-----x      (x: last update, now)
 *
 *   d1 completes the started period, decayed by all periods since: decay(d1, p);
 *   d2 is p - 1 full periods: PELT_MAX - decay(PELT_MAX, p) - 1024, the geometric sum in closed form;
 *   d3 counts in full.
 *
 * Averages are the sums over the divisor of the time seen, PELT_MAX - 1024 + contrib, and are
 * renewed at period boundaries only, so nothing divides between two of them.
 */
#ifndef PLACE_PELT_H
#define PLACE_PELT_H

#include "types.h"

#define PELT_MAX 47742u
#define PELT_MIN_DIVIDER (PELT_MAX - 1024)

/* inv[n] = floor((2^32 - 1) * y^n) */
static const u32 pelt_inv[32] = {
	0xffffffff, 0xfa83b2da, 0xf5257d14, 0xefe4b99a, 0xeac0c6e6, 0xe5b906e6, 0xe0ccdeeb, 0xdbfbb796,
	0xd744fcc9, 0xd2a81d91, 0xce248c14, 0xc9b9bd85, 0xc5672a10, 0xc12c4cc9, 0xbd08a39e, 0xb8fbaf46,
	0xb504f333, 0xb123f581, 0xad583ee9, 0xa9a15ab4, 0xa5fed6a9, 0xa2704302, 0x9ef5325f, 0x9b8d39b9,
	0x9837f050, 0x94f4efa8, 0x91c3d373, 0x8ea4398a, 0x8b95c1e3, 0x88980e80, 0x85aac367, 0x82cd8698,
};

struct pelt {
	u64 last_ns;		/* time of the last update, its remainder below 1024 ns kept back */
	u64 load_sum;		/* x weight */
	u32 util_sum;		/* x 1024 */
	u32 contrib;		/* units of the current period already in the sums, 0..1023 */
	u32 load_avg;		/* weight units */
	u32 util_avg;		/* 0..1024 */
};

/* v * y^n, truncated. */
place_inline u64 pelt_decay(u64 v, u64 n)
{
	u64 inv;

	if (!n)
		return v;
	if (n > 32 * 63)
		return 0;
	v >>= n / 32;
	inv = pelt_inv[n & 31];
	return (v >> 32) * inv + (((v & 0xffffffff) * inv) >> 32);
}

/* Contribution of d1, d2 and d3 above, in units, for `periods` boundaries crossed. */
place_inline u32 pelt_segments(u64 periods, u32 d1, u32 d3)
{
	u32 c1 = pelt_decay(d1, periods);
	u32 c2 = PELT_MAX - pelt_decay(PELT_MAX, periods) - 1024;

	return c1 + c2 + d3;
}

/*
 * Accounts for the time since the last update: `weight` runnable weight (0: none) and `running`
 * (0 or 1).  Returns 1 if a period boundary was crossed and the averages are new.
 */
place_inline int pelt_update(struct pelt *p, u64 now_ns, u64 weight, u32 running)
{
	s64 delta_ns = now_ns - p->last_ns;
	u64 units, periods;
	u32 c, contrib = p->contrib & 1023;

	if (delta_ns < 0 || !p->last_ns) {	/* the clock went back, or first use */
		p->last_ns = now_ns;
		return 0;
	}
	units = (u64)delta_ns >> 10;
	if (!units)
		return 0;
	p->last_ns += units << 10;

	c = units;
	periods = (contrib + units) >> 10;
	if (periods) {
		p->load_sum = pelt_decay(p->load_sum, periods);
		p->util_sum = pelt_decay(p->util_sum, periods);
		c = pelt_segments(periods, 1024 - contrib, (contrib + units) & 1023);
	}
	p->contrib = (contrib + units) & 1023;
	p->load_sum += weight * c;
	if (running)
		p->util_sum += c << 10;
	if (!periods)
		return 0;
	p->load_avg = p->load_sum / (PELT_MIN_DIVIDER + p->contrib);
	p->util_avg = p->util_sum / (PELT_MIN_DIVIDER + p->contrib);
	return 1;
}

/* What util_avg will have become by now if nothing ran since the last update.  Writes nothing. */
place_inline u32 pelt_util_idle(const struct pelt *p, u64 now_ns)
{
	s64 delta_ns = now_ns - p->last_ns;

	return delta_ns <= 0 ? p->util_avg : pelt_decay(p->util_avg, (u64)delta_ns >> 20);
}

/*
 * SIS_UTIL: how many CPUs of a cache of nr_cpus a search may visit when their utilisations sum to
 * sum_util.  Falls with the square of the utilisation and reaches 0 at 100 / pct (policies.md A.5).
 */
place_inline u32 sis_util_nr_idle_scan(u64 sum_util, u32 nr_cpus, u32 pct)
{
	u64 x, t;

	if (!nr_cpus)
		return 0;
	x = sum_util / nr_cpus;
	t = x * x * pct * pct / (10000 * 1024);
	if (t > 1024)
		t = 1024;
	return nr_cpus * (1024 - t) / 1024;
}

#endif /* PLACE_PELT_H */
