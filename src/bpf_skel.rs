// SPDX-License-Identifier: GPL-2.0-only

//! The skeleton of the BPF program, generated from `src/bpf/main.bpf.c`.

#![allow(missing_docs)]

include!(concat!(env!("OUT_DIR"), "/bpf_skel.rs"));
