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
 *
 * Two kinds of record, each a cache line or less:
 *
 *   pelt_task    one task: how much of the time it was runnable, and ran
 *   pelt_queue   one CPU, three signals:
 *     load           sum of the loads of all tasks whose home is here, sleeping ones included
 *     runnable_load  sum of the loads of those that are runnable now (v4.8, kept beside the former)
 *     util           sum of their utilisations
 *
 * A queue is updated from its weights, not from its tasks, and both decay alike, so it stays the
 * sum of its tasks while they come and go with their averages:
 *
 *   1. first use       pelt_task starts as newload.h says, last_ns 0: it belongs to no queue.
 *   2. arrives         pelt_attach; if runnable, pelt_enqueue too.
 *   3. wakes up here   pelt_enqueue.             falls asleep: pelt_dequeue.
 *   4. leaves, queue's lock held    pelt_dequeue if runnable, then pelt_detach.
 *   5. leaves, lock not held        pelt_leave; the caller adds what it yields to the queue's inbox,
 *      atomically.  The inbox's sums only grow, modulo 2^32; the owner takes the difference at its
 *      next update: pelt_queue_fold, then pelt_queue_update.
 *
 * Before 2 to 4 the queue and the task must be updated to the same time, with the state they had up
 * to then.  Under these rules a queue differs from the sum of its tasks by less than 3 % of the
 * weight of each task that came or went, which decays like everything else, and a few units.
 *
 * Time: the CPU's run-queue clock without interrupts (clock_task; exec_start where that is current).
 * Weights are load weights, 1024 for nice 0, at most 88761; 1000 such tasks on a queue overflow
 * nothing.
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

struct pelt_task {
	u64 last_ns;		/* time of the last update, its remainder below 1024 ns kept back; 0: belongs to no queue */
	u32 load_sum;		/* not x weight */
	u32 util_sum;		/* x 1024 */
	u32 load_avg;		/* weight units */
	u16 util_avg;		/* 0..1024 */
	u16 contrib;		/* units of the current period already in the sums, 0..1023 */
};

/* What left a queue whose lock was not held: sums of averages, growing only, modulo 2^32. */
struct pelt_inbox {
	u32 load, util, runnable;
};

