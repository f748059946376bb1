// SPDX-License-Identifier: GPL-2.0-only

//! Random machines and random moments on them, as proptest strategies whose failures shrink; and
//! the same moment as the policy files' `place_in`.

#![allow(dead_code)]

use std::collections::BTreeSet;
use std::ffi::CStr;

use proptest::collection::vec;
use proptest::prelude::*;
use scx_place::bpf_intf as intf;
use scx_place::policy::parse::parse_items;
use scx_place::policy::Policy;
use scx_place::record::raw;
use scx_place::topology::{Cpu, Layout, Machine, MAX_CPUS};

use crate::naive::affine_history::{self, Kernel};
use crate::naive::{fork, Affine, Decision, Facts, IdleSearch, Topology};

/// How CPU numbers are dealt out to hardware threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbering {
    /// Threads of a core in a row, core by core.
    Adjacent,
    /// First threads of the whole machine, then second ones, ...
    Split,
    /// The same within each last-level cache.
    SplitInCache,
    /// Cores dealt out to the caches in turn, threads in a row.
    Interleaved,
    /// Cores dealt out to the caches in turn, first threads of the machine first.
    InterleavedSplit,
}

/// One last-level cache.
#[derive(Debug, Clone)]
pub struct CacheRecipe {
    pub cores: usize,
    pub threads: usize,
    /// Cores per L2 cluster; 0: no clusters.
    pub cluster_cores: usize,
    /// How many cores at the end have one thread, and a cluster each.
    pub single_cores: usize,
    pub node: usize,
}

#[derive(Debug, Clone)]
pub struct Recipe {
    pub caches: Vec<CacheRecipe>,
    pub numbering: Numbering,
    /// CPU numbers left out: (before which position, how many).
    pub holes: Vec<(usize, usize)>,
    /// Which CPUs are offline, by position modulo their number.
    pub offline: Vec<usize>,
    /// Distance of different nodes.
    pub far: bool,
}

impl Recipe {
    pub fn machine(&self) -> Machine {
        let mut cores = Vec::new();
        let mut clusters = 0;
        for (llc, cache) in self.caches.iter().enumerate() {
            let regular = cache.cores - cache.single_cores.min(cache.cores);
            for i in 0..cache.cores {
                let single = i >= regular;
                let new_cluster =
                    i == 0 || cache.cluster_cores == 0 || single || i % cache.cluster_cores == 0;
                clusters += usize::from(new_cluster);
                cores.push((
                    i,
                    llc,
                    cache.node,
                    (cache.cluster_cores > 0).then_some(clusters),
                    if single { 1 } else { cache.threads },
                ));
            }
        }
        let mut threads = Vec::new();
        for (core, &(index, llc, node, cluster, nr)) in cores.iter().enumerate() {
            for thread in 0..nr {
                threads.push((
                    core,
                    thread,
                    index,
                    Cpu {
                        id: 0,
                        core,
                        cluster,
                        llc,
                        node,
                    },
                ));
            }
        }
        threads.sort_by_key(|&(core, thread, index, cpu)| match self.numbering {
            Numbering::Adjacent => (core, thread, 0, 0),
            Numbering::Split => (thread, core, 0, 0),
            Numbering::SplitInCache => (cpu.llc, thread, core, 0),
            Numbering::Interleaved => (index, cpu.llc, thread, 0),
            Numbering::InterleavedSplit => (thread, index, cpu.llc, 0),
        });
        threads.truncate(MAX_CPUS);

        let total = threads.len();
        let mut next = 0;
        let mut cpus: Vec<Cpu> = Vec::new();
        for (position, (.., cpu)) in threads.into_iter().enumerate() {
            for &(before, width) in &self.holes {
                // Never beyond the largest CPU number.
                if before % total == position && next + width + total - position <= MAX_CPUS {
                    next += width;
                }
            }
            cpus.push(Cpu { id: next, ..cpu });
            next += 1;
        }
        let offline: BTreeSet<usize> = self.offline.iter().map(|i| i % total).collect();
        let mut position = 0;
        let survivor = cpus[0];
        cpus.retain(|_| {
            position += 1;
            !offline.contains(&(position - 1))
        });
        if cpus.is_empty() {
            cpus.push(survivor);
        }
        let nodes = self.caches.iter().map(|c| c.node).max().unwrap_or(0) + 1;
        let apart = if self.far { 40 } else { 20 };
        let distance = |a, b| if a == b { 10 } else { apart };
        Machine {
            nr_cpu_ids: next,
            cpus,
            distance: (0..nodes)
                .map(|a| (0..nodes).map(|b| distance(a, b)).collect())
                .collect(),
        }
    }

    /// Nothing but cores alike: the tables must represent it without a warning.
    pub fn is_regular(&self) -> bool {
        self.offline.is_empty()
            && self.holes.is_empty()
            && self.caches.iter().all(|c| {
                c.single_cores == 0
                    && c.cores == self.caches[0].cores
                    && c.threads == self.caches[0].threads
                    && c.cores * c.threads * self.caches.len() <= MAX_CPUS
                    && (c.cluster_cores == 0 || c.cores.div_ceil(c.cluster_cores) <= 32)
            })
    }
}

fn cache(cores: impl Strategy<Value = usize>) -> impl Strategy<Value = CacheRecipe> {
    (
        cores,
        prop_oneof![4 => Just(2usize), 3 => Just(1usize), 1 => Just(4usize), 1 => Just(8usize)],
        prop_oneof![3 => Just(0usize), 1 => 1usize..=5],
        prop_oneof![4 => Just(0usize), 1 => 0usize..=4],
    )
        .prop_map(
            |(cores, threads, cluster_cores, single_cores)| CacheRecipe {
                cores,
                threads,
                cluster_cores,
                single_cores,
                node: 0,
            },
        )
}

