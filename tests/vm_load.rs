// SPDX-License-Identifier: GPL-2.0-only

//! What the scheduler measures under load, on a real kernel: wakeup latencies by the statistics
//! level, the loads that tasks leave behind, the longest wait, by guest/load.sh; and utilisation, by
//! guest/utilisation.sh.

mod common;
mod guest;

use guest::{Facts, NEW, OLD};
use serde_json::Value;

/// The counts of a family of histograms between two readings, by row; checks that the buckets of
/// each sum to its count.
fn waits(facts: &mut Facts, family: &str, before: &Value, after: &Value) -> Vec<(String, u64)> {
    let rows = |document: &Value| -> Vec<(String, u64)> {
        let family = document["total"]["latency"][family].as_object().cloned();
        let rows = family.unwrap_or_default().into_iter().map(|(name, row)| {
            let buckets = row["buckets"].as_array().cloned().unwrap_or_default();
            let sum = buckets.iter().filter_map(|b| b["count"].as_u64()).sum();
            assert_eq!(row["count"].as_u64(), Some(sum), "{name}: {row}");
            (name, sum)
        });
        rows.collect()
    };
    let old = rows(before);
    let count_before = |name: &str| old.iter().find(|(n, _)| n == name).map_or(0, |(_, n)| *n);
    let new = rows(after).into_iter().map(|(name, count)| {
        let grown = count - count_before(&name);
        (name, grown)
    });
    let new: Vec<_> = new.filter(|(_, count)| *count > 0).collect();
    facts.check(!new.is_empty(), format!("no latencies {family}"));
    new
}

fn sum(rows: &[(String, u64)]) -> u64 {
    rows.iter().map(|(_, count)| count).sum()
}

/// Equal but for one in a hundred, and for the few that were under way at either reading.
fn near(a: u64, b: u64) -> bool {
    const UNDER_WAY: u64 = 10;
    a.abs_diff(b) <= UNDER_WAY.max(a.max(b) / 100)
}

fn check_off(facts: &mut Facts) {
    let level = facts.text("off.level");
    facts.equal("level", level.as_str(), "off");
    for name in ["off.before", "off.after"] {
        let counts = facts.stats(name).total();
        let moved: u64 = ["search", "enqueue", "dispatch", "event", "sum"]
            .iter()
            .map(|stage| counts.stage(stage))
            .sum();
        facts.equal(&format!("{name}: counted"), moved, 0);
    }
    facts.refused("off.shadow", &["stats level counters"]);
}

/// Each placed wakeup is in the histogram of its branch, and each wakeup in one of each family.
fn check_full(facts: &mut Facts) {
    const ENOUGH: u64 = 1000;
    facts.status("full.level", 0);
    let counts = facts.stats("full.after").total();
    let counts = counts.since(&facts.stats("full.before").total());
    let (before, after) = (
        facts.json("full.before.stats"),
        facts.json("full.after.stats"),
    );
    let by_branch = waits(facts, "by_branch", &before, &after);
    let by_type = waits(facts, "by_type", &before, &after);
    facts.equal("by branch and by type", sum(&by_branch), sum(&by_type));

    let placed: Vec<_> = by_branch
        .iter()
        .filter(|(name, _)| name.contains('.'))
        .cloned()
        .collect();
    let text = format!(
        "{}: {} waits, {} of them placed, {} placements; {by_branch:?}, {by_type:?}",
        facts.name,
        sum(&by_branch),
        sum(&placed),
        counts.placements()
    );
    println!("{text}");
    facts.check(sum(&placed) >= ENOUGH, text.clone());
    facts.check(near(sum(&placed), counts.placements()), text.clone());
    for (branch, waits) in &placed {
        let counted = counts.get(branch);
        facts.check(
            near(*waits, counted),
            format!("{branch}: {waits} waits, {counted} placements"),
        );
    }
    let new = by_type.iter().find(|(name, _)| name == "new");
    let (new, forks) = (new.map_or(0, |(_, n)| *n), counts.stage("fork"));
    facts.check(
        near(new, forks),
        format!("{new} waits of new tasks, {forks} placements of such"),
    );
    // Every wakeup is one way to be enqueued; turns that ended are others.
    let enqueued = counts.stage("enqueue");
    facts.check(
        sum(&by_type) <= enqueued + enqueued / 100,
        format!("{text}; enqueued {enqueued}"),
    );

    let counters = facts.json("counters.before.stats");
    let later = facts.json("counters.after.stats");
    facts.equal(
        "latencies with the level counters",
        &counters["total"]["latency"],
        &later["total"]["latency"],
    );
    let text = facts.text("full.latency");
    facts.contains("stats --latency", &text, &["search.target_idle", "woken"]);
}

fn cpus(document: &Value) -> Vec<Value> {
    document["cpus"].as_array().cloned().unwrap_or_default()
}

