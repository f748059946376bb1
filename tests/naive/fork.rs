// SPDX-License-Identifier: GPL-2.0-only

//! The placement of new tasks as sections C.5 to C.8 and 0.1 of the specification describe it: domains
//! and groups are sets of CPU numbers, and each CPU has its own list of domains, as in the kernel.

use std::collections::BTreeSet;

use scx_place::topology::{Cpu, Machine};

type Set = BTreeSet<usize>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    V2627,
    V48,
    FigV1r1,
    V410,
    V612,
}

impl Rule {
    /// As the axis `fork` calls it.
    pub fn name(self) -> &'static str {
        match self {
            Rule::V2627 => "v2627",
            Rule::V48 => "v48",
            Rule::FigV1r1 => "fig_v1r1",
            Rule::V410 => "v410",
            Rule::V612 => "v612",
        }
    }
}

/// What the CPUs of a domain share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Core,
    Cache,
    Node,
    Nodes,
}

/// One domain of a CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    pub span: Set,
    pub kind: Kind,
}

impl Domain {
    /// As the branches of the stage `fork` call it.
    fn name(&self) -> &'static str {
        match self.kind {
            Kind::Core => "core",
            Kind::Cache => "llc",
            Kind::Node => "node",
            Kind::Nodes => "machine",
        }
    }

    /// The imbalance percentage of that kernel.
    fn pct(&self, rule: Rule) -> u128 {
        match (rule, self.kind) {
            (_, Kind::Core) => 110,
            (Rule::V2627, _) => 125,
            (Rule::V612, _) | (_, Kind::Cache) => 117,
            _ => 125,
        }
    }
}

/// Everything a fork can see.  By CPU number.
#[derive(Debug, Clone)]
pub struct Facts {
    pub waker: usize,
    pub prev: usize,
    pub allowed: Set,
    pub idle: Set,
    /// CPUs that run nothing but `SCHED_IDLE` tasks.
    pub sched_idle: Set,
    /// What is runnable: its average load, its weight, how many tasks.
    pub load: Vec<u64>,
    pub weight: Vec<u64>,
    pub nr_running: Vec<u64>,
    /// Load with that of the sleeping tasks.
    pub load_avg: Vec<u64>,
    pub util: Vec<u64>,
    pub capacity: Vec<u64>,
    pub idle_stamp: Vec<u64>,
    /// 0: not known.
    pub exit_latency: Vec<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub cpu: usize,
    pub branch: &'static str,
    /// What the widest level decided.
    pub top: &'static str,
    pub depth: &'static str,
    pub visited: u32,
    pub claim: bool,
}

fn cpu_of(machine: &Machine, c: usize) -> &Cpu {
    machine
        .cpus
        .iter()
        .find(|cpu| cpu.id == c)
        .expect("an online CPU")
}

/// The domains of `c` from the smallest on.
pub fn domains(machine: &Machine, c: usize) -> Vec<Domain> {
    let cpus = &machine.cpus;
    let me = cpu_of(machine, c);
    let distance = |node: usize| machine.distance[me.node][node];
    let mut out: Vec<Domain> = Vec::new();
    let mut add = |kind, span: Set| {
        // A domain like its child, or of one CPU, is removed.
        let below = out.last().map_or(1, |d: &Domain| d.span.len());
        if span.len() > below {
            out.push(Domain { span, kind });
        }
    };
    let select = |f: &dyn Fn(&Cpu) -> bool| -> Set {
        cpus.iter().filter(|cpu| f(cpu)).map(|cpu| cpu.id).collect()
    };
    add(Kind::Core, select(&|o| o.core == me.core));
    if me.cluster.is_some() {
        add(Kind::Cache, select(&|o| o.cluster == me.cluster));
    }
    add(Kind::Cache, select(&|o| o.llc == me.llc));
    add(Kind::Node, select(&|o| o.node == me.node));
    // Beyond a distance of 30 forks are not balanced.
    let distances: Set = machine.distance[me.node].iter().copied().collect();
    for &limit in distances.range(11..=30) {
        add(Kind::Nodes, select(&|o| distance(o.node) <= limit));
    }
    out
}

/// How many tasks v6.12 keeps together in the node of `c` before it spreads them over `domain`.
pub fn imb_numa_nr(machine: &Machine, domain: &Domain, c: usize) -> usize {
    let me = cpu_of(machine, c);
    let count = |f: &dyn Fn(&Cpu) -> bool| machine.cpus.iter().filter(|o| f(o)).count();
    let node = count(&|o| o.node == me.node);
    let in_one = match node / count(&|o| o.llc == me.llc) {
        1 => node >> 3,
        caches => caches,
    };
    // The domain of the nearest nodes that any two nodes of the machine have.
    let used: Set = machine.cpus.iter().map(|o| o.node).collect();
    let nearest = used
        .iter()
        .flat_map(|&a| used.iter().map(move |&b| (a, b)))
        .filter(|(a, b)| a != b)
        .map(|(a, b)| machine.distance[a][b])
        .min()
        .expect("two nodes");
    let first = count(&|o| o.node == me.node || machine.distance[me.node][o.node] <= nearest);
    in_one.max(1) * (domain.span.len() / first).max(1)
}

