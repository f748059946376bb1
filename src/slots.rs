// SPDX-License-Identifier: GPL-2.0-only

//! Which policy slot is in force, and what was counted under each policy so far.
//!
//! A *generation* is a policy from its publication to the next one.  Its life:
//!
//! 1. it is published into a spare slot, whose counts at that moment are its baseline;
//! 2. the next generation is published elsewhere: it is *retired*, but callbacks that read the slot
//!    number before may still count into its slot;
//! 3. after a grace period its counts are final and the slot is spare again.  Grace periods take
//!    milliseconds, so they are waited for only when no spare slot is left, for all retired
//!    generations at once;
//! 4. once it is older than the [`HISTORY`] newest ones, its counts go into the total of all old
//!    ones and it is forgotten.
//!
//! The counts of a generation are carried over a restart of the BPF program ([`Slots::detach`],
//! [`Slots::attach`]), whose counters begin at zero.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use log::info;

use crate::counters::Counts;
use crate::engine::{Engine, NR_SLOTS};
use crate::policy::{join_items, Item, Origin, Policy};
use crate::time;

/// Generations that stay visible one by one, the one in force included.
pub const HISTORY: usize = 8;

/// Without grace periods, a retired slot is spare again after this time: no callback that cannot
/// sleep runs for as long (the kernel reports a stalled CPU before).
const RETIRED_FOR: Duration = Duration::from_secs(1);

/// A policy and the time it was, or is, in force.
#[derive(Debug, Clone)]
pub struct Generation {
    /// Counts from 1, without gaps.
    pub number: u32,
    pub policy: Policy,
    /// The settings that the generation before had differently.
    pub changed: Vec<Item>,
    /// Begin, in microseconds since 1970, UTC.
    pub since_us: u64,
    /// End, likewise; none while it is in force.
    pub until_us: Option<u64>,
    /// Final counts: of earlier slots, or all when there is no slot any more.
    carried: Counts,
    slot: Option<Slot>,
}

/// The slot that a generation's callbacks count into.
#[derive(Debug, Clone)]
struct Slot {
    number: u32,
    baseline: Counts,
    retired: Option<Instant>,
}

impl Generation {
    /// What was counted under it until now.
    pub fn counts(&self, engine: &dyn Engine) -> Counts {
        let mut counts = self.carried.clone();
        if let Some(slot) = &self.slot {
            counts.add(&engine.read_counts(slot.number).since(&slot.baseline));
        }
        counts
    }

    /// Takes the counts as final and gives the slot up.
    fn release(&mut self, engine: &dyn Engine) -> Option<u32> {
        self.carried = self.counts(engine);
        self.slot.take().map(|s| s.number)
    }
}

/// All slots of a scheduler.
pub struct Slots {
    /// Oldest first, the one in force last.  Never empty.
    generations: VecDeque<Generation>,
    /// Slots that no generation uses.
    spare: Vec<u32>,
    /// Counts of the generations that are forgotten.
    forgotten: Counts,
    /// CPUs online, for the constants that depend on them.
    nr_cpus: u32,
    retired_for: Duration,
}

impl Slots {
    /// The slots of a program that is not loaded yet; `policy` becomes generation 1.
    pub fn new(policy: Policy) -> Slots {
        let first = Generation {
            number: 1,
            policy,
            changed: Vec::new(),
            since_us: time::now_us(),
            until_us: None,
            carried: Counts::default(),
            slot: None,
        };
        Slots {
            generations: VecDeque::from([first]),
            spare: Vec::new(),
            forgotten: Counts::default(),
            nr_cpus: 1,
            retired_for: RETIRED_FOR,
        }
    }

    /// Publishes the policy in force into a freshly loaded program, at the start and after each
    /// restart.  All its slots are spare and its counters are taken as they are.
    pub fn attach(&mut self, engine: &mut dyn Engine, nr_cpus: u32) -> Result<()> {
        self.nr_cpus = nr_cpus;
        self.spare = (1..NR_SLOTS).rev().collect();
        for old in &mut self.generations {
            old.slot = None;
        }
        let baseline = engine.read_counts(0);
        let current = self.current_mut();
        let native = current.policy.to_native(current.number, nr_cpus);
        engine
            .publish(0, &native)
            .context("publishing the policy")?;
        current.slot = Some(Slot {
            number: 0,
            baseline,
            retired: None,
        });
        Ok(())
    }

    /// Keeps all counts before the program goes away.
    pub fn detach(&mut self, engine: &dyn Engine) {
        for generation in &mut self.generations {
            generation.release(engine);
        }
        self.forget();
    }

