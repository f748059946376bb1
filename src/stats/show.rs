// SPDX-License-Identifier: GPL-2.0-only

//! Counters as tables: a row per branch with its count and its share of the stage, a column per
//! policy.

use comfy_table::{presets, CellAlignment, ContentArrangement, Table};

use crate::control::{ShadowReport, StatsReport};
use crate::counters::{derived, percent, Counters, DERIVED};
use crate::policy::table::{table, Stage};
use crate::policy::Policy;
use crate::{render, time};

/// Columns side by side, at most; more continue in a table below.
const COLUMNS: usize = 4;
/// Width of a column's head, in characters; with [`COLUMNS`] of them a line stays below
/// [`render::WIDTH`].
const HEAD: usize = 16;

/// One phase: what heads it, and what was counted.
pub struct Column {
    /// Lines, each of any length.
    pub head: Vec<String>,
    pub counters: Counters,
}

/// Phases side by side.  Rows that are zero in all of them are left out unless `all`.
pub fn side_by_side(columns: &[Column], all: bool) -> String {
    let blocks = columns.chunks(COLUMNS).map(|block| one_block(block, all));
    blocks.collect::<Vec<_>>().join("\n")
}

fn one_block(columns: &[Column], all: bool) -> String {
    let mut out = Table::new();
    out.load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    let heads = columns.iter().map(|c| wrap_head(&c.head));
    out.add_row(std::iter::once(String::new()).chain(heads));

    for stage in &table().stages {
        add_stage(&mut out, stage, columns, all);
    }
    add_derived(&mut out, columns, all);

    for (n, column) in out.column_iter_mut().enumerate() {
        column.set_padding((0, if n == 0 { 1 } else { 2 }));
        if n > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    render::lines(&out)
}

/// Breaks lines of a head where they are too long: behind `=` first, else anywhere.
fn wrap_head(lines: &[String]) -> String {
    let mut out: Vec<String> = Vec::new();
    for line in lines {
        let parts: Vec<&str> = match line.split_once('=') {
            Some((name, _)) if line.len() > HEAD => {
                vec![&line[..=name.len()], &line[name.len() + 1..]]
            }
            _ => vec![line],
        };
        for part in parts {
            let chars: Vec<char> = part.chars().collect();
            out.extend(chars.chunks(HEAD).map(|c| c.iter().collect::<String>()));
        }
    }
    out.join("\n")
}

fn add_stage(out: &mut Table, stage: &Stage, columns: &[Column], all: bool) {
    let used = |id: usize| all || columns.iter().any(|c| c.counters.get(id) > 0);
    let ids: Vec<_> = stage.counters.clone().filter(|id| used(*id)).collect();
    if ids.is_empty() {
        return;
    }
    // The stage's own row: the number of its decisions, where there is such a thing.
    let sums = columns.iter().map(|c| match stage.closes() {
        true => cell(c.counters.stage_sum(stage), None),
        false => String::new(),
    });
    out.add_row(std::iter::once(stage.name.to_string()).chain(sums));
    for id in ids {
        let cells = columns.iter().map(|c| {
            let (n, sum) = (c.counters.get(id), c.counters.stage_sum(stage));
            cell(n, stage.closes().then(|| percent(n, sum)))
        });
        let name = format!("  {}", table().counters[id].name);
        out.add_row(std::iter::once(name).chain(cells));
    }
}

fn add_derived(out: &mut Table, columns: &[Column], all: bool) {
    let derived: Vec<_> = columns.iter().map(|c| derived(&c.counters)).collect();
    let idle = derived.iter().all(|d| d.placements == 0);
    if idle && !all {
        return;
    }
    out.add_row(["derived"]);
    for line in DERIVED {
        let cells: Vec<_> = derived.iter().map(|d| (line.cell)(d)).collect();
        if cells.iter().all(Option::is_none) {
            continue;
        }
        let cells = cells.into_iter().map(|c| {
            let text = c.unwrap_or_default();
            format!("{text}{NO_SHARE}")
        });
        out.add_row(std::iter::once(format!("  {}", line.name)).chain(cells));
    }
}

/// As wide as a share, so that counts stay below each other.
const NO_SHARE: &str = "\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}";

fn cell(count: u64, share: Option<f64>) -> String {
    match share {
        Some(share) => format!("{count} {share:>5.1}%"),
        None => format!("{count}{NO_SHARE}"),
    }
}

/// The policy in one line: the settings that are not the default.
fn policy_line(policy: &Policy) -> String {
    let changes = policy.changes_from(&Policy::default());
    match changes.is_empty() {
        true => "policy: the defaults".into(),
        false => format!(
            "policy: the defaults, but {}",
            crate::policy::join_items(&changes)
        ),
    }
}

fn head(report: &StatsReport) -> String {
    let Some(current) = report.current() else {
        return String::new();
    };
    format!(
        "generation {} since {} ({}), running for {}\n{}\n{}\n",
        current.generation,
        time::format_us(current.since_us),
        time::format_duration_us(report.at_us.saturating_sub(current.since_us)),
        time::format_duration_us(report.at_us.saturating_sub(report.started_us)),
        render::wrap(&policy_line(&current.policy), 8),
        super::waits::line(report),
    )
}

/// The text of `stats`: the generation in force beside all of them.
pub fn overview(report: &StatsReport, all: bool) -> String {
    let mut columns = Vec::new();
    if let Some(current) = report.current() {
        columns.push(Column {
            head: vec![
                "in force:".into(),
                format!("generation {}", current.generation),
            ],
            counters: current.counters.clone(),
        });
    }
    columns.push(Column {
        head: vec!["since the start:".into(), "all".into()],
        counters: report.total.clone(),
    });
    format!("{}\n{}", head(report), side_by_side(&columns, all))
}

/// The text of `stats --by-generation`: a column for each of the newest generations, headed by
/// its number, its duration and what differs from the one before.
pub fn by_generation(report: &StatsReport, all: bool) -> String {
    let columns = report.generations.iter().enumerate().map(|(n, g)| {
        let duration = g
            .until_us
            .unwrap_or(report.at_us)
            .saturating_sub(g.since_us);
        let mut head = vec![
            format!("generation {}", g.generation),
            time::format_duration_us(duration),
        ];
        match (n, g.changed.is_empty()) {
            (_, true) => head.push("at the start".into()),
            // What the first column differs from is not shown.
            (0, false) => head
                .extend((g.policy.changes_from(&Policy::default()).iter()).map(|i| i.to_string())),
            (_, false) => head.extend(g.changed.iter().cloned()),
        }
        Column {
            head,
            counters: g.counters.clone(),
        }
    });
    let columns: Vec<_> = columns.collect();
    format!("{}\n{}", head(report), side_by_side(&columns, all))
}

/// The text of `--stats` and `--monitor`: what was counted since `last`, or since the start when
/// there is no `last` of the same scheduler.
pub fn interval(report: &StatsReport, last: Option<&StatsReport>) -> String {
    let last = last.filter(|l| l.same_instance(report));
    let since_us = last.map_or(report.started_us, |l| l.at_us);
    let counters = match last {
        Some(last) => report.total.since(&last.total),
        None => report.total.clone(),
    };
    let column = Column {
        head: vec![
            "last".to_string(),
            time::format_duration_us(report.at_us.saturating_sub(since_us)),
        ],
        counters,
    };
    format!("{}{}", head(report), side_by_side(&[column], false))
}

/// The text of `shadow`: how the shadow policy compares with the one in force.
pub fn shadow(report: &ShadowReport) -> String {
    let what = match report.changed.is_empty() {
        true => "the same as the policy in force".to_string(),
        false => report.changed.join(" "),
    };
    let mut out = format!(
        "shadow policy since {}, 1/{} of the wakeups: {what}\n\n",
        time::format_us(report.since_us),
        report.one_in
    );
    let mut lines = render::table(&["", "wakeups", "%"]);
    for stage in (table().stages.iter()).filter(|s| s.name.starts_with("shadow")) {
        let sum = report.counters.stage_sum(stage);
        for counter in &table().counters[stage.counters.clone()] {
            let count = report.counters.get(counter.id);
            let share = format!("{:.1}", percent(count, sum));
            let name = format!("{}.{}", stage.name, counter.name);
            lines.add_row([name, count.to_string(), share]);
        }
    }
    out.push_str(&render::lines(&lines));
    out
}

/// The text of `--help-stats`: every stage, branch and derived number.
pub fn help() -> String {
    let t = table();
    let mut out = String::from("Counters, by stage; a decision takes one branch of a stage:\n");
    for stage in &t.stages {
        out.push_str(&format!("\n{}: {}\n", stage.name, stage.help));
        for counter in &t.counters[stage.counters.clone()] {
            out.push_str(&format!("  {:<19}{}\n", counter.name, counter.help));
        }
    }
    out.push_str(
        "\nlatency: with the level full, from the enqueue of a woken or new task to its run by the \
         run-queue\nclock, as the kernel's run_delay; by branch of search and fork, and by type:\n",
    );
    for (name, text) in super::waits::TYPES {
        out.push_str(&format!("  {name:<19}{text}\n"));
    }
    out.push_str("\nderived: what follows from the counters\n");
    for line in DERIVED {
        out.push_str(&format!("  {:<19}{}\n", line.name, line.help));
    }
    out
}

#[cfg(test)]
#[path = "show_tests.rs"]
mod tests;
