/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * table.h - every policy axis, every value of it, every numeric parameter.  The only definition.
 *
 * Expanded into the C enums of policy.h, into the tables of host.c that the Rust program reads
 * (names, help, ranges, provenance for --help, `policy list`, the parser and the tests).  To add
 * a value: add its line here, then its rule; everything else follows.
 *
 *   PLACE_AXIS(axis, default value, scope, help)
 *       scope PLACEMENT: may later differ per cgroup;  MACHINE: an axis of a shared queue.
 *   PLACE_VALUE(axis, value, help, provenance)
 *   PLACE_PARAM(axis, name, default, min, max, unit, help, provenance)
 *       axis: the axis the parameter belongs to.
 *   PLACE_PRESET(name, settings, help, provenance)
 *       settings: a value for each axis that the preset sets, and numbers of parameters of these
 *       axes; their other parameters go to their defaults.  What it does not name stays as it is.
 *
 * Provenance: the kernel version or the mail a rule follows, the words of policies.md.
 */

#ifndef PLACE_AXIS
#define PLACE_AXIS(axis, dflt, scope, help)
#endif
#ifndef PLACE_VALUE
#define PLACE_VALUE(axis, value, help, provenance)
#endif
#ifndef PLACE_PARAM
#define PLACE_PARAM(axis, name, dflt, min, max, unit, help, provenance)
#endif
#ifndef PLACE_PRESET
#define PLACE_PRESET(name, settings, help, provenance)
#endif

PLACE_AXIS(idle_search, sis_modern, PLACEMENT,
	   "How the target's last-level cache is searched for an idle CPU at a wakeup")
PLACE_VALUE(idle_search, none, "No search: the wakee goes to the target CPU",
	    "v2.6.27 without SMT")
PLACE_VALUE(idle_search, scan_2637,
	    "Target, else the first idle CPU of the target's core if that holds both CPUs, else of the cache",
	    "v2.6.37, v2.6.38; all columns of the wake_affine mail of January 2011")
PLACE_VALUE(idle_search, mainline_46,
	    "Idle core anywhere in the cache, else an idle thread of the target's own core",
	    "v4.6; column Mainline of the schbench mail of May 2016")
PLACE_VALUE(idle_search, mason_first,
	    "Target, previous CPU, else the first idle CPU of the cache",
	    "RFC of 5 April 2016, not merged; as remembered")
PLACE_VALUE(idle_search, mason_pkg,
	    "mainline_46, else the first idle CPU of the cache unless the target has two tasks or the wakee is cache hot",
	    "Patch of April 2016, not merged; as remembered, and believed to be column Mason of the schbench mail")
PLACE_VALUE(idle_search, peter_rfc,
	    "As sis_49; whether it divided the idle time is not certain, sis_fudge=1 is the form that did not",
	    "Column Peter of the schbench mail of May 2016, the first posting of what v4.9 has; inferred from that")
PLACE_VALUE(idle_search, sis_49,
	    "Idle core, else any idle CPU unless a scan costs too much for the idle time there is, else the target's core",
	    "v4.9")
PLACE_VALUE(idle_search, sis_avg_cpu,
	    "Target, previous and recent CPU, then as sis_49 with the throttle of v5.10",
	    "v5.10 with feature bit SIS_AVG_CPU and without SIS_PROP; capacities are taken as symmetric")
PLACE_VALUE(idle_search, sis_prop,
	    "Target, previous and recent CPU, idle core, else as many CPUs as the idle time pays for, else the target's core",
	    "v5.10 with feature bit SIS_PROP, its default; capacities are taken as symmetric")
PLACE_VALUE(idle_search, sis_util,
	    "As sis_modern without L2 clusters",
	    "v6.1 with feature bit SIS_UTIL, its default; capacities are taken as symmetric")
PLACE_VALUE(idle_search, sis_modern,
	    "Target, previous and recent CPU, then one scan for cores or threads within the SIS_UTIL budget",
	    "v6.12; capacities are taken as symmetric")
PLACE_VALUE(idle_search, scx_default,
	    "The kernel's own search (scx_bpf_select_cpu_dfl); ignores affine, opaque to the counters of branches",
	    "sched_ext of the running kernel")

PLACE_PARAM(idle_search, sis_fudge, 512, 1, 65536, "divisor",
	    "Of the average idle time where it limits scans (peter_rfc, sis_49, sis_avg_cpu, sis_prop); 1: none",
	    "v4.9 to v5.10")
