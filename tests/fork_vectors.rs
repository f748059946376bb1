// SPDX-License-Identifier: GPL-2.0-only

//! Numbers of the specification's section C, new tasks: each branch of each rule of `fork`, and what
//! each value of `newload` gives a task. Tests are named after their section.

use scx_place::bpf_intf as intf;
use scx_place::policy::parse::parse_items;
use scx_place::policy::Policy;
use scx_place::record::raw;
use scx_place::topology::{Cpu, Layout, Machine};

use intf::place_counter_PLACE_CNT_fork_top_alone as ALONE;
use intf::place_counter_PLACE_CNT_fork_top_idle as IDLE_CPUS;
use intf::place_counter_PLACE_CNT_fork_top_load as LOAD;
use intf::place_counter_PLACE_CNT_fork_top_load_avg as LOAD_AVG;
use intf::place_counter_PLACE_CNT_fork_top_moved as MOVED;
use intf::place_counter_PLACE_CNT_fork_top_none as NONE;
use intf::place_counter_PLACE_CNT_fork_top_numa as NUMA;
use intf::place_counter_PLACE_CNT_fork_top_type as TYPE;

fn policy(item: &str) -> intf::place_policy {
    let items = parse_items(&[item]).expect("a policy");
    Policy::from_command_line(&items).to_native(1, 8)
}

/// One CPU as a fork sees it.
#[derive(Clone, Copy)]
struct Seen {
    load: u32,
    load_avg: u32,
    weight: u32,
    nr: u16,
    util: u16,
    idle: bool,
    sched_idle: bool,
    allowed: bool,
    stamp: u64,
    capacity: u16,
}

const IDLE: Seen = Seen {
    load: 0,
    load_avg: 0,
    weight: 0,
    nr: 0,
    util: 0,
    idle: true,
    sched_idle: false,
    allowed: true,
    stamp: 1,
    capacity: 1024,
};

/// A CPU with these loads of what is runnable, and of all.
fn loads(load: u32, load_avg: u32) -> Seen {
    Seen {
        load,
        load_avg,
        idle: false,
        ..IDLE
    }
}

/// A CPU that runs so many tasks of nice 0.
fn runs(nr: u16, load_avg: u32, util: u16) -> Seen {
    Seen {
        load_avg,
        weight: 1024 * u32::from(nr),
        nr,
        util,
        idle: nr == 0,
        ..IDLE
    }
}

fn weighs(weight: u32) -> Seen {
    Seen {
        weight,
        idle: false,
        ..IDLE
    }
}

fn forbidden(cpu: Seen) -> Seen {
    Seen {
        allowed: false,
        ..cpu
    }
}

/// CPUs in caches of this size and nodes of that many caches.
fn places(nr: usize, per_cache: usize, per_node: usize) -> Vec<Cpu> {
    let cpu = |id| Cpu {
        id,
        core: id,
        cluster: None,
        llc: id / per_cache,
        node: id / per_cache / per_node,
    };
    (0..nr).map(cpu).collect()
}

/// A fork on CPU `waker` whose parent was on `prev`, on these CPUs.
fn fork_from(rule: &str, places: &[Cpu], cpus: &[Seen], waker: i32, prev: i32) -> intf::place_out {
    let layout = Machine {
        nr_cpu_ids: cpus.len(),
        cpus: places.to_vec(),
        distance: vec![],
    }
    .layout();
    let rule = policy(&format!("fork={rule}")).axis[intf::place_axis_PLACE_AXIS_fork as usize];
    let mut input: Box<intf::place_fork_in> = raw::zeroed_box();
    (input.waker, input.prev) = (waker, prev);
    for (c, seen) in cpus.iter().enumerate() {
        let cpu = &mut input.cpu[c];
        (cpu.load, cpu.load_avg) = (seen.load, seen.load_avg);
        (cpu.weight, cpu.nr_running, cpu.util) = (seen.weight, seen.nr, seen.util);
        (cpu.capacity, cpu.idle_stamp_ns) = (seen.capacity, seen.stamp);
        cpu.sched_idle = seen.sched_idle.into();
        input.idle[0] |= u64::from(seen.idle) << c;
        input.allowed[0] |= u64::from(seen.allowed) << c;
    }
    let mut out: intf::place_out = raw::zeroed();
    raw::bytes_mut(&mut out).fill(0xff);
    // SAFETY: live structures.
    unsafe { intf::place_host_fork_levels(&mut *input, &*layout.levels, rule, &mut out) };
    assert_eq!(out.target, out.cpu);
    assert_eq!((out.view, out.local, out.effects), (0, 0, 0));
    out
}

