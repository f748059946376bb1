// SPDX-License-Identifier: GPL-2.0-only

//! The machine's topology, laid out as the tables that the policy files read.
//!
//! [`Machine`] is what is known of the CPUs; [`Machine::layout`] numbers the CPUs of each
//! last-level cache so that a set of them is a few words (see `src/bpf/policy/mask.h`) and fills
//! `place_llc` and `place_where`.

pub mod show;

use std::collections::BTreeMap;

use anyhow::{bail, Context, Result};
use scx_utils::{Topology, NR_CPU_IDS};

use crate::bpf_intf as intf;

/// Most CPUs that the tables can describe.
pub const MAX_CPUS: usize = intf::PLACE_MAX_CPUS as usize;
const MAX_SEGS: usize = intf::PLACE_MAX_SEGS as usize;
const MAX_WORDS: usize = intf::PLACE_MAX_WORDS as usize;
const MAX_CLUSTERS: usize = intf::PLACE_MAX_CLUSTERS as usize;
const MAX_THREADS: usize = intf::PLACE_MAX_THREADS as usize;
const NO_CLUSTER: u16 = intf::PLACE_NO_CLUSTER as u16;
const MAX_LEVELS: usize = intf::PLACE_MAX_LEVELS as usize;
const NO_POSITION: u16 = intf::PLACE_NO_POSITION as u16;

/// Nodes farther than this share no domain of affine wakeups (`RECLAIM_DISTANCE`).
const RECLAIM_DISTANCE: usize = 30;

/// One online CPU.  Ids name things within the machine and need not be dense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cpu {
    pub id: usize,
    pub core: usize,
    /// L2 cluster, if the kernel names one.
    pub cluster: Option<usize>,
    pub llc: usize,
    pub node: usize,
}

/// The online CPUs of a machine and the distances of its nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Highest possible CPU number + 1.
    pub nr_cpu_ids: usize,
    /// Ascending by id.
    pub cpus: Vec<Cpu>,
    /// `distance[a][b]` by node id; empty rows where unknown.
    pub distance: Vec<Vec<usize>>,
}

/// The tables of a machine.
pub struct Layout {
    /// Indexed by CPU number.
    pub wheres: Vec<intf::place_where>,
    pub llcs: Vec<intf::place_llc>,
    pub levels: Box<intf::place_levels>,
    /// Words of a machine-wide mask.
    pub mask_words: u32,
    /// Words of a cache's mask: 1, 4 or 16.
    pub llc_words: u32,
    pub smt: bool,
    /// What could not be represented, in words for the user.
    pub warnings: Vec<String>,
}

impl Machine {
    /// Reads the running machine's topology.
    ///
    /// # Errors
    /// sysfs cannot be read, or the machine is larger than [`MAX_CPUS`].
    pub fn from_system() -> Result<Self> {
        let topo = Topology::new().context("reading the CPU topology from sysfs")?;
        let cpus = topo
            .all_cpus
            .values()
            .map(|c| Cpu {
                id: c.id,
                core: c.core_id,
                cluster: usize::try_from(c.cluster_id)
                    .ok()
                    .map(|id| c.package_id << 32 | id),
                llc: c.llc_id,
                node: c.node_id,
            })
            .collect();
        let nr_nodes = topo.nodes.keys().last().map_or(0, |n| n + 1);
        let distance = (0..nr_nodes)
            .map(|n| topo.nodes.get(&n).map_or(vec![], |n| n.distance.clone()))
            .collect();
        let machine = Self {
            nr_cpu_ids: *NR_CPU_IDS,
            cpus,
            distance,
        };
        machine.check()?;
        Ok(machine)
    }

    fn check(&self) -> Result<()> {
        if self.nr_cpu_ids > MAX_CPUS {
            bail!(
                "this machine has {} possible CPUs; scx_place handles up to {MAX_CPUS}",
                self.nr_cpu_ids
            );
        }
        if self.cpus.is_empty() || self.cpus.iter().any(|c| c.id >= self.nr_cpu_ids) {
            bail!("sysfs names no online CPU, or one beyond the possible ones");
        }
        Ok(())
    }

