// SPDX-License-Identifier: GPL-2.0-only

//! One record of whatever type, and when an answer is the recorded one.

use super::decision::Decision;
use super::fork::Fork;
use super::raw;
use super::tables::Tables;
use crate::bpf_intf as intf;

const HEAD: usize = size_of::<intf::place_record>();

/// A recorded placement.
pub enum Record {
    Wakeup(Box<Decision>),
    Fork(Fork),
}

/// The head of a record; none: it is too short for one.
pub fn head_of(record: &[u8]) -> Option<intf::place_record> {
    let mut head: intf::place_record = raw::zeroed();
    raw::bytes_mut(&mut head).copy_from_slice(record.get(..HEAD)?);
    Some(head)
}

impl Record {
    /// Reads a record.
    ///
    /// # Errors
    /// In words: it is not one, or does not fit the tables.
    pub fn parse(record: &[u8], tables: &Tables) -> Result<Record, String> {
        let head = head_of(record).ok_or("shorter than its head")?;
        match head.type_ {
            intf::place_record_type_PLACE_RECORD_WAKEUP => {
                let decision = Decision::parse(head, record, tables)?;
                Ok(Record::Wakeup(Box::new(decision)))
            }
            intf::place_record_type_PLACE_RECORD_FORK => {
                Fork::parse(head, record, tables).map(Record::Fork)
            }
            other => Err(format!("of unknown type {other}")),
        }
    }

    /// The record's bytes; the inverse of [`Record::parse`].
    pub fn to_bytes(&self, tables: &Tables) -> Vec<u8> {
        match self {
            Record::Wakeup(decision) => decision.to_bytes(),
            Record::Fork(fork) => fork.to_bytes(tables),
        }
    }

    pub fn head(&self) -> &intf::place_record {
        match self {
            Record::Wakeup(decision) => &decision.head,
            Record::Fork(fork) => &fork.head,
        }
    }

    /// What was decided.
    pub fn out(&self) -> &intf::place_out {
        match self {
            Record::Wakeup(decision) => &decision.out,
            Record::Fork(fork) => &fork.out,
        }
    }

    /// Whether `policy` decides what was recorded.  `Err`: what it decides instead.
    pub fn again(
        &self,
        policy: &intf::place_policy,
        tables: &Tables,
    ) -> Result<(), intf::place_out> {
        match self {
            Record::Wakeup(decision) => decision.again(policy, tables),
            Record::Fork(fork) => fork.again(policy, tables),
        }
    }
}

/// Whether a decision is the recorded one in every byte that it sets; `decide` makes it on an answer
/// filled with a byte.  `Err`: the other answer.
pub fn same_answer(
    recorded: &intf::place_out,
    decide: impl Fn(u8) -> intf::place_out,
) -> Result<(), intf::place_out> {
    let (out, other) = (decide(0), decide(0xff));
    let bytes = raw::bytes(&out).iter().zip(raw::bytes(&other));
    let mut set = 0;
    let same = bytes.zip(raw::bytes(recorded)).all(|((a, b), recorded)| {
        set += usize::from(a == b);
        a != b || a == recorded
    });
    match same && set > 0 {
        true => Ok(()),
        false => Err(out),
    }
}