struct pelt_queue {
	u64 last_ns;
	u64 load_sum;		/* x weight */
	u64 runnable_load_sum;	/* x weight */
	u64 util_sum;		/* x 1024 */
	u32 load_avg;		/* weight units */
	u32 runnable_load_avg;	/* weight units */
	u32 util_avg;		/* of 1024; above it while tasks arrive */
	u32 contrib;
	struct pelt_inbox seen;	/* of the inbox, what is folded in */
	u32 pad;
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

/* One update's time: where the record stands after it, and what it adds to a signal that is held. */
struct pelt_step {
	u64 last_ns;
	u64 periods;		/* boundaries crossed */
	u32 contrib;		/* of the new current period */
	u32 units;		/* to add to the sums, once these are decayed */
};

/*
 * From a record's last_ns and contrib to now.  Returns 0 if nothing is to be added: less than a unit
 * has passed, the clock went back, or this is the first use.
 */
place_inline int pelt_step(struct pelt_step *s, u64 last_ns, u32 contrib, u64 now_ns)
{
	s64 delta_ns = now_ns - last_ns;
	u64 units = (u64)delta_ns >> 10;

	contrib &= 1023;
	s->last_ns = last_ns;
	s->periods = 0;
	s->contrib = contrib;
	s->units = units;
	if (delta_ns < 0 || !last_ns) {
		s->last_ns = now_ns;
		return 0;
	}
	if (!units)
		return 0;
	s->last_ns += units << 10;
	s->periods = (contrib + units) >> 10;
	s->contrib = (contrib + units) & 1023;
	if (s->periods)
		s->units = pelt_segments(s->periods, 1024 - contrib, s->contrib);
	return 1;
}

/*
 * Whole units from last_ns to now_ns if they end within the current period, and all others:
 * PELT_CROSSES, for a boundary, a clock that went back, the first use.
 */
#define PELT_CROSSES (~0ULL)
place_inline u64 pelt_units_within(u64 last_ns, u32 contrib, u64 now_ns)
{
	u64 units = (now_ns - last_ns) >> 10;

	return units + contrib < 1024 ? units : PELT_CROSSES;
}

place_rare int pelt_task_cross(struct pelt_task *t __arg_nonnull, u64 now_ns, u32 weight, u32 runnable, u32 running)
{
	struct pelt_step s;
	int any;

	if (!t->last_ns)
		return 0;
	any = pelt_step(&s, t->last_ns, t->contrib, now_ns);
	t->last_ns = s.last_ns;
	if (!any)
		return 0;
	t->contrib = s.contrib;
	t->load_sum = pelt_decay(t->load_sum, s.periods) + (runnable ? s.units : 0);
	t->util_sum = pelt_decay(t->util_sum, s.periods) + (runnable && running ? s.units << 10 : 0);
	if (!s.periods)
		return 0;
	t->load_avg = (u64)weight * t->load_sum / (PELT_MIN_DIVIDER + s.contrib);
	t->util_avg = t->util_sum / (PELT_MIN_DIVIDER + s.contrib);
	return 1;
}

/*
 * Accounts for the time since the last update: a task of load weight `weight` was runnable or not,
 * running or not.  Returns 1 if a period boundary was crossed and the averages are new.  A task that
 * belongs to no queue stays as it is.
 */
place_inline int pelt_task_update(struct pelt_task *t, u64 now_ns, u32 weight, u32 runnable,
				  u32 running)
{
	u64 units = pelt_units_within(t->last_ns, t->contrib, now_ns);

	if (units == PELT_CROSSES)
		return pelt_task_cross(t, now_ns, weight, runnable, running);
	t->last_ns += units << 10;
	t->contrib += units;
	if (runnable)
		t->load_sum += units;
	if (runnable && running)
		t->util_sum += units << 10;
	return 0;
}

/* A runnable task that waited until since_ns, if that is after its last update, and ran from there. */
place_inline int pelt_task_ran(struct pelt_task *t, u64 since_ns, u64 now_ns, u32 weight)
{
	u64 last_ns = t->last_ns;
	u64 units = pelt_units_within(last_ns, t->contrib, now_ns);
	s64 waited_ns = since_ns - last_ns;

	if (units == PELT_CROSSES) {
		if (waited_ns > 0)
			pelt_task_cross(t, since_ns, weight, 1, 0);
		return pelt_task_cross(t, now_ns, weight, 1, 1);
	}
	t->last_ns = last_ns + (units << 10);
	t->contrib += units;
	t->load_sum += units;
	if (waited_ns > 0)
		units -= (u64)waited_ns >> 10;
	t->util_sum += units << 10;
	return 0;
}

place_rare int pelt_queue_cross(struct pelt_queue *q __arg_nonnull, u64 now_ns, u64 weight_sum, u32 running)
{
	struct pelt_step s;
	int any = pelt_step(&s, q->last_ns, q->contrib, now_ns);
	u32 divider;
	u64 add;

	q->last_ns = s.last_ns;
	if (!any)
		return 0;
	add = weight_sum * s.units;
	q->contrib = s.contrib;
	q->load_sum = pelt_decay(q->load_sum, s.periods) + add;
	q->runnable_load_sum = pelt_decay(q->runnable_load_sum, s.periods) + add;
	q->util_sum = pelt_decay(q->util_sum, s.periods) +
		      (weight_sum && running ? (u64)s.units << 10 : 0);
	if (!s.periods)
		return 0;
	divider = PELT_MIN_DIVIDER + s.contrib;
	q->load_avg = q->load_sum / divider;
	q->runnable_load_avg = q->runnable_load_sum / divider;
	q->util_avg = q->util_sum / divider;
	return 1;
}

/*
 * The same for a queue whose runnable tasks, the running one included, weigh `weight_sum`; `running`:
 * one of them runs.  Both as they were since the last update.
 */
place_inline int pelt_queue_update(struct pelt_queue *q, u64 now_ns, u64 weight_sum, u32 running)
{
	u64 units = pelt_units_within(q->last_ns, q->contrib, now_ns), add = weight_sum * units;

	if (units == PELT_CROSSES)
		return pelt_queue_cross(q, now_ns, weight_sum, running);
	q->last_ns += units << 10;
	q->contrib += units;
	q->load_sum += add;
	q->runnable_load_sum += add;
	if (weight_sum && running)
		q->util_sum += units << 10;
	return 0;
}

place_inline void pelt_add(u32 *avg, u64 *sum, u32 by_avg, u64 by_sum)
{
	*avg += by_avg;
	*sum += by_sum;
}

/*
 * Takes a share out of a signal: never below zero, and the sum never below what the average that is
 * left stands for, lest the next renewal lose more than was taken.
 */
place_inline void pelt_sub(u32 *avg, u64 *sum, u32 by_avg, u64 by_sum)
{
	u64 least;

	*avg = *avg > by_avg ? *avg - by_avg : 0;
	*sum = *sum > by_sum ? *sum - by_sum : 0;
	least = (u64)*avg * PELT_MIN_DIVIDER;
	if (*sum < least)
		*sum = least;
}

/*
 * x / weight exactly, by the inverse 0xffffffff / weight (fair_inverse()), for x below 2^32: the
 * product is low by one at most.
 */
place_inline u32 pelt_div_weight(u64 x, u32 weight, u32 inverse)
{
	u64 q = (x * inverse) >> 32;

	return x - q * weight >= weight ? q + 1 : q;
}

/*
 * The task becomes one of the queue's, which the caller has updated: under the lock, once, when it
 * is new or comes from elsewhere (last_ns 0).  It takes over the queue's clock and period.
 */
place_inline void pelt_attach(struct pelt_queue *q, struct pelt_task *t, u32 weight, u32 inverse)
{
	u32 divider = PELT_MIN_DIVIDER + q->contrib;
	u64 sum = (u64)t->load_avg * divider;

	t->last_ns = q->last_ns;
	t->contrib = q->contrib;
	t->util_sum = t->util_avg * divider;
	t->load_sum = weight < sum ? pelt_div_weight(sum, weight, inverse) : 1;
	pelt_add(&q->load_avg, &q->load_sum, t->load_avg, (u64)weight * t->load_sum);
	pelt_add(&q->util_avg, &q->util_sum, t->util_avg, t->util_sum);
}

/* It leaves, under the lock, both updated to the same time.  pelt_dequeue comes before. */
place_inline void pelt_detach(struct pelt_queue *q, struct pelt_task *t, u32 weight)
{
	pelt_sub(&q->load_avg, &q->load_sum, t->load_avg, (u64)weight * t->load_sum);
	pelt_sub(&q->util_avg, &q->util_sum, t->util_avg, t->util_sum);
	t->last_ns = 0;
}

/* It becomes runnable, both updated to the same time; weight_sum counts it from the next update. */
place_inline void pelt_enqueue(struct pelt_queue *q, const struct pelt_task *t, u32 weight)
{
	pelt_add(&q->runnable_load_avg, &q->runnable_load_sum, t->load_avg, (u64)weight * t->load_sum);
}

/* It sleeps, or leaves while runnable, both updated to the same time. */
place_inline void pelt_dequeue(struct pelt_queue *q, const struct pelt_task *t, u32 weight)
{
	pelt_sub(&q->runnable_load_avg, &q->runnable_load_sum, t->load_avg, (u64)weight * t->load_sum);
}

/*
 * Its weight changes while it belongs to the queue, both updated to the same time.  Divides: nice
 * values change rarely.  Where its queue's lock is not held: pelt_leave, pelt_task_reweight, and
 * pelt_attach where it is next seen.  The same before it was ever attached.
 */
place_inline void pelt_task_reweight(struct pelt_task *t, u32 weight)
{
	t->load_avg = (u64)weight * t->load_sum / (PELT_MIN_DIVIDER + (t->contrib & 1023));
}

place_inline void pelt_queue_reweight(struct pelt_queue *q, struct pelt_task *t, u32 old_weight,
				      u32 weight, u32 runnable)
{
	if (runnable)
		pelt_dequeue(q, t, old_weight);
	pelt_sub(&q->load_avg, &q->load_sum, t->load_avg, (u64)old_weight * t->load_sum);
	pelt_task_reweight(t, weight);
	pelt_add(&q->load_avg, &q->load_sum, t->load_avg, (u64)weight * t->load_sum);
	if (runnable)
		pelt_enqueue(q, t, weight);
}

/*
 * The task leaves a queue whose lock is not held; it is not running.  home_last_ns: the queue's
 * last_ns, read once; now_ns: that CPU's clock by now, as well as it can be told.  *out is what the
 * caller adds to the queue's inbox, field by field, atomically.
 *   1. up to the queue's last update the task follows, so that the queue loses what it holds of it;
 *   2. from there to now the task goes on alone, since nobody updates an idle CPU.
 */
place_inline void pelt_leave(struct pelt_task *t, u64 home_last_ns, u64 now_ns, u32 weight,
			     u32 runnable, struct pelt_inbox *out)
{
	out->load = out->runnable = out->util = 0;
	if (!t->last_ns)
		return;
	if (home_last_ns > t->last_ns)
		pelt_task_update(t, home_last_ns, weight, runnable, 0);
	out->load = t->load_avg;
	out->util = t->util_avg;
	if (runnable)
		out->runnable = t->load_avg;
	if (now_ns > t->last_ns)
		pelt_task_update(t, now_ns, weight, runnable, 0);
	t->last_ns = 0;
}

/*
 * The owner takes out what others removed: under the lock, before each pelt_queue_update, with a
 * copy of the inbox.  Three comparisons where nothing came.
 */
place_inline void pelt_queue_fold(struct pelt_queue *q, u32 load, u32 runnable, u32 util)
{
	u32 divider = PELT_MIN_DIVIDER + (q->contrib & 1023);
	u32 d;

	d = load - q->seen.load;
	if (d) {
		pelt_sub(&q->load_avg, &q->load_sum, d, (u64)d * divider);
		q->seen.load = load;
	}
	d = runnable - q->seen.runnable;
	if (d) {
		pelt_sub(&q->runnable_load_avg, &q->runnable_load_sum, d, (u64)d * divider);
		q->seen.runnable = runnable;
	}
	d = util - q->seen.util;
	if (d) {
		pelt_sub(&q->util_avg, &q->util_sum, d, (u64)d * divider);
		q->seen.util = util;
	}
}

/*
 * Reading without writing, from any CPU: what an average will have become by now if the signal was
 * held at `held` since the last update.  Periods are counted, what is within one is not, so this
 * differs from an update by less than a period's share, 2.3 % of what is held or left.
 */
place_inline u32 pelt_read(u32 avg, u32 held, u64 last_ns, u32 contrib, u64 now_ns)
{
	s64 delta_ns = now_ns - last_ns;
	u64 n;

	if (delta_ns <= 0)
		return avg;
	n = ((contrib & 1023) + ((u64)delta_ns >> 10)) >> 10;
	return pelt_decay(avg, n) + held - pelt_decay(held, n);
}

/* weight_sum: of the tasks that are runnable there, 0 for an idle CPU; now_ns: that CPU's clock. */
place_inline u32 pelt_read_load(const struct pelt_queue *q, u64 now_ns, u32 weight_sum)
{
	return pelt_read(q->load_avg, weight_sum, q->last_ns, q->contrib, now_ns);
}

place_inline u32 pelt_read_runnable_load(const struct pelt_queue *q, u64 now_ns, u32 weight_sum)
{
	return pelt_read(q->runnable_load_avg, weight_sum, q->last_ns, q->contrib, now_ns);
}

/* running: a task of this scheduler runs there. */
place_inline u32 pelt_read_util(const struct pelt_queue *q, u64 now_ns, u32 running)
{
	return pelt_read(q->util_avg, running ? 1024 : 0, q->last_ns, q->contrib, now_ns);
}

/* now_ns: its home CPU's clock. */
place_inline u32 pelt_read_task_load(const struct pelt_task *t, u64 now_ns, u32 weight, u32 runnable)
{
	if (!t->last_ns)
		return t->load_avg;
	return pelt_read(t->load_avg, runnable ? weight : 0, t->last_ns, t->contrib, now_ns);
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
