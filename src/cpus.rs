// SPDX-License-Identifier: GPL-2.0-only

//! What each CPU runs and how loaded it is, as its record says at one moment.

use serde::{Deserialize, Serialize};

use crate::bpf_intf as intf;

/// One CPU; what it holds are the tasks of this scheduler.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuState {
    pub cpu: u32,
    /// Runnable tasks, the running one included, how many of them are SCHED_IDLE, and the sum of
    /// their weights (1024: nice 0).
    pub nr: u32,
    pub nr_sched_idle: u32,
    pub weight: u32,
    /// Load average in weight units: with what sleeping tasks left there, and of the runnable ones.
    pub load: u32,
    pub runnable_load: u32,
    /// Utilisation, of 1024.
    pub util: u32,
    /// Tasks that may wait in its queue; those that left it otherwise are counted until it is empty.
    pub queued: u32,
    /// The longest time that a task was in its queue until it ran, since the program was loaded.
    pub longest_wait_ns: u64,
}

impl CpuState {
    /// `now_ns`: what the CPU's run-queue clock shows; 0: unknown, then nothing is decayed.
    ///
    /// The record may have been copied while the CPU wrote it: what is impossible is taken as zero.
    pub fn new(cpu: u32, record: &intf::place_cpu, now_ns: u64) -> CpuState {
        let (nr, nr_sched_idle, weight) = runnable(record);
        let (inbox, seen) = (&record.inbox_load, &record.load.seen);
        // What others took away and its owner has not folded in yet.
        let left = |avg: u32, inbox: u32, seen: u32| avg.saturating_sub(inbox.wrapping_sub(seen));
        let (load, runnable_load, util) = loads(&record.load, nr > 0, now_ns);
        CpuState {
            cpu,
            nr,
            nr_sched_idle,
            weight,
            load: left(load, inbox.load, seen.load),
            runnable_load: left(runnable_load, inbox.runnable, seen.runnable),
            util: left(util, inbox.util, seen.util).min(1024),
            queued: record.queued,
            longest_wait_ns: record.longest_wait_ns,
        }
    }
}

/// How many tasks, how many SCHED_IDLE ones, and their weight.
fn runnable(record: &intf::place_cpu) -> (u32, u32, u32) {
    let sum = record.added.wrapping_sub(record.inbox);
    let field = |shift: intf::place_sum| (sum >> shift) as u32 & 0xffff;
    let nr = field(intf::place_sum_PLACE_SUM_NR_SHIFT);
    let idle = field(intf::place_sum_PLACE_SUM_IDLE_SHIFT);
    // A subtraction seen before its addition.
    match nr > i16::MAX as u32 || idle > nr {
        true => (0, 0, 0),
        false => (nr, idle, sum as u32),
    }
}

/// Load, runnable load and utilisation.  A CPU without runnable tasks updates nothing: its loads are
/// decayed here; a busy one's are as of its last event, a tick ago at most.
fn loads(queue: &intf::pelt_queue, busy: bool, now_ns: u64) -> (u32, u32, u32) {
    if busy || now_ns == 0 {
        return (queue.load_avg, queue.runnable_load_avg, queue.util_avg);
    }
    // SAFETY: pure functions that read the structure.
    unsafe {
        (
            intf::place_host_pelt_read_load(queue, now_ns, 0),
            intf::place_host_pelt_read_runnable_load(queue, now_ns, 0),
            intf::place_host_pelt_read_util(queue, now_ns, 0),
        )
    }
}

/// The CPU with the longest wait, if any task waited.
pub fn longest_wait(cpus: &[CpuState]) -> Option<&CpuState> {
    let waited = cpus.iter().filter(|c| c.longest_wait_ns > 0);
    waited.max_by_key(|c| c.longest_wait_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1 << 20;

    fn record(nr: u64, weight: u64) -> intf::place_cpu {
        // SAFETY: a plain C structure of integers, for which zero is valid.
        let mut record: intf::place_cpu = unsafe { std::mem::zeroed() };
        record.added = nr << 32 | weight;
        record.load.last_ns = 1000 * MS;
        record.load.load_avg = 2048;
        record.load.runnable_load_avg = 1024;
        record.load.util_avg = 512;
        record
    }

    #[test]
    fn an_idle_cpu_decays() {
        let idle = record(0, 0);
        let at = |now| CpuState::new(3, &idle, now);
        assert_eq!((at(0).load, at(1000 * MS).load), (2048, 2048));
        // Half after 32 periods, whatever clock comes before the last update.
        let half = at(1032 * MS);
        assert_eq!((half.load, half.runnable_load, half.util), (1023, 511, 255));
        assert_eq!(at(990 * MS).load, 2048);
        assert_eq!(at(5000 * MS).load, 0);
    }

    #[test]
    fn a_busy_cpu_is_as_of_its_last_event() {
        let busy = CpuState::new(0, &record(2, 2048), 5000 * MS);
        assert_eq!((busy.nr, busy.weight), (2, 2048));
        assert_eq!((busy.load, busy.util), (2048, 512));
    }

    #[test]
    fn what_left_is_subtracted_once() {
        let mut r = record(0, 0);
        r.load.seen.load = u32::MAX - 100;
        r.inbox_load.load = r.load.seen.load.wrapping_add(2000);
        r.load.seen.util = 7;
        r.inbox_load.util = 7;
        let state = CpuState::new(0, &r, 0);
        assert_eq!(
            (state.load, state.runnable_load, state.util),
            (48, 1024, 512)
        );
        r.inbox_load.load = r.inbox_load.load.wrapping_add(100);
        assert_eq!(CpuState::new(0, &r, 0).load, 0);
    }

    #[test]
    fn torn_sums_are_no_tasks() {
        let mut r = record(1, 1024);
        r.inbox = 2 << 32 | 2048;
        let state = CpuState::new(0, &r, 0);
        assert_eq!((state.nr, state.nr_sched_idle, state.weight), (0, 0, 0));
        r.inbox = 1 << 32 | 1024;
        assert_eq!(CpuState::new(0, &r, 0).weight, 0);
    }

    #[test]
    fn the_longest_wait_of_all() {
        let of = |waits: &[u64]| {
            let states = waits.iter().enumerate().map(|(cpu, wait)| CpuState {
                cpu: cpu as u32,
                longest_wait_ns: *wait,
                ..CpuState::default()
            });
            longest_wait(&states.collect::<Vec<_>>()).map(|c| c.cpu)
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[0, 0]), None);
        assert_eq!(of(&[5, 9, 7]), Some(1));
    }
}