/// Up to `max_cores` cores in up to `max_caches` caches, alike or not.
fn caches(max_caches: usize, max_cores: usize) -> impl Strategy<Value = Vec<CacheRecipe>> {
    let alike = (cache(1..=max_cores), 1..=max_caches).prop_map(|(c, n)| vec![c; n]);
    let mixed = vec(cache(1..=max_cores), 1..=max_caches);
    let same_threads = (vec(cache(1..=max_cores), 1..=max_caches)).prop_map(|mut v| {
        let threads = v[0].threads;
        v.iter_mut().for_each(|c| c.threads = threads);
        v
    });
    prop_oneof![2 => alike, 1 => mixed, 1 => same_threads]
}

pub fn recipe() -> impl Strategy<Value = Recipe> {
    let size = prop_oneof![
        8 => caches(3, 6),
        2 => caches(8, 16),
        1 => caches(2, 64),
        1 => caches(4, 128),
        1 => caches(1, 512),
    ];
    let numbering = prop_oneof![
        2 => Just(Numbering::Adjacent),
        2 => Just(Numbering::Split),
        1 => Just(Numbering::SplitInCache),
        1 => Just(Numbering::Interleaved),
        1 => Just(Numbering::InterleavedSplit),
    ];
    let holes = prop_oneof![3 => Just(vec![]), 1 => vec((0..1024usize, 1..=40usize), 1..4)];
    let offline =
        prop_oneof![3 => Just(vec![]), 1 => vec(0..1024usize, 1..8), 1 => vec(0..1024usize, 8..60)];
    (size, numbering, holes, offline, 1..=4usize, any::<bool>()).prop_map(
        |(mut caches, numbering, holes, offline, per_node, far)| {
            for (i, c) in caches.iter_mut().enumerate() {
                c.node = i / per_node;
            }
            Recipe {
                caches,
                numbering,
                holes,
                offline,
                far,
            }
        },
    )
}

/// A set of CPU numbers as machine-wide words.
#[derive(Clone, Copy)]
pub struct Words(pub [u64; 16]);

impl std::fmt::Debug for Words {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let used = 16 - self.0.iter().rev().take_while(|w| **w == 0).count();
        write!(f, "Words(")?;
        self.0[..used]
            .iter()
            .try_for_each(|w| write!(f, "{w:#x}, "))?;
        write!(f, "0...)")
    }
}

/// A set of CPUs of any density, the rare ones on purpose: only CPU 0, one word whole, the last CPU of
/// each word; shrinks by losing members.
pub fn words() -> impl Strategy<Value = Words> {
    let any = || proptest::array::uniform16(proptest::bits::u64::ANY);
    let few =
        || (any(), any(), any()).prop_map(|(a, b, c)| std::array::from_fn(|i| a[i] & b[i] & c[i]));
    prop_oneof![
        1 => Just([0u64; 16]),
        2 => any(),
        2 => (any(), any()).prop_map(|(a, b)| std::array::from_fn(|i| a[i] & b[i])),
        2 => few(),
        1 => few().prop_map(|few: [u64; 16]| few.map(|w| !w)),
        1 => vec(0..1024usize, 1..4).prop_map(|members| {
            let mut w = [0; 16];
            members.iter().for_each(|c| w[c / 64] |= 1 << (c % 64));
            w
        }),
        1 => Just([u64::MAX; 16]),
        1 => Just(std::array::from_fn(|i| u64::from(i == 0))),
        1 => (0..16usize).prop_map(|word| std::array::from_fn(|i| u64::from(i != word).wrapping_sub(1))),
        1 => Just([1 << 63; 16]),
    ]
    .prop_map(Words)
}

fn has(words: &Words, c: usize) -> bool {
    words.0[c / 64] >> (c % 64) & 1 == 1
}

/// How one CPU is chosen relative to another.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    Same,
    SameCore(usize),
    SameCache(usize),
    Anywhere(usize),
    /// Any number at all, offline and absent CPUs included.
    Number(usize),
    Nowhere,
}

impl Place {
    fn resolve(self, t: &Topology, from: usize) -> Option<usize> {
        let pick = |v: &[usize], i: usize| Some(v[i % v.len()]);
        match self {
            Place::Same => Some(from),
            Place::SameCore(i) => pick(t.core(from), i),
            Place::SameCache(i) => pick(t.llc(from), i),
            Place::Anywhere(i) => pick(&t.online(), i),
            Place::Number(i) => Some(i % t.cpus.len()),
            Place::Nowhere => None,
        }
    }
}

/// Whether the mask of idle cores tells the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleCores {
    Exact,
    /// Whole cores are missing, as after a claim of one of their threads.
    MissingCores,
}

