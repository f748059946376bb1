// SPDX-License-Identifier: GPL-2.0-only

//! Opens, loads and attaches the BPF program.  A placeholder until that is written.

use anyhow::{bail, Result};

use crate::cli::RunOpts;

/// Runs the scheduler until a signal or the kernel ends it.
pub fn run(_opts: &RunOpts) -> Result<()> {
    bail!("the scheduler is not written yet")
}
