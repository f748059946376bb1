// SPDX-License-Identifier: GPL-2.0-only

//! What each request of the control socket does: the whole logic between the socket and the slots.
//!
//! Runs in the scheduler's thread.  The life of a [`State`]: [`State::new`], then for each time the
//! BPF program is loaded [`State::attach`], any number of [`handle`] and [`State::periodic`], and
//! [`State::detach`] while its counters can still be read.

use std::time::{Duration, Instant};

use anyhow::{ensure, Result};
use log::info;

use crate::control::{
    GenerationReport, PolicyReport, Request, Response, StatsReport, StatusReport,
};
use crate::engine::Engine;
use crate::level::Level;
use crate::policy::{parse, Item, Policy};
use crate::sampling::Sampling;
use crate::slots::{Generation, Slots};
use crate::{stats, time};

/// Everything about a running scheduler that outlives one load of the BPF program.
pub struct State {
    slots: Slots,
    /// The policy of the command line, where `policy reset` leads.
    start: Policy,
    ops: String,
    version: String,
    started_us: u64,
    nr_cpus: u32,
    /// Loads so far.
    loads: u32,
    periodic: Option<Periodic>,
    sampling: Sampling,
    level: Level,
}

/// `--stats SEC`.
struct Periodic {
    interval: Duration,
    due: Instant,
    last: Option<StatsReport>,
}

impl State {
    /// A scheduler that is about to load.  `ops` is the name the kernel will know it by, `stats`
    /// the interval of [`State::periodic`].
    pub fn new(policy: Policy, ops: &str, stats: Option<Duration>) -> State {
        State {
            slots: Slots::new(policy.clone()),
            start: policy,
            ops: ops.into(),
            version: crate::cli::version().into(),
            started_us: time::now_us(),
            nr_cpus: 0,
            loads: 0,
            periodic: stats.map(|interval| Periodic {
                interval,
                due: Instant::now() + interval,
                last: None,
            }),
            sampling: Sampling::default(),
            level: Level::default(),
        }
    }

    /// The level to begin with, before it is attached.
    pub fn with_level(mut self, level: Level) -> State {
        self.level = level;
        self
    }

    /// Publishes the policy into a freshly loaded program, before or after it is attached.
    /// `nr_cpus`: CPUs online.
    pub fn attach(&mut self, engine: &mut dyn Engine, nr_cpus: u32) -> Result<()> {
        engine.set_level(self.level);
        self.slots.attach(engine, nr_cpus)?;
        self.nr_cpus = nr_cpus;
        self.loads += 1;
        self.sampling.attach(engine, nr_cpus);
        Ok(())
    }

    /// Keeps the counts of a program that is about to go away.
    pub fn detach(&mut self, engine: &dyn Engine) {
        self.slots.detach(engine);
    }

    /// Ends what nobody asks for any more: the recording of a recorder that died.
    pub fn expire(&mut self, engine: &mut dyn Engine) {
        self.sampling.expire(engine);
    }

    /// The policy in force.
    pub fn policy(&self) -> &Policy {
        &self.slots.current().policy
    }

    /// The number of the generation in force.
    pub fn generation(&self) -> u32 {
        self.slots.current().number
    }

    /// The text of `--stats`, when its time has come: what was counted since the last one.
    pub fn periodic(&mut self, engine: &dyn Engine) -> Option<String> {
        let now = Instant::now();
        let due = self.periodic.as_ref().is_some_and(|p| now >= p.due);
        if !due {
            return None;
        }
        let report = self.stats(engine);
        let periodic = self.periodic.as_mut()?;
        // Late once is not late for ever.
        periodic.due = (periodic.due + periodic.interval).max(now);
        let text = stats::show::interval(&report, periodic.last.as_ref());
        periodic.last = Some(report);
        Some(text)
    }

    /// The time until [`State::periodic`] has something to print, at most `limit`.
    pub fn wait(&self, limit: Duration) -> Duration {
        let due = self.periodic.as_ref().map(|p| p.due);
        due.map_or(limit, |d| d.saturating_duration_since(Instant::now()))
            .min(limit)
    }

