// SPDX-License-Identifier: GPL-2.0-only

//! Which placements the BPF program samples: for a recorder, and for the shadow policy.
//!
//! A recorder is a client that reads the ring buffer itself; the scheduler only grants it, to one at
//! a time, and samples as long as the recorder says every few seconds that it lives.  The shadow
//! policy is evaluated beside the one in force until it is switched off.

use std::time::{Duration, Instant};

use anyhow::{bail, ensure, Context, Result};
use log::{info, warn};

use crate::control::{GenerationPolicy, RecordingReport, ShadowReport};
use crate::counters::Counters;
use crate::engine::Engine;
use crate::policy::table::table;
use crate::policy::{join_items, Item, Origin, Policy};
use crate::slots::Slots;
use crate::time;

/// One in so many, at most: half of the BPF program's control word.
pub const MAX_ONE_IN: u32 = 0xffff;

/// A recorder that is silent for so long is taken for dead.  On a machine with more work than CPUs,
/// or an emulated one, a living one can be late by seconds.
const LEASE: Duration = Duration::from_secs(15);

/// Without grace periods: as long as no callback runs (see `slots.rs`).
const WITHOUT_GRACE: Duration = Duration::from_secs(1);

/// What is sampled, and for whom.
#[derive(Default)]
pub struct Sampling {
    recording: Option<Recording>,
    shadow: Option<Shadow>,
    nr_cpus: u32,
}

struct Recording {
    id: u64,
    map: u32,
    one_in: u32,
    /// The counts when sampling began; none: it has not.
    baseline: Option<Counters>,
    heard: Instant,
}

struct Shadow {
    policy: Policy,
    changed: Vec<Item>,
    one_in: u32,
    since_us: u64,
    baseline: Counters,
}

fn check_one_in(one_in: u32) -> Result<()> {
    ensure!(
        (1..=MAX_ONE_IN).contains(&one_in),
        "cannot sample 1/{one_in}: 1/1 to 1/{MAX_ONE_IN}"
    );
    Ok(())
}

/// Whether the policy files can evaluate a policy; the error says why not.
pub fn check_evaluable(policy: &Policy) -> Result<()> {
    let opaque = policy.items().find(|item| match item {
        Item::Axis { value, .. } => table().values[*value].name == "scx_default",
        Item::Param { .. } => false,
    });
    match opaque {
        Some(item) => {
            bail!("{item} is the kernel's own function: it can only be used, not evaluated")
        }
        None => Ok(()),
    }
}

impl Sampling {
    /// A program was loaded: a recording of the one before is over, the shadow policy goes on.
    pub fn attach(&mut self, engine: &mut dyn Engine, nr_cpus: u32) {
        self.nr_cpus = nr_cpus;
        if self.recording.take().is_some() {
            warn!("recording ended: the program was loaded again");
        }
        if let Some(shadow) = &self.shadow {
            engine.set_shadow(&shadow.policy.to_native(0, nr_cpus));
        }
        self.apply(engine);
    }

    /// Tells the program what to sample.
    fn apply(&self, engine: &mut dyn Engine) {
        let record = self.recording.as_ref().filter(|r| r.baseline.is_some());
        let record = record.map_or(0, |r| r.one_in);
        let shadow = self.shadow.as_ref().map_or(0, |s| s.one_in);
        engine.set_sampling(record | shadow << 16);
    }

    /// Somebody reads what the stages of records and of the shadow policy count.
    pub fn is_on(&self) -> bool {
        self.recording.is_some() || self.shadow.is_some()
    }

    /// Grants the ring buffer to a recorder.
    ///
    /// # Errors
    /// Another recorder has it, or `one_in` is out of range.
    pub fn open(
        &mut self,
        slots: &Slots,
        engine: &mut dyn Engine,
        one_in: u32,
    ) -> Result<RecordingReport> {
        check_one_in(one_in)?;
        self.expire(engine);
        ensure!(
            self.recording.is_none(),
            "another `scx_place record` is running: wait for its end, or end it"
        );
        let recording = Recording {
            id: time::now_us(),
            map: engine.record_map()?,
            one_in,
            baseline: None,
            heard: Instant::now(),
        };
        let id = recording.id;
        self.recording = Some(recording);
        self.report(slots, engine, id, 0)
    }

