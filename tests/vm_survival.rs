// SPDX-License-Identifier: GPL-2.0-only

//! What happens to a scheduler in the field, on a real kernel: afterwards the kernel's scheduler is
//! back or ours goes on, as it should, and nothing is left changed.  The script is guest/survival.sh.

mod common;
mod guest;

use guest::{Counts, Facts, NEW, OLD};

/// The policy that was set before CPUs went and came is still in force, and no count is lost.
fn check_hotplug(facts: &mut Facts) {
    let before = facts.stats("before");
    for (name, restarts, cpus) in [("offline", 1, 7), ("online", 2, 8)] {
        let status = facts.json(&format!("{name}.status"));
        let scheduler = &status["scheduler"];
        facts.equal(&format!("{name}: on"), status["on"].as_bool(), Some(true));
        facts.equal(
            &format!("{name}: restarts"),
            scheduler["restarts"].as_u64(),
            Some(restarts),
        );
        facts.equal(
            &format!("{name}: CPUs"),
            scheduler["nr_cpus"].as_u64(),
            Some(cpus),
        );
        facts.equal(
            &format!("{name}: process"),
            scheduler["pid"].as_u64(),
            Some(before.pid()),
        );

        let after = facts.stats(name);
        facts.equal(
            &format!("{name}: generation"),
            after.generation(),
            before.generation(),
        );
        facts.equal(&format!("{name}: policy"), after.policy(), before.policy());
        let grown = |counts: &Counts| counts.stage("search");
        let (old, new) = (grown(&before.total()), grown(&after.total()));
        facts.check(
            new >= old,
            format!("{name}: {old} searches were counted before, {new} are now"),
        );
        facts.closes(name, &after.total(), 8);
    }
    facts.status("online.set", 0);
    let generation = facts.json("online.set")["generation"].as_u64();
    facts.equal(
        "generation after a set",
        generation,
        Some(before.generation() + 1),
    );
    let log = facts.text("log");
    facts.contains(
        "the log",
        &log,
        &["on 7 CPUs", "loading again with generation 2"],
    );
}

/// Work goes on while the program cannot; the subcommands say what is wrong.
fn check_stopped(facts: &mut Facts) {
    facts.refused("stopped.status", &["scx_place"]);
    facts.status("stopped.hackbench", 0);
    let state = facts.text("stopped.state");
    facts.equal(
        "state while the program is stopped",
        state.as_str(),
        "enabled",
    );
    let status = facts.json("continued.status");
    facts.equal("on again", status["on"].as_bool(), Some(true));

    facts.refused("removed.policy", &["no running scx_place"]);
    let state = facts.text("unlinked.state");
    facts.equal("state without a socket", state.as_str(), "enabled");
    facts.ended("removed");
}

fn check_killed(facts: &mut Facts) {
    let state = facts.text("killed.state");
    facts.equal("state after kill -9", state.as_str(), "disabled");
    facts.status("killed.hackbench", 0);
    facts.refused("killed.policy", &["no running scx_place"]);
}

/// Of two that start at the same time one runs, the other says why not.
fn check_twice(facts: &mut Facts) {
    let running = facts.number("twice.running");
    facts.equal("schedulers of two", running, 1);
    let state = facts.text("twice.state");
    facts.equal("state with two started", state.as_str(), "enabled");
    let status = facts.json("twice.status");
    facts.equal("the one of two is on", status["on"].as_bool(), Some(true));
    let statuses = [facts.number("first.status"), facts.number("second.status")];
    facts.check(
        statuses == [0, 1] || statuses == [1, 0],
        format!("statuses of two: {statuses:?}"),
    );
    let loser = if statuses[0] == 0 { "second" } else { "first" };
    let text = facts.text(loser);
    let last = text.lines().last().unwrap_or_default();
    facts.check(
        last.starts_with("scx_place: ")
            && (last.contains("already running") || last.contains("another sched_ext")),
        format!("the loser of two does not say why: {text:?}"),
    );
}

fn check_sysrq(facts: &mut Facts) {
    let state = facts.text("sysrq.state");
    facts.equal("state after SysRq-S", state.as_str(), "disabled");
    let log = facts.text("log");
    facts.contains("the log", &log, &["sysrq-S"]);
    let status = facts.number("sysrq.status");
    println!("status after SysRq-S: {status}");
    facts.check(
        status == 0 || status == 1,
        format!("status after SysRq-S: {status}"),
    );
    facts.status("end.hackbench", 0);
}

fn check_survival(kernel: &str) {
    let mut facts = guest::run("survival", kernel, "smt8", &[]);
    check_hotplug(&mut facts);
    check_stopped(&mut facts);
    check_killed(&mut facts);
    check_twice(&mut facts);
    check_sysrq(&mut facts);
    let (before, after) = (facts.text("left.before"), facts.text("left.after"));
    facts.equal("what is left", after, before);
    facts.clean_dmesg_but(&[
        "disabled (unregistered from the main kernel)",
        "disabled (disabled by sysrq-S)",
    ]);
    facts.finish();
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn survives_old_kernel() {
    check_survival(OLD);
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn survives_new_kernel() {
    check_survival(NEW);
}
