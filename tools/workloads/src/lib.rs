// SPDX-License-Identifier: GPL-2.0-only

//! What the measuring programs share: the ring of tasks, and the evaluation of a benchmark.

pub mod report;
pub mod ring;
pub mod schbench;
