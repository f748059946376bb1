// SPDX-License-Identifier: GPL-2.0-only

//! The numbers that the specification of the policies gives, each test named after its section.

use scx_place::bpf_intf as intf;
use scx_place::policy::parse::parse_items;
use scx_place::policy::Policy;
use scx_place::topology::{Cpu, Machine};

const MS: u64 = 1_000_000;
const NICE_0: u32 = 1024;

fn defaults(nr_cpus: u32) -> intf::place_policy {
    Policy::default().to_native(1, nr_cpus)
}

// The functions below touch nothing but their arguments, which are live.

fn scale(pct: u32) -> u32 {
    unsafe { intf::place_host_affine_scale(pct) }
}

fn wake_wide(waker: u32, wakee: u32, size: u32) -> u32 {
    unsafe { intf::place_host_wake_wide(waker, wakee, size) }
}

/// The branch of `affine` that WA_WEIGHT takes pulls.
fn weight_pulls(a: &intf::wa_weight) -> bool {
    let branch = unsafe { intf::place_host_wake_affine_weight(a) };
    branch != intf::place_counter_PLACE_CNT_affine_weight_prev
}

fn slice(policy: &intf::place_policy, weight: u32, nr: u32, sum: u64) -> u64 {
    unsafe { intf::place_host_fair_slice(policy, weight, nr, sum) }
}

fn preempts(policy: &intf::place_policy, curr_v: u64, v: u64, weight: u32) -> bool {
    unsafe { intf::place_host_preempts(policy, curr_v, v, weight) == 1 }
}

fn decay(v: u64, periods: u64) -> u64 {
    unsafe { intf::place_host_pelt_decay(v, periods) }
}

fn segments(periods: u64, d1: u32, d3: u32) -> u32 {
    unsafe { intf::place_host_pelt_segments(periods, d1, d3) }
}

#[test]
fn section_0_1_weights() {
    let expected = [
        88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100,
        4904, 3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172,
        137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
    ];
    for (index, weight) in expected.into_iter().enumerate() {
        let actual = unsafe { intf::place_host_weight(index as u32, 0) };
        assert_eq!(actual, weight, "nice {}", index as i32 - 20);
    }
    assert_eq!(unsafe { intf::place_host_weight(20, 1) }, 3, "SCHED_IDLE");
}

#[test]
fn section_0_1_inverses_are_those_of_the_weights() {
    for index in 0..40 {
        let (weight, inverse) = unsafe {
            let weight = intf::place_host_weight(index, 0);
            (weight, intf::place_host_inverse(weight))
        };
        let exact = (1u64 << 32) as f64 / f64::from(weight);
        assert!(
            (f64::from(inverse) - exact).abs() <= 1.0,
            "{weight}: {inverse}, {exact}"
        );
    }
}

#[test]
fn section_h1_1_scale() {
    assert_eq!([110, 117, 125].map(scale), [105, 108, 112]);
}

#[test]
fn section_h1_5_slice_on_eight_cpus() {
    let policy = defaults(8);
    let derived = policy.derived;
    assert_eq!(
        (
            derived.latency_ns,
            derived.min_granularity_ns,
            derived.wakeup_granularity_ns
        ),
        (24 * MS, 3 * MS, 4 * MS)
    );
    assert_eq!(derived.nr_latency, 8);
    // D.1: the period is L up to 8 tasks, M per task beyond.
    assert_eq!(slice(&policy, NICE_0, 3, 3 * 1024), 8 * MS);
    assert_eq!(slice(&policy, NICE_0, 8, 8 * 1024), 3 * MS);
    assert_eq!(slice(&policy, NICE_0, 9, 9 * 1024), 3 * MS);
    assert_eq!(slice(&policy, 2048, 9, 10 * 1024), 27 * MS / 5);
    // Never below M.
    assert_eq!(slice(&policy, 15, 2, 1024 + 15), 3 * MS);
}

#[test]
fn section_d_1_constants_grow_with_the_cpus_up_to_eight() {
    let latency = [1, 2, 4, 8, 64].map(|cpus| defaults(cpus).derived.latency_ns / MS);
    assert_eq!(latency, [6, 12, 18, 24, 24]);
}

#[test]
fn section_d_3_new_task() {
    // One nice-0 task present: half the period later, the new one's weight counted.
    let policy = defaults(8);
    let place = |parent_v, min_v, weight| unsafe {
        intf::place_host_place_new(&policy, parent_v, min_v, weight, 1, 1024)
    };
    assert_eq!(place(0, 100 * MS, NICE_0), 112 * MS);
    // Never before its parent.
    assert_eq!(place(120 * MS, 100 * MS, NICE_0), 120 * MS);
}

#[test]
fn section_h1_7_sleeper_credit() {
    let policy = defaults(8);
    let place = |v, min_v| unsafe { intf::place_host_place_woken(&policy, v, min_v, 0) };
    assert_eq!(place(0, 100 * MS), 88 * MS);
    assert_eq!(place(90 * MS, 100 * MS), 90 * MS);
    assert_eq!(place(120 * MS, 100 * MS), 120 * MS);
    // Virtual time wraps around.
    assert_eq!(
        place(u64::MAX - 50 * MS, 2 * MS),
        2u64.wrapping_mul(MS).wrapping_sub(12 * MS)
    );
}

