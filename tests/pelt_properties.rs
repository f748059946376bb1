// SPDX-License-Identifier: GPL-2.0-only

//! Load tracking: the records' arithmetic is the kernel's to the last bit, a record tells the share
//! of time it stands for, and a queue is the sum of its tasks whatever they went through.
//! `PLACE_PROPTEST_CASES` sets the number of cases.

#[path = "naive/pelt.rs"]
mod naive;

use naive::{decayed, Clock, Share, Signal};
use proptest::collection::vec;
use proptest::prelude::*;
use scx_place::bpf_intf as intf;
use scx_place::policy::parse::parse_items;
use scx_place::policy::Policy;

fn config() -> ProptestConfig {
    let cases = std::env::var("PLACE_PROPTEST_CASES").ok();
    ProptestConfig {
        cases: cases.and_then(|n| n.parse().ok()).unwrap_or(2000),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// A period boundary; 0 stands for never.
const START: u64 = 1 << 20;

// Plain integers, for which zero is a value.
fn new_task() -> intf::pelt_task {
    unsafe { std::mem::zeroed() }
}

fn queue_at(last_ns: u64) -> intf::pelt_queue {
    let zero: intf::pelt_queue = unsafe { std::mem::zeroed() };
    intf::pelt_queue { last_ns, ..zero }
}

fn full() -> intf::place_policy {
    let items = parse_items(&["newload=full"]).expect("a policy");
    Policy::from_command_line(&items).to_native(1, 8)
}

fn weight() -> impl Strategy<Value = u32> {
    (0..41u32).prop_map(|i| unsafe { intf::place_host_weight(i % 40, u32::from(i == 40)) })
}

fn gap() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..3000u64,
        0..3_000_000u64,
        0..200_000_000u64,
        0..5_000_000_000u64
    ]
}