/// A random moment of a machine, before it is fitted to one.
#[derive(Debug, Clone)]
pub struct Moment {
    pub waker: usize,
    pub prev: Place,
    pub recent: Place,
    pub idle: Words,
    /// Idle or not by core instead of by CPU.
    pub idle_by_core: bool,
    pub sched_idle: Words,
    pub allowed: Words,
    pub idle_cores: IdleCores,
    pub missing: Words,
    pub has_idle_cores: Words,
    pub nr_idle_scan: u32,
    /// Below this, as percent of the cache instead of an absolute number.
    pub scan_percent: bool,
    /// Bits: waker busy, prev busy, waker allowed, prev excluded, prev allowed.
    pub force: u32,
    pub sync: bool,
    pub waker_is_kthread: bool,
    pub affine_domain: bool,
    pub waker_nr_running: u32,
    pub flips: (u32, u32),
    pub cpu_loads: (u32, u32),
    pub task_loads: (u32, u32),
    pub capacities: (u32, u32),
    pub history: affine_history::Facts,
    pub avg_idle_ns: u64,
    pub scan_cost_ns: u32,
    pub prev_nr_running: u32,
    /// What the parts of `place_in` hold that no rule may read.
    pub garbage: u64,
}

pub fn moment(idle_cores: IdleCores) -> impl Strategy<Value = Moment> {
    let prev = prop_oneof![
        1 => Just(Place::Same),
        2 => (0..8usize).prop_map(Place::SameCore),
        4 => (0..1024usize).prop_map(Place::SameCache),
        1 => Just(Place::SameCache(0)),
        2 => (0..1024usize).prop_map(Place::Anywhere),
    ];
    let recent = prop_oneof![
        2 => Just(Place::Nowhere),
        1 => Just(Place::SameCache(0)),
        3 => (0..1024usize).prop_map(Place::SameCache),
        1 => (0..1024usize).prop_map(Place::Number),
    ];
    let sets = (words(), any::<bool>(), words(), words(), words(), words());
    let numbers = (
        prop_oneof![1 => Just(0u32), 2 => 1..=2u32, 3 => 1..=12u32, 2 => 0..=120u32, 1 => Just(1024u32)],
        any::<bool>(),
        prop_oneof![3 => Just(0b11u32), 3 => Just(0b10111u32), 2 => 0..32u32],
        prop_oneof![1 => Just(0u32), 3 => Just(1u32), 1 => 2..5u32],
        prop_oneof![Just(0u64), Just(u64::MAX), any::<u64>()],
    );
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let waker = prop_oneof![1 => Just(0usize), 5 => 0..1024usize];
    // In boxes: the stack of a test's thread is too small for all these trees.
    let (sets, numbers) = (sets.boxed(), numbers.boxed());
    let loads = (loads().boxed(), history_facts().boxed());
    ((waker, prev, recent), sets, numbers, flags, loads).prop_map(
        move |((waker, prev, recent), sets, numbers, flags, (loads, history))| {
            let (flips, cpu_loads, task_loads, capacities, scans) = loads;
            let (avg_idle_ns, scan_cost_ns, prev_nr_running) = scans;
            let (idle, idle_by_core, sched_idle, allowed, missing, has_idle_cores) = sets;
            let (nr_idle_scan, scan_percent, force, waker_nr_running, garbage) = numbers;
            let (sync, kthread_a, kthread_b, affine_domain) = flags;
            Moment {
                waker,
                prev,
                recent,
                idle,
                idle_by_core,
                sched_idle,
                allowed,
                idle_cores,
                missing,
                has_idle_cores,
                nr_idle_scan,
                scan_percent,
                force,
                sync,
                waker_is_kthread: kthread_a && kthread_b,
                affine_domain: affine_domain || waker_nr_running == 1,
                waker_nr_running,
                flips,
                cpu_loads,
                task_loads,
                capacities,
                history,
                avg_idle_ns,
                scan_cost_ns,
                prev_nr_running,
                garbage,
            }
        },
    )
}

/// What the rules before v4.14 read.  Loads as they are and, often, right at the point where one
/// CPU ceases to be less loaded than the other.
fn history_facts() -> impl Strategy<Value = affine_history::Facts> {
    let weight = || {
        prop_oneof![
            1 => Just(0u32),
            4 => (1..6u32).prop_map(|n| n * 1024),
            2 => 0..6u32,
            2 => 0..6000u32,
            1 => 0..100_000_000u32,
        ]
    };
    let task =
        || prop_oneof![3 => Just(1024u32), 1 => Just(0u32), 1 => Just(3u32), 1 => 1..=88761u32];
    let ns = || {
        prop_oneof![
            1 => Just(0u32), 2 => 0..1_000_000u32, 1 => 499_999..=500_001u32, 1 => any::<u32>(),
        ]
    };
    let near = (
        proptest::sample::select(vec![105u64, 108, 112, 150]),
        -1..=1i64,
        0..4u32,
    );
    (
        (weight(), weight(), task(), task()),
        [weight(), weight(), weight(), weight()],
        (ns(), ns(), since_ran_ns()),
        (weight(), 0..4u32, weight(), weight(), task()),
        (near, any::<bool>(), 0..4u32),
    )
        .prop_map(
            |(weights, ticks, times, others, (near, sync_exiting, idle))| {
                let (waker, mut prev, curr, wakee) = weights;
                let (tpt, tpt_nr, waker_load, mut prev_load, wakee_load) = others;
                let since_ran_ns = times.2;
                let (scale, off, mode) = near;
                let edge = |load: u32| {
                    let load = u64::from(load) * 100 / scale;
                    load.saturating_add_signed(off).min(u32::MAX.into()) as u32
                };
                match mode {
                    1 => prev = edge(waker.saturating_add(wakee)),
                    2 => prev = edge((waker.saturating_sub(curr)).saturating_add(wakee)),
                    3 => prev_load = edge(waker_load.saturating_add(wakee_load)),
                    _ => {}
                }
                affine_history::Facts {
                    cpu_weights: (waker, prev),
                    task_weights: (curr, wakee),
                    tick_loads: ([ticks[0], ticks[1]], [ticks[2], ticks[3]]),
                    overlaps_ns: (times.0, times.1),
                    tpt: (tpt, tpt_nr),
                    since_ran_ns,
                    wakee_is_sched_idle: idle == 0,
                    runnable_loads: (waker_load, prev_load),
                    wakee_load_avg: wakee_load,
                    sync_exiting,
                }
            },
        )
}

