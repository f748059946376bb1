// SPDX-License-Identifier: GPL-2.0-only

//! Properties of the policy files on random machines: each rule decides what a plain loop over
//! CPUs decides.  `PLACE_PROPTEST_CASES` sets the number of cases per rule; 100000 is the full run.

mod branches;
mod machines;
mod naive;

use proptest::collection::vec;
use proptest::prelude::*;

use machines::{
    counter, fork_moment, moment, recipe, words, ForkMoment, IdleCores, Moment, Recipe, Scene,
    Words,
};
use naive::fork::Rule;
use naive::{affine_history, Affine, Facts, IdleSearch, Throttle, Wa414};
use scx_place::bpf_intf as intf;
use scx_place::policy::Policy;
use scx_place::topology::{Cpu, Machine};

fn cases() -> u32 {
    std::env::var("PLACE_PROPTEST_CASES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(2000)
}

/// Steps of shrinking a failure; `PLACE_PROPTEST_SHRINK=0` where only the failure counts.
fn shrink() -> u32 {
    std::env::var("PLACE_PROPTEST_SHRINK")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(200_000)
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: cases(),
        max_shrink_iters: shrink(),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

const WA_414: Affine = Affine::Wa414(Wa414 {
    wa_idle: true,
    wa_weight: true,
    wa_bias: true,
    wake_wide: true,
    pct: [110, 117, 117],
});

fn affine_rule() -> impl Strategy<Value = Affine> {
    let pct = || prop_oneof![1 => Just(100u32), 1 => Just(200u32), 2 => 100..=200u32];
    let parts = (any::<[bool; 4]>(), [pct(), pct(), pct()]);
    prop_oneof![
        1 => Just(Affine::Off),
        1 => Just(Affine::Always),
        3 => history_rule().prop_map(Affine::History),
        2 => Just(WA_414),
        3 => parts.prop_map(|([wa_idle, wa_weight, wa_bias, wake_wide], pct)| {
            Affine::Wa414(Wa414 { wa_idle, wa_weight, wa_bias, wake_wide, pct })
        }),
    ]
}

/// `affine=v2626` to `affine=v46`, as they were and with any settings.
fn history_rule() -> impl Strategy<Value = affine_history::Rule> {
    let pct = prop_oneof![
        3 => Just([110u32, 125, 125]),
        2 => Just([110u32, 117, 125]),
        1 => [100..=200u32, 100..=200u32, 100..=200u32],
    ];
    let kernel = proptest::sample::select(affine_history::Kernel::ALL.to_vec());
    let idx = prop_oneof![3 => Just(1u32), 1 => Just(0u32), 1 => Just(2u32)];
    let cost = prop_oneof![4 => Just(500u32), 1 => Just(0u32), 1 => 0..=1_000_000u32];
    (kernel, any::<bool>(), pct, idx, cost, any::<bool>()).prop_map(
        |(kernel, wake_wide, pct, wake_idx, migration_cost_us, nohot_sync)| affine_history::Rule {
            kernel,
            wake_wide,
            pct,
            wake_idx,
            migration_cost_us,
            nohot_sync,
        },
    )
}

fn throttle() -> impl Strategy<Value = Throttle> {
    let fudge = prop_oneof![Just(512u32), 1..=65536u32, 1..=4u32];
    let look_ns = prop_oneof![Just(60u32), 0..=10_000u32];
    (fudge, look_ns).prop_map(|(fudge, look_ns)| Throttle { fudge, look_ns })
}

fn migration_cost() -> impl Strategy<Value = u32> {
    prop_oneof![4 => Just(500u32), 1 => Just(0), 1 => Just(u32::MAX), 1 => any::<u32>(), 1 => 1..=10_000u32]
}

/// The kernel's masks of idle CPUs and idle cores change one after the other.
fn idle_cores() -> impl Strategy<Value = IdleCores> {
    prop_oneof![2 => Just(IdleCores::Exact), 1 => Just(IdleCores::MissingCores)]
}

fn any_moment() -> impl Strategy<Value = Moment> {
    idle_cores().prop_flat_map(moment)
}

fn check(
    recipe: &Recipe,
    moment: &Moment,
    affine: Affine,
    search: IdleSearch,
) -> Result<(), TestCaseError> {
    // The two rules share a parameter.
    let affine = match (affine, search) {
        (Affine::History(rule), IdleSearch::MasonPkg(migration_cost_us)) => {
            Affine::History(affine_history::Rule {
                migration_cost_us,
                ..rule
            })
        }
        _ => affine,
    };
    let scene = Scene::of(recipe.machine());
    let facts = scene.facts(moment);
    let expected = naive::wakeup(&scene.topology, &facts, affine, search);
    scene
        .compare(&facts, affine, search, moment.garbage, &expected)
        .map_err(|e| TestCaseError::fail(format!("{e}\n{facts:?}\n{:?}\n", scene.machine)))
}

fn check_fork(r: &Recipe, m: &ForkMoment, garbage: u64, rule: Rule) -> Result<(), TestCaseError> {
    let scene = Scene::of(r.machine());
    let facts = scene.fork_facts(m);
    let expected = naive::fork::place(&scene.machine, &facts, rule);
    let actual = scene.fork(&facts, rule, garbage);
    prop_assert_eq!(actual, expected, "{:?}\n{:?}", facts, scene.machine);
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn affine_and_no_search(r in recipe(), m in moment(IdleCores::Exact), a in affine_rule()) {
        check(&r, &m, a, IdleSearch::None)?;
    }

    #[test]
    fn affine_history(r in recipe(), m in moment(IdleCores::Exact), rule in history_rule()) {
        check(&r, &m, Affine::History(rule), IdleSearch::None)?;
    }

    #[test]
    fn mainline_46(r in recipe(), m in moment(IdleCores::Exact), a in affine_rule()) {
        check(&r, &m, a, IdleSearch::Mainline46)?;
    }

    #[test]
    fn scan_2637(r in recipe(), m in any_moment(), a in affine_rule()) {
        check(&r, &m, a, IdleSearch::Scan2637)?;
    }

    #[test]
    fn mason_first(r in recipe(), m in any_moment(), a in affine_rule()) {
        check(&r, &m, a, IdleSearch::MasonFirst)?;
    }

    #[test]
    fn mason_pkg(
        r in recipe(), m in any_moment(), a in affine_rule(), cost_us in migration_cost(),
    ) {
        check(&r, &m, a, IdleSearch::MasonPkg(cost_us))?;
    }

    #[test]
    fn peter_rfc(r in recipe(), m in any_moment(), a in affine_rule(), t in throttle()) {
        check(&r, &m, a, IdleSearch::PeterRfc(t))?;
    }

    #[test]
    fn sis_49(r in recipe(), m in moment(IdleCores::Exact), a in affine_rule(), t in throttle()) {
        check(&r, &m, a, IdleSearch::Sis49(t))?;
    }

    #[test]
    fn sis_49_misses_idle_cores(
        r in recipe(), m in moment(IdleCores::MissingCores), a in affine_rule(), t in throttle(),
    ) {
        check(&r, &m, a, IdleSearch::Sis49(t))?;
    }

    #[test]
    fn sis_avg_cpu(r in recipe(), m in any_moment(), a in affine_rule(), t in throttle()) {
        check(&r, &m, a, IdleSearch::SisAvgCpu(t))?;
    }

    #[test]
    fn sis_prop(r in recipe(), m in any_moment(), a in affine_rule(), t in throttle()) {
        check(&r, &m, a, IdleSearch::SisProp(t))?;
    }

    #[test]
    fn sis_util(r in recipe(), m in any_moment(), a in affine_rule()) {
        check(&r, &m, a, IdleSearch::SisUtil)?;
    }

    #[test]
    fn sis_modern(r in recipe(), m in moment(IdleCores::Exact), a in affine_rule()) {
        check(&r, &m, a, IdleSearch::SisModern)?;
    }

    /// A mask of idle cores that misses some is believed as it is.
    #[test]
    fn sis_modern_misses_idle_cores(
        r in recipe(), m in moment(IdleCores::MissingCores), a in affine_rule(),
    ) {
        check(&r, &m, a, IdleSearch::SisModern)?;
    }

    #[test]
    fn mainline_46_misses_idle_cores(
        r in recipe(), m in moment(IdleCores::MissingCores), a in affine_rule(),
    ) {
        check(&r, &m, a, IdleSearch::Mainline46)?;
    }

    #[test]
    fn fork_v2627(r in recipe(), m in fork_moment(), garbage in any::<u64>()) {
        check_fork(&r, &m, garbage, Rule::V2627)?;
    }

    #[test]
    fn fork_v48(r in recipe(), m in fork_moment(), garbage in any::<u64>()) {
        check_fork(&r, &m, garbage, Rule::V48)?;
    }

    #[test]
    fn fork_fig_v1r1(r in recipe(), m in fork_moment(), garbage in any::<u64>()) {
        check_fork(&r, &m, garbage, Rule::FigV1r1)?;
    }

    #[test]
    fn fork_v410(r in recipe(), m in fork_moment(), garbage in any::<u64>()) {
        check_fork(&r, &m, garbage, Rule::V410)?;
    }

    #[test]
    fn fork_v612(r in recipe(), m in fork_moment(), garbage in any::<u64>()) {
        check_fork(&r, &m, garbage, Rule::V612)?;
    }

    /// The segments cut exactly the cache's part out of the machine's words.
    #[test]
    fn segments_cut_out_the_span(r in recipe(), set in words()) {
        let scene = Scene::of(r.machine());
        let warnings = &scene.layout.warnings;
        prop_assert!(!r.is_regular() || warnings.is_empty(), "{warnings:?}");
        for llc in 0..scene.layout.llcs.len() {
            cut(&scene, llc, &set)?;
        }
    }

    /// A lost claim takes the CPU from the idle ones and its core from the idle cores.
    #[test]
    fn claim_lost(r in recipe(), m in moment(IdleCores::Exact)) {
        let scene = Scene::of(r.machine());
        let facts = scene.facts(&m);
        let mut after = facts.clone();
        after.idle.remove(&facts.prev);
        for c in scene.topology.core(facts.prev) {
            after.idle_core.remove(c);
        }
        let at = scene.layout.wheres[facts.prev];
        for nw in [1, 4, 16].into_iter().filter(|&nw| nw >= scene.layout.llc_words as usize) {
            let mut view = scene.view(&facts, at.llc as usize, nw, m.garbage);
            let expected = scene.view(&after, at.llc as usize, nw, m.garbage);
            // SAFETY: live structures; the layout fits nw words.
            unsafe {
                let llc = &scene.layout.llcs[at.llc as usize];
                let (local, core) = (at.local.into(), at.core.into());
                intf::place_host_claim_lost(&mut view, llc, local, core, nw as u32);
            }
            prop_assert_eq!(view.idle.w, expected.idle.w);
            prop_assert_eq!(view.idle_core.w, expected.idle_core.w);
            prop_assert_eq!(view.sched_idle.w, expected.sched_idle.w);
            prop_assert_eq!(view.allowed.w, expected.allowed.w);
        }
    }

    #[test]
    fn wake_wide(waker in 0..5000u32, wakee in 0..5000u32, size in 1..=64u32) {
        let wide = naive::wake_wide(waker, wakee, size as usize);
        prop_assert_eq!(unsafe { intf::place_host_wake_wide(waker, wakee, size) } == 1, wide);
    }

    /// Flips count changes of wakee and lose half once a second, if a wakeup comes.
    #[test]
    fn record_wakee(
        start in any::<u64>(), hz in prop_oneof![Just(100u32), Just(250), Just(1000)],
        wakeups in vec((0..3000u64, 1..4u64), 1..60),
    ) {
        let mut flips = intf::place_flips { last_wakee: 0, flips: 0, decayed_at: start as u32 };
        let (mut now, mut stamp, mut last, mut count) = (start, start, 0, 0u32);
        for (gap, wakee) in wakeups {
            now = now.wrapping_add(gap);
            if now.wrapping_sub(stamp) > u64::from(hz) {
                count /= 2;
                stamp = now;
            }
            if last != wakee {
                last = wakee;
                count += 1;
            }
            unsafe { intf::place_host_record_wakee(&mut flips, wakee, now, hz) };
            prop_assert_eq!(flips.flips, count);
        }
    }

    #[test]
    fn wake_affine_weight(
        loads in (0..200_000u32, 0..200_000u32, 0..3000u32, 0..3000u32),
        capacities in (1..=1024u32, 1..=1024u32),
        (pct, sync, bias) in (100..=200u32, any::<bool>(), any::<bool>()),
    ) {
        let (waker_load, prev_load, curr_load, task_load) = loads;
        let a = intf::wa_weight {
            waker_load: waker_load.into(), prev_load: prev_load.into(),
            curr_load: curr_load.into(), task_load: task_load.into(),
            waker_capacity: capacities.0, prev_capacity: capacities.1,
            imbalance_pct: pct, sync: sync.into(), bias: bias.into(),
        };
        let expected = naive::wa_weight(&naive::Weights {
            cpus: (waker_load, prev_load), tasks: (curr_load, task_load), capacities,
            pct, sync, bias,
        });
        let branch = unsafe { intf::place_host_wake_affine_weight(&a) };
        prop_assert_eq!(counter("affine", branch as u16), expected);
    }

    #[test]
    fn nr_idle_scan(util in 0..=1100u64, cpus in 1..=1024u32) {
        let scan = |util| {
            let sum = util * u64::from(cpus);
            unsafe { intf::place_host_nr_idle_scan(sum, cpus, 117) }
        };
        let x = u128::from(util);
        let t = (x * x * 117 * 117 / (10000 * 1024)).min(1024);
        prop_assert_eq!(u128::from(scan(util)), u128::from(cpus) * (1024 - t) / 1024);
        prop_assert!(scan(util + 1) <= scan(util));
    }

    #[test]
    fn pelt_decay(v in any::<u64>(), v_bits in 0..64u32, n in 0..2100u64) {
        let v = v >> v_bits;
        let decayed = unsafe { intf::place_host_pelt_decay(v, n) };
        let exact = v as f64 * 0.5f64.powf(n as f64 / 32.0);
        if n > 2016 {
            prop_assert_eq!(decayed, 0);
        } else {
            // Cut off twice; the factor is low by less than 2^-31 of itself.
            let (low, high) = (exact * (1.0 - 1e-9) - 2.0, exact * (1.0 + 1e-12) + 1e-9);
            prop_assert!((low..=high).contains(&(decayed as f64)), "{decayed} {exact}");
        }
    }

    #[test]
    fn pelt_update(steps in vec((pelt_gap(), pelt_weight(), any::<bool>()), 1..40)) {
        pelt_against_history(&steps)?;
    }

    /// Running half of the time is a utilisation of one half.
    #[test]
    fn pelt_half_duty(half_us in 50..4000u64, weight in 1..90_000u64) {
        let mut p = pelt_from(PELT_START);
        let (mut now, mut sum, mut n) = (PELT_START, 0u64, 0u64);
        while now < 2_000_000_000 {
            for running in [1, 0] {
                now += half_us * 1000;
                unsafe { intf::place_host_pelt_queue_update(&mut p, now, weight, running) };
                if now > 1_000_000_000 {
                    sum += u64::from(p.util_avg);
                    n += 1;
                }
            }
        }
        let mean = sum as f64 / n as f64;
        prop_assert!((mean - 512.0).abs() <= 0.05 * 512.0, "{mean}");
        // Runnable all the time: the load is the weight.
        let off = (f64::from(p.load_avg) - weight as f64).abs();
        prop_assert!(off <= 1.0 + 0.01 * weight as f64, "{}", p.load_avg);
    }

    /// delta * 1024 / w, low by no more than the inverse is cut off.
    #[test]
    fn fair_delta(
        delta in 0..1u64 << 53, bits in 0..53u32, weight in weight(), more in 0..1_000_000u64,
    ) {
        let delta = delta >> bits;
        let f = |delta| unsafe { intf::place_host_fair_delta(delta, weight) };
        let exact = u128::from(delta) * 1024 / u128::from(weight);
        let error = exact * u128::from(weight) / (1 << 32) + 2;
        let actual = u128::from(f(delta));
        prop_assert!(actual <= exact && actual + error >= exact, "{actual} {exact}");
        prop_assert!(f(delta + more) >= f(delta));
        if weight == 1024 {
            prop_assert_eq!(actual, exact);
        }
    }

    #[test]
    fn fair_slice(
        cpus in 1..=64u32, weight in weight(), nr in 1..500u32, others in 0..1_000_000u64,
    ) {
        let policy = Policy::default().to_native(1, cpus);
        let d = policy.derived;
        let sum = u64::from(weight) + others;
        let slice = unsafe { intf::place_host_fair_slice(&policy, weight, nr, sum) };
        let fits = nr <= d.nr_latency;
        let period = if fits { d.latency_ns } else { u64::from(nr) * d.min_granularity_ns };
        let exact = u128::from(period) * u128::from(weight) / u128::from(sum);
        prop_assert_eq!(u128::from(slice), exact.max(d.min_granularity_ns.into()));
    }

    #[test]
    fn fair_place_woken(
        cpus in 1..=64u32, min_v in any::<u64>(), ahead in -(1i64 << 50)..1i64 << 50,
        sched_idle in any::<bool>(),
    ) {
        let policy = Policy::default().to_native(1, cpus);
        let v = min_v.wrapping_add(ahead as u64);
        let idle_policy = u32::from(sched_idle);
        let placed = unsafe { intf::place_host_place_woken(&policy, v, min_v, idle_policy) };
        let d = policy.derived;
        let credit = if sched_idle { d.min_granularity_ns } else { d.latency_ns } / 2;
        let floor = min_v.wrapping_sub(credit);
        let past = |from: u64| placed.wrapping_sub(from) as i64;
        prop_assert!(past(floor) >= 0 && past(v) >= 0);
        prop_assert!(past(floor) == 0 || past(v) == 0);
    }

    /// A turn ends with the slice, or once it is long enough and the leftmost far behind.
    #[test]
    fn fair_turn_over(
        cpus in 1..=64u32, ran in 0..50_000_000u64, slice in 0..50_000_000u64,
        v in any::<u64>(), lead in -50_000_000i64..50_000_000,
    ) {
        let policy = Policy::default().to_native(1, cpus);
        let left = v.wrapping_sub(lead as u64);
        let over = unsafe { intf::place_host_turn_over(&policy, ran, slice, v, left) } == 1;
        let long_enough = ran >= policy.derived.min_granularity_ns;
        let behind = lead > 0 && lead as u64 > slice;
        prop_assert_eq!(over, ran > slice || (long_enough && behind));
    }

    /// The limit on waiting moves a task forward only, and none past one that was before it.
    #[test]
    fn fair_bound_lead(
        min_v in any::<u64>(), lead in -(1i64 << 30)..1i64 << 36, more in 0..1i64 << 34,
        sum_w in 0..10_000_000u64,
    ) {
        let key = |lead: i64| {
            let v = min_v.wrapping_add(lead as u64);
            let key = unsafe { intf::place_host_bound_lead(v, min_v, sum_w) };
            key.wrapping_sub(min_v) as i64
        };
        prop_assert!(key(lead) <= lead);
        prop_assert!(key(lead) == lead || key(lead) >= 0);
        prop_assert!(key(lead + more) >= key(lead), "{} {}", key(lead + more), key(lead));
    }

    #[test]
    fn fair_place_new(
        cpus in 1..=64u32, min_v in any::<u64>(), ahead in -(1i64 << 40)..1i64 << 40,
        weight in weight(), nr in 0..100u32, others in 0..200_000u64,
    ) {
        let policy = Policy::default().to_native(1, cpus);
        let parent_v = min_v.wrapping_add(ahead as u64);
        let others = if nr == 0 { 0 } else { others };
        let (placed, debit) = unsafe {
            let sum = others + u64::from(weight);
            let slice = intf::place_host_fair_slice(&policy, weight, nr + 1, sum);
            (
                intf::place_host_place_new(&policy, parent_v, min_v, weight, nr, others),
                intf::place_host_fair_delta(slice, weight),
            )
        };
        let past = |from: u64| placed.wrapping_sub(from) as i64;
        let start = min_v.wrapping_add(debit);
        prop_assert!(past(parent_v) >= 0 && past(start) >= 0);
        prop_assert!(past(parent_v) == 0 || past(start) == 0);
    }

    #[test]
    fn fair_preempts(
        cpus in 1..=64u32, v in any::<u64>(), lead in -50_000_000i64..50_000_000,
        weight in weight(),
    ) {
        let policy = Policy::default().to_native(1, cpus);
        let curr_v = v.wrapping_add(lead as u64);
        let g = policy.derived.wakeup_granularity_ns;
        let gran = unsafe { intf::place_host_fair_delta(g, weight) };
        let preempts = unsafe { intf::place_host_preempts(&policy, curr_v, v, weight) } == 1;
        prop_assert_eq!(preempts, lead > 0 && lead as u64 > gran);
    }
}

/// Every weight there is.
fn weight() -> impl Strategy<Value = u32> {
    (0..41u32).prop_map(|i| unsafe { intf::place_host_weight(i % 40, u32::from(i == 40)) })
}

/// Nanoseconds between two events.
fn pelt_gap() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..3000u64,
        0..3_000_000u64,
        0..200_000_000u64,
        0..5_000_000_000u64
    ]
}

