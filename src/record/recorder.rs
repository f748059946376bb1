// SPDX-License-Identifier: GPL-2.0-only

//! `scx_place record`: reads the ring buffer of the running scheduler and writes a file.
//!
//! The scheduler grants the buffer and samples while this process says that it lives; the records
//! themselves come straight from the kernel.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fs::File;
use std::io::{stderr, BufWriter, IsTerminal, Write};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use libbpf_rs::{MapHandle, RingBuffer, RingBufferBuilder};

use super::answer::head_of;
use super::format::{End, Info, Writer};
use super::tables::Tables;
use crate::control::{call, ClientError, RecordingReport, Request, Response};
use crate::topology::Machine;
use crate::{scheduler, sys, time};

/// How often the scheduler hears of the recorder; it waits some times longer.
const POLL: Duration = Duration::from_secs(1);
/// How long the recorder waits for records, and how often it looks whether it should end.
const WAIT: Duration = Duration::from_millis(50);
/// Records taken at a time.
const BATCH: usize = 4096;

/// What to record, and where to.
pub struct Options {
    pub socket: PathBuf,
    pub out: PathBuf,
    pub duration: Duration,
    pub one_in: u32,
}

/// A recording that the scheduler has granted.  Dropped, it is given back.
struct Grant {
    socket: PathBuf,
    id: u64,
    over: bool,
}

impl Grant {
    fn open(socket: &Path, one_in: u32) -> Result<(Grant, RecordingReport)> {
        let report = recording(socket, &Request::RecordOpen { one_in })?;
        let grant = Grant {
            socket: socket.into(),
            id: report.id,
            over: false,
        };
        Ok((grant, report))
    }

    fn poll(&self, known: u32) -> Result<RecordingReport> {
        recording(&self.socket, &Request::RecordPoll { id: self.id, known })
    }

    fn stop(&mut self) -> Result<RecordingReport> {
        self.over = true;
        recording(&self.socket, &Request::RecordStop { id: self.id })
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        if !self.over {
            // Should it fail, the scheduler finds out by itself.
            let _ = self.stop();
        }
    }
}

fn recording(socket: &Path, request: &Request) -> Result<RecordingReport> {
    match call(socket, request) {
        Ok(Response::Recording(report)) => Ok(report),
        Ok(_) => bail!("scx_place gave an answer to another question"),
        Err(ClientError::Refused(why)) => bail!(why),
        Err(e) => Err(e.into()),
    }
}

/// The records taken from the ring buffer and not written yet.
type Taken = Rc<RefCell<Vec<Vec<u8>>>>;

/// The ring buffer with what was taken from it.
struct Buffer<'a> {
    ring: RingBuffer<'a>,
    taken: Taken,
}

impl<'a> Buffer<'a> {
    fn new(map: &'a MapHandle) -> Result<Buffer<'a>> {
        let taken = Taken::default();
        let to = taken.clone();
        let mut builder = RingBufferBuilder::new();
        builder.add(map, move |record| {
            to.borrow_mut().push(record.to_vec());
            0
        })?;
        let ring = builder.build()?;
        Ok(Buffer { ring, taken })
    }

    /// Up to a batch of records; none: the buffer is empty.
    fn take(&self) -> Result<Vec<Vec<u8>>> {
        let n = self.ring.consume_raw_n(BATCH);
        if n < 0 {
            bail!(
                "reading the ring buffer: {}",
                std::io::Error::from_raw_os_error(-n)
            );
        }
        Ok(self.taken.take())
    }

    fn wait(&self, timeout: Duration) -> Result<()> {
        // SAFETY: open as long as the ring buffer lives.
        let fd = unsafe { BorrowedFd::borrow_raw(self.ring.epoll_fd()) };
        sys::wait_readable(fd, timeout)?;
        Ok(())
    }
}

/// The file and the policies that it has.
struct Output {
    writer: Writer<BufWriter<File>>,
    known: HashSet<u32>,
    newest: u32,
    /// Records whose policy the scheduler has forgotten.
    orphans: u64,
}

impl Output {
    fn add_policies(&mut self, report: &RecordingReport) -> Result<()> {
        for known in &report.policies {
            if self.known.insert(known.generation) {
                self.writer
                    .policy(known.generation, report.nr_cpus, &known.policy)?;
            }
            self.newest = self.newest.max(known.generation);
        }
        Ok(())
    }

