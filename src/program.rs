// SPDX-License-Identifier: GPL-2.0-only

//! One load of the BPF program: opened, sized for the machine, loaded, its tables filled, attached.
//!
//! Dropping it detaches the scheduler, after which the kernel's own is back.

use std::mem::MaybeUninit;
use std::sync::atomic::{fence, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use libbpf_rs::skel::OpenSkel;
use libbpf_rs::{Link, MapCore, OpenMapMut, OpenObject, ProgramInput};
use log::{debug, warn};
use scx_utils::libbpf_clap_opts::LibbpfOpts;
use scx_utils::{
    compat, scx_ops_attach, scx_ops_load, scx_ops_open, uei_exited, uei_report, UserExitInfo,
};

use crate::bpf_intf as intf;
use crate::bpf_skel::{BpfSkel, BpfSkelBuilder, OpenBpfSkel};
use crate::counters::{Counters, Counts};
use crate::cpus::CpuState;
use crate::engine::{Engine, NR_SLOTS};
use crate::latency::Latency;
use crate::level::Level;
use crate::mapped::MappedTable;
use crate::topology::Layout;

/// Task slots per possible CPU, and the bounds of their number; a power of two comes out.
const TASK_SLOTS_PER_CPU: usize = 256;
const MIN_TASK_SLOTS: usize = 1 << 15;
const MAX_TASK_SLOTS: usize = 1 << 20;

/// Lines of a CPU in the tables of counts: one for each slot, and the one that nobody reads.
const LINES: usize = intf::place_limits_PLACE_NR_SLOTS as usize;

const NR_CONTROLS: usize = intf::place_control_PLACE_NR_CONTROLS as usize;

/// What is fixed when the program is loaded.
#[derive(Debug, Clone, Default)]
pub struct LoadOpts {
    /// Verbose libbpf messages.
    pub verbose: bool,
    /// Length of the kernel's debug dump on an error exit, in bytes; 0: the default.
    pub exit_dump_len: u32,
    /// Verify a policy slot's checksum at every placement.
    pub verify_slots: bool,
    /// Let the kernel queue wakeups to remote CPUs (`SCX_OPS_ALLOW_QUEUED_WAKEUP`).
    pub queued_wakeup: bool,
    /// Use the code for caches of more than 64 CPUs on any machine; for tests.
    pub force_llc_words: Option<u32>,
    /// Faults for tests.
    pub inject: Inject,
    /// Have the kernel's verifier print its figures for each program; seen with `verbose`.
    pub verifier_stats: bool,
    pub libbpf: LibbpfOpts,
}

/// Faults that hardly ever happen by themselves in emulation, one in so many; 0: never.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Inject {
    /// Claims that are lost although the CPU was idle.
    pub lost: u32,
    /// Snapshots that show the idle CPUs of the one before.
    pub stale: u32,
    /// Milliseconds between the writing of a policy and its publication.
    pub publish_ms: u32,
}

/// Policies of the BPF program: those of the slots, and the shadow policy.
const POLICIES: usize = intf::place_limits_PLACE_NR_SLOTS as usize;
const _: () = assert!((intf::place_limits_PLACE_SHADOW_SLOT as usize) < POLICIES);
const _: () = assert!(NR_SLOTS <= intf::place_limits_PLACE_SHADOW_SLOT);

/// Verifier log level that prints figures only.
const BPF_LOG_STATS: u32 = 4;

/// An attached scheduler.
pub struct Program<'a> {
    // Fields drop in this order: the link detaches before the object goes.
    link: Option<Link>,
    control: MappedTable<u32>,
    policies: MappedTable<intf::place_policy>,
    counters: MappedTable<intf::place_counters>,
    publish_delay: Duration,
    latencies: MappedTable<intf::place_latency>,
    cpus: MappedTable<intf::place_cpu>,
    clocks: MappedTable<u64>,
    /// Online, by number.
    online: Vec<bool>,
    slot: u32,
    level: Level,
    /// The policy in force reads what is not kept without need.
    reads_history: bool,
    /// Placements are sampled, for any policy to be asked about them.
    sampled: bool,
    /// Wakeups were timed; the histograms are worth reading.
    timed: bool,
    skel: BpfSkel<'a>,
}