/// The CPU that a fork on CPU 0 gets, and what the widest level decided.
fn fork(rule: &str, places: &[Cpu], cpus: &[Seen]) -> (i32, u32) {
    let out = fork_from(rule, places, cpus, 0, 0);
    (out.cpu, out.affine.into())
}

/// The same where each CPU is a node.
fn apart(rule: &str, cpus: &[Seen]) -> (i32, u32) {
    fork(rule, &places(cpus.len(), 1, 1), cpus)
}

/// The same where all share a cache.
fn together(rule: &str, cpus: &[Seen]) -> (i32, u32) {
    fork(rule, &places(cpus.len(), cpus.len(), 1), cpus)
}

/// The same in caches of two CPUs, within a node.
fn pairs(rule: &str, cpus: &[Seen]) -> (i32, u32) {
    fork(rule, &places(cpus.len(), 2, cpus.len()), cpus)
}

/// One CPU to a node, with these runnable loads and idle or not.
fn fork_v48(cpus: &[(u32, bool)]) -> intf::place_out {
    fork_v48_on(places(cpus.len(), 1, 1), cpus)
}

/// The same on these CPUs.
fn fork_v48_on(places: Vec<Cpu>, cpus: &[(u32, bool)]) -> intf::place_out {
    let seen = |&(load, idle): &(u32, bool)| Seen { load, idle, ..IDLE };
    let cpus: Vec<Seen> = cpus.iter().map(seen).collect();
    fork_from("v48", &places, &cpus, 0, 0)
}

#[test]
fn section_h1_8_fork_v48_find_group() {
    let to = |own, best| fork_v48(&[(own, false), (best, false)]);
    let stays = |own, best| {
        let out = to(own, best);
        let stays = out.cpu == 0;
        let branch = u32::from(out.search);
        assert_eq!(stays, branch == intf::place_counter_PLACE_CNT_fork_local);
        assert_eq!(
            stays,
            u32::from(out.outcome) == intf::place_counter_PLACE_CNT_fork_depth_none
        );
        assert!(stays || branch == intf::place_counter_PLACE_CNT_fork_machine);
        stays
    };
    // 100000 < 112 * 900 = 100800; 101000 is not; 0 < 0 is not.
    assert!(stays(1000, 900));
    assert!(!stays(1010, 900));
    assert!(!stays(0, 0));
    assert!(stays(0, 1));
}

/// 110, 117, 117, 125, 125: half of what is above 100, with the load of the other group at 100.
#[test]
fn section_c_5_imbalance_by_level() {
    let pair = |core, cluster: [usize; 2], llc, node| {
        let cpu = |id: usize| Cpu {
            id,
            core: [0, core][id],
            cluster: Some(cluster[id]),
            llc: [0, llc][id],
            node: [0, node][id],
        };
        vec![cpu(0), cpu(1)]
    };
    let levels = [
        (
            pair(0, [0, 0], 0, 0),
            105,
            intf::place_counter_PLACE_CNT_fork_core,
        ),
        (
            pair(1, [0, 0], 0, 0),
            108,
            intf::place_counter_PLACE_CNT_fork_llc,
        ),
        (
            pair(1, [0, 1], 0, 0),
            108,
            intf::place_counter_PLACE_CNT_fork_llc,
        ),
        (
            pair(1, [0, 1], 1, 0),
            112,
            intf::place_counter_PLACE_CNT_fork_node,
        ),
        (
            pair(1, [0, 1], 1, 1),
            112,
            intf::place_counter_PLACE_CNT_fork_machine,
        ),
    ];
    for (places, scale, branch) in levels {
        let to = |own| fork_v48_on(places.clone(), &[(own, false), (100, false)]);
        assert_eq!(to(scale - 1).cpu, 0, "{places:?}");
        assert_eq!(to(scale).cpu, 1, "{places:?}");
        assert_eq!(u32::from(to(scale).search), branch);
        let depth = u32::from(to(scale).outcome);
        assert_eq!(depth, intf::place_counter_PLACE_CNT_fork_depth_one);
    }
}