    /// Nodes, caches, cores and threads in one line.
    pub fn describe(&self) -> String {
        let count = |key: fn(&Cpu) -> usize| {
            let mut v: Vec<_> = self.cpus.iter().map(key).collect();
            v.sort_unstable();
            v.dedup();
            v.len()
        };
        let s = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        format!(
            "{}, {}, {}, {}",
            s(self.cpus.len(), "CPU"),
            s(count(|c| c.core), "core"),
            s(count(|c| c.llc), "last-level cache"),
            s(count(|c| c.node), "node"),
        )
    }

    fn node_distance(&self, a: usize, b: usize) -> usize {
        let known = self.distance.get(a).and_then(|row| row.get(b)).copied();
        known.unwrap_or(if a == b { 10 } else { 20 })
    }

    /// Lays the machine out as tables.
    pub fn layout(&self) -> Layout {
        let mut groups: BTreeMap<usize, Vec<Cpu>> = BTreeMap::new();
        for cpu in &self.cpus {
            groups.entry(cpu.llc).or_default().push(*cpu);
        }
        let groups: Vec<_> = groups.into_values().collect();
        let mut out = Layout {
            // SAFETY: plain integers, for which zero is a value.
            wheres: vec![unsafe { std::mem::zeroed() }; self.nr_cpu_ids],
            llcs: Vec::with_capacity(groups.len()),
            // SAFETY: plain integers, for which zero is a value.
            levels: Box::new(unsafe { std::mem::zeroed() }),
            mask_words: self.nr_cpu_ids.div_ceil(64) as u32,
            llc_words: 1,
            smt: false,
            warnings: Vec::new(),
        };
        let mut longest = 0;
        for (id, cpus) in groups.iter().enumerate() {
            let numbering = Numbering::of(cpus, self.nr_cpu_ids);
            longest = longest.max(numbering.len);
            self.add_llc(&mut out, id, cpus, numbering);
        }
        self.add_neighbours(&mut out, &groups);
        self.add_levels(&mut out);
        out.llc_words = match longest {
            0..=64 => 1,
            65..=256 => 4,
            _ => 16,
        };
        out
    }

    fn add_llc(&self, out: &mut Layout, id: usize, cpus: &[Cpu], numbering: Numbering) {
        // SAFETY: plain integers, for which zero is a value.
        let mut llc: intf::place_llc = unsafe { std::mem::zeroed() };
        llc.nr_cpus = cpus.len() as u32;
        llc.node = cpus[0].node as u16;
        llc.nr_segs = numbering.segs.len() as u32;
        llc.seg[..numbering.segs.len()].copy_from_slice(&numbering.segs);
        llc.nr_idle_scan = llc.nr_cpus;

        let clusters = cluster_level(cpus);
        if clusters.len() <= MAX_CLUSTERS {
            llc.nr_clusters = clusters.len() as u16;
        } else {
            out.warnings.push(format!(
                "the cache of CPU {} has {} L2 clusters, at most {MAX_CLUSTERS} are handled: taken as none",
                cpus[0].id,
                clusters.len()
            ));
        }
        let threads = Threads::of(cpus, &numbering);
        if let Some(why) = &threads.warning {
            out.warnings
                .push(format!("the cache of CPU {}: {why}", cpus[0].id));
        }
        llc.threads = threads.per_core as u16;
        llc.stride = threads.stride as u16;
        out.smt |= threads.per_core > 1;

        for (i, cpu) in cpus.iter().enumerate() {
            let local = numbering.local[i];
            let cluster = clusters
                .iter()
                .take(llc.nr_clusters as usize)
                .position(|c| Some(*c) == cpu.cluster);
            set(&mut llc.span, local);
            set(&mut llc.plane[threads.plane[i]], local);
            if let Some(c) = cluster {
                set(&mut llc.cluster[c], local);
            }
            llc.cpu_of[local] = cpu.id as u16;
            out.wheres[cpu.id] = intf::place_where {
                llc: id as u16,
                local: local as u16,
                node: cpu.node as u16,
                core: threads.first[i] as u16,
                cluster: cluster.map_or(NO_CLUSTER, |c| c as u16),
                valid: 1,
            };
        }
        out.llcs.push(llc);
    }

