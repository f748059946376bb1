// SPDX-License-Identifier: GPL-2.0-only

//! The load of schbench as it was in May 2016: message threads wake batches of workers, which think.
//!
//! A worker spins for the think time, puts itself on its message thread's list, wakes that thread and
//! sleeps.  A message thread takes the whole list, stamps one time for the batch, wakes each worker,
//! and sleeps until it is woken, and then for the message latency and up to a quarter more.  The
//! latency of a wakeup is from the batch's stamp to the worker running: the batch before it in the
//! list, the placement and the queue are in it.  Written from a description of that program.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// The load.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub message_threads: usize,
    /// Of each message thread.
    pub workers: usize,
    /// What a worker spins between two wakeups.
    pub think: Duration,
    /// What a message thread sleeps once it was woken.
    pub message_latency: Duration,
    /// Threads that are not measured: each sleeps about 10 ms and spins for 200 us, again and again.
    pub noise: usize,
    pub run: Duration,
}

/// What a run measured, in the form of `place_schbench --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub message_threads: usize,
    pub workers: usize,
    /// Wakeups measured; those of no microsecond are among them.
    pub wakeups: u64,
    /// Percentile and latency in microseconds.
    pub latency_us: Vec<(f64, u64)>,
    pub max_us: u64,
}

/// The percentiles that schbench prints.
pub const PERCENTILES: [f64; 7] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9];

/// Of the noise.
const NOISE_SLEEP: Duration = Duration::from_millis(10);
const NOISE_SPIN: Duration = Duration::from_micros(200);

/// A place to sleep for one thread: blocked, or woken since it last was.
#[derive(Default)]
struct Bed(AtomicU32);

const BLOCKED: u32 = 0;
const AWAKE: u32 = 1;

impl Bed {
    fn block(&self) {
        self.0.store(BLOCKED, Ordering::SeqCst);
    }

    /// Sleeps unless it was woken since `block`; a while at most, so that the end of a run is seen.
    fn sleep(&self, stop: &AtomicBool) {
        while self.0.load(Ordering::SeqCst) == BLOCKED && !stop.load(Ordering::Relaxed) {
            let limit = libc::timespec {
                tv_sec: 0,
                tv_nsec: 500_000_000,
            };
            // SAFETY: the word and the limit live through the call, which only reads them.
            unsafe {
                let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
                libc::syscall(libc::SYS_futex, self.0.as_ptr(), operation, BLOCKED, &limit);
            }
        }
    }

    fn wake(&self) {
        if self.0.swap(AWAKE, Ordering::SeqCst) == BLOCKED {
            // SAFETY: waking at an address reads nothing.
            unsafe {
                let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
                libc::syscall(libc::SYS_futex, self.0.as_ptr(), operation, 1);
            }
        }
    }
}

#[derive(Default)]
struct Worker {
    bed: Bed,
    /// Of the batch that woke it, in nanoseconds since the start.
    stamp_ns: AtomicU64,
}

#[derive(Default)]
struct Message {
    bed: Bed,
    /// Workers that wait, by number.
    waiting: Mutex<Vec<usize>>,
    workers: Vec<Worker>,
}

impl Message {
    fn list(&self) -> MutexGuard<'_, Vec<usize>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Shared {
    options: Options,
    start: Instant,
    stop: AtomicBool,
    messages: Vec<Message>,
}

