// SPDX-License-Identifier: GPL-2.0-only

//! The command line.  Without a subcommand, `scx_place` runs the scheduler; the subcommands talk to
//! a running one.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand};
use scx_utils::libbpf_clap_opts::LibbpfOpts;

use crate::level::Level;
use crate::policy::parse::{parse_items, ParseError};
use crate::policy::{show, Policy};
use crate::program::Inject;
use crate::sampling::MAX_ONE_IN;

/// This program's version with the build it comes from.
pub fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| scx_utils::build_id::full_version(env!("CARGO_PKG_VERSION")))
}

/// A sched_ext scheduler with the fair scheduler's placement rules, old and new, switched while it
/// runs
///
/// Without a subcommand it becomes the machine's scheduler until Ctrl-C or SIGTERM, and the kernel's
/// own scheduler takes over again.  The subcommands ask and steer a running scx_place.  All but
/// `policy list`, `replay` and `topology` need root.
#[derive(Debug, Parser)]
#[command(
    name = "scx_place",
    version = version(),
    args_conflicts_with_subcommands = true,
    after_long_help = show::summary(),
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,

    #[command(flatten)]
    pub run: RunOpts,
}

/// The options of the scheduler itself.
#[derive(Debug, Clone, Args)]
pub struct RunOpts {
    /// Start with these settings, NAME=VALUE, instead of the defaults; several with commas or by
    /// repeating the option
    #[arg(short, long = "policy", value_name = "ITEM", value_delimiter = ',')]
    pub policy: Vec<String>,

    /// Print statistics every SEC seconds while running
    #[arg(long, value_name = "SEC", value_parser = seconds)]
    pub stats: Option<Duration>,

    /// How much to count; `scx_place stats level` changes it
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t)]
    pub stats_level: Level,

    /// Do not run a scheduler; print the statistics of the running one every SEC seconds
    #[arg(long, value_name = "SEC", value_parser = seconds, conflicts_with = "stats")]
    pub monitor: Option<Duration>,

    /// Explain the statistics
    #[arg(long)]
    pub help_stats: bool,

    /// Say more; twice, with libbpf's messages
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,

    /// Size of the buffer for the kernel's dump when it ends the scheduler because of an error, in
    /// bytes; 0: the kernel's default
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub exit_dump_len: u32,

    /// Check the policy's checksum in every callback and count mismatches; for tests
    #[arg(long)]
    pub verify_slots: bool,

    /// Let the kernel queue wakeups to remote CPUs instead of taking their run-queue lock
    #[arg(long)]
    pub queued_wakeup: bool,

    /// Use the code for caches of more than 64 CPUs, with N words a cache, on any machine; for tests
    #[arg(long, value_name = "N", hide = true)]
    pub force_llc_words: Option<u32>,

    /// Inject faults, for tests: lost=N (claims), stale=N (snapshots), one in N, and publish=MS, a delay
    #[arg(long, value_name = "FAULT=N,...", hide = true, default_value = "", value_parser = inject)]
    pub inject: Inject,

    /// Print the verifier's figures for each program; for tests, with -vv
    #[arg(long, hide = true)]
    pub verifier_stats: bool,

    #[command(flatten)]
    pub socket: Socket,

    #[command(flatten, next_help_heading = "Options of libbpf")]
    pub libbpf: LibbpfOpts,
}

impl RunOpts {
    /// The policy to start with.
    pub fn start_policy(&self) -> Result<Policy, ParseError> {
        match self.policy.is_empty() {
            true => Ok(Policy::default()),
            false => Ok(Policy::from_command_line(&parse_items(&self.policy)?)),
        }
    }
}

/// Where the control socket is.
#[derive(Debug, Clone, Args)]
pub struct Socket {
    /// Use another control socket
    #[arg(long = "socket", value_name = "PATH", hide = true, global = true)]
    path: Option<PathBuf>,
}

