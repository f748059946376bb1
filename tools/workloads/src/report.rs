// SPDX-License-Identifier: GPL-2.0-only

//! Evaluates `tools/bench switch`: reads the records of its guests, prints the tables, judges.
//!
//! What a record is, is told in `tools/bench-lib/switch-guest.sh`, which writes them.  A record
//! that is missing or cannot be read is a fault that is reported at the end; the rest is printed.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use anyhow::{bail, Context, Result};
use comfy_table::{presets, CellAlignment, Table};
use serde::Deserialize;

use crate::ring::{Outcome, Placement};

/// Programs that run less often than this per hop are not part of its cost.
const RARE_CALLS_PER_HOP: f64 = 0.005;

const PLACEMENTS: [Placement; 2] = [Placement::Same, Placement::Cross];

/// What is compared, in the order of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scheduler {
    Kernel,
    Floor,
    Place,
}

impl Scheduler {
    const ALL: [Self; 3] = [Self::Kernel, Self::Floor, Self::Place];
}

impl fmt::Display for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(match self {
            Self::Kernel => "kernel's own scheduler",
            Self::Floor => "sched_ext floor",
            Self::Place => "scx_place",
        })
    }
}

impl FromStr for Scheduler {
    type Err = anyhow::Error;

    fn from_str(word: &str) -> Result<Self> {
        Ok(match word {
            "kernel" => Self::Kernel,
            "floor" => Self::Floor,
            "place" => Self::Place,
            _ => bail!("unknown scheduler '{word}'"),
        })
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(match self {
            Self::Same => "same",
            Self::Cross => "cross",
        })
    }
}

impl FromStr for Placement {
    type Err = anyhow::Error;

    fn from_str(word: &str) -> Result<Self> {
        Ok(match word {
            "same" => Self::Same,
            "cross" => Self::Cross,
            _ => bail!("unknown placement '{word}'"),
        })
    }
}

/// The most that a hop may cost under scx_place, as multiples of the kernel's own scheduler.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    kernel: String,
    same: Option<f64>,
    cross: Option<f64>,
}

impl Limit {
    fn covers(&self, version: &str) -> bool {
        version
            .strip_prefix(self.kernel.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    fn of(&self, placement: Placement) -> Option<f64> {
        match placement {
            Placement::Same => self.same,
            Placement::Cross => self.cross,
        }
    }
}

impl FromStr for Limit {
    type Err = anyhow::Error;

    /// Three words: kernel, same, cross; "-" is no limit.
    fn from_str(text: &str) -> Result<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [kernel, same, cross] = words[..] else {
            bail!("a limit is 'KERNEL SAME CROSS', not '{text}'");
        };
        let ratio = |word: &str| match word {
            "-" => Ok(None),
            _ => word
                .parse()
                .map(Some)
                .with_context(|| format!("'{word}' is no ratio")),
        };
        Ok(Self {
            kernel: kernel.into(),
            same: ratio(same)?,
            cross: ratio(cross)?,
        })
    }
}

/// One line of `bpftool -j prog show`; the counts are absent while they are zero.
#[derive(Deserialize)]
struct Program {
    id: u64,
    #[serde(default)]
    name: String,
    #[serde(default)]
    run_time_ns: u64,
    #[serde(default)]
    run_cnt: u64,
}

/// What a BPF program did while the ring ran.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Runs {
    calls: u64,
    instructions: u64,
}

/// The records of one guest.
#[derive(Default)]
pub struct Records {
    /// Its version; empty if the guest did not live to tell.
    kernel: String,
    /// Instructions per hop of each repeat.
    hops: BTreeMap<(Scheduler, Placement), Vec<f64>>,
    /// Visits to a scheduler; the repeats of one follow each other.
    visits: BTreeMap<(Scheduler, Placement), usize>,
    programs: BTreeMap<(Scheduler, Placement), BTreeMap<String, Runs>>,
    metered_hops: BTreeMap<(Scheduler, Placement), u64>,
    before: BTreeMap<u64, Runs>,
    faults: Vec<String>,
    done: bool,
}

