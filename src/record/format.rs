// SPDX-License-Identifier: GPL-2.0-only

//! The file of a recording; docs/record-format.md describes it byte by byte.
//!
//! A head that names version and layout, then frames: information, the topology, and policies and
//! records in the order in which they were read, an end with the totals.  Whoever reads one needs
//! memory for the topology, the policies and one frame.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};

use anyhow::{anyhow, bail, ensure, Context, Result};
use serde::{Deserialize, Serialize};

use super::answer::Record;
use super::layout::fingerprint;
use super::raw::{self, fnv, FNV_START};
use super::tables::Tables;
use crate::bpf_intf as intf;
use crate::policy::Policy;
use crate::topology::MAX_CPUS;

pub const MAGIC: [u8; 8] = *b"SCXPLACE";
/// Of the file format.
pub const VERSION: u32 = 2;
/// Bytes of a frame's content, at most.
const MAX_FRAME: u32 = 1 << 20;
/// Policies of one file, at most: a switch every 100 ms for an hour and a half.
const MAX_POLICIES: usize = 1 << 16;

/// Bytes before the first frame: magic, version, layout.
pub const FILE_HEAD: usize = 20;
/// Bytes of a frame before its content: kind, length, checksum.
pub const FRAME_HEAD: usize = 12;

const INFO: u32 = 1;
const WHERES: u32 = 2;
const LLC: u32 = 3;
const POLICY: u32 = 4;
const RECORD: u32 = 5;
const END: u32 = 6;
const LEVELS: u32 = 7;

/// What a recording is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Info {
    /// Version of the program that wrote it.
    pub program: String,
    /// Release of the kernel it ran on.
    pub kernel: String,
    /// Begin, in microseconds since 1970, UTC.
    pub started_us: u64,
    /// One in so many placements of each CPU was sampled.
    pub one_in: u32,
    /// CPUs online.
    pub nr_cpus: u32,
    /// Last-level caches.
    pub nr_llcs: u32,
}

/// How a recording ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Records in the file.
    pub records: u64,
    /// Sampled decisions that are not in the file: the buffer was full.
    pub dropped: u64,
    /// Placements that no rule of this program decided, and that were not sampled.
    pub opaque: u64,
    /// End, in microseconds since 1970, UTC.
    pub ended_us: u64,
}

/// A policy that records name by its generation.
#[derive(Serialize, Deserialize)]
struct PolicyFrame {
    generation: u32,
    /// CPUs online, on which its derived constants depend.
    nr_cpus: u32,
    /// Of the policy as the BPF program had it.
    checksum: u32,
    policy: Policy,
}

fn checksum(kind: u32, content: &[u8]) -> u32 {
    let sum = fnv(FNV_START, &kind.to_le_bytes());
    let sum = fnv(sum, content);
    (sum ^ sum >> 32) as u32
}

/// A frame: its kind, the length and a checksum of its content, the content.
pub fn frame(kind: u32, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(FRAME_HEAD + content.len());
    for word in [kind, content.len() as u32, checksum(kind, content)] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(content);
    bytes
}

/// Writes a file, frame by frame.
pub struct Writer<W: Write> {
    to: W,
    /// Bytes so far.
    pub bytes: u64,
    /// Records so far.
    pub records: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a file.
    pub fn new(to: W, info: &Info, tables: &Tables) -> Result<Writer<W>> {
        let mut writer = Writer {
            to,
            bytes: 0,
            records: 0,
        };
        writer.put(&MAGIC)?;
        writer.put(&VERSION.to_le_bytes())?;
        writer.put(&fingerprint().to_le_bytes())?;
        writer.frame(INFO, &serde_json::to_vec(info)?)?;
        let wheres: Vec<u8> = (tables.wheres.iter())
            .flat_map(|at| raw::bytes(at).to_vec())
            .collect();
        writer.frame(WHERES, &wheres)?;
        for llc in &tables.llcs {
            writer.frame(LLC, &Tables::llc_bytes(llc))?;
        }
        writer.frame(LEVELS, &tables.levels_bytes())?;
        Ok(writer)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.to.write_all(bytes)
    }

    fn frame(&mut self, kind: u32, content: &[u8]) -> Result<()> {
        Ok(self.put(&frame(kind, content))?)
    }