/// Weights of what is runnable; nothing runs without any.
fn pelt_weight() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0u64), 1..3000u64]
}

/// Any period boundary but time 0.
const PELT_START: u64 = 1 << 20;

fn pelt_from(last_ns: u64) -> intf::pelt_queue {
    // SAFETY: plain integers, for which zero is a value.
    let zero: intf::pelt_queue = unsafe { std::mem::zeroed() };
    intf::pelt_queue { last_ns, ..zero }
}

/// Applies the steps and compares with the sum over all that happened, each part decayed by the
/// period boundaries since.
fn pelt_against_history(steps: &[(u64, u64, bool)]) -> Result<intf::pelt_queue, TestCaseError> {
    let mut p = pelt_from(PELT_START);
    let mut now = PELT_START;
    // (first unit, unit behind the last, weight, running)
    let mut history = Vec::new();
    let mut renewed_at = None;
    for &(gap, weight, running) in steps {
        let from = now / 1024;
        now += gap;
        history.push((from, now / 1024, weight, running));
        let renewed =
            unsafe { intf::place_host_pelt_queue_update(&mut p, now, weight, running.into()) } == 1;
        prop_assert_eq!(renewed, from / 1024 != now / 1024 / 1024);
        prop_assert_eq!(p.last_ns, now / 1024 * 1024);
        prop_assert_eq!(u64::from(p.contrib), now / 1024 % 1024);
        if renewed {
            renewed_at = Some(history.len());
        }
    }
    let sums = |history: &[(u64, u64, u64, bool)]| {
        let last = history.last().map_or(0, |h| h.1 / 1024);
        let (mut load, mut util) = (0.0, 0.0);
        for &(from, to, weight, running) in history {
            let mut at = from.max(last.saturating_sub(2016) * 1024);
            while at < to {
                let end = (at / 1024 * 1024 + 1024).min(to);
                let part = (end - at) as f64 * 0.5f64.powf((last - at / 1024) as f64 / 32.0);
                load += part * weight as f64;
                util += if running && weight > 0 { part } else { 0.0 };
                at = end;
            }
        }
        (load, util)
    };
    // The kernel's 47742 stands for 47788, and each update cuts off a few units.
    let near = |actual: f64, exact: f64, unit: f64| {
        let slack = exact * 0.0015 + 47.0 * unit + 4.0 * unit * steps.len() as f64;
        (actual - exact).abs() <= slack
    };
    let heaviest = steps.iter().map(|s| s.1).max().unwrap_or(0) as f64;
    let (load, util) = sums(&history);
    prop_assert!(
        near(p.load_sum as f64, load, heaviest + 1.0),
        "load {} {load}",
        p.load_sum
    );
    prop_assert!(
        near(p.util_sum as f64 / 1024.0, util, 1.0),
        "util {} {util}",
        p.util_sum
    );
    if let Some(n) = renewed_at {
        let (load, util) = sums(&history[..n]);
        let divider = 46718.0 + (history[n - 1].1 % 1024) as f64;
        let (load, util) = (load / divider, util * 1024.0 / divider);
        prop_assert!(
            (f64::from(p.load_avg) - load).abs() <= 2.0 + load * 0.005 + heaviest * 0.005,
            "{load}"
        );
        prop_assert!(
            (f64::from(p.util_avg) - util).abs() <= 7.0,
            "{} {util}",
            p.util_avg
        );
    }
    Ok(p)
}