/// One row for each branch of each rule's comparison of groups, and where its thresholds are.
#[test]
fn section_c_5_to_8_each_branch_of_each_rule() {
    let busy = |nr: u16, load: u32| runs(nr, load, 900); // 900 * 117 > 1024 * 100
    let none: &[Seen] = &[IDLE];
    for rule in ["v2627", "v48", "fig_v1r1", "v410", "v612"] {
        assert_eq!(apart(rule, none), (0, NONE), "{rule}: one CPU");
        let alone = [IDLE, forbidden(IDLE)];
        assert_eq!(apart(rule, &alone), (0, ALONE), "{rule}: no other allowed");
    }

    // Half of 25 percent between nodes; also within a cache with v2.6.27, 17 later.
    assert_eq!(apart("v2627", &[weighs(1119), weighs(1000)]), (0, LOAD));
    assert_eq!(apart("v2627", &[weighs(1120), weighs(1000)]), (1, MOVED));
    assert_eq!(together("v2627", &[weighs(1119), weighs(1000)]), (0, LOAD));
    assert_eq!(together("v2627", &[weighs(1120), weighs(1000)]), (1, MOVED));
    assert_eq!(apart("v48", &[loads(1119, 0), loads(1000, 0)]), (0, LOAD));
    assert_eq!(apart("v48", &[loads(1120, 0), loads(1000, 0)]), (1, MOVED));
    assert_eq!(
        together("v48", &[loads(1079, 0), loads(1000, 0)]),
        (0, LOAD)
    );
    assert_eq!(
        together("v48", &[loads(1080, 0), loads(1000, 0)]),
        (1, MOVED)
    );
    assert_eq!(apart("v2627", &[weighs(0), weighs(0)]), (1, MOVED));

    // The margin is 256 between nodes, 174 within a cache.
    for rule in ["fig_v1r1", "v410"] {
        for (at, margin) in [(apart as fn(&str, &[Seen]) -> _, 256), (together, 174)] {
            let to = |best| at(rule, &[loads(300, 5000), loads(best, 0)]);
            assert_eq!(to(300 + margin), (1, MOVED), "{rule}");
            assert_eq!(to(301 + margin), (0, LOAD), "{rule}");
            // Beyond the margin the sleeping tasks do not matter.
            let to = |own| at(rule, &[loads(own, 0), loads(100, 5000)]);
            assert_eq!(to(100 + margin), (1, MOVED), "{rule}");
            assert_eq!(to(99 + margin), (0, LOAD_AVG), "{rule}");
        }
    }
    let v410 = |own, best| apart("v410", &[loads(300, own), loads(100, best)]);
    assert_eq!(v410(1119, 1000), (0, LOAD_AVG));
    assert_eq!(v410(1120, 1000), (1, MOVED));
    let fig = |own, best| apart("fig_v1r1", &[loads(300, own), loads(100, best)]);
    assert_eq!(fig(799, 1000), (0, LOAD_AVG));
    assert_eq!(fig(800, 1000), (1, MOVED));
    // 8 and 17 percent within a cache.
    let v410 = |own| together("v410", &[loads(200, own), loads(100, 1000)]);
    assert_eq!((v410(1079), v410(1080)), ((0, LOAD_AVG), (1, MOVED)));
    let fig = |own| together("fig_v1r1", &[loads(200, own), loads(100, 1170)]);
    assert_eq!((fig(999), fig(1000)), ((0, LOAD_AVG), (1, MOVED)));

    // One CPU to a node: one task is as many as there are CPUs.
    let v612 = |own, best| apart("v612", &[own, best]);
    assert_eq!(v612(IDLE, busy(1, 0)), (0, TYPE));
    assert_eq!(v612(busy(1, 0), IDLE), (1, MOVED));
    assert_eq!(v612(busy(1, 1024), busy(2, 0)), (0, TYPE));
    assert_eq!(v612(busy(2, 0), busy(1, 5000)), (1, MOVED));
    // An imbalance of one task, of as many as are allowed in the node.
    assert_eq!(v612(IDLE, IDLE), (0, NUMA));
    assert_eq!(v612(runs(1, 1024, 100), IDLE), (1, MOVED));
    assert_eq!(v612(forbidden(IDLE), busy(1, 5000)), (1, MOVED));
    // The margin of 174 counts against the other node, then 17 percent.
    assert_eq!(v612(busy(1, 1500), busy(1, 1326)), (0, NUMA));
    assert_eq!(v612(busy(1, 1500), busy(1, 1325)), (0, LOAD));
    assert_eq!(v612(busy(1, 1500), busy(1, 1283)), (0, LOAD));
    assert_eq!(v612(busy(1, 1500), busy(1, 1282)), (1, MOVED));
    let v612 = |own, best| together("v612", &[own, best]);
    assert_eq!(v612(IDLE, IDLE), (0, IDLE_CPUS));
    assert_eq!(v612(runs(1, 1024, 100), IDLE), (1, MOVED));
    assert_eq!(v612(busy(1, 1000), busy(1, 855)), (0, LOAD));
    assert_eq!(v612(busy(1, 1000), busy(1, 854)), (1, MOVED));
}