type Pair = (u32, u32);

/// Idle time and scan cost; tasks on the previous CPU.
type Scans = (u64, u32, u32);

/// Flips; loads of CPUs and tasks; capacities; what older searches read.
fn loads() -> impl Strategy<Value = (Pair, Pair, Pair, Pair, Scans)> {
    let flips = prop_oneof![
        3 => (0..4u32, 0..4u32),
        2 => (0..40u32, 0..400u32),
        2 => (0..400u32, 0..40u32),
    ];
    // Few different ones, so that some are equal.
    let load = || {
        prop_oneof![
            1 => Just(0u32),
            3 => 0..6u32,
            3 => 0..3000u32,
            1 => 0..100_000_000u32,
        ]
    };
    let capacity = || prop_oneof![3 => Just(1024u32), 1 => Just(1u32), 1 => 1..=1024u32];
    let cost = prop_oneof![1 => Just(0u32), 3 => 0..3000u32, 1 => 0..2_000_000u32];
    (
        flips,
        (load(), load()),
        (load(), load()),
        (capacity(), capacity()),
        scans(cost),
    )
}

fn scans(cost: impl Strategy<Value = u32>) -> impl Strategy<Value = Scans> {
    let nr_running = prop_oneof![1 => Just(0u32), 3 => Just(1u32), 1 => 2..5u32];
    (0..=1_000_000u64, cost, nr_running)
}

fn since_ran_ns() -> impl Strategy<Value = i64> {
    prop_oneof![
        2 => 490_000..510_000i64,
        2 => Just(500_000i64),
        2 => 1_000_000..10_000_000i64,
        1 => -1000..1000i64,
        1 => any::<i64>(),
    ]
}

/// A machine with its tables, and what a wakeup sees of it.
pub struct Scene {
    pub machine: Machine,
    pub layout: Layout,
    pub topology: Topology,
}

impl Scene {
    pub fn of(machine: Machine) -> Self {
        let layout = machine.layout();
        let mut flat = BTreeSet::new();
        let mut unclustered = BTreeSet::new();
        for cpu in &machine.cpus {
            let llc = &layout.llcs[layout.wheres[cpu.id].llc as usize];
            if llc.threads == 1 {
                flat.insert(cpu.llc);
            }
            if llc.nr_clusters == 0 {
                unclustered.insert(cpu.llc);
            }
        }
        let topology = Topology::of(&machine, &flat, &unclustered);
        Self {
            machine,
            layout,
            topology,
        }
    }

    pub fn facts(&self, m: &Moment) -> Facts {
        let t = &self.topology;
        let online = t.online();
        let waker = online[m.waker % online.len()];
        let prev = m.prev.resolve(t, waker).expect("a previous CPU");
        let select = |words: &Words| -> BTreeSet<usize> {
            online.iter().copied().filter(|&c| has(words, c)).collect()
        };

        let mut idle: BTreeSet<usize> = if m.idle_by_core {
            online
                .iter()
                .copied()
                .filter(|&c| has(&m.idle, t.core(c)[0]))
                .collect()
        } else {
            select(&m.idle)
        };
        let mut allowed = select(&m.allowed);
        let force = |bit: u32| m.force >> bit & 1 == 1;
        if force(0) {
            idle.remove(&waker);
        }
        if force(1) {
            idle.remove(&prev);
        }
        if force(2) {
            allowed.insert(waker);
        }
        if force(3) {
            allowed.remove(&prev);
        }
        if force(4) {
            allowed.insert(prev);
        }
        let mut sched_idle = select(&m.sched_idle);
        sched_idle.retain(|c| !idle.contains(c));
        if force(0) && force(1) {
            sched_idle.remove(&waker);
            sched_idle.remove(&prev);
        }
        let mut idle_core = BTreeSet::new();
        for &c in &online {
            let core = t.core(c);
            let missing = m.idle_cores == IdleCores::MissingCores && has(&m.missing, core[0]);
            if core.iter().all(|thread| idle.contains(thread)) && !missing {
                idle_core.insert(c);
            }
        }
        let caches = 1 + self.machine.cpus.iter().map(|c| c.llc).max().unwrap_or(0);
        let mut has_idle_cores = BTreeSet::new();
        let mut nr_idle_scan = vec![0; caches];
        for &c in &online {
            let llc = t.cpus[c].as_ref().expect("online").llc;
            let span = t.llc(c);
            // Only a cache with several threads per core can expect an idle one.
            if has(&m.has_idle_cores, llc) && span.iter().any(|&c| t.core(c).len() > 1) {
                has_idle_cores.insert(llc);
            }
            nr_idle_scan[llc] = if m.scan_percent {
                span.len() as u32 * m.nr_idle_scan.min(120) / 100
            } else {
                m.nr_idle_scan
            };
        }
        Facts {
            idle,
            idle_core,
            sched_idle,
            allowed,
            has_idle_cores,
            nr_idle_scan,
            waker,
            prev,
            recent: m.recent.resolve(t, waker),
            sync: m.sync,
            waker_is_kthread: m.waker_is_kthread,
            affine_domain: m.affine_domain,
            waker_nr_running: m.waker_nr_running,
            waker_flips: m.flips.0,
            wakee_flips: m.flips.1,
            cpu_loads: m.cpu_loads,
            capacities: m.capacities,
            task_loads: m.task_loads,
            // A wakeup is sync or it is not, whatever becomes of the waker.
            history: affine_history::Facts {
                sync_exiting: m.history.sync_exiting && !m.sync,
                ..m.history.clone()
            },
            avg_idle_ns: m.avg_idle_ns,
            scan_cost_ns: m.scan_cost_ns,
            prev_nr_running: m.prev_nr_running,
        }
    }

