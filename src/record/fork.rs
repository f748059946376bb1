// SPDX-License-Identifier: GPL-2.0-only

//! One recorded placement of a new task, and the same placement decided again.
//!
//! Whatever policy was in force, a record holds all CPUs, so that any policy can be asked.

use super::answer::same_answer;
use super::raw::{self, Cursor};
use super::tables::Tables;
use crate::bpf_intf as intf;

const HEAD: usize = size_of::<intf::place_record>();
/// Where the part begins that is copied as it is, the two CPU numbers.
const CPUS_AT: usize = std::mem::offset_of!(intf::place_fork_in, waker);
const CPUS: usize = intf::place_record_part_PLACE_RECORD_FORK_HEAD as usize;
const FIXED: usize = intf::place_record_part_PLACE_RECORD_FORK_FIXED as usize;
const CPU: usize = size_of::<intf::place_fork_cpu>();

/// What the placement of a new task read and what it decided.  Made by [`Fork::parse`], it fits its
/// tables.
#[derive(Clone)]
pub struct Fork {
    pub head: intf::place_record,
    pub input: Box<intf::place_fork_in>,
    pub out: intf::place_out,
}

/// Bytes of a record on a machine of so many possible CPUs.
fn record_bytes(nr_cpu_ids: usize) -> usize {
    FIXED + 2 * 8 * nr_cpu_ids.div_ceil(64) + CPU * nr_cpu_ids
}

/// Calls `f` with each part of the input's bytes, in the order of `struct place_record`; `out` is
/// between the first two.
fn each_part(input: &mut intf::place_fork_in, nr_cpu_ids: usize, mut f: impl FnMut(&mut [u8])) {
    let words = nr_cpu_ids.div_ceil(64);
    for set in [&mut input.allowed, &mut input.idle] {
        set[..words]
            .iter_mut()
            .for_each(|word| f(raw::bytes_mut(word)));
    }
    let cpus = &mut input.cpu[..nr_cpu_ids];
    cpus.iter_mut().for_each(|cpu| f(raw::bytes_mut(cpu)));
}

impl Fork {
    /// Reads a record whose head was read.
    ///
    /// # Errors
    /// In words: it is not one, or does not fit the tables.
    pub fn parse(head: intf::place_record, record: &[u8], tables: &Tables) -> Result<Fork, String> {
        let nr_cpu_ids = tables.wheres.len();
        if usize::from(head.nw) != nr_cpu_ids.div_ceil(64) || head.views != 0 {
            return Err(format!(
                "of a fork, with {} views of {} words",
                head.views, head.nw
            ));
        }
        let expected = record_bytes(nr_cpu_ids);
        if record.len() != expected {
            return Err(format!("of {} bytes instead of {expected}", record.len()));
        }
        let mut fork = Fork {
            head,
            input: raw::zeroed_box(),
            out: raw::zeroed(),
        };
        let mut cursor = Cursor(&record[HEAD..]);
        cursor.take(&mut raw::bytes_mut(&mut *fork.input)[CPUS_AT..][..CPUS]);
        cursor.take(raw::bytes_mut(&mut fork.out));
        each_part(&mut fork.input, nr_cpu_ids, |part| cursor.take(part));
        fork.check(tables)?;
        Ok(fork)
    }

    /// The record's bytes; the inverse of [`Fork::parse`].
    pub fn to_bytes(&self, tables: &Tables) -> Vec<u8> {
        let nr_cpu_ids = tables.wheres.len();
        let mut bytes = Vec::with_capacity(record_bytes(nr_cpu_ids));
        bytes.extend(raw::bytes(&self.head));
        bytes.extend(&raw::bytes(&*self.input)[CPUS_AT..][..CPUS]);
        bytes.extend(raw::bytes(&self.out));
        let mut input = self.input.clone();
        each_part(&mut input, nr_cpu_ids, |part| bytes.extend(&*part));
        bytes
    }

    fn check(&self, tables: &Tables) -> Result<(), String> {
        let waker = self.input.waker;
        if tables.online(waker).is_none() {
            return Err(format!("of a fork on CPU {waker}, which is not online"));
        }
        for (cpu, what) in [
            (self.input.prev, "of a parent on"),
            (self.out.cpu, "that chose"),
        ] {
            let known = usize::try_from(cpu).is_ok_and(|c| c < tables.wheres.len());
            if !known {
                return Err(format!(
                    "{what} CPU {cpu}, which the topology does not have"
                ));
            }
        }
        Ok(())
    }

    /// What `policy` decides on the same input, and which bytes of the answer it sets.
    fn decide_onto(
        &self,
        policy: &intf::place_policy,
        tables: &Tables,
        fill: u8,
    ) -> intf::place_out {
        let mut out: intf::place_out = raw::zeroed();
        raw::bytes_mut(&mut out).fill(fill);
        // SAFETY: live structures; the rules reach elements of arrays by masked indices, and
        // `Tables::check` has bounded what they count up to.
        unsafe {
            if intf::place_host_fork_needs_cpus(policy) != 0 {
                let rule = policy.axis[intf::place_axis_PLACE_AXIS_fork as usize];
                let mut input = self.input.clone();
                intf::place_host_fork_levels(&mut *input, &*tables.levels, rule, &mut out);
            } else {
                let mut input: intf::place_in = raw::zeroed();
                (input.waker, input.prev) = (self.input.waker, self.input.prev);
                intf::place_host_fork(policy, &input, &mut out);
            }
        }
        out
    }

    /// Whether a CPU was idle.
    pub fn is_idle(&self, cpu: i32) -> bool {
        let cpu = cpu as usize;
        let word = self.input.idle.get(cpu / 64).copied().unwrap_or(0);
        word >> (cpu % 64) & 1 == 1
    }

    /// What `policy` decides on the same input.
    pub fn decide(&self, policy: &intf::place_policy, tables: &Tables) -> intf::place_out {
        self.decide_onto(policy, tables, 0)
    }

    /// Whether `policy` decides what was recorded.  `Err`: what it decides instead.
    pub fn again(
        &self,
        policy: &intf::place_policy,
        tables: &Tables,
    ) -> Result<(), intf::place_out> {
        same_answer(&self.out, |fill| self.decide_onto(policy, tables, fill))
    }
}