impl Records {
    pub fn parse(text: &str) -> Self {
        let mut records = Self::default();
        for line in text.lines() {
            if let Err(error) = records.add(line) {
                let start: String = line.chars().take(60).collect();
                records
                    .faults
                    .push(format!("no record: '{start}': {error:#}"));
            }
        }
        if !records.done {
            records
                .faults
                .push("the guest ended before its last record".into());
        }
        records
    }

    fn add(&mut self, line: &str) -> Result<()> {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[..] {
            ["kernel", version] => self.kernel = version.into(),
            ["ring", scheduler, json] => {
                let outcome: Outcome = serde_json::from_str(json)?;
                let key = (scheduler.parse()?, outcome.placement);
                if !outcome.settled {
                    self.faults.push(format!(
                        "{}, {}: no two warm-up rounds agreed",
                        key.0, key.1
                    ));
                }
                *self.visits.entry(key).or_default() += 1;
                self.hops.entry(key).or_default().extend(outcome.ns_per_hop);
            }
            ["programs", _, _, "before", json] => self.before = runs_by_id(json)?.0,
            ["programs", scheduler, placement, "after", json] => {
                let key = (scheduler.parse()?, placement.parse()?);
                let runs = self.runs_since(json)?;
                self.programs.insert(key, runs);
            }
            ["metered", scheduler, json] => {
                let outcome: Outcome = serde_json::from_str(json)?;
                let key = (scheduler.parse()?, outcome.placement);
                self.metered_hops.insert(key, outcome.hops);
            }
            ["failed", scheduler, what] => {
                let scheduler: Scheduler = scheduler.parse()?;
                self.faults.push(format!("{scheduler}: {what}"));
            }
            ["progress", ..] => (),
            ["done"] => self.done = true,
            _ => bail!("unknown"),
        }
        Ok(())
    }

    /// What each program did since the counts of `before`, by name.
    fn runs_since(&self, json: &str) -> Result<BTreeMap<String, Runs>> {
        let (after, names) = runs_by_id(json)?;
        let mut runs = BTreeMap::<String, Runs>::new();
        for (id, after) in after {
            let before = self.before.get(&id).copied().unwrap_or_default();
            let sum = runs.entry(names[&id].clone()).or_default();
            sum.calls += after.calls.saturating_sub(before.calls);
            sum.instructions += after.instructions.saturating_sub(before.instructions);
        }
        Ok(runs)
    }

    fn figure(&self, scheduler: Scheduler, placement: Placement) -> Option<Figure> {
        Figure::of(self.hops.get(&(scheduler, placement))?)
    }

    /// What a hop costs as a multiple of the kernel's own scheduler.
    fn ratio(&self, scheduler: Scheduler, placement: Placement) -> Option<f64> {
        let kernel = self.figure(Scheduler::Kernel, placement)?;
        Some(self.figure(scheduler, placement)?.least / kernel.least)
    }
}

fn runs_by_id(json: &str) -> Result<(BTreeMap<u64, Runs>, BTreeMap<u64, String>)> {
    let programs: Vec<Program> = serde_json::from_str(json)?;
    let mut runs = BTreeMap::new();
    let mut names = BTreeMap::new();
    for program in programs {
        runs.insert(
            program.id,
            Runs {
                calls: program.run_cnt,
                instructions: program.run_time_ns,
            },
        );
        names.insert(program.id, program.name);
    }
    Ok((runs, names))
}

/// Several measurements of one thing.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Figure {
    least: f64,
    median: f64,
    /// From the least to the highest, as a share of the least.
    spread: f64,
}

impl Figure {
    fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (least, highest) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = match sorted.len() % 2 {
            0 => (sorted[middle - 1] + sorted[middle]) / 2.0,
            _ => sorted[middle],
        };
        Some(Self {
            least,
            median,
            spread: highest / least - 1.0,
        })
    }
}

/// The evaluation of one guest.
pub struct Report<'a> {
    label: &'a str,
    records: &'a Records,
    limit: Option<&'a Limit>,
    gate: bool,
}

impl<'a> Report<'a> {
    /// `label` names the guest where its own version is not known; without `gate` a figure above
    /// its limit is no fault.
    pub fn new(label: &'a str, records: &'a Records, limits: &'a [Limit], gate: bool) -> Self {
        let version = match records.kernel.as_str() {
            "" => label,
            version => version,
        };
        Self {
            label: version,
            records,
            limit: limits.iter().find(|limit| limit.covers(version)),
            gate,
        }
    }

