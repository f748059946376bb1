// SPDX-License-Identifier: GPL-2.0-only

//! What each subcommand does.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::Path;

use anyhow::{anyhow, Context, Result};
use serde::Serialize;
use serde_json::json;

use crate::cli::{
    Cli, Command, PolicyArgs, PolicyCommand, RecordArgs, ReplayArgs, RunOpts, ShadowArgs,
    StatsArgs, StatsCommand, StatusArgs, TopologyArgs,
};
use crate::control::{call, ClientError, PolicyReport, Request, Response, StatusReport};
use crate::level::Level;
use crate::policy::parse::parse_items;
use crate::record::format::Reader;
use crate::record::{compare, recorder, replay, show as record_show};
use crate::topology::{self, Machine};
use crate::{policy, preflight, scheduler, stats, time};

/// Runs what the command line asks for.
pub fn dispatch(cli: &Cli) -> Result<()> {
    match &cli.command {
        None => run(&cli.run),
        Some(Command::Policy(args)) => policy_command(args),
        Some(Command::Stats(args)) => stats_command(args),
        Some(Command::Status(args)) => status_command(args),
        Some(Command::Topology(args)) => topology_command(args),
        Some(Command::Record(args)) => record_command(args),
        Some(Command::Replay(args)) => replay_command(args),
        Some(Command::Shadow(args)) => shadow_command(args),
    }
}

/// Prints to standard output; a reader that went away (`| head`) is no error.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

fn print_json<T: Serialize>(value: &T) -> Result<()> {
    print(&format!("{}\n", serde_json::to_string_pretty(value)?))
}

fn run(opts: &RunOpts) -> Result<()> {
    if opts.help_stats {
        return print(&stats::show::help());
    }
    if let Some(interval) = opts.monitor {
        return stats::monitor::run(&opts.socket.path(), interval);
    }
    // All checks come before anything is touched.
    opts.start_policy()?;
    preflight::check()?;
    log_to_stderr(opts.verbose);
    scheduler::run(opts)
}

/// Switches, attaching and detaching are always logged; `-v` adds details.
fn log_to_stderr(verbose: u8) {
    let level = match verbose {
        0 => log::LevelFilter::Info,
        1 => log::LevelFilter::Debug,
        _ => log::LevelFilter::Trace,
    };
    env_logger::Builder::new()
        .filter_level(level)
        .format_target(false)
        .init();
}

fn unexpected() -> anyhow::Error {
    anyhow!("scx_place gave an answer to another question")
}

fn policy_command(args: &PolicyArgs) -> Result<()> {
    let request = match &args.command {
        None => Request::PolicyGet,
        Some(PolicyCommand::List) if args.json => return print_json(&policy::show::list_json()),
        Some(PolicyCommand::List) => return print(&policy::show::list()),
        Some(PolicyCommand::Preset { name: None }) if args.json => {
            return print_json(&policy::show::presets_json())
        }
        Some(PolicyCommand::Preset { name: None }) => return print(&policy::show::presets()),
        Some(PolicyCommand::Preset { name: Some(name) }) => {
            set_request(&[format!("preset={name}")])?
        }
        Some(PolicyCommand::Reset) => Request::PolicyReset,
        Some(PolicyCommand::Set { items }) if *items == ["-"] => return set_by_lines(args),
        Some(PolicyCommand::Set { items }) => set_request(items)?,
    };
    policy_request(args, &request)
}

/// A switch to `items`.  What is not valid needs no running scheduler to be told so.
fn set_request(items: &[String]) -> Result<Request> {
    parse_items(items)?;
    let items = items.to_vec();
    Ok(Request::PolicySet { items })
}

/// A switch for each line of standard input; empty lines and those that start with `#` are passed.
fn set_by_lines(args: &PolicyArgs) -> Result<()> {
    for (i, line) in std::io::stdin().lock().lines().enumerate() {
        let line = line.context("reading standard input")?;
        let items: Vec<_> = line.split_whitespace().map(String::from).collect();
        if items.first().is_none_or(|first| first.starts_with('#')) {
            continue;
        }
        set_request(&items)
            .and_then(|request| policy_request(args, &request))
            .with_context(|| format!("line {}", i + 1))?;
    }
    Ok(())
}

fn policy_request(args: &PolicyArgs, request: &Request) -> Result<()> {
    let Response::Policy(report) = call(&args.socket.path(), request)? else {
        return Err(unexpected());
    };
    match (args.json, request) {
        (true, _) => print_json(&report),
        (false, Request::PolicyGet) => print(&in_force(&report)),
        (false, _) => print(&changed(&report)),
    }
}

fn in_force(report: &PolicyReport) -> String {
    format!(
        "generation {} since {}\n\n{}",
        report.generation,
        time::format_us(report.since_us),
        policy::show::policy(&report.policy)
    )
}

fn changed(report: &PolicyReport) -> String {
    match report.changed.is_empty() {
        true => format!("generation {}: no change\n", report.generation),
        false => format!(
            "generation {} since {}: {}\n",
            report.generation,
            time::format_us(report.since_us),
            report.changed.join(" ")
        ),
    }
}

fn level_command(args: &StatsArgs, level: Option<Level>) -> Result<()> {
    let request = level.map_or(Request::LevelGet, |level| Request::LevelSet { level });
    let Response::Level(level) = call(&args.socket.path(), &request)? else {
        return Err(unexpected());
    };
    match args.json {
        true => print_json(&json!({ "level": level })),
        false => print(&format!("{level}\n")),
    }
}