    fn cache_of(&self, cpu: usize) -> usize {
        self.layout.wheres[cpu].llc as usize
    }

    /// The view of the cache that the tables call `llc`, cut CPU by CPU.
    pub fn view(&self, f: &Facts, llc: usize, nw: usize, garbage: u64) -> intf::place_view {
        let mask = |set: &BTreeSet<usize>| {
            let mut mask = intf::place_mask { w: [garbage; 16] };
            mask.w[..nw].fill(0);
            for &c in set {
                let at = &self.layout.wheres[c];
                if at.valid == 1 && at.llc as usize == llc {
                    mask.w[at.local as usize / 64] |= 1 << (at.local % 64);
                }
            }
            mask
        };
        let member = self
            .machine
            .cpus
            .iter()
            .find(|c| self.cache_of(c.id) == llc)
            .expect("a CPU");
        intf::place_view {
            idle: mask(&f.idle),
            idle_core: mask(&f.idle_core),
            sched_idle: mask(&f.sched_idle),
            allowed: mask(&f.allowed),
            has_idle_cores: u32::from(f.has_idle_cores.contains(&member.llc)),
            nr_idle_scan: f.nr_idle_scan[member.llc],
        }
    }

    pub fn place_in(&self, f: &Facts, nw: usize, garbage: u64) -> intf::place_in {
        let at = |c: usize| self.layout.wheres[c];
        let junk_where = intf::place_where {
            llc: garbage as u16,
            local: garbage as u16,
            node: garbage as u16,
            core: garbage as u16,
            cluster: garbage as u16,
            valid: garbage as u16,
        };
        let junk_mask = intf::place_mask { w: [garbage; 16] };
        let junk_view = intf::place_view {
            idle: junk_mask,
            idle_core: junk_mask,
            sched_idle: junk_mask,
            allowed: junk_mask,
            has_idle_cores: garbage as u32,
            nr_idle_scan: garbage as u32,
        };
        let (w, p) = (self.cache_of(f.waker), self.cache_of(f.prev));
        let mut flags = 0;
        let mut flag = |on: bool, bit: intf::place_in_flags| flags |= if on { bit } else { 0 };
        flag(f.sync, intf::place_in_flags_PLACE_IN_SYNC);
        flag(
            f.waker_is_kthread,
            intf::place_in_flags_PLACE_IN_WAKER_KTHREAD,
        );
        flag(
            f.allowed.contains(&f.waker),
            intf::place_in_flags_PLACE_IN_WAKER_ALLOWED,
        );
        flag(f.affine_domain, intf::place_in_flags_PLACE_IN_AFFINE_DOMAIN);
        let h = &f.history;
        flag(h.sync_exiting, intf::place_in_flags_PLACE_IN_SYNC_EXITING);
        flag(
            h.wakee_is_sched_idle,
            intf::place_in_flags_PLACE_IN_WAKEE_SCHED_IDLE,
        );
        intf::place_in {
            waker: f.waker as i32,
            prev: f.prev as i32,
            recent: f.recent.map_or(-1, |c| c as i32),
            waker_at: at(f.waker),
            prev_at: at(f.prev),
            recent_at: f.recent.map_or(junk_where, at),
            flags,
            waker_nr_running: f.waker_nr_running,
            waker_flips: f.waker_flips,
            wakee_flips: f.wakee_flips,
            waker_load: f.cpu_loads.0,
            prev_load: f.cpu_loads.1,
            curr_load: f.task_loads.0,
            task_load: f.task_loads.1,
            waker_capacity: f.capacities.0,
            prev_capacity: f.capacities.1,
            waker_weight: h.cpu_weights.0,
            prev_weight: h.cpu_weights.1,
            curr_weight: h.task_weights.0,
            wakee_weight: h.task_weights.1,
            waker_tick_load: h.tick_loads.0,
            prev_tick_load: h.tick_loads.1,
            curr_overlap_ns: h.overlaps_ns.0,
            wakee_overlap_ns: h.overlaps_ns.1,
            tpt_weight: h.tpt.0,
            tpt_nr: h.tpt.1,
            waker_runnable_load: h.runnable_loads.0,
            prev_runnable_load: h.runnable_loads.1,
            wakee_load_avg: h.wakee_load_avg,
            pad: garbage as u32,
            avg_idle_ns: f.avg_idle_ns,
            since_ran_ns: h.since_ran_ns,
            scan_cost_ns: f.scan_cost_ns,
            prev_nr_running: f.prev_nr_running,
            view: [
                self.view(f, p, nw, garbage),
                if w == p {
                    junk_view
                } else {
                    self.view(f, w, nw, garbage)
                },
            ],
        }
    }

