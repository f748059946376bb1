// SPDX-License-Identifier: GPL-2.0-only

//! Statistics for people and for programs: [`show`] and [`waits`] make tables, [`json()`] a document,
//! [`metrics`] serves the scx_stats socket, [`monitor`] follows a running scheduler.

pub mod metrics;
pub mod monitor;
pub mod show;
pub mod waits;

use serde::Serialize;
use serde_json::{json, Value};

use crate::control::StatsReport;
use crate::counters::{derived, Counters};
use crate::cpus::longest_wait;
use crate::latency::{bounds_us, Histogram, Latency};
use crate::policy::table::table;
use crate::policy::Policy;

/// Counts with what follows from them.
fn with_derived(counters: &Counters, latency: &Latency) -> Value {
    json!({
        "counters": counters,
        "derived": derived(counters),
        "latency": latency_json(latency),
    })
}

/// One histogram; each bucket with its bounds in microseconds, the last without an end.
fn histogram_json(histogram: &Histogram) -> Value {
    let buckets = histogram.buckets().iter().enumerate().map(|(n, count)| {
        let (from_us, to_us) = bounds_us(n);
        json!({ "from_us": from_us, "to_us": to_us, "count": count })
    });
    json!({
        "count": histogram.count(),
        "p50_us": histogram.percentile_us(50.0),
        "p90_us": histogram.percentile_us(90.0),
        "p99_us": histogram.percentile_us(99.0),
        "buckets": buckets.collect::<Vec<_>>(),
    })
}

/// The rows that hold anything, in both families.
fn latency_json(latency: &Latency) -> Value {
    fn rows<'a>(family: impl Iterator<Item = (String, &'a Histogram)>) -> Value {
        let used = family.filter(|(_, h)| h.count() > 0);
        Value::Object(used.map(|(name, h)| (name, histogram_json(h))).collect())
    }
    json!({ "by_branch": rows(latency.by_branch()), "by_type": rows(latency.by_type()) })
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
/// `in_force` and `total` have `counters` (stage, branch, count), `derived` and `latency` (family,
/// row, histogram); `generations` the same for each of the newest generations, oldest first, with
/// policy, begin and end.  `cpus` is how each CPU stands now.
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
        counts: with_derived(&g.counters, &g.latency),
    });
    let current = report.current();
    json!({
        "at_us": report.at_us,
        "started_us": report.started_us,
        "pid": report.pid,
        "level": report.level,
        "cpus": report.cpus,
        "longest_wait_ns": longest_wait(&report.cpus).map_or(0, |c| c.longest_wait_ns),
        "generation": current.map(|g| g.generation),
        "policy": current.map(|g| flat_policy(&g.policy)),
        "in_force": current.map(|g| with_derived(&g.counters, &g.latency)),
        "total": with_derived(&report.total, &report.latency),
        "generations": generations.collect::<Vec<_>>(),
    })
}
