// SPDX-License-Identifier: GPL-2.0-only

//! Tests of the tables: what they contain, and that they fit.

use super::*;
use crate::control::GenerationReport;
use crate::latency::Latency;
use crate::level::Level;
use crate::policy::parse::parse_items;

/// Counters with these numbers, by `stage.branch`.
fn counters(counts: &[(&str, u64)]) -> Counters {
    let mut counters = Counters::default();
    for (name, n) in counts {
        let (stage, branch) = name.split_once('.').unwrap();
        counters.set(table().counter(stage, branch).unwrap().id, *n);
    }
    counters
}

fn generation(number: u32, items: &str, counts: &[(&str, u64)]) -> GenerationReport {
    let changed = if items.is_empty() {
        Vec::new()
    } else {
        parse_items(&[items]).unwrap()
    };
    GenerationReport {
        generation: number,
        since_us: u64::from(number) * 10_000_000,
        until_us: Some(u64::from(number + 1) * 10_000_000),
        changed: changed.iter().map(|i| i.to_string()).collect(),
        policy: Policy::from_command_line(&changed),
        counters: counters(counts),
        latency: Latency::default(),
    }
}

/// `number` generations with some counts each.
fn report(number: u32) -> StatsReport {
    let items = ["", "idle_search=mainline_46", "idle_search=none,affine=off"];
    let generations: Vec<_> = (1..=number)
        .map(|n| {
            let counts = [
                ("affine.same_cpu", 1000 * u64::from(n)),
                ("affine.undecided", 3_000_000_000),
                ("search.target_idle", 75),
                ("search.core", 25),
                ("event.slice_end", 7),
                ("sum.scanned", 50),
            ];
            generation(n, items[n as usize % 3 * usize::from(n > 1)], &counts)
        })
        .collect();
    let mut total = Counters::default();
    generations.iter().for_each(|g| total.add(&g.counters));
    StatsReport {
        at_us: 100_000_000,
        started_us: 10_000_000,
        pid: 7,
        generations,
        total,
        latency: Latency::default(),
        level: Level::Counters,
        cpus: Vec::new(),
    }
}

fn fits(text: &str) {
    for line in text.lines() {
        let width = line.chars().count();
        assert!(width <= render::WIDTH as usize, "{width} columns:\n{text}");
    }
}

/// The line of a row, its columns separated by one space.
fn row(text: &str, name: &str) -> String {
    let line = text.lines().find(|l| l.trim_start().starts_with(name));
    let line = line.unwrap_or_else(|| panic!("no row {name}:\n{text}"));
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn overview_has_counts_and_shares() {
    let text = overview(&report(2), false);
    fits(&text);
    assert_eq!(row(&text, "target_idle"), "target_idle 75 75.0% 150 75.0%");
    assert_eq!(row(&text, "slice_end"), "slice_end 7 14");
    assert_eq!(row(&text, "searches"), "searches 100 200");
    assert_eq!(row(&text, "success"), "success rate % 100.0 100.0");
    assert!(!text.contains("kthread_stack"), "{text}");
    assert!(overview(&report(2), true).contains("kthread_stack"));
}

#[test]
fn generations_stand_side_by_side() {
    let text = by_generation(&report(8), false);
    fits(&text);
    assert!(text.contains("generation 8"), "{text}");
    assert!(text.contains("mainline_46"), "{text}");
    // Two blocks of four columns.
    let rows = text.lines().filter(|l| l.contains("target_idle"));
    assert_eq!(rows.count(), 2, "{text}");
}

#[test]
fn interval_is_the_difference() {
    let before = report(2);
    let mut now = report(2);
    now.at_us += 5_000_000;
    now.total.add(&counters(&[("search.core", 10)]));
    let text = interval(&now, Some(&before));
    assert_eq!(row(&text, "core"), "core 10 100.0%");
    assert!(text.contains("5.0 s"), "{text}");

    // Of another scheduler: everything is new.
    let mut other = now.clone();
    other.pid += 1;
    other.started_us = now.at_us;
    other.at_us = now.at_us + 1_000_000;
    other.total = counters(&[("search.core", 3)]);
    assert_eq!(row(&interval(&other, Some(&now)), "core"), "core 3 100.0%");
}

#[test]
fn nothing_counted_is_no_table() {
    let mut idle = report(1);
    idle.generations[0].counters = Counters::default();
    idle.total = Counters::default();
    let text = overview(&idle, false);
    assert!(!text.contains("search"), "{text}");
    assert!(!text.contains("NaN"), "{text}");
    fits(&overview(&idle, true));
}

#[test]
fn help_names_every_counter() {
    let help = help();
    for counter in &table().counters {
        assert!(help.contains(counter.help), "{}", counter.name);
    }
}

#[test]
fn json_has_the_same_numbers() {
    let json = crate::stats::json(&report(3));
    assert_eq!(json["total"]["counters"]["search"]["core"], 75);
    assert_eq!(json["in_force"]["derived"]["searches"], 100);
    assert_eq!(json["generations"][1]["changed"][0], "idle_search=none");
    assert_eq!(json["generations"][1]["policy"]["affine"], "off");
    assert_eq!(json["generation"], 3);
}

#[test]
fn a_policy_of_many_changes_is_wrapped() {
    let mut report = report(1);
    let items = "idle_search=mainline_46,affine=always,claim=test_only,balance=off,wa_idle=0,\
                 latency_us=200000,min_granularity_us=100000,wakeup_granularity_us=100000";
    report.generations[0] = generation(1, items, &[]);
    let text = overview(&report, false);
    fits(&text);
    assert!(text.contains("wakeup_granularity_us=100000"), "{text}");
}
