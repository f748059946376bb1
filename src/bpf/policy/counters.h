/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * counters.h - every branch of every rule that is counted.  The only definition.
 *
 *   PLACE_STAGE(stage, help)            a set of branches of which a decision takes exactly one
 *   PLACE_COUNTER(stage, name, help)    in the order of the checks
 *
 * The branches of a stage sum to the number of decisions of that stage:
 *   search + fork                                         = select_cpu calls
 *   affine + search.scx_idle + search.scx_prev + search.unknown = search
 *   outcome                                               = affine
 *   fork_depth = fork_top                                 = fork
 *   shadow = shadow_idle = placements that the shadow policy was asked for
 *   enqueue.direct + event.kick_claimed = claim.won + claim.fork + search.scx_idle
 * The stages `sum` and `event` hold plain sums and events, which close on nothing.
 */
#ifndef PLACE_STAGE
#define PLACE_STAGE(stage, help)
#endif
#ifndef PLACE_COUNTER
#define PLACE_COUNTER(stage, name, help)
#endif

PLACE_STAGE(affine, "Which CPU a wakeup's search starts from")
PLACE_COUNTER(affine, same_cpu, "waker's CPU is the previous CPU")
PLACE_COUNTER(affine, wake_wide, "waker feeds too many wakees: previous")
PLACE_COUNTER(affine, not_allowed, "waker's CPU is outside the wakee's affinity mask: previous")
PLACE_COUNTER(affine, no_domain, "waker and previous CPU share no affine domain: previous")
PLACE_COUNTER(affine, off, "affine=off: previous")
PLACE_COUNTER(affine, always, "affine=always: waker's CPU")
PLACE_COUNTER(affine, idle_prev, "WA_IDLE, waker's CPU idle and shares cache, previous idle too: previous")
PLACE_COUNTER(affine, idle_waker, "WA_IDLE, waker's CPU idle and shares cache: waker's CPU")
PLACE_COUNTER(affine, sync_alone, "WA_IDLE, sync wakeup and the waker runs alone: waker's CPU")
PLACE_COUNTER(affine, prev_idle, "WA_IDLE, previous CPU idle: previous")
PLACE_COUNTER(affine, weight_sync, "WA_WEIGHT, sync wakeup and nothing but the waker loads its CPU: waker's CPU")
PLACE_COUNTER(affine, weight_waker, "WA_WEIGHT, waker's CPU less loaded: waker's CPU")
PLACE_COUNTER(affine, weight_prev, "WA_WEIGHT, waker's CPU not less loaded: previous")
PLACE_COUNTER(affine, passive_waker, "v2626, v2627 between nodes, waker's CPU less loaded: waker's CPU")
PLACE_COUNTER(affine, passive_prev, "v2626, v2627 between nodes, waker's CPU not less loaded: previous")
PLACE_COUNTER(affine, hot, "v2638_nohot, wakee cache hot on the previous CPU: previous")
PLACE_COUNTER(affine, unloaded, "v2637 to v46, nothing but the waker loads its CPU: waker's CPU")
PLACE_COUNTER(affine, sync_overlap, "v2626, v2627, sync, balanced, both tasks sleep soon after waking others: waker's CPU")
PLACE_COUNTER(affine, sync_balanced, "v2637, v2638*, sync wakeup, loads balanced: waker's CPU")
PLACE_COUNTER(affine, balanced, "v2626 to v46, loads balanced: waker's CPU")
PLACE_COUNTER(affine, light, "v2626 to v2638*, not balanced, but little runs on either CPU: waker's CPU")
PLACE_COUNTER(affine, imbalanced, "v2626 to v46, waker's CPU too loaded: previous")
PLACE_COUNTER(affine, undecided, "no rule decided: previous")