impl<'a> Program<'a> {
    /// Opens and loads the program for a machine, with its tables filled, not yet attached.
    ///
    /// # Errors
    /// The kernel refuses the program, or lacks what it needs.
    pub fn load(
        opts: &LoadOpts,
        layout: &Layout,
        object: &'a mut MaybeUninit<OpenObject>,
    ) -> Result<Self> {
        let mut builder = BpfSkelBuilder::default();
        builder.obj_builder.debug(opts.verbose);
        let open_opts = opts.libbpf.clone().into_bpf_open_opts();
        let mut skel = scx_ops_open!(builder, object, place_ops, open_opts)?;
        configure(&mut skel, opts, layout)?;
        let skel = scx_ops_load!(skel, place_ops, uei)?;

        let nr_cpu_ids = layout.wheres.len();
        let program = Self {
            link: None,
            slot: 0,
            level: Level::default(),
            reads_history: false,
            sampled: false,
            timed: false,
            control: MappedTable::new(&skel.maps.data_control, NR_CONTROLS)?,
            policies: MappedTable::new(&skel.maps.data_policies, POLICIES)?,
            publish_delay: Duration::from_millis(opts.inject.publish_ms.into()),
            counters: MappedTable::new(&skel.maps.data_place_counter_table, nr_cpu_ids * LINES)?,
            latencies: MappedTable::new(&skel.maps.data_place_latency_table, nr_cpu_ids * LINES)?,
            cpus: MappedTable::new(&skel.maps.data_place_cpu_table, nr_cpu_ids)?,
            clocks: MappedTable::new(&skel.maps.data_place_clock_table, nr_cpu_ids)?,
            online: layout.wheres.iter().map(|w| w.valid != 0).collect(),
            skel,
        };
        program.fill_tables(layout)?;
        Ok(program)
    }

    fn fill_tables(&self, layout: &Layout) -> Result<()> {
        let maps = &self.skel.maps;
        let mut wheres = MappedTable::new(&maps.data_place_where_table, layout.wheres.len())?;
        for (cpu, place) in layout.wheres.iter().enumerate() {
            wheres.set(cpu, *place);
        }
        let mut llcs = MappedTable::new(&maps.data_place_llc_table, layout.llcs.len())?;
        for (id, llc) in layout.llcs.iter().enumerate() {
            llcs.set(id, *llc);
        }
        MappedTable::new(&maps.data_levels, 1)?.set(0, *layout.levels);
        Ok(())
    }

    /// Replaces the kernel's scheduler.  A policy must have been published before.
    ///
    /// # Errors
    /// Another sched_ext scheduler is attached, or the kernel refuses.
    pub fn attach(&mut self) -> Result<()> {
        let skel = &mut self.skel;
        self.link = Some(scx_ops_attach!(skel, place_ops)?);
        Ok(())
    }

    /// The kernel or the program itself has ended the scheduler.
    pub fn exited(&self) -> bool {
        uei_exited!(&self.skel, uei)
    }

    /// Gives the machine back to the kernel's scheduler; the tables can still be read.
    pub fn detach(&mut self) {
        self.link.take();
    }

    /// Why it ended, printed in words.
    ///
    /// # Errors
    /// It ended by an error; the text is the kernel's.
    pub fn exit_info(&self) -> Result<UserExitInfo> {
        uei_report!(&self.skel, uei)
    }
}

/// The word that every callback reads.
fn control_word(slot: u32, level: Level, history: bool) -> u32 {
    let line = match level {
        Level::Off => intf::place_limits_PLACE_UNREAD_SLOT,
        Level::Counters | Level::Full => slot,
    };
    let full = match level {
        Level::Full => intf::place_word_PLACE_WORD_FULL,
        Level::Off | Level::Counters => 0,
    };
    let history = match history {
        true => intf::place_word_PLACE_WORD_HISTORY,
        false => 0,
    };
    slot << intf::place_word_PLACE_WORD_SLOT_SHIFT | line | full | history
}

