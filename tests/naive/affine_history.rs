// SPDX-License-Identifier: GPL-2.0-only

//! `wake_affine` from v2.6.26 to v4.9, as sections B.2 to B.8 of the specification and, where they are
//! silent, those kernels say it.  Numbers are whole ones of any size; where a kernel's are of 64 bits,
//! the result of each step is brought back into that range, which [`Range`] notes.

/// What these rules see beyond what the others do.  Pairs are (waker's, previous or wakee's).
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Weights of the runnable tasks of the CPUs, and of the two tasks.  0 of the waker: it is not a
    /// runnable task of this scheduler.
    pub cpu_weights: (u32, u32),
    pub task_weights: (u32, u32),
    /// `cpu_load[0..2]` of the CPUs.
    pub tick_loads: ([u32; 2], [u32; 2]),
    pub overlaps_ns: (u32, u32),
    /// Weight and number of the tasks of the waker's CPU when it had some last.
    pub tpt: (u32, u32),
    /// Since the wakee ran last, by the clock of the previous CPU, which may be behind.
    pub since_ran_ns: i64,
    pub wakee_is_sched_idle: bool,
    /// Tracked loads of what is runnable on the CPUs.
    pub runnable_loads: (u32, u32),
    pub wakee_load_avg: u32,
    /// The waker says it is about to sleep, and is exiting.
    pub sync_exiting: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    V2626,
    V2627,
    V2637,
    V2638rc,
    V2638,
    V2638NoHot,
    V46,
}

impl Kernel {
    pub const ALL: [Kernel; 7] = [
        Kernel::V2626,
        Kernel::V2627,
        Kernel::V2637,
        Kernel::V2638rc,
        Kernel::V2638,
        Kernel::V2638NoHot,
        Kernel::V46,
    ];

    /// Loads are unsigned numbers.
    pub fn is_unsigned(self) -> bool {
        !matches!(self, Kernel::V2638 | Kernel::V2638NoHot | Kernel::V46)
    }
}

/// A rule with its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    pub kernel: Kernel,
    pub wake_wide: bool,
    /// Within a core, a cache and beyond.
    pub pct: [u32; 3],
    pub wake_idx: u32,
    pub migration_cost_us: u32,
    pub nohot_sync: bool,
}

/// What the topology says of the two CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Apart {
    Core,
    Cache,
    Node,
    Nodes,
}

/// 64-bit arithmetic, signed or not, that wraps around.
pub struct Range {
    pub unsigned: bool,
    /// Some result was out of range.
    pub wrapped: bool,
}

impl Range {
    pub fn fit(&mut self, x: i128) -> i128 {
        let fitted = match self.unsigned {
            true => i128::from(x as u64),
            false => i128::from(x as i64),
        };
        self.wrapped |= fitted != x;
        fitted
    }
}

/// What a rule compares; the effective loads of the tasks are any.
#[derive(Debug, Clone)]
pub struct Loads {
    pub waker: i128,
    pub prev: i128,
    pub prev_target: i128,
    /// On the waker's CPU, on the previous one.
    pub waker_leaves: (i128, i128),
    pub wakee_comes: (i128, i128),
    /// Average weight of a task of the waker's CPU.
    pub tpt: i128,
    pub powers: (u32, u32),
    pub scale: u32,
    pub sync: bool,
    pub short_overlaps: bool,
}

/// A task that ran so long ago; 0: none is, the largest: all are.
pub(super) fn is_hot(since_ran_ns: i64, migration_cost_us: u32) -> bool {
    match migration_cost_us {
        0 => false,
        u32::MAX => true,
        us => since_ran_ns < i64::from(us) * 1000,
    }
}