/// What `view_fill` of the BPF program does with one mask.
fn cut(scene: &Scene, llc: usize, set: &Words) -> Result<(), TestCaseError> {
    let table = &scene.layout.llcs[llc];
    let mut mask = [0u64; 16];
    for seg in &table.seg[..table.nr_segs as usize] {
        prop_assert!(u32::from(seg.word) < scene.layout.mask_words);
        prop_assert!(u32::from(seg.local_word) < scene.layout.llc_words);
        let bits = set.0[seg.word as usize] >> seg.shift & seg.mask;
        let bits = bits << seg.local_shift;
        prop_assert_eq!(mask[seg.local_word as usize] & bits, 0, "segments overlap");
        mask[seg.local_word as usize] |= bits;
    }
    let mut whole = set.0;
    whole
        .iter_mut()
        .zip(table.span.w)
        .for_each(|(w, span)| *w &= span);
    mask.iter_mut()
        .zip(table.span.w)
        .for_each(|(w, span)| *w &= span);

    let mut expected = [0u64; 16];
    let mut previous = None;
    for cpu in &scene.machine.cpus {
        let at = scene.layout.wheres[cpu.id];
        if at.llc as usize != llc {
            continue;
        }
        let local = at.local as usize;
        prop_assert!(
            previous < Some(local),
            "local indices ascend with CPU numbers"
        );
        previous = Some(local);
        prop_assert_eq!(table.cpu_of[local] as usize, cpu.id);
        if set.0[cpu.id / 64] >> (cpu.id % 64) & 1 == 1 {
            expected[local / 64] |= 1 << (local % 64);
        }
    }
    prop_assert_eq!(mask, expected);
    // Up to 64 CPUs in the machine the word is taken as it is.
    if scene.layout.mask_words == 1 {
        prop_assert_eq!(whole, expected);
    }
    Ok(())
}