    /// Everything wrong with these figures, one line each.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = self.records.faults.clone();
        for scheduler in Scheduler::ALL {
            for placement in PLACEMENTS {
                if self.records.figure(scheduler, placement).is_none() {
                    faults.push(format!("{scheduler}, {placement}: no figure"));
                }
            }
        }
        if self.gate {
            faults.extend(PLACEMENTS.into_iter().filter_map(|p| self.excess(p)));
        }
        faults
            .into_iter()
            .map(|fault| format!("{}: {fault}", self.label))
            .collect()
    }

    /// What is above its limit, and by how much.
    fn excess(&self, placement: Placement) -> Option<String> {
        let limit = self.limit?.of(placement)?;
        let kernel = self.records.figure(Scheduler::Kernel, placement)?.least;
        let place = self.records.figure(Scheduler::Place, placement)?.least;
        (place > limit * kernel).then(|| {
            format!(
                "scx_place, {placement}: {place:.0} instructions per hop are {:.3} of the kernel's \
                 {kernel:.0}; the limit is {limit:.2}, {:.0} instructions: {:.0} too many",
                place / kernel,
                limit * kernel,
                place - limit * kernel
            )
        })
    }

    fn limit_line(&self) -> String {
        let words: Vec<String> = PLACEMENTS
            .into_iter()
            .filter_map(|p| Some(format!("{p} {:.2}", self.limit?.of(p)?)))
            .collect();
        match (words.is_empty(), self.gate) {
            (true, _) => "No limit for this kernel.".into(),
            (_, true) => format!("Limit of scx_place / kernel: {}.", words.join(", ")),
            (_, false) => format!(
                "Limit of scx_place / kernel: {} (not enforced in this run).",
                words.join(", ")
            ),
        }
    }

    fn hop_table(&self) -> Table {
        let mut table = numbers(
            &[
                "scheduler",
                "same",
                "median",
                "spread",
                "/ kernel",
                "cross",
                "median",
                "spread",
                "/ kernel",
            ],
            1,
        );
        for scheduler in Scheduler::ALL {
            let mut row = vec![scheduler.to_string()];
            for placement in PLACEMENTS {
                let figure = self.records.figure(scheduler, placement);
                row.extend([
                    number(figure.map(|f| f.least), 0),
                    number(figure.map(|f| f.median), 0),
                    figure.map_or("-".into(), |f| format!("{:.1} %", f.spread * 100.0)),
                    number(self.records.ratio(scheduler, placement), 3),
                ]);
            }
            table.add_row(row);
        }
        table
    }

    /// Calls, instructions per call and instructions per hop; none if nothing was metered.
    fn program_table(&self) -> Option<Table> {
        let mut table = numbers(
            &[
                "scheduler",
                "BPF program",
                "same: calls/hop",
                "instr./call",
                "instr./hop",
                "cross: calls/hop",
                "instr./call",
                "instr./hop",
            ],
            2,
        );
        for scheduler in Scheduler::ALL {
            for (name, costs) in self.costs(scheduler) {
                let mut row = vec![scheduler.to_string(), name];
                for cost in costs {
                    row.extend([
                        number(cost.map(|c| c.calls_per_hop), 2),
                        number(cost.map(|c| c.per_hop / c.calls_per_hop), 0),
                        number(cost.map(|c| c.per_hop), 0),
                    ]);
                }
                table.add_row(row);
            }
        }
        (!table.is_empty()).then_some(table)
    }

    /// The programs of a scheduler that matter, the dearest first, with their costs by placement.
    fn costs(&self, scheduler: Scheduler) -> Vec<(String, [Option<Cost>; 2])> {
        let mut costs = BTreeMap::<String, [Option<Cost>; 2]>::new();
        for (index, placement) in PLACEMENTS.into_iter().enumerate() {
            let key = (scheduler, placement);
            let (Some(programs), Some(&hops)) = (
                self.records.programs.get(&key),
                self.records.metered_hops.get(&key),
            ) else {
                continue;
            };
            for (name, runs) in programs {
                let calls_per_hop = runs.calls as f64 / hops as f64;
                if calls_per_hop >= RARE_CALLS_PER_HOP {
                    costs.entry(name.clone()).or_default()[index] = Some(Cost {
                        calls_per_hop,
                        per_hop: runs.instructions as f64 / hops as f64,
                    });
                }
            }
        }
        let mut costs: Vec<_> = costs.into_iter().collect();
        let sum = |costs: &[Option<Cost>; 2]| -> f64 {
            costs.iter().flatten().map(|cost| cost.per_hop).sum()
        };
        costs.sort_by(|(_, a), (_, b)| sum(b).total_cmp(&sum(a)));
        costs
    }
}

