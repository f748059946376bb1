// SPDX-License-Identifier: GPL-2.0-only

//! Runs the scripts of this folder in a guest and judges the facts they bring back: one boot yields
//! many, and every check that fails is told, not only the first.

// Each test file is a crate of its own and uses the part it needs.
#![allow(dead_code)]

pub mod trace;

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::common::{repository, Scratch, Vm};

/// Kernels that everything must hold on: the first with all features used, and the newest.
pub const OLD: &str = "6.18";
pub const NEW: &str = "7.3";

/// For the whole guest; emulation on a loaded machine is slow.
const TIMEOUT_S: u32 = 1500;

/// Status of `give_up` in lib.sh.
const GAVE_UP: i32 = 90;

/// CPUs of the largest guest.
const CPUS: u64 = 16;

/// Lines of the kernel's log that mean trouble.
const TROUBLE: [&str; 11] = [
    "WARNING",
    "BUG:",
    "Oops",
    "Call Trace",
    "RIP:",
    "stall",
    "lockup",
    "hung task",
    "blocked for more than",
    "workqueue lockup",
    "general protection",
];

/// What one guest left.
pub struct Facts {
    /// For messages: script, kernel and topology.
    pub name: String,
    files: BTreeMap<String, String>,
    stdout: String,
    dmesg: String,
    failed: Vec<String>,
    checked: usize,
}

/// Boots a guest and runs one of the scripts in it.
#[track_caller]
pub fn run(script: &str, kernel: &str, topology: &str, arguments: &[&str]) -> Facts {
    run_with(script, kernel, topology, arguments, |vm| vm)
}

/// The same in a guest that `more` has changed.
#[track_caller]
pub fn run_with(
    script: &str,
    kernel: &str,
    topology: &str,
    arguments: &[&str],
    more: impl FnOnce(Vm) -> Vm,
) -> Facts {
    let scratch = Scratch::new();
    let path = format!("/guest/{script}.sh");
    let mut command = vec!["bash", &path];
    command.extend(arguments);
    let vm = Vm::new()
        .kernel(kernel)
        .topology(topology)
        .timeout(TIMEOUT_S)
        .file(repository("tests/guest"), "/guest")
        .get("/out", scratch.path("out"));
    let output = more(vm).run(&command);
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(scratch.path("out")).into_iter().flatten() {
        let entry = entry.expect("a fact");
        let text = String::from_utf8_lossy(&fs::read(entry.path()).expect("a fact")).into_owned();
        files.insert(entry.file_name().to_string_lossy().into_owned(), text);
    }
    let mut facts = Facts {
        name: format!("{script} on {kernel}, {topology} {}", arguments.join(" ")),
        files,
        stdout: output.stdout,
        dmesg: output.dmesg,
        failed: Vec::new(),
        checked: 0,
    };
    if output.status != 0 {
        let why = format!("the guest ended with {}: {}", output.status, output.stderr);
        facts.check(false, why);
        // A script that gave up midway has left facts that are worth a look.
        if output.status != GAVE_UP {
            facts.finish();
        }
    }
    facts
}

/// What was counted between two moments, or in one generation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts(BTreeMap<(String, String), u64>);

impl Counts {
    fn new(entry: &Value) -> Counts {
        let stages = entry["counters"].as_object().expect("counters by stage");
        let counts = stages.iter().flat_map(|(stage, branches)| {
            let branches = branches.as_object().expect("counts by branch");
            branches.iter().map(move |(branch, count)| {
                let key = (stage.clone(), branch.clone());
                (key, count.as_u64().expect("a count"))
            })
        });
        Counts(counts.collect())
    }

    /// One branch, named `stage.branch`.
    #[track_caller]
    pub fn get(&self, name: &str) -> u64 {
        let (stage, branch) = name.split_once('.').expect("stage.branch");
        *self
            .0
            .get(&(stage.to_string(), branch.to_string()))
            .unwrap_or_else(|| panic!("there is no counter {name}"))
    }

    pub fn sum(&self, names: &[&str]) -> u64 {
        names.iter().map(|name| self.get(name)).sum()
    }

    /// All branches of a stage.
    pub fn stage(&self, stage: &str) -> u64 {
        let branches = self.0.iter().filter(|((s, _), _)| s == stage);
        branches.map(|(_, count)| count).sum()
    }

    /// Calls of select_cpu, by the branches in which each ends.
    pub fn placements(&self) -> u64 {
        self.stage("search") + self.stage("fork")
    }

