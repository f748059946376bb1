// SPDX-License-Identifier: GPL-2.0-only

//! `wake_affine` from v2.6.26 to v4.9 in parts: comparisons with effective loads as groups have them,
//! effective_load itself, averages over ticks, overlaps; and every branch of every rule by hand.
//! `PLACE_PROPTEST_CASES` sets the number of cases.

#[path = "naive/groups.rs"]
mod groups;
mod machines;
#[allow(dead_code)] // what is not asked here is elsewhere
mod naive;

use proptest::collection::vec;
use proptest::prelude::*;
use scx_place::bpf_intf as intf;

use groups::{Level, TickLoads};
use machines::counter;
use naive::affine_history::{self, Kernel, Loads, Range};

fn config() -> ProptestConfig {
    let cases = std::env::var("PLACE_PROPTEST_CASES").ok();
    ProptestConfig {
        cases: cases.and_then(|n| n.parse().ok()).unwrap_or(2000),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

// The functions below touch nothing but their arguments, which are live.

fn native(l: &Loads) -> intf::affine_loads {
    intf::affine_loads {
        waker: l.waker as u64,
        prev: l.prev as u64,
        prev_target: l.prev_target as u64,
        el_waker_leaves: l.waker_leaves.0 as i64,
        el_prev_leaves: l.waker_leaves.1 as i64,
        el_waker_comes: l.wakee_comes.0 as i64,
        el_prev_comes: l.wakee_comes.1 as i64,
        tpt_weight: l.tpt as u32,
        tpt_nr: 1,
        waker_power: l.powers.0,
        prev_power: l.powers.1,
        scale: l.scale,
        sync: l.sync.into(),
        short_overlaps: l.short_overlaps.into(),
    }
}

fn branch_of(kernel: Kernel, a: &intf::affine_loads) -> &'static str {
    let branch = unsafe {
        match kernel {
            Kernel::V2626 | Kernel::V2627 => intf::place_host_wake_affine_2627(a),
            Kernel::V2637 | Kernel::V2638rc => intf::place_host_wake_affine_2637(a),
            Kernel::V2638 | Kernel::V2638NoHot => intf::place_host_wake_affine_2638(a),
            Kernel::V46 => intf::place_host_wake_affine_46(a),
        }
    };
    counter("affine", branch as u16)
}

fn pulls(branch: &str) -> bool {
    let all = 0..intf::place_counter_PLACE_NR_COUNTERS;
    let found = all
        .into_iter()
        .find(|c| counter("affine", *c as u16) == branch);
    unsafe { intf::place_host_affine_pulls(found.expect("a branch of affine")) == 1 }
}

fn form(kernel: Kernel) -> intf::effective_load_form {
    match kernel {
        Kernel::V2626 => unreachable!("it knows no groups"),
        Kernel::V2627 => intf::effective_load_form_EFFECTIVE_LOAD_2627,
        Kernel::V2637 => intf::effective_load_form_EFFECTIVE_LOAD_2637,
        Kernel::V2638rc => intf::effective_load_form_EFFECTIVE_LOAD_2638RC,
        Kernel::V2638 | Kernel::V2638NoHot => intf::effective_load_form_EFFECTIVE_LOAD_2638,
        Kernel::V46 => intf::effective_load_form_EFFECTIVE_LOAD_46,
    }
}

fn effective_load(kernel: Kernel, levels: &[Level], wl: i64, wg: i64) -> i64 {
    let levels: Vec<_> = levels
        .iter()
        .map(|l| intf::group_level {
            shares: l.shares,
            entity: l.entity,
            queue: l.queue,
            queue_then: l.queue_then,
            queue_load: l.queue_load,
            total: l.total,
            contribution: l.contribution,
        })
        .collect();
    let depth = levels.len() as u32;
    unsafe { intf::place_host_effective_load(form(kernel), levels.as_ptr(), depth, wl, wg) }
}

fn kernel() -> impl Strategy<Value = Kernel> {
    proptest::sample::select(Kernel::ALL.to_vec())
}

/// A load and changes of loads in the range that the header of the rules names, or any.
fn loads(any_at_all: bool) -> impl Strategy<Value = Loads> {
    let load = move || {
        let wide = any::<i64>().prop_map(|n| i128::from(n as u64));
        let load = prop_oneof![
            1 => Just(0i128), 2 => (0..6i128).prop_map(|n| n * 1024), 2 => 0..4000i128, 1 => 0..1i128 << 33,
        ];
        match any_at_all {
            true => prop_oneof![load, wide].boxed(),
            false => load.boxed(),
        }
    };
    let change = move || {
        let narrow = prop_oneof![
            1 => Just(0i128), 2 => -4000..4000i128, 1 => -(1i128 << 27)..1i128 << 27,
        ];
        match any_at_all {
            true => prop_oneof![narrow, any::<i64>().prop_map(i128::from)].boxed(),
            false => narrow.boxed(),
        }
    };
    let power = || prop_oneof![3 => Just(1024u32), 1 => 1..=1024u32];
    (
        [load(), load(), load()],
        [change(), change(), change(), change()],
        prop_oneof![Just(1024i128), 0..6000i128, 0..1i128 << 32],
        (power(), power()),
        prop_oneof![Just(105u32), Just(108), Just(112), 100..=150u32],
        any::<(bool, bool)>(),
    )
        .prop_map(
            |([waker, prev, target], c, tpt, powers, scale, (sync, short))| Loads {
                waker,
                prev,
                prev_target: target,
                waker_leaves: (c[0], c[1]),
                wakee_comes: (c[2], c[3]),
                tpt,
                powers,
                scale,
                sync,
                short_overlaps: short,
            },
        )
}

fn compared(kernel: Kernel, l: &Loads) -> (&'static str, bool) {
    let mut range = Range {
        unsigned: kernel.is_unsigned(),
        wrapped: false,
    };
    let (pulls, branch) = affine_history::compare(kernel, l, &mut range);
    assert_eq!(pulls, self::pulls(branch), "{branch}");
    (branch, range.wrapped)
}

/// Numbers as the kernel has them: shares and an entity up to 2^18, queues, totals.
fn level() -> impl Strategy<Value = Level> {
    let shares = prop_oneof![4 => Just(1024i64), 1 => 2..=1i64 << 18];
    let weight = || {
        prop_oneof![
            2 => Just(0i64), 3 => (0..8i64).prop_map(|n| n * 1024), 2 => 0..10_000i64, 1 => 0..1i64 << 33,
        ]
    };
    let moved = prop_oneof![3 => Just(0i64), 1 => -3000..3000i64, 1 => -(1i64 << 24)..1i64 << 24];
    (
        shares,
        weight(),
        weight(),
        weight(),
        weight(),
        moved,
        0..=1024i64,
    )
        .prop_map(
            |(shares, queue, queue_load, others, contribution, moved, part)| Level {
                shares,
                entity: (shares * part / 1024).max(2),
                queue,
                queue_then: (queue - moved).max(0),
                queue_load,
                total: others + contribution,
                contribution,
            },
        )
}

fn any_level() -> impl Strategy<Value = Level> {
    any::<[i64; 7]>().prop_map(|n| Level {
        shares: n[0],
        entity: n[1],
        queue: n[2],
        queue_then: n[3],
        queue_load: n[4],
        total: n[5],
        contribution: n[6],
    })
}

fn weight() -> impl Strategy<Value = i64> {
    prop_oneof![
        1 => Just(0i64), 2 => Just(1024i64), 2 => Just(-1024i64), 1 => -88761..=88761i64,
        1 => -(1i64 << 24)..1i64 << 24,
    ]
}

fn same_effective_load(
    kernel: Kernel,
    levels: &[Level],
    wl: i64,
    wg: i64,
) -> Result<bool, TestCaseError> {
    let mut range = Range {
        unsigned: false,
        wrapped: false,
    };
    let expected = groups::effective_load(kernel, levels, wl, wg, &mut range);
    let actual = effective_load(kernel, levels, wl, wg);
    prop_assert_eq!(i128::from(actual), expected, "{:?} {:?}", kernel, levels);
    Ok(range.wrapped)
}

proptest! {
    #![proptest_config(config())]

    /// Within the loads that can be, exactly; only unsigned ones wrap around, below zero.
    #[test]
    fn comparisons(k in kernel(), l in loads(false)) {
        let (expected, wrapped) = compared(k, &l);
        prop_assert_eq!(branch_of(k, &native(&l)), expected, "{:?}", l);
        prop_assert!(!wrapped || k.is_unsigned(), "{:?}", l);
    }

    /// Any numbers at all do what 64 bits do.
    #[test]
    fn comparisons_of_anything(k in kernel(), l in loads(true)) {
        prop_assert_eq!(branch_of(k, &native(&l)), compared(k, &l).0, "{:?}", l);
    }

    #[test]
    fn passive_balancing(l in loads(true)) {
        let mut range = Range { unsigned: true, wrapped: false };
        let (pulls, expected) = affine_history::passive(&l, &mut range);
        let branch = unsafe { intf::place_host_wake_balance_passive(&native(&l)) };
        prop_assert_eq!(counter("affine", branch as u16), expected);
        prop_assert_eq!(self::pulls(expected), pulls);
    }

    /// The average weight of a task, which nothing divides for.
    #[test]
    fn load_fits_average(
        load in 0..200_000u64, weight in prop_oneof![0..300_000u32, any::<u32>()], nr in 1..200u32,
    ) {
        let a = intf::affine_loads {
            waker: 0, prev: 0, prev_target: load,
            el_waker_leaves: 0, el_prev_leaves: 0, el_waker_comes: 1, el_prev_comes: 0,
            tpt_weight: weight, tpt_nr: nr, waker_power: 1, prev_power: 1, scale: 112,
            sync: 0, short_overlaps: 0,
        };
        let light = load <= u64::from(weight / nr);
        let expected = if light { "light" } else { "imbalanced" };
        prop_assert_eq!(branch_of(Kernel::V2627, &a), expected);
    }

    #[test]
    fn effective_loads(
        k in proptest::sample::select(Kernel::ALL[1..].to_vec()),
        levels in vec(level(), 0..5), wl in weight(), wg in weight(),
    ) {
        let wrapped = same_effective_load(k, &levels, wl, wg)?;
        // One level is in range whatever it is; above it an undivided one may not be.
        prop_assert!(!wrapped || levels.len() > 1, "{:?}", levels);
    }

    #[test]
    fn effective_loads_of_anything(
        k in proptest::sample::select(Kernel::ALL[1..].to_vec()),
        levels in vec(any_level(), 0..9), wl in any::<i64>(), wg in any::<i64>(),
    ) {
        same_effective_load(k, &levels, wl, wg)?;
    }

    /// The rewrite says what becomes of the shares: those of every CPU before and after a task of the
    /// group wakes up on one of them.
    #[test]
    fn shares_before_and_after(
        shares in prop_oneof![Just(1024i64), 2..=1i64 << 18],
        queues in vec(prop_oneof![2 => Just(0i64), 3 => 0..200_000i64], 2..9),
        comes in 1..=88761i64, to in any::<prop::sample::Index>(),
    ) {
        let to = to.index(queues.len());
        let share = |queues: &[i64], cpu: usize| {
            let total: i64 = queues.iter().sum();
            (shares * queues[cpu] / total.max(1)).clamp(2, shares)
        };
        let mut after = queues.clone();
        after[to] += comes;
        for cpu in 0..queues.len() {
            let level = Level {
                shares, entity: share(&queues, cpu), queue: queues[cpu], queue_then: 0,
                queue_load: queues[cpu], total: queues.iter().sum(), contribution: queues[cpu],
            };
            let wl = if cpu == to { comes } else { 0 };
            let change = share(&after, cpu) - share(&queues, cpu);
            for k in [Kernel::V2638, Kernel::V46] {
                prop_assert_eq!(effective_load(k, &[level], wl, comes), change, "CPU {}", cpu);
            }
        }
    }

    /// A CPU that ticks only while it has tasks, read at any time, against one that always ticks.
    #[test]
    fn loads_over_ticks(
        start in any::<u32>(),
        steps in vec((prop_oneof![3 => Just(0u32), 2 => 0..6u32, 1 => 0..100u32],
                      prop_oneof![1 => Just(0u32), 2 => Just(1024u32), 2 => 0..6000u32, 1 => any::<u32>()]),
                     1..40),
    ) {
        let mut l = intf::place_cpu_load { load: [0; 2], tick: start };
        let mut naive = TickLoads([0; 2]);
        let mut now = start;
        let read = |l: &intf::place_cpu_load, now| {
            [0, 1].map(|i| u64::from(unsafe { intf::place_host_cpu_load_at(l, i, now) }))
        };
        for (idle, weight) in steps {
            for _ in 0..idle {
                now = now.wrapping_add(1);
                naive.tick(0);
                prop_assert_eq!(read(&l, now), naive.0, "{} idle", idle);
            }
            now = now.wrapping_add(1);
            naive.tick(weight.into());
            unsafe { intf::place_host_cpu_load_tick(&mut l, now, weight) };
            prop_assert_eq!(read(&l, now), naive.0);
            // A second tick in the same jiffy is none; a reader may be one jiffy behind.
            unsafe { intf::place_host_cpu_load_tick(&mut l, now, 5) };
            prop_assert_eq!(read(&l, now.wrapping_sub(1)), naive.0);
        }
    }

    /// An eighth of each sample, rounded down, whether it rises or falls.
    #[test]
    fn overlaps(
        steps in vec((0..3_000_000u64, prop_oneof![0..2_000_000u64, 0..20_000_000_000u64], 1..4u32), 1..30),
        start in any::<u32>(),
    ) {
        let mut o = intf::place_overlap { woke_ns: 0, avg_ns: 0 };
        let (mut consumed, mut avg) = (u64::from(start), 0i128);
        for (before, after, wakeups) in steps {
            // Only the last wakeup before it sleeps counts.
            for _ in 0..wakeups {
                consumed += before;
                unsafe { intf::place_host_overlap_wake(&mut o, consumed) };
            }
            consumed += after;
            unsafe { intf::place_host_overlap_sleep(&mut o, consumed) };
            avg += (i128::from(after) - avg).div_euclid(8);
            prop_assert_eq!(i128::from(o.avg_ns), avg);
        }
    }
}

/// Every branch of every rule, by numbers that a reader can follow: nice-0 tasks on symmetric CPUs.
mod branches {
    use super::*;
    use machines::Scene;
    use naive::{Affine, Facts, IdleSearch};
    use scx_place::topology::{Cpu, Machine};

    /// Two nodes of two caches of two cores of two threads: CPUs 0..16, threads in pairs.
    fn scene() -> Scene {
        let cpu = |id: usize| Cpu {
            id,
            core: id / 2,
            cluster: None,
            llc: id / 4,
            node: id / 8,
        };
        Scene::of(Machine {
            nr_cpu_ids: 16,
            cpus: (0..16).map(cpu).collect(),
            distance: vec![vec![10, 20], vec![20, 10]],
        })
    }

    const SAME_CORE: usize = 1;
    const SAME_CACHE: usize = 2;
    const SAME_NODE: usize = 4;
    const OTHER_NODE: usize = 8;

    fn rule(kernel: Kernel) -> affine_history::Rule {
        affine_history::Rule {
            kernel,
            wake_wide: true,
            pct: [110, 125, 125],
            wake_idx: 1,
            migration_cost_us: 500,
            nohot_sync: true,
        }
    }

    /// CPU 0 wakes a nice-0 task that slept on another CPU; the waker is alone there.
    fn facts(prev: usize) -> Facts {
        Facts {
            idle: [].into(),
            idle_core: [].into(),
            sched_idle: [].into(),
            allowed: (0..16).collect(),
            has_idle_cores: [].into(),
            nr_idle_scan: vec![0; 4],
            waker: 0,
            prev,
            recent: None,
            sync: false,
            waker_is_kthread: false,
            affine_domain: true,
            waker_nr_running: 1,
            waker_flips: 0,
            wakee_flips: 0,
            cpu_loads: (0, 0),
            capacities: (1024, 1024),
            task_loads: (1024, 1024),
            history: affine_history::Facts {
                cpu_weights: (1024, 0),
                task_weights: (1024, 1024),
                tick_loads: ([1024; 2], [0; 2]),
                since_ran_ns: 1_000_000,
                runnable_loads: (1024, 0),
                wakee_load_avg: 1024,
                ..Default::default()
            },
            avg_idle_ns: 0,
            scan_cost_ns: 0,
            prev_nr_running: 1,
        }
    }

    struct Case {
        rule: affine_history::Rule,
        facts: Facts,
    }

    impl Case {
        fn of(kernel: Kernel, prev: usize) -> Case {
            Case {
                rule: rule(kernel),
                facts: facts(prev),
            }
        }

        /// Weights, and tracked loads, of the runnable tasks of the two CPUs, also at the last ticks.
        fn loads(mut self, waker: u32, prev: u32) -> Case {
            let h = &mut self.facts.history;
            h.cpu_weights = (waker, prev);
            h.runnable_loads = (waker, prev);
            h.tick_loads = ([waker; 2], [prev; 2]);
            self.facts.waker_nr_running = waker / 1024;
            self
        }

        fn at_ticks(mut self, waker: u32, prev: u32) -> Case {
            self.facts.history.tick_loads = ([waker; 2], [prev; 2]);
            self
        }

        fn sync(mut self) -> Case {
            self.facts.sync = true;
            self
        }

        fn with(mut self, change: impl Fn(&mut affine_history::Facts)) -> Case {
            change(&mut self.facts.history);
            self
        }

        fn when(mut self, change: impl Fn(&mut Facts)) -> Case {
            change(&mut self.facts);
            self
        }

        fn set(mut self, change: impl Fn(&mut affine_history::Rule)) -> Case {
            change(&mut self.rule);
            self
        }

        /// The branch, of both sides; the target must be what the branch says.
        fn takes(&self, branch: &str) {
            let scene = scene();
            let affine = Affine::History(self.rule);
            let expected = naive::wakeup(&scene.topology, &self.facts, affine, IdleSearch::None);
            let result = scene.compare(&self.facts, affine, IdleSearch::None, 0, &expected);
            result.unwrap_or_else(|e| panic!("{e}\n{:?}", self.facts));
            assert_eq!(expected.affine, branch, "{:?}\n{:?}", self.rule, self.facts);
            let frame = ["same_cpu", "wake_wide", "not_allowed", "no_domain"].contains(&branch);
            let target = if !frame && pulls(branch) {
                self.facts.waker
            } else {
                self.facts.prev
            };
            assert_eq!(expected.target, target);
        }
    }

    #[test]
    fn the_frame() {
        for kernel in Kernel::ALL {
            Case::of(kernel, 0).takes("same_cpu");
            let outside = |f: &mut Facts| {
                f.allowed.remove(&0);
            };
            Case::of(kernel, SAME_CACHE)
                .when(outside)
                .takes("not_allowed");
            let wide = |f: &mut Facts| (f.waker_flips, f.wakee_flips) = (4, 16);
            // v4.6 alone knows flips, and asks for them before the affinity.
            let case = Case::of(kernel, SAME_CACHE).when(wide).when(outside);
            let v46 = kernel == Kernel::V46;
            case.takes(if v46 { "wake_wide" } else { "not_allowed" });
            case.set(|r| r.wake_wide = false).takes("not_allowed");
            let far = Case::of(kernel, OTHER_NODE).when(|f| f.affine_domain = false);
            match kernel {
                Kernel::V2626 | Kernel::V2627 => far.takes("passive_prev"),
                _ => far.takes("no_domain"),
            }
        }
    }

    /// The word of the BPF program follows from this.
    #[test]
    fn what_reads_the_past() {
        let reads = |affine| {
            let policy = machines::native(affine, IdleSearch::None);
            unsafe { intf::place_host_reads_history(&policy) == 1 }
        };
        assert!(!reads(Affine::Off) && !reads(Affine::Always));
        let wa_414 = naive::Wa414 {
            wa_idle: true,
            wa_weight: true,
            wa_bias: true,
            wake_wide: true,
            pct: [110, 117, 117],
        };
        assert!(!reads(Affine::Wa414(wa_414)));
        for kernel in Kernel::ALL {
            assert!(reads(Affine::History(rule(kernel))), "{kernel:?}");
        }
    }

    #[test]
    fn v2626_and_v2627() {
        for kernel in [Kernel::V2626, Kernel::V2627] {
            let case = |prev| Case::of(kernel, prev);
            // 100 * (1024 + 1024) <= 112 * 2048; not with 1828: 112 * 1828 = 204736.
            case(SAME_CACHE).loads(1024, 2048).takes("balanced");
            case(SAME_CACHE).loads(1024, 1829).takes("balanced");
            case(SAME_CACHE).loads(1024, 1828).takes("imbalanced");
            case(SAME_NODE).loads(1024, 1829).takes("balanced");
            case(SAME_NODE).loads(1024, 1828).takes("imbalanced");
            // Threads of a core: 105 * 1951 = 204855, 105 * 1950 = 204750.
            case(SAME_CORE).loads(1024, 1951).takes("balanced");
            case(SAME_CORE).loads(1024, 1950).takes("imbalanced");

            // The loads at the last tick count where that is to W's disfavour, but not within a core.
            case(SAME_CACHE)
                .loads(1024, 2048)
                .at_ticks(0, 1024)
                .takes("imbalanced");
            case(SAME_CACHE)
                .loads(1024, 2048)
                .at_ticks(2048, 2048)
                .takes("imbalanced");
            case(SAME_CACHE)
                .loads(1024, 2048)
                .at_ticks(0, 9000)
                .takes("balanced");
            case(SAME_CORE)
                .loads(1024, 2048)
                .at_ticks(2048, 0)
                .takes("balanced");
            let now = |r: &mut affine_history::Rule| r.wake_idx = 0;
            case(SAME_CACHE)
                .loads(1024, 2048)
                .at_ticks(2048, 0)
                .set(now)
                .takes("balanced");
            let second = |r: &mut affine_history::Rule| r.wake_idx = 2;
            let low = |h: &mut affine_history::Facts| h.tick_loads = ([0, 2048], [2048, 2048]);
            case(SAME_CACHE)
                .loads(1024, 2048)
                .with(low)
                .takes("balanced");
            case(SAME_CACHE)
                .loads(1024, 2048)
                .with(low)
                .set(second)
                .takes("imbalanced");

            let falls = |h: &mut affine_history::Facts| h.tick_loads = ([0; 2], [2048, 0]);
            case(SAME_CACHE)
                .loads(1024, 2048)
                .with(falls)
                .takes("balanced");
            case(SAME_CACHE)
                .loads(1024, 2048)
                .with(falls)
                .set(second)
                .takes("imbalanced");

            // Sync: the waker's weight leaves W.  It is 1024 against 1024, and both sleep soon.
            case(SAME_CACHE)
                .loads(1024, 1024)
                .sync()
                .takes("sync_overlap");
            case(SAME_CACHE).loads(1024, 1024).takes("imbalanced");
            let long = |h: &mut affine_history::Facts| h.overlaps_ns = (500_000, 0);
            case(SAME_CACHE)
                .loads(1024, 1024)
                .sync()
                .with(long)
                .takes("balanced");
            let long = |h: &mut affine_history::Facts| h.overlaps_ns = (0, 500_000);
            case(SAME_CACHE)
                .loads(1024, 1024)
                .sync()
                .with(long)
                .takes("balanced");
            let short = |h: &mut affine_history::Facts| h.overlaps_ns = (499_999, 499_999);
            case(SAME_CACHE)
                .loads(1024, 1024)
                .sync()
                .with(short)
                .takes("sync_overlap");
            let free = |r: &mut affine_history::Rule| r.migration_cost_us = 0;
            case(SAME_CACHE)
                .loads(1024, 1024)
                .sync()
                .set(free)
                .takes("balanced");
            // An exiting waker is about to sleep as well.
            let exits = |h: &mut affine_history::Facts| h.sync_exiting = true;
            case(SAME_CACHE)
                .loads(1024, 1024)
                .with(exits)
                .takes("sync_overlap");

            // Not balanced, but W keeps nothing and P has no more than W's tasks on average.
            case(SAME_CACHE).loads(1024, 0).sync().takes("light");
            case(SAME_CACHE).loads(1024, 512).sync().takes("light");
            case(SAME_CACHE).loads(2048, 0).sync().takes("imbalanced");
            // target(P) counts the last tick, too.
            case(SAME_CACHE)
                .loads(1024, 0)
                .at_ticks(1024, 1025)
                .sync()
                .takes("imbalanced");

            // Between nodes: 112 * 1024 = 114688 against 100 times the other.
            case(OTHER_NODE).loads(1024, 1147).takes("passive_waker");
            case(OTHER_NODE).loads(1024, 1146).takes("passive_prev");
            case(OTHER_NODE)
                .loads(1024, 2048)
                .at_ticks(1024, 1146)
                .takes("passive_prev");
            case(OTHER_NODE)
                .loads(1024, 1024)
                .sync()
                .takes("passive_prev");
        }
    }

    #[test]
    fn v2626_asks_for_a_fair_waker_and_v2627_does_not() {
        let other = |h: &mut affine_history::Facts| h.task_weights.0 = 0;
        let case = |kernel| {
            Case::of(kernel, SAME_CACHE)
                .loads(0, 1024)
                .sync()
                .with(other)
        };
        case(Kernel::V2626).takes("balanced");
        case(Kernel::V2627).takes("sync_overlap");
    }

    /// A CPU without tasks, where an interrupt wakes: 1024, what it was last, 0.
    #[test]
    fn the_average_weight_of_no_tasks() {
        let case = |kernel| Case::of(kernel, SAME_CACHE).loads(0, 512);
        case(Kernel::V2626).takes("light");
        let heavy = |h: &mut affine_history::Facts| h.task_weights.1 = 2000;
        let case_of = |prev| {
            Case::of(Kernel::V2626, SAME_CACHE)
                .loads(0, prev)
                .with(heavy)
        };
        case_of(1024).takes("light");
        case_of(1025).takes("imbalanced");
        let before = |h: &mut affine_history::Facts| h.tpt = (2048, 4);
        case(Kernel::V2626).with(before).takes("light");
        case(Kernel::V2627).with(before).takes("light");
        let before = |h: &mut affine_history::Facts| h.tpt = (2044, 4);
        case(Kernel::V2627).with(before).takes("imbalanced");
        case(Kernel::V2627).takes("imbalanced");
        // Later kernels pull to an empty CPU in any case.
        for kernel in [
            Kernel::V2637,
            Kernel::V2638rc,
            Kernel::V2638,
            Kernel::V2638NoHot,
        ] {
            case(kernel).takes("unloaded");
        }
    }

    #[test]
    fn v2637_to_v2638() {
        for kernel in [
            Kernel::V2637,
            Kernel::V2638rc,
            Kernel::V2638,
            Kernel::V2638NoHot,
        ] {
            let case = |prev| Case::of(kernel, prev);
            case(SAME_CACHE).loads(1024, 0).sync().takes("unloaded");
            case(SAME_CACHE).loads(1024, 1829).takes("balanced");
            case(SAME_CACHE).loads(1024, 1828).takes("imbalanced");
            case(SAME_CORE).loads(1024, 1951).takes("balanced");
            case(SAME_CORE).loads(1024, 1950).takes("imbalanced");
            case(OTHER_NODE).loads(1024, 1829).takes("balanced");
            case(OTHER_NODE).loads(1024, 1828).takes("imbalanced");
            case(SAME_CACHE)
                .loads(2048, 1829)
                .sync()
                .takes("sync_balanced");
            case(SAME_CACHE)
                .loads(2048, 1828)
                .sync()
                .takes("imbalanced");
            // What was at the last tick does not count.
            case(SAME_CACHE)
                .loads(1024, 1829)
                .at_ticks(5000, 0)
                .takes("balanced");
            // Three light tasks and one heavy: on average more than the light ones and P's.
            let light = |h: &mut affine_history::Facts| h.cpu_weights = (15, 16);
            let alone = |f: &mut Facts| f.waker_nr_running = 1;
            case(SAME_CACHE).with(light).when(alone).takes("imbalanced");
            let heavy = |h: &mut affine_history::Facts| {
                (h.cpu_weights, h.task_weights.0) = ((4096, 100), 4000)
            };
            let two = |f: &mut Facts| f.waker_nr_running = 2;
            case(SAME_CACHE).with(heavy).when(two).sync().takes("light");
            // A larger previous CPU, a larger CPU of the waker: 100 * 1024 * 2048 <= 112 * 512 * ...
            let caps = |w, p| move |f: &mut Facts| f.capacities = (w, p);
            case(SAME_CACHE)
                .loads(1024, 3657)
                .when(caps(512, 1024))
                .takes("imbalanced");
            case(SAME_CACHE)
                .loads(1024, 3658)
                .when(caps(512, 1024))
                .takes("balanced");
            case(SAME_CACHE)
                .loads(1024, 915)
                .when(caps(1024, 512))
                .takes("balanced");
            case(SAME_CACHE)
                .loads(1024, 914)
                .when(caps(1024, 512))
                .takes("imbalanced");
        }
    }

    /// Load below zero: the unsigned one is huge, the signed one little.
    #[test]
    fn below_zero() {
        let more =
            |h: &mut affine_history::Facts| (h.cpu_weights.0, h.task_weights.0) = (1024, 1100);
        let case = |kernel| {
            Case::of(kernel, SAME_CACHE)
                .loads(1024, 100)
                .with(more)
                .sync()
        };
        // 1024 - 1100 + 1024 = 948 for 100 tasks of P; -76 is the largest of numbers.
        for kernel in [Kernel::V2637, Kernel::V2638rc, Kernel::V2626, Kernel::V2627] {
            case(kernel).takes("imbalanced");
        }
        for kernel in [Kernel::V2638, Kernel::V2638NoHot] {
            case(kernel).takes("unloaded");
        }
    }

    #[test]
    fn v2638_nohot() {
        let ran = |ago| move |h: &mut affine_history::Facts| h.since_ran_ns = ago;
        let case = || Case::of(Kernel::V2638NoHot, SAME_CACHE).loads(1024, 2048);
        case().with(ran(499_999)).takes("hot");
        case().with(ran(500_000)).takes("balanced");
        case().with(ran(0)).sync().takes("hot");
        let not_sync = |r: &mut affine_history::Rule| r.nohot_sync = false;
        case().with(ran(0)).sync().set(not_sync).takes("unloaded");
        case().with(ran(0)).set(not_sync).takes("hot");
        let idle = |h: &mut affine_history::Facts| h.wakee_is_sched_idle = true;
        case().with(ran(0)).with(idle).takes("balanced");
        let free = |r: &mut affine_history::Rule| r.migration_cost_us = 0;
        case().with(ran(0)).set(free).takes("balanced");
        // The others do not ask.
        Case::of(Kernel::V2638, SAME_CACHE)
            .loads(1024, 2048)
            .with(ran(0))
            .takes("balanced");
    }

    #[test]
    fn v46() {
        let case = |prev| Case::of(Kernel::V46, prev);
        case(SAME_CACHE).loads(1024, 1829).takes("balanced");
        case(SAME_CACHE).loads(1024, 1828).takes("imbalanced");
        case(SAME_CORE).loads(1024, 1951).takes("balanced");
        case(SAME_CORE).loads(1024, 1950).takes("imbalanced");
        // Tracked loads, not weights; the waker's and the wakee's as well.
        let light =
            |h: &mut affine_history::Facts| (h.runnable_loads, h.wakee_load_avg) = ((100, 135), 50);
        case(SAME_CACHE)
            .loads(9999, 0)
            .with(light)
            .takes("balanced");
        let lighter = |h: &mut affine_history::Facts| h.runnable_loads.1 = 133;
        case(SAME_CACHE)
            .with(light)
            .with(lighter)
            .takes("imbalanced");
        let leaves = |f: &mut Facts| f.task_loads.0 = 2;
        case(SAME_CACHE)
            .with(light)
            .with(lighter)
            .when(leaves)
            .sync()
            .takes("balanced");
        // Nothing left on W: it wins unless it is much smaller.
        let caps = |w, p| move |f: &mut Facts| f.capacities = (w, p);
        case(SAME_CACHE).loads(1024, 0).sync().takes("unloaded");
        case(SAME_CACHE).loads(0, 0).takes("unloaded");
        case(SAME_CACHE).loads(500, 0).sync().takes("unloaded");
        case(SAME_CACHE)
            .loads(0, 0)
            .when(caps(915, 1024))
            .takes("unloaded");
        case(SAME_CACHE)
            .loads(0, 0)
            .when(caps(914, 1024))
            .takes("imbalanced");
        // There is no last resort.
        case(SAME_CACHE).loads(1025, 0).sync().takes("imbalanced");
        let two = |f: &mut Facts| f.waker_nr_running = 2;
        case(SAME_CACHE)
            .loads(4096, 3000)
            .when(two)
            .sync()
            .takes("imbalanced");
    }
}