    /// What the policy files decide, with `nw` words per mask.
    pub fn decide(
        &self,
        f: &Facts,
        affine: Affine,
        search: IdleSearch,
        nw: usize,
        garbage: u64,
    ) -> intf::place_out {
        let policy = native(affine, search);
        let mut input = self.place_in(f, nw, garbage);
        // SAFETY: a live structure.
        if unsafe { intf::place_host_reads_history(&policy) } == 0 {
            (input.avg_idle_ns, input.since_ran_ns) = (garbage, garbage as i64);
            (input.scan_cost_ns, input.prev_nr_running) = (garbage as u32, garbage as u32);
        }
        let llcs = &self.layout.llcs;
        let junk = garbage as u32;
        let mut out = intf::place_out {
            cpu: junk as i32,
            target: junk as i32,
            view: junk as u16,
            local: junk as u16,
            affine: junk as u16,
            search: junk as u16,
            outcome: junk as u16,
            effects: junk as u16,
            visited: junk,
            idle: junk,
            scan_cost_ns: junk,
        };
        // SAFETY: all pointers are to live, initialised structures.
        unsafe {
            intf::place_host_wakeup(
                &policy,
                &input,
                &llcs[self.cache_of(f.prev)],
                &llcs[self.cache_of(f.waker)],
                &mut out,
                nw as u32,
            );
        }
        out
    }

    /// Decides with every tier that fits and compares all that can be compared.
    pub fn compare(
        &self,
        f: &Facts,
        affine: Affine,
        search: IdleSearch,
        garbage: u64,
        expected: &Decision,
    ) -> Result<(), String> {
        for nw in [1, 4, 16] {
            if nw < self.layout.llc_words as usize {
                continue;
            }
            let out = self.decide(f, affine, search, nw, garbage);
            let actual = decision(&out);
            if actual != *expected {
                return Err(format!(
                    "{nw} words, {affine:?}, {search:?}\n\
                       C file:    {actual:?}\n\
                       reference: {expected:?}"
                ));
            }
            let at = self.layout.wheres[expected.cpu];
            let view = usize::from(self.cache_of(expected.target) != self.cache_of(f.prev));
            if (out.local, out.view as usize) != (at.local, view) {
                return Err(format!(
                    "{nw} words: CPU {} is local {} of view {view}, not {} of view {}",
                    expected.cpu, at.local, out.local, out.view
                ));
            }
        }
        Ok(())
    }
}

/// A fork, before it is fitted to a machine.
#[derive(Debug, Clone)]
pub struct ForkMoment {
    pub waker: usize,
    pub prev: Place,
    pub idle: Words,
    pub allowed: Words,
    pub sched_idle: Words,
    /// Tasks run where no CPU is idle, and only there.
    pub consistent: bool,
    /// By CPU number modulo their count.
    pub cpus: Vec<ForkCpu>,
}

#[derive(Debug, Clone, Copy)]
pub struct ForkCpu {
    pub load: u32,
    pub load_avg: u32,
    pub weight: u32,
    pub nr_running: u16,
    pub util: u16,
    pub capacity: u16,
    pub idle_stamp: u64,
    pub exit_latency: u16,
}

/// Few different ones, so that some are equal or close.
fn fork_load() -> impl Strategy<Value = u32> {
    prop_oneof![
        3 => Just(0u32),
        4 => (0..6u32).prop_map(|n| n * 512),
        1 => 100..115u32,
        2 => 900..1200u32,
        2 => 0..5000u32,
        1 => 0..100_000_000u32,
    ]
}

fn fork_cpu() -> impl Strategy<Value = ForkCpu> {
    let capacity = prop_oneof![6 => Just(1024u16), 1 => 1..=1024u16];
    let stamp = prop_oneof![3 => 0..4u64, 1 => any::<u64>()];
    let latency = prop_oneof![3 => Just(0u16), 2 => 1..4u16, 1 => any::<u16>()];
    let nr = prop_oneof![3 => Just(0u16), 4 => 1..4u16, 1 => 0..300u16];
    let weight = prop_oneof![4 => Just(1024u32), 1 => Just(0u32), 1 => 0..90_000u32];
    let util = prop_oneof![
        2 => Just(0u16),
        2 => Just(1024u16),
        2 => (0..=8u16).prop_map(|n| n * 128),
        1 => 860..900u16,
        2 => 0..=1024u16,
    ];
    let with_sleepers = prop_oneof![2 => Just(None), 3 => fork_load().prop_map(Some)];
    let loads = (fork_load(), with_sleepers, weight, nr, util);
    (loads, capacity, stamp, latency).prop_map(
        |((load, load_avg, weight, nr_running, util), capacity, idle_stamp, exit_latency)| {
            ForkCpu {
                load,
                load_avg: load_avg.unwrap_or(load),
                weight: weight * u32::from(nr_running),
                nr_running,
                util,
                capacity,
                idle_stamp,
                exit_latency,
            }
        },
    )
}

pub fn fork_moment() -> impl Strategy<Value = ForkMoment> {
    let prev = prop_oneof![
        4 => Just(Place::Same),
        1 => (0..1024usize).prop_map(Place::SameCache),
        1 => (0..1024usize).prop_map(Place::Anywhere),
    ];
    let mostly = prop_oneof![2 => Just(Words([u64::MAX; 16])), 3 => words()];
    let hardly = prop_oneof![2 => Just(Words([0; 16])), 1 => words()];
    let sets = (words(), mostly, hardly, any::<bool>());
    (0..1024usize, prev, sets, vec(fork_cpu(), 1..40)).prop_map(|(waker, prev, sets, cpus)| {
        let (idle, allowed, sched_idle, consistent) = sets;
        ForkMoment {
            waker,
            prev,
            idle,
            allowed,
            sched_idle,
            consistent,
            cpus,
        }
    })
}

