/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * idle.bpf.h - what is kept of CPUs going idle and busy: idle stamps, has_idle_cores, loads of
 * idle CPUs, and from the utilisation the scan budget of SIS_UTIL.
 */
#ifndef PLACE_IDLE_BPF_H
#define PLACE_IDLE_BPF_H

#include "snapshot.bpf.h"
#include "task.bpf.h"

#define SCAN_UPDATE_NS 4000000	/* the kernel renews nr_idle_scan when it balances a cache */
#define MAX_AVG_IDLE_NS 1000000	/* twice the least cost the kernel assumes of balancing */

/* A core whose other threads all idle becomes an idle core when this CPU idles. */
__noinline int note_idle_core(u32 cpu, u32 llc_id)
{
	struct place_where *at = where_at(cpu);
	struct place_llc *llc = llc_at(llc_id);
	const struct cpumask *idle;
	bool all = true;
	u32 k;

	if (llc->has_idle_cores || llc->threads < 2)
		return 0;
	idle = scx_bpf_get_idle_cpumask();
	bpf_for(k, 0, llc->threads) {
		u32 local = (at->core + k * llc->stride) & (PLACE_MAX_WORDS * 64 - 1);
		u32 sibling = llc->cpu_of[local];

		if (!((llc->plane[k & (PLACE_MAX_THREADS - 1)].w[local >> 6] >> (local & 63)) & 1))
			continue;
		if (sibling != cpu && !mask_has_cpu(idle, sibling)) {
			all = false;
			break;
		}
	}
	scx_bpf_put_idle_cpumask(idle);
	if (all) {
		llc->has_idle_cores = 1;
		count(PLACE_CNT_event_cores_set);
	}
	return 0;
}

static __always_inline void enter_idle(struct place_cpu *c, u32 cpu, u64 now)
{
	struct place_where *at = where_at(cpu);

	if (!c->idle_since_ns)
		c->idle_since_ns = now;
	if (has_smt)
		note_idle_core(cpu, at->llc);
}

static __always_inline void leave_idle(struct place_cpu *c, u64 now)
{
	s64 d = now - c->idle_since_ns;

	if (d > 0) {
		c->avg_idle_ns += (s64)(d - c->avg_idle_ns) >> 3;
		if (c->avg_idle_ns > MAX_AVG_IDLE_NS)
			c->avg_idle_ns = MAX_AVG_IDLE_NS;
	}
	c->idle_since_ns = 0;
}

/*
 * Utilisation of a CPU, 0 to 1024, at time `wall` of the run-queue clocks with interrupts.  Nobody
 * updates the loads of an idle CPU.
 */
static __always_inline u32 cpu_util(u32 cpu, u64 wall)
{
	struct place_cpu *c = cpu_at(cpu);
	u32 util = c->load.util_avg, gone = c->inbox_load.util - c->load.seen.util;

	if (c->idle_since_ns)
		util = pelt_read_util(&c->load, clock_task_at(cpu, wall), 0);
	util = util > gone ? util - gone : 0;
	return util < 1024 ? util : 1024;
}

/*
 * Load of a CPU, with that of its sleeping tasks, at time `wall`, 0: now.  A busy one's is as of its
 * last event, as in the kernel.
 */
static __always_inline u32 cpu_load_by(u32 cpu, u64 wall)
{
	struct place_cpu *c = cpu_at(cpu);
	u32 load = c->load.load_avg, gone = c->inbox_load.load - c->load.seen.load;

	if (c->idle_since_ns)
		load = pelt_read_load(&c->load, clock_task_at(cpu, wall ? wall : scx_bpf_now()), 0);
	return load > gone ? load - gone : 0;
}

static __always_inline u32 cpu_load(u32 cpu)
{
	return cpu_load_by(cpu, 0);
}

/* The part of it whose tasks are runnable, with what decayed of others' since. */
static __always_inline u32 cpu_runnable_load(u32 cpu, u64 wall)
{
	struct place_cpu *c = cpu_at(cpu);
	u32 load = c->load.runnable_load_avg, gone = c->inbox_load.runnable - c->load.seen.runnable;

	if (c->idle_since_ns)
		load = pelt_read_runnable_load(&c->load, clock_task_at(cpu, wall), 0);
	return load > gone ? load - gone : 0;
}

/* SIS_UTIL: one CPU per cache and period renews the scan budget from the CPUs' utilisation. */
__noinline int update_nr_idle_scan(u32 llc_id)
{
	struct place_llc *llc = llc_at(llc_id);
	u64 sum = 0, now = scx_bpf_now();
	u32 w, n;

	if ((s64)(now - llc->next_scan_update_ns) < 0)
		return 0;
	llc->next_scan_update_ns = now + SCAN_UPDATE_NS;
	bpf_for(w, 0, nr_llc_words) {
		u64 left = llc->span.w[w & (PLACE_MAX_WORDS - 1)];

		while (left && can_loop) {
			sum += cpu_util(llc->cpu_of[(w * 64 + place_ctz(left)) &
						    (PLACE_MAX_WORDS * 64 - 1)], now);
			left &= left - 1;
		}
	}
	n = sis_util_nr_idle_scan(sum, llc->nr_cpus,
				  policy_at(slot_now())->param[PLACE_PARAM_imbalance_pct_llc]);
	if (llc->nr_idle_scan != n)
		llc->nr_idle_scan = n;
	return 0;
}

#endif /* PLACE_IDLE_BPF_H */