#[test]
fn section_d_4_wakeup_granularity_of_the_wakee() {
    let policy = defaults(8);
    // gran = G * 1024 / w, G = 4 ms; the lead must be larger.
    for (weight, gran) in [(NICE_0, 4 * MS), (512, 8 * MS), (2048, 2 * MS)] {
        let slack = if weight == NICE_0 { 0 } else { 8 };
        assert!(
            !preempts(&policy, 1000 * MS + gran - slack, 1000 * MS, weight),
            "{weight}"
        );
        assert!(
            preempts(&policy, 1000 * MS + gran + 1, 1000 * MS, weight),
            "{weight}"
        );
    }
    assert!(!preempts(&policy, 1000 * MS, 1000 * MS, NICE_0));
    assert!(!preempts(&policy, 1000 * MS, 2000 * MS, NICE_0));
    // Across the wrap.
    assert!(preempts(&policy, 5 * MS, 0u64.wrapping_sub(5 * MS), NICE_0));
}

#[test]
fn section_h1_10_wake_wide() {
    assert_eq!(wake_wide(16, 255, 16), 0);
    assert_eq!(wake_wide(16, 256, 16), 1);
    assert_eq!(wake_wide(256, 16, 16), 1);
    assert_eq!(wake_wide(15, 10000, 16), 0);
}

#[test]
fn section_h1_11_wa_weight() {
    let pulls = |prev_load: u64, sync| {
        let a = intf::wa_weight {
            waker_load: 0,
            prev_load: prev_load + 1024,
            curr_load: 0,
            task_load: 1024,
            waker_capacity: 1024,
            prev_capacity: 1024,
            imbalance_pct: 117,
            sync,
            bias: 1,
        };
        weight_pulls(&a)
    };
    // 1024 * 100 = 102400; 949 * 108 = 102492; 948 * 108 = 102384.
    assert!(pulls(949, 0));
    assert!(!pulls(948, 0));
    assert!(!pulls(948, 1));
}

#[test]
fn section_b_9_wa_weight_sync() {
    let base = intf::wa_weight {
        waker_load: 1024,
        prev_load: 1024,
        curr_load: 1024,
        task_load: 512,
        waker_capacity: 1024,
        prev_capacity: 1024,
        imbalance_pct: 117,
        sync: 1,
        bias: 0,
    };
    let pulls = |a: intf::wa_weight| weight_pulls(&a);
    // 512 on both sides: the tie goes to the waker only if it is about to sleep.
    assert!(pulls(base));
    assert!(!pulls(intf::wa_weight {
        sync: 0,
        curr_load: 0,
        waker_load: 0,
        ..base
    }));
    // The waker's load exceeds its CPU's.
    assert!(pulls(intf::wa_weight {
        curr_load: 1025,
        prev_load: 0,
        ..base
    }));
    // What would be left on the previous CPU is negative.
    assert!(!pulls(intf::wa_weight {
        prev_load: 0,
        ..base
    }));
    // A smaller CPU counts as more loaded.
    assert!(!pulls(intf::wa_weight {
        waker_capacity: 512,
        ..base
    }));
    assert!(pulls(intf::wa_weight {
        prev_capacity: 512,
        ..base
    }));
}

/// A sync wakeup wins ties, and nothing more.
#[test]
fn section_b_9_a_sync_wakeup_wins_ties_only() {
    let pulls = |waker_load, sync| {
        weight_pulls(&intf::wa_weight {
            waker_load,
            prev_load: 4,
            curr_load: 0,
            task_load: 0,
            waker_capacity: 1,
            prev_capacity: 1,
            imbalance_pct: 100,
            sync,
            bias: 0,
        })
    };
    assert_eq!([3, 4, 5].map(|load| pulls(load, 0)), [true, false, false]);
    assert_eq!([3, 4, 5].map(|load| pulls(load, 1)), [true, true, false]);
}

#[test]
fn section_b_8_record_wakee() {
    let mut f = intf::place_flips {
        last_wakee: 0,
        flips: 0,
        decayed_at: 1000,
    };
    let mut wake = |wakee, now| {
        unsafe { intf::place_host_record_wakee(&mut f, wakee, now, 250) };
        (f.flips, f.decayed_at)
    };
    // The same wakee again is no flip.
    assert_eq!(wake(1, 1000), (1, 1000));
    assert_eq!(wake(1, 1001), (1, 1000));
    assert_eq!(wake(2, 1002), (2, 1000));
    assert_eq!(wake(1, 1250), (3, 1000));
    // More than a second: halved before it counts, once however long ago.
    assert_eq!(wake(2, 1251), (2, 1251));
    assert_eq!(wake(1, 9999), (2, 9999));
    assert_eq!(wake(1, 99_999), (1, 99_999));
}

/// `affine_loads` of nice-0 tasks in the root group, imbalance 125; the wakee's and the waker's weight
/// is 1024.
fn affine_loads(waker: u64, prev: u64, sync: u32) -> intf::affine_loads {
    intf::affine_loads {
        waker,
        prev,
        prev_target: prev,
        el_waker_leaves: -1024,
        el_prev_leaves: 0,
        el_waker_comes: 1024,
        el_prev_comes: 0,
        tpt_weight: waker as u32,
        tpt_nr: (waker as u32 / 1024).max(1),
        waker_power: 1024,
        prev_power: 1024,
        scale: scale(125),
        sync,
        short_overlaps: 0,
    }
}

