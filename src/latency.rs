// SPDX-License-Identifier: GPL-2.0-only

//! Wakeup latency of one policy slot, summed over the CPUs: log2 histograms, in the rows and buckets
//! of `src/bpf/policy/latency.h`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bpf_intf as intf;
use crate::policy::table::table;

pub const NR_BUCKETS: usize = intf::PLACE_LATENCY_BUCKETS as usize;
const NR_ROWS: usize = intf::place_latency_row_PLACE_LATENCY_NR_ROWS as usize;
const NOT_PLACED: usize = intf::place_latency_row_PLACE_LATENCY_NOT_PLACED as usize;
const FIRST_BRANCH: usize = intf::place_counter_PLACE_CNT_search_none as usize;

/// The rows of the family by wake type, which follow that of the wakeups that were not placed.
const TYPES: [&str; NR_ROWS - NOT_PLACED - 1] = ["woken", "sync", "new"];

/// A bucket's bounds in microseconds: from, and to where there is an end.
pub fn bounds_us(bucket: usize) -> (u64, Option<u64>) {
    let from = if bucket == 0 { 0 } else { 1 << (bucket - 1) };
    let to = (bucket + 1 < NR_BUCKETS).then_some(1 << bucket);
    (from, to)
}

/// How many waits fell into each bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram([u64; NR_BUCKETS]);

impl Histogram {
    pub fn buckets(&self) -> &[u64; NR_BUCKETS] {
        &self.0
    }

    /// All waits.
    pub fn count(&self) -> u64 {
        self.0.iter().fold(0, |sum, n| sum.saturating_add(*n))
    }

    pub fn add(&mut self, other: &Histogram) {
        for (to, from) in self.0.iter_mut().zip(other.0) {
            *to = to.saturating_add(from);
        }
    }

    /// As [`crate::counters::Counters::since`].
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        Histogram(std::array::from_fn(|n| {
            let (now, then) = (self.0[n], earlier.0[n]);
            now.checked_sub(then).unwrap_or(now)
        }))
    }

    /// The wait in microseconds that `percent` of all did not exceed; none of no waits.
    ///
    /// Within a bucket the waits count as evenly spread; of the last one, which has no end, its
    /// beginning is the answer.
    pub fn percentile_us(&self, percent: f64) -> Option<f64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        // The waits up to and with the one that is asked for.
        let rank = (count as f64 * percent / 100.0).clamp(1.0, count as f64);
        let mut before = 0.0;
        for (bucket, n) in self.0.iter().enumerate() {
            let n = *n as f64;
            if before + n >= rank {
                let (from, to) = bounds_us(bucket);
                let width = to.map_or(0, |to| to - from) as f64;
                return Some(from as f64 + width * (rank - before) / n);
            }
            before += n;
        }
        None
    }

    /// The last bucket that holds anything.
    pub fn last(&self) -> Option<usize> {
        self.0.iter().rposition(|n| *n > 0)
    }
}

/// One histogram per row, indexed by `enum place_latency_row`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "ByName", from = "ByName")]
pub struct Latency([Histogram; NR_ROWS]);

/// `branch.NAME` or `type.NAME` of those that are not empty.
type ByName = BTreeMap<String, Histogram>;

impl Default for Latency {
    fn default() -> Latency {
        Latency(std::array::from_fn(|_| Histogram::default()))
    }
}

impl From<&intf::place_latency> for Latency {
    /// The histograms of one CPU.
    fn from(native: &intf::place_latency) -> Latency {
        Latency(std::array::from_fn(|row| Histogram(native.n[row])))
    }
}

impl From<Latency> for ByName {
    fn from(latency: Latency) -> ByName {
        let names = (0..NR_ROWS).map(wire_name);
        let rows = names.zip(latency.0);
        rows.filter(|(_, h)| h.count() > 0).collect()
    }
}

/// Rows this program does not know are dropped, as in [`crate::counters::Counters`].
impl From<ByName> for Latency {
    fn from(mut names: ByName) -> Latency {
        Latency(std::array::from_fn(|row| {
            names.remove(&wire_name(row)).unwrap_or_default()
        }))
    }
}

fn wire_name(row: usize) -> String {
    let family = if row <= NOT_PLACED { "branch" } else { "type" };
    format!("{family}.{}", name(row))
}

/// The branch, `stage.name`, or the wake type.
fn name(row: usize) -> String {
    if row < NOT_PLACED {
        let counter = &table().counters[FIRST_BRANCH + row];
        return format!("{}.{}", table().stages[counter.stage].name, counter.name);
    }
    match row.checked_sub(NOT_PLACED + 1) {
        Some(t) => TYPES[t].into(),
        None => "not_placed".into(),
    }
}

impl Latency {
    /// By where the placement ended: every branch of the stages search and fork, and `not_placed`.
    pub fn by_branch(&self) -> impl Iterator<Item = (String, &Histogram)> {
        (0..=NOT_PLACED).map(|row| (name(row), &self.0[row]))
    }

    /// By wake type: `woken`, `sync` and `new`.
    pub fn by_type(&self) -> impl Iterator<Item = (String, &Histogram)> {
        (NOT_PLACED + 1..NR_ROWS).map(|row| (name(row), &self.0[row]))
    }

