// SPDX-License-Identifier: GPL-2.0-only

//! The usual scx_stats socket, which scxtop and the OpenMetrics script read: what was counted since
//! the same client's last reading, as flat numbers and one map of all branches.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail, Context, Result};
use scx_stats::prelude::*;
use scx_stats_derive::{stat_doc, Stats};
use serde::{Deserialize, Serialize};

use crate::control::{Handle, Request, Response, StatsReport};
use crate::counters::{derived, percent, Counters};
use crate::cpus::longest_wait;
use crate::policy::table::table;

/// One branch of one stage.
#[stat_doc]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Stats)]
#[stat(
    desc = "branch of a decision",
    _om_prefix = "branch_",
    _om_label = "branch"
)]
pub struct BranchMetrics {
    #[stat(desc = "how often it was taken")]
    pub count: u64,
    #[stat(desc = "% of the decisions of its stage")]
    pub share: f64,
}

/// Everything, over one interval.
#[stat_doc]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Stats)]
#[stat(desc = "scx_place statistics", top)]
pub struct Metrics {
    #[stat(desc = "time of the reading, us since 1970")]
    pub at_us: u64,
    #[stat(desc = "generation of the policy in force")]
    pub generation: u64,
    #[stat(desc = "calls of select_cpu")]
    pub placements: u64,
    #[stat(desc = "wakeups that looked for an idle CPU")]
    pub searches: u64,
    #[stat(desc = "searches that came to the scan of the cache")]
    pub domain_searches: u64,
    #[stat(desc = "CPUs that linear scans would have visited")]
    pub scanned: u64,
    #[stat(desc = "scanned CPUs per domain search")]
    pub scanned_per_domain_search: f64,
    #[stat(desc = "searches that ended without an idle CPU")]
    pub failed: u64,
    #[stat(desc = "% of the searches that found an idle CPU")]
    pub success_rate: f64,
    #[stat(desc = "searches that found a fully idle core")]
    pub core_hit: u64,
    #[stat(desc = "searches that expected a fully idle core and found none")]
    pub core_miss: u64,
    #[stat(desc = "searches that found the recently used CPU idle")]
    pub recent_hit: u64,
    #[stat(desc = "changes of a task's CPU")]
    pub migrations: u64,
    #[stat(desc = "wakeup latency that half of the wakeups did not exceed, us (level full)")]
    pub latency_p50_us: f64,
    #[stat(desc = "wakeup latency that 99 % of the wakeups did not exceed, us (level full)")]
    pub latency_p99_us: f64,
    #[stat(desc = "longest wait in a CPU's queue since the program was loaded, ms")]
    pub longest_wait_ms: f64,
    #[stat(desc = "every counter, by stage.branch")]
    pub branches: BTreeMap<String, BranchMetrics>,
}

impl Metrics {
    /// What was counted between two readings; since the start without a `last` of the same
    /// scheduler.
    pub fn between(report: &StatsReport, last: Option<&StatsReport>) -> Metrics {
        let last = last.filter(|l| l.same_instance(report));
        let (counters, latency) = match last {
            Some(last) => (
                report.total.since(&last.total),
                report.latency.since(&last.latency),
            ),
            None => (report.total.clone(), report.latency.clone()),
        };
        let d = derived(&counters);
        let waits = latency.all();
        let longest = longest_wait(&report.cpus).map_or(0, |c| c.longest_wait_ns);
        let migration = table().stages.iter().find(|s| s.name == "migration");
        Metrics {
            at_us: report.at_us,
            generation: report.current().map_or(0, |g| g.generation.into()),
            placements: d.placements,
            searches: d.searches,
            domain_searches: d.domain_searches,
            scanned: d.scanned,
            scanned_per_domain_search: d.scanned_per_domain_search,
            failed: d.failed,
            success_rate: d.success_rate,
            core_hit: d.core_hit,
            core_miss: d.core_miss,
            recent_hit: d.recent_hit,
            migrations: migration.map_or(0, |s| counters.stage_sum(s)),
            latency_p50_us: waits.percentile_us(50.0).unwrap_or_default(),
            latency_p99_us: waits.percentile_us(99.0).unwrap_or_default(),
            longest_wait_ms: longest as f64 / 1e6,
            branches: branches(&counters),
        }
    }
}