#[test]
fn section_b_2_loads_over_ticks() {
    let mut l = intf::place_cpu_load {
        load: [0; 2],
        tick: 100,
    };
    let at = |l: &intf::place_cpu_load, i, now| unsafe { intf::place_host_cpu_load_at(l, i, now) };
    let tick = |l: &mut intf::place_cpu_load, now, weight| unsafe {
        intf::place_host_cpu_load_tick(l, now, weight);
    };
    // Rounded up while it rises: 0, 5, 8, 9, 10, and not stuck at 9.
    for (now, average) in [(101, 5), (102, 8), (103, 9), (104, 10), (105, 10)] {
        tick(&mut l, now, 10);
        assert_eq!((at(&l, 0, now), at(&l, 1, now)), (10, average));
    }
    // Rounded down while it falls.
    tick(&mut l, 106, 7);
    assert_eq!((at(&l, 0, 106), at(&l, 1, 106)), (7, 8));
    // Two ticks idle: nothing, and a quarter; the next tick goes on from there.
    assert_eq!((at(&l, 0, 108), at(&l, 1, 108)), (0, 2));
    assert_eq!((at(&l, 0, 109), at(&l, 1, 109)), (0, 1));
    tick(&mut l, 109, 1024);
    assert_eq!((at(&l, 0, 109), at(&l, 1, 109)), (1024, 513));
    assert_eq!([140, 141, 5000].map(|now| at(&l, 1, now)), [0; 3]);
}

#[test]
fn section_b_3_overlap() {
    let mut o = intf::place_overlap {
        woke_ns: 0,
        avg_ns: 0,
    };
    let mut sleep = |woke_ns, sleeps_ns| unsafe {
        intf::place_host_overlap_wake(&mut o, woke_ns);
        intf::place_host_overlap_sleep(&mut o, sleeps_ns);
        o.avg_ns
    };
    assert_eq!(sleep(1_000_000, 1_800_000), 100_000);
    assert_eq!(sleep(2_000_000, 2_100_000), 100_000);
    // The shift is arithmetic: -100000 / 8, and -1 / 8 is -1.
    assert_eq!(sleep(3_000_000, 3_000_000), 87_500);
    assert_eq!(sleep(4_000_000, 4_087_499), 87_499);
}

#[test]
fn section_b_3_v2626() {
    let branch = |a: intf::affine_loads| unsafe { intf::place_host_wake_affine_2627(&a) };
    use intf::place_counter_PLACE_CNT_affine_balanced as BALANCED;
    use intf::place_counter_PLACE_CNT_affine_imbalanced as IMBALANCED;
    use intf::place_counter_PLACE_CNT_affine_light as LIGHT;
    use intf::place_counter_PLACE_CNT_affine_sync_overlap as SYNC_OVERLAP;
    let short = |waker, prev, sync| intf::affine_loads {
        short_overlaps: 1,
        ..affine_loads(waker, prev, sync)
    };
    // 204800 <= 112 * 1829 = 204848; 112 * 1828 = 204736.
    assert_eq!(branch(affine_loads(1024, 1829, 0)), BALANCED);
    assert_eq!(branch(affine_loads(1024, 1828, 0)), IMBALANCED);
    // Sync: 102400 <= 112 * 915 = 102480; 112 * 914 = 102368.
    assert_eq!(branch(affine_loads(1024, 915, 1)), BALANCED);
    assert_eq!(branch(short(1024, 915, 1)), SYNC_OVERLAP);
    assert_eq!(branch(short(1024, 1829, 0)), BALANCED);
    // tl = 0 <= 914, 0 + 914 <= 1024.
    assert_eq!(branch(short(1024, 914, 1)), LIGHT);
    // tl = 1024 > 914.
    assert_eq!(branch(short(2048, 914, 1)), IMBALANCED);
    // tl = 1000 <= 1500 and 1000 + 1500 <= 5000 / 2, not 4999 / 2.
    let mixed = |weight| intf::affine_loads {
        waker: 1000,
        prev: 1500,
        prev_target: 1500,
        tpt_weight: weight,
        tpt_nr: 2,
        el_waker_comes: 5000,
        ..affine_loads(0, 0, 0)
    };
    assert_eq!(branch(mixed(5000)), LIGHT);
    assert_eq!(branch(mixed(4999)), IMBALANCED);
    let mixed = intf::affine_loads {
        prev: 999,
        prev_target: 999,
        ..mixed(5000)
    };
    assert_eq!(branch(mixed), IMBALANCED);
}

#[test]
fn section_b_5_v2637_and_v2638() {
    use intf::place_counter_PLACE_CNT_affine_balanced as BALANCED;
    use intf::place_counter_PLACE_CNT_affine_imbalanced as IMBALANCED;
    use intf::place_counter_PLACE_CNT_affine_light as LIGHT;
    use intf::place_counter_PLACE_CNT_affine_sync_balanced as SYNC_BALANCED;
    use intf::place_counter_PLACE_CNT_affine_unloaded as UNLOADED;
    let both = |a: intf::affine_loads| unsafe {
        [
            intf::place_host_wake_affine_2637(&a),
            intf::place_host_wake_affine_2638(&a),
        ]
    };
    assert_eq!(both(affine_loads(1024, 0, 1)), [UNLOADED; 2]);
    assert_eq!(both(affine_loads(0, 0, 0)), [UNLOADED; 2]);
    assert_eq!(both(affine_loads(1024, 1829, 0)), [BALANCED; 2]);
    assert_eq!(both(affine_loads(1024, 1828, 0)), [IMBALANCED; 2]);
    assert_eq!(both(affine_loads(2048, 1829, 1)), [SYNC_BALANCED; 2]);
    let light = intf::affine_loads {
        tpt_weight: 2853,
        tpt_nr: 1,
        ..affine_loads(1025, 1828, 0)
    };
    assert_eq!(both(light), [LIGHT; 2]);
    let heavier = intf::affine_loads {
        tpt_weight: 2852,
        ..light
    };
    assert_eq!(both(heavier), [IMBALANCED; 2]);
    // Below zero: a huge load, or none.
    assert_eq!(both(affine_loads(1023, 0, 1)), [IMBALANCED, UNLOADED]);
    // What comes to P can make its side negative: a huge load, or little.
    let less = intf::affine_loads {
        el_prev_comes: -2000,
        ..affine_loads(1024, 1829, 0)
    };
    assert_eq!(both(less), [BALANCED, IMBALANCED]);
    // power(P) weighs W's side, and the other way round.
    let powers = |waker_power, prev_power| intf::affine_loads {
        waker_power,
        prev_power,
        ..affine_loads(1024, 1829, 0)
    };
    assert_eq!(both(powers(1023, 1024)), [IMBALANCED; 2]);
    assert_eq!(both(powers(1024, 1023)), [BALANCED; 2]);
}