/// Gaps as a busy machine has them.
fn short_gap() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..300_000u64, 2 => 0..4_000_000u64, 1 => 0..60_000_000u64]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn task_update_is_the_kernels(
        w in weight(), steps in vec((gap(), any::<bool>(), any::<bool>()), 1..40),
    ) {
        let mut t = intf::pelt_task { last_ns: START, ..new_task() };
        let mut clock = Clock { last_ns: START, contrib: 0 };
        let (mut load, mut util) = (Signal::default(), Signal::default());
        let mut now = START;
        for (gap, runnable, running) in steps {
            now += gap;
            let renewed = unsafe {
                intf::place_host_pelt_task_update(&mut t, now, w, runnable.into(), running.into())
            };
            let step = clock.advance(now);
            load.update(step, runnable.into(), w.into(), clock.divider());
            util.update(step, u128::from(runnable && running) * 1024, 1, clock.divider());
            prop_assert_eq!(renewed == 1, step.periods > 0);
            prop_assert_eq!((t.last_ns, t.contrib.into()), (clock.last_ns, clock.contrib));
            prop_assert_eq!((t.load_sum.into(), t.load_avg.into()), (load.sum, load.avg));
            prop_assert_eq!((t.util_sum.into(), t.util_avg.into()), (util.sum, util.avg));
        }
    }

    /// Waiting and running in one step is the two of them one after the other.
    #[test]
    fn a_run_is_a_wait_and_a_run(
        w in weight(), steps in vec((gap(), gap(), -(1i64 << 20)..1i64 << 20), 1..40),
    ) {
        let mut both = intf::pelt_task { last_ns: START, ..new_task() };
        let mut one = both;
        let mut now = START;
        for (wait, run, off) in steps {
            now += wait + run;
            // The clock of the run's begin may be before the last update.
            let since = (now - run).wrapping_add_signed(off.min(run as i64));
            let renewed = unsafe {
                if since as i64 - both.last_ns as i64 > 0 {
                    intf::place_host_pelt_task_update(&mut both, since, w, 1, 0);
                }
                intf::place_host_pelt_task_update(&mut both, now, w, 1, 1);
                intf::place_host_pelt_task_ran(&mut one, since, now, w)
            };
            prop_assert!(renewed <= 1);
            prop_assert_eq!(format!("{one:?}"), format!("{both:?}"));
        }
    }

    #[test]
    fn queue_update_is_the_kernels(
        steps in vec((gap(), 0..88_761_001u64, 0..64u32, any::<bool>()), 1..40),
    ) {
        let mut q = queue_at(START);
        let mut clock = Clock { last_ns: START, contrib: 0 };
        let (mut load, mut util) = (Signal::default(), Signal::default());
        let mut now = START;
        for (gap, weights, bits, running) in steps {
            now += gap;
            let weights = weights >> (bits % 28);
            let renewed =
                unsafe { intf::place_host_pelt_queue_update(&mut q, now, weights, running.into()) };
            let step = clock.advance(now);
            load.update(step, weights.into(), 1, clock.divider());
            util.update(step, u128::from(weights > 0 && running) * 1024, 1, clock.divider());
            prop_assert_eq!(renewed == 1, step.periods > 0);
            prop_assert_eq!((q.last_ns, q.contrib.into()), (clock.last_ns, clock.contrib));
            prop_assert_eq!((q.load_sum.into(), q.load_avg.into()), (load.sum, load.avg));
            prop_assert_eq!(q.runnable_load_sum, q.load_sum);
            prop_assert_eq!(q.runnable_load_avg, q.load_avg);
            prop_assert_eq!((q.util_sum.into(), q.util_avg.into()), (util.sum, util.avg));
        }
    }

    /// The heaviest tasks, a thousand of them, all attached to one queue: nothing wraps.
    #[test]
    fn a_thousand_of_the_heaviest_fit(w in weight(), n in 1..=1000u32, gap in gap()) {
        let mut q = queue_at(START);
        let (mut load, mut util) = (0u64, 0u64);
        for _ in 0..n {
            let mut t = intf::pelt_task { load_avg: w, util_avg: 1024, ..new_task() };
            unsafe {
                intf::place_host_pelt_attach(&mut q, &mut t, w);
                intf::place_host_pelt_enqueue(&mut q, &t, w);
            }
            load += u64::from(w) * u64::from(t.load_sum);
            util += u64::from(t.util_sum);
        }
        prop_assert_eq!((q.load_sum, q.runnable_load_sum, q.util_sum), (load, load, util));
        let weights = u64::from(w) * u64::from(n);
        unsafe { intf::place_host_pelt_queue_update(&mut q, START + gap, weights, 1) };
        let off = u64::from(q.load_avg).abs_diff(weights);
        prop_assert!(off <= 1 + weights / 500, "{} {weights}", q.load_avg);
    }

    /// The division by way of the inverse is exact for every average an attached task can have.
    #[test]
    fn attach_divides_exactly(w in weight(), load in 0..=88761u32, contrib in 0..1024u32) {
        let load = load % (w + 1);
        let mut q = intf::pelt_queue { contrib, ..queue_at(START) };
        let mut t = intf::pelt_task { load_avg: load, util_avg: 77, ..new_task() };
        unsafe { intf::place_host_pelt_attach(&mut q, &mut t, w) };
        let divider = u64::from(46718 + contrib);
        let sum = u64::from(load) * divider;
        let exact = if u64::from(w) < sum { sum / u64::from(w) } else { 1 };
        prop_assert_eq!(u64::from(t.load_sum), exact);
        prop_assert_eq!(u64::from(t.util_sum), 77 * divider);
        prop_assert_eq!((t.last_ns, u32::from(t.contrib)), (START, contrib));
        prop_assert_eq!(q.load_sum, u64::from(w) * exact);
        prop_assert_eq!((q.load_avg, q.util_avg), (load, 77));
    }

    /// Running half of the time is a utilisation of one half, of the task and of its queue.
    #[test]
    fn half_duty(half_us in 50..4000u64, w in weight(), sleeps in any::<bool>()) {
        let (policy, mut q, mut t) = (full(), queue_at(START), new_task());
        unsafe {
            intf::place_host_new_task_load(&policy, &mut t, w);
            intf::place_host_new_task_attach(&policy, &mut t, &mut q, w, 1024);
            intf::place_host_pelt_enqueue(&mut q, &t, w);
        }
        let mut now = START;
        let (mut task, mut queue, mut load, mut n) = (0u64, 0u64, 0u64, 0u64);
        while now < 2_000_000_000 {
            for running in [true, false] {
                now += half_us * 1000;
                let runnable = running || !sleeps;
                let weights = if runnable { w.into() } else { 0 };
                unsafe {
                    intf::place_host_pelt_queue_update(&mut q, now, weights, running.into());
                    let (runnable, running) = (runnable.into(), running.into());
                    intf::place_host_pelt_task_update(&mut t, now, w, runnable, running);
                    if sleeps && running == 1 {
                        intf::place_host_pelt_dequeue(&mut q, &t, w);
                    } else if sleeps {
                        intf::place_host_pelt_enqueue(&mut q, &t, w);
                    }
                }
                if now > 1_000_000_000 {
                    task += u64::from(t.util_avg);
                    queue += u64::from(q.util_avg);
                    load += u64::from(q.load_avg);
                    n += 1;
                }
            }
        }
        let mean = |sum: u64| sum as f64 / n as f64;
        prop_assert!((mean(task) - 512.0).abs() <= 0.05 * 512.0, "task {}", mean(task));
        prop_assert!((mean(queue) - 512.0).abs() <= 0.05 * 512.0, "queue {}", mean(queue));
        let expected = f64::from(w) * if sleeps { 0.5 } else { 1.0 };
        prop_assert!((mean(load) - expected).abs() <= 1.0 + 0.05 * expected, "{}", mean(load));
    }

    /// Reading is about what an update would have made of it.
    #[test]
    fn reading_is_updating(
        steps in vec((gap(), 0..3000u64, any::<bool>()), 1..20), gap in gap(),
    ) {
        let mut q = queue_at(START);
        let mut now = START;
        let (mut weights, mut running) = (0, false);
        for &(gap, w, run) in &steps {
            now += gap;
            unsafe { intf::place_host_pelt_queue_update(&mut q, now, weights, running.into()) };
            (weights, running) = (w, run && w > 0);
        }
        now += gap;
        let (load, runnable, util) = unsafe {(
            intf::place_host_pelt_read_load(&q, now, weights as u32),
            intf::place_host_pelt_read_runnable_load(&q, now, weights as u32),
            intf::place_host_pelt_read_util(&q, now, running.into()),
        )};
        prop_assert_eq!(load, runnable);
        unsafe { intf::place_host_pelt_queue_update(&mut q, now, weights, running.into()) };
        // The average may be from before the last update's boundary, and lag by what came since.
        prop_assert!(load.abs_diff(q.load_avg) <= 2 + 3000 * 23 / 1000, "{load} {}", q.load_avg);
        prop_assert!(util.abs_diff(q.util_avg) <= 2 + 1024 * 23 / 1000, "{util} {}", q.util_avg);
    }

    /// After whatever happened, each task tells its own share of time, each queue is the sum of the
    /// tasks that are there, and when they are gone nothing is left.
    #[test]
    fn queues_are_the_sums_of_their_tasks(events in vec(event(), 1..120)) {
        let mut world = World::new();
        for event in &events {
            world.happen(event);
        }
        world.check()?;
        world.leave_all();
        world.now += 3_000_000_000;
        world.settle();
        for q in &world.queues {
            prop_assert_eq!((q.load_avg, q.runnable_load_avg, q.util_avg), (0, 0, 0));
        }
    }
}

