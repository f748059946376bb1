// SPDX-License-Identifier: GPL-2.0-only

//! Relations between each rule and where tasks end, on a real kernel: from the scheduler's counters,
//! and where the kernel has a word of its own, from its trace.  guest/relations.sh makes the phases.

mod common;
mod guest;

use guest::{trace, Counts, Facts, NEW, OLD};

/// Fewer events than this prove nothing.
const ENOUGH: u64 = 100;

/// The counts of a phase.
fn phase(facts: &mut Facts, name: &str) -> Counts {
    let counts = facts.stats(name).in_force();
    let searches = counts.stage("search");
    facts.check(
        searches >= ENOUGH,
        format!("{name}: only {searches} searches, the load does not test anything"),
    );
    counts
}

/// `none`: every search ends at its target.
fn check_no_search(facts: &mut Facts, name: &str) {
    let counts = phase(facts, name);
    let (none, all) = (counts.get("search.none"), counts.stage("search"));
    facts.check(
        none == all,
        format!("{name}: idle_search=none decided {none} of {all} searches"),
    );
}

/// The kernel binds a worker to its CPU after it has started elsewhere.
fn is_worker(comm: &str) -> bool {
    comm.starts_with("kworker/")
}

/// The target is the previous CPU, and although others idle every wakee stays there.
fn check_none_off(facts: &mut Facts) {
    check_no_search(facts, "none_off");
    let counts = facts.stats("none_off").in_force();
    let prev = counts.sum(&[
        "affine.off",
        "affine.same_cpu",
        "affine.not_allowed",
        "affine.no_domain",
    ]);
    facts.equal("none_off: affine=off", counts.stage("affine"), prev);
    facts.check(
        counts.get("outcome.busy_rule") > 0,
        "none_off: no CPU was idle, so none could be left alone",
    );

    let text = facts.text("none_off.trace");
    let wakeups = trace::wakeups(&text);
    let moved: Vec<_> = wakeups
        .iter()
        .filter(|w| w.to != w.from && !is_worker(&w.comm))
        .collect();
    facts.check(
        moved.is_empty(),
        format!("none_off: wakeups that left their CPU: {moved:?}"),
    );
    facts.check(
        wakeups.len() as u64 >= ENOUGH,
        format!("none_off: only {} wakeups were traced", wakeups.len()),
    );
    let moves = trace::migrations(&text);
    let (workers, others): (Vec<_>, Vec<_>) = moves
        .iter()
        .copied()
        .partition(|line| line.contains("comm=kworker/"));
    facts.check(
        others.is_empty() && counts.stage("migration") <= workers.len() as u64,
        format!(
            "none_off: tasks moved; {}; the kernel says {moves:#?}",
            counts.text("migration")
        ),
    );
}

/// The target is the waker's CPU.  A wakee that is not off its CPU yet is not placed at all.
fn check_none_always(facts: &mut Facts) {
    const PLACED_PERCENT: usize = 95;
    check_no_search(facts, "none_always");
    let counts = facts.stats("none_always").in_force();
    facts.check(
        counts.get("affine.always") > 0,
        "none_always: no wakee was pulled",
    );
    let text = facts.text("none_always.trace");
    let mut wakeups = trace::wakeups(&text);
    wakeups.retain(|w| w.comm == "hackbench");
    let strayed: Vec<_> = wakeups
        .iter()
        .filter(|w| w.to != w.waker && w.to != w.from)
        .collect();
    facts.check(
        strayed.is_empty(),
        format!("none_always: wakeups to neither the waker's nor the previous CPU: {strayed:?}"),
    );
    let there = wakeups.iter().filter(|w| w.to == w.waker).count();
    facts.check(
        wakeups.len() as u64 >= ENOUGH && there * 100 >= wakeups.len() * PLACED_PERCENT,
        format!(
            "none_always: {there} of {} wakeups to the waker's CPU",
            wakeups.len()
        ),
    );
}

/// With budget left, no wakee is put on a busy CPU while an allowed CPU of the cache is idle.  The
/// one exception is the rule's own: a per-CPU kernel thread's wakee that stays with it.
fn check_sis_modern(facts: &mut Facts, name: &str) -> Counts {
    let counts = phase(facts, name);
    let busy = counts.get("outcome.busy_rule");
    let kthread = counts.get("search.kthread_stack");
    facts.check(
        busy <= kthread,
        format!(
            "{name}: {busy} wakeups on a busy CPU while one was idle, {kthread} of them by rule; {}; {}",
            counts.text("search"),
            counts.text("outcome")
        ),
    );
    counts
}

/// T and its sibling busy, every other core half busy.
fn check_half_busy(facts: &mut Facts, one_cache: bool) {
    let old = phase(facts, "half_46");
    let mut foreign = old.sum(&["search.thread", "search.core_thread"]);
    // Another cache's cores idle, for those whose target is there.
    if one_cache {
        foreign += old.get("search.core");
    }
    facts.check(
        foreign == 0 && old.get("outcome.busy_rule") > 0,
        format!(
            "half_46: mainline_46 must overlook idle threads of half-busy cores; {}; {}",
            old.text("search"),
            old.text("outcome")
        ),
    );
    let cpu = facts.number("half_46.cpu");
    facts.equal("half_46: CPU of the sleeper", cpu, 1);

    let new = check_sis_modern(facts, "half_sis");
    facts.check(
        new.sum(&["search.thread", "search.core_thread"]) > 0,
        format!(
            "half_sis: sis_modern must find idle threads of half-busy cores; {}",
            new.text("search")
        ),
    );
    let cpu = facts.number("half_sis.cpu");
    facts.check(
        cpu != 1,
        "half_sis: the sleeper is still on the busy CPU 1".to_string(),
    );
}

fn check_relations(kernel: &str, topology: &str, arguments: &[&str]) {
    let mut facts = guest::run("relations", kernel, topology, arguments);
    check_none_off(&mut facts);
    check_none_always(&mut facts);
    check_no_search(&mut facts, "none_wa");

    let light = check_sis_modern(&mut facts, "sis_light");
    let found = light.sum(&["outcome.idle_core", "outcome.idle_thread"]);
    facts.check(found > 0, "sis_light: no idle CPU was ever found");
    let heavy = check_sis_modern(&mut facts, "sis_heavy");
    facts.check(
        heavy.get("outcome.busy_none") > 0,
        format!(
            "sis_heavy: the machine was never full; {}",
            heavy.text("outcome")
        ),
    );
    check_half_busy(&mut facts, topology == "smt8");

    for generation in facts.stats("half_sis").generations() {
        let what = format!("generation {}", generation.number);
        if generation.ended {
            facts.closes(&what, &generation.counts, 0);
        }
    }
    facts.ended("term");
    facts.clean_dmesg();
    facts.finish();
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn one_cache_with_threads_old_kernel() {
    check_relations(OLD, "smt8", &[]);
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn one_cache_with_threads_new_kernel_widest_masks() {
    check_relations(NEW, "smt8", &["--force-llc-words", "16"]);
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn two_nodes_old_kernel_wide_masks() {
    check_relations(OLD, "2node16", &["--force-llc-words", "4"]);
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn two_nodes_new_kernel() {
    check_relations(NEW, "2node16", &[]);
}