/// Whether a rule of `policy` reads what the program keeps only while it is told to.
fn reads_history(policy: &intf::place_policy) -> bool {
    // SAFETY: reads the structure, keeps nothing.
    unsafe { intf::place_host_reads_history(policy) != 0 }
}

impl Program<'_> {
    fn write_word(&mut self) {
        let history = self.reads_history || self.sampled;
        let word = control_word(self.slot, self.level, history);
        fence(Ordering::Release);
        self.control
            .set(intf::place_control_PLACE_CONTROL_SLOT as usize, word);
    }
}

impl Engine for Program<'_> {
    fn publish(&mut self, slot: u32, policy: &intf::place_policy) -> Result<()> {
        self.policies.set(slot as usize, *policy);
        std::thread::sleep(self.publish_delay);
        self.slot = slot;
        self.reads_history = reads_history(policy);
        self.write_word();
        Ok(())
    }

    fn set_level(&mut self, level: Level) {
        self.level = level;
        self.timed |= level == Level::Full;
        self.write_word();
    }

    fn read_cpus(&self) -> Vec<CpuState> {
        let read = self
            .skel
            .progs
            .place_read_clocks
            .test_run(ProgramInput::default());
        if let Err(e) = &read {
            warn!("the loads of idle CPUs are shown as they were: reading the clocks: {e}");
        }
        let online = (0..self.online.len()).filter(|cpu| self.online[*cpu]);
        online
            .map(|cpu| CpuState::new(cpu as u32, &self.cpus.get(cpu), self.clocks.get(cpu)))
            .collect()
    }

    fn set_sampling(&mut self, word: u32) {
        self.sampled = word != 0;
        self.write_word();
        // What was written before, the shadow policy for one, is visible first.
        fence(Ordering::Release);
        self.control
            .set(intf::place_control_PLACE_CONTROL_SAMPLING as usize, word);
    }

    fn set_shadow(&mut self, policy: &intf::place_policy) {
        let slot = intf::place_limits_PLACE_SHADOW_SLOT as usize;
        self.policies.set(slot, *policy);
    }

    fn record_map(&self) -> Result<u32> {
        let info = self.skel.maps.place_records.info();
        Ok(info.context("asking for the ring buffer's number")?.info.id)
    }

    fn read_counts(&self, slot: u32) -> Counts {
        let mut sum = Counts::default();
        for cpu in 0..self.online.len() {
            let line = cpu * LINES + slot as usize;
            sum.counters.add(&Counters::from(&self.counters.get(line)));
            if self.timed {
                sum.latency.add(&Latency::from(&self.latencies.get(line)));
            }
        }
        sum
    }
}