    /// All counters, with the generations they belong to.
    pub fn stats(&self, engine: &dyn Engine) -> StatsReport {
        let generations = self.slots.history().map(|g| {
            let counts = g.counts(engine);
            GenerationReport {
                generation: g.number,
                since_us: g.since_us,
                until_us: g.until_us,
                changed: texts(&g.changed),
                policy: g.policy.clone(),
                counters: counts.counters,
                latency: counts.latency,
            }
        });
        let total = self.slots.total(engine);
        StatsReport {
            at_us: time::now_us(),
            started_us: self.started_us,
            pid: std::process::id(),
            generations: generations.collect(),
            total: total.counters,
            latency: total.latency,
            level: self.level,
            cpus: engine.read_cpus(),
        }
    }

    fn status(&self) -> StatusReport {
        let current = self.slots.current();
        StatusReport {
            ops: self.ops.clone(),
            version: self.version.clone(),
            pid: std::process::id(),
            started_us: self.started_us,
            generation: current.number,
            since_us: current.since_us,
            nr_cpus: self.nr_cpus,
            restarts: self.loads.saturating_sub(1),
            stats_level: self.level,
        }
    }

    /// Counts as much as `level` says from now on.
    ///
    /// # Errors
    /// Somebody needs the counters.
    fn set_level(&mut self, engine: &mut dyn Engine, level: Level) -> Result<Level> {
        ensure!(
            level > Level::Off || !self.sampling.is_on(),
            "recording or shadow policy under way, whose counts would be lost: end it first"
        );
        if level != self.level {
            info!("statistics level {level}");
        }
        self.level = level;
        engine.set_level(level);
        Ok(level)
    }
}

fn texts(items: &[Item]) -> Vec<String> {
    items.iter().map(Item::to_string).collect()
}

fn policy_report(current: &Generation, changed: &[Item]) -> Response {
    Response::Policy(PolicyReport {
        generation: current.number,
        since_us: current.since_us,
        changed: texts(changed),
        policy: current.policy.clone(),
    })
}

/// Records and the shadow policy.
fn handle_sampling(
    state: &mut State,
    engine: &mut dyn Engine,
    request: &Request,
) -> Result<Response> {
    let State {
        slots,
        sampling,
        level,
        ..
    } = state;
    let begins = matches!(
        request,
        Request::RecordOpen { .. } | Request::ShadowSet { .. }
    );
    ensure!(
        *level > Level::Off || !begins,
        "the statistics are off, and what is sampled is counted: `scx_place stats level counters`"
    );
    match request {
        Request::RecordOpen { one_in } => sampling.open(slots, engine, *one_in),
        Request::RecordPoll { id, known } => sampling.poll(slots, engine, *id, *known),
        Request::RecordStop { id } => sampling.stop(slots, engine, *id),
        Request::ShadowSet { items, one_in } => {
            let items = parse::parse_items(items)?;
            let report = sampling.shadow_set(slots, engine, &items, *one_in)?;
            return Ok(Response::Shadow(Some(report)));
        }
        Request::ShadowOff => {
            sampling.shadow_off(engine);
            return Ok(Response::Shadow(None));
        }
        _ => return Ok(Response::Shadow(sampling.shadow_report(slots, engine))),
    }
    .map(Response::Recording)
}

