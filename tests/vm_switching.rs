// SPDX-License-Identifier: GPL-2.0-only

//! Policies switched on a real kernel: as an operator does it, and at random under a load that moves
//! everything that can move.  The scripts are guest/switching.sh and churn.sh.

mod common;
mod guest;

use guest::{Facts, NEW, OLD};
use serde_json::Value;

/// The names and values of a policy report, for comparison.
fn values(report: &Value) -> Value {
    report["policy"].clone()
}

/// Several items take effect at once, and the log and the statistics know it.
fn check_set(facts: &mut Facts) {
    facts.status("show", 0);
    let show = facts.text("show");
    facts.contains(
        "policy",
        &show,
        &["generation 1", "affine", "off", "idle_search"],
    );
    facts.status("list", 0);
    let list = facts.text("list");
    facts.contains(
        "policy list",
        &list,
        &["mainline_46", "latency_us", "WA_IDLE"],
    );

    facts.status("several.set", 0);
    let set = facts.json("several.set");
    facts.equal("generation", set["generation"].as_u64(), Some(2));
    let changed = [
        "idle_search=mainline_46",
        "affine=always",
        "wa_idle=0",
        "latency_us=10000",
    ];
    for item in changed {
        let list = set["changed"].as_array().cloned().unwrap_or_default();
        facts.check(
            list.iter().any(|c| c == item),
            format!("policy set does not report {item}: {list:?}"),
        );
    }
    let show = facts.text("several.show");
    facts.contains(
        "policy",
        &show,
        &["generation 2", "mainline_46", "always", "10000"],
    );

    let stats = facts.stats("several");
    facts.equal("generation of the statistics", stats.generation(), 2);
    facts.equal("affine", stats.policy()["affine"].as_str(), Some("always"));
    facts.equal(
        "latency_us",
        stats.policy()["latency_us"].as_u64(),
        Some(10000),
    );
    let counts = stats.in_force();
    facts.check(
        counts.stage("affine") > 0 && counts.get("affine.off") == 0,
        format!("the new rule is not in force; {}", counts.text("affine")),
    );
}

/// One bad item, and nothing changes.
fn check_refused(facts: &mut Facts) {
    facts.refused(
        "refused.axis",
        &["`idle_serch`", "did you mean `idle_search`"],
    );
    facts.refused(
        "refused.value",
        &["`mainline_64`", "did you mean `mainline_46`"],
    );
    facts.refused("refused.range", &["out of range", "100 to 200000"]);
    facts.refused("refused.number", &["not a whole number"]);
    facts.refused("refused.twice", &["affine is set twice"]);
    facts.refused("refused.form", &["NAME=VALUE"]);
    let (before, after) = (facts.json("several.set"), facts.json("after_refused"));
    facts.equal("policy after refusals", values(&after), values(&before));
    facts.equal(
        "generation after refusals",
        after["generation"].as_u64(),
        Some(2),
    );
    facts.refused("gone", &["no running scx_place"]);
}

/// Setting what is set already is no switch; a reset leads to the command line.
fn check_reset(facts: &mut Facts) {
    let same = facts.json("same.set");
    facts.equal(
        "generation after no change",
        same["generation"].as_u64(),
        Some(2),
    );
    facts.status("reset", 0);
    let reset = facts.json("reset");
    facts.equal(
        "generation after reset",
        reset["generation"].as_u64(),
        Some(3),
    );
    let start = facts.json("start");
    facts.equal("policy after reset", values(&reset), values(&start));
    let stats = facts.stats("reset");
    facts.equal(
        "affine after reset",
        stats.policy()["affine"].as_str(),
        Some("off"),
    );
}

/// The log has a line for each of these generations.
fn check_log(facts: &mut Facts, last: u64) {
    let log = facts.text("log");
    let missing: Vec<_> = (2..=last)
        .filter(|n| !log.contains(&format!("generation {n} at ")))
        .collect();
    facts.check(
        missing.is_empty(),
        format!("generations without a line in the log: {missing:?}"),
    );
}

fn check_switching(kernel: &str) {
    /// More than a slot for each.
    const SWITCHES: u64 = 140;
    let mut facts = guest::run("switching", kernel, "smt8", &[]);
    check_set(&mut facts);
    check_refused(&mut facts);
    check_reset(&mut facts);

    facts.bracketed("many");
    let stats = facts.stats("many.after");
    facts.equal("generation after all", stats.generation(), 3 + SWITCHES);
    let numbers: Vec<_> = stats.generations().iter().map(|g| g.number).collect();
    let expected: Vec<_> =
        (stats.generation() + 1 - numbers.len() as u64..=stats.generation()).collect();
    facts.equal("generations in the statistics", numbers, expected);
    check_log(&mut facts, stats.generation());
    for name in ["by_generation", "table"] {
        facts.status(name, 0);
        let text = facts.text(name);
        facts.contains(name, &text, &["generation 143", "search", "affine"]);
    }
    facts.ended("int");
    facts.clean_dmesg();
    facts.finish();
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn switches_as_told_old_kernel() {
    check_switching(OLD);
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn switches_as_told_new_kernel() {
    check_switching(NEW);
}

/// Two minutes of everything at once.
fn check_churn(kernel: &str) {
    const SECONDS: &str = "120";
    /// Twice a second is aimed at; emulation is slower.
    const SWITCHES: usize = 60;
    /// With those as fast as it goes: each slot used several times.
    const ALL: usize = 100;
    let mut facts = guest::run("churn", kernel, "2node16", &[SECONDS]);
    let switches = |facts: &mut Facts, name| facts.text(name).matches(" since ").count();
    let (slow, fast) = (switches(&mut facts, "slow"), switches(&mut facts, "fast"));
    let churned = facts.text("churned").lines().count();
    println!("{kernel}: {slow} switches, {fast} as fast as it goes, {churned} changes of tasks");
    facts.status("slow", 0);
    facts.check(
        slow >= SWITCHES && churned >= SWITCHES,
        format!("only {slow} switches and {churned} changes of tasks in {SECONDS} s"),
    );
    facts.check(
        slow + fast >= ALL,
        format!("only {slow} switches and {fast} as fast as it goes"),
    );
    for name in ["churn.state", "fast.state"] {
        let state = facts.text(name);
        facts.equal(name, state.as_str(), "enabled");
    }
    facts.bracketed("churn");
    for generation in facts.stats("churn.after").generations() {
        let what = format!("generation {} {:?}", generation.number, generation.changed);
        if generation.ended {
            facts.closes(&what, &generation.counts, 0);
        }
    }
    facts.ended("int");
    facts.clean_dmesg();
    facts.finish();
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn survives_churn_and_random_switches_old_kernel() {
    check_churn(OLD);
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn survives_churn_and_random_switches_new_kernel() {
    check_churn(NEW);
}