/// Every moment of machines of four CPUs, one cache: the first and the last CPU, full and empty masks,
/// spent budgets all come up.
mod whole {
    use super::*;

    /// CPUs 0 to 3 by their cores and clusters.
    fn scene(place: impl Fn(usize) -> (usize, Option<usize>)) -> Scene {
        let cpu = |id| {
            let (core, cluster) = place(id);
            Cpu {
                id,
                core,
                cluster,
                llc: 0,
                node: 0,
            }
        };
        Scene::of(Machine {
            nr_cpu_ids: 4,
            cpus: (0..4).map(cpu).collect(),
            distance: vec![],
        })
    }

    fn set(bits: u32) -> std::collections::BTreeSet<usize> {
        (0..4).filter(|c| bits >> c & 1 == 1).collect()
    }

    fn moment(scene: &Scene, prev: usize, idle: u32, sched_idle: u32, allowed: u32) -> Facts {
        let whole_core = |c: &usize| scene.topology.core(*c).iter().all(|t| idle >> t & 1 == 1);
        Facts {
            idle: set(idle),
            idle_core: (0..4).filter(whole_core).collect(),
            sched_idle: set(sched_idle & !idle),
            allowed: set(allowed),
            has_idle_cores: [].into(),
            nr_idle_scan: vec![4],
            waker: prev ^ 1,
            prev,
            recent: None,
            sync: false,
            waker_is_kthread: false,
            affine_domain: true,
            waker_nr_running: 2,
            waker_flips: 0,
            wakee_flips: 0,
            cpu_loads: (0, 0),
            capacities: (1024, 1024),
            task_loads: (0, 0),
            history: affine_history::Facts::default(),
            avg_idle_ns: 0,
            scan_cost_ns: 0,
            prev_nr_running: 1,
        }
    }

