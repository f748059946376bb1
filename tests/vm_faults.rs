// SPDX-License-Identifier: GPL-2.0-only

//! Injected faults on a real kernel: lost claims, stale snapshots and late publications, which
//! emulation hardly ever brings about by itself.  The script is guest/faults.sh.

mod common;
mod guest;

use guest::{Facts, NEW, OLD};

/// Every other claim is lost: the policy decides again, and gives up when that is lost as well.
fn check_claims(facts: &mut Facts) {
    for rule in ["test_and_clear", "mainline_46", "mason_pkg", "sis_prop"] {
        let counts = facts.stats(rule).in_force();
        let text = format!("{rule}: {}", counts.text("claim"));
        println!("{text}");
        facts.check(
            counts.get("claim.lost") > 0 && counts.get("claim.won") > 0,
            text,
        );
    }
    // The decision stands, whoever got the CPU.
    let counts = facts.stats("test_only").in_force();
    facts.check(
        counts.get("claim.lost") > 0 && counts.get("claim.gave_up") == 0,
        format!("test_only: {}", counts.text("claim")),
    );
}

fn check_faults(kernel: &str) {
    /// More than there are slots.
    const SWITCHES: usize = 40;
    let mut facts = guest::run("faults", kernel, "2node16", &[]);
    check_claims(&mut facts);
    let switched = facts.text("switched");
    let switches = switched.matches(" since ").count();
    println!("{kernel}: {switches} switches");
    facts.check(
        switches >= SWITCHES,
        format!("only {switches} switches: {switched}"),
    );
    let state = facts.text("state");
    facts.equal("state", state.as_str(), "enabled");
    facts.bracketed("faults");
    facts.ended("int");
    facts.clean_dmesg();
    facts.finish();
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn injected_faults_old_kernel() {
    check_faults(OLD);
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn injected_faults_new_kernel() {
    check_faults(NEW);
}
