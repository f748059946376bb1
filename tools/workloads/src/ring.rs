// SPDX-License-Identifier: GPL-2.0-only

//! A ring of pinned processes that pass one byte through pipes.
//!
//! Each hop is a write that wakes the next task and a read that sleeps: the path of a wakeup and a
//! context switch, with nearly nothing else in it.  A guest whose clock counts instructions
//! (`tools/vm run --clock instructions`) makes of a hop's nanoseconds the instructions it took.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Instant;

use anyhow::{bail, ensure, Context, Result};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Two warm-up rounds that differ by no more than this share agree.
const AGREEMENT: f64 = 0.02;

/// Where the tasks of a ring are pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// All tasks on the first allowed CPU
    Same,
    /// Task i on the i-th allowed CPU
    Cross,
}

/// The ring to build and how long to run it.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub tasks: usize,
    pub placement: Placement,
    /// How often the byte goes round in one round.
    pub loops: u64,
    pub rounds: usize,
    /// The most warm-up rounds; they end as soon as two in a row agree.
    pub warmup: usize,
}

/// What a run measured, in the form of `place_ring --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub tasks: usize,
    pub placement: Placement,
    /// The CPU of each task.
    pub cpus: Vec<usize>,
    pub loops: u64,
    /// False if the warm-up rounds ran out before two of them agreed.
    pub settled: bool,
    pub warmup_ns_per_hop: Vec<f64>,
    pub ns_per_hop: Vec<f64>,
    /// All hops of the run, warm-up included.
    pub hops: u64,
}

/// Builds the ring, runs it, and takes it down.
pub fn run(options: &Options) -> Result<Outcome> {
    let cpus = cpus_of(&allowed_cpus()?, options.placement, options.tasks)?;
    let mut ring = Ring::start(&cpus)?;
    ring.round(1).context("the first trip round the ring")?;

    let mut warmup_ns_per_hop = Vec::new();
    let mut settled = options.warmup == 0;
    while !settled && warmup_ns_per_hop.len() < options.warmup {
        warmup_ns_per_hop.push(ring.round(options.loops)?);
        settled = last_two_agree(&warmup_ns_per_hop);
    }
    let ns_per_hop = (0..options.rounds)
        .map(|_| ring.round(options.loops))
        .collect::<Result<Vec<_>>>()?;

    Ok(Outcome {
        tasks: options.tasks,
        placement: options.placement,
        cpus,
        loops: options.loops,
        settled,
        warmup_ns_per_hop,
        ns_per_hop,
        hops: ring.hops,
    })
}

fn last_two_agree(rounds: &[f64]) -> bool {
    let [.., before, last] = rounds else {
        return false;
    };
    (before - last).abs() <= AGREEMENT * before.min(*last)
}

/// The CPU of each task.
fn cpus_of(allowed: &[usize], placement: Placement, tasks: usize) -> Result<Vec<usize>> {
    match placement {
        Placement::Same => {
            let first = *allowed.first().context("no CPU is allowed")?;
            Ok(vec![first; tasks])
        }
        Placement::Cross => {
            ensure!(
                tasks <= allowed.len(),
                "{tasks} tasks on a CPU each need {tasks} CPUs; this process may use {}",
                allowed.len()
            );
            Ok(allowed[..tasks].to_vec())
        }
    }
}

fn allowed_cpus() -> Result<Vec<usize>> {
    // SAFETY: cpu_set_t is plain bits; the kernel writes no more than the size given.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        check(libc::sched_getaffinity(
            0,
            std::mem::size_of_val(&set),
            &mut set,
        ))
        .context("reading the allowed CPUs")?;
        set
    };
    Ok((0..libc::CPU_SETSIZE as usize)
        // SAFETY: the index is below the set's size.
        .filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) })
        .collect())
}

fn pin_to(cpu: usize) -> io::Result<()> {
    // SAFETY: cpu_set_t is plain bits, and the index came out of such a set.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        check(libc::sched_setaffinity(
            0,
            std::mem::size_of_val(&set),
            &set,
        ))
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// A running ring.  This process is its first task; the others end when this one closes its pipe.
struct Ring {
    to_next: Option<OwnedFd>,
    from_last: OwnedFd,
    tasks: u64,
    children: Vec<libc::pid_t>,
    hops: u64,
}

