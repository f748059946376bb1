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

PLACE_AXIS(idle_search, sis_modern, PLACEMENT,
	   "How the target's last-level cache is searched for an idle CPU at a wakeup")
PLACE_VALUE(idle_search, none, "No search: the wakee goes to the target CPU",
	    "v2.6.27 without SMT")
PLACE_VALUE(idle_search, mainline_46,
	    "Idle core anywhere in the cache, else an idle thread of the target's own core",
	    "v4.6; column Mainline of the schbench mail of May 2016")
PLACE_VALUE(idle_search, sis_49,
	    "Idle core, else any idle CPU unless a scan costs too much for the idle time there is, else the target's core",
	    "v4.9")
PLACE_VALUE(idle_search, sis_modern,
	    "Target, previous and recent CPU, then one scan for cores or threads within the SIS_UTIL budget",
	    "v6.12; capacities are taken as symmetric")
PLACE_VALUE(idle_search, scx_default,
	    "The kernel's own search (scx_bpf_select_cpu_dfl); ignores affine, opaque to the counters of branches",
	    "sched_ext of the running kernel")

PLACE_PARAM(idle_search, sis_fudge, 512, 1, 65536, "divisor",
	    "sis_49 scans if the average idle time divided by this is no less than a scan's average cost", "v4.9")
PLACE_PARAM(idle_search, scan_cost_ns, 60, 0, 10000, "ns",
	    "What sis_49 takes a look at one CPU to cost; the kernel measures it", "emulated")

PLACE_AXIS(affine, wa_414, PLACEMENT,
	   "Whether a wakeup's search starts at the waker's CPU or at the wakee's previous one")
PLACE_VALUE(affine, off, "Always the previous CPU", "comparison")
PLACE_VALUE(affine, always, "Always the waker's CPU, where the wakee may run there", "comparison")
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
	    "wa_414 leaves wakees where they were if their waker feeds more of them than its cache has CPUs",
	    "v4.3 to v7.3")
PLACE_PARAM(affine, imbalance_pct_smt, 110, 100, 200, "percent", "Imbalance percentage within a core", "v6.12")
PLACE_PARAM(affine, imbalance_pct_llc, 117, 100, 200, "percent",
	    "Imbalance percentage within a last-level cache, for wa_414 and the SIS_UTIL budget", "v6.12")
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

#undef PLACE_AXIS
#undef PLACE_VALUE
#undef PLACE_PARAM