/// A rule's frame is behind it: the CPUs differ, the waker's is allowed.  Pulls or not, and why.
pub fn decide(
    rule: &Rule,
    apart: Apart,
    f: &Facts,
    nr_running: u32,
    sync: bool,
    capacities: (u32, u32),
    curr_load: u32,
) -> (bool, &'static str) {
    let sync = sync || f.sync_exiting;
    let pct = match apart {
        Apart::Core => rule.pct[0],
        Apart::Cache => rule.pct[1],
        Apart::Node | Apart::Nodes => rule.pct[2],
    };
    let kernel = rule.kernel;
    let cost_ns = u64::from(rule.migration_cost_us) * 1000;
    let old = matches!(kernel, Kernel::V2626 | Kernel::V2627);

    if kernel == Kernel::V2638NoHot
        && (!sync || rule.nohot_sync)
        && !f.wakee_is_sched_idle
        && is_hot(f.since_ran_ns, rule.migration_cost_us)
    {
        return (false, "hot");
    }
    let (mut here, mut there) = (f.cpu_weights.0, f.cpu_weights.1);
    let (mut leaves, mut comes) = f.task_weights;
    let mut there_target = there;
    if old && apart != Apart::Core && rule.wake_idx > 0 {
        let i = rule.wake_idx as usize - 1;
        here = here.max(f.tick_loads.0[i]);
        there = there.min(f.tick_loads.1[i]);
        there_target = there_target.max(f.tick_loads.1[i]);
    }
    if kernel == Kernel::V46 {
        (here, there) = f.runnable_loads;
        (leaves, comes) = (curr_load, f.wakee_load_avg);
    }
    let tpt = match (nr_running, kernel) {
        (1.., _) => f.cpu_weights.0 / nr_running,
        (0, Kernel::V2626) => 1024,
        (0, Kernel::V2627) => f.tpt.0.checked_div(f.tpt.1).unwrap_or(f.tpt.0),
        (0, _) => 0,
    };
    let overlap = |ns: u32| u64::from(ns) < cost_ns;
    let fair_waker = f.task_weights.0 > 0;
    let loads = Loads {
        waker: here.into(),
        prev: there.into(),
        prev_target: there_target.into(),
        waker_leaves: (-i128::from(leaves), 0),
        wakee_comes: (comes.into(), 0),
        tpt: tpt.into(),
        powers: capacities,
        scale: 100 + (pct - 100) / 2,
        sync,
        short_overlaps: overlap(f.overlaps_ns.0)
            && overlap(f.overlaps_ns.1)
            && (kernel == Kernel::V2627 || fair_waker),
    };
    let mut range = Range {
        unsigned: kernel.is_unsigned(),
        wrapped: false,
    };
    if old && apart == Apart::Nodes {
        return passive(&loads, &mut range);
    }
    compare(kernel, &loads, &mut range)
}

/// Between nodes, before v2.6.32.
pub fn passive(l: &Loads, range: &mut Range) -> (bool, &'static str) {
    let here = range.fit(i128::from(l.scale) * l.waker);
    let there = range.fit(100 * l.prev);
    if here <= there {
        (true, "passive_waker")
    } else {
        (false, "passive_prev")
    }
}

/// The comparison itself.
pub fn compare(kernel: Kernel, l: &Loads, range: &mut Range) -> (bool, &'static str) {
    let (mut tl, mut pl) = (range.fit(l.waker), range.fit(l.prev));
    if l.sync {
        tl = range.fit(tl + l.waker_leaves.0);
        pl = range.fit(pl + l.waker_leaves.1);
    }
    let old = matches!(kernel, Kernel::V2626 | Kernel::V2627);
    let mut here = 100;
    let mut there = i128::from(l.scale);
    if !old {
        here = range.fit(here * i128::from(l.powers.1));
        there = range.fit(there * i128::from(l.powers.0));
    }
    let unloaded = match kernel {
        Kernel::V2626 | Kernel::V2627 => false,
        Kernel::V2637 | Kernel::V2638rc => tl == 0,
        _ => tl <= 0,
    };
    if unloaded && kernel != Kernel::V46 {
        return (true, "unloaded");
    }
    if !unloaded {
        let sum = range.fit(tl + l.wakee_comes.0);
        here = range.fit(here * sum);
        let sum = range.fit(pl + l.wakee_comes.1);
        there = range.fit(there * sum);
    }
    let balanced = here <= there;
    if kernel == Kernel::V46 {
        return match (balanced, unloaded) {
            (true, true) => (true, "unloaded"),
            (true, false) => (true, "balanced"),
            (false, _) => (false, "imbalanced"),
        };
    }
    if l.sync && balanced && !old {
        return (true, "sync_balanced");
    }
    if l.sync && balanced && l.short_overlaps {
        return (true, "sync_overlap");
    }
    if balanced {
        return (true, "balanced");
    }
    // Unsigned in every kernel, as tpt is.
    let both = i128::from((tl + l.prev_target) as u64);
    range.wrapped |= both != tl + l.prev_target;
    if tl <= pl && both <= l.tpt {
        return (true, "light");
    }
    (false, "imbalanced")
}
