// SPDX-License-Identifier: GPL-2.0-only

//! The placement of new tasks as sections C.5 and 0.1 of the specification describe it: domains and
//! groups are sets of CPU numbers, and each CPU has its own list of domains, as in the kernel.

use std::collections::BTreeSet;

use scx_place::topology::Machine;

type Set = BTreeSet<usize>;

/// One domain of a CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    pub span: Set,
    pub pct: u64,
    /// What its CPUs share, as the branches of the stage `fork` call it.
    pub name: &'static str,
}

/// Everything a fork can see.  By CPU number.
#[derive(Debug, Clone)]
pub struct Facts {
    pub waker: usize,
    pub prev: usize,
    pub allowed: Set,
    pub idle: Set,
    pub load: Vec<u64>,
    pub capacity: Vec<u64>,
    pub idle_stamp: Vec<u64>,
    /// 0: not known.
    pub exit_latency: Vec<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub cpu: usize,
    pub branch: &'static str,
    pub depth: &'static str,
    pub visited: u32,
    pub claim: bool,
}

/// The domains of `c` from the smallest on.
pub fn domains(machine: &Machine, c: usize) -> Vec<Domain> {
    let cpus = &machine.cpus;
    let me = cpus.iter().find(|cpu| cpu.id == c).expect("an online CPU");
    let distance = |node: usize| machine.distance[me.node][node];
    let mut out: Vec<Domain> = Vec::new();
    let mut add = |name, pct, span: Set| {
        // A domain like its child, or of one CPU, is removed.
        let below = out.last().map_or(1, |d: &Domain| d.span.len());
        if span.len() > below {
            out.push(Domain { span, pct, name });
        }
    };
    let select = |f: &dyn Fn(&scx_place::topology::Cpu) -> bool| -> Set {
        cpus.iter().filter(|cpu| f(cpu)).map(|cpu| cpu.id).collect()
    };
    add("core", 110, select(&|o| o.core == me.core));
    if me.cluster.is_some() {
        add("llc", 117, select(&|o| o.cluster == me.cluster));
    }
    add("llc", 117, select(&|o| o.llc == me.llc));
    add("node", 125, select(&|o| o.node == me.node));
    // Beyond a distance of 30 forks are not balanced.
    let distances: Set = machine.distance[me.node].iter().copied().collect();
    for &limit in distances.range(11..=30) {
        add("machine", 125, select(&|o| distance(o.node) <= limit));
    }
    out
}

pub fn v48(machine: &Machine, f: &Facts) -> Decision {
    let mut visited = 0;
    let (mut cpu, mut new_cpu) = (f.waker, f.prev);
    let mut moves = 0;
    let mut limit = usize::MAX;
    loop {
        // The widest domain of the current CPU that is smaller than the one handled last.
        let list = domains(machine, cpu);
        let Some(at) = list.iter().rposition(|d| d.span.len() < limit) else {
            break;
        };
        let domain = &list[at];
        limit = domain.span.len();
        visited += domain.span.len() as u32;
        let groups = groups(machine, domain, cpu);
        let Some(group) = find_idlest_group(f, domain, &groups) else {
            continue;
        };
        visited += group.len() as u32;
        new_cpu = find_idlest_cpu(f, group, cpu);
        if new_cpu == cpu {
            continue;
        }
        cpu = new_cpu;
        moves += 1;
    }
    let branch = if new_cpu == f.prev {
        "local"
    } else {
        domains(machine, f.prev)
            .iter()
            .find(|d| d.span.contains(&new_cpu))
            .map_or("machine", |d| d.name)
    };
    Decision {
        cpu: new_cpu,
        branch,
        depth: ["none", "one", "two", "three", "more"][moves.min(4)],
        visited,
        claim: f.idle.contains(&new_cpu) && f.allowed.contains(&new_cpu),
    }
}

/// The groups of a domain in a ring that begins with that of `cpu`.
fn groups(machine: &Machine, domain: &Domain, cpu: usize) -> Vec<Set> {
    let mut groups: Vec<Set> = Vec::new();
    for &c in &domain.span {
        if groups.iter().any(|g| g.contains(&c)) {
            continue;
        }
        let child = domains(machine, c)
            .into_iter()
            .rfind(|d| d.span.len() < domain.span.len())
            .map_or(Set::from([c]), |d| d.span);
        groups.push(child);
    }
    let own = groups.iter().position(|g| g.contains(&cpu)).expect("one");
    groups.rotate_left(own);
    groups
}

/// `groups[0]` is the local one.
fn find_idlest_group<'a>(f: &Facts, domain: &Domain, groups: &'a [Set]) -> Option<&'a Set> {
    let mut this_load = 0;
    let mut best: Option<(u64, &Set)> = None;
    for (i, group) in groups.iter().enumerate() {
        if group.is_disjoint(&f.allowed) {
            continue;
        }
        let load: u64 = group.iter().map(|&c| f.load[c]).sum();
        let capacity: u64 = group.iter().map(|&c| f.capacity[c]).sum();
        let avg = load * 1024 / capacity;
        if i == 0 {
            this_load = avg;
        } else if best.is_none_or(|(least, _)| avg < least) {
            best = Some((avg, group));
        }
    }
    let (least, group) = best?;
    let scale = 100 + (domain.pct - 100) / 2;
    (100 * this_load >= scale * least).then_some(group)
}

fn find_idlest_cpu(f: &Facts, group: &Set, this_cpu: usize) -> usize {
    let mut min_latency = u64::MAX;
    let mut latest = 0;
    let mut idlest = None;
    let mut min_load = u64::MAX;
    let mut least_loaded = this_cpu;
    for &c in group.intersection(&f.allowed) {
        if f.idle.contains(&c) {
            let latency = f.exit_latency[c];
            if latency > 0 && latency < min_latency {
                min_latency = latency;
                latest = f.idle_stamp[c];
                idlest = Some(c);
            } else if (latency == 0 || latency == min_latency) && f.idle_stamp[c] > latest {
                latest = f.idle_stamp[c];
                idlest = Some(c);
            }
        } else if idlest.is_none()
            && (f.load[c] < min_load || (f.load[c] == min_load && c == this_cpu))
        {
            min_load = f.load[c];
            least_loaded = c;
        }
    }
    idlest.unwrap_or(least_loaded)
}