#[test]
fn section_b_8_v46() {
    let branch = |a: intf::affine_loads| unsafe { intf::place_host_wake_affine_46(&a) };
    use intf::place_counter_PLACE_CNT_affine_balanced as BALANCED;
    use intf::place_counter_PLACE_CNT_affine_imbalanced as IMBALANCED;
    use intf::place_counter_PLACE_CNT_affine_unloaded as UNLOADED;
    assert_eq!(branch(affine_loads(1024, 1829, 0)), BALANCED);
    assert_eq!(branch(affine_loads(1024, 1828, 0)), IMBALANCED);
    assert_eq!(branch(affine_loads(1024, 0, 1)), UNLOADED);
    assert_eq!(branch(affine_loads(1023, 0, 1)), UNLOADED);
    // 100 * 1024 <= 112 * 915 = 102480; 112 * 914 = 102368.
    let smaller = |waker_power| intf::affine_loads {
        waker_power,
        ..affine_loads(0, 5000, 0)
    };
    assert_eq!(branch(smaller(915)), UNLOADED);
    assert_eq!(branch(smaller(914)), IMBALANCED);
}

/// 100 * 2800 against 112 * 2500, and the other way round: equal is balanced.
#[test]
fn section_b_5_ties() {
    use intf::place_counter_PLACE_CNT_affine_balanced as BALANCED;
    use intf::place_counter_PLACE_CNT_affine_imbalanced as IMBALANCED;
    use intf::place_counter_PLACE_CNT_affine_light as LIGHT;
    use intf::place_counter_PLACE_CNT_affine_passive_prev as PASSIVE_PREV;
    use intf::place_counter_PLACE_CNT_affine_passive_waker as PASSIVE_WAKER;
    use intf::place_counter_PLACE_CNT_affine_sync_balanced as SYNC_BALANCED;
    use intf::place_counter_PLACE_CNT_affine_unloaded as UNLOADED;
    let all = |a: intf::affine_loads| unsafe {
        [
            intf::place_host_wake_affine_2627(&a),
            intf::place_host_wake_affine_2637(&a),
            intf::place_host_wake_affine_2638(&a),
            intf::place_host_wake_affine_46(&a),
        ]
    };
    assert_eq!(all(affine_loads(1776, 2500, 0)), [BALANCED; 4]);
    assert_eq!(all(affine_loads(1777, 2500, 0)), [IMBALANCED; 4]);
    let expected = [BALANCED, SYNC_BALANCED, SYNC_BALANCED, BALANCED];
    assert_eq!(all(affine_loads(2800, 2500, 1)), expected);
    let passive = |waker, prev| unsafe {
        intf::place_host_wake_balance_passive(&affine_loads(waker, prev, 0))
    };
    assert_eq!(passive(2500, 2800), PASSIVE_WAKER);
    assert_eq!(passive(2501, 2800), PASSIVE_PREV);
    // As loaded as P, and as many as tpt.
    let light = |waker| intf::affine_loads {
        waker,
        prev: 1500,
        prev_target: 1500,
        tpt_weight: 6000,
        tpt_nr: 2,
        el_waker_comes: 5000,
        ..affine_loads(0, 0, 0)
    };
    assert_eq!(all(light(1500)), [LIGHT, LIGHT, LIGHT, IMBALANCED]);
    assert_eq!(all(light(1501)), [IMBALANCED; 4]);
    let capacities = |waker_power| intf::affine_loads {
        waker_power,
        prev_power: 112,
        ..affine_loads(0, 5000, 0)
    };
    let v46 = |a| all(a)[3];
    assert_eq!(v46(capacities(100)), UNLOADED);
    assert_eq!(v46(capacities(99)), IMBALANCED);
}

