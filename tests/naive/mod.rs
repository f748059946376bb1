// SPDX-License-Identifier: GPL-2.0-only

//! The placement rules once more, as plainly as they can be written: loops over CPU numbers on
//! sets of the whole machine.  Shares nothing with the policy files but the description of the
//! machine, so that each can show the other wrong.  Follows sections A and B of the
//! specification and, where that is silent, `select_idle_sibling` and `wake_affine` of the kernel.
//!
//! Branches are given by the names that `counters.h` gives them.

pub mod affine_history;
pub mod fork;
mod searches;

use std::collections::{BTreeMap, BTreeSet};

use scx_place::topology::Machine;

/// One online CPU: what it shares with which others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpu {
    pub core: usize,
    /// L2 cluster that is larger than a core and smaller than the cache.
    pub cluster: Option<usize>,
    pub llc: usize,
    pub node: usize,
}

/// The machine: by CPU number, `None` where no CPU is online.
#[derive(Debug, Clone)]
pub struct Topology {
    pub cpus: Vec<Option<Cpu>>,
    /// Some core has several threads online.
    pub smt: bool,
    /// By CPU number: all CPUs with the same core, cluster, cache, ascending.
    cores: Vec<Vec<usize>>,
    clusters: Vec<Vec<usize>>,
    llcs: Vec<Vec<usize>>,
}

impl Topology {
    /// `flat` and `unclustered` name caches whose threads count as cores, or whose clusters as
    /// none, because the tables cannot describe them.
    pub fn of(machine: &Machine, flat: &BTreeSet<usize>, unclustered: &BTreeSet<usize>) -> Self {
        let mut cpus = vec![None; machine.nr_cpu_ids];
        for cpu in &machine.cpus {
            // Core ids of the machine stay far below this.
            let own_core = 1_000_000 + cpu.id;
            let is_flat = flat.contains(&cpu.llc);
            cpus[cpu.id] = Some(Cpu {
                core: if is_flat { own_core } else { cpu.core },
                cluster: cpu.cluster.filter(|_| !unclustered.contains(&cpu.llc)),
                llc: cpu.llc,
                node: cpu.node,
            });
        }
        let mut topology = Self {
            cores: alike(&cpus, |cpu| Some((cpu.llc, cpu.core))),
            clusters: alike(&cpus, |cpu| cpu.cluster.map(|cluster| (cpu.llc, cluster))),
            llcs: alike(&cpus, |cpu| Some((cpu.llc, 0))),
            smt: false,
            cpus,
        };
        for cpu in &machine.cpus {
            let c = cpu.id;
            topology.smt |= topology.core(c).len() > 1;
            // The kernel removes a domain whose span equals its child's or its parent's.
            let one_core = machine
                .cpus
                .iter()
                .all(|other| other.core == cpu.core || !topology.clusters[c].contains(&other.id));
            if one_core || topology.clusters[c] == topology.llcs[c] {
                topology.clusters[c].clear();
            }
        }
        topology
    }

    fn cpu(&self, c: usize) -> &Cpu {
        self.cpus[c].as_ref().expect("an online CPU")
    }

    pub fn online(&self) -> Vec<usize> {
        (0..self.cpus.len())
            .filter(|&c| self.cpus[c].is_some())
            .collect()
    }

    /// Threads of the core of `c`, ascending.
    pub fn core(&self, c: usize) -> &[usize] {
        &self.cores[c]
    }

    /// CPUs of the last-level cache of `c`, ascending.
    pub fn llc(&self, c: usize) -> &[usize] {
        &self.llcs[c]
    }

    /// `cpus_share_cache`; an offline CPU shares with none.
    pub fn share_cache(&self, a: usize, b: usize) -> bool {
        match (&self.cpus[a], &self.cpus[b]) {
            (Some(a), Some(b)) => a.llc == b.llc,
            _ => false,
        }
    }