    /// The generation in force.
    pub fn current(&self) -> &Generation {
        self.generations.back().expect("never empty")
    }

    fn current_mut(&mut self) -> &mut Generation {
        self.generations.back_mut().expect("never empty")
    }

    /// The newest generations, oldest first, at most [`HISTORY`].
    pub fn history(&self) -> impl Iterator<Item = &Generation> {
        let skip = self.generations.len().saturating_sub(HISTORY);
        self.generations.iter().skip(skip)
    }

    /// The generations after number `known`, oldest first, as far as they are remembered.
    pub fn after(&self, known: u32) -> impl Iterator<Item = &Generation> {
        self.generations.iter().filter(move |g| g.number > known)
    }

    /// The counts of all generations together.
    pub fn total(&self, engine: &dyn Engine) -> Counts {
        let mut total = self.forgotten.clone();
        for generation in &self.generations {
            total.add(&generation.counts(engine));
        }
        total
    }

    /// Sets items of the policy in force.  Returns the settings that changed; none of them if all
    /// were as wanted, and then no generation begins.
    pub fn set(&mut self, engine: &mut dyn Engine, items: &[Item]) -> Result<Vec<Item>> {
        let at_us = time::now_us();
        let generation = self.next_number()?;
        let origin = Origin::Set { generation, at_us };
        let policy = self.current().policy.with(items, origin);
        self.switch(engine, policy, at_us)
    }

    /// Puts a whole policy in force.  Returns as [`Slots::set`].
    pub fn replace(&mut self, engine: &mut dyn Engine, policy: Policy) -> Result<Vec<Item>> {
        self.switch(engine, policy, time::now_us())
    }

    fn next_number(&self) -> Result<u32> {
        let next = self.current().number.checked_add(1);
        next.context("the generation number is used up: restart the scheduler")
    }

    fn switch(&mut self, engine: &mut dyn Engine, policy: Policy, at_us: u64) -> Result<Vec<Item>> {
        let changed = policy.changes_from(&self.current().policy);
        if changed.is_empty() {
            self.current_mut().policy = policy;
            return Ok(changed);
        }
        let number = self.next_number()?;
        let slot = self.take_spare(engine)?;
        let baseline = engine.read_counts(slot);
        let native = policy.to_native(number, self.nr_cpus);
        if let Err(e) = engine.publish(slot, &native) {
            self.spare.push(slot);
            return Err(e.context("publishing the policy"));
        }

        let old = self.current_mut();
        old.until_us = Some(at_us);
        if let Some(slot) = &mut old.slot {
            slot.retired = Some(Instant::now());
        }
        info!(
            "generation {number} at {}: {}",
            time::format_us(at_us),
            join_items(&changed)
        );
        self.generations.push_back(Generation {
            number,
            policy,
            changed: changed.clone(),
            since_us: at_us,
            until_us: None,
            carried: Counts::default(),
            slot: Some(Slot {
                number: slot,
                baseline,
                retired: None,
            }),
        });
        self.forget();
        Ok(changed)
    }

    fn take_spare(&mut self, engine: &mut dyn Engine) -> Result<u32> {
        if self.spare.is_empty() {
            self.reclaim(engine);
        }
        match self.spare.pop() {
            Some(slot) => Ok(slot),
            None => bail!("no policy slot is spare"),
        }
    }

    /// Waits until retired slots are spare: for all of them if there are grace periods, else until
    /// the oldest has been retired long enough.
    fn reclaim(&mut self, engine: &mut dyn Engine) {
        let retired_at = |g: &Generation| g.slot.as_ref().and_then(|s| s.retired);
        let grace = engine.grace_period();
        if !grace {
            let oldest = self.generations.iter().filter_map(retired_at).min();
            let age = oldest.map_or(self.retired_for, |at| at.elapsed());
            std::thread::sleep(self.retired_for.saturating_sub(age));
        }
        for generation in &mut self.generations {
            let Some(at) = retired_at(generation) else {
                continue;
            };
            if grace || at.elapsed() >= self.retired_for {
                self.spare.extend(generation.release(engine));
            }
        }
        self.forget();
    }

    /// Forgets the oldest generations, as far as their counts are final.
    fn forget(&mut self) {
        while self.generations.len() > HISTORY && self.generations[0].slot.is_none() {
            if let Some(old) = self.generations.pop_front() {
                self.forgotten.add(&old.carried);
            }
        }
    }
}

#[cfg(test)]
#[path = "slots_tests.rs"]
pub(crate) mod tests;
