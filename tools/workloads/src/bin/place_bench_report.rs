// SPDX-License-Identifier: GPL-2.0-only

//! Prints the tables of `tools/bench switch` and judges its figures.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use anyhow::{Context, Error, Result};
use clap::Parser;
use place_workloads::report::{Limit, Records, Report};

/// Prints the tables of "tools/bench switch" from its records; exits with 1 if a figure is missing
/// or above its limit
#[derive(Parser)]
#[command(name = "place_bench_report", version)]
struct Arguments {
    /// The most that scx_place may cost on a kernel, as multiples of the kernel's own scheduler;
    /// "-" is no limit
    #[arg(long = "limit", value_name = "KERNEL SAME CROSS")]
    limits: Vec<Limit>,

    /// Print the limits, but accept figures above them
    #[arg(long)]
    no_gate: bool,

    /// The records of each kernel's guest
    #[arg(required = true, value_name = "KERNEL=FILE")]
    guests: Vec<Guest>,
}

#[derive(Clone)]
struct Guest {
    kernel: String,
    records: PathBuf,
}

impl FromStr for Guest {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (kernel, records) = text.split_once('=').context("no '='")?;
        Ok(Self {
            kernel: kernel.into(),
            records: records.into(),
        })
    }
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let mut faults = Vec::new();
    for (number, guest) in arguments.guests.iter().enumerate() {
        // What the guest printed need not be text to its last byte if it died.
        let bytes = fs::read(&guest.records)
            .with_context(|| format!("reading {}", guest.records.display()))?;
        let records = Records::parse(&String::from_utf8_lossy(&bytes));
        let report = Report::new(
            &guest.kernel,
            &records,
            &arguments.limits,
            !arguments.no_gate,
        );
        if number > 0 {
            println!();
        }
        print!("{report}");
        faults.extend(report.faults());
    }
    for fault in &faults {
        eprintln!("FAILED {fault}");
    }
    Ok(match faults.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
