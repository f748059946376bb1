// SPDX-License-Identifier: GPL-2.0-only

//! Recordings as files: written and read back on random machines, replayed, compared, and damaged in
//! every way.  `PLACE_PROPTEST_CASES` sets the number of cases.

mod machines;
#[allow(dead_code)] // the rules themselves are tested elsewhere
mod naive;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use machines::{fork_moment, moment, recipe, ForkMoment, IdleCores, Moment, Recipe, Scene};
use scx_place::bpf_intf as intf;
use scx_place::policy::parse::parse_items;
use scx_place::policy::Policy;
use scx_place::record::answer::Record;
use scx_place::record::decision::Decision;
use scx_place::record::fork::Fork;
use scx_place::record::format::{frame, End, Info, Reader, Writer, FILE_HEAD, FRAME_HEAD};
use scx_place::record::tables::{Distance, Tables};
use scx_place::record::{compare, raw, replay, show};

const GENERATION: u32 = 3;

fn config() -> ProptestConfig {
    let cases = std::env::var("PLACE_PROPTEST_CASES").ok();
    ProptestConfig {
        cases: cases.and_then(|n| n.parse().ok()).unwrap_or(300),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Policies that differ in every placement axis that is read.
fn policy() -> impl Strategy<Value = Policy> {
    let searches = proptest::sample::select(vec![
        "none",
        "scan_2637",
        "mainline_46",
        "mason_first",
        "mason_pkg",
        "peter_rfc",
        "sis_49",
        "sis_avg_cpu",
        "sis_prop",
        "sis_util",
        "sis_modern",
    ]);
    let affines = proptest::sample::select(vec![
        "off",
        "always",
        "v2626",
        "v2627",
        "v2637",
        "v2638rc",
        "v2638",
        "v2638_nohot",
        "v46",
        "wa_414",
    ]);
    let forks = prop_oneof![
        Just("stay"),
        Just("v2627"),
        Just("v48"),
        Just("fig_v1r1"),
        Just("v410"),
        Just("v612"),
    ];
    (searches, affines, forks).prop_map(|(search, affine, fork)| {
        let items = [
            format!("idle_search={search}"),
            format!("affine={affine}"),
            format!("fork={fork}"),
        ];
        Policy::from_command_line(&parse_items(&items).expect("valid"))
    })
}

/// What the BPF program would have written at a moment.
fn decision(scene: &Scene, m: &Moment, policy: &Policy) -> Decision {
    let facts = scene.facts(m);
    let nw = scene.layout.llc_words as usize;
    let mut head: intf::place_record = raw::zeroed();
    head.time_ns = 1;
    head.type_ = intf::place_record_type_PLACE_RECORD_WAKEUP;
    head.generation = GENERATION;
    head.cpu = facts.waker as u32;
    head.nw = nw as u16;
    let input = scene.place_in(&facts, nw, m.garbage);
    head.views = 1 + u8::from(input.waker_at.llc != input.prev_at.llc);
    let mut decision = Decision {
        head,
        input,
        out: raw::zeroed(),
    };
    let native = policy.to_native(GENERATION, 8);
    decision.out = decision.decide(&native, &Tables::from(&scene.layout));
    decision
}

/// The same at a fork.
fn fork(scene: &Scene, m: &ForkMoment, policy: &Policy) -> Fork {
    let facts = scene.fork_facts(m);
    let mut head: intf::place_record = raw::zeroed();
    head.time_ns = 1;
    head.type_ = intf::place_record_type_PLACE_RECORD_FORK;
    head.generation = GENERATION;
    head.cpu = facts.waker as u32;
    head.nw = scene.layout.mask_words as u16;
    let mut fork = Fork {
        head,
        input: scene.fork_in(&facts, intf::place_fork_facts_PLACE_FORK_ALL, 0),
        out: raw::zeroed(),
    };
    let native = policy.to_native(GENERATION, 8);
    fork.out = fork.decide(&native, &Tables::from(&scene.layout));
    fork
}

/// A recording of these moments, forks and wakeups in turn.
fn file(scene: &Scene, moments: &[Moment], forks: &[ForkMoment], policy: &Policy) -> Vec<u8> {
    let tables = Tables::from(&scene.layout);
    let info = Info {
        program: "0.0".into(),
        kernel: "7.3".into(),
        started_us: 1,
        one_in: 1,
        nr_cpus: 8,
        nr_llcs: tables.llcs.len() as u32,
    };
    let mut writer = Writer::new(Vec::new(), &info, &tables).unwrap();
    writer.policy(GENERATION, 8, policy).unwrap();
    for n in 0..moments.len().max(forks.len()) {
        if let Some(m) = forks.get(n) {
            let bytes = fork(scene, m, policy).to_bytes(&tables);
            writer.record(&bytes).unwrap();
        }
        if let Some(m) = moments.get(n) {
            let bytes = decision(scene, m, policy).to_bytes();
            writer.record(&bytes).unwrap();
        }
    }
    let end = End {
        records: (moments.len() + forks.len()) as u64,
        dropped: 5,
        opaque: 6,
        ended_us: 2,
    };
    writer.end(&end).unwrap()
}

fn small() -> (Vec<u8>, usize) {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let strategy = (
        recipe(),
        vec(moment(IdleCores::Exact), 3..4),
        vec(fork_moment(), 2..3),
    );
    let (r, m, f) = strategy.new_tree(&mut runner).unwrap().current();
    let scene = Scene::of(r.machine());
    let bytes = file(&scene, &m, &f, &Policy::default());
    (bytes, m.len() + f.len())
}

/// Reads all of it, whatever the way; the error must be one line.
fn read_all(bytes: &[u8]) -> Result<u64, String> {
    let one_line = |e: anyhow::Error| {
        let text = format!("{e:#}");
        assert!(!text.contains('\n') && text.len() < 500, "{text}");
        text
    };
    let mut reader = Reader::new(bytes).map_err(one_line)?;
    let again = replay::run(&mut reader).map_err(one_line)?;
    show::replay(&again);
    for axis in ["idle_search", "fork"] {
        let mut reader = Reader::new(bytes).map_err(one_line)?;
        let mut variants = compare::all_of(axis).unwrap();
        compare::run(&mut reader, &mut variants).map_err(one_line)?;
        let results: Vec<_> = variants.into_iter().map(|v| v.result).collect();
        show::all(&results, reader.end());
        show::comparison(&results[0], reader.end());
    }
    Ok(again.identical)
}

/// The frames of a valid file: kind and content.
fn frames(bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut rest = &bytes[FILE_HEAD..];
    let mut frames = Vec::new();
    while !rest.is_empty() {
        let word = |i: usize| u32::from_le_bytes(rest[i..i + 4].try_into().unwrap());
        let (kind, len) = (word(0), word(4) as usize);
        let (content, more) = rest[FRAME_HEAD..].split_at(len);
        frames.push((kind, content.to_vec()));
        rest = more;
    }
    frames
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_is_written_is_read_and_decided_again(
        r in recipe(), m in vec(moment(IdleCores::MissingCores), 0..8), f in vec(fork_moment(), 0..4),
        p in policy(),
    ) {
        let scene = Scene::of(r.machine());
        let tables = Tables::from(&scene.layout);
        let bytes = file(&scene, &m, &f, &p);
        let mut reader = Reader::new(&bytes[..]).unwrap();
        prop_assert_eq!(raw::bytes(&*reader.tables.levels), raw::bytes(&*tables.levels));
        let (mut wakeups, mut forks) = (m.iter(), f.iter());
        while let Some(record) = reader.next_record().unwrap() {
            let expected = match &record {
                Record::Wakeup(_) => decision(&scene, wakeups.next().unwrap(), &p).to_bytes(),
                Record::Fork(_) => fork(&scene, forks.next().unwrap(), &p).to_bytes(&tables),
            };
            prop_assert_eq!(record.to_bytes(&tables), expected);
        }
        prop_assert_eq!((wakeups.len(), forks.len()), (0, 0));
        prop_assert_eq!(reader.end().unwrap().dropped, 5);
        prop_assert_eq!(read_all(&bytes), Ok((m.len() + f.len()) as u64));
    }

    /// A policy compared with itself agrees everywhere; another one adds up to all decisions.
    #[test]
    fn comparisons_add_up(
        r in recipe(), m in vec(moment(IdleCores::Exact), 1..8), f in vec(fork_moment(), 0..8),
        p in policy(),
    ) {
        let scene = Scene::of(r.machine());
        let bytes = file(&scene, &m, &f, &p);
        let mut variants = compare::with_items(p.items().collect());
        variants.extend(compare::all_of("affine").unwrap());
        variants.extend(compare::all_of("fork").unwrap());
        compare::run(&mut Reader::new(&bytes[..]).unwrap(), &mut variants).unwrap();
        let n = m.len() as u64;
        prop_assert_eq!(variants[0].result.of_distance(Distance::SameCpu), n);
        prop_assert_eq!(&variants[0].result.recorded, &variants[0].result.other);
        for v in &variants {
            prop_assert_eq!(v.result.decisions, n);
            prop_assert_eq!(v.result.distance.iter().sum::<u64>(), n);
            prop_assert_eq!(v.result.agreement.iter().flatten().sum::<u64>(), n);
            prop_assert_eq!(v.result.other.found.iter().sum::<u64>(), n);
            prop_assert!(v.result.other.missed <= v.result.other.found[2]);
            let forks = &v.result.forks;
            prop_assert_eq!(forks.decisions, f.len() as u64);
            prop_assert_eq!(forks.distance.iter().sum::<u64>(), forks.decisions);
            prop_assert!(v.result.concerns_forks || forks.other == forks.recorded);
        }
        let forks = || variants.iter().filter(|v| v.result.policy.starts_with("fork="));
        prop_assert_eq!(forks().count(), 6);
        let stay = &forks().next().expect("the first value").result;
        prop_assert_eq!((stay.policy.as_str(), stay.forks.other.moved), ("fork=stay", 0));
        prop_assert!(stay.concerns_forks && !stay.concerns_wakeups);
    }

    /// Any change of any byte is noticed.
    #[test]
    fn damage_is_an_error(
        r in recipe(), m in vec(moment(IdleCores::Exact), 1..4), f in vec(fork_moment(), 0..3),
        at in any::<Index>(), change in 1..=255u8,
    ) {
        let mut bytes = file(&Scene::of(r.machine()), &m, &f, &Policy::default());
        let at = at.index(bytes.len());
        bytes[at] ^= change;
        prop_assert!(read_all(&bytes).is_err(), "byte {at} of {}", bytes.len());
    }

    #[test]
    fn a_file_cut_short_is_an_error(
        r in recipe(), m in vec(moment(IdleCores::Exact), 0..4), f in vec(fork_moment(), 0..3),
        at in any::<Index>(),
    ) {
        let bytes = file(&Scene::of(r.machine()), &m, &f, &Policy::default());
        prop_assert!(read_all(&bytes[..at.index(bytes.len())]).is_err());
    }

    /// Lies with a valid checksum: an error or a different decision, never more.
    #[test]
    fn forged_frames_do_no_harm(
        r in recipe(),
        m in vec(moment(IdleCores::Exact), 1..3),
        f in vec(fork_moment(), 1..3),
        edits in vec((any::<Index>(), any::<Index>(), any::<u8>()), 1..6),
        swap in any::<Option<(Index, Index)>>(),
        cut in any::<Option<(Index, Index)>>(),
    ) {
        let bytes = file(&Scene::of(r.machine()), &m, &f, &Policy::default());
        let mut parts = frames(&bytes);
        for (part, at, value) in edits {
            let n = part.index(parts.len());
            let content = &mut parts[n].1;
            if !content.is_empty() {
                let at = at.index(content.len());
                content[at] = value;
            }
        }
        if let Some((part, at)) = cut {
            let n = part.index(parts.len());
            let len = at.index(parts[n].1.len() + 1);
            parts[n].1.truncate(len);
        }
        if let Some((a, b)) = swap {
            let (a, b) = (a.index(parts.len()), b.index(parts.len()));
            parts.swap(a, b);
        }
        let mut forged = bytes[..FILE_HEAD].to_vec();
        for (kind, content) in &parts {
            forged.extend(frame(*kind, content));
        }
        let _ = read_all(&forged);
    }

    #[test]
    fn noise_is_an_error(
        noise in vec(any::<u8>(), 0..400), head in 0..=FILE_HEAD, kind in 0..8u32, framed in any::<bool>(),
    ) {
        let (valid, _) = small();
        let mut bytes = valid[..head].to_vec();
        bytes.extend(match framed {
            true => frame(kind, &noise),
            false => noise,
        });
        prop_assert!(read_all(&bytes).is_err());
    }
}

#[test]
fn errors_say_what_is_wrong() {
    let (bytes, n) = small();
    assert_eq!(read_all(&bytes), Ok(n as u64));
    let error = |bytes: &[u8]| read_all(bytes).unwrap_err();
    assert!(error(b"").contains("does not begin with SCXPLACE"));
    assert!(error(b"\x7fELF and so on").contains("does not begin with SCXPLACE"));
    let mut foreign = bytes.clone();
    foreign[8] = 9;
    assert!(error(&foreign).contains("format version 9"));
    let mut foreign = bytes.clone();
    foreign[12] ^= 1;
    assert!(error(&foreign).contains("recorded by scx_place 0.0"));
    let mut large = bytes.clone();
    large[FILE_HEAD + 4..FILE_HEAD + 8].fill(0xff);
    assert!(error(&large).contains("4294967295 bytes"));
    assert!(error(&bytes[..bytes.len() - 1]).contains("cut short"));
    let mut longer = bytes;
    longer.push(0);
    assert!(error(&longer).contains("goes on after its end"));
}

/// The same for forks: another load of a CPU, and the other policy.
#[test]
fn a_replay_notices_what_was_changed_about_forks() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let v48 = parse_items(&["fork=v48"]).unwrap();
    let v48 = Policy::from_command_line(&v48);
    let (mut moved, mut changed, mut other) = (0, 0, 0);
    for _ in 0..200 {
        let (r, m) = (recipe(), fork_moment())
            .new_tree(&mut runner)
            .unwrap()
            .current();
        let scene = Scene::of(r.machine());
        let tables = Tables::from(&scene.layout);
        let mut f = fork(&scene, &m, &v48);
        let native = v48.to_native(GENERATION, 8);
        assert!(f.again(&native, &tables).is_ok());
        let stay = Policy::default().to_native(GENERATION, 8);
        other += u32::from(f.again(&stay, &tables).is_err());
        if f.out.cpu != f.input.prev {
            moved += 1;
            let chosen = f.out.cpu as usize;
            f.input.cpu[chosen].load = u32::MAX;
            f.input.idle[chosen / 64] &= !(1 << (chosen % 64));
            changed += u32::from(f.again(&native, &tables).is_err());
        }
    }
    assert!(
        moved > 50 && changed * 10 > moved * 9,
        "only {changed} of {moved} busy CPUs were noticed"
    );
    assert!(
        other > 50,
        "only {other} of 200 decisions of another policy differ"
    );
}

/// The control: a replay must notice other inputs and other rules.
#[test]
fn a_replay_notices_what_was_changed() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let (mut flipped, mut other) = (0, 0);
    for _ in 0..200 {
        let strategy: (_, _) = (recipe(), moment(IdleCores::Exact));
        let (r, m): (Recipe, Moment) = strategy.new_tree(&mut runner).unwrap().current();
        let scene = Scene::of(r.machine());
        let tables = Tables::from(&scene.layout);
        let mut d = decision(&scene, &m, &Policy::default());
        let native = Policy::default().to_native(GENERATION, 8);
        assert!(d.again(&native, &tables).is_ok());
        let none = parse_items(&["idle_search=none,affine=off"]).unwrap();
        let none = Policy::from_command_line(&none).to_native(GENERATION, 8);
        other += u32::from(d.again(&none, &tables).is_err());
        let view = &mut d.input.view[usize::from(d.out.view)];
        view.idle.w[usize::from(d.out.local) / 64] ^= 1 << (d.out.local % 64);
        flipped += u32::from(d.again(&native, &tables).is_err());
    }
    assert!(
        flipped > 150,
        "only {flipped} of 200 flipped bits were noticed"
    );
    assert!(
        other > 20,
        "only {other} of 200 decisions of another policy differ"
    );
}
