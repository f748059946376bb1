// SPDX-License-Identifier: GPL-2.0-only

//! The scheduler's life: load, attach, serve requests, detach; and again after a hotplug.
//!
//! User space owns the truth: the policy in force, its generations and their counts outlive the BPF
//! program, which is loaded anew when the set of online CPUs has changed.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use log::{info, warn};
use scx_utils::UserExitInfo;

use crate::cli::{self, RunOpts};
use crate::control::Server;
use crate::program::{LoadOpts, Program};
use crate::service::{self, State};
use crate::topology::Machine;
use crate::{commands, stats};

/// How long the loop waits for a request; bounds the delay of noticing an exit or a signal.
const POLL: Duration = Duration::from_millis(100);

/// Why one load of the program came to its end.
enum End {
    /// A signal asked for it.
    Asked,
    /// The kernel or the program ended it; whether to load it again is in there.
    Exited(UserExitInfo),
}

/// Is the machine's scheduler until a signal or the kernel ends it.
///
/// # Errors
/// It could not start, or the kernel ended it because of an error; the kernel's scheduler is back
/// in either case.
pub fn run(opts: &RunOpts) -> Result<()> {
    let machine = Machine::from_system()?;
    info!("scx_place {} on {}", cli::version(), machine.describe());

    let server = Server::start(&opts.socket.path())?;
    let _stats = stats::metrics::start(server.handle(), None)
        .inspect_err(|e| warn!("no statistics for scx_stats clients: {e:#}"));
    let stop = stop_on_signals()?;
    let mut state =
        State::new(opts.start_policy()?, &ops_name(), opts.stats).with_level(opts.stats_level);

    loop {
        match run_once(opts, &server, &mut state, &stop)? {
            End::Exited(info) if info.should_restart() => {
                info!("loading again with generation {}", state.generation());
            }
            End::Exited(_) | End::Asked => return Ok(()),
        }
    }
}

/// One load of the program, from the topology as it is now to its end.
fn run_once(opts: &RunOpts, server: &Server, state: &mut State, stop: &AtomicBool) -> Result<End> {
    let machine = Machine::from_system()?;
    let layout = machine.layout();
    for warning in &layout.warnings {
        warn!("{warning}");
    }
    let mut object = MaybeUninit::uninit();
    let mut program = Program::load(&load_opts(opts), &layout, &mut object)?;
    state.attach(&mut program, machine.cpus.len() as u32)?;
    program.attach()?;
    info!("scheduling on {}", machine.describe());

    while !stop.load(Ordering::Relaxed) && !program.exited() {
        if let Some((request, responder)) = server.recv_timeout(state.wait(POLL)) {
            responder.send(service::handle(state, &mut program, request));
        }
        state.expire(&mut program);
        if let Some(text) = state.periodic(&program) {
            commands::print(&text)?;
        }
    }
    let exited = program.exited();
    program.detach();
    state.detach(&program);
    info!("detached: the kernel's scheduler is back");
    if !exited {
        return Ok(End::Asked);
    }
    let info = program.exit_info();
    info.map(End::Exited)
        .context("the kernel ended the scheduler")
}

fn load_opts(opts: &RunOpts) -> LoadOpts {
    LoadOpts {
        verbose: opts.verbose > 1,
        exit_dump_len: opts.exit_dump_len,
        verify_slots: opts.verify_slots,
        queued_wakeup: opts.queued_wakeup,
        force_llc_words: opts.force_llc_words,
        inject: opts.inject,
        verifier_stats: opts.verifier_stats,
        libbpf: opts.libbpf.clone(),
    }
}

/// The name under which the kernel lists the scheduler: the program's with the build's appended.
fn ops_name() -> String {
    const LONGEST: usize = 127; // SCX_OPS_NAME_LEN less its terminating zero
    let suffix = scx_utils::build_id::ops_version_suffix(env!("CARGO_PKG_VERSION"));
    let mut name = format!("place{suffix}");
    name.truncate(LONGEST);
    name
}

/// True after Ctrl-C, SIGTERM or SIGHUP.
pub(crate) fn stop_on_signals() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let seen = stop.clone();
    ctrlc::set_handler(move || seen.store(true, Ordering::Relaxed))
        .context("installing the signal handler")?;
    Ok(stop)
}