PLACE_PARAM(idle_search, scan_cost_ns, 60, 0, 10000, "ns",
	    "What the same rules take a look at one CPU to cost; the kernel measures it", "emulated")

PLACE_AXIS(affine, wa_414, PLACEMENT,
	   "Whether a wakeup's search starts at the waker's CPU or at the wakee's previous one")
PLACE_VALUE(affine, off, "Always the previous CPU", "comparison")
PLACE_VALUE(affine, always, "Always the waker's CPU, where the wakee may run there", "comparison")
PLACE_VALUE(affine, v2626,
	    "The waker's CPU if not too loaded with the wakee, or both sleep soon after waking; loads now and at the last tick, weights of tasks (imbalance 125, threads 110)",
	    "v2.6.26; tbench mail of 2008")
PLACE_VALUE(affine, v2627,
	    "As v2626, through effective_load of groups, the same while all tasks are of the root group (imbalance 125, threads 110)",
	    "v2.6.27; tbench mail of 2008. Wakeups of tasks that may run on one CPU only are not seen as their wakers'")
PLACE_VALUE(affine, v2637,
	    "The waker's CPU if not too loaded with the wakee by the weights of tasks now, or else empty (imbalance 125, threads 110)",
	    "v2.6.37; goal of the wake_affine mail of January 2011")
PLACE_VALUE(affine, v2638rc,
	    "As v2637, with an effective_load that is wrong where a group has no task yet; as long as all tasks are of the root group the same (imbalance 125, threads 110)",
	    "v2.6.38-rc1; the broken state of the mail of January 2011")
PLACE_VALUE(affine, v2638,
	    "As v2637, with signed loads and effective_load by shares; as long as all tasks are of the root group the same (imbalance 125, threads 110)",
	    "v2.6.38; first patch of the mail of January 2011")
PLACE_VALUE(affine, v2638_nohot,
	    "As v2638, but a wakee that ran less than migration_cost_us ago stays (imbalance 125, threads 110)",
	    "third patch of the mail of January 2011, never merged; whether sync wakeups count is not known")
PLACE_VALUE(affine, v46,
	    "The waker's CPU if not too loaded with the wakee by the tracked loads of what is runnable; wake_wide first (imbalance 125, cache 117, threads 110)",
	    "v4.6 to v4.9; without the capacity veto of v4.10")
PLACE_VALUE(affine, wa_414,
	    "An idle waker or previous CPU, or a waker about to sleep, decides; else the loads of the two CPUs",
	    "v4.14 to v7.3")
PLACE_PARAM(affine, wa_idle, 1, 0, 1, "switch", "wa_414 compares the idleness of the two CPUs",
	    "feature bit WA_IDLE, v4.14")
PLACE_PARAM(affine, wa_weight, 1, 0, 1, "switch", "wa_414 compares the loads of the two CPUs",
	    "feature bit WA_WEIGHT, v4.14")
PLACE_PARAM(affine, wa_bias, 1, 0, 1, "switch",
	    "That comparison favours the waker's CPU by half the imbalance percentage", "feature bit WA_BIAS, v4.14")
PLACE_PARAM(affine, wake_wide, 1, 0, 1, "switch",
	    "wa_414 and v46 leave wakees where they were if their waker feeds more of them than its cache has CPUs",
	    "v4.3 to v7.3")
PLACE_PARAM(affine, migration_cost_us, 500, 0, 4294967295, "us",
	    "A task that ran less than this ago is cache hot (v2638_nohot; idle_search=mason_pkg); 0: none, 4294967295: all; overlaps below it are short (v2626, v2627)",
	    "v2.6.26 to v7.3")
PLACE_PARAM(affine, nohot_sync, 1, 0, 1, "switch", "v2638_nohot keeps hot wakees of sync wakeups, too",
	    "not known; the mail of January 2011 does not say")
PLACE_PARAM(affine, wake_idx, 1, 0, 2, "index",
	    "v2626 and v2627 compare with the load at the last tick (1), an average over two (2) or loads now only (0)",
	    "v2.6.26, but for threads of a core, where it is 0")
PLACE_PARAM(affine, imbalance_pct_smt, 110, 100, 200, "percent", "Imbalance percentage within a core", "v2.6.26 to v7.3")
PLACE_PARAM(affine, imbalance_pct_llc, 117, 100, 200, "percent",
	    "Imbalance percentage within a last-level cache, for all values of affine that compare and for the SIS_UTIL budget",
	    "v4.6 to v7.3; 125 before")
