// SPDX-License-Identifier: GPL-2.0-only

//! The scheduler on a real kernel: its life, the tasks that only one CPU may serve, and its counters
//! beside the kernel's own.  The scripts are guest/life.sh, served.sh and counters.sh.

mod common;
mod guest;

use guest::{Facts, NEW, OLD};

/// Without a scheduler, everything that needs one says so; every obstacle has its line.
fn check_refusals(facts: &mut Facts) {
    for name in ["off.policy", "off.set", "off.reset", "off.stats"] {
        facts.refused(name, &["no running scx_place"]);
    }
    facts.refused("off.status", &["off: the kernel's own scheduler decides"]);
    facts.status("off.list", 0);

    facts.status("refused.nobody", 1);
    let text = facts.text("refused.nobody");
    facts.contains("refused.nobody", &text, &["not root", "sudo scx_place"]);
    facts.refused(
        "refused.btf",
        &["/sys/kernel/btf/vmlinux", "CONFIG_DEBUG_INFO_BTF"],
    );
    facts.refused(
        "refused.sched_ext",
        &["no sched_ext", "CONFIG_SCHED_CLASS_EXT"],
    );
    facts.refused("refused.policy", &["`up` is not a value of affine"]);
    let (state, files) = (facts.text("refused.state"), facts.text("refused.files"));
    facts.equal("state after refusals", state.as_str(), "disabled");
    facts.equal("sockets after refusals", files.as_str(), "");
}

/// While it runs, a second one and strangers are refused, and the first goes on.
fn check_running(facts: &mut Facts) {
    let ops = facts.text("ops");
    facts.check(
        ops.starts_with("place_"),
        format!("the kernel runs {ops:?}"),
    );
    facts.refused("second", &["another sched_ext scheduler is attached", &ops]);
    facts.refused("on.nobody", &["root only"]);
    facts.status("hackbench", 0);
    facts.status("stress", 0);

    let (before, after) = (facts.json("on.status"), facts.json("after.status"));
    facts.equal("on", after["on"].as_bool(), Some(true));
    facts.equal(
        "ops of status",
        after["kernel"].as_str(),
        Some(ops.as_str()),
    );
    facts.equal("scheduler", &after["scheduler"], &before["scheduler"]);
    let log = facts.text("log");
    facts.contains(
        "the log",
        &log,
        &["scheduling on 8 CPUs, 4 cores", "detached"],
    );
    let exposed = facts.text("exposed");
    facts.equal("sockets that others may open", exposed.as_str(), "");

    let counts = facts.stats("after").total();
    facts.closes("after work", &counts, 8);
    for name in [
        "fork.stay",
        "dispatch.own",
        "enqueue.direct",
        "search.target_idle",
    ] {
        facts.check(counts.get(name) > 0, format!("{name} is 0 after work"));
    }
}

fn check_life(kernel: &str, words: &str) {
    let mut facts = guest::run("life", kernel, "smt8", &["--force-llc-words", words]);
    check_refusals(&mut facts);
    check_running(&mut facts);
    facts.ended("int");
    let (ops, files) = (facts.text("int.ops"), facts.text("int.files"));
    facts.equal("ops after the end", ops.as_str(), "");
    facts.equal("sockets after the end", files.as_str(), "");
    facts.status("int.hackbench", 0);

    let wide = facts.stats("wide").total();
    facts.closes("wide masks", &wide, 8);
    facts.check(
        wide.stage("search") > 100,
        format!("wide masks: only {} searches", wide.stage("search")),
    );
    facts.ended("term");
    facts.clean_dmesg();
    facts.finish();
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn lives_and_ends_as_asked_old_kernel() {
    check_life(OLD, "16");
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn lives_and_ends_as_asked_new_kernel() {
    check_life(NEW, "4");
}

/// Delays are long when a few processors emulate many; what is asserted is that nobody is forgotten
/// until somebody else helps by chance, and nothing much worse than the kernel's own scheduler.
fn check_served(kernel: &str) {
    const LONGEST_US: i64 = 4_000_000;
    const FACTOR: i64 = 4;
    let mut facts = guest::run("served", kernel, "smt8", &[]);
    let mut longest = |phase: &str| {
        let names = ["late.0", "late.2", "late.4", "late.6", "kthreads"];
        let delays = names.map(|name| facts.number(&format!("{phase}.{name}")));
        println!("{kernel} {phase}: {delays:?} us");
        delays.into_iter().max().unwrap_or(-1)
    };
    let kernels = longest("kernel");
    let ours = [longest("newidle"), longest("off")];
    for (phase, delay) in ["newidle", "off"].into_iter().zip(ours) {
        facts.check(
            delay <= LONGEST_US.max(FACTOR * kernels),
            format!(
                "balance={phase}: a bound task or kernel thread waited {delay} us; {kernels} us under \
                 the kernel's scheduler"
            ),
        );
    }
    let counts = facts.stats("served").total();
    facts.closes("served", &counts, 8);
    facts.ended("term");
    facts.clean_dmesg();
    facts.finish();
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn bound_tasks_are_served_old_kernel() {
    check_served(OLD);
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn bound_tasks_are_served_new_kernel() {
    check_served(NEW);
}

/// Migrations of ordinary tasks in a histogram of sched_migrate_task by priority.
fn ordinary_migrations(histogram: &str) -> u64 {
    const MAX_RT_PRIO: u64 = 100;
    let entry = |line: &str| -> Option<(u64, u64)> {
        let (prio, hits) = line.strip_prefix("{ prio:")?.split_once("} hitcount:")?;
        Some((prio.trim().parse().ok()?, hits.trim().parse().ok()?))
    };
    let entries = histogram.lines().filter_map(entry);
    let ordinary = entries.filter(|(prio, _)| *prio >= MAX_RT_PRIO);
    ordinary.map(|(_, hits)| hits).sum()
}

fn check_counters(kernel: &str, topology: &str) {
    const ENOUGH: u64 = 200;
    /// Tasks that move while the counts are read.
    const MOVING: u64 = 2;
    let mut facts = guest::run("counters", kernel, topology, &[]);
    facts.bracketed("idle");
    facts.bracketed("busy");

    let before = facts.stats("migrate.before").total();
    let after = facts.stats("migrate.after").total();
    let ours = after.since(&before);
    let counted = ours.stage("migration");
    let kernels = ordinary_migrations(&facts.text("migrate.hist"));
    let text = format!(
        "migrations: {counted} counted, {kernels} in the kernel's trace; {}",
        ours.text("migration")
    );
    println!("{kernel} {topology}: {text}");
    facts.check(counted >= ENOUGH, text.clone());
    let apart = counted.abs_diff(kernels);
    facts.check(apart * 100 <= kernels || apart <= MOVING, text);

    let generations = facts.stats("busy.after").generations();
    facts.check(generations.len() > 5, "too few generations");
    for generation in generations.iter().filter(|g| g.ended) {
        let what = format!("generation {} {:?}", generation.number, generation.changed);
        facts.closes(&what, &generation.counts, 0);
    }
    facts.ended("int");
    facts.clean_dmesg();
    facts.finish();
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn counters_agree_with_the_kernel_old_kernel() {
    check_counters(OLD, "2node16");
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn counters_agree_with_the_kernel_new_kernel() {
    check_counters(NEW, "smt8");
}
