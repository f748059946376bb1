// SPDX-License-Identifier: GPL-2.0-only

//! scx_place: the fair scheduler's placement rules, old and new, as a sched_ext scheduler that
//! switches them while it runs.
//!
//! The user-space half, top down:
//!
//! * [`cli`] and [`commands`]: the command line and the subcommands that talk to a running
//!   scheduler;
//! * [`preflight`]: can this machine run it?
//! * [`scheduler`]: the life from start to end; [`program`]: one load of the BPF program, with its
//!   tables [`mapped`]; [`topology`]: the machine as tables;
//! * [`control`]: the root-only socket; [`service`]: what each of its requests does;
//! * [`slots`]: which policy is in force, behind the [`engine`] trait that the scheduler implements;
//! * [`sampling`]: which placements are recorded or put before a shadow policy; [`record`]: their
//!   files, read, replayed and compared;
//! * [`policy`]: axes, values and parameters as data; [`counters`], [`latency`], [`cpus`] and
//!   [`stats`]: what was counted and measured, as far as the [`level`] asks for it.

pub mod bpf_intf;
pub mod bpf_skel;
pub mod cli;
pub mod commands;
pub mod control;
pub mod counters;
pub mod cpus;
pub mod engine;
pub mod latency;
pub mod level;
pub mod mapped;
pub mod policy;
pub mod preflight;
pub mod program;
pub mod record;
pub mod render;
pub mod sampling;
pub mod scheduler;
pub mod service;
pub mod slots;
pub mod stats;
pub mod sys;
pub mod time;
pub mod topology;