/// The vector, and what the other forms make of it.
#[test]
fn section_b_6_effective_load() {
    use intf::effective_load_form_EFFECTIVE_LOAD_2627 as V2627;
    use intf::effective_load_form_EFFECTIVE_LOAD_2637 as V2637;
    use intf::effective_load_form_EFFECTIVE_LOAD_2638 as V2638;
    use intf::effective_load_form_EFFECTIVE_LOAD_2638RC as V2638RC;
    use intf::effective_load_form_EFFECTIVE_LOAD_46 as V46;
    let load = |form, levels: &[intf::group_level], wl, wg| unsafe {
        intf::place_host_effective_load(form, levels.as_ptr(), levels.len() as u32, wl, wg)
    };
    // S = 1024; one task queued on B, the group's queue on A empty.
    let a = intf::group_level {
        shares: 1024,
        entity: 2,
        queue: 0,
        queue_then: 0,
        queue_load: 0,
        total: 1024,
        contribution: 0,
    };
    let b = intf::group_level {
        entity: 1024,
        queue: 1024,
        queue_then: 1024,
        queue_load: 1024,
        contribution: 1024,
        ..a
    };
    for form in [V2638, V46] {
        assert_eq!(load(form, &[a], 1024, 1024), 510);
        assert_eq!(load(form, &[b], 0, 1024), -512);
    }
    // What P would win is left out.
    for form in [V2627, V2637] {
        assert_eq!(load(form, &[b], 0, 1024), 0);
    }
    // a = 1024 * 1024, b = 2 * 1024, 2 * (a - b) / b: as if the group ran nowhere else.
    for form in [V2627, V2637, V2638RC] {
        assert_eq!(load(form, &[a], 1024, 1024), 1022);
    }
    // a = 2^20, b = 2^20 + 2^20; 1024 * -2^20 / 2^21.
    assert_eq!(load(V2638RC, &[b], 0, 1024), -512);
    // A second task on B: a = 2^21, b = 2^21, no change; it was the group's only CPU.
    for form in [V2627, V2637, V2638RC] {
        assert_eq!(load(form, &[b], 1024, 1024), 0);
    }
    // Nothing of 1 is the least, 2; nothing of nothing is all.
    let empty = intf::group_level { total: 0, ..a };
    assert_eq!(load(V2638, &[empty], 0, 1), 0);
    assert_eq!(load(V2638, &[empty], 0, 0), 1022);
    // Two less at each level, of which eight are looked at.
    assert_eq!(load(V2638, &[a; 7], 500, 0), 486);
    assert_eq!(load(V2638, &[a; 8], 500, 0), 484);
    assert_eq!(load(V2638, &[a; 9], 500, 0), 484);
    // Cut off towards zero: -1 / 2, 1 / 2, -3 / 2.
    let small = intf::group_level {
        shares: 1,
        entity: 1,
        queue: 2,
        ..a
    };
    assert_eq!(
        [-1, 1, -3].map(|wl| load(V2638RC, &[small], wl, 0)),
        [0, 0, -1]
    );
    // The root group.
    for form in [V2627, V2637, V2638RC, V2638, V46] {
        assert_eq!(load(form, &[], -77, 5), -77);
        assert_eq!(load(form, &[], 0, 5), 0);
    }
    // Since the shares were adjusted 1024 came: at the group's level in both, above in v2.6.37 only.
    let late = intf::group_level { queue: 2048, ..b };
    let ratio = |rw: i64, wl: i64, wg: i64| {
        let (x, y) = (1024 * (rw + wl), 1024 * rw + 1024 * wg);
        1024 * (x - y) / y
    };
    let first = ratio(1024, 2048, 2048);
    assert_eq!(load(V2627, &[late], 1024, 1024), first);
    assert_eq!(load(V2637, &[late], 1024, 1024), first);
    let first = ratio(1024, 3072, 1024);
    assert_eq!(load(V2627, &[late], 2048, 0), first);
    assert_eq!(load(V2627, &[late, late], 2048, 0), ratio(1024, first, 0));
    let above = ratio(1024, first + 1024, 1024);
    assert_eq!(load(V2637, &[late, late], 2048, 0), above);
    // Two levels of the rewrite: what moves above is the change of the share.
    assert_eq!(load(V2638, &[a, b], 1024, 1024), 0);
    assert_eq!(load(V2638, &[b, a], 0, 1024), 0);
    // Never below 2: the group leaves; a negative part of it as well.
    assert_eq!(load(V2638, &[b], -1000, -1000), 0);
    let shared = intf::group_level { total: 4096, ..b };
    assert_eq!(load(V2638, &[shared], -1024, -1024), 2 - 1024);
    assert_eq!(load(V2638, &[shared], -2000, -1024), 2 - 1024);
    // v4.6 puts the queue's weight in the place of its contribution, and its load on top.
    let lighter = intf::group_level {
        queue_load: 200,
        entity: 150,
        ..b
    };
    assert_eq!(load(V46, &[lighter], 100, 1024), 300 * 1024 / 2048 - 150);
}

#[test]
fn section_h1_13_pelt_vectors() {
    assert_eq!(segments(1, 512, 100), 601);
    assert_eq!(segments(2, 512, 100), 1591);
    assert_eq!(segments(5, 512, 100), 4436);
    assert_eq!(segments(32, 512, 100), 23203);
    assert_eq!(decay(1024, 1), 1002);
    assert_eq!(decay(1024, 32), 511);
}

#[test]
fn section_c_1_decay_table() {
    let inverse = |n| decay(1 << 32, n);
    assert_eq!(inverse(0), 1 << 32);
    for n in 1..32u32 {
        let exact = f64::from(u32::MAX) * 0.5f64.powf(f64::from(n) / 32.0);
        assert_eq!(inverse(u64::from(n)), exact as u64, "{n}");
    }
    assert_eq!(
        [1, 16, 31].map(inverse),
        [0xfa83_b2da, 0xb504_f333, 0x82cd_8698]
    );
    // 3 * inv[31], then nothing is left.
    assert_eq!(decay(u64::MAX, 2015), 1);
    assert_eq!(decay(u64::MAX, 2016), 0);
    assert_eq!(decay(u64::MAX, 2017), 0);
}

#[test]
fn section_c_1_the_sum_ends_at_47742() {
    let mut sum = 1024;
    for _ in 0..1000 {
        sum = decay(sum, 1) + 1024;
    }
    assert_eq!(sum, 47742);
    assert_eq!(segments(2000, 1024, 1023), 47742 - 1024 + 1023);
}

