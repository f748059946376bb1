// SPDX-License-Identifier: GPL-2.0-only

//! How long tasks waited, and the state of the CPUs, as tables.

use comfy_table::{CellAlignment, Table};

use crate::control::StatsReport;
use crate::cpus::longest_wait;
use crate::latency::{bounds_us, Histogram, NR_BUCKETS};
use crate::level::Level;
use crate::{render, time};

/// The rows beside the branches, explained.
pub const TYPES: &[(&str, &str)] = &[
    (
        "not_placed",
        "the task may run on one CPU only, or the kernel asked for no CPU",
    ),
    ("woken", "wakeup without the sync flag"),
    ("sync", "wakeup whose waker said that it is about to sleep"),
    ("new", "first run of a new task"),
];

/// From few to many, for the buckets that hold anything.
const SHADES: &[u8] = b":-=+*#%@";

/// A time for people, in at most seven characters: `0.5 us`, `12 us`, `3.4 ms`, `1.2 s`.
fn short_us(us: f64) -> String {
    let (number, unit) = match us {
        _ if us < 1e3 => (us, "us"),
        _ if us < 1e6 => (us / 1e3, "ms"),
        _ => (us / 1e6, "s"),
    };
    match number < 9.95 {
        true => format!("{number:.1} {unit}"),
        false => format!("{number:.0} {unit}"),
    }
}

/// The bound that no wait reached, or the last bucket's beginning, which has none.
fn most(histogram: &Histogram) -> String {
    let Some(last) = histogram.last() else {
        return "-".into();
    };
    match bounds_us(last) {
        (_, Some(to)) => format!("<{}", short_us(to as f64)),
        (from, None) => format!(">{}", short_us(from as f64)),
    }
}

/// One character a bucket, by its part of the fullest one; `.`: empty.
fn shades(histogram: &Histogram) -> String {
    let buckets = histogram.buckets();
    let most = u128::from(*buckets.iter().max().unwrap_or(&0));
    let shade = |n: &u64| match u128::from(*n) {
        0 => '.',
        n => SHADES[((n * SHADES.len() as u128 - 1) / most) as usize] as char,
    };
    buckets.iter().map(shade).collect()
}

fn add_rows<'a>(
    out: &mut Table,
    head: &str,
    rows: impl Iterator<Item = (String, &'a Histogram)>,
    all: bool,
) {
    out.add_row([head]);
    for (name, histogram) in rows.filter(|(_, h)| all || h.count() > 0) {
        let percentile = |p| histogram.percentile_us(p).map_or("-".into(), short_us);
        out.add_row([
            format!("  {name}"),
            histogram.count().to_string(),
            percentile(50.0),
            percentile(90.0),
            percentile(99.0),
            most(histogram),
            shades(histogram),
        ]);
    }
}