PLACE_PARAM(affine, imbalance_pct_wide, 117, 100, 200, "percent",
	    "Imbalance percentage between caches", "v6.12; 125 before v5.10")

PLACE_AXIS(fork, stay, PLACEMENT, "Where a new task starts")
PLACE_VALUE(fork, stay, "On its parent's CPU", "comparison")
PLACE_VALUE(fork, v2627,
	    "Down the levels of the machine to the group and CPU with the least weight of runnable tasks, idle or not",
	    "v2.6.26 to v2.6.38; weights as they are now, where v2.6.27 has averages of ticks")
PLACE_VALUE(fork, v48,
	    "Down the levels of the machine, each time to the least loaded group and its idlest CPU",
	    "v4.6 to v4.9; loads of what is runnable")
PLACE_VALUE(fork, fig_v1r1,
	    "As v410, with other thresholds for the loads that include sleeping tasks",
	    "column find-idle-group-v1r1 of the hackbench mail of October 2016, as remembered")
PLACE_VALUE(fork, v410,
	    "As v48; groups whose runnable loads are alike are told apart by their loads with those of sleeping tasks",
	    "v4.10")
PLACE_VALUE(fork, v612,
	    "Groups by how full they are, then by idle CPUs or load; stays in its node while that is nearly idle",
	    "v6.12 and v7.3; capacities are taken as symmetric")

PLACE_AXIS(newload, full, PLACEMENT, "The load a new task is given before it has run")
PLACE_VALUE(newload, none, "No load and no utilisation", "comparison")
PLACE_VALUE(newload, v46, "Its weight as load, full utilisation", "v4.6")
PLACE_VALUE(newload, v48_stale,
	    "Its weight as load, decayed by the time that its CPU's clock stood still; half of the free utilisation, likewise",
	    "v4.8; the regression of the hackbench mail of October 2016")
PLACE_VALUE(newload, v48_fixed_decay,
	    "As v48_stale, but the task's own load does not decay, only the CPU's sum with sleeping tasks",
	    "Matt Fleming's patch on v4.8, October 2016; its test as remembered")
PLACE_VALUE(newload, v48_clock, "As v48_stale with a fresh clock, so nothing decays",
	    "Peter Zijlstra's answer to that patch; v4.11")
PLACE_VALUE(newload, full,
	    "Its weight as load; utilisation as the CPU's other tasks have it per weight, at most half of what is left",
	    "v6.12")

PLACE_AXIS(claim, test_and_clear, PLACEMENT,
	   "What happens when two wakers choose the same idle CPU at the same time")
PLACE_VALUE(claim, test_and_clear, "The loser decides again without that CPU", "sched_ext")
PLACE_VALUE(claim, test_only, "Both wakees go there, as in the fair class", "the fair class, every version")

PLACE_AXIS(fair, cfs_61, MACHINE, "The order of tasks on one CPU")
PLACE_VALUE(fair, cfs_61, "Virtual runtime with sleeper credit, tick and wakeup preemption", "v6.1")
PLACE_PARAM(fair, latency_us, 6000, 100, 200000, "us",
	    "Period in which every runnable task runs once; times 1 + log2(CPUs, at most 8)", "v2.6.37 to v6.5")
PLACE_PARAM(fair, min_granularity_us, 750, 50, 100000, "us",
	    "Shortest slice; times 1 + log2(CPUs, at most 8)", "v2.6.37 to v6.5")
PLACE_PARAM(fair, wakeup_granularity_us, 1000, 0, 100000, "us",
	    "Lead in virtual time that a wakee needs to preempt; times 1 + log2(CPUs, at most 8)", "v2.6.37 to v6.5")

PLACE_AXIS(buddy, off, MACHINE, "Whether a task picked out of order runs before the leftmost")
PLACE_VALUE(buddy, off, "Never", "v2.6.23")

PLACE_AXIS(group, none, MACHINE, "How cgroup weights enter the order on a CPU")
PLACE_VALUE(group, none, "They do not: every task competes with its own weight", "no group scheduling")