    /// Which caches are near which, once all are known.
    fn add_neighbours(&self, out: &mut Layout, groups: &[Vec<Cpu>]) {
        let n = groups.len();
        for (id, llc) in out.llcs.iter_mut().enumerate() {
            let node = groups[id][0].node;
            let mut order: Vec<usize> = (0..n).map(|k| (id + k) % n).collect();
            order.sort_by_key(|&other| {
                let far = groups[other][0].node;
                (other != id, far != node, self.node_distance(node, far))
            });
            for (slot, other) in llc.nearest.iter_mut().zip(order) {
                *slot = other as u16;
            }
            for group in groups {
                let far = group[0].node;
                if self.node_distance(node, far) <= RECLAIM_DISTANCE {
                    llc.near_nodes |= 1 << (far & 63);
                }
            }
        }
    }
}

/// One level of the machine: for each CPU of the list, the position in the list of the first CPU of
/// its domain.
struct Level {
    kind: intf::place_level_kind,
    domain: Vec<usize>,
}

impl Machine {
    fn add_levels(&self, out: &mut Layout) {
        let mut levels = self.levels(&mut out.warnings);
        while levels.len() > MAX_LEVELS {
            out.warnings.push(format!(
                "the machine has {} levels, at most {MAX_LEVELS} are handled: one is left out",
                levels.len()
            ));
            levels.remove(MAX_LEVELS - 1);
        }
        let table = &mut out.levels;
        table.nr_levels = levels.len() as u32;
        table.nr_cpus = self.cpus.len() as u32;
        table.position.fill(NO_POSITION);
        let mut order: Vec<usize> = (0..self.cpus.len()).collect();
        order.sort_by_key(|&i| {
            let widest_first = levels.iter().rev().map(|level| level.domain[i]);
            (widest_first.collect::<Vec<_>>(), i)
        });
        for (position, &i) in order.iter().enumerate() {
            table.cpu_at[position] = self.cpus[i].id as u16;
            table.position[self.cpus[i].id] = position as u16;
        }
        for (number, level) in levels.iter().enumerate() {
            table.kind[number] = level.kind;
            let mut first = 0;
            for run in order.chunk_by(|&a, &b| level.domain[a] == level.domain[b]) {
                let end = first + run.len();
                table.domain[number][first..end].fill(intf::place_span {
                    first: first as u16,
                    end: end as u16,
                });
                first = end;
            }
        }
    }

