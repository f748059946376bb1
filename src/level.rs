// SPDX-License-Identifier: GPL-2.0-only

//! How much is counted.

use std::fmt;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// The statistics level, which can be changed at any time.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// No counter moves. This saves no time: the counts go to memory that nobody reads, since asking
    /// at each count whether to count would cost more
    Off,
    /// Every branch of every rule
    #[default]
    Counters,
    /// Also the latency of every wakeup: some 200 instructions each
    Full,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Level::Off => "off",
            Level::Counters => "counters",
            Level::Full => "full",
        })
    }
}
