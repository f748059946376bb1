// SPDX-License-Identifier: GPL-2.0-only

//! Machines that no emulator offers, as directories that look like their sysfs: each is laid out or
//! refused in one line, none is a panic.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{json, Value};

/// One CPU of a fake machine.
#[derive(Clone, Copy)]
struct Cpu {
    core: usize,
    package: usize,
    node: usize,
    /// Cache of level 3, and the number that sysfs gives it.
    l3: Option<(usize, Option<usize>)>,
    cluster: i64,
    online: bool,
}

/// A machine by CPU number, which may have holes.
type Fake = BTreeMap<usize, Cpu>;

/// `cores` cores of `threads` threads, CPU numbers core by core; a cache, package and node for each
/// `per_cache` cores.
fn machine(cores: usize, threads: usize, per_cache: usize) -> Fake {
    let cpus = (0..cores * threads).map(|id| {
        let core = id / threads;
        let package = core / per_cache;
        let cpu = Cpu {
            core,
            package,
            node: package,
            l3: Some((package, Some(package))),
            cluster: -1,
            online: true,
        };
        (id, cpu)
    });
    cpus.collect()
}

/// A sysfs in a directory of its own.
struct Sysfs(PathBuf);

impl Drop for Sysfs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Ascending numbers as the kernel writes them: `0-3,8`.
fn list(numbers: impl Iterator<Item = usize>) -> String {
    let numbers: Vec<_> = numbers.collect();
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let runs = runs.map(|run| match run {
        [one] => one.to_string(),
        run => format!("{}-{}", run[0], run[run.len() - 1]),
    });
    runs.collect::<Vec<_>>().join(",")
}

