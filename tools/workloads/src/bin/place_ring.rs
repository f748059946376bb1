// SPDX-License-Identifier: GPL-2.0-only

//! Measures what a wakeup and a context switch cost: a ring of pinned tasks passing one byte.

use anyhow::Result;
use clap::Parser;
use place_workloads::ring::{self, Options, Outcome, Placement};

/// Passes one byte round a ring of pinned tasks and prints nanoseconds per hop of each round
///
/// In a guest whose clock counts instructions (tools/vm run --clock instructions) these are
/// instructions per hop.
#[derive(Parser)]
#[command(name = "place_ring", version)]
struct Arguments {
    /// Tasks in the ring
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(2..=512))]
    tasks: u16,

    /// Where they are pinned
    #[arg(long, value_enum, default_value_t = Placement::Same)]
    placement: Placement,

    /// Trips of the byte in one round
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    loops: u64,

    /// Rounds to measure
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,

    /// The most warm-up rounds; they end when two in a row agree within 2 %
    #[arg(long, default_value_t = 8)]
    warmup: u16,

    /// Print one JSON object instead of lines
    #[arg(long)]
    json: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let outcome = ring::run(&Options {
        tasks: arguments.tasks.into(),
        placement: arguments.placement,
        loops: arguments.loops,
        rounds: arguments.rounds.into(),
        warmup: arguments.warmup.into(),
    })?;
    if arguments.json {
        println!("{}", serde_json::to_string(&outcome)?);
    } else {
        print_lines(&outcome);
    }
    Ok(())
}

fn print_lines(outcome: &Outcome) {
    for (number, ns) in outcome.warmup_ns_per_hop.iter().enumerate() {
        println!("warm-up {}: {ns:.1} ns per hop", number + 1);
    }
    if !outcome.settled {
        println!("warm-up: no two rounds in a row agreed");
    }
    for (number, ns) in outcome.ns_per_hop.iter().enumerate() {
        println!("round {}: {ns:.1} ns per hop", number + 1);
    }
}
