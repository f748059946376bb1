// SPDX-License-Identifier: GPL-2.0-only

//! The command: parse, dispatch, one line for an error.

use std::process::ExitCode;

use clap::Parser;
use scx_place::cli::Cli;
use scx_place::commands;

fn main() -> ExitCode {
    match commands::dispatch(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("scx_place: {e:#}");
            ExitCode::FAILURE
        }
    }
}
