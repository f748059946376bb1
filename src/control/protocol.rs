// SPDX-License-Identifier: GPL-2.0-only

//! Requests and replies, and their form on the wire.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::counters::Counters;
use crate::cpus::CpuState;
use crate::latency::Latency;
use crate::level::Level;
use crate::policy::Policy;

/// Of the protocol; another one is refused.
pub const VERSION: u32 = 1;

/// What a client can ask for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// The policy in force.
    PolicyGet,
    /// Set items (`name=value`), all or none.
    PolicySet { items: Vec<String> },
    /// Back to the policy the scheduler was started with.
    PolicyReset,
    /// The counters, the latencies and the state of the CPUs.
    Stats,
    /// How much is counted.
    LevelGet,
    /// Count as much from now on.
    LevelSet { level: Level },
    /// Whether it is on, since when.
    Status,
    /// Reserve the recording of one in so many placements; nothing is sampled yet.
    RecordOpen { one_in: u32 },
    /// The first one begins to sample, each one says that the recorder lives.  `known`: the newest
    /// generation whose policy it has; 0: none.
    RecordPoll { id: u64, known: u32 },
    /// Sample no more; when the answer comes, nothing will be written to the buffer any more.
    RecordStop { id: u64 },
    /// What is evaluated beside the policy in force.
    ShadowGet,
    /// Evaluate the policy in force with these items beside it, for one in so many wakeups.
    ShadowSet { items: Vec<String>, one_in: u32 },
    /// Evaluate nothing beside it.
    ShadowOff,
}

/// What the scheduler answers.
#[allow(
    clippy::large_enum_variant,
    reason = "one answer at a time, which is never stored"
)]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", content = "body", rename_all = "snake_case")]
pub enum Response {
    Policy(PolicyReport),
    Stats(StatsReport),
    Level(Level),
    Status(StatusReport),
    Recording(RecordingReport),
    Shadow(Option<ShadowReport>),
    /// One line; nothing was changed.
    Error(String),
}

/// The policy in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PolicyReport {
    pub generation: u32,
    /// When the generation began, in microseconds since 1970, UTC.
    pub since_us: u64,
    /// The settings that this request changed, `name=value`.
    pub changed: Vec<String>,
    pub policy: Policy,
}

/// What was counted under one policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GenerationReport {
    pub generation: u32,
    /// When it began, in microseconds since 1970, UTC.
    pub since_us: u64,
    /// When it ended; none while it is in force.
    pub until_us: Option<u64>,
    /// The settings that the generation before had differently, `name=value`.
    pub changed: Vec<String>,
    pub policy: Policy,
    pub counters: Counters,
    #[serde(default)]
    pub latency: Latency,
}

/// What was counted since the scheduler started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatsReport {
    /// When it was read, in microseconds since 1970, UTC.
    pub at_us: u64,
    /// When the scheduler started, likewise; with `pid` it tells two of them apart.
    pub started_us: u64,
    pub pid: u32,
    /// The newest generations, oldest first, the one in force last; never empty.
    pub generations: Vec<GenerationReport>,
    /// All generations together, also those no longer listed.
    pub total: Counters,
    #[serde(default)]
    pub latency: Latency,
    /// How much is counted now.
    #[serde(default)]
    pub level: Level,
    /// The CPUs that are online.
    #[serde(default)]
    pub cpus: Vec<CpuState>,
}

impl StatsReport {
    /// The generation in force.
    pub fn current(&self) -> Option<&GenerationReport> {
        self.generations.last()
    }

    /// Whether `other` is of the same scheduler process.
    pub fn same_instance(&self, other: &StatsReport) -> bool {
        (self.started_us, self.pid) == (other.started_us, other.pid)
    }
}

/// Whether it is on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatusReport {
    /// The name the kernel knows it by.
    pub ops: String,
    pub version: String,
    pub pid: u32,
    /// When it started, in microseconds since 1970, UTC.
    pub started_us: u64,
    pub generation: u32,
    /// When the generation began, likewise.
    pub since_us: u64,
    /// CPUs online.
    pub nr_cpus: u32,
    /// How often it was loaded again, as after a change of the CPUs online.
    pub restarts: u32,
    /// How much is counted.
    #[serde(default)]
    pub stats_level: Level,
}

/// The state of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordingReport {
    /// Names the recording in later requests.
    pub id: u64,
    /// The kernel's number of the ring buffer, which root can open by it.
    pub map: u32,
    /// CPUs online, on which a policy's derived constants depend.
    pub nr_cpus: u32,
    /// The policies that the recorder does not know yet, oldest first.
    pub policies: Vec<GenerationPolicy>,
    /// Since sampling began: records written, lost because the buffer was full, and placements that
    /// no rule of this program decided.
    pub written: u64,
    pub dropped: u64,
    pub opaque: u64,
}

/// The policy of a generation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GenerationPolicy {
    pub generation: u32,
    pub policy: Policy,
}

/// A policy that is evaluated beside the one in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShadowReport {
    pub policy: Policy,
    /// What it has differently from the policy in force when it was set, `name=value`.
    pub changed: Vec<String>,
    pub one_in: u32,
    /// Since when, in microseconds since 1970, UTC.
    pub since_us: u64,
    /// What was counted since then; the stages `shadow` and `shadow_idle` compare the two.
    pub counters: Counters,
}

/// A request or response with the version before it.
#[derive(Serialize)]
struct Envelope<'a, T> {
    version: u32,
    #[serde(flatten)]
    content: &'a T,
}

/// One line, with its line break.
pub(super) fn encode<T: Serialize>(content: &T) -> serde_json::Result<Vec<u8>> {
    let version = VERSION;
    let mut line = serde_json::to_vec(&Envelope { version, content })?;
    line.push(b'\n');
    Ok(line)
}

/// Reads one line.  The error is one line of its own.
pub(super) fn decode<T: for<'a> Deserialize<'a>>(line: &[u8]) -> Result<T, String> {
    let value: Value = serde_json::from_slice(line).map_err(|e| format!("not JSON: {e}"))?;
    match value.get("version").and_then(Value::as_u64) {
        Some(v) if v == u64::from(VERSION) => {}
        Some(v) => {
            return Err(format!(
                "version {v} of the control protocol, but {VERSION} is spoken here: \
                 use the scx_place of the running scheduler"
            ))
        }
        None => return Err("no version".into()),
    }
    serde_json::from_value(value).map_err(|e| format!("not understood: {e}"))
}