/// Numbers to the right, but for the first column and, of `last`, the last.
fn align(out: &mut Table, last: bool) {
    let columns = out.column_count();
    for (n, column) in out.column_iter_mut().enumerate() {
        if n > 0 && !(last && n + 1 == columns) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// The text of `stats --latency`, since the start.
pub fn latency(report: &StatsReport, all: bool) -> String {
    let waits = report.latency.all();
    if waits.count() == 0 && !all {
        let why = match report.level {
            Level::Full => "no task has woken up yet",
            _ => "measured with the level full only: `scx_place stats level full`",
        };
        return format!("statistics level {}; no latencies: {why}\n", report.level);
    }
    let scale = format!("<1us{}>4s", " ".repeat(NR_BUCKETS - 7)).replace(' ', "\u{a0}");
    let mut out = render::table(&["", "wakeups", "p50", "p90", "p99", "most", &scale]);
    add_rows(&mut out, "by branch", report.latency.by_branch(), all);
    add_rows(&mut out, "by type", report.latency.by_type(), all);
    let together = std::iter::once(("together".to_string(), &waits));
    add_rows(&mut out, "all", together, true);
    align(&mut out, true);
    format!(
        "level {}: from the enqueue of a woken or new task to its run, since {}\n\n{}",
        report.level,
        time::format_us(report.started_us),
        render::lines(&out)
    )
}

/// The text of `stats --cpus`.
pub fn cpus(report: &StatsReport) -> String {
    let head = [
        "CPU",
        "runnable",
        "SCHED_IDLE",
        "weight",
        "load",
        "runnable load",
        "util",
        "queued",
        "longest wait",
    ];
    let mut out = render::table(&head);
    for cpu in &report.cpus {
        out.add_row([
            cpu.cpu.to_string(),
            cpu.nr.to_string(),
            cpu.nr_sched_idle.to_string(),
            cpu.weight.to_string(),
            cpu.load.to_string(),
            cpu.runnable_load.to_string(),
            cpu.util.to_string(),
            cpu.queued.to_string(),
            short_us(cpu.longest_wait_ns as f64 / 1e3),
        ]);
    }
    align(&mut out, false);
    render::lines(&out)
}

/// How much is counted, and the longest wait of all, in one line.
pub fn line(report: &StatsReport) -> String {
    let longest = match longest_wait(&report.cpus) {
        Some(cpu) => format!(
            "{} (CPU {})",
            short_us(cpu.longest_wait_ns as f64 / 1e3),
            cpu.cpu
        ),
        None => "none".into(),
    };
    format!(
        "statistics level {}, longest wait in a queue: {longest}",
        report.level
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Counters;
    use crate::cpus::CpuState;
    use crate::latency::Latency;

    fn report(latency: Latency) -> StatsReport {
        let state = |cpu, longest_wait_ns| CpuState {
            cpu,
            nr: 300,
            weight: 26_000_000,
            longest_wait_ns,
            ..CpuState::default()
        };
        StatsReport {
            at_us: 100_000_000,
            started_us: 10_000_000,
            pid: 7,
            generations: Vec::new(),
            total: Counters::default(),
            latency,
            level: Level::Full,
            cpus: vec![state(0, 1_200_000), state(1023, 14_999_000_000)],
        }
    }

    fn fits(text: &str) {
        assert!(text.is_ascii(), "{text}");
        let widest = text.lines().map(str::len).max().unwrap_or(0);
        assert!(
            widest <= render::WIDTH as usize,
            "{widest} columns:\n{text}"
        );
    }

    #[test]
    fn times_are_short() {
        for (us, text) in [
            (0.04, "0.0 us"),
            (9.94, "9.9 us"),
            (12.4, "12 us"),
            (999.0, "999 us"),
            (1500.0, "1.5 ms"),
            (4_194_304.0, "4.2 s"),
        ] {
            assert_eq!(short_us(us), text);
        }
    }

    #[test]
    fn latency_has_a_line_for_each_row() {
        let mut latency = Latency::default();
        latency.set("branch.search.kthread_stack", 23, 12_345_678_901);
        latency.set("branch.not_placed", 0, 1);
        latency.set("type.woken", 23, 12_345_678_901);
        latency.set("type.woken", 0, 1);
        let text = super::latency(&report(latency.clone()), false);
        println!("{text}");
        fits(&text);
        let line = |name: &str| text.lines().find(|l| l.trim_start().starts_with(name));
        assert!(line("search.kthread_stack").unwrap().contains(">4.2 s"));
        assert!(line("woken").unwrap().ends_with(":......................@"));
        assert!(line("not_placed").unwrap().contains("<1.0 us"));
        assert!(line("search.core").is_none());
        let all = super::latency(&report(latency), true);
        fits(&all);
        assert!(all.contains("fork.machine"), "{all}");
    }

    #[test]
    fn no_latencies_say_why() {
        let mut report = report(Latency::default());
        assert!(latency(&report, false).contains("yet"));
        report.level = Level::Counters;
        assert!(latency(&report, false).contains("stats level full"));
    }

    #[test]
    fn cpus_fit() {
        let text = cpus(&report(Latency::default()));
        println!("{text}");
        fits(&text);
        assert!(text.contains("15 s"), "{text}");
        let line = line(&report(Latency::default()));
        assert!(line.ends_with("15 s (CPU 1023)"), "{line}");
    }
}