    pub fn since(&self, before: &Counts) -> Counts {
        let counts = self.0.iter().map(|(key, count)| {
            let old = before.0.get(key).copied().unwrap_or(0);
            (key.clone(), count.wrapping_sub(old))
        });
        Counts(counts.collect())
    }

    fn add(&mut self, other: &Counts) {
        for (key, count) in &other.0 {
            *self.0.entry(key.clone()).or_default() += count;
        }
    }

    /// The branches taken, for messages.
    pub fn text(&self, stage: &str) -> String {
        let branches = self.0.iter().filter(|((s, _), n)| s == stage && **n > 0);
        let branches = branches.map(|((_, branch), n)| format!("{branch} {n}"));
        format!("{stage}: {}", branches.collect::<Vec<_>>().join(", "))
    }
}

/// One generation of the policy.
pub struct Generation {
    pub number: u64,
    pub ended: bool,
    pub policy: Value,
    pub changed: Vec<String>,
    pub counts: Counts,
}

/// A document of `scx_place stats --json`.
pub struct Stats(Value);

impl Stats {
    pub fn total(&self) -> Counts {
        Counts::new(&self.0["total"])
    }

    pub fn in_force(&self) -> Counts {
        Counts::new(&self.0["in_force"])
    }

    pub fn generation(&self) -> u64 {
        self.0["generation"].as_u64().expect("a generation")
    }

    pub fn policy(&self) -> &Value {
        &self.0["policy"]
    }

    pub fn pid(&self) -> u64 {
        self.0["pid"].as_u64().expect("a process")
    }

    pub fn generations(&self) -> Vec<Generation> {
        let list = self.0["generations"].as_array().expect("generations");
        let generation = |entry: &Value| Generation {
            number: entry["generation"].as_u64().expect("a generation"),
            ended: !entry["until_us"].is_null(),
            policy: entry["policy"].clone(),
            changed: serde_json::from_value(entry["changed"].clone()).expect("what changed"),
            counts: Counts::new(entry),
        };
        list.iter().map(generation).collect()
    }
}

impl Facts {
    /// A fact as text; a fact that is missing is a failed check.
    pub fn text(&mut self, name: &str) -> String {
        match self.files.get(name) {
            Some(text) => text.trim_end().to_string(),
            None => {
                self.check(false, format!("the guest left no fact {name}"));
                String::new()
            }
        }
    }

    pub fn number(&mut self, name: &str) -> i64 {
        let text = self.text(name);
        text.trim().parse().unwrap_or_else(|_| {
            self.check(false, format!("fact {name} is no number: {text:?}"));
            -1
        })
    }

    pub fn json(&mut self, name: &str) -> Value {
        let text = self.text(name);
        serde_json::from_str(&text).unwrap_or_else(|e| {
            self.check(false, format!("fact {name} is no JSON ({e}): {text}"));
            Value::Null
        })
    }

    /// The statistics that the guest took under a name.  Nothing can be judged without them.
    #[track_caller]
    pub fn stats(&mut self, name: &str) -> Stats {
        let value = self.json(&format!("{name}.stats"));
        if value.is_null() {
            self.finish();
        }
        Stats(value)
    }

    /// Notes a failure, and goes on.
    pub fn check(&mut self, ok: bool, text: impl Into<String>) {
        self.checked += 1;
        if !ok {
            self.failed.push(text.into());
        }
    }