impl Sysfs {
    fn new(fake: &Fake) -> Sysfs {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("scx_place-sysfs-{}-{n}", std::process::id());
        let sysfs = Sysfs(std::env::temp_dir().join(name));
        let online = fake.iter().filter(|(_, c)| c.online).map(|(id, _)| *id);
        sysfs.write("cpu/online", &list(online));
        for (id, cpu) in fake {
            sysfs.write_cpu(*id, cpu, fake);
        }
        sysfs
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.join("sys/devices/system").join(file)
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    fn write_cpu(&self, id: usize, cpu: &Cpu, fake: &Fake) {
        let topology = format!("cpu/cpu{id}/topology");
        self.write(&format!("{topology}/core_id"), &cpu.core.to_string());
        self.write(
            &format!("{topology}/physical_package_id"),
            &cpu.package.to_string(),
        );
        self.write(&format!("{topology}/cluster_id"), &cpu.cluster.to_string());
        fs::create_dir_all(self.path(&format!("node/node{}/cpu{id}", cpu.node))).unwrap();
        let nodes = fake.values().map(|c| c.node).max().unwrap_or(0) + 1;
        let distance = (0..nodes).map(|n| if n == cpu.node { "10" } else { "20" });
        self.write(
            &format!("node/node{}/distance", cpu.node),
            &distance.collect::<Vec<_>>().join(" "),
        );
        let Some((cache, number)) = cpu.l3 else {
            return;
        };
        let sharing = |c: &Cpu| c.online && c.l3.is_some_and(|l| l.0 == cache);
        let shared = fake.iter().filter(|(_, c)| sharing(c)).map(|(id, _)| *id);
        let index = format!("cpu/cpu{id}/cache/index3");
        self.write(&format!("{index}/shared_cpu_list"), &list(shared));
        if let Some(number) = number {
            self.write(&format!("{index}/id"), &number.to_string());
        }
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scx_place"));
        command.env("SCX_SYSFS_PREFIX", &self.0).args(args);
        command.output().unwrap()
    }

    fn layout(&self) -> Value {
        let output = self.run(&["topology", "--json"]);
        assert!(output.status.success(), "{output:?}");
        let text = self.run(&["topology"]);
        assert!(text.status.success(), "{text:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// What each cache is made of.
fn caches(layout: &Value) -> Vec<(Value, Value)> {
    let caches = layout["caches"].as_array().unwrap();
    caches
        .iter()
        .map(|c| (c["cpus"].clone(), c["threads"].clone()))
        .collect()
}

fn levels(layout: &Value) -> Vec<String> {
    let levels = layout["levels"].as_array().unwrap();
    let name = |l: &Value| {
        let domains = l["domains"].as_array().unwrap().len();
        format!("{} {domains}", l["level"].as_str().unwrap())
    };
    levels.iter().map(name).collect()
}

#[test]
fn two_packages_with_threads() {
    let layout = Sysfs::new(&machine(4, 2, 2)).layout();
    assert_eq!(
        caches(&layout),
        [
            (json!([0, 1, 2, 3]), json!(2)),
            (json!([4, 5, 6, 7]), json!(2))
        ]
    );
    assert_eq!(levels(&layout), ["core 4", "last-level cache 2", "nodes 1"]);
    assert_eq!(layout["warnings"], json!([]));
}

#[test]
fn threads_switched_off() {
    let mut fake = machine(4, 2, 4);
    fake.values_mut()
        .skip(1)
        .step_by(2)
        .for_each(|c| c.online = false);
    let layout = Sysfs::new(&fake).layout();
    assert_eq!(caches(&layout), [(json!([0, 2, 4, 6]), json!(1))]);
    assert_eq!(layout["offline"], json!([1, 3, 5, 7]));
    assert_eq!(levels(&layout), ["last-level cache 1"]);
}

#[test]
fn four_and_eight_threads_a_core() {
    for threads in [4, 8] {
        let layout = Sysfs::new(&machine(3, threads, 3)).layout();
        assert_eq!(layout["caches"][0]["threads"], json!(threads));
        assert_eq!(layout["caches"][0]["cores"], json!(3));
        assert_eq!(layout["warnings"], json!([]));
    }
}

#[test]
fn a_thread_in_the_middle_of_a_core_is_offline() {
    let mut fake = machine(3, 4, 3);
    fake.get_mut(&5).unwrap().online = false;
    let layout = Sysfs::new(&fake).layout();
    let cpus = json!([0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]);
    assert_eq!(layout["caches"][0]["cpus"], cpus);
}

/// Each node's part is a cache of its own, as the kernel's domains have it.
#[test]
fn a_cache_over_two_nodes() {
    let mut fake = machine(4, 1, 2);
    fake.values_mut().for_each(|c| {
        c.package = 0;
        c.l3 = Some((0, Some(0)));
    });
    let layout = Sysfs::new(&fake).layout();
    assert_eq!(
        caches(&layout),
        [(json!([0, 1]), json!(1)), (json!([2, 3]), json!(1))]
    );
}

#[test]
fn no_caches_in_sysfs() {
    let mut fake = machine(4, 2, 2);
    fake.values_mut().for_each(|c| c.l3 = None);
    let layout = Sysfs::new(&fake).layout();
    assert_eq!(layout["caches"].as_array().unwrap().len(), 2);
}

#[test]
fn caches_without_numbers_and_with_the_same_ones() {
    let expected = caches(&Sysfs::new(&machine(4, 2, 2)).layout());
    for number in [None, Some(0)] {
        let mut fake = machine(4, 2, 2);
        fake.values_mut()
            .for_each(|c| c.l3 = c.l3.map(|(cache, _)| (cache, number)));
        assert_eq!(caches(&Sysfs::new(&fake).layout()), expected, "{number:?}");
    }
}

#[test]
fn holes_in_the_numbers() {
    let mut fake = machine(6, 1, 3);
    fake.remove(&1);
    fake.remove(&4);
    let layout = Sysfs::new(&fake).layout();
    assert_eq!(
        caches(&layout),
        [(json!([0, 2]), json!(1)), (json!([3, 5]), json!(1))]
    );
    assert_eq!(layout["nr_cpu_ids"], json!(6));
    assert_eq!(layout["offline"], json!([1, 4]));
}

#[test]
fn clusters_within_a_cache() {
    let mut fake = machine(4, 1, 4);
    fake.iter_mut()
        .for_each(|(id, c)| c.cluster = *id as i64 / 2);
    let layout = Sysfs::new(&fake).layout();
    assert_eq!(layout["caches"][0]["clusters"], json!(2));
    assert_eq!(levels(&layout), ["L2 cluster 2", "last-level cache 1"]);
}

#[test]
fn a_kernel_without_nodes() {
    let sysfs = Sysfs::new(&machine(4, 1, 4));
    fs::remove_dir_all(sysfs.path("node")).unwrap();
    assert_eq!(caches(&sysfs.layout()), [(json!([0, 1, 2, 3]), json!(1))]);
}

/// What cannot be handled, or read, is said in one line.
#[test]
fn refused_in_one_line() {
    let refused = |sysfs: &Sysfs, part: &str| {
        let output = sysfs.run(&["topology"]);
        let error = String::from_utf8(output.stderr.clone()).unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let last = error.lines().last().unwrap_or_default();
        assert!(last.starts_with("scx_place: "), "{error}");
        assert!(last.contains(part), "{error}");
        assert!(!error.contains("panicked"), "{error}");
    };
    refused(&Sysfs::new(&machine(1025, 1, 1025)), "up to 1024");

    let sysfs = Sysfs::new(&machine(2, 1, 2));
    fs::remove_file(sysfs.path("cpu/cpu1/topology/core_id")).unwrap();
    refused(&sysfs, "topology");

    let sysfs = Sysfs::new(&machine(2, 1, 2));
    fs::remove_file(sysfs.path("cpu/online")).unwrap();
    refused(&sysfs, "topology");

    let sysfs = Sysfs::new(&machine(2, 1, 2));
    sysfs.write("cpu/online", "");
    refused(&sysfs, "topology");

    let sysfs = Sysfs::new(&machine(2, 1, 2));
    fs::remove_dir_all(sysfs.path("")).unwrap();
    refused(&sysfs, "topology");
}

#[test]
fn the_largest_machine() {
    let layout = Sysfs::new(&machine(512, 2, 64)).layout();
    assert_eq!(layout["cpus"], json!(1024));
    assert_eq!(layout["caches"].as_array().unwrap().len(), 8);
}

/// The command's own view of the machine it runs on.
#[test]
fn this_machine() {
    if !Path::new("/sys/devices/system/cpu/online").exists() {
        return;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_scx_place"))
        .arg("topology")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("last-level cache"), "{text}");
}