const QUEUES: usize = 3;
const TASKS: usize = 8;
/// What one task's coming or going may leave on a queue or in its own record, of its weight.
const SHARE: f64 = 0.03;

#[derive(Debug, Clone)]
enum What {
    Wake,
    Sleep,
    Run,
    Tick,
    /// To a queue, both under their locks.
    Move(usize),
    /// To a queue, the lock of the old one not held.
    Steal(usize),
    Reweight(u32),
    Exit,
}

fn event() -> impl Strategy<Value = (u64, usize, What)> {
    let what = prop_oneof![
        4 => Just(What::Wake),
        4 => Just(What::Sleep),
        4 => Just(What::Run),
        2 => Just(What::Tick),
        2 => (0..QUEUES).prop_map(What::Move),
        3 => (0..QUEUES).prop_map(What::Steal),
        1 => weight().prop_map(What::Reweight),
        1 => Just(What::Exit),
    ];
    (short_gap(), 0..TASKS, what)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Asleep,
    Waiting,
    Running,
}

struct Task {
    record: intf::pelt_task,
    weight: u32,
    state: State,
    home: Option<usize>,
    load: Share,
    util: Share,
    /// What its own moves cost its record: a share of 1 each, decaying.
    moved: f64,
}

/// The machine as the BPF program keeps it, by the rules at the head of `pelt.h`.
struct World {
    now: u64,
    queues: [intf::pelt_queue; QUEUES],
    inbox: [[u32; 3]; QUEUES],
    /// By queue, in weights and in utilisation: what all moves may have left.
    slack: [[f64; 2]; QUEUES],
    tasks: Vec<Task>,
}

impl World {
    fn new() -> Self {
        // Near the wrap of the inbox's sums.
        Self {
            now: START,
            queues: [intf::pelt_queue {
                seen: intf::pelt_inbox {
                    load: u32::MAX - 3000,
                    util: 0,
                    runnable: 0,
                },
                ..queue_at(START)
            }; QUEUES],
            inbox: [[u32::MAX - 3000, 0, 0]; QUEUES],
            slack: [[0.0; 2]; QUEUES],
            tasks: (0..TASKS).map(|_| Self::fresh(1024)).collect(),
        }
    }

    fn fresh(weight: u32) -> Task {
        let mut record = new_task();
        unsafe { intf::place_host_new_task_load(&full(), &mut record, weight) };
        Task {
            record,
            weight,
            state: State::Asleep,
            home: None,
            load: Share::of(1.0),
            util: Share::default(),
            moved: 1.0,
        }
    }