fn branches(counters: &Counters) -> BTreeMap<String, BranchMetrics> {
    let t = table();
    let branches = t.counters.iter().map(|counter| {
        let stage = &t.stages[counter.stage];
        let count = counters.get(counter.id);
        let share = match stage.closes() {
            true => percent(count, counters.stage_sum(stage)),
            false => 0.0,
        };
        let name = format!("{}.{}", stage.name, counter.name);
        (name, BranchMetrics { count, share })
    });
    branches.collect()
}

fn read(handle: &Handle) -> Result<StatsReport> {
    match handle.call(Request::Stats) {
        Response::Stats(report) => Ok(report),
        Response::Error(why) => bail!(why),
        _ => Err(anyhow!("an answer to another question")),
    }
}

/// Where the readers of every scx scheduler look.
const PATH: &str = "/var/run/scx/root/stats";

/// The running scx_stats server; when this is dropped it ends and its socket file goes.
pub struct Server {
    path: PathBuf,
    // Ends by connecting to the socket once more, so the file may go only after it.
    server: Option<StatsServer<(), ()>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.server.take();
        let _ = fs::remove_file(&self.path);
    }
}

/// Serves `/var/run/scx/root/stats`, or another path in tests.  The requests reach the scheduler's
/// thread like those of the control socket, so that the scheduler has one queue to read.
pub fn start(handle: Handle, path: Option<&Path>) -> Result<Server> {
    let open: Box<dyn StatsOpener<(), ()>> = Box::new(move |_| {
        let handle = handle.clone();
        let mut last = Some(read(&handle)?);
        let reader: Box<dyn StatsReader<(), ()>> = Box::new(move |_, _| {
            let report = read(&handle)?;
            let metrics = Metrics::between(&report, last.as_ref());
            last = Some(report);
            metrics.to_json()
        });
        Ok(reader)
    });
    let data = StatsServerData::new()
        .add_meta(Metrics::meta())
        .add_meta(BranchMetrics::meta())
        .add_ops("top", StatsOps { open, close: None });
    let path = path.unwrap_or(Path::new(PATH));
    let server = Server {
        path: path.into(),
        server: Some(StatsServer::new(data).set_path(path).launch()?),
    };
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))
        .with_context(|| format!("protecting {}", path.display()))?;
    Ok(server)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::latency::Latency;
    use crate::level::Level;

    fn report(at_us: u64, started_us: u64, core: u64) -> StatsReport {
        let mut total = Counters::default();
        total.set(table().counter("search", "core").unwrap().id, core);
        StatsReport {
            at_us,
            started_us,
            pid: 1,
            generations: Vec::new(),
            total,
            latency: Latency::default(),
            level: Level::Full,
            cpus: Vec::new(),
        }
    }

    #[test]
    fn differences_survive_a_restart() {
        let first = report(10, 1, 100);
        let second = report(20, 1, 130);
        assert_eq!(Metrics::between(&first, None).core_hit, 100);
        assert_eq!(Metrics::between(&second, Some(&first)).core_hit, 30);
        let restarted = report(30, 25, 5);
        assert_eq!(Metrics::between(&restarted, Some(&second)).core_hit, 5);
    }

    #[test]
    fn latency_is_of_the_interval() {
        let (first, mut second) = (report(10, 1, 0), report(20, 1, 0));
        assert_eq!(Metrics::between(&first, None).latency_p99_us, 0.0);
        second.latency.set("type.woken", 7, 64);
        let between = Metrics::between(&second, Some(&first));
        assert_eq!(between.latency_p50_us, 96.0);
        let still = Metrics::between(&second, Some(&second.clone()));
        assert_eq!(still.latency_p50_us, 0.0);
    }

    #[test]
    fn every_counter_is_in_the_map() {
        let metrics = Metrics::between(&report(10, 1, 100), None);
        assert_eq!(metrics.branches.len(), table().counters.len());
        assert_eq!(metrics.branches["search.core"].share, 100.0);
        let json = metrics.to_json().unwrap();
        let back: Metrics = serde_json::from_value(json).unwrap();
        assert_eq!(back, metrics);
    }

    /// A scheduler that answers every question with a report, and its statistics socket.
    fn with_socket(test: impl FnOnce(&Path)) {
        let dir = std::env::temp_dir().join(format!("scx_place-metrics-{}", std::process::id()));
        let control = crate::control::Server::start(&dir.join("control.sock")).unwrap();
        let path = dir.join("stats");
        let stats = start(control.handle(), Some(&path)).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let answers = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                if let Some((_, responder)) = control.recv_timeout(Duration::from_millis(20)) {
                    responder.send(Response::Stats(report(10, 1, 100)));
                }
            }
        });
        test(&path);
        stop.store(true, Ordering::Relaxed);
        answers.join().unwrap();
        drop(stats);
        assert!(!path.exists(), "the socket was left behind");
        let _ = fs::remove_dir_all(&dir);
    }

    /// What the field of a struct's description is: a number, or a map of structs of that name.
    fn kind(field: &serde_json::Value) -> &str {
        let of_map = field.pointer("/dict/datum/struct");
        let found = field.get("datum").or(of_map).and_then(|kind| kind.as_str());
        found.unwrap_or_else(|| panic!("neither a number nor a map: {field}"))
    }

    /// As scxtop and the OpenMetrics script go about it: the description first, a line of JSON each
    /// way, then the numbers it promises, each a gauge with a name of its own.
    #[test]
    fn the_socket_describes_what_it_serves() {
        use std::io::{BufRead, BufReader, Write};

        with_socket(|path| {
            let stream = std::os::unix::net::UnixStream::connect(path).unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap());
            let mut ask = |request: &str| -> serde_json::Value {
                writeln!(&stream, r#"{{"req":"{request}","args":{{}}}}"#).unwrap();
                let mut line = String::new();
                lines.read_line(&mut line).unwrap();
                let reply: serde_json::Value = serde_json::from_str(&line).unwrap();
                assert_eq!(reply["errno"], 0, "{reply}");
                reply["args"]["resp"].clone()
            };
            let meta = ask("stats_meta");
            let structs = meta.as_object().unwrap();
            let top: Vec<_> = structs
                .values()
                .filter(|s| s.get("top").is_some())
                .collect();
            assert_eq!(top.len(), 1, "{meta}");
            for _ in 0..2 {
                let stats = ask("stats");
                let mut gauges = std::collections::BTreeSet::new();
                for (name, field) in top[0]["fields"].as_object().unwrap() {
                    assert!(field["desc"].is_string(), "{name}");
                    let value = &stats[name];
                    if matches!(kind(field), "u64" | "i64" | "float") {
                        assert!(value.is_number(), "{name}: {value}");
                        assert!(gauges.insert(name.clone()), "{name} twice");
                        continue;
                    }
                    let inner = &structs[kind(field)];
                    assert!(inner["user"]["_om_label"].is_string(), "{inner}");
                    let prefix = inner["user"]["_om_prefix"].as_str().unwrap();
                    for (name, field) in inner["fields"].as_object().unwrap() {
                        assert!(matches!(kind(field), "u64" | "float"), "{field}");
                        assert!(gauges.insert(format!("{prefix}{name}")), "{name} twice");
                        for (branch, value) in value.as_object().unwrap() {
                            assert!(value[name].is_number(), "{branch}: {value}");
                        }
                    }
                }
                assert_eq!(
                    stats.as_object().map(|s| s.len()),
                    top[0]["fields"].as_object().map(|f| f.len())
                );
            }
        });
    }
}