    /// A policy, before the first record that names its generation.
    pub fn policy(&mut self, generation: u32, nr_cpus: u32, policy: &Policy) -> Result<()> {
        let frame = PolicyFrame {
            generation,
            nr_cpus,
            checksum: policy.to_native(generation, nr_cpus).checksum,
            policy: policy.clone(),
        };
        self.frame(POLICY, &serde_json::to_vec(&frame)?)
    }

    /// A record as the ring buffer holds it.
    pub fn record(&mut self, record: &[u8]) -> Result<()> {
        self.records += 1;
        self.frame(RECORD, record)
    }

    /// Hands everything to the operating system.
    pub fn flush(&mut self) -> Result<()> {
        Ok(self.to.flush()?)
    }

    /// Ends the file and gives back what it was written to.
    pub fn end(mut self, end: &End) -> Result<W> {
        self.frame(END, &serde_json::to_vec(end)?)?;
        self.to.flush()?;
        Ok(self.to)
    }
}

/// A policy of a file.
pub struct Known {
    pub policy: Policy,
    pub nr_cpus: u32,
    pub native: intf::place_policy,
}

/// Reads a file, record by record.  Nothing in it is believed.
pub struct Reader<R: Read> {
    from: R,
    /// Bytes read so far.
    at: u64,
    frame: Vec<u8>,
    pub info: Info,
    pub tables: Tables,
    policies: HashMap<u32, Known>,
    records: u64,
    end: Option<End>,
}

impl<R: Read> Reader<R> {
    /// Reads everything before the first record.
    ///
    /// # Errors
    /// In one line: it is no such file, of another version, or damaged.
    pub fn new(from: R) -> Result<Reader<R>> {
        let mut reader = Reader {
            from,
            at: 0,
            frame: Vec::new(),
            info: Info {
                program: String::new(),
                kernel: String::new(),
                started_us: 0,
                one_in: 0,
                nr_cpus: 0,
                nr_llcs: 0,
            },
            tables: Tables {
                wheres: Vec::new(),
                llcs: Vec::new(),
                levels: raw::zeroed_box(),
            },
            policies: HashMap::new(),
            records: 0,
            end: None,
        };
        let foreign_layout = reader.read_head()?;
        reader.read_info()?;
        ensure!(
            !foreign_layout,
            "recorded by scx_place {}, whose structures differ from those of this one, {}: replay it \
             with that one",
            reader.info.program.escape_debug(),
            crate::cli::version()
        );
        reader.read_topology()?;
        Ok(reader)
    }

    /// Whether the layout is another one.
    fn read_head(&mut self) -> Result<bool> {
        let (mut magic, mut version, mut layout) = ([0; 8], [0; 4], [0; 8]);
        let no_recording = "no recording of scx_place: it does not begin with SCXPLACE";
        let mut start = Vec::new();
        (&mut self.from).take(8).read_to_end(&mut start)?;
        self.at += start.len() as u64;
        magic[..start.len()].copy_from_slice(&start);
        ensure!(magic == MAGIC, no_recording);
        self.fill(&mut version)?;
        let version = u32::from_le_bytes(version);
        ensure!(
            version == VERSION,
            "format version {version}, but this scx_place reads version {VERSION}"
        );
        self.fill(&mut layout)?;
        Ok(u64::from_le_bytes(layout) != fingerprint())
    }

    fn read_info(&mut self) -> Result<()> {
        let kind = self.next_frame()?;
        ensure!(kind == INFO, "damaged: it does not say what it is of");
        self.info = self.json()?;
        ensure!(
            (1..=MAX_CPUS as u32).contains(&self.info.nr_llcs),
            "damaged: {} caches",
            self.info.nr_llcs
        );
        Ok(())
    }