fn stats_command(args: &StatsArgs) -> Result<()> {
    if let Some(StatsCommand::Level { level }) = args.command {
        return level_command(args, level);
    }
    let Response::Stats(report) = call(&args.socket.path(), &Request::Stats)? else {
        return Err(unexpected());
    };
    if args.json {
        return print_json(&stats::json(&report));
    }
    print(&match args {
        StatsArgs { latency: true, .. } => stats::waits::latency(&report, args.all),
        StatsArgs { cpus: true, .. } => stats::waits::cpus(&report),
        StatsArgs {
            by_generation: true,
            ..
        } => stats::show::by_generation(&report, args.all),
        _ => stats::show::overview(&report, args.all),
    })
}

fn record_command(args: &RecordArgs) -> Result<()> {
    print(&recorder::run(&recorder::Options {
        socket: args.socket.path(),
        out: args.out.clone(),
        duration: args.duration,
        one_in: args.sample,
    })?)
}

fn replay_command(args: &ReplayArgs) -> Result<()> {
    let variants = match &args.all {
        Some(axis) => compare::all_of(axis)?,
        None if args.policy.is_empty() => Vec::new(),
        None => compare::with_items(parse_items(&args.policy)?),
    };
    let name = args.file.display();
    let file = File::open(&args.file).with_context(|| format!("opening {name}"))?;
    let mut reader = Reader::new(BufReader::new(file)).with_context(|| name.to_string())?;
    match variants.is_empty() {
        true => replay_again(args, &mut reader),
        false => replay_others(args, &mut reader, variants),
    }
    .with_context(|| name.to_string())
}

type FileReader = Reader<BufReader<File>>;

fn replay_again(args: &ReplayArgs, reader: &mut FileReader) -> Result<()> {
    let result = replay::run(reader)?;
    match args.json {
        true => print_json(&json!({ "info": reader.info, "replay": result }))?,
        false => print(&(record_show::info(reader) + &record_show::replay(&result)))?,
    }
    match result.differs() {
        true => Err(anyhow!(
            "{} of {} records are decided differently",
            result.records - result.identical,
            result.records
        )),
        false => Ok(()),
    }
}

fn replay_others(
    args: &ReplayArgs,
    reader: &mut FileReader,
    mut variants: Vec<compare::Variant>,
) -> Result<()> {
    compare::run(reader, &mut variants)?;
    let results: Vec<_> = variants.into_iter().map(|v| v.result).collect();
    if args.json {
        return print_json(&json!({
            "info": reader.info, "end": reader.end(), "comparisons": results,
        }));
    }
    let text = match (&args.all, &results[..]) {
        (None, [one]) => record_show::comparison(one, reader.end()),
        _ => record_show::all(&results, reader.end()),
    };
    print(&(record_show::info(reader) + &text))
}

fn shadow_command(args: &ShadowArgs) -> Result<()> {
    let items: Vec<_> = args.items.iter().map(String::as_str).collect();
    let request = match items[..] {
        [] => Request::ShadowGet,
        ["off"] => Request::ShadowOff,
        _ => {
            parse_items(&items)?;
            let items = args.items.clone();
            let one_in = args.sample;
            Request::ShadowSet { items, one_in }
        }
    };
    let Response::Shadow(report) = call(&args.socket.path(), &request)? else {
        return Err(unexpected());
    };
    match (args.json, report) {
        (true, report) => print_json(&report),
        (false, None) => print("no shadow policy\n"),
        (false, Some(report)) => print(&stats::show::shadow(&report)),
    }
}

fn status_command(args: &StatusArgs) -> Result<()> {
    let kernel = preflight::attached(Path::new("/"));
    let status = match call(&args.socket.path(), &Request::Status) {
        Ok(Response::Status(status)) => status,
        Ok(_) => return Err(unexpected()),
        Err(ClientError::NotRunning) => {
            let error = match &kernel {
                Some(ops) => anyhow!("off: another sched_ext scheduler is attached: {ops}"),
                None => anyhow!("off: the kernel's own scheduler decides"),
            };
            return Err(error);
        }
        Err(e) => return Err(e.into()),
    };
    let on = kernel.as_deref() == Some(status.ops.as_str());
    if args.json {
        return print_json(&json!({ "on": on, "kernel": kernel, "scheduler": status }));
    }
    print(&status_text(&status, on))
}

fn topology_command(args: &TopologyArgs) -> Result<()> {
    let machine = Machine::from_system()?;
    let layout = machine.layout();
    match args.json {
        true => print_json(&topology::show::json(&machine, &layout)),
        false => print(&topology::show::text(&machine, &layout)),
    }
}

fn status_text(status: &StatusReport, on: bool) -> String {
    let state = match on {
        true => "on: the kernel runs it",
        false => "loading or unloading: the kernel does not run it now",
    };
    let rows = [
        ("state", state.to_string()),
        ("ops", status.ops.clone()),
        ("version", status.version.clone()),
        ("process", status.pid.to_string()),
        ("since", time::format_us(status.started_us)),
        ("loaded again", format!("{} times", status.restarts)),
        ("CPUs online", status.nr_cpus.to_string()),
        ("statistics", status.stats_level.to_string()),
        (
            "policy",
            format!(
                "generation {} since {}",
                status.generation,
                time::format_us(status.since_us)
            ),
        ),
    ];
    let rows = rows.map(|(name, text)| format!("{name:<14}{text}\n"));
    rows.concat()
}