    /// The levels that the machine has, from the smallest up.  Each holds the one below it whole,
    /// even where sysfs says otherwise (a cache over two nodes makes these one domain).
    fn levels(&self, warnings: &mut Vec<String>) -> Vec<Level> {
        let mut levels: Vec<Level> = Vec::new();
        let mut domain: Vec<usize> = (0..self.cpus.len()).collect();
        let mut add = |kind, key: &dyn Fn(&Cpu) -> Option<usize>| {
            let wider = merge(&domain, &self.cpus, key);
            if wider != domain {
                domain.clone_from(&wider);
                levels.push(Level {
                    kind,
                    domain: wider,
                });
            }
        };
        add(intf::place_level_kind_PLACE_LEVEL_SMT, &|c| Some(c.core));
        add(intf::place_level_kind_PLACE_LEVEL_CLUSTER, &|c| c.cluster);
        add(intf::place_level_kind_PLACE_LEVEL_LLC, &|c| Some(c.llc));
        add(intf::place_level_kind_PLACE_LEVEL_NODE, &|c| Some(c.node));

        let mut nodes: Vec<usize> = self.cpus.iter().map(|c| c.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let pairs = || {
            nodes
                .iter()
                .flat_map(|&a| nodes.iter().map(move |&b| (a, b)))
        };
        let mut limits: Vec<usize> = pairs()
            .filter(|(a, b)| a != b)
            .map(|(a, b)| self.node_distance(a, b))
            .filter(|d| *d <= RECLAIM_DISTANCE)
            .collect();
        limits.sort_unstable();
        limits.dedup();
        for limit in limits {
            let near = |a: usize, b: usize| a == b || self.node_distance(a, b) <= limit;
            // Each node's neighbours must have the same neighbours, or their domains overlap.
            let apart = pairs()
                .filter(|&(a, b)| near(a, b))
                .all(|(a, b)| nodes.iter().all(|&c| near(a, c) == near(b, c)));
            if !apart {
                warnings.push(format!(
                    "nodes within distance {limit} of each other overlap: no level for new tasks"
                ));
                continue;
            }
            add(intf::place_level_kind_PLACE_LEVEL_NUMA, &|c| {
                nodes.iter().copied().find(|&first| near(first, c.node))
            });
        }
        levels
    }
}

/// Joins domains that hold CPUs of the same key.
fn merge(domain: &[usize], cpus: &[Cpu], key: &dyn Fn(&Cpu) -> Option<usize>) -> Vec<usize> {
    let mut out = domain.to_vec();
    let mut first_of: BTreeMap<usize, usize> = BTreeMap::new();
    for (i, cpu) in cpus.iter().enumerate() {
        let Some(key) = key(cpu) else { continue };
        let first = *first_of.entry(key).or_insert(i);
        let (a, b) = (out[first].min(out[i]), out[first].max(out[i]));
        if a != b {
            out.iter_mut().filter(|d| **d == b).for_each(|d| *d = a);
        }
    }
    out
}

fn set(mask: &mut intf::place_mask, bit: usize) {
    mask.w[bit / 64] |= 1 << (bit % 64);
}

/// The L2 clusters of a cache, if they are a level of their own: larger than a core, smaller than
/// the cache.
fn cluster_level(cpus: &[Cpu]) -> Vec<usize> {
    let mut ids: Vec<usize> = cpus.iter().filter_map(|c| c.cluster).collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.len() < 2 && cpus.iter().all(|c| c.cluster.is_some()) {
        return Vec::new();
    }
    // A cluster that is one core is no level for that core; beside others it can be for them.
    ids.retain(|id| {
        let mut cores = cpus
            .iter()
            .filter(|c| c.cluster == Some(*id))
            .map(|c| c.core);
        let first = cores.next();
        cores.any(|c| Some(c) != first)
    });
    ids
}

/// Local indices of the CPUs of one cache.
struct Numbering {
    /// By position in the list of CPUs.
    local: Vec<usize>,
    segs: Vec<intf::place_seg>,
    /// Highest local index + 1.
    len: usize,
}

impl Numbering {
    /// Up to 64 CPUs in the machine: the CPU number itself.  Else runs of CPUs, gaps up to a width
    /// kept as holes: the smallest width that needs few enough segments and keeps hardware threads
    /// regular (offline CPUs are such gaps), else the smallest with few enough segments.
    fn of(cpus: &[Cpu], nr_cpu_ids: usize) -> Self {
        if nr_cpu_ids <= 64 {
            return Self::with_gaps(cpus, 64, 0);
        }
        let candidates = || {
            (0..=10)
                .map(|k| Self::with_gaps(cpus, 1 << k, cpus[0].id))
                .filter(|n| n.segs.len() <= MAX_SEGS)
        };
        candidates()
            .find(|n| Threads::of(cpus, n).warning.is_none())
            .or_else(|| candidates().next())
            // One segment per word of the machine always fits.
            .unwrap_or_else(|| Self::with_gaps(cpus, MAX_CPUS, 0))
    }

