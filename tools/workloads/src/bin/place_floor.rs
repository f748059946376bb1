// SPDX-License-Identifier: GPL-2.0-only

//! Loads the smallest possible sched_ext scheduler, the floor that others are compared with, and
//! keeps it until SIGINT or SIGTERM.

use std::mem::MaybeUninit;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result};
use libbpf_rs::libbpf_sys::bpf_object_open_opts;
use scx_utils::{scx_ops_attach, scx_ops_load, scx_ops_open, uei_exited, uei_report};

#[allow(clippy::all, dead_code, non_camel_case_types, non_snake_case)]
mod bpf_skel {
    include!(concat!(env!("OUT_DIR"), "/floor_skel.rs"));
}
use bpf_skel::FloorSkelBuilder;

/// How often the loader looks whether the kernel has ended the scheduler. Rare: the loader runs on
/// a CPU that is being measured.
const EXIT_POLL: Duration = Duration::from_secs(1);

fn main() -> Result<()> {
    let (stop, stopped) = mpsc::channel();
    ctrlc::set_handler(move || {
        let _ = stop.send(());
    })
    .context("handling SIGINT and SIGTERM")?;

    let mut object = MaybeUninit::uninit();
    let options: Option<bpf_object_open_opts> = None;
    let mut skel = scx_ops_open!(FloorSkelBuilder::default(), &mut object, floor_ops, options)?;
    let mut skel = scx_ops_load!(skel, floor_ops, uei)?;
    let link = scx_ops_attach!(skel, floor_ops)?;
    println!("floor runs; SIGINT or SIGTERM ends it");

    while !uei_exited!(&skel, uei) {
        if stopped.recv_timeout(EXIT_POLL).is_ok() {
            break;
        }
    }
    drop(link);
    uei_report!(&skel, uei).map(drop)
}
