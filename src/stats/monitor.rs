// SPDX-License-Identifier: GPL-2.0-only

//! `--monitor SEC`: prints what a running scheduler counts, and waits for one where there is none.

use std::path::Path;
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::time::Duration;

use anyhow::{bail, Context, Result};

use super::show;
use crate::commands::print;
use crate::control::{call, ClientError, Request, Response, StatsReport};

/// Prints the difference every `interval` until SIGINT or SIGTERM.
///
/// A scheduler that ends or restarts is waited for; no permission and other lasting errors end it.
pub fn run(socket: &Path, interval: Duration) -> Result<()> {
    let (sender, stop) = channel();
    ctrlc::set_handler(move || {
        let _ = sender.send(());
    })
    .context("waiting for signals")?;

    let mut last: Option<StatsReport> = None;
    let mut waiting = false;
    loop {
        match call(socket, &Request::Stats) {
            Ok(Response::Stats(report)) => {
                waiting = false;
                if let Some(last) = &last {
                    if !last.same_instance(&report) {
                        print("\nanother scx_place has started\n")?;
                    }
                    print(&format!("\n{}", show::interval(&report, Some(last))))?;
                }
                last = Some(report);
            }
            Ok(_) => bail!("an answer to another question"),
            Err(ClientError::NotRunning | ClientError::Io(_)) if !waiting => {
                waiting = true;
                eprintln!("scx_place is not running; waiting for it");
            }
            Err(ClientError::NotRunning | ClientError::Io(_)) => {}
            // Busy, or between two loads.
            Err(ClientError::Refused(why)) => eprintln!("scx_place: {why}"),
            Err(e @ ClientError::NoPermission) => return Err(e.into()),
        }
        match stop.recv_timeout(interval) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}
