// SPDX-License-Identifier: GPL-2.0-only

//! Recordings, replays and comparisons as text.

use std::io::Read;

use super::compare::{Comparison, Found, Side};
use super::decision::Decision;
use super::format::{End, Reader};
use super::replay::Replay;
use super::tables::Distance;
use crate::bpf_intf as intf;
use crate::counters::percent;
use crate::policy::table::table;
use crate::{render, time};

/// What the file is of.
pub fn info<R: Read>(reader: &Reader<R>) -> String {
    let info = &reader.info;
    format!(
        "recorded  {}, 1/{} of the placements\n\
         by        scx_place {}\n\
         on        Linux {}, {} CPUs\n",
        time::format_us(info.started_us),
        info.one_in,
        info.program.escape_debug(),
        info.kernel.escape_debug(),
        info.nr_cpus
    )
}

/// How many records there are, and how many are missing.
fn totals(records: u64, end: Option<&End>) -> String {
    let (dropped, opaque) = end.map_or((0, 0), |e| (e.dropped, e.opaque));
    format!("records   {records}, {dropped} dropped, {opaque} not recordable\n")
}

/// The outcome of a replay.
pub fn replay(replay: &Replay) -> String {
    let [none, one, two, more] = replay.lost_claims;
    let mut text = format!(
        "{}claims    {none} won or not tried at once, {one} lost once, {two} twice, {more} more often\n\
         identical {} ({:.1} %)\n",
        totals(replay.records, replay.end.as_ref()),
        replay.identical,
        // Rounded down: 100.0 is said of all only.
        (percent(replay.identical, replay.records) * 10.0).floor() / 10.0
    );
    if let Some(difference) = &replay.first_difference {
        text.push('\n');
        text.push_str(difference);
    }
    text
}

/// A branch by its number.
fn branch(id: u16) -> String {
    let t = table();
    match t.counters.get(usize::from(id)) {
        Some(c) => format!("{}.{}", t.stages[c.stage].name, c.name),
        None => format!("no branch ({id})"),
    }
}

/// The words of a mask, the highest first.
fn mask(mask: &intf::place_mask, nw: usize) -> String {
    let words = mask.w[..nw].iter().rev().map(|w| format!("{w:016x}"));
    words.collect::<Vec<_>>().join(" ")
}

fn place(cpu: i32, at: &intf::place_where) -> String {
    format!(
        "CPU {cpu} (cache {}, local {}, core {}, node {}, cluster {}, online {})",
        at.llc, at.local, at.core, at.node, at.cluster, at.valid
    )
}

/// Everything that a decision read.
pub fn input(decision: &Decision) -> String {
    let (head, input) = (&decision.head, &decision.input);
    let flags = [
        (intf::place_in_flags_PLACE_IN_SYNC, "sync"),
        (
            intf::place_in_flags_PLACE_IN_WAKER_KTHREAD,
            "waker is a per-CPU kernel thread",
        ),
        (
            intf::place_in_flags_PLACE_IN_WAKER_ALLOWED,
            "waker's CPU allowed",
        ),
        (intf::place_in_flags_PLACE_IN_AFFINE_DOMAIN, "affine domain"),
    ];
    let flags = flags
        .iter()
        .filter(|(bit, _)| input.flags & bit != 0)
        .map(|(_, name)| *name);
    let mut text = format!(
        "at        {} ns, generation {}, CPU {}, thread {}, {} claims lost, claimed {}\n\
         waker     {}, {} runnable\n\
         previous  {}\n\
         recent    {}\n\
         flags     {:#x} {}\n",
        head.time_ns,
        head.generation,
        head.cpu,
        head.pid,
        head.lost,
        head.claimed,
        place(input.waker, &input.waker_at),
        input.waker_nr_running,
        place(input.prev, &input.prev_at),
        match input.recent {
            0.. => place(input.recent, &input.recent_at),
            _ => "none".into(),
        },
        input.flags,
        flags.collect::<Vec<_>>().join(", ")
    );
    let nw = usize::from(head.nw);
    for (n, view) in input.view[..usize::from(head.views)].iter().enumerate() {
        let cache = [input.prev_at.llc, input.waker_at.llc][n];
        text.push_str(&format!(
            "cache {cache}\n  idle       {}\n  idle core  {}\n  sched_idle {}\n  allowed    {}\n  \
             has_idle_cores {}, nr_idle_scan {}\n",
            mask(&view.idle, nw),
            mask(&view.idle_core, nw),
            mask(&view.sched_idle, nw),
            mask(&view.allowed, nw),
            view.has_idle_cores,
            view.nr_idle_scan
        ));
    }
    text
}

