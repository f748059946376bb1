// SPDX-License-Identifier: GPL-2.0-only

//! The idle searches that are no longer in the kernel or never were, as plainly as they can be
//! written: one rule after the other from the first to the last line, whatever they have in common.

use super::affine_history::is_hot;
use super::{is_idle_core, mainline_46, Facts, Search, Throttle, Topology};

/// Section A.0, `scan_2637`.
pub(super) fn scan_2637(
    t: &Topology,
    f: &Facts,
    target: usize,
    s: &mut Search,
) -> (usize, &'static str) {
    let idle = |c: usize| f.idle.contains(&c);
    if (target == f.waker || target == f.prev) && idle(target) {
        return (target, "target_idle");
    }
    // The kernel drops a domain of one CPU, and one that spans what the next smaller one does.
    let (core, llc) = (t.core(target), t.llc(target));
    let mut domains = Vec::new();
    if core.len() > 1 && core != llc {
        domains.push((core, "smt_target"));
    }
    if llc.len() > 1 {
        domains.push((llc, "thread"));
    }
    let mut chosen = (target, "nothing");
    for (domain, branch) in domains {
        for &c in domain {
            if f.allowed.contains(&c) {
                s.visited += 1;
                if idle(c) {
                    chosen = (c, branch);
                    break;
                }
            }
        }
        if domain.contains(&f.waker) && domain.contains(&f.prev) {
            break;
        }
    }
    chosen
}

/// The first idle allowed CPU of the target's cache, ascending.
fn first_of_cache(t: &Topology, f: &Facts, target: usize, s: &mut Search) -> Option<usize> {
    for &c in t.llc(target) {
        if f.allowed.contains(&c) {
            s.visited += 1;
            if f.idle.contains(&c) {
                return Some(c);
            }
        }
    }
    None
}

/// Section A.2, `mason_first`.
pub(super) fn mason_first(
    t: &Topology,
    f: &Facts,
    target: usize,
    s: &mut Search,
) -> (usize, &'static str) {
    if f.idle.contains(&target) {
        return (target, "target_idle");
    }
    if f.prev != target && t.share_cache(f.prev, target) && f.idle.contains(&f.prev) {
        return (f.prev, "prev_idle");
    }
    // No domain of shared cache.
    if t.llc(target).len() == 1 {
        return (target, "nothing");
    }
    match first_of_cache(t, f, target, s) {
        Some(c) => (c, "thread"),
        None => (target, "nothing"),
    }
}

/// Section A.2, `mason_pkg`.
pub(super) fn mason_pkg(
    t: &Topology,
    f: &Facts,
    target: usize,
    migration_cost_us: u32,
    s: &mut Search,
) -> (usize, &'static str) {
    let (cpu, branch) = mainline_46(t, f, target, s);
    if branch != "nothing" || t.llc(target).len() == 1 {
        return (cpu, branch);
    }
    let nr_running = if target == f.waker {
        f.waker_nr_running
    } else {
        f.prev_nr_running
    };
    if nr_running > 1 {
        s.throttled = true;
        return (target, "bounce_busy");
    }
    if is_hot(f.history.since_ran_ns, migration_cost_us) {
        s.throttled = true;
        return (target, "bounce_hot");
    }
    match first_of_cache(t, f, target, s) {
        Some(c) => (c, "thread"),
        None => (target, "nothing"),
    }
}

/// Section A.5, `sis_avg_cpu` and, `prop`, `sis_prop`, in the frame of v5.10.
pub(super) fn sis_510(
    t: &Topology,
    f: &Facts,
    target: usize,
    Throttle { fudge, look_ns }: Throttle,
    prop: bool,
    s: &mut Search,
) -> (usize, &'static str) {
    let free = |c: usize| f.idle.contains(&c) || f.sched_idle.contains(&c);
    if free(target) {
        return (target, "target_idle");
    }
    if f.prev != target && t.share_cache(f.prev, target) && free(f.prev) {
        return (f.prev, "prev_idle");
    }
    if f.waker_is_kthread && f.prev == f.waker && f.waker_nr_running <= 1 {
        return (f.prev, "kthread_stack");
    }
    if let Some(recent) = f.recent {
        if recent != f.prev
            && recent != target
            && t.share_cache(recent, target)
            && free(recent)
            && f.allowed.contains(&recent)
        {
            s.set_recent = true;
            return (recent, "recent_idle");
        }
    }
    let llc = t.llc(target);
    if llc.len() == 1 {
        return (target, "nothing");
    }
    let smt = llc.iter().any(|&c| t.core(c).len() > 1);
    let candidates: Vec<usize> = t
        .wrap(target)
        .into_iter()
        .filter(|c| llc.contains(c) && f.allowed.contains(c))
        .collect();

    if smt && f.has_idle_cores.contains(&t.cpu(target).llc) {
        let mut left = candidates.clone();
        while let Some(&c) = left.first() {
            s.visited += 1;
            if is_idle_core(f, t.core(c)) {
                return (c, "core");
            }
            left.retain(|other| !t.core(c).contains(other));
        }
        s.clear_idle_cores = true;
    }

    let mut branch = "nothing";
    if t.llc(f.waker).len() > 1 {
        match select_idle_cpu(f, &candidates, llc.len(), fudge, look_ns, prop, s) {
            Ok(c) => return (c, "thread"),
            Err(why) => branch = why,
        }
    }

    if smt {
        for &c in t.core(target) {
            if f.allowed.contains(&c) {
                s.visited += 1;
                if free(c) {
                    return (c, "smt_target");
                }
            }
        }
    }
    (target, branch)
}