    /// The recorder lives; at the first call sampling begins.
    ///
    /// # Errors
    /// This recording is over.
    pub fn poll(
        &mut self,
        slots: &Slots,
        engine: &mut dyn Engine,
        id: u64,
        known: u32,
    ) -> Result<RecordingReport> {
        let recording = self.recording.as_mut().filter(|r| r.id == id);
        let recording = recording.context(
            "the recording is over: the scheduler was loaded again, or did not hear of the recorder",
        )?;
        recording.heard = Instant::now();
        if recording.baseline.is_none() {
            recording.baseline = Some(slots.total(engine).counters);
            info!("recording 1/{} of the placements", recording.one_in);
            self.apply(engine);
        }
        self.report(slots, engine, id, known)
    }

    /// Ends a recording.  When it returns, no callback writes to the buffer any more.
    ///
    /// # Errors
    /// This recording is over already.
    pub fn stop(
        &mut self,
        slots: &Slots,
        engine: &mut dyn Engine,
        id: u64,
    ) -> Result<RecordingReport> {
        self.report(slots, engine, id, 0)?;
        let baseline = self.recording.as_mut().and_then(|r| r.baseline.take());
        self.apply(engine);
        settle(engine);
        if let Some(recording) = &mut self.recording {
            recording.baseline = baseline;
        }
        let report = self.report(slots, engine, id, 0);
        self.recording = None;
        info!("recording ended");
        report
    }

    fn report(
        &self,
        slots: &Slots,
        engine: &dyn Engine,
        id: u64,
        known: u32,
    ) -> Result<RecordingReport> {
        let recording = self.recording.as_ref().filter(|r| r.id == id);
        let recording = recording.context("the recording is over")?;
        let counts = match &recording.baseline {
            Some(baseline) => slots.total(engine).counters.since(baseline),
            None => Counters::default(),
        };
        let policies = slots.after(known).map(|g| GenerationPolicy {
            generation: g.number,
            policy: g.policy.clone(),
        });
        Ok(RecordingReport {
            id,
            map: recording.map,
            nr_cpus: self.nr_cpus,
            policies: policies.collect(),
            written: counts.named("record", "written"),
            dropped: counts.named("record", "dropped"),
            opaque: counts.named("record", "opaque"),
        })
    }

    /// Ends the recording of a recorder that was silent for too long.
    pub fn expire(&mut self, engine: &mut dyn Engine) {
        let dead = |r: &Recording| r.heard.elapsed() >= LEASE;
        if self.recording.as_ref().is_some_and(dead) {
            warn!("recording ended: the recorder is gone");
            self.recording = None;
            self.apply(engine);
        }
    }

    /// Evaluates the policy in force with `items` beside it from now on.
    ///
    /// # Errors
    /// The policy cannot be evaluated, or `one_in` is out of range; what was in force stays.
    pub fn shadow_set(
        &mut self,
        slots: &Slots,
        engine: &mut dyn Engine,
        items: &[Item],
        one_in: u32,
    ) -> Result<ShadowReport> {
        check_one_in(one_in)?;
        let in_force = &slots.current().policy;
        let policy = in_force.with(items, Origin::CommandLine);
        check_evaluable(&policy)?;
        self.shadow_off(engine);
        settle(engine);
        engine.set_shadow(&policy.to_native(0, self.nr_cpus));
        let shadow = Shadow {
            changed: policy.changes_from(in_force),
            policy,
            one_in,
            since_us: time::now_us(),
            baseline: slots.total(engine).counters,
        };
        info!("shadow policy: {}", join_items(items));
        self.shadow = Some(shadow);
        self.apply(engine);
        self.shadow_report(slots, engine)
            .context("there is no shadow policy")
    }

    /// Evaluates nothing beside the policy in force.
    pub fn shadow_off(&mut self, engine: &mut dyn Engine) {
        if self.shadow.take().is_some() {
            info!("no shadow policy");
        }
        self.apply(engine);
    }