impl Socket {
    /// The socket to use: the option, the environment variable `SCX_PLACE_SOCKET`, the default.
    pub fn path(&self) -> PathBuf {
        crate::control::path(self.path.clone())
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show or change the policy in force
    Policy(PolicyArgs),
    /// Show what was counted, branch by branch
    Stats(StatsArgs),
    /// Is it on?  Since when, with which policy
    Status(StatusArgs),
    /// Show the machine's caches, cores and levels as the scheduler sees them; needs no scheduler
    Topology(TopologyArgs),
    /// Record what placements read and decide, to be replayed
    Record(RecordArgs),
    /// Decide what was recorded again, with the same rules or with others; needs no scheduler
    Replay(ReplayArgs),
    /// Evaluate a second policy beside the one in force, without acting on it
    Shadow(ShadowArgs),
}

#[derive(Debug, Args)]
pub struct PolicyArgs {
    #[command(subcommand)]
    pub command: Option<PolicyCommand>,

    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,

    #[command(flatten)]
    pub socket: Socket,
}

#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Change settings at once: all of them, or none if one is not valid
    Set {
        /// NAME=VALUE; `scx_place policy list` shows the names.  A single `-`: one change after the
        /// other, a line of standard input each, until one is refused
        #[arg(required = true, value_name = "ITEM")]
        items: Vec<String>,
    },
    /// Set a preset: the settings of a kernel, or of a column of a mail, under one name
    Preset {
        /// Without it, all presets are shown
        name: Option<String>,
    },
    /// Go back to the policy that the scheduler was started with
    Reset,
    /// List every setting with its values or range, its meaning and where it comes from
    List,
}

#[derive(Debug, Args)]
pub struct StatsArgs {
    #[command(subcommand)]
    pub command: Option<StatsCommand>,

    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,

    /// The newest generations of the policy side by side
    #[arg(long)]
    pub by_generation: bool,

    /// How long woken and new tasks waited for their CPU, by branch of the placement and by wake
    /// type; measured with the level `full`
    #[arg(long, conflicts_with = "by_generation")]
    pub latency: bool,

    /// What each CPU runs, how loaded it is, and the longest wait in its queue
    #[arg(long, conflicts_with_all = ["by_generation", "latency"])]
    pub cpus: bool,

    /// Print branches that were never taken, too
    #[arg(long)]
    pub all: bool,

    #[command(flatten)]
    pub socket: Socket,
}

#[derive(Debug, Subcommand)]
pub enum StatsCommand {
    /// Show how much is counted, or change it
    Level {
        #[arg(value_enum)]
        level: Option<Level>,
    },
}

#[derive(Debug, Args)]
pub struct TopologyArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub socket: Socket,
}

#[derive(Debug, Args)]
pub struct RecordArgs {
    /// The file to write; an existing one is replaced
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,

    /// How long: 500ms, 10s, 2m; Ctrl-C ends it earlier
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub duration: Duration,

    /// Record one in N placements of each CPU
    #[arg(long, value_name = "1/N", default_value = "1/1", value_parser = one_in)]
    pub sample: u32,

    #[command(flatten)]
    pub socket: Socket,
}

#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// What `scx_place record` has written
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Compare with the recorded policy changed by these settings, NAME=VALUE; several with commas
    /// or by repeating the option
    #[arg(
        short,
        long = "policy",
        value_name = "ITEM",
        value_delimiter = ',',
        conflicts_with = "all"
    )]
    pub policy: Vec<String>,

    /// Compare with every value of an axis
    #[arg(long, value_name = "AXIS")]
    pub all: Option<String>,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ShadowArgs {
    /// NAME=VALUE, what it has differently from the policy in force now; `off`: evaluate nothing;
    /// without any: show how the two compare
    #[arg(value_name = "ITEM")]
    pub items: Vec<String>,

    /// Evaluate it for one in N wakeups of each CPU
    #[arg(long, value_name = "1/N", default_value = "1/1", value_parser = one_in)]
    pub sample: u32,

    /// Print JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub socket: Socket,
}

/// Reads `1/N`.
fn one_in(text: &str) -> Result<u32, String> {
    let n = text.strip_prefix("1/").and_then(|n| n.parse().ok());
    n.filter(|n| (1..=MAX_ONE_IN).contains(n))
        .ok_or_else(|| format!("expected 1/N, 1/1 to 1/{MAX_ONE_IN}"))
}

