// SPDX-License-Identifier: GPL-2.0-only

//! Decisions of a real kernel, recorded under every placement rule and decided again on the host:
//! all of them must come out the same.  The script is guest/record.sh.

mod common;
mod guest;

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;
use std::process::Command;

use common::Scratch;
use guest::{Facts, NEW, OLD};
use scx_place::record::answer::Record;
use scx_place::record::format::Reader;
use serde_json::Value;

/// Fewer records than this prove nothing.
const ENOUGH: u64 = 50;
/// The same of forks, which take long on emulated CPUs.
const ENOUGH_FORKS: u64 = 20;

/// `scx_place replay` on the host: its status and its document.
fn replay(file: &Path, arguments: &[&str]) -> (i32, Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_scx_place"))
        .arg("replay")
        .arg(file)
        .arg("--json")
        .args(arguments)
        .output()
        .expect("scx_place starts");
    let document = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output.status.code().unwrap_or(-1), document)
}

/// What a recording holds.
struct Counts {
    records: u64,
    /// Records after lost claims.
    lost: u64,
    forks: u64,
}

/// A recording must be identical.
fn check_identical(facts: &mut Facts, name: &str, file: &Path) -> Counts {
    let (status, document) = replay(file, &[]);
    let result = &document["replay"];
    let count = |key: &str| result[key].as_u64().unwrap_or(0);
    let (records, identical, forks) = (count("records"), count("identical"), count("forks"));
    let difference = result["first_difference"].as_str().unwrap_or("");
    facts.check(
        status == 0 && identical == records,
        format!("{name}: {identical} of {records} identical, status {status}\n{difference}"),
    );
    let lost = result["lost_claims"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let lost = lost.iter().skip(1).filter_map(Value::as_u64).sum();
    let bytes = fs::metadata(file).map_or(0, |m| m.len());
    let dropped = result["end"]["dropped"].as_u64().unwrap_or(0);
    println!(
        "{name}: {identical} of {records} identical, {forks} of them forks, {dropped} dropped, \
         {lost} after lost claims, {bytes} bytes"
    );
    Counts {
        records,
        lost,
        forks,
    }
}

/// Every value of every axis.
fn check_values(facts: &mut Facts, records: &Path) {
    let list = facts.text("recorded");
    facts.check(list.lines().count() >= 10, "hardly a value was recorded");
    let (mut all, mut lost, mut forks) = (0, 0, 0);
    for line in list.lines() {
        let (axis, value) = line.split_once(' ').unwrap_or((line, ""));
        let name = format!("{axis}.{value}");
        facts.status(&name, 0);
        let counts = check_identical(facts, &name, &records.join(format!("{name}.rec")));
        let n = counts.records;
        (all, lost, forks) = (all + n, lost + counts.lost, forks + counts.forks);
        let said = facts.text(&name);
        if value == "scx_default" {
            // New tasks are placed by a rule of its own.
            facts.equal("wakeups of scx_default", n - counts.forks, 0);
            let none = said.contains(" 0 not recordable");
            facts.check(!none, format!("scx_default was not counted: {said}"));
        } else {
            facts.check(n >= ENOUGH, format!("{name}: only {n} records: {said}"));
        }
        if axis == "fork" {
            let n = counts.forks;
            facts.check(n >= ENOUGH_FORKS, format!("{name}: only {n} forks: {said}"));
        }
    }
    println!(
        "{}: {all} records, {lost} after lost claims, {forks} forks",
        facts.name
    );
}

/// Recordings of more than one generation, and of some decisions only.
fn check_others(facts: &mut Facts, records: &Path) {
    for name in ["switched", "sampled", "again", "wide"] {
        facts.status(name, 0);
        let n = check_identical(facts, name, &records.join(format!("{name}.rec"))).records;
        facts.check(n > 0, format!("{name}: no records"));
    }
    let said = facts.text("switched");
    let policies = said
        .split(", ")
        .find_map(|part| part.strip_prefix("policies: "));
    let policies: u64 = policies.and_then(|n| n.parse().ok()).unwrap_or(0);
    facts.check(policies >= 6, format!("switches are missing: {said}"));

    let (status, _) = replay(&records.join("killed.rec"), &[]);
    facts.check(
        status == 1,
        "the file of a killed recorder passes as a whole one",
    );
}

/// The controls, which must fail: a wrong bit in what was read, and another policy.
fn check_controls(facts: &mut Facts, records: &Path) {
    let file = records.join("idle_search.sis_modern.rec");
    let open = File::open(&file).expect("a recording");
    let mut reader = Reader::new(BufReader::new(open)).expect("a recording");
    let (mut flipped, mut all) = (0, 0);
    while let Some(record) = reader.next_record().expect("a record") {
        let Record::Wakeup(mut d) = record else {
            continue;
        };
        let known = reader.known(d.head.generation).expect("its policy");
        let (view, local) = (usize::from(d.out.view), usize::from(d.out.local));
        d.input.view[view].idle.w[local / 64] ^= 1 << (local % 64);
        all += 1;
        flipped += u64::from(d.again(&known.native, &reader.tables).is_err());
    }
    println!("a flipped bit changes {flipped} of {all} decisions");
    facts.check(
        flipped * 10 >= all * 9,
        format!("only {flipped} of {all} decisions notice a flipped bit"),
    );

    let (status, document) = replay(&file, &["--policy", "idle_search=none,affine=always"]);
    facts.equal("status of a comparison", status, 0);
    let comparison = &document["comparisons"][0];
    let (n, same) = (&comparison["decisions"], &comparison["distance"][0]);
    facts.check(
        n.as_u64() == Some(all) && same.as_u64() < n.as_u64(),
        format!("another policy chooses the same CPU in {same} of {n} decisions"),
    );
    let (status, document) = replay(&file, &["--all", "idle_search"]);
    facts.equal("status of --all", status, 0);
    let values = document["comparisons"].as_array().map_or(0, Vec::len);
    facts.check(values >= 3, format!("--all compares {values} values"));
    check_forks_compared(facts, records);
}

/// What the other rule would have done with the forks that one has placed.
fn check_forks_compared(facts: &mut Facts, records: &Path) {
    for (recorded, other) in [("stay", "v48"), ("v48", "stay")] {
        let file = records.join(format!("fork.{recorded}.rec"));
        let (status, document) = replay(&file, &["--policy", &format!("fork={other}")]);
        facts.equal("status of a comparison of forks", status, 0);
        let forks = &document["comparisons"][0]["forks"];
        let count = |path: &str| forks.pointer(path).and_then(Value::as_u64).unwrap_or(0);
        let (n, same) = (count("/decisions"), count("/distance/0"));
        let moved = [count("/recorded/moved"), count("/other/moved")];
        println!("fork={recorded}: {n} forks, {moved:?} moved, {same} to the same CPU");
        facts.check(
            n >= ENOUGH_FORKS && same < n,
            format!("fork={other} chooses the same CPU in {same} of {n} forks"),
        );
        let by_stay = moved[usize::from(other == "stay")];
        facts.equal("forks that fork=stay moves", by_stay, 0);
    }
}

/// Who may record, and when; what is refused.
fn check_refusals(facts: &mut Facts) {
    facts.refused("off.record", &["no running scx_place"]);
    facts.refused("off.shadow", &["no running scx_place"]);
    facts.refused("second", &["another `scx_place record` is running"]);
    facts.refused("unwritable", &["creating /no/such/folder/x.rec"]);
    facts.status("usage.sample", 2);
    facts.status("usage.for", 2);
    let written = |facts: &mut Facts, name: &str| facts.stats(name).total().get("record.written");
    let (before, after) = (
        written(facts, "killed.before"),
        written(facts, "killed.after"),
    );
    facts.check(before > 0, "nothing was recorded before the kill");
    facts.equal("records after the recorder was killed", after, before);
}

/// The shadow policy is evaluated, agrees with itself, and is evaluated no more once off.
fn check_shadow(facts: &mut Facts) {
    facts.refused("shadow.opaque", &["scx_default", "not evaluated"]);
    let stage = |report: &Value, stage: &str, branch: &str| {
        report["counters"][stage][branch].as_u64().unwrap_or(0)
    };
    let sum = |report: &Value, stage: &str| {
        let branches = report["counters"][stage]
            .as_object()
            .cloned()
            .unwrap_or_default();
        branches.values().filter_map(Value::as_u64).sum::<u64>()
    };
    for name in ["shadow.same", "shadow.other", "shadow.text", "shadow.off"] {
        facts.status(name, 0);
    }
    for name in ["shadow.same.report", "shadow.other.report"] {
        let report = facts.json(name);
        let (cpu, idle) = (sum(&report, "shadow"), sum(&report, "shadow_idle"));
        let same = stage(&report, "shadow", "same_cpu");
        println!("{name}: {same} of {cpu} on the same CPU");
        facts.check(cpu >= ENOUGH, format!("{name}: only {cpu} evaluations"));
        facts.check(
            cpu.abs_diff(idle) <= 16,
            format!("{name}: {cpu} CPUs, {idle} searches"),
        );
        let agrees = same == cpu;
        let expected = name == "shadow.same.report";
        facts.equal(&format!("{name}: agrees everywhere"), agrees, expected);
    }
    let text = facts.text("shadow.text");
    facts.contains(
        "shadow",
        &text,
        &["idle_search=none", "1/2 of the wakeups", "shadow.same_cpu"],
    );
    let (before, after) = (facts.stats("shadow.before"), facts.stats("shadow.after"));
    let evaluated = |stats: &guest::Stats| stats.total().stage("shadow");
    facts.check(evaluated(&before) > 0, "the statistics have no shadow");
    facts.equal(
        "evaluations after off",
        evaluated(&after),
        evaluated(&before),
    );
}

fn check_record(kernel: &str) {
    let scratch = Scratch::new();
    let records = scratch.path("records");
    let mut facts = guest::run_with("record", kernel, "2llc16", &[], |vm| {
        vm.get("/records", &records)
    });
    check_values(&mut facts, &records);
    check_others(&mut facts, &records);
    check_controls(&mut facts, &records);
    check_refusals(&mut facts);
    check_shadow(&mut facts);
    facts.ended("int");
    facts.ended("wide.int");
    facts.clean_dmesg();
    facts.finish();
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn decisions_are_replayed_old_kernel() {
    check_record(OLD);
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn decisions_are_replayed_new_kernel() {
    check_record(NEW);
}