PLACE_AXIS(balance, newidle, MACHINE, "How waiting tasks reach idle CPUs")
PLACE_VALUE(balance, off, "They wait where they were placed", "comparison")
PLACE_VALUE(balance, newidle,
	    "A CPU about to idle pulls from the longest queue of its cache, node, machine; a tick with waiting tasks kicks the nearest idle CPU",
	    "newidle_balance and the nohz kick of the fair class, without their cost checks")

PLACE_AXIS(cpufreq, max, MACHINE, "The performance level asked of the CPU frequency governor")
PLACE_VALUE(cpufreq, max, "The maximum, as sched_ext leaves it", "sched_ext")

/* The kernels of the mails, as far as the axes exist: buddies and groups are not among them yet. */
#define PLACE_PCT_46 " imbalance_pct_smt=110 imbalance_pct_llc=117 imbalance_pct_wide=125"
#define PLACE_PCT_2637 " imbalance_pct_smt=110 imbalance_pct_llc=125 imbalance_pct_wide=125"
#define PLACE_PRESET_2016A(search) \
	"idle_search=" search " affine=v46 fork=v48 newload=v46 fair=cfs_61" PLACE_PCT_46
#define PLACE_PRESET_2011(affine) \
	"idle_search=scan_2637 affine=" affine " fork=v2627 newload=none fair=cfs_61" PLACE_PCT_2637
#define PLACE_PRESET_2016B(fork, newload) \
	"idle_search=mainline_46 affine=v46 fork=" fork " newload=" newload " fair=cfs_61" PLACE_PCT_46

PLACE_PRESET("mail2016a-mainline", PLACE_PRESET_2016A("mainline_46"),
	     "Only idle cores and the threads of the target's own core are found",
	     "v4.6; column Mainline of the schbench mail of May 2016")
PLACE_PRESET("mail2016a-mason", PLACE_PRESET_2016A("mason_pkg"),
	     "v4.6, and then any idle thread of the cache",
	     "column Mason of the schbench mail of May 2016, as remembered")
PLACE_PRESET("mail2016a-peter", PLACE_PRESET_2016A("peter_rfc"),
	     "The rewritten search: idle cores, then any thread unless that costs too much",
	     "column Peter of the schbench mail of May 2016, as v4.9 has it")
PLACE_PRESET("mail2016b-vanilla", PLACE_PRESET_2016B("v48", "v48_stale"),
	     "New tasks decay by the time that their CPU's clock stood still, and stack",
	     "v4.8; column vanilla of the hackbench mail of October 2016")
PLACE_PRESET("mail2016b-fixed-decay", PLACE_PRESET_2016B("v48", "v48_fixed_decay"),
	     "A task that has never run does not decay",
	     "patch that the hackbench mail of October 2016 answers, as remembered")
PLACE_PRESET("mail2016b-find-idle-group", PLACE_PRESET_2016B("fig_v1r1", "v48_stale"),
	     "Groups are compared by the load of sleeping tasks, too",
	     "column find-idle-group-v1r1 of the hackbench mail of October 2016, as remembered")
PLACE_PRESET("mail2011-nogroup", PLACE_PRESET_2011("v2637"), "All tasks in the root group",
	     "column without groups of the wake_affine mail of January 2011")
PLACE_PRESET("mail2011-broken", PLACE_PRESET_2011("v2638rc"),
	     "effective_load that is wrong where a group has no task; without groups as mail2011-nogroup",
	     "column of the broken state in the wake_affine mail of January 2011")
PLACE_PRESET("mail2011-old", PLACE_PRESET_2011("v2637"),
	     "effective_load of v2.6.37; without groups the same as mail2011-nogroup",
	     "column of the old state in the wake_affine mail of January 2011")
PLACE_PRESET("mail2011-rewrite", PLACE_PRESET_2011("v2638"),
	     "effective_load by shares; without groups nearly as mail2011-nogroup",
	     "column of patch 1 in the wake_affine mail of January 2011")
PLACE_PRESET("mail2011-nohot", PLACE_PRESET_2011("v2638_nohot"),
	     "The same, and a cache-hot wakee stays where it was",
	     "column of patches 1 and 3 in the wake_affine mail of January 2011")

#undef PLACE_AXIS
#undef PLACE_VALUE
#undef PLACE_PARAM
#undef PLACE_PRESET
#undef PLACE_PCT_46
#undef PLACE_PCT_2637
#undef PLACE_PRESET_2016A
#undef PLACE_PRESET_2011
#undef PLACE_PRESET_2016B
