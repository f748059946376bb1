// SPDX-License-Identifier: GPL-2.0-only

//! The structures and enums shared with the BPF program, generated from `src/bpf/intf.h`, and the
//! host build's tables.  Their safe form is [`crate::policy::table`].

#![allow(non_upper_case_globals)]
#![allow(non_camel_case_types)]
#![allow(non_snake_case)]
#![allow(dead_code)]
#![allow(missing_docs)]

include!(concat!(env!("OUT_DIR"), "/bpf_intf.rs"));