#[derive(Clone, Copy)]
struct Cost {
    calls_per_hop: f64,
    per_hop: f64,
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let key = (Scheduler::Kernel, Placement::Same);
        let repeats = self.records.hops.get(&key).map_or(0, Vec::len);
        let visits = self.records.visits.get(&key).copied().unwrap_or_default();
        writeln!(
            f,
            "Kernel {}: instructions per hop of a ring of two pinned tasks, least of {repeats} \
             repeats (visits: {visits})",
            self.label
        )?;
        writeln!(f, "{}", self.hop_table())?;
        writeln!(f, "{}", self.limit_line())?;
        if let Some(table) = self.program_table() {
            writeln!(
                f,
                "\nThe same kernel: BPF programs in a pass of its own with \
                 kernel.bpf_stats_enabled=1; each call includes about 95 instructions of the meter"
            )?;
            writeln!(f, "{table}")?;
        }
        Ok(())
    }
}

/// A table whose columns after the first `words` are numbers.
fn numbers(header: &[&str], words: usize) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(header.to_vec());
    for column in table.column_iter_mut().skip(words) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or("-".into(), |value| format!("{value:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: [&str; 2] = ["6.18 1.20 1.10", "7.3 - -"];

    fn limits() -> Vec<Limit> {
        LIMITS.iter().map(|limit| limit.parse().unwrap()).collect()
    }

    fn ring(kind: &str, scheduler: &str, placement: &str, values: &str) -> String {
        format!(
            "{kind}\t{scheduler}\t{{\"tasks\":2,\"placement\":\"{placement}\",\"cpus\":[0,1],\
             \"loops\":500,\"settled\":true,\"warmup_ns_per_hop\":[],\"ns_per_hop\":[{values}],\
             \"hops\":1000}}\n"
        )
    }

    /// A guest in which scx_place costs so much per hop.
    fn guest(same: f64, cross: f64) -> String {
        let mut text = "kernel\t6.18.15+deb13-cloud-amd64\nprogress\tround 1 of 1\n".to_string();
        text += &ring("ring", "kernel", "same", "5600,5550.5");
        text += &ring("ring", "kernel", "same", "5500,5900");
        text += &ring("ring", "kernel", "cross", "8400");
        text += &ring("ring", "floor", "same", "5900");
        text += &ring("ring", "floor", "cross", "7800");
        text += &ring("ring", "place", "same", &same.to_string());
        text += &ring("ring", "place", "cross", &cross.to_string());
        text + "done\n"
    }

    fn faults(text: &str, gate: bool) -> Vec<String> {
        Report::new("6.18", &Records::parse(text), &limits(), gate).faults()
    }

    #[test]
    fn the_least_is_compared_and_the_rest_shown() {
        let records = Records::parse(&guest(6050.0, 8568.0));
        let figure = records.figure(Scheduler::Kernel, Placement::Same).unwrap();
        assert_eq!((figure.least, figure.median), (5500.0, 5575.25));
        assert!((figure.spread - 400.0 / 5500.0).abs() < 1e-9);
        assert_eq!(records.ratio(Scheduler::Place, Placement::Same), Some(1.1));
        assert_eq!(
            records.ratio(Scheduler::Place, Placement::Cross),
            Some(1.02)
        );
    }

    #[test]
    fn the_table_is_aligned_and_has_every_row() {
        let records = Records::parse(&guest(6050.0, 8568.0));
        let text = Report::new("6.18", &records, &limits(), true).to_string();
        assert!(text.contains("least of 4 repeats (visits: 2)"), "{text}");
        assert!(text.contains("| scx_place              | 6050 |   6050 |  0.0 % |    1.100 |"));
        assert!(text.contains("Limit of scx_place / kernel: same 1.20, cross 1.10."));
        let widths: Vec<usize> = text
            .lines()
            .filter(|line| line.starts_with('|'))
            .map(|line| line.chars().count())
            .collect();
        assert_eq!(widths.len(), 5);
        assert!(widths.iter().all(|width| *width == widths[0]), "{text}");
    }

    #[test]
    fn a_figure_above_its_limit_is_named_with_its_excess() {
        assert_eq!(faults(&guest(6600.0, 9240.0), true), Vec::<String>::new());
        let found = faults(&guest(6710.0, 9240.0), true);
        assert_eq!(
            found,
            [
                "6.18.15+deb13-cloud-amd64: scx_place, same: 6710 instructions per hop are 1.220 \
                 of the kernel's 5500; the limit is 1.20, 6600 instructions: 110 too many"
            ]
        );
        assert!(faults(&guest(6710.0, 9940.0), false).is_empty());
    }

    #[test]
    fn a_limit_covers_the_releases_of_its_kernel_only() {
        let limit: Limit = "6.1 1.2 -".parse().unwrap();
        assert!(limit.covers("6.1") && limit.covers("6.1.15+deb13"));
        assert!(!limit.covers("6.18.15"));
        assert_eq!(limit.of(Placement::Cross), None);
        assert!("6.1 1.2".parse::<Limit>().is_err());
        assert!("6.1 1.2 low".parse::<Limit>().is_err());
    }

    #[test]
    fn a_missing_row_is_a_fault_and_the_others_print() {
        let text: String = guest(1.0, 1.0)
            .lines()
            .filter(|line| !line.starts_with("ring\tplace"))
            .map(|line| format!("{line}\n"))
            .collect::<String>()
            + "failed\tplace\tended with status 1 before it was in force: no BTF\n";
        let records = Records::parse(&text);
        let limits = limits();
        let report = Report::new("6.18", &records, &limits, false);
        assert_eq!(report.faults().len(), 3, "{:?}", report.faults());
        assert!(report.faults()[0].ends_with("before it was in force: no BTF"));
        assert!(report
            .to_string()
            .contains("| sched_ext floor        | 5900 |"));
    }

    #[test]
    fn a_guest_that_dies_in_the_middle_is_a_fault() {
        let text = guest(6050.0, 8568.0);
        let cut = &text[..text.len() - 40];
        let found = faults(cut, true);
        assert!(found[0].contains("no record: 'ring\tplace"), "{found:?}");
        assert!(found[1].ends_with("the guest ended before its last record"));
        assert!(faults("", true)[0].starts_with("6.18: the guest ended"));
    }

    #[test]
    fn programs_are_charged_what_they_did_between_the_two_counts() {
        let text = [
            "programs\tplace\tcross\tbefore\t[{\"id\":7,\"type\":\"struct_ops\",\"name\":\"place_enqueue\",\
             \"run_time_ns\":1000,\"run_cnt\":10},{\"id\":8,\"name\":\"place_init\",\"run_time_ns\":9,\
             \"run_cnt\":1},{\"id\":9,\"name\":\"place_select_cpu\"}]\n",
            &ring("metered", "place", "cross", "9000"),
            "programs\tplace\tcross\tafter\t[{\"id\":7,\"type\":\"struct_ops\",\"name\":\"place_enqueue\",\
             \"run_time_ns\":201000,\"run_cnt\":1010},{\"id\":8,\"name\":\"place_init\",\"run_time_ns\":9,\
             \"run_cnt\":1},{\"id\":9,\"name\":\"place_select_cpu\",\"run_time_ns\":400000,\"run_cnt\":500}]\n",
        ]
        .concat();
        let records = Records::parse(&text);
        let limits = limits();
        let table = Report::new("6.18", &records, &limits, true)
            .program_table()
            .unwrap()
            .to_string();
        let rows: Vec<Vec<&str>> = table
            .lines()
            .skip(2)
            .map(|line| line.split('|').map(str::trim).collect())
            .collect();
        assert_eq!(rows.len(), 2, "{table}");
        assert_eq!(
            rows[0][2..9],
            ["place_select_cpu", "-", "-", "-", "0.50", "800", "400"]
        );
        assert_eq!(
            rows[1][2..9],
            ["place_enqueue", "-", "-", "-", "1.00", "200", "200"]
        );
    }
}