    /// Runs whose members are at most `gap` apart; the first one begins at CPU `start`.
    fn with_gaps(cpus: &[Cpu], gap: usize, start: usize) -> Self {
        let mut out = Self {
            local: Vec::with_capacity(cpus.len()),
            segs: Vec::new(),
            len: 0,
        };
        let (mut first, mut base, mut last) = (start, 0, start);
        for cpu in cpus {
            if cpu.id > last + gap {
                out.add_run(first, last, base);
                base += last - first + 1;
                first = cpu.id;
            }
            last = cpu.id;
            out.local.push(base + cpu.id - first);
        }
        out.add_run(first, last, base);
        out.len = base + last - first + 1;
        out
    }

    /// Cuts a run where a word ends, of the machine's masks or of the cache's.
    fn add_run(&mut self, first: usize, last: usize, base: usize) {
        let (mut cpu, mut local) = (first, base);
        while cpu <= last {
            let n = (last - cpu + 1).min(64 - cpu % 64).min(64 - local % 64);
            self.segs.push(intf::place_seg {
                mask: u64::MAX >> (64 - n),
                word: (cpu / 64) as u16,
                shift: (cpu % 64) as u16,
                local_word: (local / 64).min(MAX_WORDS - 1) as u16,
                local_shift: (local % 64) as u16,
            });
            cpu += n;
            local += n;
        }
    }
}

/// The hardware threads of one cache, by position in the list of CPUs.
struct Threads {
    per_core: usize,
    stride: usize,
    /// Which thread of its core a CPU is.
    plane: Vec<usize>,
    /// Local index of its core's first thread.
    first: Vec<usize>,
    warning: Option<String>,
}

impl Threads {
    /// Finds the one stride between threads of a core.  Without one, every CPU is a core of its own.
    fn of(cpus: &[Cpu], numbering: &Numbering) -> Self {
        let mut cores: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (i, cpu) in cpus.iter().enumerate() {
            cores.entry(cpu.core).or_default().push(i);
        }
        let mut out = Self {
            per_core: cores.values().map(Vec::len).max().unwrap_or(1),
            stride: 0,
            plane: vec![0; cpus.len()],
            first: numbering.local.clone(),
            warning: None,
        };
        if out.per_core > MAX_THREADS {
            let n = out.per_core;
            let why =
                format!("{n} threads per core, at most {MAX_THREADS} are handled: taken as cores");
            return out.none(&why, numbering);
        }
        for members in cores.values() {
            let local: Vec<usize> = members.iter().map(|&i| numbering.local[i]).collect();
            for (k, &i) in members.iter().enumerate() {
                out.plane[i] = k;
                out.first[i] = local[0];
                if k > 0 {
                    let step = local[k] - local[0];
                    if out.stride == 0 && step.is_multiple_of(k) {
                        out.stride = step / k;
                    }
                    if step != k * out.stride {
                        return out.none(
                            "hardware threads are numbered without a rule: taken as cores",
                            numbering,
                        );
                    }
                }
            }
        }
        out
    }