/// 110 between the threads of a core, whatever the kernel.
#[test]
fn section_c_5_to_8_threads_of_a_core() {
    let mut core = places(2, 2, 1);
    core[1].core = 0;
    let to = |rule, own, best| fork(rule, &core, &[own, best]);
    for rule in ["v2627", "v48"] {
        let both = |n| Seen {
            load: n,
            ..weighs(n)
        };
        assert_eq!(to(rule, both(1049), both(1000)), (0, LOAD), "{rule}");
        assert_eq!(to(rule, both(1050), both(1000)), (1, MOVED), "{rule}");
    }
    for rule in ["fig_v1r1", "v410"] {
        assert_eq!(to(rule, loads(0, 9), loads(102, 0)), (1, MOVED), "{rule}");
        assert_eq!(to(rule, loads(0, 9), loads(103, 0)), (0, LOAD), "{rule}");
    }
    let busy = |load| runs(1, load, 1000);
    assert_eq!(to("v612", busy(1100), busy(1000)), (0, LOAD));
    assert_eq!(to("v612", busy(1101), busy(1000)), (1, MOVED));
}

/// An own group where the task may not run counts as not loaded; with v6.12 it is left.
#[test]
fn section_c_5_to_8_own_group_not_allowed() {
    let to = |rule, best| apart(rule, &[forbidden(loads(9999, 9999)), best]);
    assert_eq!(to("v48", loads(0, 0)), (1, MOVED));
    assert_eq!(to("v48", loads(1, 0)), (0, LOAD));
    for rule in ["fig_v1r1", "v410"] {
        assert_eq!(to(rule, loads(256, 0)), (1, MOVED), "{rule}");
        assert_eq!(to(rule, loads(256, 1)), (0, LOAD_AVG), "{rule}");
        assert_eq!(to(rule, loads(257, 0)), (0, LOAD), "{rule}");
    }
    assert_eq!(to("v612", runs(9, 9999, 1024)), (1, MOVED));
}

/// H.1, vector 9: a margin of 256.
#[test]
fn section_h1_9_v410() {
    let to = |run, avg| apart("v410", &[loads(run, avg), loads(100, 1000)]);
    assert_eq!((to(300, 1000), to(300, 1120)), ((0, LOAD_AVG), (1, MOVED)));
    assert_eq!((to(355, 1000), to(356, 1000)), ((0, LOAD_AVG), (1, MOVED)));
    assert_eq!(to(400, 0), (1, MOVED));
}

/// How the best of several groups is found, from the first one behind the own on.
#[test]
fn section_c_7_the_best_group() {
    let own = loads(2000, 2000);
    let best = |rule, a, b| apart(rule, &[own, a, b]).0;
    let a = loads(500, 1000);
    // Less runnable load by more than the margin, whatever sleeps.
    assert_eq!(best("v410", a, loads(243, 5000)), 2);
    assert_eq!(best("v410", a, loads(244, 5000)), 1);
    // Within it, 12 percent less load with what sleeps; 25 percent of the prototype.
    assert_eq!(best("v410", a, loads(300, 892)), 2);
    assert_eq!(best("v410", a, loads(300, 893)), 1);
    assert_eq!(best("fig_v1r1", a, loads(300, 799)), 2);
    assert_eq!(best("fig_v1r1", a, loads(300, 800)), 1);
    // Above the margin nothing helps.
    assert_eq!(best("v410", a, loads(755, 0)), 2);
    assert_eq!(best("v410", a, loads(756, 0)), 1);
    // Such a group does not bring its runnable load: that stays 500, from which 756 is too far.
    let b = loads(700, 500);
    assert_eq!(apart("v410", &[loads(755, 400), a, b]), (0, LOAD_AVG));
    assert_eq!(apart("v410", &[loads(756, 400), a, b]), (2, MOVED));
}

