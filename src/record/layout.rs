// SPDX-License-Identifier: GPL-2.0-only

//! Which definitions a file was written with.
//!
//! Records are the bytes of C structures and of numbers that name rules and branches.  Both change
//! from version to version of this program, so a file carries a fingerprint of the definitions, and
//! is read by programs with the same one only.  The rules themselves are not part of it: that they
//! still decide the same is what a replay finds out.

use std::sync::OnceLock;

use super::raw::{fnv, FNV_START};
use crate::bpf_intf as intf;
use crate::policy::table::table;

/// The files that define what a record's bytes mean, up to the first function.
const DEFINITIONS: [&str; 3] = [
    include_str!("../bpf/policy/place.h"),
    include_str!("../bpf/policy/levels.h"),
    include_str!("../bpf/record.h"),
];

/// Of the definitions that this program was built with.
pub fn fingerprint() -> u64 {
    static FINGERPRINT: OnceLock<u64> = OnceLock::new();
    *FINGERPRINT.get_or_init(|| {
        let structures = DEFINITIONS
            .iter()
            .map(|text| text.split("place_inline").next().unwrap_or(text));
        let texts = structures.map(|text| code(text).into_bytes());
        let names = names().into_iter().map(|name| (name + "\n").into_bytes());
        let sizes = sizes().into_iter().map(|n| n.to_le_bytes().to_vec());
        let all = texts.chain(names).chain(sizes);
        all.fold(FNV_START, |sum, bytes| fnv(sum, &bytes))
    })
}

fn sizes() -> [u64; 9] {
    [
        size_of::<intf::place_in>() as u64,
        size_of::<intf::place_out>() as u64,
        size_of::<intf::place_view>() as u64,
        size_of::<intf::place_llc>() as u64,
        size_of::<intf::place_where>() as u64,
        size_of::<intf::place_record>() as u64,
        size_of::<intf::place_levels>() as u64,
        size_of::<intf::place_fork_in>() as u64,
        size_of::<intf::place_fork_cpu>() as u64,
    ]
}

/// Whatever is named by a number, in the order of the numbers.
fn names() -> Vec<String> {
    let t = table();
    let axes = t.axes.iter().map(|a| a.name.to_string());
    let values = t.values.iter().map(|v| format!("{}={}", v.axis, v.name));
    let params = t.params.iter().map(|p| p.name.to_string());
    let counters = t.counters.iter();
    let counters = counters.map(|c| format!("{}.{}", t.stages[c.stage].name, c.name));
    axes.chain(values).chain(params).chain(counters).collect()
}

/// A C text without comments and blanks.
fn code(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("/*") {
        out.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    let lines = out
        .lines()
        .map(|l| l.split_once("//").map_or(l, |(l, _)| l));
    lines
        .flat_map(str::chars)
        .filter(|c| !c.is_whitespace())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_blanks_do_not_matter() {
        assert_eq!(code("int a; /* x\n */\n\tint b;\t// y\n"), "inta;intb;");
        assert_eq!(code("a /* never ends"), "a");
        assert_ne!(code("int a, b;"), code("int b, a;"));
    }

    #[test]
    fn names_are_told_apart() {
        let names = names();
        assert!(names.iter().any(|n| n == "search.target_idle"));
        assert!(names.iter().any(|n| n.ends_with("=mainline_46")));
    }
}