/// Reads a time with its unit, seconds if there is none.
fn duration(text: &str) -> Result<Duration, String> {
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let found = units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    let (number, factor) = found.unwrap_or((text, &1.0));
    let expected = |_| "expected a time such as 500ms, 10s or 2m, up to a day".to_string();
    let number: f64 = number.parse().map_err(|_| expected(String::new()))?;
    seconds(&format!("{}", number * factor)).map_err(expected)
}

/// Reads a positive number of seconds, fractions allowed.
fn seconds(text: &str) -> Result<Duration, String> {
    const SHORTEST: f64 = 0.05;
    const LONGEST: f64 = 86_400.0;
    match text.parse::<f64>() {
        Ok(secs) if (SHORTEST..=LONGEST).contains(&secs) => Ok(Duration::from_secs_f64(secs)),
        _ => Err(format!("expected seconds, {SHORTEST} to {LONGEST}")),
    }
}

/// Reads the faults of `--inject`.
fn inject(text: &str) -> Result<Inject, String> {
    let mut out = Inject::default();
    for item in text.split(',').filter(|item| !item.is_empty()) {
        let number = |text: &str| text.parse().ok().filter(|n| (1..=1000).contains(n));
        match item.split_once('=').map(|(name, n)| (name, number(n))) {
            Some(("lost", Some(n))) => out.lost = n,
            Some(("stale", Some(n))) => out.stale = n,
            Some(("publish", Some(ms))) => out.publish_ms = ms,
            _ => {
                let valid = "lost=N, stale=N or publish=MS, 1 to 1000";
                return Err(format!("`{item}`: expected {valid}"));
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(args: &[&str]) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(std::iter::once(&"scx_place").chain(args))
    }

    #[test]
    fn definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn no_subcommand_runs_it() {
        let cli = parse(&["-p", "affine=off,fork=stay", "--policy", "wa_idle=0"]).unwrap();
        assert!(cli.command.is_none());
        assert_eq!(cli.run.policy, ["affine=off", "fork=stay", "wa_idle=0"]);
        assert!(cli.run.start_policy().is_ok());
        assert!(parse(&["-p", "affine=up"])
            .unwrap()
            .run
            .start_policy()
            .is_err());
    }

    #[test]
    fn options_of_the_scheduler_are_not_for_subcommands() {
        assert!(parse(&["--verify-slots", "status"]).is_err());
        assert!(parse(&["status", "--verify-slots"]).is_err());
    }

    #[test]
    fn socket_can_stand_before_or_behind() {
        for args in [
            &["policy", "--json", "--socket", "/x", "set", "affine=off"][..],
            &["policy", "set", "affine=off", "--socket", "/x", "--json"],
        ] {
            let cli = parse(args).unwrap();
            let Some(Command::Policy(args)) = cli.command else {
                panic!("no policy command");
            };
            assert_eq!(args.socket.path(), PathBuf::from("/x"));
            assert!(args.json);
        }
    }

    #[test]
    fn sampling_is_one_in_n() {
        assert_eq!(one_in("1/1"), Ok(1));
        assert_eq!(one_in("1/65535"), Ok(65535));
        for text in ["1/0", "1/65536", "2/3", "7", "1/-1", "1/x", ""] {
            assert!(one_in(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_have_units() {
        for (text, ms) in [
            ("500ms", 500),
            ("10s", 10_000),
            ("2m", 120_000),
            ("3", 3000),
            ("1h", 3_600_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "s", "-1s", "0s", "1d", "infs", "nanm", "25h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn faults_are_read() {
        let all = inject("lost=3,stale=2,publish=5").unwrap();
        assert_eq!((all.lost, all.stale, all.publish_ms), (3, 2, 5));
        assert_eq!(inject(""), Ok(Inject::default()));
        for text in ["lost", "lost=0", "lost=x", "found=1", "stale=1001"] {
            assert!(inject(text).is_err(), "{text}");
        }
    }

    #[test]
    fn seconds_are_bounded() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for text in ["0", "-1", "nan", "inf", "1e99", "x", ""] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