/// On a machine at rest nothing is runnable but whoever answers, on the last CPU, and no load is left
/// of what ran.
fn check_nothing_left(facts: &mut Facts) {
    /// Of a CPU without runnable tasks, in weight units and of 1024: kernel threads run now and then.
    const NEAR_ZERO: u64 = 60;
    let busy = facts.json("churn.busy.stats");
    let loaded: u64 = cpus(&busy).iter().filter_map(|c| c["load"].as_u64()).sum();
    facts.check(loaded > 4096, format!("churn made a load of {loaded} only"));
    let mut least: Vec<Option<[u64; 3]>> = vec![None; 8];
    for i in 0..3 {
        let document = facts.json(&format!("churn.idle{i}.stats"));
        let cpus = cpus(&document);
        facts.equal("CPUs", cpus.len(), 8);
        let mut runnable = 0;
        for (n, cpu) in cpus.iter().enumerate() {
            let number = |name: &str| cpu[name].as_u64().unwrap_or(u64::MAX);
            runnable += number("nr");
            let found = ["load", "runnable_load", "util"].map(number);
            if number("nr") == 0 {
                facts.equal(&format!("weight of CPU {n}"), number("weight"), 0);
                least[n] = Some(least[n].map_or(found, |least| least.min(found)));
            } else {
                println!("{}: at rest, {cpu}", facts.name);
                facts.check(
                    number("weight") == 1024 * number("nr"),
                    format!("CPU {n} at rest: {cpu}"),
                );
            }
        }
        facts.check(
            runnable <= 2,
            format!("{runnable} tasks runnable at rest: {cpus:?}"),
        );
    }
    println!(
        "{}: load, runnable load and utilisation left: {least:?}",
        facts.name
    );
    for (n, found) in least.into_iter().take(7).enumerate() {
        let Some(found) = found else {
            continue;
        };
        facts.check(
            found.iter().all(|v| *v <= NEAR_ZERO),
            format!("CPU {n} at rest has load, runnable load and utilisation {found:?}"),
        );
    }
}

/// Utilisation is the part of the time that the task ran, here about a half: the kernel's own count
/// of its run time says how much.  The reader is slower while that task runs beside it on the one CPU
/// of the host, so its readings are no fair sample of the wave: exactly a half is for `half_duty` of
/// pelt_properties.rs to demand, here it is whether the scheduler feeds the signal what runs.
fn check_utilisation(kernel: &str) {
    const READINGS: u64 = 40;
    const TOLERANCE: f64 = 0.15;
    let more = |vm: common::Vm| vm.clock("instructions");
    let mut facts = guest::run_with("utilisation", kernel, "2", &[], more);
    let mut ran = |name: &str| -> (f64, f64) {
        let text = facts.text(&format!("duty.{name}"));
        let mut numbers = text.split(' ').map(|n| n.parse().unwrap_or(0.0));
        let mut next = || numbers.next().unwrap_or(0.0);
        (next(), next() * 1000.0)
    };
    let (before, after) = (ran("before"), ran("after"));
    let expected = 1024.0 * (after.0 - before.0) / (after.1 - before.1);
    let mut all = Vec::new();
    for i in 0..READINGS {
        let document = facts.json(&format!("duty{i}.stats"));
        all.push(cpus(&document)[0]["util"].as_u64().unwrap_or(0));
    }
    let mean = all.iter().sum::<u64>() as f64 / READINGS as f64;
    let text = format!(
        "{}: utilisation {mean:.0}, by the task's run time {expected:.0}: {all:?}",
        facts.name
    );
    println!("{text}");
    facts.check((400.0..700.0).contains(&expected), text.clone());
    facts.check((mean - expected).abs() <= expected * TOLERANCE, text);
    facts.ended("int");
    facts.clean_dmesg();
    facts.finish();
}

fn check_starved(facts: &mut Facts) {
    let document = facts.json("starved.stats");
    let longest = cpus(&document)[2]["longest_wait_ns"].as_u64().unwrap_or(0);
    let text = format!(
        "{}: nice 19 beside 20 of nice 0 waited {} ms at most",
        facts.name,
        longest / 1_000_000
    );
    println!("{text}");
    facts.check((100_000_000..15_000_000_000).contains(&longest), text);
    let state = facts.text("starved.state");
    facts.equal("state", state.as_str(), "enabled");
    let overview = facts.text("starved.overview");
    facts.contains("stats", &overview, &["longest wait in a queue"]);
}

fn check_load(kernel: &str) {
    let mut facts = guest::run("load", kernel, "smt8", &[]);
    check_off(&mut facts);
    check_full(&mut facts);
    check_nothing_left(&mut facts);
    check_starved(&mut facts);
    facts.ended("int");
    facts.clean_dmesg();
    facts.finish();
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn measures_under_load_old_kernel() {
    check_load(OLD);
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn measures_under_load_new_kernel() {
    check_load(NEW);
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn utilisation_is_run_time_old_kernel() {
    check_utilisation(OLD);
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn utilisation_is_run_time_new_kernel() {
    check_utilisation(NEW);
}