/// The scan of v5.10 for a thread, or why it found none.
fn select_idle_cpu(
    f: &Facts,
    candidates: &[usize],
    span_weight: usize,
    fudge: u32,
    look_ns: u32,
    prop: bool,
    s: &mut Search,
) -> Result<usize, &'static str> {
    let avg_idle = f.avg_idle_ns / u64::from(fudge);
    let avg_cost = u64::from(f.scan_cost_ns) + 1;
    let mut nr = i64::MAX;
    if prop {
        let span_avg = span_weight as u64 * avg_idle;
        nr = if span_avg > 4 * avg_cost {
            (span_avg / avg_cost) as i64
        } else {
            4
        };
    } else if avg_idle < avg_cost {
        s.throttled = true;
        return Err("throttled");
    }
    let (mut looks, mut found) = (0, Err("nothing"));
    for &c in candidates {
        nr -= 1;
        if nr == 0 {
            s.throttled = true;
            return Err("budget_spent");
        }
        looks += 1;
        s.visited += 1;
        if f.idle.contains(&c) || f.sched_idle.contains(&c) {
            found = Ok(c);
            break;
        }
    }
    let cost = i64::from(f.scan_cost_ns);
    let time = looks * i64::from(look_ns);
    s.scan_cost = Some((cost + (time - cost) / 8) as u32);
    found
}

/// Section A.5, `sis_util`, in the frame of v6.1: no clusters.
pub(super) fn sis_util(
    t: &Topology,
    f: &Facts,
    target: usize,
    s: &mut Search,
) -> (usize, &'static str) {
    let free = |c: usize| f.idle.contains(&c) || f.sched_idle.contains(&c);
    if free(target) {
        return (target, "target_idle");
    }
    if f.prev != target && t.share_cache(f.prev, target) && free(f.prev) {
        return (f.prev, "prev_idle");
    }
    if f.waker_is_kthread && f.prev == f.waker && f.waker_nr_running <= 1 {
        return (f.prev, "kthread_stack");
    }
    s.set_recent = true;
    if let Some(recent) = f.recent {
        if recent != f.prev
            && recent != target
            && t.share_cache(recent, target)
            && free(recent)
            && f.allowed.contains(&recent)
        {
            return (recent, "recent_idle");
        }
    }
    let llc = t.llc(target);
    let has_idle_core = t.smt && f.has_idle_cores.contains(&t.cpu(target).llc);
    if t.smt && !has_idle_core && t.share_cache(f.prev, target) {
        for &c in t.core(f.prev) {
            if c != f.prev && f.allowed.contains(&c) && free(c) {
                return (c, "smt_prev");
            }
        }
    }

    let mut nr = f.nr_idle_scan[t.cpu(target).llc] + 1;
    if nr == 1 {
        s.throttled = true;
        return (target, "no_budget");
    }
    let mut left: Vec<usize> = t
        .wrap(target + 1)
        .into_iter()
        .filter(|c| llc.contains(c) && f.allowed.contains(c))
        .collect();
    let mut thread = None;
    while let Some(&c) = left.first() {
        if has_idle_core {
            s.visited += 1;
            let core = t.core(c);
            if is_idle_core(f, core) {
                return (c, "core");
            }
            let seen = core.iter().find(|c| free(**c) && f.allowed.contains(c));
            thread = thread.or(seen.copied());
            left.retain(|other| !core.contains(other));
        } else {
            nr -= 1;
            if nr == 0 {
                s.throttled = true;
                return (target, "budget_spent");
            }
            s.visited += 1;
            if free(c) {
                return (c, "thread");
            }
            left.remove(0);
        }
    }
    s.clear_idle_cores |= has_idle_core;
    match thread {
        Some(c) => (c, "core_thread"),
        None => (target, "nothing"),
    }
}
