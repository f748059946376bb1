// SPDX-License-Identifier: GPL-2.0-only

//! Builds the BPF program with its bindings, and the policy files for the host.

use anyhow::{Context, Result};

/// The compiler of both builds of the policy files, unless `BPF_CLANG` names another.
const CLANG: &str = "clang-19";

fn main() -> Result<()> {
    let clang = std::env::var("BPF_CLANG").unwrap_or_else(|_| CLANG.into());
    std::env::set_var("BPF_CLANG", &clang);

    scx_cargo::BpfBuilder::new()?
        .enable_intf("src/bpf/intf.h", "bpf_intf.rs")
        .enable_skel("src/bpf/main.bpf.c", "bpf")
        .build()
        .context("building the BPF program")?;

    println!("cargo:rerun-if-changed=src/bpf");
    println!("cargo:rerun-if-env-changed=BPF_CLANG");
    cc::Build::new()
        .compiler(&clang)
        .file("src/bpf/policy/host.c")
        .flag("-std=gnu11")
        .flag("-Werror")
        .opt_level(2)
        .debug(true)
        .try_compile("place_policy")
        .context("building the policy files for the host")
}
