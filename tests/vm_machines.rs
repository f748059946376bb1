// SPDX-License-Identifier: GPL-2.0-only

//! The scheduler on machines of one CPU to 64, and with CPUs offline when it starts: it knows the
//! machine, schedules on it, and its counters agree.  The script is guest/machine.sh; tasks mostly
//! sleep, since all CPUs share one of the host's.

mod common;
mod guest;

use guest::NEW;

/// What `scx_place topology` must say.
struct Machine {
    topology: &'static str,
    cpus: u64,
    caches: usize,
    threads: u64,
    levels: &'static [&'static str],
}

fn check(machine: &Machine, offline: &[&str]) {
    let mut facts = guest::run("machine", NEW, machine.topology, offline);
    let layout = facts.json("topology");
    let online = machine.cpus - offline.len() as u64;
    facts.equal("CPUs", layout["cpus"].as_u64(), Some(online));
    let gone = layout["offline"].as_array().map_or(0, Vec::len);
    facts.equal("CPUs offline", gone, offline.len());
    let caches = layout["caches"].as_array().cloned().unwrap_or_default();
    facts.equal("caches", caches.len(), machine.caches);
    for cache in &caches {
        facts.equal(
            "threads a core",
            cache["threads"].as_u64(),
            Some(machine.threads),
        );
    }
    let levels = layout["levels"].as_array().cloned().unwrap_or_default();
    let levels: Vec<_> = levels.iter().filter_map(|l| l["level"].as_str()).collect();
    facts.equal("levels", levels.as_slice(), machine.levels);
    facts.equal("warnings", &layout["warnings"], &serde_json::json!([]));

    let ops = facts.text("ops");
    facts.check(ops.starts_with("place_"), format!("ops {ops:?}"));
    let state = facts.text("state");
    facts.equal("state", state.as_str(), "enabled");
    facts.bracketed("machine");
    let counts = facts.stats("machine.after").total();
    for name in ["search.target_idle", "enqueue.direct", "dispatch.idle"] {
        if machine.cpus > 1 {
            facts.check(counts.get(name) > 0, format!("{name} is 0"));
        }
    }
    facts.ended("int");
    facts.clean_dmesg();
    facts.finish();
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn one_two_and_four_cpus() {
    for (topology, cpus, levels) in [
        ("1", 1, &[][..]),
        ("2", 2, &["last-level cache"]),
        ("4", 4, &["last-level cache"]),
    ] {
        let machine = Machine {
            topology,
            cpus,
            caches: 1,
            threads: 1,
            levels,
        };
        check(&machine, &[]);
    }
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn two_caches_with_cpus_offline() {
    let machine = Machine {
        topology: "2llc16",
        cpus: 16,
        caches: 2,
        threads: 2,
        levels: &["core", "last-level cache", "node"],
    };
    check(&machine, &["3", "10", "11"]);
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn thirty_two_cpus() {
    let machine = Machine {
        topology: "32",
        cpus: 32,
        caches: 4,
        threads: 2,
        levels: &["core", "last-level cache", "node", "nodes"],
    };
    check(&machine, &[]);
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn forty_eight_cpus() {
    let machine = Machine {
        topology: "48",
        cpus: 48,
        caches: 2,
        threads: 2,
        levels: &["core", "last-level cache", "nodes"],
    };
    check(&machine, &[]);
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn sixty_cpus_in_four_nodes() {
    let machine = Machine {
        topology: "60",
        cpus: 60,
        caches: 4,
        threads: 1,
        levels: &["last-level cache", "nodes"],
    };
    check(&machine, &[]);
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn sixty_four_cpus() {
    let machine = Machine {
        topology: "64",
        cpus: 64,
        caches: 2,
        threads: 2,
        levels: &["core", "last-level cache", "nodes"],
    };
    check(&machine, &[]);
}