    fn same(scene: &Scene, facts: &Facts, affine: Affine, search: IdleSearch) {
        let expected = naive::wakeup(&scene.topology, facts, affine, search);
        let result = scene.compare(facts, affine, search, 0, &expected);
        result.unwrap_or_else(|e| panic!("{e}\n{facts:?}"));
    }

    /// What hints change is tried with each of them.
    fn hinted(scene: &Scene, facts: &Facts) {
        let smt = scene.topology.core(0).len() > 1;
        let throttle = Throttle {
            fudge: 512,
            look_ns: 60,
        };
        for cores in [false, true] {
            let mut facts = facts.clone();
            if cores && smt {
                facts.has_idle_cores = [0].into();
            }
            // Without idle time any cost is too much.
            for scan_cost_ns in [0, 1] {
                facts.scan_cost_ns = scan_cost_ns;
                same(scene, &facts, Affine::Off, IdleSearch::Sis49(throttle));
                same(scene, &facts, Affine::Off, IdleSearch::SisAvgCpu(throttle));
            }
            // 3, 3, 4 and all CPUs.
            for (avg_idle_ns, scan_cost_ns) in [(0, 0), (512, 0), (512 * 5, 3), (512 * 5, 0)] {
                facts.avg_idle_ns = avg_idle_ns;
                facts.scan_cost_ns = scan_cost_ns;
                facts.recent = Some(avg_idle_ns as usize / 512 % 4);
                same(scene, &facts, Affine::Off, IdleSearch::SisProp(throttle));
            }
            for (budget, recent) in [(0, None), (1, Some(0)), (2, None), (1, None), (3, Some(0))] {
                facts.nr_idle_scan = vec![budget];
                facts.recent = recent;
                same(scene, &facts, Affine::Off, IdleSearch::SisUtil);
                same(scene, &facts, Affine::Off, IdleSearch::SisModern);
            }
        }
    }