    fn add_records(&mut self, records: &[Vec<u8>], grant: &Grant) -> Result<()> {
        for record in records {
            let generation = head_of(record)
                .context("a record without a head")?
                .generation;
            if !self.known.contains(&generation) && generation > self.newest {
                self.add_policies(&grant.poll(self.newest)?)?;
            }
            match self.known.contains(&generation) {
                true => self.writer.record(record)?,
                false => self.orphans += 1,
            }
        }
        Ok(())
    }
}

/// One line about the state of things.
fn progress(since: Instant, duration: Duration, output: &Output, dropped: u64) {
    eprint!(
        "\r\x1b[K{:.1} s of {:.1} s: {} records, {:.1} MB, {dropped} dropped",
        since.elapsed().as_secs_f64(),
        duration.as_secs_f64(),
        output.writer.records,
        output.writer.bytes as f64 / 1e6,
    );
    let _ = stderr().flush();
}

/// Records until the time is over or a signal comes; returns the summary.
///
/// # Errors
/// No scheduler, another recorder, the file cannot be written, or the recording ended early; what
/// was recorded until then is in the file.
pub fn run(options: &Options) -> Result<String> {
    let stop = scheduler::stop_on_signals()?;
    // Takes long on a busy machine, and the scheduler waits for a recorder only so long.
    let tables = Tables::from(&Machine::from_system()?.layout());
    let (mut grant, opened) = Grant::open(&options.socket, options.one_in)?;
    let map = MapHandle::from_map_id(opened.map).context("opening the ring buffer")?;
    let buffer = Buffer::new(&map).context("opening the ring buffer")?;
    // What a recorder that died has left.
    while !buffer.take()?.is_empty() {}

    let mut output = create(options, &opened, &tables)?;
    output.add_policies(&opened)?;
    let early = follow(&grant, &buffer, &mut output, options.duration, &stop);
    let last = grant.stop();
    if let Ok(report) = &last {
        output.add_policies(report)?;
        loop {
            let records = buffer.take()?;
            if records.is_empty() {
                break;
            }
            output.add_records(&records, &grant)?;
        }
    }
    let summary = finish(options, output, last.as_ref().ok())?;
    match early.and(last) {
        Ok(_) => Ok(summary),
        Err(e) => Err(e.context(format!(
            "the recording ended early ({})",
            summary.trim_end()
        ))),
    }
}

fn create(options: &Options, opened: &RecordingReport, tables: &Tables) -> Result<Output> {
    let info = Info {
        program: crate::cli::version().into(),
        kernel: sys::kernel_release(),
        started_us: time::now_us(),
        one_in: options.one_in,
        nr_cpus: opened.nr_cpus,
        nr_llcs: tables.llcs.len() as u32,
    };
    let out = options.out.display();
    let file = File::create(&options.out).with_context(|| format!("creating {out}"))?;
    let writer = Writer::new(BufWriter::with_capacity(1 << 18, file), &info, tables)
        .with_context(|| format!("writing {out}"))?;
    Ok(Output {
        writer,
        known: HashSet::new(),
        newest: 0,
        orphans: 0,
    })
}

/// Writes what comes until the time is over.
fn follow(
    grant: &Grant,
    buffer: &Buffer,
    output: &mut Output,
    duration: Duration,
    stop: &AtomicBool,
) -> Result<()> {
    let terminal = stderr().is_terminal();
    let since = Instant::now();
    let mut polled: Option<Instant> = None;
    while since.elapsed() < duration && !stop.load(Ordering::Relaxed) {
        if polled.is_none_or(|at| at.elapsed() >= POLL) {
            let report = grant.poll(output.newest)?;
            polled = Some(Instant::now());
            output.add_policies(&report)?;
            // A recorder that is killed leaves what it had.
            output.writer.flush()?;
            if terminal {
                progress(since, duration, output, report.dropped);
            }
        }
        let records = buffer.take()?;
        output.add_records(&records, grant)?;
        if records.is_empty() {
            buffer.wait(WAIT.min(duration.saturating_sub(since.elapsed())))?;
        }
    }
    if terminal {
        eprint!("\r\x1b[K");
    }
    Ok(())
}

fn finish(options: &Options, output: Output, last: Option<&RecordingReport>) -> Result<String> {
    let Output {
        writer,
        known,
        orphans,
        ..
    } = output;
    let (records, dropped, opaque) = match last {
        // What was written and did not arrive is lost too, whatever the reason.
        Some(r) => {
            let lost = r.written.saturating_sub(writer.records);
            (writer.records, r.dropped + lost, r.opaque)
        }
        None => (writer.records, orphans, 0),
    };
    let end = End {
        records,
        dropped,
        opaque,
        ended_us: time::now_us(),
    };
    let out = options.out.display();
    let file = writer.end(&end).with_context(|| format!("writing {out}"))?;
    let file = file
        .into_inner()
        .with_context(|| format!("writing {out}"))?;
    let bytes = file.metadata().map_or(0, |m| m.len());
    let per_record = bytes as f64 / records.max(1) as f64;
    Ok(format!(
        "{out}: {records} records, {dropped} dropped, {opaque} not recordable, {bytes} bytes \
         ({per_record:.0} a record), policies: {}\n",
        known.len()
    ))
}