    /// `cpus_share_resources`: the cluster, or the cache where neither CPU has a cluster.
    fn share_cluster(&self, a: usize, b: usize) -> bool {
        self.share_cache(a, b) && self.clusters[a] == self.clusters[b]
    }

    /// All CPU numbers, from `start` on and around.
    fn wrap(&self, start: usize) -> Vec<usize> {
        let n = self.cpus.len();
        (0..n).map(|i| (start + i) % n).collect()
    }
}

/// By CPU number: the CPUs that have the same key, ascending.  Empty where there is no key.
fn alike(cpus: &[Option<Cpu>], key: impl Fn(&Cpu) -> Option<(usize, usize)>) -> Vec<Vec<usize>> {
    let keys: Vec<_> = cpus.iter().map(|cpu| cpu.as_ref().and_then(&key)).collect();
    let mut groups: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (c, key) in keys.iter().enumerate() {
        if key.is_some() {
            groups.entry(key).or_default().push(c);
        }
    }
    keys.iter()
        .map(|key| groups.get(key).cloned().unwrap_or_default())
        .collect()
}

/// Everything a wakeup can see.  Sets hold CPU numbers.
#[derive(Debug, Clone)]
pub struct Facts {
    pub idle: BTreeSet<usize>,
    /// CPUs on whose core nothing runs, as the kernel's mask of them says.
    pub idle_core: BTreeSet<usize>,
    pub sched_idle: BTreeSet<usize>,
    pub allowed: BTreeSet<usize>,
    /// Of the target's cache, by cache.
    pub has_idle_cores: BTreeSet<usize>,
    pub nr_idle_scan: Vec<u32>,
    pub waker: usize,
    pub prev: usize,
    pub recent: Option<usize>,
    pub sync: bool,
    pub waker_is_kthread: bool,
    pub affine_domain: bool,
    pub waker_nr_running: u32,
    pub waker_flips: u32,
    pub wakee_flips: u32,
    /// Of the waker's and of the previous CPU.
    pub cpu_loads: (u32, u32),
    pub capacities: (u32, u32),
    /// Of the waker and of the wakee.
    pub task_loads: (u32, u32),
    pub history: affine_history::Facts,
    /// Of the waker's CPU.
    pub avg_idle_ns: u64,
    /// Of the waker's cache.
    pub scan_cost_ns: u32,
    pub prev_nr_running: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Affine {
    Off,
    Always,
    History(affine_history::Rule),
    Wa414(Wa414),
}

/// The parts of the rule, and the imbalance percentages within a core, a cache and beyond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wa414 {
    pub wa_idle: bool,
    pub wa_weight: bool,
    pub wa_bias: bool,
    pub wake_wide: bool,
    pub pct: [u32; 3],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleSearch {
    None,
    Scan2637,
    Mainline46,
    MasonFirst,
    /// With the migration cost in us.
    MasonPkg(u32),
    PeterRfc(Throttle),
    Sis49(Throttle),
    SisAvgCpu(Throttle),
    SisProp(Throttle),
    SisUtil,
    SisModern,
}

/// The divisor of the idle time, and what a look at a CPU costs in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Throttle {
    pub fudge: u32,
    pub look_ns: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub target: usize,
    pub cpu: usize,
    pub affine: &'static str,
    pub search: &'static str,
    pub outcome: &'static str,
    pub visited: u32,
    pub clear_idle_cores: bool,
    /// The wakee's recently used CPU becomes the previous one.
    pub set_recent: bool,
    /// The waker's becomes its own.
    pub set_waker_recent: bool,
    /// What becomes the cost of a scan.
    pub scan_cost: Option<u32>,
    /// Idle, and the wakee may run there.
    pub claim: bool,
}

/// What a search found, and what it did on the way.
#[derive(Debug, Default)]
struct Search {
    visited: u32,
    clear_idle_cores: bool,
    set_recent: bool,
    set_waker_recent: bool,
    scan_cost: Option<u32>,
    /// Something kept the scan from seeing all candidates: SIS_UTIL, the throttle of v4.9 to v5.10,
    /// Mason's filter.
    throttled: bool,
}