    fn all(scene: &Scene) {
        for bits in 0..16 * 16 * 4u32 {
            let (idle, allowed, prev) = (bits & 15, bits >> 4 & 15, (bits >> 8) as usize);
            let facts = moment(scene, prev, idle, 0, allowed);
            for affine in [Affine::Off, Affine::Always] {
                same(scene, &facts, affine, IdleSearch::Scan2637);
                same(scene, &facts, affine, IdleSearch::Mainline46);
                same(scene, &facts, affine, IdleSearch::MasonFirst);
                same(scene, &facts, affine, IdleSearch::MasonPkg(0));
            }
            hinted(scene, &facts);
            hinted(scene, &moment(scene, prev, idle & 9, 5, allowed));
        }
    }

    #[test]
    fn two_cores_of_two_threads() {
        all(&scene(|id| (id / 2, None)));
    }

    #[test]
    fn two_cores_numbered_by_thread() {
        all(&scene(|id| (id % 2, None)));
    }

    #[test]
    fn four_cores() {
        all(&scene(|id| (id, None)));
    }

    #[test]
    fn one_core_of_four_threads() {
        all(&scene(|_| (0, None)));
    }

    #[test]
    fn two_clusters_of_two_cores() {
        all(&scene(|id| (id, Some(id / 2))));
    }