#[test]
fn section_c_8_the_best_group() {
    let full = runs(1, 1500, 900);
    let best = |a: [Seen; 2], b: [Seen; 2]| pairs("v612", &[full, full, a[0], a[1], b[0], b[1]]).0;
    let light = |util| runs(1, 100, util);
    // More idle CPUs, then less utilisation; the first of two alike.
    assert_eq!(best([light(9), IDLE], [IDLE, IDLE]), 4);
    assert_eq!(best([light(9), IDLE], [light(8), IDLE]), 5);
    assert_eq!(best([light(9), IDLE], [light(9), IDLE]), 3);
    // A CPU that is idle and has a task is none.
    let coming = Seen {
        nr: 1,
        weight: 1024,
        ..IDLE
    };
    assert_eq!(best([light(9), coming], [light(50), IDLE]), 5);
    // The type comes first: no idle CPU, but not full, against a full one; overloaded is worst.
    assert_eq!(best([light(90), light(90)], [full, full]), 2);
    let three = runs(3, 100, 900);
    assert_eq!(best([three, three], [full, full]), 0);
    let fuller = runs(2, 9000, 1024);
    let to = |a: Seen, b: Seen| pairs("v612", &[fuller, fuller, a, a, b, b]);
    assert_eq!(to(three, full), (4, MOVED));
    // Of busy ones the least load.
    assert_eq!(to(runs(1, 1600, 900), full), (4, MOVED));
    assert_eq!(to(full, runs(1, 1600, 900)), (2, MOVED));
    assert_eq!(to(full, full), (2, MOVED));
}

/// Where groups change their type: 2 CPUs, 117 percent.
#[test]
fn section_c_8_types() {
    // Between a busy group and one of these, with hardly less load: it moves to spare capacity, stays
    // with a busy one, and the own group is less full than an overloaded one.
    let to = |a: Seen, b: Seen| {
        let load = (a.load_avg + b.load_avg) / 2;
        let own = runs(1, load + 8, 900);
        let own = Seen {
            capacity: a.capacity,
            ..own
        };
        pairs("v612", &[own, own, a, b]).1
    };
    let (spare, busy, overloaded) = (MOVED, LOAD, TYPE);
    // Utilisation: 2048 * 100 / 117 = 1750.4.
    assert_eq!(to(runs(1, 1024, 875), runs(1, 1024, 875)), spare);
    assert_eq!(to(runs(1, 1024, 876), runs(1, 1024, 875)), busy);
    assert_eq!(to(runs(2, 1024, 875), runs(1, 1024, 875)), spare);
    assert_eq!(to(runs(2, 1024, 876), runs(1, 1024, 875)), overloaded);
    // Runnable: 2048 * 117 / 100 = 2396.2.
    assert_eq!(to(runs(1, 1198, 0), runs(1, 1198, 0)), spare);
    assert_eq!(to(runs(1, 1198, 0), runs(1, 1199, 0)), busy);
    assert_eq!(to(runs(2, 1198, 0), runs(1, 1198, 0)), spare);
    assert_eq!(to(runs(2, 1198, 0), runs(1, 1199, 0)), overloaded);
    // A task less than CPUs is enough, a task more is not.
    assert_eq!(to(runs(1, 9000, 1024), runs(0, 9000, 1024)), spare);
    assert_eq!(to(runs(2, 100, 0), runs(1, 100, 0)), spare);
    // Both limits themselves: 2000 * 117 = 2340 * 100; 234 * 100 = 200 * 117.
    let of = |capacity, cpu: Seen| Seen { capacity, ..cpu };
    let runnable = |nr| to(of(1000, runs(nr, 1170, 0)), of(1000, runs(1, 1170, 0)));
    assert_eq!((runnable(1), runnable(2)), (spare, spare));
    let util = |nr| to(of(117, runs(nr, 100, 100)), of(117, runs(1, 100, 100)));
    assert_eq!((util(1), util(2)), (busy, busy));
    // Tasks of another weight count as tasks.
    let heavy = |load| Seen {
        weight: 88_761,
        ..runs(1, load, 0)
    };
    assert_eq!(to(heavy(88_761), heavy(88_761)), spare);
    assert_eq!(to(heavy(110_000), heavy(110_000)), busy);
    let light = |load| Seen {
        weight: 15,
        ..runs(1, load, 0)
    };
    assert_eq!(to(light(17), light(17)), spare, "2320");
    // Of so light ones 8 is much.
    let own = runs(1, 15, 900);
    assert_eq!(
        pairs("v612", &[own, own, light(18), light(18)]).1,
        busy,
        "2456"
    );
}