    fn weights(&self, k: usize) -> (u64, bool) {
        let there = self.tasks.iter().filter(|t| t.home == Some(k));
        let there: Vec<_> = there.filter(|t| t.state != State::Asleep).collect();
        (
            there.iter().map(|t| u64::from(t.weight)).sum(),
            there.iter().any(|t| t.state == State::Running),
        )
    }

    /// The owner's update of a queue.
    fn update(&mut self, k: usize) {
        let (weights, running) = self.weights(k);
        let [load, runnable, util] = self.inbox[k];
        let q = &mut self.queues[k];
        unsafe {
            intf::place_host_pelt_queue_fold(q, load, runnable, util);
            intf::place_host_pelt_queue_update(q, self.now, weights, running.into());
        }
    }

    fn update_task(&mut self, i: usize) {
        let now = self.now;
        let t = &mut self.tasks[i];
        let (runnable, running) = (t.state != State::Asleep, t.state == State::Running);
        let (r, w) = (&mut t.record, t.weight);
        unsafe { intf::place_host_pelt_task_update(r, now, w, runnable.into(), running.into()) };
    }

    fn pass(&mut self, gap: u64) {
        let periods = (self.now + gap) / 1024 / 1024 - self.now / 1024 / 1024;
        // A new task's time begins when it is attached.
        for t in self.tasks.iter_mut().filter(|t| t.home.is_some()) {
            let from = self.now;
            t.load.advance(from, from + gap, t.state != State::Asleep);
            t.util.advance(from, from + gap, t.state == State::Running);
            t.moved = decayed(t.moved, periods);
        }
        for slack in self.slack.iter_mut().flatten() {
            *slack = decayed(*slack, periods);
        }
        self.now += gap;
    }

    /// A task's coming or going may have cost that much.
    fn disturb(&mut self, k: usize, i: usize) {
        self.slack[k][0] += SHARE * f64::from(self.tasks[i].weight) + 1.0;
        self.slack[k][1] += SHARE * 1024.0 + 1.0;
        // An average is a whole number, which says little of a light task; attach starts from it.
        self.tasks[i].moved += 1.0 + 1.0 / (SHARE * f64::from(self.tasks[i].weight));
    }

    fn arrive(&mut self, k: usize, i: usize) {
        self.update(k);
        self.disturb(k, i);
        let (q, t) = (&mut self.queues[k], &mut self.tasks[i]);
        unsafe {
            intf::place_host_pelt_attach(q, &mut t.record, t.weight);
            if t.state != State::Asleep {
                intf::place_host_pelt_enqueue(q, &t.record, t.weight);
            }
        }
        t.home = Some(k);
    }

    fn steal(&mut self, i: usize) {
        let Some(k) = self.tasks[i].home else { return };
        if self.tasks[i].state == State::Running {
            self.stop(k, i, State::Waiting);
        }
        self.disturb(k, i);
        let t = &mut self.tasks[i];
        let mut out = intf::pelt_inbox {
            load: 0,
            runnable: 0,
            util: 0,
        };
        let runnable = u32::from(t.state != State::Asleep);
        let last = self.queues[k].last_ns;
        unsafe {
            intf::place_host_pelt_leave(
                &mut t.record,
                last,
                self.now,
                t.weight,
                runnable,
                &mut out,
            );
        }
        let inbox = &mut self.inbox[k];
        for (to, from) in inbox.iter_mut().zip([out.load, out.runnable, out.util]) {
            *to = to.wrapping_add(from);
        }
        t.home = None;
    }

    /// Changes what a task does on its queue.
    fn stop(&mut self, k: usize, i: usize, to: State) {
        self.update(k);
        self.update_task(i);
        self.disturb(k, i);
        let (q, t) = (&mut self.queues[k], &mut self.tasks[i]);
        let (was, is) = (t.state != State::Asleep, to != State::Asleep);
        unsafe {
            if was && !is {
                intf::place_host_pelt_dequeue(q, &t.record, t.weight);
            } else if is && !was {
                intf::place_host_pelt_enqueue(q, &t.record, t.weight);
            }
        }
        t.state = to;
    }

