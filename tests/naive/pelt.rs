// SPDX-License-Identifier: GPL-2.0-only

//! Load tracking once more, twice: in the kernel's arithmetic, written from section C.1 in integers
//! that cannot overflow; and as the geometric series that this arithmetic stands for, in floating
//! point, unit by unit.

/// `y`: what a period is worth one period later.
fn y(periods: u64) -> f64 {
    0.5f64.powf(periods as f64 / 32.0)
}

/// A share that decays with everything else.
pub fn decayed(share: f64, periods: u64) -> f64 {
    share * y(periods)
}

/// `decay(v, n)` of the specification.
pub fn decay(v: u128, n: u64) -> u128 {
    if n == 0 {
        return v;
    }
    if n > 2016 {
        return 0;
    }
    let inverse = (f64::from(u32::MAX) * y(n % 32)) as u128;
    ((v >> (n / 32)) * inverse) >> 32
}

/// The clock of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    pub last_ns: u64,
    pub contrib: u64,
}

/// What an update does to every sum.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    pub periods: u64,
    /// What a signal gains that was held.
    pub gain: u128,
}

impl Clock {
    pub fn advance(&mut self, now_ns: u64) -> Step {
        let mut step = Step {
            periods: 0,
            gain: 0,
        };
        if now_ns < self.last_ns {
            self.last_ns = now_ns;
            return step;
        }
        let units = (now_ns - self.last_ns) / 1024;
        self.last_ns += units * 1024;
        step.gain = u128::from(units);
        if self.contrib + units >= 1024 {
            let rest = 1024 - self.contrib;
            step.periods = 1 + (units - rest) / 1024;
            let begun = (units - rest) % 1024;
            step.gain = decay(rest.into(), step.periods)
                + (47742 - decay(47742, step.periods) - 1024)
                + u128::from(begun);
        }
        self.contrib = (self.contrib + units) % 1024;
        step
    }

    pub fn divider(&self) -> u128 {
        u128::from(46718 + self.contrib)
    }
}

/// One signal: its sum, and its average as of the last period boundary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Signal {
    pub sum: u128,
    pub avg: u128,
}

impl Signal {
    /// `held`: what the signal was worth meanwhile; `scale`: of the average over the sum.
    pub fn update(&mut self, step: Step, held: u128, scale: u128, divider: u128) {
        self.sum = decay(self.sum, step.periods) + held * step.gain;
        if step.periods > 0 {
            self.avg = scale * self.sum / divider;
        }
    }
}

/// The share of time that something held, recent time counting most: 0 to 1.
#[derive(Debug, Clone, Copy, Default)]
pub struct Share {
    sum: f64,
}

impl Share {
    pub fn of(share: f64) -> Self {
        Self {
            sum: share * 47742.0,
        }
    }

    pub fn advance(&mut self, from_ns: u64, to_ns: u64, held: bool) {
        let (mut at, to) = (from_ns / 1024, to_ns / 1024);
        // Before that nothing is left.
        if to - at > 3000 * 1024 {
            self.sum = 0.0;
            at = to - 3000 * 1024;
        }
        while at < to {
            let end = (at / 1024 * 1024 + 1024).min(to);
            self.sum += if held { (end - at) as f64 } else { 0.0 };
            if end % 1024 == 0 {
                self.sum *= y(1);
            }
            at = end;
        }
    }

    pub fn value(&self, now_ns: u64) -> f64 {
        self.sum / (46718.0 + (now_ns / 1024 % 1024) as f64)
    }
}
