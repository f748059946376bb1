// SPDX-License-Identifier: GPL-2.0-only

//! The machine as scx_place sees it, for `scx_place topology`.

use serde_json::{json, Value};

use super::{Layout, Machine, NO_POSITION};
use crate::bpf_intf as intf;
use crate::render;

/// Names of the levels, by `enum place_level_kind`.
const LEVELS: [&str; 5] = ["core", "L2 cluster", "last-level cache", "node", "nodes"];

/// The CPUs of a cache, ascending.
fn cpus_of(llc: &intf::place_llc) -> Vec<u16> {
    let has = |local: &usize| llc.span.w[local / 64] >> (local % 64) & 1 == 1;
    let locals = (0..llc.cpu_of.len()).filter(has);
    locals.map(|local| llc.cpu_of[local]).collect()
}

/// Ascending numbers as the kernel writes them: `0-3,8`.
fn list(numbers: &[u16]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let runs = runs.map(|run| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    runs.collect::<Vec<_>>().join(",")
}

fn cores_of(llc: &intf::place_llc) -> u32 {
    llc.plane[0].w.iter().map(|w| w.count_ones()).sum()
}

/// The domains of a level, as lists of CPUs.
fn domains(layout: &Layout, level: usize) -> Vec<Vec<u16>> {
    let t = &layout.levels;
    let mut out = Vec::new();
    let mut at = 0;
    while at < t.nr_cpus as usize {
        let end = t.domain[level][at].end as usize;
        let mut cpus = t.cpu_at[at..end].to_vec();
        cpus.sort_unstable();
        out.push(cpus);
        at = end;
    }
    out
}

fn levels(layout: &Layout) -> Vec<(&'static str, Vec<Vec<u16>>)> {
    let count = layout.levels.nr_levels as usize;
    let kinds = layout.levels.kind[..count].iter().enumerate();
    kinds
        .map(|(level, kind)| (LEVELS[*kind as usize], domains(layout, level)))
        .collect()
}

/// CPU numbers that exist and are not online.
fn offline(machine: &Machine, layout: &Layout) -> Vec<u16> {
    let absent = |cpu: &usize| layout.levels.position[*cpu] == NO_POSITION;
    (0..machine.nr_cpu_ids)
        .filter(absent)
        .map(|cpu| cpu as u16)
        .collect()
}

/// For people.
pub fn text(machine: &Machine, layout: &Layout) -> String {
    let mut out = machine.describe() + "\n";
    let offline = offline(machine, layout);
    if !offline.is_empty() {
        out += &format!("not online, or not there: {}\n", list(&offline));
    }
    let mut caches = render::table(&["cache", "node", "cores", "threads", "clusters", "CPUs"]);
    for (id, llc) in layout.llcs.iter().enumerate() {
        let clusters = match llc.nr_clusters {
            0 => "-".to_string(),
            n => n.to_string(),
        };
        caches.add_row([
            id.to_string(),
            llc.node.to_string(),
            cores_of(llc).to_string(),
            llc.threads.to_string(),
            clusters,
            list(&cpus_of(llc)),
        ]);
    }
    out += &format!("\n{}", render::lines(&caches));

    let mut table = render::table(&["level", "domains", "the first of them"]);
    for (name, domains) in levels(layout) {
        let first = domains.first().map(|d| list(d)).unwrap_or_default();
        table.add_row([name.to_string(), domains.len().to_string(), first]);
    }
    out += &format!("\n{}", render::lines(&table));
    for warning in &layout.warnings {
        out += &format!("warning: {warning}\n");
    }
    out
}

/// For programs.
pub fn json(machine: &Machine, layout: &Layout) -> Value {
    let caches = layout.llcs.iter().map(|llc| {
        json!({
            "node": llc.node, "cpus": cpus_of(llc), "cores": cores_of(llc),
            "threads": llc.threads, "clusters": llc.nr_clusters,
        })
    });
    let levels = levels(layout)
        .into_iter()
        .map(|(name, domains)| json!({ "level": name, "domains": domains }));
    json!({
        "nr_cpu_ids": machine.nr_cpu_ids,
        "cpus": machine.cpus.len(),
        "offline": offline(machine, layout),
        "caches": caches.collect::<Vec<_>>(),
        "levels": levels.collect::<Vec<_>>(),
        "warnings": layout.warnings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_the_kernels() {
        assert_eq!(list(&[]), "");
        assert_eq!(list(&[3]), "3");
        assert_eq!(list(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
    }
}