    /// All wakeups.
    pub fn all(&self) -> Histogram {
        let mut all = Histogram::default();
        self.by_type().for_each(|(_, h)| all.add(h));
        all
    }

    /// Adds another CPU's or another generation's waits.
    pub fn add(&mut self, other: &Latency) {
        for (to, from) in self.0.iter_mut().zip(&other.0) {
            to.add(from);
        }
    }

    /// As [`crate::counters::Counters::since`].
    pub fn since(&self, earlier: &Latency) -> Latency {
        Latency(std::array::from_fn(|row| {
            self.0[row].since(&earlier.0[row])
        }))
    }

    /// Changes one bucket, for tests.
    pub fn set(&mut self, name: &str, bucket: usize, count: u64) {
        let row = (0..NR_ROWS).find(|row| wire_name(*row) == name);
        self.0[row.unwrap_or_else(|| panic!("there is no row {name}"))].0[bucket] = count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket_of(ns: u64) -> usize {
        // SAFETY: a pure function of one number.
        unsafe { intf::place_host_latency_bucket(ns) as usize }
    }

    /// Every bucket's bounds are those by which the BPF program counts.
    #[test]
    fn buckets_are_those_of_the_bpf_program() {
        for bucket in 0..NR_BUCKETS {
            let (from, to) = bounds_us(bucket);
            assert_eq!(bucket_of(from * 1000), bucket, "{from} us");
            let Some(to) = to else {
                assert_eq!(bucket_of(u64::MAX), bucket);
                continue;
            };
            assert_eq!(bucket_of(to * 1000 - 1), bucket, "just below {to} us");
            assert_eq!(bounds_us(bucket + 1).0, to);
        }
    }

    #[test]
    fn rows_are_named_as_the_counters_are() {
        let latency = Latency::default();
        for (row, (name, _)) in latency.by_branch().enumerate() {
            let counter = name
                .split_once('.')
                .and_then(|(s, b)| table().counter(s, b));
            // SAFETY: a pure function of one number.
            let of = |id| unsafe { intf::place_host_latency_branch_row(id) as usize };
            match counter {
                Some(counter) => assert_eq!(of(counter.id as u32), row, "{name}"),
                None => assert_eq!((name.as_str(), of(0)), ("not_placed", row)),
            }
        }
        for stage in table()
            .stages
            .iter()
            .filter(|s| ["search", "fork"].contains(&s.name))
        {
            for counter in &table().counters[stage.counters.clone()] {
                let name = format!("{}.{}", stage.name, counter.name);
                assert!(latency.by_branch().any(|(n, _)| n == name), "{name}");
            }
        }
        assert_eq!(latency.by_type().count(), 3);
    }

    fn histogram(counts: &[(usize, u64)]) -> Histogram {
        let mut h = Histogram::default();
        counts.iter().for_each(|(bucket, n)| h.0[*bucket] = *n);
        h
    }

    #[test]
    fn percentiles() {
        let of = |counts: &[(usize, u64)], p| histogram(counts).percentile_us(p);
        assert_eq!(of(&[], 50.0), None);
        // Evenly spread within 64 to 128 us.
        assert_eq!(of(&[(7, 64)], 50.0), Some(96.0));
        assert_eq!(of(&[(7, 64)], 100.0), Some(128.0));
        // The 50th of 100 is the last of the first bucket, the 51st is of the next one.
        let two = [(0, 50), (10, 50)];
        assert_eq!(of(&two, 50.0), Some(1.0));
        assert_eq!(of(&two, 51.0), Some(512.0 + 512.0 / 50.0));
        assert_eq!(of(&two, 99.0), Some(512.0 + 512.0 * 49.0 / 50.0));
        // A single wait is every percentile; the last bucket has no end.
        assert_eq!(of(&[(1, 1)], 1.0), Some(2.0));
        assert_eq!(of(&[(1, 1)], 99.0), Some(2.0));
        let open = f64::from(1 << (NR_BUCKETS - 2));
        assert_eq!(of(&[(NR_BUCKETS - 1, 3)], 99.0), Some(open));
        // Percentiles never fall.
        let h = histogram(&[(0, 3), (1, 1), (5, 900), (12, 7), (23, 2)]);
        let all: Vec<_> = (0..=100)
            .map(|p| h.percentile_us(p.into()).unwrap())
            .collect();
        assert!(all.windows(2).all(|w| w[0] <= w[1]), "{all:?}");
    }

    #[test]
    fn sums_and_differences() {
        let (a, b) = (histogram(&[(3, 7), (4, 1)]), histogram(&[(3, 5), (4, 2)]));
        let mut sum = a.clone();
        sum.add(&b);
        assert_eq!((sum.count(), sum.last()), (15, Some(4)));
        assert_eq!(sum.since(&b), a);
        // Restarted from zero.
        assert_eq!(b.since(&sum), b);
    }

    #[test]
    fn json_is_sparse_and_tolerant() {
        let mut latency = Latency::default();
        latency.set("branch.search.core", 4, 9);
        latency.set("type.sync", 4, 9);
        let mut json = serde_json::to_value(&latency).unwrap();
        assert_eq!(json.as_object().unwrap().len(), 2);
        json["branch.from.the_future"] = json["type.sync"].clone();
        assert_eq!(serde_json::from_value::<Latency>(json).unwrap(), latency);
        assert_eq!(latency.all().count(), 9);
    }
}
