// SPDX-License-Identifier: GPL-2.0-only

//! The counters of one policy slot, summed over the CPUs, and what follows from them.
//!
//! The words are those of the kernel's select_idle_sibling statistics; [`derived`] defines each.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bpf_intf as intf;
use crate::latency::Latency;
use crate::policy::table::{table, Stage, NR_COUNTERS};

/// One number per counter, indexed by `enum place_counter`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "ByName", try_from = "ByName")]
pub struct Counters([u64; NR_COUNTERS]);

/// Stage, then branch.
type ByName = BTreeMap<String, BTreeMap<String, u64>>;

impl Default for Counters {
    fn default() -> Counters {
        Counters([0; NR_COUNTERS])
    }
}

impl From<&intf::place_counters> for Counters {
    /// The counters of one CPU.
    fn from(native: &intf::place_counters) -> Counters {
        Counters(std::array::from_fn(|id| native.n[id]))
    }
}

impl From<Counters> for ByName {
    fn from(counters: Counters) -> ByName {
        let stages = table().stages.iter().map(|stage| {
            let branches = stage.counters.clone();
            let branches =
                branches.map(|id| (table().counters[id].name.to_string(), counters.0[id]));
            (stage.name.to_string(), branches.collect())
        });
        stages.collect()
    }
}

/// Branches this program does not know are dropped, those it misses are zero: the reader of another
/// version's statistics goes on.
impl From<ByName> for Counters {
    fn from(mut names: ByName) -> Counters {
        let mut counters = Counters::default();
        for counter in &table().counters {
            let stage = names.get_mut(table().stages[counter.stage].name);
            counters.0[counter.id] = stage
                .and_then(|s| s.remove(counter.name))
                .unwrap_or_default();
        }
        counters
    }
}

impl Counters {
    /// The number of a counter, by its index.
    pub fn get(&self, id: usize) -> u64 {
        self.0[id]
    }

    /// The number of a counter, by name; 0 for one that does not exist.
    pub fn named(&self, stage: &str, name: &str) -> u64 {
        let counter = table().counter(stage, name);
        counter.map_or(0, |c| self.0[c.id])
    }

    /// Changes one number.
    pub fn set(&mut self, id: usize, count: u64) {
        self.0[id] = count;
    }

    /// All branches of a stage together: the number of its decisions.
    pub fn stage_sum(&self, stage: &Stage) -> u64 {
        let counts = &self.0[stage.counters.clone()];
        counts.iter().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// Adds another CPU's or another generation's counts.
    pub fn add(&mut self, other: &Counters) {
        for (to, from) in self.0.iter_mut().zip(other.0) {
            *to = to.saturating_add(from);
        }
    }

    /// What was counted since `earlier`.  A counter that went backwards has restarted from zero;
    /// its whole count is new.
    pub fn since(&self, earlier: &Counters) -> Counters {
        Counters(std::array::from_fn(|id| {
            let (now, then) = (self.0[id], earlier.0[id]);
            now.checked_sub(then).unwrap_or(now)
        }))
    }

    /// Whether nothing at all was counted.
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|n| *n == 0)
    }
}

/// All that is counted under a policy slot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    pub counters: Counters,
    pub latency: Latency,
}

impl Counts {
    /// Adds another CPU's or another generation's counts.
    pub fn add(&mut self, other: &Counts) {
        self.counters.add(&other.counters);
        self.latency.add(&other.latency);
    }

    /// As [`Counters::since`].
    pub fn since(&self, earlier: &Counts) -> Counts {
        Counts {
            counters: self.counters.since(&earlier.counters),
            latency: self.latency.since(&earlier.latency),
        }
    }
}

/// `part` of `whole` in percent; 0 of nothing.
pub fn percent(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        _ => part as f64 * 100.0 / whole as f64,
    }
}

/// The numbers that the counters imply.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Derived {
    /// Placements of wakeups and of new tasks: calls of select_cpu.
    pub placements: u64,
    /// Wakeups that looked for an idle CPU: without `idle_search=none`, whose wakees go to the
    /// target, and without `scx_default`, whose search cannot be seen.
    pub searches: u64,
    /// Searches that came to the scan of the target's cache, none of the first looks having
    /// found an idle CPU.
    pub domain_searches: u64,
    /// CPUs that linear scans would have visited.
    pub scanned: u64,
    /// `scanned` per domain search.
    pub scanned_per_domain_search: f64,
    /// Searches that ended without an idle CPU.
    pub failed: u64,
    /// Searches that found an idle CPU, in percent.
    pub success_rate: f64,
    /// Searches that found a fully idle core.
    pub core_hit: u64,
    /// Searches that expected a fully idle core and found none.
    pub core_miss: u64,
    /// Searches that found the recently used CPU idle.
    pub recent_hit: u64,
    /// Searches that looked at a recently used CPU that was not idle; none where the BPF program
    /// does not count it.
    pub recent_miss: Option<u64>,
}

/// A derived number as the tables show it.
pub struct DerivedLine {
    pub name: &'static str,
    pub help: &'static str,
    /// The number as text; none where it is not known.
    pub cell: fn(&Derived) -> Option<String>,
}

macro_rules! line {
    ($name:literal, $field:ident, $help:literal) => {
        line!($name, $help, |d| Some(d.$field.to_string()))
    };
    ($name:literal, $help:literal, $cell:expr) => {
        DerivedLine {
            name: $name,
            help: $help,
            cell: $cell,
        }
    };
}