    fn happen(&mut self, (gap, i, what): &(u64, usize, What)) {
        self.pass(*gap);
        let i = *i;
        let home = self.tasks[i].home;
        let state = self.tasks[i].state;
        match *what {
            What::Wake if state == State::Asleep => match home {
                Some(k) => self.stop(k, i, State::Waiting),
                None => {
                    self.tasks[i].state = State::Waiting;
                    self.arrive(i % QUEUES, i);
                }
            },
            What::Sleep => {
                if let Some(k) = home {
                    self.stop(k, i, State::Asleep);
                }
            }
            What::Run if state == State::Waiting => {
                let k = home.expect("waiting somewhere");
                let other = (0..TASKS)
                    .find(|&j| self.tasks[j].home == home && self.tasks[j].state == State::Running);
                if let Some(j) = other {
                    self.stop(k, j, State::Waiting);
                }
                self.stop(k, i, State::Running);
            }
            What::Move(to) if home.is_some() && home != Some(to) => {
                let k = home.expect("checked");
                if state == State::Running {
                    self.stop(k, i, State::Waiting);
                }
                self.update(k);
                self.update_task(i);
                self.disturb(k, i);
                let (q, t) = (&mut self.queues[k], &mut self.tasks[i]);
                unsafe {
                    if t.state != State::Asleep {
                        intf::place_host_pelt_dequeue(q, &t.record, t.weight);
                    }
                    intf::place_host_pelt_detach(q, &mut t.record, t.weight);
                }
                t.home = None;
                self.arrive(to, i);
            }
            What::Steal(to) if home.is_some() && home != Some(to) => {
                self.steal(i);
                self.arrive(to, i);
            }
            What::Reweight(w) => self.reweight(i, w),
            What::Exit => {
                self.steal(i);
                self.tasks[i] = Self::fresh(self.tasks[i].weight);
            }
            _ => {}
        }
        if let (What::Tick, Some(k)) = (what, home) {
            self.update(k);
            self.update_task(i);
        }
    }

    fn reweight(&mut self, i: usize, w: u32) {
        let Some(k) = self.tasks[i].home else {
            self.tasks[i] = Self::fresh(w);
            return;
        };
        // Under the old weight and under the new one.
        self.disturb(k, i);
        if i.is_multiple_of(2) {
            self.update(k);
            self.update_task(i);
            let (q, t) = (&mut self.queues[k], &mut self.tasks[i]);
            let runnable = u32::from(t.state != State::Asleep);
            let (r, old) = (&mut t.record, t.weight);
            unsafe { intf::place_host_pelt_queue_reweight(q, r, old, w, runnable) };
            t.weight = w;
            self.disturb(k, i);
        } else {
            self.steal(i);
            self.tasks[i].weight = w;
            unsafe { intf::place_host_pelt_task_reweight(&mut self.tasks[i].record, w) };
            self.arrive(k, i);
        }
    }

    fn leave_all(&mut self) {
        for i in 0..TASKS {
            self.steal(i);
            self.tasks[i] = Self::fresh(1024);
        }
    }

    fn settle(&mut self) {
        (0..QUEUES).for_each(|k| self.update(k));
        (0..TASKS).for_each(|i| self.update_task(i));
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        self.settle();
        for t in self.tasks.iter().filter(|t| t.home.is_some()) {
            let near = |avg: u32, share: &Share, unit: f64| {
                let exact = share.value(self.now) * unit;
                let slack = SHARE * unit * (1.0 + t.moved) + 2.0;
                let off = (f64::from(avg) - exact).abs();
                prop_assert!(off <= slack, "task: {avg}, {exact} within {slack}");
                Ok(())
            };
            near(t.record.load_avg, &t.load, t.weight.into())?;
            near(t.record.util_avg.into(), &t.util, 1024.0)?;
        }
        for (k, q) in self.queues.iter().enumerate() {
            let there = || self.tasks.iter().filter(|t| t.home == Some(k));
            let near = |what, avg: u32, sum: u64, slack: f64| {
                let slack = slack + 2.0 * TASKS as f64;
                let off = (f64::from(avg) - sum as f64).abs();
                prop_assert!(off <= slack, "{what}: {avg}, {sum} within {slack}");
                Ok(())
            };
            let load = |t: &Task| u64::from(t.record.load_avg);
            let [weights, utils] = self.slack[k];
            near("load", q.load_avg, there().map(load).sum(), weights)?;
            let runnable = there().filter(|t| t.state != State::Asleep);
            near(
                "runnable",
                q.runnable_load_avg,
                runnable.map(load).sum(),
                weights,
            )?;
            let util = there().map(|t| u64::from(t.record.util_avg)).sum();
            near("util", q.util_avg, util, utils)?;
        }
        Ok(())
    }
}

/// Section C.2: the first load and utilisation.
mod section_c_2 {
    use super::*;

    fn util(q_util: u32, q_load: u32, w: u32, capacity: u32) -> u16 {
        let mut q = intf::pelt_queue {
            util_avg: q_util,
            load_avg: q_load,
            ..queue_at(START)
        };
        let mut t = new_task();
        unsafe { intf::place_host_new_task_attach(&full(), &mut t, &mut q, w, capacity) };
        t.util_avg
    }

