//! `tools/vm` itself: the guest is the machine that was asked for, and its end is told truly.

mod common;

use common::{Scratch, Vm, LOST, NOT_STARTED, TIMED_OUT};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Prints the kernel's view and lscpu's, one `key value` a line.
const DESCRIBE: &str = r#"
cd /sys/devices/system
echo "kernel $(uname -r)"
echo "online $(cat cpu/online)"
for cpu in cpu/cpu[0-9]*; do
    echo "core $(cat $cpu/topology/core_cpus_list)"
    echo "package $(cat $cpu/topology/package_cpus_list)"
    echo "l2 $(cat $cpu/cache/index2/shared_cpu_list)"
    echo "l3 $(cat $cpu/cache/index3/shared_cpu_list)"
done
for node in node/node[0-9]*; do
    echo "node $(cat $node/cpulist)"
    echo "distance $(cat $node/distance)"
done
lscpu | sed -n 's/^\([A-Z][^:]*\): *\(.*\)$/lscpu \1=\2/p'
"#;

/// The distinct values of a key.
fn values(description: &str, key: &str) -> BTreeSet<String> {
    let prefix = format!("{key} ");
    description
        .lines()
        .filter_map(|line| line.strip_prefix(&prefix))
        .map(str::to_owned)
        .collect()
}

/// Asserts that a key has just these values.
#[track_caller]
fn assert_values(description: &str, key: &str, expected: &[&str]) {
    let expected = expected.iter().map(|value| value.to_string()).collect();
    assert_eq!(
        values(description, key),
        expected,
        "{key} in\n{description}"
    );
}

/// Asserts lines of lscpu's summary.
#[track_caller]
fn assert_lscpu(description: &str, expected: &[&str]) {
    let found = values(description, "lscpu");
    for line in expected {
        assert!(
            found.contains(*line),
            "lscpu does not say {line}:\n{description}"
        );
    }
}

/// The cores of a machine with two threads each: 0-1, 2-3, ...
fn pairs(cpus: u32) -> Vec<String> {
    (0..cpus)
        .step_by(2)
        .map(|first| format!("{first}-{}", first + 1))
        .collect()
}