#[test]
fn section_c_1_update_by_hand() {
    // Time 0 stands for never.
    const START: u64 = 1 << 20;
    // SAFETY: plain integers, for which zero is a value.
    let mut p: intf::pelt_queue = unsafe { std::mem::zeroed() };
    p.last_ns = START;
    let mut update = |units: u64, rest_ns, weight, running| {
        let now = START + units * 1024 + rest_ns;
        let renewed = unsafe { intf::place_host_pelt_queue_update(&mut p, now, weight, running) };
        let last_units = (p.last_ns - START) as f64 / 1024.0;
        (renewed, p.load_sum, p.util_sum, p.contrib, last_units)
    };
    // Half a period, no boundary; 1000 ns are kept for later.
    assert_eq!(
        update(512, 1000, 1024, 1),
        (0, 512 * 1024, 512 << 10, 512, 512.0)
    );
    // To unit 100 of the next period: the first vector with what was there, decayed.
    let sum = decay(512 * 1024, 1) + 601 * 1024;
    assert_eq!(update(1124, 0, 1024, 1), (1, sum, sum, 100, 1124.0));
    assert_eq!(u64::from(p.load_avg), sum / (46718 + 100));
    assert_eq!(u64::from(p.util_avg), sum / (46718 + 100));
    // Less than a unit, nothing; a clock that went back: only its time is taken.
    let last_ns = p.last_ns;
    let mut again = |now| unsafe { intf::place_host_pelt_queue_update(&mut p, now, 1024, 1) };
    assert_eq!(again(last_ns + 1023), 0);
    assert_eq!(again(500), 0);
    assert_eq!((p.load_sum, p.contrib, p.last_ns), (sum, 100, 500));
}

#[test]
fn section_h1_14_nr_idle_scan() {
    let scan = |percent: u64, cpus: u32| unsafe {
        intf::place_host_nr_idle_scan(percent * 1024 * u64::from(cpus) / 100, cpus, 117)
    };
    let utilisation = [0, 10, 25, 50, 70, 80, 85];
    assert_eq!(utilisation.map(|u| scan(u, 16)), [16, 15, 14, 10, 5, 2, 0]);
    assert_eq!(utilisation.map(|u| scan(u, 48)), [48, 47, 43, 31, 15, 6, 0]);
    assert_eq!(scan(100, 16), 0);
    assert_eq!(scan(300, 16), 0);
}

/// A lag is worth at most 200 ms of the task's own run time, or 50 ms of virtual time.
#[test]
fn fair_queue_bounded_lag() {
    let bound = |v, min_v, w| unsafe { intf::place_host_bound_lag(v, min_v, w) };
    let min_v = 100_000_000_000;
    assert_eq!(bound(min_v - 40_000_000, min_v, 1024), min_v - 40_000_000);
    assert_eq!(bound(min_v + 7, min_v, 15), min_v + 7);
    assert_eq!(bound(0, min_v, 1024), min_v - 200_000_000);
    assert_eq!(bound(min_v - 200_000_001, min_v, 1024), min_v - 200_000_000);
    assert_eq!(bound(0, min_v, 512), min_v - 400_000_000);
    assert_eq!(bound(0, min_v, 88761), min_v - 50_000_000);
}

/// A wakeup on a cache of `cpus` CPUs, `threads` to a core, one of them the target: `idle` are idle,
/// the wakee last ran on the target, and the waker runs on the last CPU.
fn search(
    items: &str,
    (cpus, threads): (usize, usize),
    target: usize,
    idle: &[usize],
    change: impl Fn(&mut intf::place_in),
) -> intf::place_out {
    let cpu = |id| Cpu {
        id,
        core: id / threads,
        cluster: None,
        llc: 0,
        node: 0,
    };
    let layout = Machine {
        nr_cpu_ids: cpus,
        cpus: (0..cpus).map(cpu).collect(),
        distance: vec![],
    }
    .layout();
    let items = parse_items(&[items, "affine=off"]).expect("a policy");
    let policy = Policy::from_command_line(&items).to_native(1, cpus as u32);
    let whole = |c: &usize| (0..threads).all(|k| idle.contains(&(c / threads * threads + k)));
    // SAFETY: plain integers, for which zero is a value; then live structures.
    unsafe {
        let mut input: intf::place_in = std::mem::zeroed();
        let waker = cpus - 1;
        (input.waker, input.prev, input.recent) = (waker as i32, target as i32, -1);
        (input.waker_at, input.prev_at) = (layout.wheres[waker], layout.wheres[target]);
        let view = &mut input.view[0];
        for &c in idle {
            view.idle.w[0] |= 1 << c;
            view.idle_core.w[0] |= u64::from(whole(&c)) << c;
        }
        view.allowed.w[0] = u64::MAX >> (64 - cpus);
        (input.waker_nr_running, input.prev_nr_running) = (1, 1);
        change(&mut input);
        let mut out = std::mem::zeroed();
        let llc = &layout.llcs[0];
        intf::place_host_wakeup(&policy, &input, llc, llc, &mut out, 1);
        out
    }
}

/// CPU and number of CPUs looked at.
fn found(out: &intf::place_out) -> (i32, u32) {
    (out.cpu, out.visited)
}

#[test]
fn section_a_0_a_wider_domain_overrules() {
    let near = |waker: usize, idle: &[usize]| {
        search("idle_search=scan_2637", (8, 2), 2, idle, |input| {
            input.waker = waker as i32;
            let at = &mut input.waker_at;
            (at.local, at.core) = (waker as u16, waker as u16 / 2 * 2);
        })
        .cpu
    };
    // The candidate of the core is overwritten by the cache's, unless the core holds both CPUs.
    assert_eq!(near(7, &[0, 3]), 0);
    assert_eq!(near(3, &[0, 3]), 3);
    assert_eq!(near(3, &[0]), 2);
}