    #[test]
    fn full_starts_with_the_weight() {
        let mut t = new_task();
        unsafe { intf::place_host_new_task_load(&full(), &mut t, 335) };
        assert_eq!((t.load_avg, t.util_avg, t.last_ns), (335, 0, 0));
    }

    #[test]
    fn utilisation_is_extrapolated_from_the_queue() {
        // Nothing there: half of the CPU.  A full one: nothing.
        assert_eq!(util(0, 0, 1024, 1024), 512);
        assert_eq!(util(1024, 1024, 1024, 1024), 0);
        assert_eq!(util(1100, 1024, 1024, 1024), 0);
        assert_eq!(util(1023, 1024, 1024, 1024), 0);
        // 200 * 1024 / 1025 = 199; at most (1024 - 200) / 2 = 412.
        assert_eq!(util(200, 1024, 1024, 1024), 199);
        assert_eq!(util(200, 300, 1024, 1024), 412);
        assert_eq!(util(600, 1024, 1024, 1024), 212);
        // A smaller CPU has less left.
        assert_eq!(util(0, 0, 1024, 400), 200);
        assert_eq!(util(400, 1024, 1024, 400), 0);
    }

    #[test]
    fn none_starts_with_nothing() {
        let items = parse_items(&["newload=none"]).expect("a policy");
        let policy = Policy::from_command_line(&items).to_native(1, 8);
        let (mut q, mut t) = (queue_at(START), new_task());
        unsafe {
            intf::place_host_new_task_load(&policy, &mut t, 1024);
            intf::place_host_new_task_attach(&policy, &mut t, &mut q, 1024, 1024);
        }
        assert_eq!((t.load_avg, t.util_avg), (0, 0));
    }
}

/// Sections C.3 and H.1, vector 15: what is left of a fresh load if its time began with a stale clock.
#[test]
fn section_h1_15_decay_of_a_fresh_load() {
    let after = |gap_us: u64| {
        // v4.8 starts one unit before a boundary.
        let mut q = intf::pelt_queue {
            contrib: 1023,
            ..queue_at(START)
        };
        let mut t = new_task();
        unsafe {
            intf::place_host_new_task_load(&full(), &mut t, 1024);
            intf::place_host_pelt_attach(&mut q, &mut t, 1024);
            intf::place_host_pelt_task_update(&mut t, START + gap_us * 1000, 1024, 0, 0);
        }
        t.load_avg
    };
    for (gap_us, expected) in [
        (0, 1024),
        (1000, 1003),
        (10_000, 833),
        (33_600, 512),
        (100_000, 130),
        (335_000, 1),
    ] {
        let load = after(gap_us);
        assert!(
            load.abs_diff(expected) <= 1 + expected / 50,
            "{gap_us} us: {load}, about {expected}"
        );
    }
}

/// Sections C.2 to C.4: what each value of `newload` gives a task, and what of it the queue holds once
/// the task is enqueued.
mod section_c_3 {
    use super::*;

    fn policy(rule: &str) -> intf::place_policy {
        let items = parse_items(&[format!("newload={rule}")]).expect("a policy");
        Policy::from_command_line(&items).to_native(1, 8)
    }

    /// A new task of weight `w` comes to a queue that runs nothing since its last update, as the BPF
    /// program does it.
    fn arrive(rule: &str, q: &mut intf::pelt_queue, w: u32, now: u64) -> intf::pelt_task {
        let (policy, mut t) = (policy(rule), new_task());
        unsafe {
            intf::place_host_new_task_load(&policy, &mut t, w);
            if intf::place_host_new_task_is_stale(&policy, q) != 0 {
                intf::place_host_new_task_attach(&policy, &mut t, q, w, 1024);
            }
            intf::place_host_pelt_queue_update(q, now, 0, 0);
            if t.last_ns == 0 {
                intf::place_host_new_task_attach(&policy, &mut t, q, w, 1024);
            }
            intf::place_host_new_task_catch_up(&policy, &mut t, now, w);
            intf::place_host_pelt_enqueue(q, &t, w);
        }
        t
    }

    /// A queue one unit before a period's end, as a task of v4.8 stands when it is made.
    fn idle_queue(load_avg: u32, util_avg: u32) -> intf::pelt_queue {
        intf::pelt_queue {
            contrib: 1023,
            load_avg,
            load_sum: u64::from(load_avg) * (46718 + 1023),
            util_avg,
            util_sum: u64::from(util_avg) * (46718 + 1023),
            ..queue_at(START)
        }
    }

    fn near(actual: u32, expected: u32) -> bool {
        actual.abs_diff(expected) <= 1 + expected / 50
    }

