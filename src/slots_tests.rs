// SPDX-License-Identifier: GPL-2.0-only

//! Tests of the slots over a program made of plain memory.

use super::*;
use crate::bpf_intf as intf;
use crate::cpus::CpuState;
use crate::level::Level;
use crate::policy::parse::parse_items;

/// Policies and counters as the BPF program has them.
pub(crate) struct FakeEngine {
    policies: Vec<intf::place_policy>,
    counts: Vec<Counts>,
    pub(crate) in_force: u32,
    pub(crate) grace: bool,
    grace_periods: usize,
    pub(crate) fail: bool,
    published: usize,
    pub(crate) sampling: u32,
    pub(crate) level: Level,
    pub(crate) shadow: Option<intf::place_policy>,
    /// Per slot, `grace_periods` when it was last in force.
    read_until: Vec<Option<usize>>,
}

impl FakeEngine {
    pub(crate) fn new() -> FakeEngine {
        let zero = Policy::default().to_native(0, 1);
        FakeEngine {
            policies: vec![zero; NR_SLOTS as usize],
            counts: vec![Counts::default(); NR_SLOTS as usize],
            in_force: 0,
            grace: true,
            grace_periods: 0,
            fail: false,
            published: 0,
            sampling: 0,
            level: Level::default(),
            shadow: None,
            read_until: vec![None; NR_SLOTS as usize],
        }
    }

    /// `n` decisions under a slot, of a callback that read its number now or earlier.
    pub(crate) fn count_in(&mut self, slot: u32, n: u64) {
        let counts = &mut self.counts[slot as usize];
        counts.counters.set(0, counts.counters.get(0) + n);
        let waits = counts.latency.all().count() + n;
        counts.latency.set("type.woken", 5, waits);
    }

    pub(crate) fn count(&mut self, n: u64) {
        self.count_in(self.in_force, n);
    }
}

impl Engine for FakeEngine {
    fn publish(&mut self, slot: u32, policy: &intf::place_policy) -> Result<()> {
        if self.fail {
            bail!("told to fail");
        }
        if let (true, Some(at)) = (self.grace, self.read_until[slot as usize]) {
            assert!(at < self.grace_periods, "slot {slot} may still be read");
        }
        self.read_until[self.in_force as usize] = Some(self.grace_periods);
        self.policies[slot as usize] = *policy;
        self.in_force = slot;
        self.published += 1;
        Ok(())
    }

    fn read_counts(&self, slot: u32) -> Counts {
        self.counts[slot as usize].clone()
    }

    fn set_level(&mut self, level: Level) {
        self.level = level;
    }

    fn read_cpus(&self) -> Vec<CpuState> {
        let cpu = |cpu| CpuState {
            cpu,
            longest_wait_ns: u64::from(cpu) * 1_000_000,
            ..CpuState::default()
        };
        (0..4).map(cpu).collect()
    }

    fn set_sampling(&mut self, word: u32) {
        self.sampling = word;
    }

    fn set_shadow(&mut self, policy: &intf::place_policy) {
        assert_eq!(self.sampling >> 16, 0, "the shadow policy may be read");
        self.shadow = Some(*policy);
    }

    fn record_map(&self) -> Result<u32> {
        Ok(77)
    }

    fn grace_period(&mut self) -> bool {
        self.grace_periods += 1;
        self.grace
    }
}

fn items(text: &str) -> Vec<Item> {
    parse_items(&[text]).unwrap()
}

fn started() -> (Slots, FakeEngine) {
    let mut engine = FakeEngine::new();
    let mut slots = Slots::new(Policy::default());
    slots.attach(&mut engine, 8).unwrap();
    engine.read_until = vec![None; NR_SLOTS as usize];
    (slots, engine)
}

/// A different policy for each `n`.
fn nth(n: u32) -> Vec<Item> {
    items(&format!("latency_us={}", 1000 + n))
}

