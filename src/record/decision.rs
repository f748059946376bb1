// SPDX-License-Identifier: GPL-2.0-only

//! One recorded wakeup, and the same decision made again.

use super::answer::same_answer;
use super::raw::{self, Cursor};
use super::tables::Tables;
use crate::bpf_intf as intf;

const HEAD: usize = size_of::<intf::place_record>();
const IN_HEAD: usize = intf::place_record_part_PLACE_RECORD_IN_HEAD as usize;
const IN_TAIL: usize = intf::place_record_part_PLACE_RECORD_IN_TAIL as usize;
const OUT: usize = size_of::<intf::place_out>();
const FIXED: usize = intf::place_record_part_PLACE_RECORD_FIXED as usize;
const VIEW_MASKS: usize = intf::place_record_part_PLACE_RECORD_VIEW_MASKS as usize;
const VIEW_TAIL: usize = intf::place_record_part_PLACE_RECORD_VIEW_TAIL as usize;
const MASK: usize = size_of::<intf::place_mask>();

/// The largest record of a wakeup, in bytes.
const MAX_RECORD: usize = FIXED + 2 * (VIEW_MASKS * MASK + VIEW_TAIL);

/// What a placement read and what it decided.  Made by [`Decision::parse`], it fits its tables.
#[derive(Clone)]
pub struct Decision {
    pub head: intf::place_record,
    pub input: intf::place_in,
    pub out: intf::place_out,
}

fn view_bytes(words: usize) -> usize {
    VIEW_MASKS * words * 8 + VIEW_TAIL
}

/// Copies the parts of a record to or from their places, in the order of `struct place_record`.
/// `f` gets each part of the structure's bytes.
fn each_view_part(view: &mut intf::place_view, words: usize, mut f: impl FnMut(&mut [u8])) {
    let bytes = raw::bytes_mut(view);
    for mask in 0..VIEW_MASKS {
        f(&mut bytes[mask * MASK..][..words * 8]);
    }
    f(&mut bytes[VIEW_MASKS * MASK..]);
}

impl Decision {
    /// Reads a record whose head was read.
    ///
    /// # Errors
    /// In words: it is not one, or does not fit the tables.
    pub fn parse(
        head: intf::place_record,
        record: &[u8],
        tables: &Tables,
    ) -> Result<Decision, String> {
        if !matches!((head.nw, head.views), (1 | 4 | 16, 1 | 2)) {
            return Err(format!("of {} views of {} words", head.views, head.nw));
        }
        let (words, views) = (usize::from(head.nw), usize::from(head.views));
        let expected = FIXED + views * view_bytes(words);
        if record.len() != expected {
            return Err(format!("of {} bytes instead of {expected}", record.len()));
        }

        let (mut input, mut out) = (raw::zeroed::<intf::place_in>(), raw::zeroed());
        let mut cursor = Cursor(&record[HEAD..]);
        let in_bytes = raw::bytes_mut(&mut input);
        let tail = in_bytes.len() - IN_TAIL;
        cursor.take(&mut in_bytes[..IN_HEAD]);
        cursor.take(&mut in_bytes[tail..]);
        cursor.take(raw::bytes_mut(&mut out));
        for view in &mut input.view[..views] {
            each_view_part(view, words, |part| cursor.take(part));
        }
        let decision = Decision { head, input, out };
        decision.check(tables)?;
        Ok(decision)
    }

    /// The record's bytes; the inverse of [`Decision::parse`].
    pub fn to_bytes(&self) -> Vec<u8> {
        let words = usize::from(self.head.nw);
        let mut bytes = Vec::with_capacity(MAX_RECORD);
        bytes.extend(raw::bytes(&self.head));
        let input = raw::bytes(&self.input);
        bytes.extend(&input[..IN_HEAD]);
        bytes.extend(&input[input.len() - IN_TAIL..]);
        bytes.extend(raw::bytes(&self.out));
        debug_assert_eq!(bytes.len(), HEAD + IN_HEAD + IN_TAIL + OUT);
        for view in &self.input.view[..usize::from(self.head.views)] {
            let mut view = *view;
            each_view_part(&mut view, words, |part| bytes.extend(&*part));
        }
        bytes
    }

    fn check(&self, tables: &Tables) -> Result<(), String> {
        let input = &self.input;
        for (cpu, at) in [(input.waker, input.waker_at), (input.prev, input.prev_at)] {
            let known = tables
                .online(cpu)
                .is_some_and(|k| raw::bytes(k) == raw::bytes(&at));
            if !known {
                return Err(format!(
                    "of CPU {cpu}, which the topology does not have there"
                ));
            }
            let words = (at.local.max(at.core) / 64) + 1;
            if words > self.head.nw {
                return Err(format!(
                    "of {} words, CPU {cpu} is in word {words}",
                    self.head.nw
                ));
            }
        }
        let recent = usize::try_from(input.recent).unwrap_or(0);
        if recent >= tables.wheres.len() {
            return Err(format!(
                "of recent CPU {recent}, which the topology does not have"
            ));
        }
        if tables.online(self.out.cpu).is_none() {
            return Err(format!(
                "that chose CPU {}, which is not online",
                self.out.cpu
            ));
        }
        let views = 1 + u8::from(input.waker_at.llc != input.prev_at.llc);
        if views != self.head.views {
            return Err(format!(
                "of {} views where {views} are read",
                self.head.views
            ));
        }
        Ok(())
    }

    /// What `policy` decides on the same input, and which bytes of the answer it sets.
    fn decide_onto(
        &self,
        policy: &intf::place_policy,
        tables: &Tables,
        fill: u8,
    ) -> intf::place_out {
        let mut out: intf::place_out = raw::zeroed();
        raw::bytes_mut(&mut out).fill(fill);
        let llc = |at| tables.llc(at).expect("checked by parse");
        let (prev, waker) = (llc(&self.input.prev_at), llc(&self.input.waker_at));
        // SAFETY: live structures; the rules reach elements of arrays by masked or tested indices.
        unsafe {
            intf::place_host_wakeup(
                policy,
                &self.input,
                prev,
                waker,
                &mut out,
                self.head.nw.into(),
            );
        }
        out
    }

    /// What `policy` decides on the same input.
    pub fn decide(&self, policy: &intf::place_policy, tables: &Tables) -> intf::place_out {
        self.decide_onto(policy, tables, 0)
    }

    /// Whether `policy` decides what was recorded.  `Err`: what it decides instead.
    pub fn again(
        &self,
        policy: &intf::place_policy,
        tables: &Tables,
    ) -> Result<(), intf::place_out> {
        same_answer(&self.out, |fill| self.decide_onto(policy, tables, fill))
    }
}