    pub fn equal<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, found: T, expected: T) {
        let text = format!("{what}: expected {expected:?}, found {found:?}");
        self.check(found == expected, text);
    }

    /// A text must contain all of these.
    pub fn contains(&mut self, what: &str, text: &str, parts: &[&str]) {
        for part in parts {
            self.check(
                text.contains(part),
                format!("{what} does not say {part:?}: {text:?}"),
            );
        }
    }

    /// A command (see `try` of lib.sh) must have ended with this status.
    pub fn status(&mut self, name: &str, expected: i64) {
        let status = self.number(&format!("{name}.status"));
        let output = self.files.get(name).cloned().unwrap_or_default();
        self.check(
            status == expected,
            format!("{name}: expected status {expected}, found {status}; it said {output:?}"),
        );
    }

    /// A command must have been refused with one clear line.
    pub fn refused(&mut self, name: &str, parts: &[&str]) {
        self.status(name, 1);
        let text = self.text(name);
        self.contains(name, &text, parts);
        self.equal(&format!("lines of {name}"), text.lines().count(), 1);
    }

    /// The scheduler ended as asked, and the kernel's is back (see `stop` of lib.sh).
    pub fn ended(&mut self, name: &str) {
        self.status(name, 0);
        let state = self.text(&format!("{name}.state"));
        self.equal(&format!("state after {name}"), state.as_str(), "disabled");
    }

    /// The kernel's log holds no trouble, and of sched_ext no word but that it came and went.
    pub fn clean_dmesg(&mut self) {
        self.clean_dmesg_but(&[]);
    }

    /// The same, with more words that sched_ext may say.
    pub fn clean_dmesg_but(&mut self, more: &[&str]) {
        let expected = |line: &str| {
            more.iter().any(|text| line.contains(text))
                || line.contains("cpu.weight")
                || line.ends_with("enabled")
                || line.contains("disabled (unregistered from user space)")
        };
        let trouble = |line: &&str| match line.contains("sched_ext:") {
            true => !expected(line),
            false => TROUBLE.iter().any(|word| line.contains(word)),
        };
        let lines: Vec<_> = self.dmesg.lines().filter(trouble).collect();
        let text = format!("the kernel's log has:\n  {}", lines.join("\n  "));
        self.check(lines.is_empty(), text);
    }

    /// Every stage closes as counters.h says.  `moving`: decisions that may be under way while the
    /// counters are read.
    pub fn closes(&mut self, what: &str, counts: &Counts, moving: u64) {
        let searches = counts.stage("search");
        let opaque = counts.sum(&["search.scx_idle", "search.scx_prev"]);
        let affine = counts.stage("affine");
        let outcome = counts.stage("outcome");
        let apart = |a: u64, b: u64| a.abs_diff(b) <= moving;
        self.check(
            apart(affine + opaque, searches),
            format!("{what}: affine {affine} + scx_default {opaque} is not search {searches}"),
        );
        self.check(
            apart(outcome + opaque, searches),
            format!("{what}: outcome {outcome} + scx_default {opaque} is not search {searches}"),
        );
        let forks = ["fork", "fork_depth", "fork_top"].map(|stage| counts.stage(stage));
        self.check(
            apart(forks[0], forks[1]) && apart(forks[0], forks[2]),
            format!("{what}: fork, fork_depth and fork_top are {forks:?}"),
        );
        let claims = ["claim.won", "claim.fork", "search.scx_idle"];
        let ends = ["enqueue.direct", "event.kick_claimed"];
        let (claimed, ended) = (counts.sum(&claims), counts.sum(&ends));
        // The policy may change between a task's placement and its arrival.
        self.check(
            claimed.abs_diff(ended) <= moving + CPUS,
            format!("{what}: {claims:?} are {claimed}, {ends:?} {ended}"),
        );
        for name in ["event.slot_mismatch", "enqueue.no_record"] {
            self.equal(&format!("{what}: {name}"), counts.get(name), 0);
        }
    }

    /// The run count that the kernel keeps of select_cpu lies between the placements counted before
    /// and after it was read (see `bracket` of lib.sh).  Each CPU may have counted a placement
    /// whose run has not ended.
    pub fn bracketed(&mut self, name: &str) {
        let (before, after) = (
            self.stats(&format!("{name}.before")).total(),
            self.stats(&format!("{name}.after")).total(),
        );
        let program = self.json(&format!("{name}.program"));
        let runs = program["run_cnt"].as_u64().unwrap_or(0);
        let (low, high) = (before.placements(), after.placements());
        let text = format!(
            "{name}: select_cpu ran {runs} times, counted were {low} before and {high} after"
        );
        println!("{text}");
        self.check(low <= runs + CPUS && runs <= high, text);
        self.closes(name, &after, CPUS);
    }

    /// Panics with every check that failed.
    #[track_caller]
    pub fn finish(&mut self) {
        if self.failed.is_empty() {
            println!("{}: {} checks", self.name, self.checked);
            return;
        }
        let tail = |text: &str, lines: usize| {
            let all: Vec<_> = text.lines().collect();
            all[all.len().saturating_sub(lines)..].join("\n  ")
        };
        panic!(
            "{}: {} checks failed:\n- {}\nthe scheduler's log ends:\n  {}\nthe guest's output ends:\n  {}\nthe kernel's log ends:\n  {}",
            self.name,
            self.failed.len(),
            self.failed.join("\n- "),
            tail(self.files.get("log").map_or("", String::as_str), 15),
            tail(&self.stdout, 15),
            tail(&self.dmesg, 5),
        );
    }
}
