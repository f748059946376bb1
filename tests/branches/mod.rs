// SPDX-License-Identifier: GPL-2.0-only

//! Every branch of every idle search, a line each: what the moment is, where the wakee goes by
//! which branch, and how many CPUs a linear scan looked at.
//!
//! The machine: CPUs 0 to 7 in one cache, two threads to a core; CPU 8 alone in another.  Waker on 6,
//! previous CPU 2, all allowed, nothing idle, and nothing that forbids a scan, unless said otherwise.

use std::collections::{BTreeMap, BTreeSet};

use super::machines::Scene;
use super::naive::{self, Affine, Facts, IdleSearch, Throttle};
use scx_place::topology::{Cpu, Machine};

const FULL: Throttle = Throttle {
    fudge: 512,
    look_ns: 60,
};

/// With or without L2 clusters of four CPUs.
fn scene(clusters: bool) -> Scene {
    let cpu = |id| Cpu {
        id,
        core: id / 2,
        cluster: clusters.then_some(id / 4),
        llc: id / 8,
        node: 0,
    };
    Scene::of(Machine {
        nr_cpu_ids: 9,
        cpus: (0..9).map(cpu).collect(),
        distance: vec![],
    })
}

fn moment(idle: &[usize]) -> Facts {
    let idle: BTreeSet<usize> = idle.iter().copied().collect();
    let whole = |c: &usize| *c == 8 || idle.contains(&(c ^ 1));
    Facts {
        idle_core: idle.iter().copied().filter(whole).collect(),
        idle,
        sched_idle: [].into(),
        allowed: (0..9).collect(),
        has_idle_cores: [].into(),
        nr_idle_scan: vec![8, 1],
        waker: 6,
        prev: 2,
        recent: None,
        sync: false,
        waker_is_kthread: false,
        affine_domain: true,
        waker_nr_running: 1,
        waker_flips: 0,
        wakee_flips: 0,
        cpu_loads: (0, 0),
        capacities: (1024, 1024),
        task_loads: (0, 0),
        avg_idle_ns: 1_000_000,
        scan_cost_ns: 0,
        prev_nr_running: 1,
        history: naive::affine_history::Facts {
            since_ran_ns: 1_000_000,
            ..Default::default()
        },
    }
}