PLACE_STAGE(search, "Where the idle search ended")
PLACE_COUNTER(search, none, "idle_search=none: target")
PLACE_COUNTER(search, target_idle, "target idle")
PLACE_COUNTER(search, prev_idle, "previous CPU idle, in the target's cache")
PLACE_COUNTER(search, kthread_stack, "waker is a per-CPU kernel thread on the previous CPU: previous")
PLACE_COUNTER(search, recent_idle, "recently used CPU idle, in the target's cache")
PLACE_COUNTER(search, smt_prev, "idle thread of the previous CPU's core")
PLACE_COUNTER(search, core, "fully idle core")
PLACE_COUNTER(search, thread, "idle CPU found by the scan")
PLACE_COUNTER(search, core_thread, "no idle core although expected: idle thread seen on the way")
PLACE_COUNTER(search, smt_target, "idle thread of the target's own core")
PLACE_COUNTER(search, prev_kept, "nothing found: idle previous CPU outside the target's cluster")
PLACE_COUNTER(search, recent_kept, "nothing found: idle recent CPU outside the target's cluster")
PLACE_COUNTER(search, no_budget, "SIS_UTIL allows no scan: target")
PLACE_COUNTER(search, budget_spent, "budget of SIS_UTIL or sis_prop spent before an idle CPU was met: target")
PLACE_COUNTER(search, throttled, "too little idle time for what a scan costs (peter_rfc, sis_49, sis_avg_cpu): target")
PLACE_COUNTER(search, bounce_busy, "mason_pkg, the target runs more than one task: target")
PLACE_COUNTER(search, bounce_hot, "mason_pkg, the wakee is cache hot: target")
PLACE_COUNTER(search, nothing, "no idle CPU found: target")
PLACE_COUNTER(search, unknown, "the topology does not know one of the CPUs: previous")
PLACE_COUNTER(search, scx_idle, "scx_default found and claimed an idle CPU")
PLACE_COUNTER(search, scx_prev, "scx_default found none: the CPU it names")

PLACE_STAGE(fork, "Where a new task was placed")
PLACE_COUNTER(fork, stay, "fork=stay: parent's CPU")
PLACE_COUNTER(fork, local, "no group or CPU elsewhere was better: parent's CPU")
PLACE_COUNTER(fork, core, "another thread of the same core")
PLACE_COUNTER(fork, llc, "another core of the same cache")
PLACE_COUNTER(fork, node, "another cache of the same node")
PLACE_COUNTER(fork, machine, "another node")

PLACE_STAGE(fork_depth, "At how many levels a new task's walk moved")
PLACE_COUNTER(fork_depth, none, "none")
PLACE_COUNTER(fork_depth, one, "one")
PLACE_COUNTER(fork_depth, two, "two")
PLACE_COUNTER(fork_depth, three, "three")
PLACE_COUNTER(fork_depth, more, "four or more")

PLACE_STAGE(fork_top, "What the widest level decided at which a new task's walk compared groups")
PLACE_COUNTER(fork_top, none, "nothing was compared: fork=stay, or no level of more than one group")
PLACE_COUNTER(fork_top, alone, "no other group has an allowed CPU: stays")
PLACE_COUNTER(fork_top, type, "v612, the own group is less full than any other: stays")
PLACE_COUNTER(fork_top, numa, "v612, between nodes, an imbalance as small as is allowed: stays")
PLACE_COUNTER(fork_top, load, "the own group's load is not enough above the best one's: stays")
PLACE_COUNTER(fork_top, load_avg, "loads alike, and with sleeping tasks' the own group's not enough above: stays")
PLACE_COUNTER(fork_top, idle, "v612, no other group has more idle CPUs: stays")
PLACE_COUNTER(fork_top, moved, "to the best group")

PLACE_STAGE(claim, "Taking the chosen CPU's idle bit")
PLACE_COUNTER(claim, won, "the bit was set and is ours")
PLACE_COUNTER(claim, lost, "somebody else took it first")
PLACE_COUNTER(claim, fork, "a new task's, which the rule found idle")
PLACE_COUNTER(claim, gave_up, "decided again as often as allowed: placed without a claim")

PLACE_STAGE(outcome, "What a wakeup's snapshot showed of the chosen CPU")
PLACE_COUNTER(outcome, idle_core, "its whole core idle")
PLACE_COUNTER(outcome, idle_thread, "idle")
PLACE_COUNTER(outcome, busy_none, "busy, and no allowed CPU of the target's cache idle")
PLACE_COUNTER(outcome, busy_throttled, "busy although an allowed CPU of the cache was idle: a limit of the scan, or what forbade it")
PLACE_COUNTER(outcome, busy_rule, "busy although an allowed CPU of the cache was idle: the rule does not look there")

