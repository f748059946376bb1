// SPDX-License-Identifier: GPL-2.0-only

//! Builds the BPF program of `place_floor`.

use anyhow::{Context, Result};

/// The compiler, unless `BPF_CLANG` names another: the root package's.
const CLANG: &str = "clang-19";

fn main() -> Result<()> {
    let clang = std::env::var("BPF_CLANG").unwrap_or_else(|_| CLANG.into());
    std::env::set_var("BPF_CLANG", clang);

    scx_cargo::BpfBuilder::new()?
        .enable_skel("src/bpf/floor.bpf.c", "floor")
        .build()
        .context("building place_floor's BPF program")
}
