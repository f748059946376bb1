// SPDX-License-Identifier: GPL-2.0-only

//! Requests and replies, and their form on the wire.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::counters::Counters;
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
    /// The counters.
    Stats,
    /// Whether it is on, since when.
    Status,
}

/// What the scheduler answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", content = "body", rename_all = "snake_case")]
pub enum Response {
    Policy(PolicyReport),
    Stats(StatsReport),
    Status(StatusReport),
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