/// Answers one request.  An error means that nothing was changed.
pub fn handle(state: &mut State, engine: &mut dyn Engine, request: Request) -> Response {
    let changed = match request {
        Request::Stats => return Response::Stats(state.stats(engine)),
        Request::Status => return Response::Status(state.status()),
        Request::LevelGet => return Response::Level(state.level),
        Request::LevelSet { level } => {
            return match state.set_level(engine, level) {
                Ok(level) => Response::Level(level),
                Err(e) => Response::Error(format!("{e:#}")),
            }
        }
        Request::PolicyGet => Ok(Vec::new()),
        Request::PolicySet { items } => parse::parse_items(&items)
            .map_err(anyhow::Error::from)
            .and_then(|items| state.slots.set(engine, &items)),
        Request::RecordOpen { .. }
        | Request::RecordPoll { .. }
        | Request::RecordStop { .. }
        | Request::ShadowGet
        | Request::ShadowSet { .. }
        | Request::ShadowOff => {
            return handle_sampling(state, engine, &request)
                .unwrap_or_else(|e| Response::Error(format!("{e:#}")))
        }
        Request::PolicyReset => state.slots.replace(engine, state.start.clone()),
    };
    match changed {
        Ok(changed) => policy_report(state.slots.current(), &changed),
        Err(e) => Response::Error(format!("{e:#}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::table::table;
    use crate::policy::Origin;
    use crate::slots::tests::FakeEngine;

    fn started(items: &str) -> (State, FakeEngine) {
        let policy = match items {
            "" => Policy::default(),
            items => Policy::from_command_line(&parse::parse_items(&[items]).unwrap()),
        };
        let mut state = State::new(policy, "place_test", None);
        let mut engine = FakeEngine::new();
        state.attach(&mut engine, 8).unwrap();
        (state, engine)
    }

    fn set(state: &mut State, engine: &mut FakeEngine, items: &[&str]) -> Response {
        let items = items.iter().map(|i| i.to_string()).collect();
        handle(state, engine, Request::PolicySet { items })
    }

    fn report(response: Response) -> PolicyReport {
        match response {
            Response::Policy(report) => report,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn set_reports_what_changed_and_since_when() {
        let (mut state, mut engine) = started("");
        let before = time::now_us();
        let items = ["idle_search=none", "wa_idle=0", "fork=stay"];
        let report = report(set(&mut state, &mut engine, &items));
        assert_eq!(report.generation, 2);
        assert_eq!(report.changed, ["idle_search=none", "wa_idle=0"]);
        assert!(report.since_us >= before);
        let axis = table().axis("idle_search").unwrap().id;
        assert_eq!(
            report.policy.value_origin(axis),
            Origin::Set {
                generation: 2,
                at_us: report.since_us
            }
        );
    }

    #[test]
    fn one_invalid_item_changes_nothing() {
        let (mut state, mut engine) = started("");
        let slot = engine.in_force;
        for bad in ["affine=up", "latency_us=1", "affine", "affine=always"] {
            let response = set(&mut state, &mut engine, &["affine=always", bad]);
            assert!(matches!(response, Response::Error(_)), "{bad}");
        }
        assert_eq!(engine.in_force, slot);
        assert_eq!(state.generation(), 1);
        assert_eq!(state.policy(), &Policy::default());
    }

    #[test]
    fn reset_leads_to_the_command_line() {
        let (mut state, mut engine) = started("affine=always");
        set(&mut state, &mut engine, &["affine=off", "idle_search=none"]);
        let report = report(handle(&mut state, &mut engine, Request::PolicyReset));
        assert_eq!(report.generation, 3);
        assert_eq!(report.changed, ["idle_search=sis_modern", "affine=always"]);
        assert_eq!(report.policy, state.start);
    }

    #[test]
    fn stats_carry_the_generation_and_survive_a_restart() {
        let (mut state, mut engine) = started("");
        engine.count(3);
        set(&mut state, &mut engine, &["affine=off"]);
        engine.count(4);
        state.detach(&engine);
        let mut engine = FakeEngine::new();
        state.attach(&mut engine, 6).unwrap();
        engine.count(5);

        let Response::Stats(stats) = handle(&mut state, &mut engine, Request::Stats) else {
            panic!("no statistics");
        };
        assert_eq!(stats.total.get(0), 12);
        let counts: Vec<_> = stats
            .generations
            .iter()
            .map(|g| g.counters.get(0))
            .collect();
        assert_eq!(counts, [3, 9]);
        assert_eq!(stats.current().unwrap().changed, ["affine=off"]);
        assert_eq!(
            stats.generations[0].until_us,
            Some(stats.generations[1].since_us)
        );

        let Response::Status(status) = handle(&mut state, &mut engine, Request::Status) else {
            panic!("no status");
        };
        assert_eq!(
            (status.restarts, status.nr_cpus, status.generation),
            (1, 6, 2)
        );
    }

    #[test]
    fn periodic_prints_when_due() {
        let (mut state, engine) = started("");
        assert_eq!(state.periodic(&engine), None);
        assert_eq!(state.wait(Duration::from_secs(1)), Duration::from_secs(1));
        let interval = Duration::from_millis(1);
        let mut state = State::new(Policy::default(), "place_test", Some(interval));
        state.attach(&mut FakeEngine::new(), 8).unwrap();
        std::thread::sleep(2 * interval);
        assert_eq!(state.wait(Duration::from_secs(1)), Duration::ZERO);
        assert!(state.periodic(&engine).is_some());
    }
}