PLACE_STAGE(enqueue, "How a runnable task was handed to its CPU")
PLACE_COUNTER(enqueue, direct, "the claimed idle CPU's local queue")
PLACE_COUNTER(enqueue, local_pinned, "local queue: may run on this CPU only, nothing queued before it")
PLACE_COUNTER(enqueue, local_sync, "local queue: sync wakeup by the only task of this CPU")
PLACE_COUNTER(enqueue, preempt, "local queue, ahead of the running task: wakeup preemption")
PLACE_COUNTER(enqueue, queued, "the CPU's own queue, in order of virtual runtime")
PLACE_COUNTER(enqueue, no_record, "the CPU's own queue, first come, first served: the task has no record")

PLACE_STAGE(dispatch, "What a CPU that asked for work got")
PLACE_COUNTER(dispatch, starved, "a task of its own queue that waited too long, ahead of its turn")
PLACE_COUNTER(dispatch, own, "first task of its own queue")
PLACE_COUNTER(dispatch, keep, "nothing queued, or none due before it: the running task goes on")
PLACE_COUNTER(dispatch, pull_llc, "a task pulled from a queue of its cache")
PLACE_COUNTER(dispatch, pull_node, "a task pulled from a queue of its node")
PLACE_COUNTER(dispatch, pull_machine, "a task pulled from another node")
PLACE_COUNTER(dispatch, idle, "nothing: the CPU goes idle")

PLACE_STAGE(migration, "Changes of a task's CPU, by distance")
PLACE_COUNTER(migration, core, "to another thread of the same core")
PLACE_COUNTER(migration, llc, "to another core of the same cache")
PLACE_COUNTER(migration, node, "to another cache of the same node")
PLACE_COUNTER(migration, machine, "to another node")

PLACE_STAGE(preempt, "Wakeup preemption, wakees queued behind a running task")
PLACE_COUNTER(preempt, granted, "the running task's lead exceeds the granularity: the wakee runs next")
PLACE_COUNTER(preempt, queued, "it does, but others wait that are due before the wakee: the first of them runs next")
PLACE_COUNTER(preempt, refused, "it does not")

PLACE_STAGE(record, "Placements to be recorded (scx_place record)")
PLACE_COUNTER(record, written, "written to the buffer")
PLACE_COUNTER(record, dropped, "lost: the buffer was full")
PLACE_COUNTER(record, opaque, "not sampled: idle_search=scx_default or a CPU unknown, no rule of ours decided")

PLACE_STAGE(shadow, "The shadow policy's CPU beside the one chosen (scx_place shadow)")
PLACE_COUNTER(shadow, same_cpu, "the same")
PLACE_COUNTER(shadow, same_core, "another thread of the same core")
PLACE_COUNTER(shadow, same_llc, "another core of the same cache")
PLACE_COUNTER(shadow, same_node, "another cache of the same node")
PLACE_COUNTER(shadow, farther, "on another node")

PLACE_STAGE(shadow_idle, "Who found an idle CPU, the policy in force or the shadow policy")
PLACE_COUNTER(shadow_idle, both, "both")
PLACE_COUNTER(shadow_idle, shadow_only, "the shadow policy alone")
PLACE_COUNTER(shadow_idle, policy_only, "the policy in force alone")
PLACE_COUNTER(shadow_idle, neither, "neither")

PLACE_STAGE(event, "Single events")
PLACE_COUNTER(event, slice_end, "slice ended at a tick")
PLACE_COUNTER(event, kick_claimed, "kick of a claimed CPU whose task went elsewhere")
PLACE_COUNTER(event, kick_waiting, "nearest idle CPU kicked: tick with waiting tasks, or a wakee behind another class")
PLACE_COUNTER(event, cores_cleared, "has_idle_cores cleared after a search without result")
PLACE_COUNTER(event, cores_set, "has_idle_cores set by a CPU going idle in an idle core")
PLACE_COUNTER(event, slot_mismatch, "a policy slot failed its checksum (--verify-slots)")

PLACE_STAGE(sum, "Plain sums")
PLACE_COUNTER(sum, scanned, "CPUs that linear scans would have visited")
PLACE_COUNTER(sum, fork_scanned, "CPUs that the placement of new tasks looked at")

#undef PLACE_STAGE
#undef PLACE_COUNTER