    #[test]
    fn a_clock_that_stood_still() {
        for (gap_us, left) in [
            (0, 1024),
            (1000, 1003),
            (10_000, 833),
            (33_600, 512),
            (100_000, 130),
            (335_000, 1),
        ] {
            let now = START + gap_us * 1000;
            // What the next fork reads: runnable load, then the load with what sleeps.
            for (rule, runnable, all) in [
                ("none", 0, 0),
                ("v46", 1024, 1024),
                ("v48_stale", left, left),
                ("v48_fixed_decay", 1024, left),
                ("v48_clock", 1024, 1024),
                ("full", 1024, 1024),
            ] {
                let mut q = idle_queue(0, 0);
                arrive(rule, &mut q, 1024, now);
                let is = (q.runnable_load_avg, q.load_avg);
                assert!(
                    near(is.0, runnable) && near(is.1, all),
                    "{rule}, {gap_us} us: {is:?}"
                );
            }
        }
    }

    #[test]
    fn first_utilisation() {
        // Weight 1024 beside 200 of utilisation and 1024 of load: 199; half of the free 824; all.
        for (rule, expected) in [
            ("none", 0),
            ("v46", 1024),
            ("v48_stale", 412),
            ("v48_fixed_decay", 412),
            ("v48_clock", 412),
            ("full", 199),
        ] {
            let mut q = idle_queue(1024, 200);
            let t = arrive(rule, &mut q, 1024, START);
            assert_eq!(u32::from(t.util_avg), expected, "{rule}");
            assert_eq!(q.util_avg, 200 + expected, "{rule}");
        }
        // Where the scaled weight does not exceed it: 1 * 3 * 1024 / 12001 = 0.
        for (load, weight, expected) in [(12_000, 3, 0), (3071, 3, 1), (3072, 3, 0), (5, 3, 511)] {
            let mut q = idle_queue(load, 1);
            let t = arrive("v48_clock", &mut q, weight, START);
            assert_eq!(t.util_avg, expected, "load {load}");
        }
        // The stale guess is of what the queue was, and decays with it; a fresh one is of what is left.
        let half_life = START + (32 << 20);
        let util = |rule: &str| arrive(rule, &mut idle_queue(4096, 600), 1024, half_life).util_avg;
        assert!(near(util("v48_stale").into(), 106), "{}", util("v48_stale"));
        assert!(near(util("v48_clock").into(), 362), "{}", util("v48_clock"));
        assert_eq!(util("v48_fixed_decay"), 212);
        // A smaller CPU counts with v6.12 only.
        let of = |rule: &str| unsafe {
            let (policy, mut t) = (policy(rule), new_task());
            let mut q = queue_at(START);
            intf::place_host_new_task_attach(&policy, &mut t, &mut q, 1024, 400);
            t.util_avg
        };
        assert_eq!((of("full"), of("v48_clock"), of("v46")), (200, 512, 0));
    }

    /// The record that stayed behind takes the gap for time runnable when the task has run.
    #[test]
    fn a_gap_that_was_skipped() {
        let now = START + 100_000_000;
        let mut q = idle_queue(0, 0);
        let mut t = arrive("v48_fixed_decay", &mut q, 1024, now);
        assert_eq!((t.last_ns, t.load_avg), (START, 1024));
        let mut stale = arrive("v48_stale", &mut idle_queue(0, 0), 1024, now);
        for t in [&mut t, &mut stale] {
            unsafe { intf::place_host_pelt_task_ran(t, now, now + 4_000_000, 1024) };
        }
        assert!(near(t.load_avg, 1024), "{}", t.load_avg);
        let grown = 130 * 92 / 100 + 1024 * 8 / 100;
        assert!(stale.load_avg.abs_diff(grown) < 15, "{}", stale.load_avg);
    }

    /// A queue that was never used has no clock that could be stale.
    #[test]
    fn a_queue_without_a_clock() {
        for rule in ["v48_stale", "v48_fixed_decay"] {
            let mut q = queue_at(0);
            let t = arrive(rule, &mut q, 1024, START);
            assert_eq!((q.runnable_load_avg, q.load_avg), (1024, 1024), "{rule}");
            assert_eq!(t.last_ns, START);
        }
        for (rule, stale) in [
            ("none", 0),
            ("v46", 0),
            ("v48_clock", 0),
            ("full", 0),
            ("v48_stale", 1),
        ] {
            let q = queue_at(START);
            let is = unsafe { intf::place_host_new_task_is_stale(&policy(rule), &q) };
            assert_eq!(is, stale, "{rule}");
        }
    }