/// The CPU of the group.
#[test]
fn section_c_5_the_cpu_of_a_group() {
    let own = Seen {
        load: 5000,
        ..runs(9, 9000, 1024)
    };
    // v2.6.27 does not see idleness.
    let to = |a, b| pairs("v2627", &[weighs(5000), weighs(5000), a, b]).0;
    let idle = Seen {
        weight: 200,
        ..IDLE
    };
    assert_eq!((to(weighs(100), idle), to(weighs(300), idle)), (2, 3));
    assert_eq!(to(weighs(200), idle), 2);
    // Later ones take the CPU that idled last, else the least loaded one; the loads are such that the
    // walk stays there.
    let since = |stamp| Seen {
        stamp,
        load: 5,
        load_avg: 5,
        ..IDLE
    };
    for rule in ["v48", "v410", "v612"] {
        let to = |a, b| pairs(rule, &[own, own, a, b]).0;
        assert_eq!(
            (to(since(2), since(3)), to(since(3), since(2))),
            (3, 2),
            "{rule}"
        );
        assert_eq!(to(since(2), since(2)), 2, "{rule}");
        assert_eq!(to(loads(5, 5), since(1)), 3, "{rule}");
        assert_eq!(to(loads(5, 5), loads(4, 4)), 3, "{rule}");
        assert_eq!(to(loads(4, 4), loads(4, 4)), 2, "{rule}");
    }
    // v6.12 compares the load with what sleeps, the others do not.
    let (a, b) = (loads(4, 5), loads(5, 4));
    assert_eq!(pairs("v48", &[own, own, a, b]).0, 2);
    assert_eq!(pairs("v612", &[own, own, a, b]).0, 3);
    // One that runs SCHED_IDLE tasks alone comes before idle ones that were met before.
    let only = Seen {
        sched_idle: true,
        ..since(0)
    };
    assert_eq!(pairs("v612", &[own, own, since(1), only]).0, 3);
    assert_eq!(pairs("v48", &[own, own, since(1), only]).0, 2);
}

/// From v4.10 on a group of one CPU is taken without a look, which matters to one without an idle stamp.
#[test]
fn section_c_5_groups_of_one_cpu() {
    let unknown = Seen { stamp: 0, ..IDLE };
    let cpus = [
        Seen {
            load: 5000,
            ..runs(2, 5000, 1024)
        },
        unknown,
    ];
    for (rule, cpu, visited) in [
        ("v48", 0, 3),
        ("fig_v1r1", 0, 3),
        ("v410", 1, 2),
        ("v612", 1, 2),
    ] {
        let out = fork_from(rule, &places(2, 1, 1), &cpus, 0, 0);
        assert_eq!((out.cpu, out.visited), (cpu, visited), "{rule}");
    }
    // v6.12 ends at a CPU with nothing but SCHED_IDLE tasks.
    let only = Seen {
        sched_idle: true,
        ..unknown
    };
    let cpus = [cpus[0], cpus[0], only, IDLE];
    let out = fork_from("v612", &places(4, 2, 4), &cpus, 0, 0);
    // Four CPUs in two groups, one of the group, two of its cache.
    assert_eq!((out.cpu, out.visited), (2, 7));
}