pub fn wakeup(t: &Topology, f: &Facts, affine: Affine, search: IdleSearch) -> Decision {
    let (target, affine) = wake_affine(t, f, affine);
    let mut s = Search::default();
    let (cpu, branch) = match search {
        IdleSearch::None => (target, "none"),
        IdleSearch::Scan2637 => searches::scan_2637(t, f, target, &mut s),
        IdleSearch::Mainline46 => mainline_46(t, f, target, &mut s),
        IdleSearch::MasonFirst => searches::mason_first(t, f, target, &mut s),
        IdleSearch::MasonPkg(cost_us) => searches::mason_pkg(t, f, target, cost_us, &mut s),
        IdleSearch::PeterRfc(rule) | IdleSearch::Sis49(rule) => sis_49(t, f, target, rule, &mut s),
        IdleSearch::SisAvgCpu(rule) => searches::sis_510(t, f, target, rule, false, &mut s),
        IdleSearch::SisProp(rule) => searches::sis_510(t, f, target, rule, true, &mut s),
        IdleSearch::SisUtil => searches::sis_util(t, f, target, &mut s),
        IdleSearch::SisModern => sis_modern(t, f, target, &mut s),
    };
    if matches!(search, IdleSearch::SisAvgCpu(_) | IdleSearch::SisProp(_)) {
        s.set_waker_recent = f.allowed.contains(&f.waker) && affine != "wake_wide";
    }
    Decision {
        target,
        cpu,
        affine,
        search: branch,
        outcome: outcome(t, f, target, cpu, s.throttled),
        visited: s.visited,
        clear_idle_cores: s.clear_idle_cores,
        set_recent: s.set_recent,
        set_waker_recent: s.set_waker_recent,
        scan_cost: s.scan_cost,
        claim: f.idle.contains(&cpu) && f.allowed.contains(&cpu),
    }
}

fn outcome(t: &Topology, f: &Facts, target: usize, cpu: usize, throttled: bool) -> &'static str {
    if f.idle.contains(&cpu) {
        return if f.idle_core.contains(&cpu) {
            "idle_core"
        } else {
            "idle_thread"
        };
    }
    for c in t.llc(target) {
        if f.idle.contains(c) && f.allowed.contains(c) {
            return if throttled {
                "busy_throttled"
            } else {
                "busy_rule"
            };
        }
    }
    "busy_none"
}

fn wake_affine(t: &Topology, f: &Facts, rule: Affine) -> (usize, &'static str) {
    if f.waker == f.prev {
        return (f.prev, "same_cpu");
    }
    let asks_flips = match rule {
        Affine::Wa414(rule) => rule.wake_wide,
        Affine::History(rule) => rule.wake_wide && rule.kernel == affine_history::Kernel::V46,
        Affine::Off | Affine::Always => false,
    };
    if asks_flips && wake_wide(f.waker_flips, f.wakee_flips, t.llc(f.waker).len()) {
        return (f.prev, "wake_wide");
    }
    if !f.allowed.contains(&f.waker) {
        return (f.prev, "not_allowed");
    }
    let any_distance = match rule {
        Affine::History(rule) => {
            matches!(
                rule.kernel,
                affine_history::Kernel::V2626 | affine_history::Kernel::V2627
            )
        }
        _ => false,
    };
    if !f.affine_domain && !any_distance {
        return (f.prev, "no_domain");
    }
    match rule {
        Affine::Off => (f.prev, "off"),
        Affine::Always => (f.waker, "always"),
        Affine::History(rule) => {
            let apart = if t.core(f.waker).contains(&f.prev) {
                affine_history::Apart::Core
            } else if t.share_cache(f.waker, f.prev) {
                affine_history::Apart::Cache
            } else if t.cpu(f.waker).node == t.cpu(f.prev).node {
                affine_history::Apart::Node
            } else {
                affine_history::Apart::Nodes
            };
            let (pulls, branch) = affine_history::decide(
                &rule,
                apart,
                &f.history,
                f.waker_nr_running,
                f.sync,
                f.capacities,
                f.task_loads.0,
            );
            (if pulls { f.waker } else { f.prev }, branch)
        }
        Affine::Wa414(rule) => wa_414(t, f, rule),
    }
}