    /// Which imbalance percentage decides, and ties: loads around the point where the pull begins.
    #[test]
    fn the_percentage_is_that_of_the_smallest_domain() {
        let scene = scene(|id| (id / 2, None));
        let rule = |pct| {
            Affine::Wa414(Wa414 {
                wa_idle: false,
                wa_weight: true,
                wa_bias: true,
                wake_wide: false,
                pct,
            })
        };
        for (prev, load, sync) in
            (0..4).flat_map(|prev| (95..155).map(move |l| (prev, l, l % 3 == 0)))
        {
            for waker in 0..4 {
                let facts = Facts {
                    waker,
                    sync,
                    cpu_loads: (load, 100),
                    ..moment(&scene, prev, 0, 0, 15)
                };
                same(&scene, &facts, rule([110, 140, 200]), IdleSearch::None);
                same(&scene, &facts, rule([200, 117, 110]), IdleSearch::None);
            }
        }
    }
}

/// What random machines brought to light.
mod found {
    use super::*;

    fn cpu(id: usize, core: usize, cluster: Option<usize>) -> Cpu {
        Cpu {
            id,
            core,
            cluster,
            llc: 0,
            node: 0,
        }
    }

    fn scene(cpus: Vec<Cpu>) -> Scene {
        let nr_cpu_ids = cpus.last().map_or(0, |c| c.id + 1);
        Scene::of(Machine {
            nr_cpu_ids,
            cpus,
            distance: vec![],
        })
    }

    /// A busy CPU of one cache, which wakes a task that slept there.
    fn facts(cpu: usize) -> Facts {
        Facts {
            idle: [].into(),
            idle_core: [].into(),
            sched_idle: [].into(),
            allowed: [].into(),
            has_idle_cores: [].into(),
            nr_idle_scan: vec![0],
            waker: cpu,
            prev: cpu,
            recent: None,
            sync: false,
            waker_is_kthread: false,
            affine_domain: false,
            waker_nr_running: 2,
            waker_flips: 0,
            wakee_flips: 0,
            cpu_loads: (0, 0),
            capacities: (1024, 1024),
            task_loads: (0, 0),
            history: affine_history::Facts::default(),
            avg_idle_ns: 0,
            scan_cost_ns: 0,
            prev_nr_running: 1,
        }
    }