    fn read_topology(&mut self) -> Result<()> {
        const WHERE: usize = size_of::<intf::place_where>();
        let kind = self.next_frame()?;
        let ok = kind == WHERES && self.frame.len().is_multiple_of(WHERE);
        ensure!(
            ok && self.frame.len() <= MAX_CPUS * WHERE,
            "damaged: no table of CPUs"
        );
        let wheres = self.frame.chunks_exact(WHERE).map(|bytes| {
            let mut at = raw::zeroed();
            raw::bytes_mut(&mut at).copy_from_slice(bytes);
            at
        });
        self.tables.wheres = wheres.collect();
        for id in 0..self.info.nr_llcs {
            let kind = self.next_frame()?;
            let mut llc = raw::zeroed();
            ensure!(
                kind == LLC && raw::unsqueeze(&self.frame, raw::bytes_mut(&mut llc)),
                "damaged: cache {id} is missing"
            );
            self.tables.llcs.push(llc);
        }
        ensure!(
            self.next_frame()? == LEVELS && self.tables.read_levels(&self.frame),
            "damaged: no levels"
        );
        let checked = self.tables.check();
        checked.map_err(|why| anyhow!("damaged: {why}"))
    }

    fn fill(&mut self, to: &mut [u8]) -> Result<()> {
        let read = self.from.read_exact(to);
        self.at += to.len() as u64;
        read.map_err(|e| match e.kind() {
            ErrorKind::UnexpectedEof => {
                anyhow!("cut short: it ends before its end mark; was the recorder killed?")
            }
            _ => e.into(),
        })
    }

    /// Reads a frame's content and returns its kind.
    fn next_frame(&mut self) -> Result<u32> {
        let at = self.at;
        let mut head = [0; FRAME_HEAD];
        self.fill(&mut head)?;
        let word = |i: usize| u32::from_le_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]);
        let (kind, len, sum) = (word(0), word(4), word(8));
        ensure!(
            len <= MAX_FRAME,
            "damaged at byte {at}: a frame of {len} bytes, at most {MAX_FRAME} are possible"
        );
        let mut frame = std::mem::take(&mut self.frame);
        frame.resize(len as usize, 0);
        self.fill(&mut frame)?;
        self.frame = frame;
        ensure!(
            checksum(kind, &self.frame) == sum,
            "damaged at byte {at}: a frame's checksum is wrong"
        );
        Ok(kind)
    }

    fn json<T: for<'a> Deserialize<'a>>(&self) -> Result<T> {
        serde_json::from_slice(&self.frame)
            .with_context(|| format!("damaged before byte {}", self.at))
    }

    fn read_policy(&mut self) -> Result<()> {
        let frame: PolicyFrame = self.json()?;
        let native = frame.policy.to_native(frame.generation, frame.nr_cpus);
        ensure!(
            native.checksum == frame.checksum,
            "the policy of generation {} is not what it was when it was recorded",
            frame.generation
        );
        ensure!(
            self.policies.len() < MAX_POLICIES,
            "more than {MAX_POLICIES} policies"
        );
        let known = Known {
            policy: frame.policy,
            nr_cpus: frame.nr_cpus,
            native,
        };
        self.policies.insert(frame.generation, known);
        Ok(())
    }

    fn read_end(&mut self) -> Result<()> {
        let end: End = self.json()?;
        ensure!(
            end.records == self.records,
            "damaged: it holds {} records, {} were written",
            self.records,
            end.records
        );
        let more = self.from.read(&mut [0])?;
        ensure!(more == 0, "damaged: it goes on after its end");
        self.end = Some(end);
        Ok(())
    }

    /// The next record; none at the end of the file.
    ///
    /// # Errors
    /// In one line: the file is damaged or cut short.
    pub fn next_record(&mut self) -> Result<Option<Record>> {
        while self.end.is_none() {
            match self.next_frame()? {
                POLICY => self.read_policy()?,
                RECORD => return self.read_record().map(Some),
                END => self.read_end()?,
                kind => bail!("damaged before byte {}: a frame of kind {kind}", self.at),
            }
        }
        Ok(None)
    }

    fn read_record(&mut self) -> Result<Record> {
        self.records += 1;
        let record = Record::parse(&self.frame, &self.tables)
            .map_err(|why| anyhow!("damaged: record {} is {why}", self.records))?;
        let generation = record.head().generation;
        ensure!(
            self.policies.contains_key(&generation),
            "damaged: record {} names generation {generation}, whose policy is missing",
            self.records
        );
        Ok(record)
    }

    /// The policy of a generation that a record has named.
    pub fn known(&self, generation: u32) -> Option<&Known> {
        self.policies.get(&generation)
    }

    /// The totals, once everything was read.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Records read so far.
    pub fn records(&self) -> u64 {
        self.records
    }
}