type Change = fn(&mut Facts);
/// Idle CPUs, what else differs, and the answer: branch, CPU, CPUs looked at.
type Line<'a> = (&'a [usize], Change, (&'static str, usize, u32));

const AS_IS: Change = |_| {};
/// Affine wakeups: the target is the waker's CPU.
const PULLED: Change = |f| f.sync = true;

/// The lines come out as they say, and no branch of the rule is missing.
fn walk(scene: &Scene, search: IdleSearch, lines: &[Line], branches: &[&str]) {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for (n, (idle, change, answer)) in lines.iter().enumerate() {
        let mut facts = moment(idle);
        change(&mut facts);
        let affine = match facts.sync {
            true => Affine::Always,
            false => Affine::Off,
        };
        let expected = naive::wakeup(&scene.topology, &facts, affine, search);
        let actual = (expected.search, expected.cpu, expected.visited);
        assert_eq!(actual, *answer, "{search:?}, line {n}: {facts:?}");
        let result = scene.compare(&facts, affine, search, 0, &expected);
        result.unwrap_or_else(|e| panic!("line {n}: {e}\n{facts:?}"));
        *seen.entry(answer.0).or_default() += 1;
    }
    let seen: BTreeSet<&str> = seen.into_keys().collect();
    assert_eq!(seen, branches.iter().copied().collect(), "{search:?}");
}

#[test]
fn scan_2637() {
    let lines: &[Line] = &[
        (&[2], AS_IS, ("target_idle", 2, 0)),
        (&[2, 6], PULLED, ("target_idle", 6, 0)),
        // The previous CPU is not looked at before others.
        (&[2, 3], PULLED, ("thread", 2, 2 + 3)),
        // Waker and previous CPU share a core: nothing beyond it.
        (&[3, 0], |f| f.waker = 3, ("smt_target", 3, 2)),
        (&[0], |f| f.waker = 3, ("nothing", 2, 2)),
        // A thread of the core gives way to the cache's first.
        (&[0, 3], AS_IS, ("thread", 0, 2 + 1)),
        (&[3], AS_IS, ("thread", 3, 2 + 4)),
        (&[], AS_IS, ("nothing", 2, 2 + 8)),
        (&[0], |f| f.allowed = [2, 5].into(), ("nothing", 2, 1 + 2)),
        (&[0], |f| f.prev = 8, ("nothing", 8, 0)),
    ];
    let branches = ["target_idle", "smt_target", "thread", "nothing"];
    walk(&scene(false), IdleSearch::Scan2637, lines, &branches);
}

#[test]
fn mainline_46() {
    let lines: &[Line] = &[
        (&[2], AS_IS, ("target_idle", 2, 0)),
        (&[2], PULLED, ("prev_idle", 2, 0)),
        (&[0, 1], AS_IS, ("core", 0, 1 + 1 + 2)),
        (&[3], AS_IS, ("smt_target", 3, 3 + 1)),
        // A thread of another core is not seen.
        (&[5], AS_IS, ("nothing", 2, 3 + 1)),
        (&[0], |f| f.prev = 8, ("nothing", 8, 0)),
    ];
    let branches = ["target_idle", "prev_idle", "core", "smt_target", "nothing"];
    walk(&scene(false), IdleSearch::Mainline46, lines, &branches);
}

#[test]
fn mason_first() {
    let lines: &[Line] = &[
        (&[2, 0], AS_IS, ("target_idle", 2, 0)),
        (&[2, 0], PULLED, ("prev_idle", 2, 0)),
        // Cores are not preferred.
        (&[1, 4, 5], AS_IS, ("thread", 1, 2)),
        (&[], AS_IS, ("nothing", 2, 8)),
        (&[0], |f| f.prev = 8, ("nothing", 8, 0)),
    ];
    let branches = ["target_idle", "prev_idle", "thread", "nothing"];
    walk(&scene(false), IdleSearch::MasonFirst, lines, &branches);
}

#[test]
fn mason_pkg() {
    let lines: &[Line] = &[
        (&[2], AS_IS, ("target_idle", 2, 0)),
        (&[2], PULLED, ("prev_idle", 2, 0)),
        (&[0, 1], AS_IS, ("core", 0, 1 + 1 + 2)),
        (&[3], AS_IS, ("smt_target", 3, 3 + 1)),
        (&[5], |f| f.prev_nr_running = 2, ("bounce_busy", 2, 4)),
        (&[5], |f| f.waker_nr_running = 2, ("thread", 5, 4 + 6)),
        // Of a pulled wakee, the tasks of the waker's CPU count.  Core 0 has a leading idle thread.
        (
            &[0],
            |f| (f.sync, f.waker_nr_running) = (true, 2),
            ("bounce_busy", 6, 5),
        ),
        (
            &[0],
            |f| (f.sync, f.prev_nr_running) = (true, 2),
            ("thread", 0, 5 + 1),
        ),
        (
            &[5],
            |f| f.history.since_ran_ns = 499_999,
            ("bounce_hot", 2, 4),
        ),
        (&[5], |f| f.history.since_ran_ns = -1, ("bounce_hot", 2, 4)),
        (
            &[5],
            |f| f.history.since_ran_ns = 500_000,
            ("thread", 5, 4 + 6),
        ),
        (&[], AS_IS, ("nothing", 2, 4 + 8)),
        (&[0], |f| f.prev = 8, ("nothing", 8, 0)),
    ];
    let branches = [
        "target_idle",
        "prev_idle",
        "core",
        "smt_target",
        "bounce_busy",
        "bounce_hot",
        "thread",
        "nothing",
    ];
    walk(&scene(false), IdleSearch::MasonPkg(500), lines, &branches);
    let hot: &[Line] = &[(&[5], AS_IS, ("bounce_hot", 2, 4))];
    let all = IdleSearch::MasonPkg(u32::MAX);
    walk(&scene(false), all, hot, &["bounce_hot"]);
    let cold: &[Line] = &[(&[5], |f| f.history.since_ran_ns = -1, ("thread", 5, 10))];
    walk(&scene(false), IdleSearch::MasonPkg(0), cold, &["thread"]);
}

/// Lines that sis_49 and the searches of v5.10 have in common.
const THREE_SCANS: &[Line] = &[
    (&[2], AS_IS, ("target_idle", 2, 0)),
    (&[2], PULLED, ("prev_idle", 2, 0)),
    // From the target on, a look at each core.
    (&[0, 1], |f| f.has_idle_cores = [0].into(), ("core", 0, 4)),
    (
        &[5],
        |f| f.has_idle_cores = [0].into(),
        ("thread", 5, 4 + 4),
    ),
    (&[0, 1, 5], AS_IS, ("thread", 5, 4)),
    (&[], AS_IS, ("nothing", 2, 8 + 2)),
    (&[0], |f| f.prev = 8, ("nothing", 8, 0)),
    // A waker alone in its cache knows no cost and does not scan.
    (&[5], |f| f.waker = 8, ("nothing", 2, 2)),
    (&[3], |f| f.waker = 8, ("smt_target", 3, 2)),
];
const OF_THREE_SCANS: [&str; 6] = [
    "target_idle",
    "prev_idle",
    "core",
    "thread",
    "nothing",
    "smt_target",
];

#[test]
fn sis_49_and_peter_rfc() {
    let mut lines = THREE_SCANS.to_vec();
    lines.extend::<[Line; 4]>([
        (&[5], |f| f.scan_cost_ns = 1953, ("thread", 5, 4)),
        (&[5], |f| f.scan_cost_ns = 1954, ("throttled", 2, 2)),
        (&[3], |f| f.scan_cost_ns = 1954, ("smt_target", 3, 2)),
        // v4.9 knows nothing of SCHED_IDLE.
        (
            &[],
            |f| f.sched_idle = (0..8).collect(),
            ("nothing", 2, 8 + 2),
        ),
    ]);
    let branches = [&OF_THREE_SCANS[..], &["throttled"]].concat();
    walk(&scene(false), IdleSearch::Sis49(FULL), &lines, &branches);
    walk(&scene(false), IdleSearch::PeterRfc(FULL), &lines, &branches);
    // Unfudged: 1 ms of idle time pays for any scan below that.
    let unfudged = IdleSearch::PeterRfc(Throttle { fudge: 1, ..FULL });
    let lines: &[Line] = &[
        (&[5], |f| f.scan_cost_ns = 1_000_000, ("thread", 5, 4)),
        (&[5], |f| f.scan_cost_ns = 1_000_001, ("throttled", 2, 2)),
    ];
    walk(&scene(false), unfudged, lines, &["thread", "throttled"]);
}

/// What v5.10 looks at before it scans.
const KNOWN_510: &[Line] = &[
    (&[], |f| f.sched_idle = [2].into(), ("target_idle", 2, 0)),
    (
        &[5],
        |f| (f.waker, f.waker_is_kthread) = (2, true),
        ("kthread_stack", 2, 0),
    ),
    (&[0, 5], |f| f.recent = Some(0), ("recent_idle", 0, 0)),
    (
        &[5],
        |f| (f.recent, f.sched_idle) = (Some(0), [0].into()),
        ("recent_idle", 0, 0),
    ),
    // Cores that run SCHED_IDLE tasks are not idle, their threads are free.
    (
        &[],
        |f| (f.has_idle_cores, f.sched_idle) = ([0].into(), [0, 1].into()),
        ("thread", 0, 4 + 7),
    ),
    (
        &[],
        |f| (f.waker, f.sched_idle) = (8, [3].into()),
        ("smt_target", 3, 2),
    ),
];

#[test]
fn sis_avg_cpu() {
    let mut lines = [THREE_SCANS, KNOWN_510].concat();
    lines.extend::<[Line; 3]>([
        (&[5], |f| f.scan_cost_ns = 1952, ("thread", 5, 4)),
        (&[5], |f| f.scan_cost_ns = 1953, ("throttled", 2, 2)),
        (&[3], |f| f.scan_cost_ns = 1953, ("smt_target", 3, 2)),
    ]);
    let branches = [
        &OF_THREE_SCANS[..],
        &["kthread_stack", "recent_idle", "throttled"],
    ]
    .concat();
    walk(
        &scene(false),
        IdleSearch::SisAvgCpu(FULL),
        &lines,
        &branches,
    );
}

#[test]
fn sis_prop() {
    let mut lines = [THREE_SCANS, KNOWN_510].concat();
    // 8 CPUs times 1953: 15624, which is 5.2 times 3000 and 4 times 3906.
    lines.extend::<[Line; 5]>([
        (&[5], |f| f.scan_cost_ns = 2999, ("thread", 5, 4)),
        (&[6], |f| f.scan_cost_ns = 2999, ("budget_spent", 2, 4 + 2)),
        (&[4], |f| f.scan_cost_ns = 3905, ("thread", 4, 3)),
        (&[5], |f| f.scan_cost_ns = 3905, ("budget_spent", 2, 3 + 2)),
        (
            &[2],
            |f| (f.prev, f.scan_cost_ns) = (3, u32::MAX),
            ("smt_target", 2, 3 + 1),
        ),
    ]);
    let branches = [
        &OF_THREE_SCANS[..],
        &["kthread_stack", "recent_idle", "budget_spent"],
    ]
    .concat();
    walk(&scene(false), IdleSearch::SisProp(FULL), &lines, &branches);
}

/// The fused scan, from v5.12 on.
const FUSED: &[Line] = &[
    (&[2], AS_IS, ("target_idle", 2, 0)),
    (&[], |f| f.sched_idle = [2].into(), ("target_idle", 2, 0)),
    (
        &[5],
        |f| (f.waker, f.waker_is_kthread) = (2, true),
        ("kthread_stack", 2, 0),
    ),
    (&[3], AS_IS, ("smt_prev", 3, 0)),
    (&[0], |f| f.nr_idle_scan[0] = 0, ("no_budget", 2, 0)),
    // From behind the target on: 3 to 7, then 0.
    (&[0], |f| f.nr_idle_scan[0] = 6, ("thread", 0, 6)),
    (&[0], |f| f.nr_idle_scan[0] = 5, ("budget_spent", 2, 5)),
    (&[], AS_IS, ("nothing", 2, 8)),
    // Cores have no budget.
    (
        &[0, 1],
        |f| (f.has_idle_cores, f.nr_idle_scan[0]) = ([0].into(), 1),
        ("core", 0, 4),
    ),
    (
        &[1, 5],
        |f| f.has_idle_cores = [0].into(),
        ("core_thread", 5, 4),
    ),
    (&[], |f| f.has_idle_cores = [0].into(), ("nothing", 2, 4)),
];
const OF_FUSED: [&str; 9] = [
    "target_idle",
    "kthread_stack",
    "smt_prev",
    "no_budget",
    "thread",
    "budget_spent",
    "nothing",
    "core",
    "core_thread",
];

#[test]
fn sis_util() {
    let mut lines = FUSED.to_vec();
    lines.extend::<[Line; 2]>([
        (&[2], PULLED, ("prev_idle", 2, 0)),
        (&[0, 5], |f| f.recent = Some(5), ("recent_idle", 5, 0)),
    ]);
    let branches = [&OF_FUSED[..], &["prev_idle", "recent_idle"]].concat();
    walk(&scene(false), IdleSearch::SisUtil, &lines, &branches);
    walk(&scene(false), IdleSearch::SisModern, &lines, &branches);
    // Clusters are nothing to it.
    walk(&scene(true), IdleSearch::SisUtil, &lines, &branches);
}

/// CPUs 0 to 3 share an L2 cache, and 4 to 7.
#[test]
fn sis_modern_with_clusters() {
    let lines: &[Line] = &[
        (&[2], |f| (f.sync, f.waker) = (true, 0), ("prev_idle", 2, 0)),
        (&[0, 5], |f| f.recent = Some(0), ("recent_idle", 0, 0)),
        // In the other cluster: kept for the end.
        (
            &[2],
            |f| (f.sync, f.nr_idle_scan[0]) = (true, 3),
            ("prev_kept", 2, 3),
        ),
        (
            &[5],
            |f| (f.recent, f.nr_idle_scan[0]) = (Some(5), 3),
            ("recent_kept", 5, 3),
        ),
        // The target's cluster first: 3, 0, then the other one.
        (&[0, 4], AS_IS, ("thread", 0, 2)),
        (&[4, 5], AS_IS, ("thread", 4, 4 + 1)),
    ];
    let branches = [
        "prev_idle",
        "recent_idle",
        "prev_kept",
        "recent_kept",
        "thread",
    ];
    walk(&scene(true), IdleSearch::SisModern, lines, &branches);
}
