// SPDX-License-Identifier: GPL-2.0-only

//! The command line.  Without a subcommand, `scx_place` runs the scheduler; the subcommands talk to
//! a running one.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand};
use scx_utils::libbpf_clap_opts::LibbpfOpts;

use crate::policy::parse::{parse_items, ParseError};
use crate::policy::{show, Policy};

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
/// `policy list` need root.
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
    /// Go back to the policy that the scheduler was started with
    Reset,
    /// List every setting with its values or range, its meaning and where it comes from
    List,
}

#[derive(Debug, Args)]
pub struct StatsArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,

    /// The newest generations of the policy side by side
    #[arg(long)]
    pub by_generation: bool,

    /// Print branches that were never taken, too
    #[arg(long)]
    pub all: bool,

    #[command(flatten)]
    pub socket: Socket,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub socket: Socket,
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
    fn seconds_are_bounded() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for text in ["0", "-1", "nan", "inf", "1e99", "x", ""] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
