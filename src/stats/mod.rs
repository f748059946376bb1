// SPDX-License-Identifier: GPL-2.0-only

//! Statistics for people and for programs: [`show`] makes tables, [`json()`] a document,
//! [`metrics`] serves the scx_stats socket, [`monitor`] follows a running scheduler.

pub mod metrics;
pub mod monitor;
pub mod show;

use serde::Serialize;
use serde_json::{json, Value};

use crate::control::StatsReport;
use crate::counters::{derived, Counters};
use crate::policy::table::table;
use crate::policy::Policy;

/// Counts with what follows from them.
fn with_derived(counters: &Counters) -> Value {
    json!({ "counters": counters, "derived": derived(counters) })
}

/// A policy as a flat object, `{"affine": "off", "wa_idle": 1, ...}`.
pub fn flat_policy(policy: &Policy) -> Value {
    let t = table();
    let axes = t.axes.iter().map(|a| {
        let value = t.values[policy.value(a.id)].name;
        (a.name.to_string(), Value::from(value))
    });
    let params = t.params.iter().map(|p| {
        let number = policy.param(p.id);
        (p.name.to_string(), Value::from(number))
    });
    Value::Object(axes.chain(params).collect())
}

/// The document of `stats --json`.
///
/// `in_force` and `total` have `counters` (stage, branch, count) and `derived`; `generations` the
/// same for each of the newest generations, oldest first, with policy, begin and end.
pub fn json(report: &StatsReport) -> Value {
    #[derive(Serialize)]
    struct Entry {
        generation: u32,
        since_us: u64,
        until_us: Option<u64>,
        changed: Vec<String>,
        policy: Value,
        #[serde(flatten)]
        counts: Value,
    }
    let generations = report.generations.iter().map(|g| Entry {
        generation: g.generation,
        since_us: g.since_us,
        until_us: g.until_us,
        changed: g.changed.clone(),
        policy: flat_policy(&g.policy),
        counts: with_derived(&g.counters),
    });
    let current = report.current();
    json!({
        "at_us": report.at_us,
        "started_us": report.started_us,
        "pid": report.pid,
        "generation": current.map(|g| g.generation),
        "policy": current.map(|g| flat_policy(&g.policy)),
        "in_force": current.map(|g| with_derived(&g.counters)),
        "total": with_derived(&report.total),
        "generations": generations.collect::<Vec<_>>(),
    })
}
