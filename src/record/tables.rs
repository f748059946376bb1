// SPDX-License-Identifier: GPL-2.0-only

//! The topology that a decision reads.

use serde::Serialize;

use super::raw::{self, Cursor};
use crate::bpf_intf as intf;
use crate::topology::{Layout, MAX_CPUS};

/// Bits of a mask.
const MASK_BITS: u32 = intf::PLACE_MAX_WORDS * 64;

/// Where each CPU stands, and the last-level caches.
#[derive(Clone)]
pub struct Tables {
    /// By CPU number.
    pub wheres: Vec<intf::place_where>,
    pub llcs: Vec<intf::place_llc>,
    /// What forks walk down.
    pub levels: Box<intf::place_levels>,
}

/// How far apart two CPUs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Distance {
    SameCpu,
    SameCore,
    SameLlc,
    SameNode,
    Farther,
}

impl Distance {
    /// From near to far.
    pub const ALL: [Distance; 5] = [
        Distance::SameCpu,
        Distance::SameCore,
        Distance::SameLlc,
        Distance::SameNode,
        Distance::Farther,
    ];
}

impl From<&Layout> for Tables {
    fn from(layout: &Layout) -> Tables {
        Tables {
            wheres: layout.wheres.clone(),
            llcs: layout.llcs.clone(),
            levels: layout.levels.clone(),
        }
    }
}

impl Tables {
    /// What is wrong with tables that come from outside.
    pub fn check(&self) -> Result<(), String> {
        if self.wheres.is_empty() || self.wheres.len() > MAX_CPUS {
            return Err(format!("{} CPUs, not 1 to {MAX_CPUS}", self.wheres.len()));
        }
        for (cpu, at) in self
            .wheres
            .iter()
            .enumerate()
            .filter(|(_, at)| at.valid != 0)
        {
            let ok = usize::from(at.llc) < self.llcs.len()
                && u32::from(at.local.max(at.core)) < MASK_BITS;
            if !ok {
                return Err(format!("CPU {cpu} is in no cache of the file"));
            }
        }
        for (id, llc) in self.llcs.iter().enumerate() {
            let threads = u32::from(llc.threads);
            let highest = threads.saturating_sub(1) * u32::from(llc.stride);
            let ok = threads <= intf::PLACE_MAX_THREADS
                && highest < MASK_BITS
                && u32::from(llc.nr_clusters) <= intf::PLACE_MAX_CLUSTERS
                && llc
                    .cpu_of
                    .iter()
                    .all(|c| usize::from(*c) < self.wheres.len());
            if !ok {
                return Err(format!(
                    "cache {id} has impossible threads, clusters or CPUs"
                ));
            }
        }
        self.check_levels()
    }

    /// Positions and CPUs must name each other, and each CPU's domains grow from level to level: so a
    /// walk ends, and ends on a CPU that there is.
    fn check_levels(&self) -> Result<(), String> {
        let lv = &self.levels;
        let nr_cpus = lv.nr_cpus as usize;
        if lv.nr_levels > intf::PLACE_MAX_LEVELS || nr_cpus > self.wheres.len() {
            return Err(format!("{} levels of {nr_cpus} CPUs", lv.nr_levels));
        }
        for (cpu, at) in self.wheres.iter().enumerate() {
            let position = usize::from(lv.position[cpu]);
            let placed = position < nr_cpus && usize::from(lv.cpu_at[position]) == cpu;
            if placed != (at.valid != 0) || (!placed && position < MAX_CPUS) {
                return Err(format!("CPU {cpu} has no position or a wrong one"));
            }
        }
        for position in 0..nr_cpus {
            let online = self.online(lv.cpu_at[position].into()).is_some();
            let (mut first, mut end) = (position, position + 1);
            for domain in &lv.domain[..lv.nr_levels as usize] {
                let span = domain[position];
                let (from, to) = (usize::from(span.first), usize::from(span.end));
                if !online || from > first || to < end || to > nr_cpus {
                    return Err(format!("position {position} is in impossible domains"));
                }
                (first, end) = (from, to);
            }
        }
        Ok(())
    }