fn wa_414(t: &Topology, f: &Facts, rule: Wa414) -> (usize, &'static str) {
    let mut verdict = (f.prev, "undecided");
    if rule.wa_idle {
        verdict = wa_idle(t, f);
    }
    if rule.wa_weight && verdict.1 == "undecided" {
        let [smt, llc, wide] = rule.pct;
        let pct = if t.core(f.waker).contains(&f.prev) {
            smt
        } else if t.share_cache(f.waker, f.prev) {
            llc
        } else {
            wide
        };
        let branch = wa_weight(&Weights {
            cpus: f.cpu_loads,
            tasks: f.task_loads,
            capacities: f.capacities,
            pct,
            sync: f.sync,
            bias: rule.wa_bias,
        });
        verdict = match branch {
            "weight_prev" => (f.prev, branch),
            _ => (f.waker, branch),
        };
    }
    verdict
}

pub fn wake_wide(waker_flips: u32, wakee_flips: u32, llc_size: usize) -> bool {
    let (hi, lo) = (waker_flips.max(wakee_flips), waker_flips.min(wakee_flips));
    lo as usize >= llc_size && hi as usize >= lo as usize * llc_size
}

/// Pairs are (waker's, previous or wakee's).
pub struct Weights {
    pub cpus: (u32, u32),
    pub tasks: (u32, u32),
    pub capacities: (u32, u32),
    pub pct: u32,
    pub sync: bool,
    pub bias: bool,
}

/// In arithmetic that cannot overflow.
pub fn wa_weight(w: &Weights) -> &'static str {
    let mut here = i128::from(w.cpus.0);
    if w.sync {
        if w.tasks.0 > w.cpus.0 {
            return "weight_sync";
        }
        here -= i128::from(w.tasks.0);
    }
    here += i128::from(w.tasks.1);
    let mut there = i128::from(w.cpus.1) - i128::from(w.tasks.1);
    if w.bias {
        here *= 100;
        there *= i128::from(100 + (w.pct - 100) / 2);
    }
    here *= i128::from(w.capacities.1);
    there *= i128::from(w.capacities.0);
    if w.sync {
        there += 1;
    }
    if here < there {
        "weight_waker"
    } else {
        "weight_prev"
    }
}

fn wa_idle(t: &Topology, f: &Facts) -> (usize, &'static str) {
    let idle = |c: usize| f.idle.contains(&c);
    if idle(f.waker) && t.share_cache(f.waker, f.prev) {
        return if idle(f.prev) {
            (f.prev, "idle_prev")
        } else {
            (f.waker, "idle_waker")
        };
    }
    if f.sync && f.waker_nr_running == 1 {
        return (f.waker, "sync_alone");
    }
    if idle(f.prev) {
        return (f.prev, "prev_idle");
    }
    (f.prev, "undecided")
}

/// The kernel's mask of idle cores is believed, also where it lags behind that of idle CPUs.
fn is_idle_core(f: &Facts, threads: &[usize]) -> bool {
    threads.iter().all(|c| f.idle_core.contains(c))
}