impl Shared {
    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

fn spin(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// One worker; the latencies of its wakeups in nanoseconds.
fn worker(shared: &Shared, message: usize, number: usize) -> Vec<u64> {
    let message = &shared.messages[message];
    let me = &message.workers[number];
    let mut latencies = Vec::new();
    while !shared.stopped() {
        spin(shared.options.think);
        me.bed.block();
        message.list().push(number);
        message.bed.wake();
        me.bed.sleep(&shared.stop);
        if !shared.stopped() {
            latencies.push(shared.now_ns() - me.stamp_ns.load(Ordering::SeqCst));
        }
    }
    latencies
}

fn message(shared: &Shared, number: usize) {
    let me = &shared.messages[number];
    let latency = shared.options.message_latency;
    let mut random = number as u64 + 1;
    while !shared.stopped() {
        me.bed.block();
        let batch = std::mem::take(&mut *me.list());
        let stamp_ns = shared.now_ns();
        for worker in batch.iter().map(|&n| &me.workers[n]) {
            worker.stamp_ns.store(stamp_ns, Ordering::SeqCst);
            worker.bed.wake();
        }
        if me.list().is_empty() {
            me.bed.sleep(&shared.stop);
        }
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let quarter_us = (latency.as_micros() as u64 / 4).max(1);
        let jitter = Duration::from_micros((random >> 33) % quarter_us);
        if !shared.stopped() {
            thread::sleep(latency + jitter);
        }
    }
}

fn noise(shared: &Shared) {
    while !shared.stopped() {
        thread::sleep(NOISE_SLEEP);
        spin(NOISE_SPIN);
    }
}

/// Runs the load for its time.
pub fn run(options: &Options) -> Outcome {
    let messages = (0..options.message_threads).map(|_| Message {
        workers: (0..options.workers).map(|_| Worker::default()).collect(),
        ..Message::default()
    });
    let shared = Shared {
        options: *options,
        start: Instant::now(),
        stop: AtomicBool::new(false),
        messages: messages.collect(),
    };
    let shared = &shared;
    let mut latencies: Vec<u64> = thread::scope(|scope| {
        for number in 0..options.message_threads {
            scope.spawn(move || message(shared, number));
        }
        for _ in 0..options.noise {
            scope.spawn(move || noise(shared));
        }
        let pairs =
            (0..options.message_threads).flat_map(|m| (0..options.workers).map(move |w| (m, w)));
        let workers: Vec<_> = pairs
            .map(|(m, w)| scope.spawn(move || worker(shared, m, w)))
            .collect();
        thread::sleep(options.run);
        shared.stop.store(true, Ordering::SeqCst);
        let all = workers
            .into_iter()
            .flat_map(|w| w.join().unwrap_or_default());
        all.collect()
    });
    latencies.sort_unstable();
    Outcome {
        message_threads: options.message_threads,
        workers: options.workers,
        wakeups: latencies.len() as u64,
        latency_us: PERCENTILES
            .map(|p| (p, percentile_us(&latencies, p)))
            .to_vec(),
        max_us: latencies.last().map_or(0, |ns| ns / 1000),
    }
}

/// Of sorted latencies; 0 if there are none.
fn percentile_us(sorted_ns: &[u64], percentile: f64) -> u64 {
    let rank = (sorted_ns.len() as f64 * percentile / 100.0).ceil() as usize;
    sorted_ns
        .get(rank.saturating_sub(1))
        .map_or(0, |ns| ns / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_ranks() {
        let sorted: Vec<u64> = (1..=1000).map(|us| us * 1000).collect();
        assert_eq!(percentile_us(&sorted, 50.0), 500);
        assert_eq!(percentile_us(&sorted, 99.9), 999);
        assert_eq!(percentile_us(&sorted, 100.0), 1000);
        assert_eq!(percentile_us(&[], 50.0), 0);
        assert_eq!(percentile_us(&[7000], 50.0), 7);
    }

    /// Every worker is woken again and again, and the run ends.
    #[test]
    fn workers_are_woken_until_the_end() {
        let started = Instant::now();
        let outcome = run(&Options {
            message_threads: 2,
            workers: 3,
            think: Duration::from_micros(200),
            message_latency: Duration::from_millis(2),
            noise: 1,
            run: Duration::from_millis(400),
        });
        assert!(started.elapsed() < Duration::from_secs(20));
        // 2 ms and up to a half more a round, on a machine however busy.
        assert!((12..=2 * 3 * 200).contains(&outcome.wakeups), "{outcome:?}");
        assert!(
            outcome.latency_us.is_sorted_by_key(|(_, us)| *us),
            "{outcome:?}"
        );
        assert!(outcome.max_us >= outcome.latency_us[6].1);
    }
}
