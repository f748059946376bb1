// SPDX-License-Identifier: GPL-2.0-only

//! The control socket: how the subcommands reach a running scheduler.
//!
//! A Unix stream socket that only root can use.  A connection carries one request and one reply,
//! each one line of JSON:
//!
//! ```text
//! {"version":1,"request":"policy_set","items":["affine=off"]}
//! {"version":1,"reply":"policy","body":{"generation":2,...}}
//! ```
//!
//! The server's threads only read, check and write; requests wait in a short queue for the
//! scheduler's own thread, the only one that touches BPF state.

mod client;
mod protocol;
mod server;

use std::path::PathBuf;

pub use client::{call, ClientError};
pub use protocol::{
    GenerationPolicy, GenerationReport, PolicyReport, RecordingReport, Request, Response,
    ShadowReport, StatsReport, StatusReport, VERSION,
};
pub use server::{Handle, Responder, Server};

/// Where the socket is, unless told otherwise.
pub const DEFAULT_PATH: &str = "/run/scx_place/control.sock";

/// The environment variable that names another socket, for tests.
pub const PATH_VARIABLE: &str = "SCX_PLACE_SOCKET";

/// The socket to use: the option, else the environment variable, else [`DEFAULT_PATH`].
pub fn path(option: Option<PathBuf>) -> PathBuf {
    let variable = || std::env::var_os(PATH_VARIABLE).map(PathBuf::from);
    option
        .or_else(variable)
        .unwrap_or_else(|| DEFAULT_PATH.into())
}

#[cfg(test)]
mod tests;