    fn none(mut self, why: &str, numbering: &Numbering) -> Self {
        self.per_core = 1;
        self.stride = 0;
        self.plane.fill(0);
        self.first.clone_from(&numbering.local);
        self.warning = Some(why.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `sockets` x `cores` x 2 threads, siblings `offset` apart, a cache and node per socket.
    fn smt(sockets: usize, cores: usize, split: bool) -> Machine {
        let total = sockets * cores;
        let cpus = (0..total * 2).map(|id| {
            let core = if split { id % total } else { id / 2 };
            Cpu {
                id,
                core,
                cluster: None,
                llc: core / cores,
                node: core / cores,
            }
        });
        Machine {
            nr_cpu_ids: total * 2,
            cpus: cpus.collect(),
            distance: vec![],
        }
    }

    #[test]
    fn small_machines_number_cpus_by_themselves() {
        let l = smt(2, 4, false).layout();
        assert_eq!((l.mask_words, l.llc_words, l.smt), (1, 1, true));
        assert_eq!(l.llcs.len(), 2);
        assert_eq!(l.llcs[1].span.w[0], 0xff00);
        assert_eq!(l.llcs[1].plane[0].w[0], 0x5500);
        assert_eq!((l.llcs[1].threads, l.llcs[1].stride), (2, 1));
        assert_eq!(l.wheres[11].local, 11);
        assert_eq!(l.wheres[11].core, 10);
        assert!(l.warnings.is_empty());
    }

    #[test]
    fn split_siblings_of_a_large_machine_share_one_word() {
        let l = smt(8, 16, true).layout();
        assert_eq!((l.mask_words, l.llc_words), (4, 1));
        let llc = &l.llcs[3];
        assert_eq!((llc.threads, llc.stride, llc.nr_segs), (2, 16, 2));
        assert_eq!(llc.span.w[0], 0xffff_ffff);
        assert_eq!(llc.plane[0].w[0], 0xffff);
        assert_eq!((llc.cpu_of[0], llc.cpu_of[16]), (48, 176));
        assert_eq!(l.wheres[176].core, 0);
    }

    #[test]
    fn an_offline_thread_leaves_a_hole_and_the_stride() {
        let mut m = smt(8, 16, true);
        m.cpus.retain(|c| c.id != 177);
        let l = m.layout();
        assert!(l.warnings.is_empty(), "{:?}", l.warnings);
        let llc = &l.llcs[3];
        assert_eq!((llc.threads, llc.stride), (2, 16));
        assert_eq!(l.wheres[178].local, 18);
        assert_eq!(llc.span.w[0], 0xffff_ffff & !(1 << 17));
        assert_eq!(l.wheres[177].valid, 0);
    }

    #[test]
    fn one_huge_cache_takes_the_wide_form() {
        let l = smt(1, 512, true).layout();
        assert_eq!((l.mask_words, l.llc_words), (16, 16));
        assert_eq!(l.llcs[0].stride, 512);
        assert!(l.llcs[0].nr_segs as usize <= MAX_SEGS);
    }

    #[test]
    fn irregular_threads_are_taken_as_cores_with_a_warning() {
        let core = [0, 1, 2, 1, 2, 0];
        let cpus = (0..6).map(|id| Cpu {
            id,
            core: core[id],
            cluster: None,
            llc: 0,
            node: 0,
        });
        let m = Machine {
            nr_cpu_ids: 6,
            cpus: cpus.collect(),
            distance: vec![],
        };
        let l = m.layout();
        assert_eq!((l.llcs[0].threads, l.smt), (1, false));
        assert_eq!(l.warnings.len(), 1);
    }

    #[test]
    fn clusters_count_only_between_core_and_cache() {
        let cluster = |id: usize, size: usize| Cpu {
            id,
            core: id / 2,
            cluster: Some(id / size),
            llc: 0,
            node: 0,
        };
        let machine = |size| Machine {
            nr_cpu_ids: 16,
            cpus: (0..16).map(|id| cluster(id, size)).collect(),
            distance: vec![],
        };
        assert_eq!(machine(2).layout().llcs[0].nr_clusters, 0);
        assert_eq!(machine(16).layout().llcs[0].nr_clusters, 0);
        let l = machine(4).layout();
        assert_eq!(l.llcs[0].nr_clusters, 4);
        assert_eq!(l.llcs[0].cluster[1].w[0], 0xf0);
        assert_eq!(l.wheres[5].cluster, 1);
    }

    #[test]
    fn near_caches_come_first_and_far_nodes_share_no_affine_domain() {
        let mut m = smt(4, 2, false);
        m.distance = vec![
            vec![10, 20, 40, 40],
            vec![20, 10, 40, 40],
            vec![40, 40, 10, 20],
            vec![40, 40, 20, 10],
        ];
        let l = m.layout();
        assert_eq!(l.llcs[2].nearest[..4], [2, 3, 0, 1]);
        assert_eq!(l.llcs[2].near_nodes, 0b1100);
    }

    /// Domains of one level as lists of CPUs.
    fn domains(l: &Layout, level: usize) -> Vec<Vec<u16>> {
        let t = &l.levels;
        let mut out = Vec::new();
        let mut at = 0;
        while at < t.nr_cpus as usize {
            let span = t.domain[level][at];
            assert_eq!(span.first as usize, at);
            out.push(t.cpu_at[at..span.end as usize].to_vec());
            at = span.end as usize;
        }
        out
    }

    #[test]
    fn levels_nest_and_ascend() {
        let mut m = smt(2, 4, true);
        m.cpus.retain(|c| c.id != 1);
        let l = m.layout();
        let kinds = &l.levels.kind[..l.levels.nr_levels as usize];
        assert_eq!(
            kinds,
            [
                intf::place_level_kind_PLACE_LEVEL_SMT,
                intf::place_level_kind_PLACE_LEVEL_LLC,
                intf::place_level_kind_PLACE_LEVEL_NUMA
            ]
        );
        assert_eq!(domains(&l, 0)[..3], [vec![0, 8], vec![2, 10], vec![3, 11]]);
        assert_eq!(domains(&l, 0)[3], [9]);
        assert_eq!(
            domains(&l, 1),
            [
                vec![0, 8, 2, 10, 3, 11, 9],
                vec![4, 12, 5, 13, 6, 14, 7, 15]
            ]
        );
        assert_eq!(domains(&l, 2).len(), 1);
        assert_eq!(l.levels.position[1], NO_POSITION);
        assert_eq!(l.levels.position[9], 6);
    }

    #[test]
    fn far_nodes_and_overlapping_ones_are_no_level() {
        let levels = |distance: [[usize; 4]; 4]| {
            let mut m = smt(4, 1, false);
            m.distance = distance.iter().map(|row| row.to_vec()).collect();
            let l = m.layout();
            (l.levels.nr_levels, l.warnings.len())
        };
        // Threads and caches in one: the core.
        let far = [
            [10, 20, 40, 40],
            [20, 10, 40, 40],
            [40, 40, 10, 20],
            [40, 40, 20, 10],
        ];
        assert_eq!(levels(far), (2, 0));
        let ring = [
            [10, 20, 30, 20],
            [20, 10, 20, 30],
            [30, 20, 10, 20],
            [20, 30, 20, 10],
        ];
        assert_eq!(levels(ring), (2, 1));
        let two_by_two = [
            [10, 12, 21, 21],
            [12, 10, 21, 21],
            [21, 21, 10, 12],
            [21, 21, 12, 10],
        ];
        assert_eq!(levels(two_by_two), (3, 0));
    }

    #[test]
    fn a_cache_over_two_nodes_joins_them() {
        let mut m = smt(2, 2, false);
        m.cpus.iter_mut().for_each(|c| c.llc = 0);
        let l = m.layout();
        assert_eq!(l.levels.nr_levels, 2);
        assert_eq!(domains(&l, 1).len(), 1);
    }

    #[test]
    fn a_hole_in_the_cpu_numbers_is_no_cpu() {
        let mut m = smt(1, 4, false);
        m.cpus.retain(|c| c.id != 4 && c.id != 5);
        let l = m.layout();
        assert_eq!(l.llcs[0].nr_cpus, 6);
        assert_eq!(l.llcs[0].span.w[0], 0b1100_1111);
        assert_eq!(l.wheres[4].valid, 0);
    }
}