/// v4.6: levels from the cache down to the core, groups of each level in a ring.
fn mainline_46(t: &Topology, f: &Facts, target: usize, s: &mut Search) -> (usize, &'static str) {
    let idle = |c: usize| f.idle.contains(&c);
    if idle(target) {
        return (target, "target_idle");
    }
    if f.prev != target && t.share_cache(f.prev, target) && idle(f.prev) {
        return (f.prev, "prev_idle");
    }
    let cores = ring_of_groups(t.llc(target), target, |c| t.core(c).to_vec());
    if let Some(cpu) = walk(f, &cores, true, s) {
        // Where no core has several threads the groups are single CPUs.
        let smt = t.llc(target).iter().any(|&c| t.core(c).len() > 1);
        return (cpu, if smt { "core" } else { "thread" });
    }
    let threads = ring_of_groups(t.core(target), target, |c| vec![c]);
    if let Some(cpu) = walk(f, &threads, false, s) {
        return (cpu, "smt_target");
    }
    (target, "nothing")
}

/// The groups that `span` falls into, in order of their first CPU, behind that of `target`.
fn ring_of_groups(
    span: &[usize],
    target: usize,
    group: impl Fn(usize) -> Vec<usize>,
) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for &c in span {
        let g = group(c);
        // Once per group, at its first CPU.
        if g[0] == c {
            groups.push(g);
        }
    }
    let own = groups
        .iter()
        .position(|g| g.contains(&target))
        .expect("the target's own group");
    groups.rotate_left(own);
    groups.remove(0);
    groups
}

/// The lowest allowed CPU of the first group that is all idle.
fn walk(f: &Facts, groups: &[Vec<usize>], cores: bool, s: &mut Search) -> Option<usize> {
    for group in groups {
        if !group.iter().any(|c| f.allowed.contains(c)) {
            continue;
        }
        let mut all_idle = true;
        for c in group {
            s.visited += 1;
            if !f.idle.contains(c) {
                all_idle = false;
                break;
            }
        }
        if all_idle && (!cores || is_idle_core(f, group)) {
            for &c in group {
                if f.allowed.contains(&c) {
                    return Some(c);
                }
            }
        }
    }
    None
}

/// v4.9, with a scan that takes `look_ns` for each CPU it looks at.
fn sis_49(
    t: &Topology,
    f: &Facts,
    target: usize,
    Throttle { fudge, look_ns }: Throttle,
    s: &mut Search,
) -> (usize, &'static str) {
    let idle = |c: usize| f.idle.contains(&c);
    if idle(target) {
        return (target, "target_idle");
    }
    if f.prev != target && t.share_cache(f.prev, target) && idle(f.prev) {
        return (f.prev, "prev_idle");
    }
    let llc = t.llc(target);
    // No domain of shared cache.
    if llc.len() == 1 {
        return (target, "nothing");
    }
    let smt = llc.iter().any(|&c| t.core(c).len() > 1);
    let around = || {
        let order = t.wrap(target).into_iter();
        order.filter(|c| llc.contains(c) && f.allowed.contains(c))
    };

    if smt && f.has_idle_cores.contains(&t.cpu(target).llc) {
        let mut gone: BTreeSet<usize> = BTreeSet::new();
        for c in around() {
            if gone.contains(&c) {
                continue;
            }
            s.visited += 1;
            gone.extend(t.core(c));
            if is_idle_core(f, t.core(c)) {
                return (c, "core");
            }
        }
        s.clear_idle_cores = true;
    }

    if t.llc(f.waker).len() > 1 {
        if f.avg_idle_ns / u64::from(fudge) < u64::from(f.scan_cost_ns) {
            s.throttled = true;
        } else {
            let (mut looks, mut found) = (0, None);
            for c in around() {
                looks += 1;
                if idle(c) {
                    found = Some(c);
                    break;
                }
            }
            s.visited += looks;
            let cost = i64::from(f.scan_cost_ns);
            let time = i64::from(looks) * i64::from(look_ns);
            s.scan_cost = Some((cost + (time - cost) / 8) as u32);
            if let Some(c) = found {
                return (c, "thread");
            }
        }
    }

    if smt {
        for &c in t.core(target) {
            if f.allowed.contains(&c) {
                s.visited += 1;
                if idle(c) {
                    return (c, "smt_target");
                }
            }
        }
    }
    (target, if s.throttled { "throttled" } else { "nothing" })
}