impl Scene {
    pub fn fork_facts(&self, m: &ForkMoment) -> fork::Facts {
        let online = self.topology.online();
        let waker = online[m.waker % online.len()];
        let select = |w: &Words| online.iter().copied().filter(|&c| has(w, c)).collect();
        let n = self.topology.cpus.len();
        // Not a multiple of a core's or a cache's size.
        let idle: BTreeSet<usize> = select(&m.idle);
        let by_cpu = |c: usize| {
            let mut cpu = m.cpus[(c + c / m.cpus.len()) % m.cpus.len()];
            if m.consistent && idle.contains(&c) {
                (cpu.nr_running, cpu.weight) = (0, 0);
            } else if m.consistent && cpu.nr_running == 0 {
                (cpu.nr_running, cpu.weight) = (1, 1024);
            }
            cpu
        };
        let each = |of: &dyn Fn(ForkCpu) -> u64| (0..n).map(|c| of(by_cpu(c))).collect();
        fork::Facts {
            waker,
            prev: m.prev.resolve(&self.topology, waker).expect("a CPU"),
            allowed: select(&m.allowed),
            sched_idle: select(&m.sched_idle),
            load: each(&|cpu| cpu.load.into()),
            load_avg: each(&|cpu| cpu.load_avg.into()),
            weight: each(&|cpu| cpu.weight.into()),
            nr_running: each(&|cpu| cpu.nr_running.into()),
            util: each(&|cpu| cpu.util.into()),
            capacity: each(&|cpu| cpu.capacity.into()),
            idle_stamp: each(&|cpu| cpu.idle_stamp),
            exit_latency: each(&|cpu| cpu.exit_latency.into()),
            idle,
        }
    }

    /// What the BPF program would copy at a fork for a rule that reads these facts.
    pub fn fork_in(
        &self,
        f: &fork::Facts,
        facts: intf::place_fork_facts,
        garbage: u64,
    ) -> Box<intf::place_fork_in> {
        let words = |set: &BTreeSet<usize>| {
            let mut w = [0u64; 16];
            set.iter().for_each(|c| w[c / 64] |= 1 << (c % 64));
            w
        };
        let mut input: Box<intf::place_fork_in> = raw::zeroed_box();
        let junk = garbage.to_le_bytes();
        let bytes = raw::bytes_mut(&mut *input).iter_mut();
        bytes.enumerate().for_each(|(n, b)| *b = junk[n % 8]);
        input.waker = f.waker as i32;
        input.prev = f.prev as i32;
        input.allowed = words(&f.allowed);
        input.idle = words(&f.idle);
        for c in self.topology.online() {
            let cpu = &mut input.cpu[c];
            cpu.idle_stamp_ns = f.idle_stamp[c];
            cpu.exit_latency_us = f.exit_latency[c] as u16;
            cpu.capacity = f.capacity[c] as u16;
            cpu.sched_idle = f.sched_idle.contains(&c).into();
            if facts & intf::place_fork_facts_PLACE_FORK_LOAD != 0 {
                cpu.load = f.load[c] as u32;
            }
            if facts & intf::place_fork_facts_PLACE_FORK_LOAD_AVG != 0 {
                cpu.load_avg = f.load_avg[c] as u32;
            }
            if facts & intf::place_fork_facts_PLACE_FORK_UTIL != 0 {
                cpu.util = f.util[c] as u16;
            }
            if facts & intf::place_fork_facts_PLACE_FORK_WEIGHT != 0 {
                cpu.weight = f.weight[c] as u32;
                cpu.nr_running = f.nr_running[c] as u16;
            }
        }
        input
    }

    /// What a rule of the policy files decides, with the facts that it says it reads.
    pub fn fork(&self, f: &fork::Facts, rule: fork::Rule, garbage: u64) -> fork::Decision {
        let items = parse_items(&[format!("fork={}", rule.name())]).expect("a policy");
        let policy = Policy::from_command_line(&items).to_native(1, 8);
        // SAFETY: a live structure.
        let facts = unsafe { intf::place_host_fork_needs_cpus(&policy) };
        let value = policy.axis[intf::place_axis_PLACE_AXIS_fork as usize];
        let mut input = self.fork_in(f, facts, garbage);
        // SAFETY: plain integers, for which zero is a value; then live structures.
        let out = unsafe {
            let mut out: intf::place_out = std::mem::zeroed();
            intf::place_host_fork_levels(&mut *input, &*self.layout.levels, value, &mut out);
            out
        };
        fork::Decision {
            cpu: out.cpu as usize,
            branch: counter("fork", out.search),
            top: counter("fork_top", out.affine),
            depth: counter("fork_depth", out.outcome),
            visited: out.visited,
            claim: out.idle != 0,
        }
    }
}

fn decision(out: &intf::place_out) -> Decision {
    let effect = |bit: intf::place_effects| u32::from(out.effects) & bit != 0;
    Decision {
        target: out.target as usize,
        cpu: out.cpu as usize,
        affine: counter("affine", out.affine),
        search: counter("search", out.search),
        outcome: counter("outcome", out.outcome),
        visited: out.visited,
        clear_idle_cores: effect(intf::place_effects_PLACE_EFFECT_CLEAR_IDLE_CORES),
        set_recent: effect(intf::place_effects_PLACE_EFFECT_SET_RECENT),
        set_waker_recent: effect(intf::place_effects_PLACE_EFFECT_WAKER_RECENT),
        scan_cost: effect(intf::place_effects_PLACE_EFFECT_SCAN_COST).then_some(out.scan_cost_ns),
        claim: out.idle != 0,
    }
}

