// SPDX-License-Identifier: GPL-2.0-only

//! What the kernel's own trace says of wakeups and migrations.

use std::collections::HashMap;

/// Below: realtime and deadline tasks, which are not ours.
const MAX_RT_PRIO: u32 = 100;

/// A wakeup of a task of the fair or the ext class.
#[derive(Debug)]
pub struct Wakeup {
    pub comm: String,
    /// CPU that woke it.
    pub waker: u32,
    /// CPU it was on, and CPU it was put on.
    pub from: u32,
    pub to: u32,
}

/// A line of the trace: CPU, event and its fields.
struct Event<'a> {
    cpu: u32,
    name: &'a str,
    fields: &'a str,
}

impl<'a> Event<'a> {
    fn parse(line: &'a str) -> Option<Event<'a>> {
        let (_, rest) = line.split_once(" [")?;
        let (cpu, rest) = rest.split_once(']')?;
        let (_, rest) = rest.split_once(": ")?;
        let (name, fields) = rest.split_once(": ")?;
        Some(Event {
            cpu: cpu.parse().ok()?,
            name,
            fields,
        })
    }

    fn number(&self, key: &str) -> Option<u32> {
        let (_, rest) = self.fields.split_once(&format!(" {key}="))?;
        rest.split_whitespace().next()?.parse().ok()
    }

    fn comm(&self) -> &str {
        let comm = self.fields.trim_start().strip_prefix("comm=");
        comm.and_then(|c| c.split_once(" pid="))
            .map_or("", |(comm, _)| comm)
    }

    fn ours(&self) -> bool {
        self.number("prio").is_some_and(|prio| prio >= MAX_RT_PRIO)
    }
}

/// Each wakeup as the pair of its two events.
pub fn wakeups(trace: &str) -> Vec<Wakeup> {
    let mut waking = HashMap::new();
    let mut wakeups = Vec::new();
    for event in trace.lines().filter_map(Event::parse).filter(Event::ours) {
        let (Some(pid), Some(target)) = (event.number("pid"), event.number("target_cpu")) else {
            continue;
        };
        match event.name {
            "sched_waking" => {
                waking.insert(pid, (event.cpu, target));
            }
            "sched_wakeup" => {
                if let Some((waker, from)) = waking.remove(&pid) {
                    wakeups.push(Wakeup {
                        comm: event.comm().into(),
                        waker,
                        from,
                        to: target,
                    });
                }
            }
            _ => {}
        }
    }
    wakeups
}

/// The lines of tasks of ours that changed their CPU.
pub fn migrations(trace: &str) -> Vec<&str> {
    let moved = |line: &&str| {
        Event::parse(line).is_some_and(|e| e.name == "sched_migrate_task" && e.ours())
    };
    trace.lines().filter(moved).map(str::trim).collect()
}
