// SPDX-License-Identifier: GPL-2.0-only

//! What the loads of [`super::naive::affine_history`] are made of: averages over ticks (section B.2), and what
//! a task is worth in a group (B.6).

use crate::naive::affine_history::{Kernel, Range};

/// `cpu_load[]` of one CPU, tick by tick.
pub struct TickLoads(pub [u64; 2]);

impl TickLoads {
    pub fn tick(&mut self, weight: u64) {
        for (i, load) in self.0.iter_mut().enumerate() {
            let scale = 1 << i;
            let mut sum = *load * (scale - 1) + weight;
            if weight > *load {
                sum += scale - 1;
            }
            *load = sum / scale;
        }
    }
}

/// One group on one CPU, as `effective_load` meets it.
#[derive(Debug, Clone, Copy)]
pub struct Level {
    pub shares: i64,
    pub entity: i64,
    pub queue: i64,
    pub queue_then: i64,
    pub queue_load: i64,
    pub total: i64,
    pub contribution: i64,
}

/// From the task's group up; none: the root group.
pub fn effective_load(
    kernel: Kernel,
    levels: &[Level],
    wl: i64,
    wg: i64,
    range: &mut Range,
) -> i128 {
    let (mut wl, mut wg) = (i128::from(wl), i128::from(wg));
    let adjusts_late = matches!(kernel, Kernel::V2627 | Kernel::V2637);
    if levels.is_empty() || (adjusts_late && wl == 0) {
        return wl;
    }
    for (i, level) in levels.iter().enumerate() {
        let [shares, entity, queue, queue_then, queue_load, total, contribution] = [
            level.shares,
            level.entity,
            level.queue,
            level.queue_then,
            level.queue_load,
            level.total,
            level.contribution,
        ]
        .map(i128::from);
        if kernel == Kernel::V2637 || (kernel == Kernel::V2627 && i == 0) {
            let since = range.fit(queue - queue_then);
            wl = range.fit(wl + since);
            wg = range.fit(wg + since);
        }
        wl = match kernel {
            Kernel::V2626 => unreachable!("it knows no groups"),
            Kernel::V2627 | Kernel::V2637 | Kernel::V2638rc => {
                let rw = if adjusts_late { queue_then } else { queue };
                let sum = range.fit(rw + wl);
                let a = range.fit(shares * sum);
                let (b, c) = (range.fit(shares * rw), range.fit(entity * wg));
                let b = range.fit(b + c);
                let difference = range.fit(a - b);
                let change = range.fit(entity * difference);
                if b == 0 {
                    change
                } else {
                    range.fit(change / b)
                }
            }
            Kernel::V2638 | Kernel::V2638NoHot | Kernel::V46 => {
                let others = range.fit(total - contribution);
                let whole = range.fit(others + queue);
                let whole = range.fit(whole + wg);
                let own = if kernel == Kernel::V46 {
                    queue_load
                } else {
                    queue
                };
                let part = range.fit(own + wl);
                let share = if whole > 0 && part < whole {
                    range.fit(part * shares) / whole
                } else {
                    shares
                };
                range.fit(share.max(2) - entity)
            }
        };
        wg = 0;
    }
    wl
}
