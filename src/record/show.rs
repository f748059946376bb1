// SPDX-License-Identifier: GPL-2.0-only

//! Recordings, replays and comparisons as text.

use std::io::Read;

use super::answer::Record;
use super::compare::{Comparison, ForkComparison, ForkSide, Found, Side};
use super::decision::Decision;
use super::fork::Fork;
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
fn totals(wakeups: u64, forks: u64, end: Option<&End>) -> String {
    let (dropped, opaque) = end.map_or((0, 0), |e| (e.dropped, e.opaque));
    format!(
        "records   {} ({wakeups} wakeups, {forks} forks), {dropped} dropped, {opaque} not recordable\n",
        wakeups + forks
    )
}

/// The outcome of a replay.
pub fn replay(replay: &Replay) -> String {
    let [none, one, two, more] = replay.lost_claims;
    let mut text = format!(
        "{}claims    {none} won or not tried at once, {one} lost once, {two} twice, {more} more often\n\
         identical {} ({:.1} %)\n",
        totals(
            replay.records - replay.forks,
            replay.forks,
            replay.end.as_ref()
        ),
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
fn mask(words: &[u64]) -> String {
    let words = words.iter().rev().map(|w| format!("{w:016x}"));
    words.collect::<Vec<_>>().join(" ")
}

fn place(cpu: i32, at: &intf::place_where) -> String {
    format!(
        "CPU {cpu} (cache {}, local {}, core {}, node {}, cluster {}, online {})",
        at.llc, at.local, at.core, at.node, at.cluster, at.valid
    )
}

/// Everything that a decision read.
pub fn input(record: &Record) -> String {
    match record {
        Record::Wakeup(decision) => wakeup_input(decision),
        Record::Fork(fork) => fork_input(fork),
    }
}

/// The CPUs of the machine, a line each, as a fork saw them.
fn fork_input(fork: &Fork) -> String {
    let (head, input) = (&fork.head, &fork.input);
    let nw = usize::from(head.nw);
    let set = |words: &[u64]| mask(&words[..nw]);
    let mut text = format!(
        "at        {} ns, generation {}, a fork on CPU {}, thread {}, claimed {}\n\
         parent    CPU {}\n  idle       {}\n  allowed    {}\n",
        head.time_ns,
        head.generation,
        input.waker,
        head.pid,
        head.claimed,
        input.prev,
        set(&input.idle),
        set(&input.allowed)
    );
    for (number, cpu) in input.cpu.iter().enumerate() {
        // Those that are offline or absent have none.
        if cpu.capacity > 0 {
            text.push_str(&format!(
                "CPU {number}: load {}, load_avg {}, weight {} of {} tasks, utilisation {}, capacity {}, \
                 sched_idle {}, idle since {} ns, exit latency {} us\n",
                cpu.load,
                cpu.load_avg,
                cpu.weight,
                cpu.nr_running,
                cpu.util,
                cpu.capacity,
                cpu.sched_idle,
                cpu.idle_stamp_ns,
                cpu.exit_latency_us
            ));
        }
    }
    text
}

fn wakeup_input(decision: &Decision) -> String {
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
        (intf::place_in_flags_PLACE_IN_SYNC_EXITING, "sync, exiting"),
        (
            intf::place_in_flags_PLACE_IN_WAKEE_SCHED_IDLE,
            "wakee is SCHED_IDLE",
        ),
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
            mask(&view.idle.w[..nw]),
            mask(&view.idle_core.w[..nw]),
            mask(&view.sched_idle.w[..nw]),
            mask(&view.allowed.w[..nw]),
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

fn each(sum: u64, decisions: u64) -> String {
    format!("{:.2}", sum as f64 / decisions.max(1) as f64)
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
    let mut text = format!(
        "{}other     {}\n",
        totals(c.decisions, c.forks.decisions, end),
        c.policy
    );
    if c.concerns_wakeups {
        text.push_str(&wakeup_comparison(c));
    }
    if c.concerns_forks {
        text.push_str(&fork_comparison(&c.forks));
    }
    text
}

/// How far apart two policies' CPUs are, a distance a line.
fn distances(distance: &[u64; 5], n: u64) -> String {
    let mut out = render::table(&["other CPU than recorded", "decisions", "%"]);
    for (d, name) in DISTANCES {
        let count = distance[d as usize];
        out.add_row([name.to_string(), count.to_string(), share(count, n)]);
    }
    render::lines(&out)
}

fn fork_comparison(c: &ForkComparison) -> String {
    let n = c.decisions;
    let mut sides = render::table(&["% of forks", "recorded", "other"]);
    let mut row = |name: &str, of: fn(&ForkSide) -> u64| {
        let cells = [&c.recorded, &c.other].map(|side| share(of(side), n));
        sides.add_row([name, &cells[0], &cells[1]]);
    };
    row("not on the parent's CPU", |side| side.moved);
    row("on an idle CPU", |side| side.idle);
    let visited = [&c.recorded, &c.other].map(|side| each(side.visited, n));
    sides.add_row(["CPUs visited, each", &visited[0], &visited[1]]);
    format!("\n{}\n{}", render::lines(&sides), distances(&c.distance, n))
}

fn wakeup_comparison(c: &Comparison) -> String {
    let n = c.decisions;
    let mut sides = render::table(&["% of decisions", "recorded", "other"]);
    for (found, name) in FOUND {
        let cells = [&c.recorded, &c.other].map(|s| share(s.found[found as usize], n));
        sides.add_row([format!("found {name}"), cells[0].clone(), cells[1].clone()]);
    }
    let missed = [&c.recorded, &c.other].map(|s| share(s.missed, n));
    sides.add_row(["idle CPU existed, not found", &missed[0], &missed[1]]);
    let visited = [&c.recorded, &c.other].map(|s| each(s.visited, n));
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

    format!(
        "\n{}\n{}\n{}",
        render::lines(&sides),
        render::lines(&agreement),
        distances(&c.distance, n)
    )
}

/// All values of an axis, a line each, the recorded decisions first.
pub fn all(comparisons: &[Comparison], end: Option<&End>) -> String {
    let (wakeups, forks) = comparisons
        .first()
        .map_or((0, 0), |c| (c.decisions, c.forks.decisions));
    let mut text = totals(wakeups, forks, end);
    if comparisons.iter().any(|c| c.concerns_wakeups) {
        text.push_str(&all_wakeups(comparisons));
    }
    if comparisons.iter().any(|c| c.concerns_forks) {
        text.push_str(&all_forks(comparisons));
    }
    text
}

/// The value of a variant that differs in one axis.
fn value_name(c: &Comparison) -> String {
    let value = c.policy.split_once('=').map(|(_, value)| value);
    value.unwrap_or(&c.policy).into()
}

fn all_forks(comparisons: &[Comparison]) -> String {
    let n = comparisons.first().map_or(0, |c| c.forks.decisions);
    let mut out = render::table(&[
        "% of forks",
        "moved",
        "idle",
        "visited",
        "same CPU",
        "sibling",
        "cache",
        "node",
        "farther",
    ]);
    let side = |name: String, s: &ForkSide, distances: [u64; 5]| {
        let head = [
            name,
            share(s.moved, n),
            share(s.idle, n),
            each(s.visited, n),
        ];
        head.into_iter()
            .chain(distances.map(|d| share(d, n)))
            .collect::<Vec<_>>()
    };
    if let Some(first) = comparisons.first() {
        let recorded = &first.forks.recorded;
        out.add_row(side("as recorded".into(), recorded, [n, 0, 0, 0, 0]));
    }
    for c in comparisons {
        out.add_row(side(value_name(c), &c.forks.other, c.forks.distance));
    }
    const LEGEND: &str = "moved: not on the parent's CPU; idle: on an idle CPU; visited: CPUs \
        looked at, each; the rest: how far from the recorded CPU";
    format!("\n{}\n{}\n", render::lines(&out), render::wrap(LEGEND, 0))
}

fn all_wakeups(comparisons: &[Comparison]) -> String {
    let n = comparisons.first().map_or(0, |c| c.decisions);
    let mut out = render::table(&[
        "%", "core", "thread", "nothing", "missed", "visited", "same CPU", "sibling", "cache",
        "node", "farther",
    ]);
    let side = |name: String, s: &Side, distances: [u64; 5]| {
        let found = s.found.map(|f| share(f, n));
        let more = [share(s.missed, n), each(s.visited, n)];
        let distances = distances.map(|d| share(d, n));
        let cells = found.into_iter().chain(more).chain(distances);
        std::iter::once(name).chain(cells).collect::<Vec<_>>()
    };
    if let Some(first) = comparisons.first() {
        out.add_row(side("as recorded".into(), &first.recorded, [n, 0, 0, 0, 0]));
    }
    for c in comparisons {
        out.add_row(side(value_name(c), &c.other, c.distance));
    }
    const LEGEND: &str = "core, thread, nothing: what was found; missed: nothing, although an \
        idle CPU existed; visited: CPUs a linear scan looks at, each; the rest: how far from the \
        recorded CPU, a sibling being a thread of the same core";
    let legend = render::wrap(LEGEND, 0);
    format!("\n{}\n{legend}\n", render::lines(&out))
}