pub fn place(machine: &Machine, f: &Facts, rule: Rule) -> Decision {
    let mut visited = 0;
    let (mut cpu, mut new_cpu) = (f.waker, f.prev);
    let mut moves = 0;
    let mut limit = usize::MAX;
    let mut top = None;
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
        let (verdict, group) = match rule {
            Rule::V2627 | Rule::V48 => group_by_load(f, domain, &groups, rule),
            Rule::FigV1r1 | Rule::V410 => group_by_two_loads(f, domain, &groups, rule),
            Rule::V612 => group_by_type(machine, f, domain, &groups, cpu),
        };
        if top.is_none() {
            top = Some(verdict);
            // v6.12 stays on the forking CPU rather than the parent's, if the task may run thereabouts.
            if rule == Rule::V612 && !domain.span.is_disjoint(&f.allowed) {
                new_cpu = cpu;
            }
        }
        let Some(group) = group else {
            continue;
        };
        let (found, looks) = find_cpu(f, group, cpu, rule);
        visited += looks;
        new_cpu = found;
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
            .map_or("machine", Domain::name)
    };
    Decision {
        cpu: new_cpu,
        branch,
        top: top.unwrap_or("none"),
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

fn sum<'a>(of: &[u64], cpus: impl IntoIterator<Item = &'a usize>) -> u128 {
    cpus.into_iter().map(|&c| u128::from(of[c])).sum()
}

/// The sum of a group's CPUs per capacity.
fn per_capacity(f: &Facts, of: &[u64], group: &Set) -> u128 {
    sum(of, group) * 1024 / sum(&f.capacity, group)
}

type Verdict<'a> = (&'static str, Option<&'a Set>);

/// C.5.  `groups[0]` is the local one.
fn group_by_load<'a>(f: &Facts, domain: &Domain, groups: &'a [Set], rule: Rule) -> Verdict<'a> {
    let of = if rule == Rule::V48 {
        &f.load
    } else {
        &f.weight
    };
    let mut local = 0;
    let mut best: Option<(u128, &Set)> = None;
    for (i, group) in groups.iter().enumerate() {
        if group.is_disjoint(&f.allowed) {
            continue;
        }
        let avg = per_capacity(f, of, group);
        if i == 0 {
            local = avg;
        } else if best.is_none_or(|(least, _)| avg < least) {
            best = Some((avg, group));
        }
    }
    let Some((least, group)) = best else {
        return ("alone", None);
    };
    let scale = 100 + (domain.pct(rule) - 100) / 2;
    if 100 * local < scale * least {
        return ("load", None);
    }
    ("moved", Some(group))
}

/// C.6 and C.7.
fn group_by_two_loads<'a>(
    f: &Facts,
    domain: &Domain,
    groups: &'a [Set],
    rule: Rule,
) -> Verdict<'a> {
    let pct = domain.pct(rule);
    let margin = 1024 * (pct - 100) / 100;
    let scale = match rule {
        Rule::V410 => 100 + (pct - 100) / 2,
        _ => pct,
    };
    let (mut local_run, mut local_avg) = (0, 0);
    let (mut best_run, mut best_avg) = (u128::MAX, u128::MAX);
    let mut idlest = None;
    for (i, group) in groups.iter().enumerate() {
        if group.is_disjoint(&f.allowed) {
            continue;
        }
        let run = per_capacity(f, &f.load, group);
        let avg = per_capacity(f, &f.load_avg, group);
        if i == 0 {
            (local_run, local_avg) = (run, avg);
        } else if best_run > run + margin {
            (best_run, best_avg, idlest) = (run, avg, Some(group));
        } else if run < best_run + margin && 100 * best_avg > scale * avg {
            (best_avg, idlest) = (avg, Some(group));
        }
    }
    if idlest.is_none() {
        return ("alone", None);
    }
    if best_run > local_run + margin {
        return ("load", None);
    }
    let local_is_no_worse = match rule {
        Rule::V410 => 100 * local_avg < scale * best_avg,
        _ => 100 * best_avg > pct * local_avg,
    };
    if local_run < best_run + margin && local_is_no_worse {
        return ("load_avg", None);
    }
    ("moved", idlest)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fullness {
    HasSpare,
    FullyBusy,
    Overloaded,
}

/// What v6.12 knows of a group.
#[derive(Debug, Clone, Copy)]
struct Stats {
    fullness: Fullness,
    avg: u128,
    util: u128,
    nr: u128,
    idle: u128,
    allowed: u128,
}

