// SPDX-License-Identifier: GPL-2.0-only

//! Recorded decisions: files of what placements read and decided, replayed with the same policy
//! files compiled for the host, and compared with what other policies would have decided.
//!
//! * [`raw`]: C structures as bytes; [`layout`]: which definitions a file was written with;
//! * [`decision`] and [`fork`]: one wakeup and one fork, and deciding again; [`answer`]: a record of
//!   either type; [`tables`]: the topology a decision reads;
//! * [`format`](mod@format): the file, written and read (docs/record-format.md);
//! * [`recorder`]: `scx_place record`; [`replay`]: `scx_place replay FILE`; [`compare`] and [`show`]:
//!   the same with another policy.

pub mod answer;
pub mod compare;
pub mod decision;
pub mod fork;
pub mod format;
pub mod layout;
pub mod raw;
pub mod recorder;
pub mod replay;
pub mod show;
pub mod tables;
