// SPDX-License-Identifier: GPL-2.0-only

//! The command as its users meet it, as far as that needs no kernel with sched_ext: messages, exit
//! codes, and the subcommands against a scheduler whose BPF program is plain memory.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use scx_place::bpf_intf::place_policy;
use scx_place::control::Server;
use scx_place::counters::Counts;
use scx_place::cpus::CpuState;
use scx_place::engine::{Engine, NR_SLOTS};
use scx_place::level::Level;
use scx_place::policy::table::table;
use scx_place::policy::Policy;
use scx_place::service::{self, State};
use scx_place::stats::metrics;

/// A user that is not root on any machine.
const NOBODY: u32 = 65534;

/// A directory of its own, removed at the end.
struct Dir(PathBuf);

impl Dir {
    fn new() -> Dir {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("scx_place-cli-{}-{n}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        Dir(dir)
    }

    fn socket(&self) -> PathBuf {
        self.0.join("control.sock")
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A program that counts ten searches of each kind whenever a policy is published.
struct Memory(Vec<Counts>);

impl Engine for Memory {
    fn publish(&mut self, slot: u32, policy: &place_policy) -> anyhow::Result<()> {
        assert!(policy.checksum != 0);
        let slot = &mut self.0[slot as usize].counters;
        for counter in &table().counters {
            slot.set(counter.id, slot.get(counter.id) + 10);
        }
        Ok(())
    }

    fn set_sampling(&mut self, _word: u32) {}

    fn set_shadow(&mut self, policy: &place_policy) {
        assert!(policy.checksum != 0);
    }

    fn record_map(&self) -> anyhow::Result<u32> {
        anyhow::bail!("plain memory has no ring buffer")
    }

    fn read_counts(&self, slot: u32) -> Counts {
        self.0[slot as usize].clone()
    }

    fn set_level(&mut self, level: Level) {
        if level == Level::Full {
            let latency = &mut self.0[0].latency;
            latency.set("branch.search.core", 7, 64);
            latency.set("type.woken", 7, 64);
        }
    }

    fn read_cpus(&self) -> Vec<CpuState> {
        let cpu = |cpu| CpuState {
            cpu,
            longest_wait_ns: 1_000_000 * u64::from(cpu),
            ..CpuState::default()
        };
        (0..8).map(cpu).collect()
    }
}

/// Starts the server.  A child that another test has forked and that has not executed its program yet
/// holds this process's locks a moment longer.
fn start_when_free(socket: &std::path::Path) -> Server {
    let give_up = std::time::Instant::now() + Duration::from_secs(5);
    loop {
        match Server::start(socket) {
            Ok(server) => return server,
            Err(e) if std::time::Instant::now() >= give_up => panic!("{e:#}"),
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// A scheduler without a kernel.
struct Scheduler {
    dir: Dir,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Scheduler {
    fn start() -> Scheduler {
        Scheduler::start_in(Dir::new())
    }

    fn start_in(dir: Dir) -> Scheduler {
        let server = start_when_free(&dir.socket());
        let stop = Arc::new(AtomicBool::new(false));
        let stats_path = dir.0.join("stats");
        let thread = {
            let stop = stop.clone();
            thread::spawn(move || {
                let _stats = metrics::start(server.handle(), Some(&stats_path)).unwrap();
                let mut engine = Memory(vec![Counts::default(); NR_SLOTS as usize]);
                let mut state = State::new(Policy::default(), "place_test", None);
                state.attach(&mut engine, 8).unwrap();
                while !stop.load(Ordering::Relaxed) {
                    let wait = state.wait(Duration::from_millis(20));
                    if let Some((request, responder)) = server.recv_timeout(wait) {
                        responder.send(service::handle(&mut state, &mut engine, request));
                    }
                }
                state.detach(&engine);
            })
        };
        Scheduler {
            dir,
            stop,
            thread: Some(thread),
        }
    }

    fn run(&self, args: &[&str]) -> Output {
        run_at(&self.dir.socket(), args)
    }

    /// Runs a command that must succeed.
    fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        text(&output.stdout)
    }
}

impl Scheduler {
    fn stop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        self.stop();
    }
}

fn command() -> Command {
    Command::new(env!("CARGO_BIN_EXE_scx_place"))
}

fn run_at(socket: &Path, args: &[&str]) -> Output {
    let mut command = command();
    command.env("SCX_PLACE_SOCKET", socket).args(args);
    command.output().unwrap()
}

/// Runs where no scheduler is.
fn run(args: &[&str]) -> Output {
    run_at(&Dir::new().socket(), args)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The one line of a failed command.
fn error(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    let error = text(&output.stderr);
    assert_eq!(error.lines().count(), 1, "{error}");
    let line = error.strip_prefix("scx_place: ");
    line.unwrap_or_else(|| panic!("{error}")).trim().to_string()
}

/// Runs a command as a user that is not root.  None: this user cannot start the program here.
fn as_nobody(mut command: Command) -> Option<Output> {
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.output().ok()
}

fn is_root() -> bool {
    scx_place::sys::effective_uid() == 0
}

#[test]
fn wrong_usage_exits_with_2() {
    for args in [
        &["fly"][..],
        &["policy", "fly"],
        &["policy", "set"],
        &["--stats", "0"],
        &["--fly"],
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains("error: "), "{args:?}");
    }
}

#[test]
fn version_and_help_need_nothing() {
    let version = text(&run(&["-V"]).stdout);
    let expected = format!("scx_place {}", env!("CARGO_PKG_VERSION"));
    assert!(version.starts_with(&expected), "{version}");

    let help = text(&run(&["--help"]).stdout);
    for axis in &table().axes {
        assert!(help.contains(axis.name), "{}", axis.name);
    }
    let help = text(&run(&["--help-stats"]).stdout);
    assert!(help.contains("budget_spent"), "{help}");
}

#[test]
fn list_needs_no_scheduler() {
    let list = text(&run(&["policy", "list"]).stdout);
    assert!(list.contains("wakeup_granularity_us"), "{list}");
    assert!(list.lines().all(|l| l.chars().count() <= 100), "{list}");

    let json = run(&["policy", "list", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["axes"].as_array().unwrap().len(), table().axes.len());
}

#[test]
fn no_running_scheduler() {
    for args in [
        &["policy"][..],
        &["policy", "set", "affine=off"],
        &["policy", "reset"],
        &["stats", "--json"],
    ] {
        assert_eq!(
            error(&run(args)),
            "no running scx_place: start it with `sudo scx_place`",
            "{args:?}"
        );
    }
    assert!(error(&run(&["status"])).starts_with("off: "));
}

#[test]
fn invalid_items_say_what_is_valid() {
    let set = |item| error(&run(&["policy", "set", item]));
    assert_eq!(
        set("idle_serach=none"),
        "no axis or parameter `idle_serach`; did you mean `idle_search`?"
    );
    assert!(set("idle_search=sis_moder").contains("did you mean `sis_modern`?"));
    assert!(set("latency_us=0").contains("valid: 100 to 200000 (us)"));
    // The same when the scheduler is started with it, before anything else is looked at.
    assert!(error(&run(&["-p", "affine=up"])).contains("not a value of affine"));
}

#[test]
fn not_root_is_told_so() {
    let Some(output) = as_nobody(command()) else {
        return;
    };
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        error.starts_with("scx_place: not root: start it with `sudo scx_place`"),
        "{error}"
    );
}

#[test]
fn policy_of_a_running_scheduler() {
    let scheduler = Scheduler::start();
    let policy = scheduler.ok(&["policy"]);
    assert!(policy.starts_with("generation 1 since "), "{policy}");
    assert!(policy.lines().all(|l| l.chars().count() <= 100), "{policy}");

    let changed = scheduler.ok(&["policy", "set", "affine=off", "wa_idle=0,claim=test_only"]);
    assert!(changed.starts_with("generation 2 since "), "{changed}");
    assert!(
        changed.ends_with(": affine=off claim=test_only wa_idle=0\n"),
        "{changed}"
    );
    let policy = scheduler.ok(&["policy"]);
    println!("{policy}");
    assert!(policy.contains("generation 2"), "{policy}");

    // One invalid item among valid ones: nothing changes.
    let failed = scheduler.run(&["policy", "set", "affine=always", "wa_idle=2"]);
    assert_eq!(
        error(&failed),
        "wa_idle: 2 is out of range; valid: 0 to 1 (switch)"
    );
    assert_eq!(scheduler.ok(&["policy"]), policy);
    assert_eq!(
        scheduler.ok(&["policy", "set", "affine=off"]),
        "generation 2: no change\n"
    );

    let json = scheduler.ok(&["policy", "reset", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["generation"], 3);
    assert_eq!(json["policy"]["axes"]["affine"]["value"], "wa_414");
    assert_eq!(json["policy"]["axes"]["affine"]["from"], "default");
}

/// One change after the other, without a new process for each; the first bad line ends it.
#[test]
fn policy_set_reads_lines() {
    let scheduler = Scheduler::start();
    let set = |lines: &str| {
        let mut command = command();
        command.env("SCX_PLACE_SOCKET", scheduler.dir.socket());
        let mut child = command
            .args(["policy", "set", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(lines.as_bytes())
            .unwrap();
        child.wait_with_output().unwrap()
    };
    let output = set("affine=off\n\n# back\n  affine=always   wa_idle=0 \n");
    assert!(output.status.success(), "{output:?}");
    let changes = text(&output.stdout);
    let ends: Vec<_> = changes
        .lines()
        .map(|l| l.rsplit(": ").next().unwrap())
        .collect();
    assert_eq!(ends, ["affine=off", "affine=always wa_idle=0"]);

    let output = set("claim=test_only\nclaim=none\nclaim=test_and_clear\n");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let why = text(&output.stderr);
    assert!(
        why.starts_with("scx_place: line 2: `none` is not a value of claim"),
        "{why}"
    );
    let policy = scheduler.ok(&["policy"]);
    assert!(policy.starts_with("generation 4 "), "{policy}");
}

#[test]
fn stats_of_a_running_scheduler() {
    let scheduler = Scheduler::start();
    scheduler.ok(&["policy", "set", "idle_search=mainline_46"]);
    scheduler.ok(&["policy", "set", "affine=off"]);

    let stats = scheduler.ok(&["stats"]);
    println!("{stats}");
    assert!(stats.starts_with("generation 3 since "), "{stats}");
    let by_generation = scheduler.ok(&["stats", "--by-generation"]);
    println!("{by_generation}");
    assert!(by_generation.contains("affine=off"), "{by_generation}");

    let json: serde_json::Value =
        serde_json::from_str(&scheduler.ok(&["stats", "--json"])).unwrap();
    assert_eq!(json["generation"], 3);
    assert_eq!(json["total"]["counters"]["search"]["core"], 30);
    assert_eq!(json["in_force"]["counters"]["search"]["core"], 10);
    assert_eq!(
        json["generations"][1]["policy"]["idle_search"],
        "mainline_46"
    );
}

#[test]
fn level_of_a_running_scheduler() {
    let scheduler = Scheduler::start();
    let json =
        |args: &[&str]| -> serde_json::Value { serde_json::from_str(&scheduler.ok(args)).unwrap() };
    assert_eq!(scheduler.ok(&["stats", "level"]), "counters\n");
    assert_eq!(scheduler.ok(&["stats", "level", "off"]), "off\n");
    assert_eq!(
        json(&["status", "--json"])["scheduler"]["stats_level"],
        "off"
    );
    let refused = scheduler.run(&["shadow", "affine=off"]);
    assert!(error(&refused).contains("stats level counters"));
    let none = scheduler.ok(&["stats", "--latency"]);
    assert!(none.contains("stats level full"), "{none}");
    assert_eq!(json(&["stats", "level", "full", "--json"])["level"], "full");
    scheduler.ok(&["shadow", "affine=off"]);
    let refused = scheduler.run(&["stats", "level", "off"]);
    assert!(error(&refused).contains("end it first"));

    let table = scheduler.ok(&["stats", "--latency"]);
    println!("{table}");
    assert!(table.contains("search.core"), "{table}");
    let cpus = scheduler.ok(&["stats", "--cpus"]);
    println!("{cpus}");
    assert_eq!(cpus.lines().count(), 9, "{cpus}");
    assert!(scheduler.ok(&["stats"]).contains("7.0 ms (CPU 7)"));

    let stats = json(&["stats", "--json"]);
    assert_eq!(stats["level"], "full");
    assert_eq!(stats["longest_wait_ns"], 7_000_000);
    let woken = &stats["total"]["latency"]["by_type"]["woken"];
    assert_eq!(
        (&woken["count"], &woken["p50_us"]),
        (&64.into(), &96.0.into())
    );
    assert_eq!(woken["buckets"][7]["to_us"], 128);
    assert_eq!(
        stats["in_force"]["latency"]["by_branch"]["search.core"]["count"],
        64
    );
}

#[test]
fn status_of_a_running_scheduler() {
    let scheduler = Scheduler::start();
    let status = scheduler.ok(&["status"]);
    println!("{status}");
    assert!(status.contains("place_test"), "{status}");
    let json: serde_json::Value =
        serde_json::from_str(&scheduler.ok(&["status", "--json"])).unwrap();
    // The kernel of this machine does not run it.
    assert_eq!(json["on"], false);
    assert_eq!(json["scheduler"]["nr_cpus"], 8);
}

#[test]
fn metrics_are_served_to_root_only() {
    let scheduler = Scheduler::start();
    scheduler.ok(&["policy", "set", "affine=off"]);
    let path = scheduler.dir.0.join("stats");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);

    let mut client = scx_stats::StatsClient::new()
        .set_path(&path)
        .connect(None)
        .unwrap();
    let first: metrics::Metrics = client.request("stats", vec![]).unwrap();
    assert_eq!(first.generation, 2);
    // Nothing was counted since the connection was made.
    assert_eq!(first.core_hit, 0);
    scheduler.ok(&["policy", "set", "affine=always"]);
    let second: metrics::Metrics = client.request("stats", vec![]).unwrap();
    assert_eq!(second.core_hit, 10);
    assert_eq!(second.branches["search.core"].count, 10);
}

/// The directory keeps others out; should it not, the socket does.
#[test]
fn others_than_root_are_refused() {
    if !is_root() {
        return;
    }
    let scheduler = Scheduler::start();
    let ask = |args: &[&str]| {
        let mut command = command();
        command.env("SCX_PLACE_SOCKET", scheduler.dir.socket());
        command.args(args);
        as_nobody(command)
    };
    let Some(output) = ask(&["policy"]) else {
        return;
    };
    assert_eq!(error(&output), "the control socket is root only: try sudo");

    for (path, mode) in [(&scheduler.dir.0, 0o755), (&scheduler.dir.socket(), 0o666)] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }
    let output = ask(&["policy", "set", "affine=off"]).unwrap();
    assert_eq!(error(&output), "the control socket is root only: try sudo");
    assert!(scheduler.ok(&["policy"]).starts_with("generation 1 "));
}

/// `--monitor` waits for a scheduler, prints, survives its end, and ends well itself.
#[test]
fn monitor_survives_a_restart() {
    let dir = Dir::new();
    let mut monitor = command()
        .env("SCX_PLACE_SOCKET", dir.socket())
        .args(["--monitor", "0.1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(monitor.stdout.take().unwrap()).lines();
    let mut wait_for = |text: &str| {
        let found = lines.any(|line| line.unwrap().contains(text));
        assert!(found, "the monitor ended before {text:?}");
    };

    // Its directory must outlive the first scheduler.
    let keep = dir.0.clone();
    let mut first = Scheduler::start_in(dir);
    wait_for("generation 1 since");
    first.ok(&["policy", "set", "affine=off"]);
    wait_for("generation 2 since");
    first.stop();
    let second = Scheduler::start_in(Dir(keep));
    wait_for("another scx_place has started");
    wait_for("generation 1 since");

    let pid = monitor.id().to_string();
    assert!(Command::new("kill").arg(&pid).status().unwrap().success());
    assert_eq!(monitor.wait().unwrap().code(), Some(0));
    drop(second);
}

/// A reader that ends early is no failure.
#[test]
fn closed_output_is_no_error() {
    let mut child = command()
        .args(["policy", "list"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn replay_says_what_is_wrong_with_a_file() {
    let dir = Dir::new();
    let path = dir.0.join("x.rec");
    let replay = |args: &[&str]| {
        let args: Vec<_> = ["replay", path.to_str().unwrap()]
            .into_iter()
            .chain(args.iter().copied())
            .collect();
        run(&args)
    };
    assert!(error(&replay(&[])).contains("opening"));
    std::fs::write(&path, "no recording").unwrap();
    assert!(error(&replay(&[])).ends_with("it does not begin with SCXPLACE"));
    // What is wrong with the arguments comes first.
    assert!(error(&replay(&["--all", "idle_serach"])).contains("did you mean `idle_search`?"));
    assert!(error(&replay(&["--all", "balance"])).contains("does not decide where"));
    assert!(error(&replay(&["-p", "affine=up"])).contains("not a value of affine"));
    assert_eq!(
        replay(&["-p", "affine=off", "--all", "affine"])
            .status
            .code(),
        Some(2)
    );
}

#[test]
fn shadow_of_a_running_scheduler() {
    let scheduler = Scheduler::start();
    assert_eq!(scheduler.ok(&["shadow"]), "no shadow policy\n");
    let set = scheduler.ok(&[
        "shadow",
        "idle_search=mainline_46",
        "affine=off",
        "--sample",
        "1/5",
    ]);
    assert!(
        set.contains("1/5 of the wakeups: idle_search=mainline_46 affine=off"),
        "{set}"
    );
    assert!(set.contains("shadow_idle.policy_only"), "{set}");
    let refused = scheduler.run(&["shadow", "idle_search=scx_default"]);
    assert!(error(&refused).contains("idle_search=scx_default is the kernel's own"));
    assert!(error(&scheduler.run(&["shadow", "affine=up"])).contains("not a value of affine"));

    let json: serde_json::Value =
        serde_json::from_str(&scheduler.ok(&["shadow", "--json"])).unwrap();
    assert_eq!(json["one_in"], 5);
    assert_eq!(json["counters"]["shadow"]["same_cpu"], 0);
    assert_eq!(scheduler.ok(&["shadow", "off"]), "no shadow policy\n");
    assert_eq!(scheduler.ok(&["shadow", "--json"]), "null\n");
}

/// Whoever is refused leaves no file behind.
#[test]
fn record_that_cannot_begin_writes_nothing() {
    let scheduler = Scheduler::start();
    let path = scheduler.dir.0.join("x.rec");
    let record = scheduler.run(&["record", "--out", path.to_str().unwrap()]);
    assert_eq!(error(&record), "plain memory has no ring buffer");
    assert!(!path.exists());
}
