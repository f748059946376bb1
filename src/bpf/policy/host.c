/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * host.c - the policy files compiled for the host: the tables that name everything, and the rules
 * behind plain functions for the tests.
 */
#include "host.h"
#include "effective_load.h"
#include "fair_queue.h"
#include "latency.h"
#include "newload.h"
#include "placement.h"

#define PLACEMENT 1
#define MACHINE 0

const struct place_axis_info place_axes[PLACE_NR_AXES] = {
#define PLACE_AXIS(axis, dflt, scope, help) { #axis, #dflt, help, scope },
#include "table.h"
};

const struct place_value_info place_values[PLACE_NR_VALUES] = {
#define PLACE_VALUE(axis, value, help, provenance) { #axis, #value, help, provenance },
#include "table.h"
};

const struct place_param_info place_params[PLACE_NR_PARAMS] = {
#define PLACE_PARAM(axis, name, dflt, min, max, unit, help, provenance) \
	{ #axis, #name, unit, help, provenance, dflt, min, max },
#include "table.h"
};

const struct place_preset_info place_presets[] = {
#define PLACE_PRESET(name, settings, help, provenance) { name, settings, help, provenance },
#include "table.h"
};

const u32 place_nr_presets = sizeof(place_presets) / sizeof(place_presets[0]);

const struct place_stage_info place_stages[PLACE_NR_STAGES] = {
#define PLACE_STAGE(stage, help) { #stage, help },
#include "counters.h"
};

const struct place_counter_info place_counters[PLACE_NR_COUNTERS] = {
#define PLACE_COUNTER(stage, name, help) { #stage, #name, help },
#include "counters.h"
};

u32 place_host_policy_checksum(const struct place_policy *pol)
{
	return place_policy_checksum(pol);
}

void place_host_wakeup(const struct place_policy *pol, const struct place_in *in,
		       const struct place_llc *llc_prev, const struct place_llc *llc_waker,
		       struct place_out *out, u32 nw)
{
	struct place_search memory;

	if (nw == 1)
		place_wakeup(pol, in, llc_prev, llc_waker, &memory, out, 1);
	else if (nw == 4)
		place_wakeup(pol, in, llc_prev, llc_waker, &memory, out, 4);
	else if (nw == 16)
		place_wakeup(pol, in, llc_prev, llc_waker, &memory, out, 16);
}

void place_host_claim_lost(struct place_view *v, const struct place_llc *llc, u32 local, u32 core,
			   u32 nw)
{
	struct place_search memory;

	if (nw == 1)
		place_claim_lost(v, llc, local, core, &memory, 1);
	else if (nw == 4)
		place_claim_lost(v, llc, local, core, &memory, 4);
	else if (nw == 16)
		place_claim_lost(v, llc, local, core, &memory, 16);
}

void place_host_fork(const struct place_policy *pol, const struct place_in *in,
		     struct place_out *out)
{
	place_fork(pol, in, out);
}

void place_host_fork_levels(struct place_fork_in *in, const struct place_levels *lv, u32 rule,
			    struct place_out *out)
{
	place_fork_levels(in, lv, rule, out);
}

u32 place_host_fork_needs_cpus(const struct place_policy *pol)
{
	return fork_needs_cpus(pol);
}

u32 place_host_reads_history(const struct place_policy *pol)
{
	return place_reads_history(pol);
}

u32 place_host_fork_imb_numa_nr(const struct place_levels *lv, u32 level, u32 position)
{
	return fork_imb_numa_nr(lv, level, position);
}

u32 place_host_affine_scale(u32 imbalance_pct)
{
	return affine_scale(imbalance_pct);
}

u32 place_host_wake_wide(u32 waker_flips, u32 wakee_flips, u32 llc_size)
{
	return wake_wide(waker_flips, wakee_flips, llc_size);
}

u32 place_host_wake_affine_weight(const struct wa_weight *a)
{
	return wake_affine_weight(a);
}

u32 place_host_wake_balance_passive(const struct affine_loads *a)
{
	return wake_balance_passive(a);
}

u32 place_host_wake_affine_2627(const struct affine_loads *a)
{
	return wake_affine_2627(a);
}

u32 place_host_wake_affine_2637(const struct affine_loads *a)
{
	return wake_affine_2637(a);
}

u32 place_host_wake_affine_2638(const struct affine_loads *a)
{
	return wake_affine_2638(a);
}

u32 place_host_wake_affine_46(const struct affine_loads *a)
{
	return wake_affine_46(a);
}

u32 place_host_affine_pulls(u32 branch)
{
	return affine_pulls(branch);
}

void place_host_overlap_wake(struct place_overlap *o, u64 consumed_ns)
{
	overlap_wake(o, consumed_ns);
}

void place_host_overlap_sleep(struct place_overlap *o, u64 consumed_ns)
{
	overlap_sleep(o, consumed_ns);
}

void place_host_cpu_load_tick(struct place_cpu_load *l, u32 jiffies, u32 weight)
{
	cpu_load_tick(l, jiffies, weight);
}

u32 place_host_cpu_load_at(const struct place_cpu_load *l, u32 i, u32 jiffies)
{
	return cpu_load_at(l, i, jiffies);
}

s64 place_host_effective_load(u32 form, const struct group_level *g, u32 depth, s64 wl, s64 wg)
{
	return effective_load(form, g, depth, wl, wg);
}

void place_host_record_wakee(struct place_flips *f, u64 wakee, u64 now_jiffies, u32 hz)
{
	record_wakee(f, wakee, now_jiffies, hz);
}

u32 place_host_nr_idle_scan(u64 sum_util, u32 nr_cpus, u32 pct)
{
	return sis_util_nr_idle_scan(sum_util, nr_cpus, pct);
}

u64 place_host_pelt_decay(u64 v, u64 periods)
{
	return pelt_decay(v, periods);
}

u32 place_host_pelt_segments(u64 periods, u32 d1, u32 d3)
{
	return pelt_segments(periods, d1, d3);
}

u32 place_host_pelt_task_update(struct pelt_task *t, u64 now_ns, u32 weight, u32 runnable, u32 running)
{
	return pelt_task_update(t, now_ns, weight, runnable, running);
}

u32 place_host_pelt_task_ran(struct pelt_task *t, u64 since_ns, u64 now_ns, u32 weight)
{
	return pelt_task_ran(t, since_ns, now_ns, weight);
}

u32 place_host_pelt_queue_update(struct pelt_queue *q, u64 now_ns, u64 weight_sum, u32 running)
{
	return pelt_queue_update(q, now_ns, weight_sum, running);
}

void place_host_pelt_attach(struct pelt_queue *q, struct pelt_task *t, u32 weight)
{
	pelt_attach(q, t, weight, fair_inverse(weight));
}

void place_host_pelt_detach(struct pelt_queue *q, struct pelt_task *t, u32 weight)
{
	pelt_detach(q, t, weight);
}

void place_host_pelt_enqueue(struct pelt_queue *q, const struct pelt_task *t, u32 weight)
{
	pelt_enqueue(q, t, weight);
}

void place_host_pelt_dequeue(struct pelt_queue *q, const struct pelt_task *t, u32 weight)
{
	pelt_dequeue(q, t, weight);
}

void place_host_pelt_task_reweight(struct pelt_task *t, u32 weight)
{
	pelt_task_reweight(t, weight);
}

void place_host_pelt_queue_reweight(struct pelt_queue *q, struct pelt_task *t, u32 old_weight,
				    u32 weight, u32 runnable)
{
	pelt_queue_reweight(q, t, old_weight, weight, runnable);
}

void place_host_pelt_leave(struct pelt_task *t, u64 home_last_ns, u64 now_ns, u32 weight,
			   u32 runnable, struct pelt_inbox *out)
{
	pelt_leave(t, home_last_ns, now_ns, weight, runnable, out);
}

void place_host_pelt_queue_fold(struct pelt_queue *q, u32 load, u32 runnable, u32 util)
{
	pelt_queue_fold(q, load, runnable, util);
}

u32 place_host_pelt_read_load(const struct pelt_queue *q, u64 now_ns, u32 weight_sum)
{
	return pelt_read_load(q, now_ns, weight_sum);
}

u32 place_host_pelt_read_runnable_load(const struct pelt_queue *q, u64 now_ns, u32 weight_sum)
{
	return pelt_read_runnable_load(q, now_ns, weight_sum);
}

u32 place_host_pelt_read_util(const struct pelt_queue *q, u64 now_ns, u32 running)
{
	return pelt_read_util(q, now_ns, running);
}

u32 place_host_pelt_read_task_load(const struct pelt_task *t, u64 now_ns, u32 weight, u32 runnable)
{
	return pelt_read_task_load(t, now_ns, weight, runnable);
}

void place_host_new_task_load(const struct place_policy *pol, struct pelt_task *t, u32 weight)
{
	new_task_load(pol, t, weight);
}

u32 place_host_new_task_is_stale(const struct place_policy *pol, const struct pelt_queue *q)
{
	return new_task_is_stale(pol, q);
}

void place_host_new_task_attach(const struct place_policy *pol, struct pelt_task *t,
				struct pelt_queue *q, u32 weight, u32 capacity)
{
	new_task_attach(pol, t, q, weight, fair_inverse(weight), capacity);
}

void place_host_new_task_catch_up(const struct place_policy *pol, struct pelt_task *t, u64 now_ns,
				  u32 weight)
{
	new_task_catch_up(pol, t, now_ns, weight);
}

u32 place_host_latency_bucket(u64 ns)
{
	return latency_bucket(ns);
}

u32 place_host_latency_branch_row(u32 branch)
{
	return latency_branch_row(branch);
}

u32 place_host_weight(u32 nice_index, u32 idle_policy)
{
	return fair_weight(nice_index, idle_policy);
}

u32 place_host_inverse(u32 weight)
{
	return fair_inverse(weight);
}

u64 place_host_fair_delta(u64 delta_ns, u32 weight)
{
	return fair_delta(delta_ns, weight, fair_inverse(weight));
}

u64 place_host_fair_slice(const struct place_policy *pol, u32 w, u32 nr, u64 sum_w)
{
	return fair_slice(pol, w, nr, sum_w);
}

u64 place_host_place_woken(const struct place_policy *pol, u64 v, u64 min_v, u32 idle_policy)
{
	return fair_place_woken(pol, v, min_v, idle_policy);
}

u64 place_host_place_new(const struct place_policy *pol, u64 parent_v, u64 min_v, u32 w, u32 nr,
			 u64 sum_w)
{
	return fair_place_new(pol, parent_v, min_v, w, fair_inverse(w), nr, sum_w);
}

u32 place_host_preempts(const struct place_policy *pol, u64 curr_v, u64 v, u32 w)
{
	return fair_preempts(pol, curr_v, v, w, fair_inverse(w));
}

u64 place_host_bound_lead(u64 v, u64 min_v, u64 sum_w)
{
	return fair_bound_lead(v, min_v, sum_w);
}

u32 place_host_turn_over(const struct place_policy *pol, u64 ran, u64 slice, u64 v, u64 leftmost_v)
{
	return fair_turn_over(pol, ran, slice, v, leftmost_v);
}

u64 place_host_bound_lag(u64 v, u64 min_v, u32 w)
{
	return fair_bound_lag(v, min_v, w);
}