    /// The kernel sets the weight of a task that has no queue yet: its load follows.
    #[test]
    fn a_weight_before_the_first_queue() {
        for (rule, expected) in [("none", 0), ("v46", 335), ("v48_stale", 335), ("full", 335)] {
            let mut t = new_task();
            unsafe {
                intf::place_host_new_task_load(&policy(rule), &mut t, 1024);
                intf::place_host_pelt_task_reweight(&mut t, 335);
            }
            assert_eq!(t.load_avg, expected, "{rule}");
        }
    }

    proptest! {
        #![proptest_config(config())]

        /// Any weight, gap and queue: the loads are what is left of the weight after the gap, or all of it.
        #[test]
        fn any_gap(
            w in weight(), gap in gap(), contrib in 0..1024u32, load in 0..5000u32, util in 0..1100u32,
        ) {
            let periods = (u64::from(contrib) + gap / 1024) / 1024;
            let decayed = |v: u32| naive::decay(u128::from(v), periods) as u32;
            let queue = intf::pelt_queue {
                contrib,
                load_sum: u64::from(load) * (46718 + u64::from(contrib)),
                util_sum: u64::from(util) * (46718 + u64::from(contrib)),
                ..idle_queue(load, util)
            };
            let guess = |util: u32, load: u32, w: u64| {
                let half = 1024u32.saturating_sub(util) / 2;
                match util {
                    0 => half,
                    _ => (u64::from(util) * w / (u64::from(load) + 1)).min(half.into()) as u32,
                }
            };
            // The guesses of a stale and of a fresh queue, whose averages are those of its last period.
            let (mut fresh, scaled) = (queue, u64::from(w) * 1024);
            unsafe { intf::place_host_pelt_queue_update(&mut fresh, START + gap, 0, 0) };
            let stale = guess(util, load, scaled);
            let now = |w| fresh.util_avg + guess(fresh.util_avg, fresh.load_avg, w);
            // Averages are renewed with the contribution of the period begun: 2.2 percent.
            let near = |is: u32, expected: u32| is.abs_diff(expected) <= 3 + expected / 40;
            for (rule, runnable, all, util) in [
                ("none", 0, 0, fresh.util_avg),
                ("v46", w, w, fresh.util_avg + 1024),
                ("v48_clock", w, w, now(scaled)),
                ("full", w, w, now(w.into())),
                ("v48_stale", decayed(w), decayed(w), decayed(util + stale)),
                ("v48_fixed_decay", w, decayed(w), decayed(util + stale)),
            ] {
                let mut q = queue;
                let t = arrive(rule, &mut q, w, START + gap);
                prop_assert!(near(q.runnable_load_avg, runnable), "{rule}: {q:?} {runnable}");
                prop_assert!(near(q.load_avg, decayed(load) + all), "{rule}: {q:?} {all}");
                if rule == "v48_stale" || rule == "v48_fixed_decay" {
                    prop_assert!(near(q.util_avg, util), "{rule}: {q:?} {util}");
                } else {
                    prop_assert_eq!(q.util_avg, util, "{}: {:?}", rule, t);
                }
                if rule == "v48_fixed_decay" {
                    prop_assert_eq!((t.load_avg, u32::from(t.util_avg)), (w, stale));
                }
            }
        }
    }
}

/// Section C.1, the two signals: when all children of a burst of forks have blocked at once, nothing
/// is runnable, but the load is there still.
#[test]
fn section_c_1_two_signals_after_a_burst_of_forks() {
    let mut q = queue_at(START);
    for _ in 0..40 {
        let mut t = new_task();
        unsafe {
            intf::place_host_new_task_load(&full(), &mut t, 1024);
            intf::place_host_pelt_attach(&mut q, &mut t, 1024);
            intf::place_host_pelt_enqueue(&mut q, &t, 1024);
            intf::place_host_pelt_dequeue(&mut q, &t, 1024);
        }
    }
    assert_eq!((q.runnable_load_avg, q.load_avg), (0, 40 * 1024));
    // A half-life later, 32 periods, read without an update and with one.
    let now = START + 32 * 1024 * 1024;
    let read = unsafe { intf::place_host_pelt_read_load(&q, now, 0) };
    unsafe { intf::place_host_pelt_queue_update(&mut q, now, 0, 0) };
    assert!(read.abs_diff(20 * 1024) <= 1 && q.load_avg.abs_diff(20 * 1024) <= 20);
    assert_eq!(q.runnable_load_avg, 0);
}

/// Section C.1: sizes the layout of the tables counts on.
#[test]
fn section_c_1_records_are_small() {
    assert_eq!(std::mem::size_of::<intf::pelt_task>(), 24);
    assert_eq!(std::mem::size_of::<intf::pelt_queue>(), 64);
}
