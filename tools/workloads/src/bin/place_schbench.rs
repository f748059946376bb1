// SPDX-License-Identifier: GPL-2.0-only

//! The load of the schbench mail of May 2016: how long woken workers wait for a CPU.

use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use place_workloads::schbench::{self, Options, Outcome};

/// Wakes workers that think, as schbench did in May 2016, and prints the latencies of their wakeups
///
/// The mail's run is --message-threads 2 --workers 23 --think-us 60000: as many threads as CPUs.
#[derive(Parser)]
#[command(name = "place_schbench", version)]
struct Arguments {
    /// Message threads
    #[arg(short, long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    message_threads: u16,

    /// Workers of each message thread
    #[arg(short = 't', long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: u16,

    /// Time a worker spins between two wakeups
    #[arg(short = 'c', long, value_name = "US", default_value_t = 30000)]
    think_us: u32,

    /// Time a message thread sleeps before it wakes the next batch, and up to a quarter more
    #[arg(short = 's', long, value_name = "US", default_value_t = 30000)]
    message_latency_us: u32,

    /// Threads beside them that wake up every 10 ms and spin for 200 us
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=1024))]
    noise: u16,

    /// Time to run, in seconds
    #[arg(short = 'r', long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=86400))]
    run: u32,

    /// Print one JSON object instead of lines
    #[arg(long)]
    json: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let outcome = schbench::run(&Options {
        message_threads: arguments.message_threads.into(),
        workers: arguments.workers.into(),
        think: Duration::from_micros(arguments.think_us.into()),
        message_latency: Duration::from_micros(arguments.message_latency_us.into()),
        noise: arguments.noise.into(),
        run: Duration::from_secs(arguments.run.into()),
    });
    match arguments.json {
        true => println!("{}", serde_json::to_string(&outcome)?),
        false => print_lines(&outcome),
    }
    Ok(())
}

fn print_lines(outcome: &Outcome) {
    println!("{} wakeups; latency in us:", outcome.wakeups);
    for (percentile, us) in &outcome.latency_us {
        println!("  {percentile:>6.1} %  {us:>8}");
    }
    println!("  {:>8}  {:>8}", "max", outcome.max_us);
}
