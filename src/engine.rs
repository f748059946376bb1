// SPDX-License-Identifier: GPL-2.0-only

//! What the policy switch and the statistics need of a loaded BPF program, and nothing more.
//!
//! The scheduler implements [`Engine`] over the mapped tables; the tests over plain memory.

use anyhow::Result;

use crate::bpf_intf as intf;
use crate::counters::Counts;
use crate::cpus::CpuState;
use crate::level::Level;

/// Number of policy slots; those not in force or just retired are spare.  Behind them is the one
/// that holds no policy.
pub const NR_SLOTS: u32 = intf::place_limits_PLACE_UNREAD_SLOT;

/// A BPF program that is loaded, attached or about to be.
pub trait Engine {
    /// Writes a whole policy into a slot that no callback can read and makes it the one in force:
    /// the slot's content must be visible before its number is (release order).
    ///
    /// `slot` is below [`NR_SLOTS`].  After an error the former slot must still be in force.
    fn publish(&mut self, slot: u32, policy: &intf::place_policy) -> Result<()>;

    /// What was counted under one slot, summed over all CPUs.  Nothing of it decreases while the
    /// program is loaded.
    fn read_counts(&self, slot: u32) -> Counts;

    /// Counts as much as `level` says from now on, under whatever slot is in force.
    fn set_level(&mut self, level: Level);

    /// What the CPUs that are online run, by number.
    fn read_cpus(&self) -> Vec<CpuState>;

    /// Replaces the word [`crate::sampling`] makes: how many placements are sampled.
    fn set_sampling(&mut self, word: u32);

    /// Replaces the shadow policy, while no callback can read it.
    fn set_shadow(&mut self, policy: &intf::place_policy);

    /// The kernel's number of the ring buffer that records go to.
    ///
    /// # Errors
    /// The kernel does not tell.
    fn record_map(&self) -> Result<u32>;

    /// Returns when every callback that may have read an earlier slot number has ended.  False:
    /// the machine offers no such thing.
    ///
    /// Holds for callbacks that cannot sleep.  Sleepable ones (`init_task`, the cgroup ones) must
    /// not keep a slot's number across a sleep.
    fn grace_period(&mut self) -> bool {
        crate::sys::grace_period()
    }
}