/// A parent that moved while it forked: v6.12 stays where the fork is executed, if it may.
#[test]
fn section_c_5_nothing_moved() {
    let at = places(2, 2, 1);
    let cpus = [IDLE, runs(1, 0, 900)];
    let prev = |rule, cpus: &[Seen]| fork_from(rule, &at, cpus, 0, 1).cpu;
    assert_eq!(prev("v612", &cpus), 0);
    assert_eq!(prev("v48", &[loads(0, 0), loads(1, 0)]), 1);
    assert_eq!(prev("v612", &[forbidden(IDLE), forbidden(IDLE)]), 1);
    assert_eq!(prev("v612", &[IDLE, forbidden(IDLE)]), 0);
    // Only another CPU is allowed.
    assert_eq!(prev("v612", &[forbidden(IDLE), runs(9, 9999, 1024)]), 1);
    // No level at all.
    assert_eq!(fork_from("v612", &places(1, 1, 1), &[IDLE], 0, 0).cpu, 0);
}

/// How many tasks v6.12 leaves together before it spreads them over nodes.
#[test]
fn section_c_8_allowed_imbalance() {
    // Nodes, caches in each, CPUs in each; nodes of a socket are 12 apart, others 20.
    let layout = |nodes: usize, caches: usize, cpus: usize, per_socket: usize| -> Layout {
        let distance = |a: usize, b: usize| match (a == b, a / per_socket == b / per_socket) {
            (true, _) => 10,
            (_, true) => 12,
            _ => 20,
        };
        Machine {
            nr_cpu_ids: nodes * caches * cpus,
            cpus: places(nodes * caches * cpus, cpus, caches),
            distance: (0..nodes)
                .map(|a| (0..nodes).map(|b| distance(a, b)).collect())
                .collect(),
        }
        .layout()
    };
    let of = |l: &Layout| -> Vec<u32> {
        let imb = |position: u32| -> Vec<u32> {
            // SAFETY: a live structure.
            let at =
                |level| unsafe { intf::place_host_fork_imb_numa_nr(&*l.levels, level, position) };
            (0..l.levels.nr_levels).map(at).collect()
        };
        // The same everywhere.
        assert_eq!(imb(0), imb(l.levels.nr_cpus - 1));
        imb(0)
    };
    // Two sockets of eight caches of 16 CPUs, in one, two and four nodes each.
    assert_eq!(of(&layout(2, 8, 16, 1)), [0, 0, 8]);
    assert_eq!(of(&layout(4, 4, 16, 2)), [0, 0, 4, 8]);
    assert_eq!(of(&layout(8, 2, 16, 4)), [0, 0, 2, 4]);
    // One cache to a node: an eighth of its CPUs, at least one.
    assert_eq!(of(&layout(2, 1, 16, 1)), [0, 2]);
    assert_eq!(of(&layout(2, 1, 15, 1)), [0, 1]);
    assert_eq!(of(&layout(2, 1, 7, 1)), [0, 1]);
    assert_eq!(of(&layout(4, 1, 16, 2)), [0, 2, 4]);
    assert_eq!(of(&layout(6, 1, 1, 2)), [1, 3]);
}

/// Two tasks of 16 CPUs, and two idle CPUs more or less.
#[test]
fn section_c_8_imbalance_between_nodes() {
    let light = runs(1, 100, 50);
    let to = |own: usize, other: usize, allowed: usize| {
        let mut cpus = vec![IDLE; 32];
        cpus[..own].fill(light);
        cpus[16..16 + other].fill(light);
        for cpu in &mut cpus[allowed..16] {
            cpu.allowed = false;
        }
        fork("v612", &places(32, 16, 1), &cpus).1
    };
    assert_eq!(to(1, 0, 16), NUMA);
    assert_eq!(to(1, 3, 16), NUMA);
    assert_eq!(to(1, 4, 16), IDLE_CPUS);
    assert_eq!(to(2, 0, 16), MOVED);
    assert_eq!(to(0, 2, 16), NUMA);
    // With one allowed CPU no more than one task; of 16 idle ones only that counts.
    assert_eq!(to(0, 14, 1), NUMA);
    assert_eq!(to(1, 16, 1), IDLE_CPUS);
    assert_eq!(to(1, 14, 1), MOVED);
}