/// The name of a counter of that stage.
pub fn counter(stage: &str, index: u16) -> &'static str {
    if u32::from(index) >= intf::place_counter_PLACE_NR_COUNTERS {
        return "no counter";
    }
    // SAFETY: a static table of static strings, indexed below its length.
    unsafe {
        let info = std::ptr::addr_of!(intf::place_counters)
            .cast::<intf::place_counter_info>()
            .add(index as usize);
        if CStr::from_ptr((*info).stage).to_str() != Ok(stage) {
            return "counter of another stage";
        }
        CStr::from_ptr((*info).name).to_str().unwrap_or("?")
    }
}

/// A policy as the BPF program reads it.
pub fn native(affine: Affine, search: IdleSearch) -> intf::place_policy {
    // SAFETY: plain integers, for which zero is a value.
    let mut policy: intf::place_policy = unsafe { std::mem::zeroed() };
    let mut set = |param: intf::place_param, n: u32| policy.param[param as usize] = n;
    match search {
        IdleSearch::PeterRfc(rule)
        | IdleSearch::Sis49(rule)
        | IdleSearch::SisAvgCpu(rule)
        | IdleSearch::SisProp(rule) => {
            set(intf::place_param_PLACE_PARAM_sis_fudge, rule.fudge);
            set(intf::place_param_PLACE_PARAM_scan_cost_ns, rule.look_ns);
        }
        IdleSearch::MasonPkg(us) => set(intf::place_param_PLACE_PARAM_migration_cost_us, us),
        _ => {}
    }
    if let Affine::History(rule) = affine {
        set(
            intf::place_param_PLACE_PARAM_wake_wide,
            rule.wake_wide.into(),
        );
        set(intf::place_param_PLACE_PARAM_wake_idx, rule.wake_idx);
        set(
            intf::place_param_PLACE_PARAM_migration_cost_us,
            rule.migration_cost_us,
        );
        set(
            intf::place_param_PLACE_PARAM_nohot_sync,
            rule.nohot_sync.into(),
        );
        set(intf::place_param_PLACE_PARAM_imbalance_pct_smt, rule.pct[0]);
        set(intf::place_param_PLACE_PARAM_imbalance_pct_llc, rule.pct[1]);
        set(
            intf::place_param_PLACE_PARAM_imbalance_pct_wide,
            rule.pct[2],
        );
    }
    if let Affine::Wa414(rule) = affine {
        set(intf::place_param_PLACE_PARAM_wa_idle, rule.wa_idle.into());
        set(
            intf::place_param_PLACE_PARAM_wa_weight,
            rule.wa_weight.into(),
        );
        set(intf::place_param_PLACE_PARAM_wa_bias, rule.wa_bias.into());
        set(
            intf::place_param_PLACE_PARAM_wake_wide,
            rule.wake_wide.into(),
        );
        set(intf::place_param_PLACE_PARAM_imbalance_pct_smt, rule.pct[0]);
        set(intf::place_param_PLACE_PARAM_imbalance_pct_llc, rule.pct[1]);
        set(
            intf::place_param_PLACE_PARAM_imbalance_pct_wide,
            rule.pct[2],
        );
    }
    policy.axis[intf::place_axis_PLACE_AXIS_idle_search as usize] = match search {
        IdleSearch::None => intf::place_value_PLACE_idle_search_none,
        IdleSearch::Scan2637 => intf::place_value_PLACE_idle_search_scan_2637,
        IdleSearch::Mainline46 => intf::place_value_PLACE_idle_search_mainline_46,
        IdleSearch::MasonFirst => intf::place_value_PLACE_idle_search_mason_first,
        IdleSearch::MasonPkg(_) => intf::place_value_PLACE_idle_search_mason_pkg,
        IdleSearch::PeterRfc(_) => intf::place_value_PLACE_idle_search_peter_rfc,
        IdleSearch::Sis49(_) => intf::place_value_PLACE_idle_search_sis_49,
        IdleSearch::SisAvgCpu(_) => intf::place_value_PLACE_idle_search_sis_avg_cpu,
        IdleSearch::SisProp(_) => intf::place_value_PLACE_idle_search_sis_prop,
        IdleSearch::SisUtil => intf::place_value_PLACE_idle_search_sis_util,
        IdleSearch::SisModern => intf::place_value_PLACE_idle_search_sis_modern,
    };
    policy.axis[intf::place_axis_PLACE_AXIS_affine as usize] = match affine {
        Affine::Off => intf::place_value_PLACE_affine_off,
        Affine::Always => intf::place_value_PLACE_affine_always,
        Affine::History(rule) => match rule.kernel {
            Kernel::V2626 => intf::place_value_PLACE_affine_v2626,
            Kernel::V2627 => intf::place_value_PLACE_affine_v2627,
            Kernel::V2637 => intf::place_value_PLACE_affine_v2637,
            Kernel::V2638rc => intf::place_value_PLACE_affine_v2638rc,
            Kernel::V2638 => intf::place_value_PLACE_affine_v2638,
            Kernel::V2638NoHot => intf::place_value_PLACE_affine_v2638_nohot,
            Kernel::V46 => intf::place_value_PLACE_affine_v46,
        },
        Affine::Wa414(_) => intf::place_value_PLACE_affine_wa_414,
    };
    policy
}
