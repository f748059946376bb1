// SPDX-License-Identifier: GPL-2.0-only

//! Replays a recording with the policies it was made under: do the policy files, compiled for the
//! host, decide what the kernel's copy of them decided?

use std::io::Read;

use anyhow::Result;
use serde::Serialize;

use super::answer::Record;
use super::format::{End, Reader};
use super::show;
use crate::policy::Policy;

/// The result of a replay.
#[derive(Debug, Serialize)]
pub struct Replay {
    pub records: u64,
    /// Those of them that placed a new task.
    pub forks: u64,
    pub identical: u64,
    /// Records of wakeups by how many claims were lost before the decision: 0, 1, 2, 3 or more.
    pub lost_claims: [u64; 4],
    /// The totals of the recording.
    pub end: Option<End>,
    /// The first record that differs, in words.
    pub first_difference: Option<String>,
}

/// Decides every record again.
pub fn run<R: Read>(reader: &mut Reader<R>) -> Result<Replay> {
    let mut replay = Replay {
        records: 0,
        forks: 0,
        identical: 0,
        lost_claims: [0; 4],
        end: None,
        first_difference: None,
    };
    while let Some(record) = reader.next_record()? {
        let known = reader.known(record.head().generation);
        let known = known.expect("next_record has checked it");
        replay.records += 1;
        match &record {
            Record::Wakeup(decision) => {
                replay.lost_claims[(decision.head.lost as usize).min(3)] += 1;
            }
            Record::Fork(_) => replay.forks += 1,
        }
        match record.again(&known.native, &reader.tables) {
            Ok(()) => replay.identical += 1,
            Err(out) if replay.first_difference.is_none() => {
                let text = difference(&record, &known.policy, &out, replay.records);
                replay.first_difference = Some(text);
            }
            Err(_) => {}
        }
    }
    replay.end = reader.end().cloned();
    Ok(replay)
}

fn difference(
    record: &Record,
    policy: &Policy,
    out: &crate::bpf_intf::place_out,
    number: u64,
) -> String {
    let settings = policy.items().map(|i| i.to_string());
    format!(
        "record {number} is decided differently\n{}policy    {}\n{}",
        show::input(record),
        settings.collect::<Vec<_>>().join(" "),
        show::outs(record.out(), out)
    )
}

impl Replay {
    pub fn differs(&self) -> bool {
        self.identical != self.records
    }
}