/// Two answers to the same input.
pub fn outs(recorded: &intf::place_out, replayed: &intf::place_out) -> String {
    let mut out = render::table(&["", "recorded", "replayed"]);
    let lines = |o: &intf::place_out| {
        [
            ("cpu", o.cpu.to_string()),
            ("target", o.target.to_string()),
            ("affine", branch(o.affine)),
            ("search", branch(o.search)),
            ("outcome", branch(o.outcome)),
            ("visited", o.visited.to_string()),
            ("effects", format!("{:#x}", o.effects)),
            ("idle", o.idle.to_string()),
            ("view", o.view.to_string()),
            ("local", o.local.to_string()),
        ]
    };
    for ((name, a), (_, b)) in lines(recorded).into_iter().zip(lines(replayed)) {
        out.add_row([name.to_string(), a, b]);
    }
    // Whatever else the structure has.
    format!("{}{recorded:?}\n{replayed:?}\n", render::lines(&out))
}

fn share(part: u64, whole: u64) -> String {
    format!("{:.1}", percent(part, whole))
}

fn per_decision(side: &Side, decisions: u64) -> String {
    format!("{:.2}", side.visited as f64 / decisions.max(1) as f64)
}

const FOUND: [(Found, &str); 3] = [
    (Found::IdleCore, "an idle core"),
    (Found::IdleThread, "an idle thread"),
    (Found::Nothing, "nothing"),
];

const DISTANCES: [(Distance, &str); 5] = [
    (Distance::SameCpu, "same CPU"),
    (Distance::SameCore, "same core"),
    (Distance::SameLlc, "same cache"),
    (Distance::SameNode, "same node"),
    (Distance::Farther, "farther"),
];

/// One other policy beside the recorded one.
pub fn comparison(c: &Comparison, end: Option<&End>) -> String {
    let n = c.decisions;
    let mut sides = render::table(&["% of decisions", "recorded", "other"]);
    for (found, name) in FOUND {
        let cells = [&c.recorded, &c.other].map(|s| share(s.found[found as usize], n));
        sides.add_row([format!("found {name}"), cells[0].clone(), cells[1].clone()]);
    }
    let missed = [&c.recorded, &c.other].map(|s| share(s.missed, n));
    sides.add_row(["idle CPU existed, not found", &missed[0], &missed[1]]);
    let visited = [&c.recorded, &c.other].map(|s| per_decision(s, n));
    sides.add_row(["CPUs visited, each", &visited[0], &visited[1]]);

    let heads = FOUND.map(|(_, name)| format!("other: {name}"));
    let heads: Vec<_> = std::iter::once("decisions")
        .chain(heads.iter().map(String::as_str))
        .collect();
    let mut agreement = render::table(&heads);
    for (found, name) in FOUND {
        let cells = c.agreement[found as usize].map(|count| count.to_string());
        agreement.add_row(std::iter::once(format!("recorded: {name}")).chain(cells));
    }

    let mut distance = render::table(&["other CPU than recorded", "decisions", "%"]);
    for (d, name) in DISTANCES {
        let count = c.of_distance(d);
        distance.add_row([name.to_string(), count.to_string(), share(count, n)]);
    }
    format!(
        "{}other     {}\n\n{}\n{}\n{}",
        totals(n, end),
        c.policy,
        render::lines(&sides),
        render::lines(&agreement),
        render::lines(&distance)
    )
}

/// All values of an axis, a line each, the recorded decisions first.
pub fn all(comparisons: &[Comparison], end: Option<&End>) -> String {
    let n = comparisons.first().map_or(0, |c| c.decisions);
    let mut out = render::table(&[
        "%", "core", "thread", "nothing", "missed", "visited", "same CPU", "sibling", "cache",
        "node", "farther",
    ]);
    let side = |name: String, s: &Side, distances: [u64; 5]| {
        let found = s.found.map(|f| share(f, n));
        let more = [share(s.missed, n), per_decision(s, n)];
        let distances = distances.map(|d| share(d, n));
        let cells = found.into_iter().chain(more).chain(distances);
        std::iter::once(name).chain(cells).collect::<Vec<_>>()
    };
    if let Some(first) = comparisons.first() {
        out.add_row(side("as recorded".into(), &first.recorded, [n, 0, 0, 0, 0]));
    }
    for c in comparisons {
        let name = c
            .policy
            .split_once('=')
            .map_or(c.policy.as_str(), |(_, v)| v);
        out.add_row(side(name.into(), &c.other, c.distance));
    }
    const LEGEND: &str = "core, thread, nothing: what was found; missed: nothing, although an \
        idle CPU existed; visited: CPUs a linear scan looks at, each; the rest: how far from the \
        recorded CPU, a sibling being a thread of the same core";
    let legend = render::wrap(LEGEND, 0);
    format!("{}\n{}\n{legend}\n", totals(n, end), render::lines(&out))
}