/// v6.12 on symmetric CPUs.
fn sis_modern(t: &Topology, f: &Facts, target: usize, s: &mut Search) -> (usize, &'static str) {
    let free = |c: usize| f.idle.contains(&c) || f.sched_idle.contains(&c);
    let prev = f.prev;
    if free(target) {
        return (target, "target_idle");
    }

    let mut kept_prev = None;
    if prev != target && t.share_cache(prev, target) && free(prev) {
        if t.share_cluster(prev, target) {
            return (prev, "prev_idle");
        }
        kept_prev = Some(prev);
    }

    if f.waker_is_kthread && prev == f.waker && f.waker_nr_running <= 1 {
        return (prev, "kthread_stack");
    }

    s.set_recent = true;
    let mut kept_recent = None;
    if let Some(recent) = f.recent {
        if recent != prev
            && recent != target
            && t.share_cache(recent, target)
            && free(recent)
            && f.allowed.contains(&recent)
        {
            if t.share_cluster(recent, target) {
                return (recent, "recent_idle");
            }
            kept_recent = Some(recent);
        }
    }

    let llc = t.cpu(target).llc;
    let idle_core_expected = t.smt && f.has_idle_cores.contains(&llc);
    if t.smt && !idle_core_expected && t.share_cache(prev, target) {
        for &c in t.core(prev) {
            if c != prev && f.allowed.contains(&c) && free(c) {
                return (c, "smt_prev");
            }
        }
    }

    let (found, branch) = select_idle_cpu(t, f, target, idle_core_expected, s);
    if let Some(cpu) = found {
        return (cpu, branch);
    }
    if let Some(cpu) = kept_prev {
        return (cpu, "prev_kept");
    }
    if let Some(cpu) = kept_recent {
        return (cpu, "recent_kept");
    }
    (target, branch)
}

fn select_idle_cpu(
    t: &Topology,
    f: &Facts,
    target: usize,
    idle_core_expected: bool,
    s: &mut Search,
) -> (Option<usize>, &'static str) {
    let free = |c: usize| f.idle.contains(&c) || f.sched_idle.contains(&c);
    let mut nr = i64::from(f.nr_idle_scan[t.cpu(target).llc]) + 1;
    if nr == 1 {
        s.throttled = true;
        return (None, "no_budget");
    }
    let mut candidates: BTreeSet<usize> = t
        .llc(target)
        .iter()
        .copied()
        .filter(|c| f.allowed.contains(c))
        .collect();
    // v7.3 returns here if there are none; v6.12 goes on and clears has_idle_cores.

    // The cluster's CPUs first, then those left.
    let cluster = &t.clusters[target];
    let around = t.wrap(target + 1);
    let mut order: Vec<usize> = around
        .iter()
        .copied()
        .filter(|c| cluster.contains(c))
        .collect();
    order.extend(around.iter().filter(|c| !cluster.contains(c)));

    let mut thread_seen = None;
    for c in order {
        if !candidates.contains(&c) {
            continue;
        }
        if idle_core_expected {
            s.visited += 1;
            let core = t.core(c);
            if is_idle_core(f, core) {
                return (Some(c), "core");
            }
            for &thread in core {
                if thread_seen.is_none() && free(thread) && candidates.contains(&thread) {
                    thread_seen = Some(thread);
                }
                candidates.remove(&thread);
            }
        } else {
            nr -= 1;
            if nr <= 0 {
                s.throttled = true;
                return (None, "budget_spent");
            }
            s.visited += 1;
            if free(c) {
                return (Some(c), "thread");
            }
        }
    }

    if idle_core_expected {
        s.clear_idle_cores = true;
    }
    match thread_seen {
        Some(cpu) => (Some(cpu), "core_thread"),
        None => (None, "nothing"),
    }
}