impl Ring {
    fn start(cpus: &[usize]) -> Result<Self> {
        ensure!(cpus.len() >= 2, "a ring needs two tasks");
        pin_to(cpus[0]).with_context(|| format!("pinning to CPU {}", cpus[0]))?;
        let (from_first, to_next) = pipe()?;
        let mut ring = Ring {
            to_next: Some(to_next),
            from_last: from_first,
            tasks: cpus.len() as u64,
            children: Vec::new(),
            hops: 0,
        };
        for &cpu in &cpus[1..] {
            let (read, write) = pipe()?;
            // The new task reads where the ring ended so far, and becomes its end.
            let input = std::mem::replace(&mut ring.from_last, read);
            ring.fork_task(cpu, &input, &write)?;
        }
        Ok(ring)
    }

    /// Starts a process that passes bytes on; our copies of its two ends are closed by the caller.
    fn fork_task(&mut self, cpu: usize, input: &OwnedFd, output: &OwnedFd) -> Result<()> {
        // SAFETY: the child only makes system calls, so locks of other threads do not matter to it.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()).context("starting a task of the ring"),
            0 => {
                // The end that keeps the ring alive belongs to the first task alone.
                drop(self.to_next.take());
                let passed = pin_to(cpu).and_then(|()| pass_on(input, output));
                // SAFETY: ends the child without running the parent's destructors.
                unsafe { libc::_exit(passed.is_err().into()) }
            }
            child => {
                self.children.push(child);
                Ok(())
            }
        }
    }

    /// Sends the byte round `loops` times; nanoseconds per hop.
    fn round(&mut self, loops: u64) -> Result<f64> {
        let to_next = self.to_next.as_ref().context("the ring has ended")?;
        let start = Instant::now();
        for _ in 0..loops {
            write_byte(to_next).context("passing the byte on")?;
            if !read_byte(&self.from_last).context("waiting for the byte")? {
                bail!("a task of the ring has ended");
            }
        }
        let elapsed = start.elapsed();
        let hops = loops * self.tasks;
        self.hops += hops;
        Ok(elapsed.as_nanos() as f64 / hops as f64)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        drop(self.to_next.take());
        for &child in &self.children {
            // SAFETY: a child of ours that nobody else waits for; its status is of no interest.
            unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
        }
    }
}

fn pass_on(input: &OwnedFd, output: &OwnedFd) -> io::Result<()> {
    while read_byte(input)? {
        write_byte(output)?;
    }
    Ok(())
}

fn pipe() -> Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: the kernel writes two descriptors, which nobody else owns yet.
    unsafe {
        check(libc::pipe(ends.as_mut_ptr())).context("making a pipe")?;
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

/// False at the end of the pipe.
fn read_byte(from: &OwnedFd) -> io::Result<bool> {
    let mut byte = 0u8;
    // SAFETY: a buffer of one byte.
    match unsafe { libc::read(from.as_raw_fd(), (&raw mut byte).cast(), 1) } {
        -1 => Err(io::Error::last_os_error()),
        length => Ok(length == 1),
    }
}

fn write_byte(to: &OwnedFd) -> io::Result<()> {
    let byte = 0u8;
    // SAFETY: a buffer of one byte.
    match unsafe { libc::write(to.as_raw_fd(), (&raw const byte).cast(), 1) } {
        1 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placements_choose_among_the_allowed_cpus() {
        let allowed = [2, 3, 7];
        assert_eq!(cpus_of(&allowed, Placement::Same, 4).unwrap(), [2; 4]);
        assert_eq!(cpus_of(&allowed, Placement::Cross, 3).unwrap(), allowed);
        assert!(cpus_of(&allowed, Placement::Cross, 4).is_err());
    }

    #[test]
    fn warm_up_ends_when_two_rounds_agree() {
        assert!(!last_two_agree(&[]));
        assert!(!last_two_agree(&[5580.0]));
        assert!(!last_two_agree(&[52000.0, 5580.0]));
        assert!(last_two_agree(&[52000.0, 5580.0, 5600.0]));
    }

    #[test]
    fn a_ring_goes_round_and_ends() {
        let outcome = run(&Options {
            tasks: 3,
            placement: Placement::Same,
            loops: 20,
            rounds: 2,
            warmup: 1,
        })
        .unwrap();
        assert_eq!(outcome.ns_per_hop.len(), 2);
        assert_eq!(outcome.warmup_ns_per_hop.len(), 1);
        assert!(!outcome.settled);
        assert_eq!(outcome.hops, 3 * (1 + 3 * 20));
    }
}