/// Every derived number, in the order of the tables.
pub const DERIVED: &[DerivedLine] = &[
    line!(
        "placements",
        placements,
        "wakeups and new tasks placed: calls of select_cpu"
    ),
    line!("searches", searches, "wakeups that looked for an idle CPU"),
    line!(
        "domain searches",
        domain_searches,
        "searches that came to the scan of the cache"
    ),
    line!(
        "scanned",
        scanned,
        "CPUs that linear scans would have visited"
    ),
    line!("per domain search", "scanned CPUs per domain search", |d| {
        Some(format!("{:.2}", d.scanned_per_domain_search))
    }),
    line!("failed", failed, "searches that ended without an idle CPU"),
    line!("success rate %", "searches that found an idle CPU", |d| {
        Some(format!("{:.1}", d.success_rate))
    }),
    line!(
        "core hit",
        core_hit,
        "searches that found a fully idle core"
    ),
    line!(
        "core miss",
        core_miss,
        "searches that expected a fully idle core and found none"
    ),
    line!(
        "recent hit",
        recent_hit,
        "searches that found the recently used CPU idle"
    ),
    line!(
        "recent miss",
        "searches whose recently used CPU was not idle",
        |d| d.recent_miss.map(|n| n.to_string())
    ),
];

/// Branches of `search` that are no search of ours.
const NO_SEARCH: &[&str] = &["none", "scx_idle", "scx_prev"];
/// Branches of `search` that end it before the scan.
const BEFORE_SCAN: &[&str] = &[
    "target_idle",
    "prev_idle",
    "kthread_stack",
    "recent_idle",
    "smt_prev",
    "no_budget",
];
/// Branches of `search` that end it without an idle CPU.  `kthread_stack` is none of them: the
/// waker's CPU is about to be free, and the kernel counts it as found.
const FAILED: &[&str] = &[
    "no_budget",
    "budget_spent",
    "throttled",
    "bounce_busy",
    "bounce_hot",
    "nothing",
];

/// See [`Derived`] for the definitions.
pub fn derived(counters: &Counters) -> Derived {
    let sum_of = |stage: &str| {
        let stage = table().stages.iter().find(|s| s.name == stage);
        stage.map_or(0, |s| counters.stage_sum(s))
    };
    let branches = |names: &[&str]| -> u64 {
        names
            .iter()
            .map(|name| counters.named("search", name))
            .sum()
    };

    let searches = sum_of("search").saturating_sub(branches(NO_SEARCH));
    let domain_searches = searches.saturating_sub(branches(BEFORE_SCAN));
    let failed = branches(FAILED);
    let scanned = counters.named("sum", "scanned");
    Derived {
        placements: sum_of("search") + sum_of("fork"),
        searches,
        domain_searches,
        scanned,
        scanned_per_domain_search: match domain_searches {
            0 => 0.0,
            n => scanned as f64 / n as f64,
        },
        failed,
        success_rate: percent(searches.saturating_sub(failed), searches),
        core_hit: counters.named("search", "core"),
        core_miss: counters.named("event", "cores_cleared"),
        recent_hit: counters.named("search", "recent_idle"),
        recent_miss: table()
            .counter("sum", "recent_miss")
            .map(|c| counters.get(c.id)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(counts: &[(&str, &str, u64)]) -> Counters {
        let mut counters = Counters::default();
        for (stage, name, n) in counts {
            let counter = table().counter(stage, name);
            counters.set(counter.expect(name).id, *n);
        }
        counters
    }

    #[test]
    fn difference_survives_a_restart() {
        let before = with(&[("search", "core", 100), ("sum", "scanned", 7)]);
        let after = with(&[("search", "core", 30), ("sum", "scanned", 9)]);
        let since = after.since(&before);
        assert_eq!(since.named("search", "core"), 30);
        assert_eq!(since.named("sum", "scanned"), 2);
    }

    #[test]
    fn json_is_by_name_and_tolerant() {
        let counters = with(&[("search", "core", 3), ("event", "slice_end", 4)]);
        let mut json = serde_json::to_value(&counters).unwrap();
        assert_eq!(json["search"]["core"], 3);
        json["search"]["from_the_future"] = 9.into();
        json.as_object_mut().unwrap().remove("claim");
        assert_eq!(serde_json::from_value::<Counters>(json).unwrap(), counters);
    }

    /// The names that the definitions use must be branches, or they would silently count nothing.
    #[test]
    fn derived_uses_branches_that_exist() {
        for name in NO_SEARCH.iter().chain(BEFORE_SCAN).chain(FAILED) {
            assert!(table().counter("search", name).is_some(), "{name}");
        }
        for (stage, name) in [
            ("search", "core"),
            ("search", "recent_idle"),
            ("event", "cores_cleared"),
            ("sum", "scanned"),
        ] {
            assert!(table().counter(stage, name).is_some(), "{stage}.{name}");
        }
    }

    #[test]
    fn derived_numbers() {
        let d = derived(&with(&[
            ("search", "none", 50),
            ("search", "scx_idle", 5),
            ("search", "target_idle", 60),
            ("search", "recent_idle", 10),
            ("search", "core", 12),
            ("search", "thread", 8),
            ("search", "no_budget", 4),
            ("search", "nothing", 6),
            ("fork", "stay", 3),
            ("event", "cores_cleared", 2),
            ("sum", "scanned", 104),
        ]));
        assert_eq!(d.placements, 158);
        assert_eq!(d.searches, 100);
        assert_eq!(d.domain_searches, 26);
        assert_eq!(d.scanned_per_domain_search, 4.0);
        assert_eq!(d.failed, 10);
        assert_eq!(d.success_rate, 90.0);
        assert_eq!((d.core_hit, d.core_miss, d.recent_hit), (12, 2, 10));
        assert_eq!(
            derived(&Counters::default()),
            Derived {
                recent_miss: d.recent_miss.map(|_| 0),
                ..Derived::default()
            }
        );
    }
}