    fn same(scene: &Scene, facts: &Facts) -> &'static str {
        let expected = naive::wakeup(&scene.topology, facts, WA_414, IdleSearch::SisModern);
        let result = scene.compare(facts, WA_414, IdleSearch::SisModern, 0, &expected);
        result.unwrap_or_else(|e| panic!("{e}"));
        expected.search
    }

    /// The record of an offline CPU is all zeros, which must not be read as the first CPU's.
    #[test]
    fn a_recently_used_cpu_that_is_offline_is_no_cpu() {
        let scene = scene(vec![cpu(0, 0, None), cpu(2, 1, None)]);
        let facts = Facts {
            idle: [0].into(),
            idle_core: [0].into(),
            allowed: [0].into(),
            recent: Some(1),
            ..facts(2)
        };
        assert_eq!(same(&scene, &facts), "no_budget");
    }

    /// A CPU alone in its cluster has none: the kernel removes such a domain.  Its scan starts at
    /// its neighbour, not behind a cluster that holds only itself.
    #[test]
    fn a_cluster_of_one_core_is_no_cluster() {
        let scene = scene(vec![
            cpu(0, 0, Some(1)),
            cpu(1, 1, Some(1)),
            cpu(2, 2, Some(2)),
            cpu(3, 3, Some(2)),
            cpu(4, 4, Some(3)),
        ]);
        let facts = Facts {
            sched_idle: [3].into(),
            allowed: [3, 4].into(),
            nr_idle_scan: vec![1],
            ..facts(4)
        };
        assert_eq!(same(&scene, &facts), "thread");
    }

    /// Large cores with an L2 each beside clusters of small ones: the large ones share what the
    /// cache shares.
    #[test]
    fn previous_cpu_among_cores_without_clusters() {
        let scene = scene(vec![
            cpu(0, 0, Some(1)),
            cpu(1, 0, Some(1)),
            cpu(2, 1, Some(2)),
            cpu(3, 1, Some(2)),
            cpu(4, 2, Some(3)),
            cpu(5, 3, Some(3)),
        ]);
        let facts = Facts {
            idle: [0].into(),
            allowed: [0, 2].into(),
            prev: 0,
            waker: 2,
            sync: true,
            affine_domain: true,
            waker_nr_running: 1,
            ..facts(2)
        };
        assert_eq!(same(&scene, &facts), "prev_idle");
    }

    /// The budget ended the scan although a kept CPU, which runs SCHED_IDLE tasks, was taken.
    #[test]
    fn a_kept_cpu_after_a_spent_budget_counts_as_throttled() {
        let scene = scene((0..6).map(|id| cpu(id, id, Some(id / 2))).collect());
        let facts = Facts {
            idle: [5].into(),
            idle_core: [5].into(),
            sched_idle: [0].into(),
            allowed: (0..6).collect(),
            prev: 0,
            waker: 2,
            sync: true,
            affine_domain: true,
            waker_nr_running: 1,
            ..facts(2)
        };
        assert_eq!(same(&scene, &facts), "prev_kept");
    }

    /// The thread that T's cluster offers is kept, though it is CPU 0 and another cluster has one too.
    #[test]
    fn the_first_cluster_gives_the_thread() {
        let scene = scene((0..8).map(|id| cpu(id, id / 2, Some(id / 4))).collect());
        let facts = Facts {
            idle: [0, 5].into(),
            allowed: (0..8).collect(),
            has_idle_cores: [0].into(),
            nr_idle_scan: vec![8],
            ..facts(2)
        };
        assert_eq!(same(&scene, &facts), "core_thread");
    }

    /// v6.12 clears has_idle_cores after a core search even if the mask allowed no CPU.
    #[test]
    fn no_candidates_and_idle_cores_expected() {
        let scene = scene(vec![cpu(0, 0, None), cpu(1, 0, None)]);
        let facts = Facts {
            has_idle_cores: [0].into(),
            nr_idle_scan: vec![1],
            ..facts(0)
        };
        assert_eq!(same(&scene, &facts), "nothing");
    }

    /// Section A.4: 1 ms of idle time pays for scans up to 1953 ns; an eighth is corrected.
    #[test]
    fn the_throttle_of_v49_closes_behind_1953_ns() {
        let scene = scene((0..4).map(|id| cpu(id, id, None)).collect());
        let search = IdleSearch::Sis49(Throttle {
            fudge: 512,
            look_ns: 60,
        });
        let decide = |scan_cost_ns, idle: &[usize]| {
            let facts = Facts {
                idle: idle.iter().copied().collect(),
                idle_core: idle.iter().copied().collect(),
                allowed: (0..4).collect(),
                avg_idle_ns: 1_000_000,
                scan_cost_ns,
                ..facts(2)
            };
            let expected = naive::wakeup(&scene.topology, &facts, WA_414, search);
            let result = scene.compare(&facts, WA_414, search, 0, &expected);
            result.unwrap_or_else(|e| panic!("{e}"));
            (
                expected.search,
                expected.cpu,
                expected.visited,
                expected.scan_cost,
            )
        };
        // 1953 + (4 * 60 - 1953) / 8, also where nothing is found.
        assert_eq!(decide(1953, &[1]), ("thread", 1, 4, Some(1739)));
        assert_eq!(decide(1953, &[]), ("nothing", 2, 4, Some(1739)));
        assert_eq!(decide(1954, &[1]), ("throttled", 2, 0, None));
        // From the target on: the target, then 3; (120 - 0) / 8.
        assert_eq!(decide(0, &[0, 3]), ("thread", 3, 2, Some(15)));
    }

    /// Heavy queues: a task 50 ms ahead must not overtake one that is less far ahead.
    #[test]
    fn the_limit_on_waiting_keeps_the_order() {
        let key = |v| unsafe { intf::place_host_bound_lead(v, 0, 2_527_336) };
        assert!(key(50_000_000) >= key(4_051_698));
    }
}

/// The forks that the properties try take every branch of every rule's comparison of groups.
#[test]
fn random_forks_take_every_branch() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..600 {
        let (r, m) = (recipe(), fork_moment())
            .new_tree(&mut runner)
            .unwrap()
            .current();
        let scene = Scene::of(r.machine());
        if scene.machine.cpus.len() > 100 {
            continue;
        }
        let facts = scene.fork_facts(&m);
        for rule in [
            Rule::V2627,
            Rule::V48,
            Rule::FigV1r1,
            Rule::V410,
            Rule::V612,
        ] {
            let top = naive::fork::place(&scene.machine, &facts, rule).top;
            seen.insert((rule.name(), top));
        }
    }
    let both: &[&str] = &["alone", "load", "load_avg", "moved"];
    for (rule, tops) in [
        ("v2627", &["alone", "load", "moved"][..]),
        ("v48", &["alone", "load", "moved"]),
        ("fig_v1r1", both),
        ("v410", both),
        ("v612", &["alone", "type", "numa", "load", "idle", "moved"]),
    ] {
        for top in tops {
            assert!(seen.contains(&(rule, top)), "{rule} never takes {top}");
        }
    }
}