fn stats(f: &Facts, group: &Set, pct: u128) -> Stats {
    let cpus: Vec<usize> = group.intersection(&f.allowed).copied().collect();
    let capacity = sum(&f.capacity, group);
    let n = group.len() as u128;
    let (util, nr) = (sum(&f.util, &cpus), sum(&f.nr_running, &cpus));
    let runnable: u128 = cpus
        .iter()
        .map(|&c| {
            let load = u128::from(f.load_avg[c]);
            // Divided by the mean weight.
            match u128::from(f.weight[c]) {
                0 => load,
                weight => load * 1024 * u128::from(f.nr_running[c]) / weight,
            }
        })
        .sum();
    let by_util = 100 * capacity < util * pct;
    let by_runnable = capacity * pct < 100 * runnable;
    let fullness = if nr > n && (by_util || by_runnable) {
        Fullness::Overloaded
    } else if nr < n || (!by_runnable && 100 * capacity > util * pct) {
        Fullness::HasSpare
    } else {
        Fullness::FullyBusy
    };
    let idle = cpus
        .iter()
        .filter(|&&c| f.nr_running[c] == 0 && f.idle.contains(&c))
        .count();
    Stats {
        fullness,
        avg: sum(&f.load_avg, &cpus) * 1024 / capacity,
        util,
        nr,
        idle: idle as u128,
        allowed: cpus.len() as u128,
    }
}

/// C.8.
fn group_by_type<'a>(
    machine: &Machine,
    f: &Facts,
    domain: &Domain,
    groups: &'a [Set],
    cpu: usize,
) -> Verdict<'a> {
    let pct = domain.pct(Rule::V612);
    let better = |a: &Stats, b: &Stats| {
        if a.fullness != b.fullness {
            return a.fullness < b.fullness;
        }
        match a.fullness {
            Fullness::HasSpare => a.idle > b.idle || (a.idle == b.idle && a.util < b.util),
            _ => a.avg < b.avg,
        }
    };
    let mut best: Option<(Stats, &Set)> = None;
    for group in &groups[1..] {
        if group.is_disjoint(&f.allowed) {
            continue;
        }
        let s = stats(f, group, pct);
        if best.is_none_or(|(b, _)| better(&s, &b)) {
            best = Some((s, group));
        }
    }
    let Some((best, idlest)) = best else {
        return ("alone", None);
    };
    let moves = ("moved", Some(idlest));
    if groups[0].is_disjoint(&f.allowed) {
        return moves;
    }
    let local = stats(f, &groups[0], pct);
    if local.fullness < best.fullness {
        return ("type", None);
    }
    if local.fullness > best.fullness {
        return moves;
    }
    let between_nodes = domain.kind == Kind::Nodes;
    if local.fullness == Fullness::HasSpare {
        if between_nodes {
            let imb = (imb_numa_nr(machine, domain, cpu) as u128).min(local.allowed);
            if local.nr < imb && local.idle.abs_diff(best.idle) <= 2 {
                return ("numa", None);
            }
        }
        return if local.idle >= best.idle {
            ("idle", None)
        } else {
            moves
        };
    }
    let margin = 1024 * (pct - 100) / 100;
    if between_nodes && best.avg + margin >= local.avg {
        return ("numa", None);
    }
    if best.avg >= local.avg + margin || 100 * local.avg <= pct * best.avg {
        return ("load", None);
    }
    moves
}

/// The CPU of a group, and how many CPUs were looked at.
fn find_cpu(f: &Facts, group: &Set, this_cpu: usize, rule: Rule) -> (usize, u32) {
    if group.len() == 1 && matches!(rule, Rule::V410 | Rule::V612) {
        return (*group.first().expect("one"), 0);
    }
    let load = match rule {
        Rule::V2627 => &f.weight,
        Rule::V612 => &f.load_avg,
        _ => &f.load,
    };
    let mut min_latency = u64::MAX;
    let mut latest = 0;
    let mut idlest = None;
    let mut min_load = u64::MAX;
    let mut least_loaded = this_cpu;
    let mut looks = 0;
    for &c in group {
        looks += 1;
        if !f.allowed.contains(&c) {
            continue;
        }
        if rule == Rule::V612 && f.sched_idle.contains(&c) {
            return (c, looks);
        }
        if rule != Rule::V2627 && f.idle.contains(&c) {
            let latency = f.exit_latency[c];
            if latency > 0 && latency < min_latency {
                min_latency = latency;
                latest = f.idle_stamp[c];
                idlest = Some(c);
            } else if (latency == 0 || latency == min_latency) && f.idle_stamp[c] > latest {
                latest = f.idle_stamp[c];
                idlest = Some(c);
            }
        } else if idlest.is_none() {
            let tie = rule != Rule::V612 && load[c] == min_load && c == this_cpu;
            if load[c] < min_load || tie {
                min_load = load[c];
                least_loaded = c;
            }
        }
    }
    (idlest.unwrap_or(least_loaded), looks)
}
