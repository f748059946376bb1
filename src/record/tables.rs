// SPDX-License-Identifier: GPL-2.0-only

//! The topology that a decision reads.

use serde::Serialize;

use super::raw;
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

    /// Bytes of a cache's description, without its hints, which change all the time.
    pub fn llc_bytes(llc: &intf::place_llc) -> Vec<u8> {
        let mut llc = *llc;
        llc.has_idle_cores = 0;
        llc.nr_idle_scan = 0;
        llc.next_scan_update_ns = 0;
        raw::squeeze(raw::bytes(&llc))
    }
}