#[test]
fn a_switch_publishes_the_whole_policy() {
    let (mut slots, mut engine) = started();
    let changed = slots
        .set(&mut engine, &items("affine=off,latency_us=8000"))
        .unwrap();
    assert_eq!(join_items(&changed), "affine=off latency_us=8000");
    assert_eq!(slots.current().number, 2);

    let native = &engine.policies[engine.in_force as usize];
    let expected = slots.current().policy.to_native(2, 8);
    assert_eq!(native.generation, 2);
    assert_eq!(native.axis, expected.axis);
    assert_eq!(native.param, expected.param);
    assert_eq!(native.checksum, expected.checksum);
}

#[test]
fn a_thousand_switches_keep_every_count() {
    for grace in [true, false] {
        let (mut slots, mut engine) = started();
        engine.grace = grace;
        slots.retired_for = Duration::ZERO;
        let mut expected = 0;
        let mut before = engine.in_force;
        for n in 0..1000 {
            engine.count(u64::from(n));
            expected += u64::from(n);
            slots.set(&mut engine, &nth(n)).unwrap();
            // A callback that read the number before the switch counts after it.
            engine.count_in(before, 3);
            expected += 3;
            before = engine.in_force;
            assert_eq!(slots.total(&engine).counters.get(0), expected, "switch {n}");
            assert_eq!(slots.current().counts(&engine).counters.get(0), 0);
        }
        assert_eq!(slots.current().number, 1001);
        let numbers: Vec<_> = slots.history().map(|g| g.number).collect();
        assert_eq!(numbers, (994..=1001).collect::<Vec<_>>());
        let shown: Vec<_> = slots
            .history()
            .map(|g| g.counts(&engine).counters.get(0))
            .collect();
        assert_eq!(shown, [996, 997, 998, 999, 1000, 1001, 1002, 0]);
        // One wait for all slots but the one in force.
        assert!(engine.grace_periods <= 1000 / (NR_SLOTS as usize - 1) + 1);
        assert!(slots.generations.len() <= HISTORY + NR_SLOTS as usize);
    }
}

#[test]
fn without_grace_periods_a_slot_rests() {
    let (mut slots, mut engine) = started();
    engine.grace = false;
    slots.retired_for = Duration::from_millis(30);
    let begin = Instant::now();
    for n in 0..NR_SLOTS {
        slots.set(&mut engine, &nth(n)).unwrap();
    }
    assert!(begin.elapsed() >= slots.retired_for);
}

#[test]
fn nothing_changes_when_nothing_differs() {
    let (mut slots, mut engine) = started();
    let published = engine.published;
    let same: Vec<_> = slots.current().policy.items().collect();
    assert!(slots.set(&mut engine, &same).unwrap().is_empty());
    assert_eq!(slots.current().number, 1);
    assert_eq!(engine.published, published);
}

#[test]
fn a_failed_switch_has_no_effect() {
    let (mut slots, mut engine) = started();
    engine.count(5);
    engine.fail = true;
    for n in 0..100 {
        assert!(slots.set(&mut engine, &nth(n)).is_err());
    }
    assert_eq!(slots.current().number, 1);
    assert_eq!(slots.current().policy, Policy::default());
    assert_eq!(slots.current().until_us, None);
    assert_eq!(slots.total(&engine).counters.get(0), 5);
    engine.fail = false;
    slots.set(&mut engine, &nth(1)).unwrap();
    assert_eq!(slots.current().number, 2);
}

#[test]
fn a_restart_keeps_policy_generation_and_counts() {
    let (mut slots, mut engine) = started();
    engine.count(10);
    slots.set(&mut engine, &items("affine=off")).unwrap();
    engine.count(7);
    slots.detach(&engine);

    let mut engine = FakeEngine::new();
    slots.attach(&mut engine, 4).unwrap();
    engine.count(5);
    assert_eq!(slots.current().number, 2);
    assert_eq!(engine.policies[0].generation, 2);
    assert_eq!(engine.policies[0].derived.latency_ns, 18_000_000);
    assert_eq!(slots.current().counts(&engine).counters.get(0), 12);
    assert_eq!(slots.total(&engine).counters.get(0), 22);
    assert_eq!(slots.total(&engine).latency.all().count(), 22);
    for n in 0..100 {
        slots.set(&mut engine, &nth(n)).unwrap();
    }
    assert_eq!(slots.total(&engine).counters.get(0), 22);
}