#[test]
fn section_a_1_half_busy_cores_are_not_found() {
    let to = |rule: &str, idle: &[usize]| search(rule, (8, 2), 2, idle, |_| {}).cpu;
    // "An idle thread of some other half-busy core is never found."
    assert_eq!(to("idle_search=mainline_46", &[0, 4, 6]), 2);
    assert_eq!(
        to("idle_search=mason_pkg,migration_cost_us=0", &[0, 4, 6]),
        0
    );
    assert_eq!(to("idle_search=mason_first", &[0, 4, 6]), 0);
    // An idle core is, unless the first idle CPU is taken for good.
    assert_eq!(to("idle_search=mainline_46", &[0, 4, 5]), 4);
    assert_eq!(to("idle_search=mason_pkg", &[0, 4, 5]), 4);
    assert_eq!(to("idle_search=mason_first", &[0, 4, 5]), 0);
}

#[test]
fn section_a_2_the_filter_of_mason_pkg() {
    let to = |items: &str, nr, since_ran_ns| {
        search(items, (8, 2), 2, &[5], |input| {
            (input.prev_nr_running, input.since_ran_ns) = (nr, since_ran_ns);
        })
        .cpu
    };
    let default = "idle_search=mason_pkg";
    assert_eq!(to(default, 1, 500_000), 5);
    assert_eq!(to(default, 1, 499_999), 2);
    assert_eq!(to(default, 2, 500_000), 2);
    assert_eq!(to(default, 0, 500_000), 5);
    let us = |n: u32| format!("idle_search=mason_pkg,migration_cost_us={n}");
    assert_eq!(to(&us(0), 1, 0), 5);
    assert_eq!(to(&us(1), 1, 999), 2);
    assert_eq!(to(&us(1), 1, 1000), 5);
    assert_eq!(to(&us(u32::MAX), 1, i64::MAX), 2);
}

/// The throttle closes at 1953 ns in v4.9, and a nanosecond earlier in v5.10.
#[test]
fn section_a_4_and_a_5_throttle() {
    let scans = |rule: &str, avg_idle_ns, scan_cost_ns| {
        let out = search(rule, (48, 1), 2, &[5], |input| {
            (input.avg_idle_ns, input.scan_cost_ns) = (avg_idle_ns, scan_cost_ns);
        });
        out.cpu == 5
    };
    for (rule, most) in [
        ("idle_search=peter_rfc", 1953),
        ("idle_search=sis_49", 1953),
        ("idle_search=sis_avg_cpu", 1952),
    ] {
        assert!(scans(rule, 1_000_000, most), "{rule}");
        assert!(!scans(rule, 1_000_000, most + 1), "{rule}");
        assert!(scans(rule, 512 * 1953, most), "{rule}");
        assert!(!scans(rule, 512 * 1953 - 1, most), "{rule}");
    }
    assert!(scans("idle_search=sis_49", 0, 0));
    assert!(!scans("idle_search=sis_avg_cpu", 511, 0));
    let unfudged = "idle_search=peter_rfc,sis_fudge=1";
    assert!(scans(unfudged, 2880, 2880));
    assert!(!scans(unfudged, 2880, 2881));
}

/// nr = 48 * (idle / 512) / (cost + 1), at least 4; nr - 1 CPUs are looked at.
#[test]
fn section_a_5_sis_prop() {
    let busy = |avg_idle_ns, scan_cost_ns| {
        let out = search("idle_search=sis_prop", (48, 1), 2, &[], |input| {
            (input.avg_idle_ns, input.scan_cost_ns) = (avg_idle_ns, scan_cost_ns);
        });
        assert_eq!(out.cpu, 2);
        let updates = u32::from(out.effects) & intf::place_effects_PLACE_EFFECT_SCAN_COST;
        (out.visited, (updates != 0).then_some(out.scan_cost_ns))
    };
    // 48 * 1953 = 93744.
    assert_eq!(busy(1_000_000, 2879), (31, None)); // 93744 / 2880 = 32
    assert_eq!(busy(1_000_000, 1952), (47, None)); // 48, one less than all
    assert_eq!(busy(1_000_000, 1912), (48, Some(2033))); // 49; 1912 + (48 * 60 - 1912) / 8
    assert_eq!(busy(1_000_000, 1913), (47, None)); // 93744 / 1914 = 48
    assert_eq!(busy(1_000_000, 18_747), (4, None)); // 93744 / 18748 = 5
    assert_eq!(busy(1_000_000, 18_748), (3, None)); // 4
    assert_eq!(busy(1_000_000, 23_435), (3, None)); // not more than 4 times 23436
    assert_eq!(busy(0, 1_000_000), (3, None));
    assert_eq!(busy(511, 0), (3, None));
    assert_eq!(busy(512, 0), (47, None)); // 48 / 1
    let hit = |idle: &[usize]| {
        let out = search("idle_search=sis_prop", (48, 1), 2, idle, |input| {
            (input.avg_idle_ns, input.scan_cost_ns) = (0, 9);
        });
        found(&out)
    };
    // From the target on: 2, 3, 4.
    assert_eq!(hit(&[4]), (4, 3));
    assert_eq!(hit(&[5]), (2, 3));
}

/// The budget is nr_idle_scan CPUs, from behind the target on.
#[test]
fn section_a_5_sis_util() {
    let to = |nr_idle_scan, idle: &[usize]| {
        let out = search("idle_search=sis_util", (48, 1), 2, idle, |input| {
            input.view[0].nr_idle_scan = nr_idle_scan;
        });
        found(&out)
    };
    assert_eq!(to(0, &[3]), (2, 0));
    assert_eq!(to(1, &[3]), (3, 1));
    assert_eq!(to(1, &[4]), (2, 1));
    assert_eq!(to(46, &[0]), (0, 46));
    assert_eq!(to(45, &[0]), (2, 45));
}