/// Sizes the tables and fixes the constants, before loading.  The program reaches an element by a
/// mask, so every table has a power of two of them.
fn configure(skel: &mut OpenBpfSkel, opts: &LoadOpts, layout: &Layout) -> Result<()> {
    let cpus = layout.wheres.len().next_power_of_two();
    let llcs = layout.llcs.len().next_power_of_two();
    let counters = cpus * LINES;
    let tasks = (cpus * TASK_SLOTS_PER_CPU).clamp(MIN_TASK_SLOTS, MAX_TASK_SLOTS);

    let ro = skel
        .maps
        .rodata_data
        .as_mut()
        .context("the BPF object has no constants")?;
    ro.nr_cpu_ids = layout.wheres.len() as u32;
    ro.nr_mask_words = layout.mask_words;
    ro.nr_llc_words = opts
        .force_llc_words
        .unwrap_or(layout.llc_words)
        .max(layout.llc_words);
    ro.nr_llcs = layout.llcs.len() as u32;
    ro.cpu_mask = cpus as u32 - 1;
    ro.llc_mask = llcs as u32 - 1;
    ro.task_shift = 64 - tasks.ilog2();
    ro.counter_mask = counters as u32 - 1;
    ro.has_smt = layout.smt as u32;
    ro.verify_slots = opts.verify_slots as u32;
    ro.inject_lost = opts.inject.lost;
    ro.inject_stale = opts.inject.stale;
    ro.kernel_hz = crate::sys::kernel_hz();

    let maps = &mut skel.maps;
    size_table::<intf::place_cpu>(&mut maps.data_place_cpu_table, cpus)?;
    size_table::<intf::place_where>(&mut maps.data_place_where_table, cpus)?;
    size_table::<intf::place_llc>(&mut maps.data_place_llc_table, llcs)?;
    size_table::<intf::place_task>(&mut maps.data_place_task_table, tasks)?;
    size_table::<intf::place_counters>(&mut maps.data_place_counter_table, counters)?;
    size_table::<intf::place_latency>(&mut maps.data_place_latency_table, counters)?;
    size_table::<u64>(&mut maps.data_place_clock_table, cpus)?;
    size_table::<intf::place_scratch>(&mut maps.data_place_scratch_table, cpus)?;
    size_table::<intf::place_fork_in>(&mut maps.data_place_fork_table, cpus)?;

    debug!("tables for {cpus} CPUs, {llcs} caches, {tasks} tasks");
    if opts.verifier_stats {
        for mut prog in skel.open_object_mut().progs_mut() {
            prog.set_log_level(BPF_LOG_STATS);
        }
    }
    let ops = skel.struct_ops.place_ops_mut();
    ops.exit_dump_len = opts.exit_dump_len;
    ops.flags = *compat::SCX_OPS_ENQ_EXITING
        | *compat::SCX_OPS_ENQ_MIGRATION_DISABLED
        | if opts.queued_wakeup {
            *compat::SCX_OPS_ALLOW_QUEUED_WAKEUP
        } else {
            0
        };
    Ok(())
}

fn size_table<T>(map: &mut OpenMapMut, len: usize) -> Result<()> {
    let bytes = u32::try_from(len * size_of::<T>()).context("a table of more than 4 GiB")?;
    map.set_value_size(bytes).context("sizing a table")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::parse::parse_items;
    use crate::policy::table::table;
    use crate::policy::Policy;

    #[test]
    fn the_word_tells_who_reads_the_past() {
        let t = table();
        let readers = |axis: &str| -> Vec<&str> {
            let values = t.values_of(t.axis(axis).unwrap());
            let reads = values.map(|value| value.name).filter(|name| {
                let items = parse_items(&[format!("{axis}={name}")]).unwrap();
                reads_history(&Policy::from_command_line(&items).to_native(1, 8))
            });
            reads.collect()
        };
        let affine = [
            "v2626",
            "v2627",
            "v2637",
            "v2638rc",
            "v2638",
            "v2638_nohot",
            "v46",
        ];
        assert_eq!(readers("affine"), affine);
        let searches = [
            "mason_pkg",
            "peter_rfc",
            "sis_49",
            "sis_avg_cpu",
            "sis_prop",
        ];
        assert_eq!(readers("idle_search"), searches);
    }

    #[test]
    fn the_parts_of_the_word_do_not_overlap() {
        let all = intf::place_word_PLACE_WORD_FULL | intf::place_word_PLACE_WORD_HISTORY;
        let (slot, unread) = (NR_SLOTS - 1, intf::place_limits_PLACE_UNREAD_SLOT);
        let places = slot << intf::place_word_PLACE_WORD_SLOT_SHIFT;
        assert_eq!(control_word(slot, Level::Full, true), places | slot | all);
        assert_eq!(control_word(slot, Level::Off, false), places | unread);
        assert_eq!(all & (places | unread), 0);
        // By the slot's bits alone a policy is found.
        let size = size_of::<intf::place_policy>() as u32;
        assert_eq!(size, 1 << intf::place_word_PLACE_WORD_SLOT_SHIFT);
    }
}