    /// A CPU that is online.
    pub fn online(&self, cpu: i32) -> Option<&intf::place_where> {
        let at = self.wheres.get(usize::try_from(cpu).ok()?)?;
        (at.valid != 0).then_some(at)
    }

    /// The cache that a place names.
    pub fn llc(&self, at: &intf::place_where) -> Option<&intf::place_llc> {
        self.llcs.get(usize::from(at.llc))
    }

    /// How far apart two CPUs are; those that are not online are far from all others.
    pub fn distance(&self, a: i32, b: i32) -> Distance {
        if a == b {
            return Distance::SameCpu;
        }
        match (self.online(a), self.online(b)) {
            (Some(a), Some(b)) if a.node == b.node && a.llc == b.llc && a.core == b.core => {
                Distance::SameCore
            }
            (Some(a), Some(b)) if a.node == b.node && a.llc == b.llc => Distance::SameLlc,
            (Some(a), Some(b)) if a.node == b.node => Distance::SameNode,
            _ => Distance::Farther,
        }
    }

    /// The levels' parts that are in use, in the order of a file.
    fn each_levels_part(
        levels: &mut intf::place_levels,
        nr_cpu_ids: usize,
        mut f: impl FnMut(&mut [u8]),
    ) {
        let (nr_levels, nr_cpus) = (levels.nr_levels as usize, levels.nr_cpus as usize);
        for kind in &mut levels.kind[..nr_levels] {
            f(raw::bytes_mut(kind));
        }
        for position in &mut levels.position[..nr_cpu_ids] {
            f(raw::bytes_mut(position));
        }
        for cpu in &mut levels.cpu_at[..nr_cpus] {
            f(raw::bytes_mut(cpu));
        }
        for domain in &mut levels.domain[..nr_levels] {
            for span in &mut domain[..nr_cpus] {
                f(raw::bytes_mut(span));
            }
        }
    }

    /// Bytes of the levels.
    pub fn levels_bytes(&self) -> Vec<u8> {
        let mut levels = self.levels.clone();
        let mut bytes = Vec::new();
        for n in [levels.nr_levels, levels.nr_cpus] {
            bytes.extend(n.to_le_bytes());
        }
        Self::each_levels_part(&mut levels, self.wheres.len(), |part| bytes.extend(&*part));
        bytes
    }

    /// Takes over what [`Tables::levels_bytes`] made, for CPUs that are known.  False: it is not that.
    pub fn read_levels(&mut self, bytes: &[u8]) -> bool {
        let Some((head, rest)) = bytes.split_at_checked(8) else {
            return false;
        };
        let word = |i: usize| u32::from_le_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]);
        let (nr_levels, nr_cpus) = (word(0), word(4));
        let nr_cpu_ids = self.wheres.len();
        if nr_levels > intf::PLACE_MAX_LEVELS || nr_cpus as usize > nr_cpu_ids {
            return false;
        }
        let (l, n) = (nr_levels as usize, nr_cpus as usize);
        if rest.len() != 4 * l + 2 * nr_cpu_ids + 2 * n + 4 * l * n {
            return false;
        }
        let levels = &mut self.levels;
        (levels.nr_levels, levels.nr_cpus) = (nr_levels, nr_cpus);
        levels.position.fill(intf::PLACE_NO_POSITION as u16);
        let mut cursor = Cursor(rest);
        Self::each_levels_part(levels, nr_cpu_ids, |part| cursor.take(part));
        true
    }

    /// Bytes of a cache's description, without its hints, which change all the time.
    pub fn llc_bytes(llc: &intf::place_llc) -> Vec<u8> {
        let mut llc = *llc;
        llc.has_idle_cores = 0;
        llc.nr_idle_scan = 0;
        llc.next_scan_update_ns = 0;
        raw::squeeze(raw::bytes(&llc))
    }
}