    /// What is evaluated beside the policy in force, if anything.
    pub fn shadow_report(&self, slots: &Slots, engine: &dyn Engine) -> Option<ShadowReport> {
        self.shadow.as_ref().map(|shadow| ShadowReport {
            policy: shadow.policy.clone(),
            changed: shadow.changed.iter().map(Item::to_string).collect(),
            one_in: shadow.one_in,
            since_us: shadow.since_us,
            counters: slots.total(engine).counters.since(&shadow.baseline),
        })
    }
}

/// Waits until no callback acts on what the control word said before.
fn settle(engine: &mut dyn Engine) {
    if !engine.grace_period() {
        std::thread::sleep(WITHOUT_GRACE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::parse::parse_items;
    use crate::slots::tests::FakeEngine;

    fn started() -> (Sampling, Slots, FakeEngine) {
        let mut slots = Slots::new(Policy::default());
        let mut engine = FakeEngine::new();
        slots.attach(&mut engine, 8).unwrap();
        let mut sampling = Sampling::default();
        sampling.attach(&mut engine, 8);
        (sampling, slots, engine)
    }

    fn items(text: &str) -> Vec<Item> {
        parse_items(&[text]).unwrap()
    }

    #[test]
    fn samples_from_the_first_poll_to_the_stop() {
        let (mut sampling, mut slots, mut engine) = started();
        let open = sampling.open(&slots, &mut engine, 3).unwrap();
        assert_eq!((open.map, open.nr_cpus, engine.sampling), (77, 8, 0));
        assert_eq!(open.policies.len(), 1);
        sampling.poll(&slots, &mut engine, open.id, 1).unwrap();
        assert_eq!(engine.sampling, 3);
        slots.set(&mut engine, &items("affine=off")).unwrap();
        let poll = sampling.poll(&slots, &mut engine, open.id, 1).unwrap();
        assert_eq!(poll.policies[0].generation, 2);
        sampling.stop(&slots, &mut engine, open.id).unwrap();
        assert_eq!(engine.sampling, 0);
        assert!(sampling.poll(&slots, &mut engine, open.id, 2).is_err());
    }

    #[test]
    fn one_recorder_at_a_time_unless_it_is_dead() {
        let (mut sampling, slots, mut engine) = started();
        let first = sampling.open(&slots, &mut engine, 1).unwrap();
        sampling.poll(&slots, &mut engine, first.id, 1).unwrap();
        let error = sampling.open(&slots, &mut engine, 1).unwrap_err();
        assert!(error.to_string().contains("another"), "{error}");
        let recording = sampling.recording.as_mut().unwrap();
        let Some(long_ago) = Instant::now().checked_sub(LEASE) else {
            return; // this machine runs for less than that
        };
        recording.heard = long_ago;
        sampling.expire(&mut engine);
        assert_eq!(engine.sampling, 0);
        assert!(sampling.open(&slots, &mut engine, 1).is_ok());
    }

    #[test]
    fn shadow_survives_a_new_load_and_a_recording_does_not() {
        let (mut sampling, slots, mut engine) = started();
        let items = items("idle_search=mainline_46");
        sampling.shadow_set(&slots, &mut engine, &items, 2).unwrap();
        let open = sampling.open(&slots, &mut engine, 1).unwrap();
        sampling.poll(&slots, &mut engine, open.id, 1).unwrap();
        assert_eq!(engine.sampling, 2 << 16 | 1);
        let mut engine = FakeEngine::new();
        sampling.attach(&mut engine, 6);
        assert_eq!(engine.sampling, 2 << 16);
        assert!(engine.shadow.is_some());
        let report = sampling.shadow_report(&slots, &engine).unwrap();
        assert_eq!(report.changed, ["idle_search=mainline_46"]);
        sampling.shadow_off(&mut engine);
        assert_eq!(engine.sampling, 0);
        assert!(sampling.shadow_report(&slots, &engine).is_none());
    }

    #[test]
    fn refuses_what_cannot_be_sampled() {
        let (mut sampling, slots, mut engine) = started();
        for one_in in [0, MAX_ONE_IN + 1] {
            assert!(sampling.open(&slots, &mut engine, one_in).is_err());
        }
        let opaque = items("idle_search=scx_default");
        let error = sampling
            .shadow_set(&slots, &mut engine, &opaque, 1)
            .unwrap_err();
        assert!(error.to_string().contains("scx_default"), "{error}");
        assert_eq!(engine.sampling, 0);
    }
}