/// The load that a new task is given: its weight at once; then what the queue's tasks use per weight,
/// at most half of what is left.
#[test]
fn newload_full_of_v612() {
    let start = |policy: &intf::place_policy, util_avg, load_avg, capacity| {
        // SAFETY: plain integers, for which zero is a value; then live structures.
        unsafe {
            let mut t: intf::pelt_task = std::mem::zeroed();
            let mut q: intf::pelt_queue = std::mem::zeroed();
            (q.util_avg, q.load_avg) = (util_avg, load_avg);
            intf::place_host_new_task_load(policy, &mut t, 512);
            intf::place_host_new_task_attach(policy, &mut t, &mut q, 512, capacity);
            (t.load_avg, t.util_avg)
        }
    };
    let (none, full) = (policy("newload=none"), policy("newload=full"));
    assert_eq!(start(&none, 0, 0, 1024), (0, 0));
    assert_eq!(start(&none, 100, 1000, 1024), (0, 0));
    // Nothing there: half of the CPU. Full, or all but one: nothing.
    assert_eq!(start(&full, 0, 0, 1024), (512, 512));
    assert_eq!(start(&full, 0, 0, 300), (512, 150));
    assert_eq!(start(&full, 1024, 2000, 1024), (512, 0));
    assert_eq!(start(&full, 1025, 2000, 1024), (512, 0));
    assert_eq!(start(&full, 1023, 2000, 1024), (512, 0));
    assert_eq!(start(&full, 1022, 2000, 1024), (512, 1));
    // 100 * 512 / 1024 = 50; 300 * 512 / 301 = 510, more than half of 724; one at the limit.
    assert_eq!(start(&full, 100, 1023, 1024), (512, 50));
    assert_eq!(start(&full, 300, 300, 1024), (512, 362));
    assert_eq!(start(&full, 2, 1, 1024), (512, 511));
    assert_eq!(start(&full, 2, 0, 1024), (512, 511));
}

#[test]
fn section_c_5_ties_go_to_the_first_group_behind() {
    let cpus = [(2000, false), (500, false), (500, true), (600, true)];
    assert_eq!(fork_v48(&cpus).cpu, 1);
    // To be claimed only where it is idle.
    assert_eq!(fork_v48(&cpus).idle, 0);
    let out = fork_v48(&[(2000, false), (501, false), (500, true)]);
    assert_eq!((out.cpu, out.idle), (2, 1));
    // One look at each CPU, and one at the CPU of the group.
    assert_eq!(out.visited, 4);
}

#[test]
fn section_c_5_stay_needs_no_table() {
    let stay = policy("fork=stay");
    let needs = |rule: &str| {
        let policy = policy(&format!("fork={rule}"));
        // SAFETY: a live structure.
        unsafe { intf::place_host_fork_needs_cpus(&policy) }
    };
    let (load, load_avg) = (
        intf::place_fork_facts_PLACE_FORK_LOAD,
        intf::place_fork_facts_PLACE_FORK_LOAD_AVG,
    );
    let (weight, util) = (
        intf::place_fork_facts_PLACE_FORK_WEIGHT,
        intf::place_fork_facts_PLACE_FORK_UTIL,
    );
    assert_eq!(
        ["stay", "v2627", "v48", "fig_v1r1", "v410", "v612"].map(needs),
        [
            0,
            weight,
            load,
            load | load_avg,
            load | load_avg,
            load_avg | weight | util
        ]
    );
    assert_eq!(
        load | load_avg | weight | util,
        intf::place_fork_facts_PLACE_FORK_ALL
    );
    // SAFETY: plain integers, for which zero is a value; then live structures.
    let out = unsafe {
        let mut input: Box<intf::place_in> = Box::new(std::mem::zeroed());
        input.prev = 5;
        input.waker = 6;
        let mut out: intf::place_out = std::mem::zeroed();
        raw::bytes_mut(&mut out).fill(0xff);
        intf::place_host_fork(&stay, &*input, &mut out);
        out
    };
    assert_eq!((out.cpu, out.target, out.idle, out.visited), (5, 5, 0, 0));
    assert_eq!((u32::from(out.affine), out.effects), (NONE, 0));
    assert_eq!(
        u32::from(out.search),
        intf::place_counter_PLACE_CNT_fork_stay
    );
}
