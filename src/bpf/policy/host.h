/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * host.h - the host build of the policy files: the tables as data, the rules as functions.
 */
#ifndef PLACE_HOST_H
#define PLACE_HOST_H

#include "levels.h"
#include "pelt.h"
#include "place.h"
#include "policy.h"
#include "wake_affine.h"

/* One line of table.h or counters.h each.  `axis` and `stage` are names, all strings static. */
struct place_axis_info {
	const char *name, *dflt, *help;
	u32 placement;			/* 1: scope PLACEMENT, 0: scope MACHINE */
};

struct place_value_info {
	const char *axis, *name, *help, *provenance;
};

struct place_param_info {
	const char *axis, *name, *unit, *help, *provenance;
	u32 dflt, min, max;
};

struct place_preset_info {
	const char *name, *settings, *help, *provenance;
};

struct place_stage_info {
	const char *name, *help;
};

struct place_counter_info {
	const char *stage, *name, *help;
};

extern const struct place_axis_info place_axes[PLACE_NR_AXES];
extern const struct place_value_info place_values[PLACE_NR_VALUES];
extern const struct place_param_info place_params[PLACE_NR_PARAMS];
extern const struct place_preset_info place_presets[];
extern const u32 place_nr_presets;
extern const struct place_stage_info place_stages[PLACE_NR_STAGES];
extern const struct place_counter_info place_counters[PLACE_NR_COUNTERS];

u32 place_host_policy_checksum(const struct place_policy *pol);

/* The rules, for tests and replay.  nw: 1, 4 or 16 words per mask; anything else decides nothing. */
void place_host_wakeup(const struct place_policy *pol, const struct place_in *in,
		       const struct place_llc *llc_prev, const struct place_llc *llc_waker,
		       struct place_out *out, u32 nw);
void place_host_claim_lost(struct place_view *v, const struct place_llc *llc, u32 local, u32 core,
			   u32 nw);
void place_host_fork(const struct place_policy *pol, const struct place_in *in,
		     struct place_out *out);
/* rule: enum place_value of the axis `fork`, not stay. */
void place_host_fork_levels(struct place_fork_in *in, const struct place_levels *lv, u32 rule,
			    struct place_out *out);
u32 place_host_fork_needs_cpus(const struct place_policy *pol);	/* enum place_fork_facts */
u32 place_host_fork_imb_numa_nr(const struct place_levels *lv, u32 level, u32 position);
u32 place_host_reads_history(const struct place_policy *pol);
u32 place_host_affine_scale(u32 imbalance_pct);
u32 place_host_wake_wide(u32 waker_flips, u32 wakee_flips, u32 llc_size);
u32 place_host_wake_affine_weight(const struct wa_weight *a);	/* enum place_counter */
/* The rules of wake_affine_history.h: enum place_counter. */
u32 place_host_wake_balance_passive(const struct affine_loads *a);
u32 place_host_wake_affine_2627(const struct affine_loads *a);
u32 place_host_wake_affine_2637(const struct affine_loads *a);
u32 place_host_wake_affine_2638(const struct affine_loads *a);
u32 place_host_wake_affine_46(const struct affine_loads *a);
u32 place_host_affine_pulls(u32 branch);
void place_host_overlap_wake(struct place_overlap *o, u64 consumed_ns);
void place_host_overlap_sleep(struct place_overlap *o, u64 consumed_ns);
void place_host_cpu_load_tick(struct place_cpu_load *l, u32 jiffies, u32 weight);
u32 place_host_cpu_load_at(const struct place_cpu_load *l, u32 i, u32 jiffies);
s64 place_host_effective_load(u32 form, const struct group_level *g, u32 depth, s64 wl, s64 wg);
void place_host_record_wakee(struct place_flips *f, u64 wakee, u64 now_jiffies, u32 hz);
u32 place_host_nr_idle_scan(u64 sum_util, u32 nr_cpus, u32 pct);
u64 place_host_pelt_decay(u64 v, u64 periods);
u32 place_host_pelt_segments(u64 periods, u32 d1, u32 d3);
u32 place_host_pelt_task_update(struct pelt_task *t, u64 now_ns, u32 weight, u32 runnable, u32 running);
u32 place_host_pelt_task_ran(struct pelt_task *t, u64 since_ns, u64 now_ns, u32 weight);
u32 place_host_pelt_queue_update(struct pelt_queue *q, u64 now_ns, u64 weight_sum, u32 running);
void place_host_pelt_attach(struct pelt_queue *q, struct pelt_task *t, u32 weight);
void place_host_pelt_detach(struct pelt_queue *q, struct pelt_task *t, u32 weight);
void place_host_pelt_enqueue(struct pelt_queue *q, const struct pelt_task *t, u32 weight);
void place_host_pelt_dequeue(struct pelt_queue *q, const struct pelt_task *t, u32 weight);
void place_host_pelt_task_reweight(struct pelt_task *t, u32 weight);
void place_host_pelt_queue_reweight(struct pelt_queue *q, struct pelt_task *t, u32 old_weight,
				    u32 weight, u32 runnable);
void place_host_pelt_leave(struct pelt_task *t, u64 home_last_ns, u64 now_ns, u32 weight,
			   u32 runnable, struct pelt_inbox *out);
void place_host_pelt_queue_fold(struct pelt_queue *q, u32 load, u32 runnable, u32 util);
u32 place_host_pelt_read_load(const struct pelt_queue *q, u64 now_ns, u32 weight_sum);
u32 place_host_pelt_read_runnable_load(const struct pelt_queue *q, u64 now_ns, u32 weight_sum);
u32 place_host_pelt_read_util(const struct pelt_queue *q, u64 now_ns, u32 running);
u32 place_host_pelt_read_task_load(const struct pelt_task *t, u64 now_ns, u32 weight, u32 runnable);
void place_host_new_task_load(const struct place_policy *pol, struct pelt_task *t, u32 weight);
u32 place_host_new_task_is_stale(const struct place_policy *pol, const struct pelt_queue *q);
void place_host_new_task_attach(const struct place_policy *pol, struct pelt_task *t,
				struct pelt_queue *q, u32 weight, u32 capacity);
void place_host_new_task_catch_up(const struct place_policy *pol, struct pelt_task *t, u64 now_ns,
				  u32 weight);
u32 place_host_latency_bucket(u64 ns);
u32 place_host_latency_branch_row(u32 branch);	/* enum place_counter to enum place_latency_row */
u32 place_host_weight(u32 nice_index, u32 idle_policy);
u32 place_host_inverse(u32 weight);
u64 place_host_fair_delta(u64 delta_ns, u32 weight);
u64 place_host_fair_slice(const struct place_policy *pol, u32 w, u32 nr, u64 sum_w);
u64 place_host_place_woken(const struct place_policy *pol, u64 v, u64 min_v, u32 idle_policy);
u64 place_host_place_new(const struct place_policy *pol, u64 parent_v, u64 min_v, u32 w, u32 nr,
			 u64 sum_w);
u64 place_host_bound_lag(u64 v, u64 min_v, u32 w);
u64 place_host_bound_lead(u64 v, u64 min_v, u64 sum_w);
u32 place_host_turn_over(const struct place_policy *pol, u64 ran, u64 slice, u64 v, u64 leftmost_v);
u32 place_host_preempts(const struct place_policy *pol, u64 curr_v, u64 v, u32 w);

#endif /* PLACE_HOST_H */
