// SPDX-License-Identifier: GPL-2.0-only

//! What other policies would have decided on recorded inputs.

use std::collections::HashMap;
use std::io::Read;

use anyhow::{bail, ensure, Result};
use serde::Serialize;

use super::answer::Record;
use super::fork::Fork;
use super::format::{Known, Reader};
use super::tables::{Distance, Tables};
use crate::bpf_intf as intf;
use crate::policy::table::{nearest, table, Axis, Scope};
use crate::policy::{join_items, Item, Origin};
use crate::sampling::check_evaluable;

/// What a decision found, judged by the snapshot it was made on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    IdleCore,
    IdleThread,
    /// A busy CPU.
    Nothing,
}

impl Found {
    pub const ALL: [Found; 3] = [Found::IdleCore, Found::IdleThread, Found::Nothing];

    fn of(out: &intf::place_out) -> Found {
        match u32::from(out.outcome) {
            intf::place_counter_PLACE_CNT_outcome_idle_core => Found::IdleCore,
            intf::place_counter_PLACE_CNT_outcome_idle_thread => Found::IdleThread,
            _ => Found::Nothing,
        }
    }
}

/// Whether it chose a busy CPU although an allowed one of the target's cache was idle.
fn missed(out: &intf::place_out) -> bool {
    matches!(
        u32::from(out.outcome),
        intf::place_counter_PLACE_CNT_outcome_busy_throttled
            | intf::place_counter_PLACE_CNT_outcome_busy_rule
    )
}

/// What one policy decided.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Side {
    /// By [`Found::ALL`]: idle core, idle thread, nothing.
    pub found: [u64; 3],
    /// Of those that found nothing: an allowed CPU of the target's cache was idle.
    pub missed: u64,
    /// CPUs that linear scans would have visited.
    pub visited: u64,
}

impl Side {
    fn add(&mut self, out: &intf::place_out) {
        self.found[Found::of(out) as usize] += 1;
        self.missed += u64::from(missed(out));
        self.visited += u64::from(out.visited);
    }
}

/// The recorded decisions beside those of one other policy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// What the other policy has differently.
    pub policy: String,
    /// Whether that can change where new tasks, and where woken ones are placed.
    pub concerns_forks: bool,
    pub concerns_wakeups: bool,
    /// Of the wakeups, as all that follows but `forks`.
    pub decisions: u64,
    pub recorded: Side,
    pub other: Side,
    /// `agreement[recorded][other]`, both by [`Found::ALL`].
    pub agreement: [[u64; 3]; 3],
    /// How far the other policy's CPU is from the recorded one, by [`Distance::ALL`].
    pub distance: [u64; 5],
    pub forks: ForkComparison,
}

impl Comparison {
    fn add(&mut self, recorded: &intf::place_out, other: &intf::place_out, tables: &Tables) {
        self.decisions += 1;
        self.recorded.add(recorded);
        self.other.add(other);
        self.agreement[Found::of(recorded) as usize][Found::of(other) as usize] += 1;
        let distance = tables.distance(recorded.cpu, other.cpu);
        self.distance[distance as usize] += 1;
    }

    pub fn of_distance(&self, distance: Distance) -> u64 {
        self.distance[distance as usize]
    }
}

/// What one policy decided about new tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ForkSide {
    /// Placed elsewhere than on the parent's CPU.
    pub moved: u64,
    /// Placed on an idle CPU.
    pub idle: u64,
    /// CPUs looked at.
    pub visited: u64,
}

impl ForkSide {
    fn add(&mut self, fork: &Fork, out: &intf::place_out) {
        self.moved += u64::from(out.cpu != fork.input.prev);
        self.idle += u64::from(fork.is_idle(out.cpu));
        self.visited += u64::from(out.visited);
    }
}

/// The recorded placements of new tasks beside those of one other policy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ForkComparison {
    pub decisions: u64,
    pub recorded: ForkSide,
    pub other: ForkSide,
    /// As [`Comparison::distance`].
    pub distance: [u64; 5],
}

impl ForkComparison {
    fn add(&mut self, fork: &Fork, other: &intf::place_out, tables: &Tables) {
        self.decisions += 1;
        self.recorded.add(fork, &fork.out);
        self.other.add(fork, other);
        self.distance[tables.distance(fork.out.cpu, other.cpu) as usize] += 1;
    }
}

/// A policy that differs from the recorded one, whichever that is, in some settings.
pub struct Variant {
    items: Vec<Item>,
    natives: HashMap<u32, intf::place_policy>,
    pub result: Comparison,
}

impl Variant {
    fn new(items: Vec<Item>) -> Variant {
        let result = Comparison {
            policy: join_items(&items),
            concerns_forks: items.iter().any(is_of_forks),
            concerns_wakeups: !items.iter().all(is_of_forks),
            ..Comparison::default()
        };
        Variant {
            items,
            natives: HashMap::new(),
            result,
        }
    }

    fn add(&mut self, record: &Record, known: &Known, tables: &Tables) -> Result<()> {
        let generation = record.head().generation;
        if !self.natives.contains_key(&generation) {
            let policy = known.policy.with(&self.items, Origin::CommandLine);
            check_evaluable(&policy)?;
            let native = policy.to_native(generation, known.nr_cpus);
            self.natives.insert(generation, native);
        }
        let native = &self.natives[&generation];
        match record {
            Record::Wakeup(decision) => {
                let other = decision.decide(native, tables);
                self.result.add(&decision.out, &other, tables);
            }
            Record::Fork(fork) => {
                let other = fork.decide(native, tables);
                self.result.forks.add(fork, &other, tables);
            }
        }
        Ok(())
    }
}

/// Whether a setting decides about new tasks, and about nothing else.
fn is_of_forks(item: &Item) -> bool {
    item.name() == "fork"
}

/// The one variant that these items make.
pub fn with_items(items: Vec<Item>) -> Vec<Variant> {
    vec![Variant::new(items)]
}

/// A variant for each value of an axis that can be evaluated.
///
/// # Errors
/// There is no such axis, or it does not decide where a task is placed.
pub fn all_of(axis: &str) -> Result<Vec<Variant>> {
    let names = || {
        table()
            .axes
            .iter()
            .filter(|a| a.scope == Scope::Placement)
            .map(|a| a.name)
    };
    let Some(axis) = table().axis(axis) else {
        let hint = match nearest(axis, names()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
        };
        bail!("no rule is called `{}`: {hint}", axis.escape_debug());
    };
    ensure!(
        axis.scope == Scope::Placement,
        "{} does not decide where a task is placed: those that do are {}",
        axis.name,
        names().collect::<Vec<_>>().join(", ")
    );
    Ok(evaluable(axis)
        .map(|item| Variant::new(vec![item]))
        .collect())
}

fn evaluable(axis: &Axis) -> impl Iterator<Item = Item> + '_ {
    let items = axis.values.iter().map(|value| Item::Axis {
        axis: axis.id,
        value: *value,
    });
    items.filter(|item| {
        check_evaluable(&crate::policy::Policy::default().with(&[*item], Origin::Default)).is_ok()
    })
}

/// Feeds every record to every variant.
pub fn run<R: Read>(reader: &mut Reader<R>, variants: &mut [Variant]) -> Result<()> {
    while let Some(record) = reader.next_record()? {
        let known = reader.known(record.head().generation);
        let known = known.expect("next_record has checked it");
        for variant in &mut *variants {
            variant.add(&record, known, &reader.tables)?;
        }
    }
    Ok(())
}