#[track_caller]
fn assert_pairs(description: &str, key: &str, cpus: u32) {
    let pairs = pairs(cpus);
    assert_values(
        description,
        key,
        &pairs.iter().map(String::as_str).collect::<Vec<_>>(),
    );
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn smt8_is_four_cores_of_two_threads() {
    let seen = Vm::new()
        .kernel("6.18")
        .topology("smt8")
        .script(DESCRIBE)
        .success();
    assert!(
        values(&seen, "kernel")
            .iter()
            .all(|version| version.starts_with("6.18.")),
        "{seen}"
    );
    assert_values(&seen, "online", &["0-7"]);
    assert_pairs(&seen, "core", 8);
    assert_pairs(&seen, "l2", 8);
    assert_values(&seen, "l3", &["0-7"]);
    assert_values(&seen, "package", &["0-7"]);
    assert_values(&seen, "node", &["0-7"]);
    assert_lscpu(
        &seen,
        &[
            "CPU(s)=8",
            "Thread(s) per core=2",
            "Core(s) per socket=4",
            "Socket(s)=1",
            "NUMA node(s)=1",
        ],
    );
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn two_llc16_has_two_last_level_caches_in_one_node() {
    let seen = Vm::new()
        .kernel("7.3")
        .topology("2llc16")
        .script(DESCRIBE)
        .success();
    assert!(
        values(&seen, "kernel")
            .iter()
            .all(|version| version.starts_with("7.3.")),
        "{seen}"
    );
    assert_values(&seen, "online", &["0-15"]);
    assert_pairs(&seen, "core", 16);
    assert_values(&seen, "l3", &["0-7", "8-15"]);
    assert_values(&seen, "package", &["0-15"]);
    assert_values(&seen, "node", &["0-15"]);
    assert_lscpu(
        &seen,
        &[
            "CPU(s)=16",
            "Thread(s) per core=2",
            "Socket(s)=1",
            "NUMA node(s)=1",
        ],
    );
    assert!(
        seen.contains("(2 instances)"),
        "lscpu counts two L3 caches:\n{seen}"
    );
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn two_node16_is_two_nodes_of_four_cores_of_two_threads() {
    let seen = Vm::new()
        .kernel("6.18")
        .topology("2node16")
        .script(DESCRIBE)
        .success();
    assert_values(&seen, "online", &["0-15"]);
    assert_pairs(&seen, "core", 16);
    assert_values(&seen, "l3", &["0-7", "8-15"]);
    assert_values(&seen, "package", &["0-7", "8-15"]);
    assert_values(&seen, "node", &["0-7", "8-15"]);
    assert_values(&seen, "distance", &["10 21", "21 10"]);
    assert_lscpu(
        &seen,
        &[
            "CPU(s)=16",
            "Thread(s) per core=2",
            "Core(s) per socket=4",
            "Socket(s)=2",
            "NUMA node(s)=2",
        ],
    );
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn thirty_two_has_four_last_level_caches_in_two_nodes() {
    let seen = Vm::new()
        .kernel("7.3")
        .topology("32")
        .script(DESCRIBE)
        .success();
    assert_values(&seen, "online", &["0-31"]);
    assert_pairs(&seen, "core", 32);
    assert_values(&seen, "l3", &["0-7", "8-15", "16-23", "24-31"]);
    assert_values(&seen, "package", &["0-15", "16-31"]);
    assert_values(&seen, "node", &["0-15", "16-31"]);
    assert_lscpu(
        &seen,
        &[
            "CPU(s)=32",
            "Thread(s) per core=2",
            "Socket(s)=2",
            "NUMA node(s)=2",
        ],
    );
    assert!(
        seen.contains("(4 instances)"),
        "lscpu counts four L3 caches:\n{seen}"
    );
}

/// One boot shows that everything handed over arrives as it was, with CPUs offline, memory and nodes of one's own,
/// and the instruction clock.
#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn arguments_files_and_status_pass_unchanged() {
    const ODD: [&str; 9] = [
        "a b",
        "",
        "it's",
        "\"q\"",
        "$HOME `id`",
        "new\nline",
        "*",
        "\\",
        "--",
    ];
    const SCRIPT: &str = r#"
        printf '<%s>' "$@"
        echo
        cat /sys/devices/system/cpu/online /sys/devices/system/cpu/offline
        cat /sys/devices/system/node/node1/cpulist
        cat /tmp/in/file
        for tool in hackbench stress-ng perf bpftool lscpu taskset chrt bash busybox; do
            type -P $tool >/dev/null || echo "no $tool"
        done
        cat /sys/fs/cgroup/cgroup.subtree_control
        ls /boot/config-$(uname -r) >/dev/null && ls -d /sys/kernel/tracing/events/sched >/dev/null || exit 1
        ping -c 1 -q 127.0.0.1 >/dev/null || echo "no lo"
        mkdir /tmp/out && head -c 300000 /dev/urandom >/tmp/out/data
        sha256sum </tmp/out/data
        echo to stderr >&2
        exit 42"#;
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("in")).expect("a folder");
    fs::write(scratch.path("in/file"), "from the host\n").expect("a file");
    let mut arguments = vec!["bash", "-c", SCRIPT, "bash"];
    arguments.extend(ODD);
    let output = Vm::new()
        .topology("smp=4,sockets=2,cores=2;numa=0+2,1+3;dist=30")
        .clock("instructions")
        .memory("1G")
        .append("maxcpus=3")
        .file(scratch.path("in"), "/tmp/in")
        .get("/tmp/out", scratch.path("out"))
        .get("/proc/version", scratch.path("version"))
        .run(&arguments);
    let odd: String = ODD.iter().map(|argument| format!("<{argument}>")).collect();
    let expected = format!("{odd}\n0-2\n3\n1\nfrom the host\ncpu\n");
    assert_eq!(output.status, 42, "{output:#?}");
    let rest = output
        .stdout
        .strip_prefix(&expected)
        .unwrap_or_else(|| panic!("{output:#?}"));
    let data = fs::read(scratch.path("out/data")).expect("--get brings a folder");
    assert_eq!(data.len(), 300_000);
    let sum = std::process::Command::new("sha256sum")
        .arg(scratch.path("out/data"))
        .output()
        .expect("sha256sum");
    let sum = String::from_utf8(sum.stdout).expect("text");
    assert_eq!(rest, format!("{}  -\nto stderr\n", &sum[..64]));
    let version = fs::read_to_string(scratch.path("version")).expect("--get brings files of /proc");
    assert!(version.starts_with("Linux version 6.18."), "{version}");
    assert!(
        output.dmesg.contains("Linux version 6.18."),
        "{}",
        output.dmesg
    );
}

/// The output must come while the command runs, and a limit in time must end a guest that sleeps.
#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn output_streams_and_a_hanging_guest_times_out() {
    let mut child = Vm::new()
        .topology("1")
        .timeout(60)
        .command(&["bash", "-c", "echo first; sleep 3; echo second; sleep 1000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tools/vm starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe"))
        .lines()
        .map(|line| line.expect("text"));
    assert_eq!(lines.next().as_deref(), Some("first"));
    let first = Instant::now();
    assert_eq!(lines.next().as_deref(), Some("second"));
    assert!(
        first.elapsed() > Duration::from_secs(1),
        "both lines came at once"
    );
    assert_eq!(lines.next(), None);
    let output = child.wait_with_output().expect("tools/vm ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(TIMED_OUT), "{said}");
    assert!(
        said.contains("did not end within 60 s") && said.contains("console log: /"),
        "{said}"
    );
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn a_panic_is_a_failure_with_the_console_kept() {
    let output = Vm::new()
        .topology("1")
        .script("echo before; sleep 1; echo c >/proc/sysrq-trigger; sleep 100");
    assert_eq!(output.status, LOST, "{output:#?}");
    assert_eq!(output.stdout, "before\n");
    assert!(
        output.stderr.contains("the guest panicked: Kernel panic"),
        "{}",
        output.stderr
    );
    assert!(
        output.console().contains("sysrq triggered crash"),
        "{}",
        output.console()
    );
    assert!(output.dmesg.contains("Kernel panic"), "{}", output.dmesg);
}

/// The emulation itself makes a kernel panic now and then while it boots.
#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn a_panic_before_the_command_starts_gets_a_second_try() {
    let vm = Vm::new().topology("1");
    let output = vm.append("rdinit=/nonexistent").script("true");
    assert_eq!(output.status, LOST, "{output:#?}");
    let tries = output.stderr.matches("booting").count();
    assert_eq!(tries, 2, "{}", output.stderr);
    assert!(output.stderr.contains("once more"), "{}", output.stderr);
}

#[test]
#[ignore = "boots a virtual machine; tools/test runs it"]
fn an_early_power_off_is_a_failure_with_the_console_kept() {
    let output = Vm::new().topology("1").script("poweroff -f");
    assert_eq!(output.status, LOST, "{output:#?}");
    assert!(
        output.stderr.contains("powered off or restarted before"),
        "{}",
        output.stderr
    );
    assert!(
        output.console().contains("Power down"),
        "{}",
        output.console()
    );
}

/// Nothing boots here, but the kernels' index may have to be fetched.
#[test]
#[ignore = "fetches the index of kernels; tools/test runs it"]
fn unknown_names_are_answered_with_the_valid_ones() {
    let said = |vm: Vm| {
        let output = vm.run(&["true"]);
        assert_eq!(output.status, NOT_STARTED, "{output:#?}");
        assert_eq!(output.stdout, "");
        output.stderr
    };
    let topology = said(Vm::new().topology("3llc"));
    for name in ["3llc", "1 2 4 smt8 2llc16 2pkg16 2node16 32 48 60 64"] {
        assert!(topology.contains(name), "{topology}");
    }
    let kernel = said(Vm::new().kernel("9.99"));
    for name in ["9.99", " 6.18.", " 7.3.", "latest"] {
        assert!(kernel.contains(name), "{kernel}");
    }
    assert!(said(Vm::new().kernel("7.2")).contains("no sched_ext scheduler can be loaded"));
    assert!(said(Vm::new().kernel("6.12")).contains("without sched_ext"));
    assert!(said(Vm::new().topology("smp=8,sockets=3")).contains("not the 8 CPUs"));
    assert!(said(Vm::new().topology("smp=4;numa=0-1,1-3")).contains("CPU 1 is in two nodes"));
    assert!(said(Vm::new().topology("smp=4;numa=0-1,2")).contains("3 of 4 CPUs"));
    assert!(said(Vm::new().clock("wall")).contains("host or instructions"));
}