/// A queue without tasks, without a clock, or with too small a sum.
#[test]
fn fair_queue_at_the_edges() {
    let policy = defaults(8);
    assert_eq!(slice(&policy, NICE_0, 1, 0), 24 * MS);
    assert_eq!(slice(&policy, NICE_0, 1, 1), 24 * MS);
    assert_eq!(slice(&policy, 0, 1, 0), 3 * MS);
    let over = |ran, slice, v, left| unsafe {
        intf::place_host_turn_over(&policy, ran, slice, v, left) == 1
    };
    assert!(!over(8 * MS, 8 * MS, 0, 0));
    assert!(over(8 * MS + 1, 8 * MS, 0, 0));
    assert!(!over(3 * MS, 8 * MS, 8 * MS, 0));
    assert!(over(3 * MS, 8 * MS, 8 * MS + 1, 0));
    assert!(!over(3 * MS - 1, 8 * MS, 8 * MS + 1, 0));
    let lead = |v, sum| unsafe { intf::place_host_bound_lead(v, 0, sum) };
    // 5 s of a queue of 100 nice-0 tasks are 50 ms; a lead below 50 ms is left alone.
    assert_eq!(lead(50 * MS, 0), 50 * MS);
    assert_eq!(lead(51 * MS, 102_400), 50 * MS);
    assert_eq!(lead(51 * MS, 1_024_000), 50 * MS);
    assert_eq!(lead(100 * MS, 51_200), 100 * MS);
    assert_eq!(lead(100 * MS + 1, 51_200), 100 * MS);
    assert_eq!(lead(100 * MS, 0), 100 * MS);
    let lag = |v, w| unsafe { intf::place_host_bound_lag(v, 1000 * MS, w) };
    assert_eq!(lag(0, 0), 0);
    assert_eq!(lag(800 * MS, NICE_0), 800 * MS);
    assert_eq!(lag(950 * MS, 88761), 950 * MS);
    assert_eq!(lag(950 * MS - 1, 88761), 950 * MS);
    let weight = |nice, idle| unsafe { intf::place_host_weight(nice, idle) };
    assert_eq!([39, 40, 1000].map(|nice| weight(nice, 0)), [15, 1024, 1024]);
    assert_eq!(
        unsafe { [0, 1].map(|w| intf::place_host_inverse(w)) },
        [0, u32::MAX]
    );
}

/// A task that left belongs to no queue, whichever way it went.
#[test]
fn section_c_1_leaving() {
    // SAFETY: plain integers, for which zero is a value; then live structures.
    unsafe {
        let mut q: intf::pelt_queue = std::mem::zeroed();
        let mut t: intf::pelt_task = std::mem::zeroed();
        q.last_ns = 1 << 20;
        t.load_avg = 500;
        intf::place_host_pelt_attach(&mut q, &mut t, NICE_0);
        assert_eq!((t.last_ns, q.load_avg), (1 << 20, 500));
        intf::place_host_pelt_detach(&mut q, &mut t, NICE_0);
        assert_eq!((t.last_ns, q.load_avg), (0, 0));
        intf::place_host_pelt_attach(&mut q, &mut t, NICE_0);
        let mut out: intf::pelt_inbox = std::mem::zeroed();
        intf::place_host_pelt_leave(&mut t, q.last_ns, q.last_ns + 5, NICE_0, 1, &mut out);
        assert_eq!((t.last_ns, out.load, out.runnable), (0, 500, 500));
    }
}

/// Without a granularity the smallest lead is enough, and no lead is not.
#[test]
fn section_d_4_without_granularity() {
    let mut policy = defaults(8);
    policy.derived.wakeup_granularity_ns = 0;
    assert_eq!(
        [0, 1, 2].map(|lead| preempts(&policy, 5 + lead, 5, NICE_0)),
        [false, true, true]
    );
}

/// A task's load is read as it will have become; that of one without a queue stays.
#[test]
fn section_c_1_reading_a_tasks_load() {
    let read = |last_ns, now_ns, runnable| {
        // SAFETY: plain integers, for which zero is a value; then a live structure.
        unsafe {
            let mut t: intf::pelt_task = std::mem::zeroed();
            (t.last_ns, t.load_avg) = (last_ns, 1000);
            intf::place_host_pelt_read_task_load(&t, now_ns, 2000, runnable)
        }
    };
    const START: u64 = 1 << 20;
    let later = START + (32 << 20);
    assert_eq!(read(0, later, 0), 1000);
    assert_eq!(read(0, later, 1), 1000);
    assert_eq!(read(START, START, 1), 1000);
    assert_eq!(read(START, START - 1, 1), 1000);
    // Half of what it was, and half of what is held.
    assert_eq!(read(START, later, 0), decay(1000, 32) as u32);
    let held = 2000 - decay(2000, 32) as u32;
    assert_eq!(read(START, later, 1), decay(1000, 32) as u32 + held);
}

/// One CPU at a time around 0 CPUs, 0 budget and the end of the range.
#[test]
fn section_a_5_at_the_edges() {
    let scan = |sum, cpus, pct| unsafe { intf::place_host_nr_idle_scan(sum, cpus, pct) };
    assert_eq!(scan(1000, 0, 117), 0);
    // 875^2 * 1.17^2 / 1024 = 1023.5; one more is beyond.
    assert_eq!([875, 876].map(|sum| scan(sum * 1024, 1024, 117)), [1, 0]);
    assert_eq!(scan(1024, 1, 100), 0);
    assert_eq!(scan(1023 * 1024, 1024, 100), 2);
}
