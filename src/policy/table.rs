// SPDX-License-Identifier: GPL-2.0-only

//! The axes, values and parameters of `src/bpf/policy/table.h`, and the stages and counters of
//! `counters.h`, as Rust data.
//!
//! The definitions exist once, in C.  The host build of the policy files exports them as arrays of
//! string pointers; this module reads those once and links every name to its index.

use std::ffi::{c_char, CStr};
use std::sync::OnceLock;

use crate::bpf_intf as intf;

/// Number of axes (`enum place_axis`).
pub const NR_AXES: usize = intf::place_axis_PLACE_NR_AXES as usize;
/// Number of values of all axes together (`enum place_value`).
pub const NR_VALUES: usize = intf::place_value_PLACE_NR_VALUES as usize;
/// Number of parameters (`enum place_param`).
pub const NR_PARAMS: usize = intf::place_param_PLACE_NR_PARAMS as usize;
/// Number of stages (`enum place_stage`).
pub const NR_STAGES: usize = intf::place_stage_PLACE_NR_STAGES as usize;
/// Number of counters (`enum place_counter`).
pub const NR_COUNTERS: usize = intf::place_counter_PLACE_NR_COUNTERS as usize;

/// For whom an axis can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Decides about one task, so it may differ from task to task.
    Placement,
    /// Decides about a queue that tasks share: one value for the machine.
    Machine,
}

impl Scope {
    /// The word the listings use.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Placement => "placement",
            Scope::Machine => "machine",
        }
    }
}

/// One rule that can be switched, such as `idle_search`.
#[derive(Debug)]
pub struct Axis {
    /// Index in [`Table::axes`], the `enum place_axis`.
    pub id: usize,
    pub name: &'static str,
    pub help: &'static str,
    pub scope: Scope,
    /// Index of the default in [`Table::values`].
    pub default: usize,
    /// Indices in [`Table::values`], in the order of the table.
    pub values: Vec<usize>,
    /// Indices in [`Table::params`], in the order of the table.
    pub params: Vec<usize>,
}

/// One form of a rule, such as `mainline_46`.
#[derive(Debug)]
pub struct Value {
    /// Index in [`Table::values`], the `enum place_value`.
    pub id: usize,
    /// Index in [`Table::axes`].
    pub axis: usize,
    pub name: &'static str,
    pub help: &'static str,
    /// The kernel version or the mail it follows.
    pub provenance: &'static str,
}

/// One number of a rule, such as `latency_us`.
#[derive(Debug)]
pub struct Param {
    /// Index in [`Table::params`], the `enum place_param`.
    pub id: usize,
    /// Index in [`Table::axes`].
    pub axis: usize,
    pub name: &'static str,
    pub unit: &'static str,
    pub help: &'static str,
    /// The kernel version or the mail it follows.
    pub provenance: &'static str,
    pub default: u32,
    /// Smallest valid number.
    pub min: u32,
    /// Largest valid number.
    pub max: u32,
}

/// Settings under one name: a column of a mail, or a kernel.
#[derive(Debug)]
pub struct Preset {
    pub name: &'static str,
    /// A value for each axis it sets, and numbers of parameters of these axes, as they are written.
    pub settings: Vec<&'static str>,
    pub help: &'static str,
    /// The kernel version or the mail it follows.
    pub provenance: &'static str,
}

/// A set of branches of which a decision takes exactly one (but for `event` and `sum`).
#[derive(Debug)]
pub struct Stage {
    /// Index in [`Table::stages`], the `enum place_stage`.
    pub id: usize,
    pub name: &'static str,
    pub help: &'static str,
    /// Indices in [`Table::counters`].
    pub counters: std::ops::Range<usize>,
}

impl Stage {
    /// Whether the branches exclude each other, so that a share of the stage means something.
    pub fn closes(&self) -> bool {
        !matches!(self.name, "event" | "sum")
    }
}

/// One branch of a stage.
#[derive(Debug)]
pub struct Counter {
    /// Index in [`Table::counters`], the `enum place_counter`.
    pub id: usize,
    /// Index in [`Table::stages`].
    pub stage: usize,
    pub name: &'static str,
    pub help: &'static str,
}

/// Everything `table.h` and `counters.h` define.
#[derive(Debug)]
pub struct Table {
    pub axes: Vec<Axis>,
    pub values: Vec<Value>,
    pub params: Vec<Param>,
    pub presets: Vec<Preset>,
    pub stages: Vec<Stage>,
    pub counters: Vec<Counter>,
}

/// The one table, read from the host build at the first call.
pub fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(Table::read)
}

/// The text behind a pointer of the host build's tables.
fn text(ptr: *const c_char) -> &'static str {
    // SAFETY: every pointer in the tables is a C string literal of this program.
    let text = unsafe { CStr::from_ptr(ptr) };
    text.to_str().expect("table.h is ASCII")
}

/// The index of a name that another line of the same tables uses.
///
/// Panics when the tables contradict themselves; the unit tests below read all of them.
fn index_of(kind: &str, names: &[&str], name: &str) -> usize {
    let found = names.iter().position(|n| *n == name);
    found.unwrap_or_else(|| panic!("table.h names an unknown {kind} {name:?}"))
}

impl Table {
    fn read() -> Table {
        // SAFETY: the arrays are constants of the linked host build, their lengths are the enums'.
        let (axes, values, params, stages, counters) = unsafe {
            (
                &intf::place_axes,
                &intf::place_values,
                &intf::place_params,
                &intf::place_stages,
                &intf::place_counters,
            )
        };
        // SAFETY: the host build gives the length of its own array.
        let presets = unsafe {
            let n = intf::place_nr_presets as usize;
            std::slice::from_raw_parts(intf::place_presets.as_ptr(), n)
        };
        let axis_names: Vec<_> = axes.iter().map(|a| text(a.name)).collect();
        let stage_names: Vec<_> = stages.iter().map(|s| text(s.name)).collect();

        let values: Vec<Value> = (values.iter().enumerate())
            .map(|(id, v)| Value {
                id,
                axis: index_of("axis", &axis_names, text(v.axis)),
                name: text(v.name),
                help: text(v.help),
                provenance: text(v.provenance),
            })
            .collect();
        let params: Vec<Param> = (params.iter().enumerate())
            .map(|(id, p)| Param {
                id,
                axis: index_of("axis", &axis_names, text(p.axis)),
                name: text(p.name),
                unit: text(p.unit),
                help: text(p.help),
                provenance: text(p.provenance),
                default: p.dflt,
                min: p.min,
                max: p.max,
            })
            .collect();
        let axes = (axes.iter().enumerate())
            .map(|(id, a)| {
                let of_axis: Vec<_> = values.iter().filter(|v| v.axis == id).collect();
                let names: Vec<_> = of_axis.iter().map(|v| v.name).collect();
                Axis {
                    id,
                    name: text(a.name),
                    help: text(a.help),
                    scope: match a.placement {
                        0 => Scope::Machine,
                        _ => Scope::Placement,
                    },
                    default: of_axis[index_of("default", &names, text(a.dflt))].id,
                    values: of_axis.iter().map(|v| v.id).collect(),
                    params: (params.iter())
                        .filter(|p| p.axis == id)
                        .map(|p| p.id)
                        .collect(),
                }
            })
            .collect();
        let counters: Vec<Counter> = (counters.iter().enumerate())
            .map(|(id, c)| Counter {
                id,
                stage: index_of("stage", &stage_names, text(c.stage)),
                name: text(c.name),
                help: text(c.help),
            })
            .collect();
        let stages = (stages.iter().enumerate())
            .map(|(id, s)| {
                let before = counters.iter().filter(|c| c.stage < id).count();
                let count = counters.iter().filter(|c| c.stage == id).count();
                Stage {
                    id,
                    name: text(s.name),
                    help: text(s.help),
                    counters: before..before + count,
                }
            })
            .collect();

        let presets = (presets.iter())
            .map(|p| Preset {
                name: text(p.name),
                settings: text(p.settings).split(' ').collect(),
                help: text(p.help),
                provenance: text(p.provenance),
            })
            .collect();

        Table {
            axes,
            values,
            params,
            presets,
            stages,
            counters,
        }
    }

    /// The axis of that name.
    pub fn axis(&self, name: &str) -> Option<&Axis> {
        self.axes.iter().find(|a| a.name == name)
    }

    /// The parameter of that name; parameter names are unique through all axes.
    pub fn param(&self, name: &str) -> Option<&Param> {
        self.params.iter().find(|p| p.name == name)
    }

    /// The preset of that name.
    pub fn preset(&self, name: &str) -> Option<&Preset> {
        self.presets.iter().find(|p| p.name == name)
    }

    /// The value of that name on that axis.
    pub fn value<'a>(&'a self, axis: &'a Axis, name: &str) -> Option<&'a Value> {
        self.values_of(axis).find(|v| v.name == name)
    }

    /// The values of an axis, in the order of the table.
    pub fn values_of<'a>(&'a self, axis: &'a Axis) -> impl Iterator<Item = &'a Value> {
        axis.values.iter().map(|id| &self.values[*id])
    }

    /// The counter of that name in that stage.
    pub fn counter(&self, stage: &str, name: &str) -> Option<&Counter> {
        let stage = self.stages.iter().find(|s| s.name == stage)?;
        self.counters[stage.counters.clone()]
            .iter()
            .find(|c| c.name == name)
    }
}

/// The name most like `name`, or nothing when none is close enough to be what was meant.
pub fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Similarity from 0 to 1; below this, a suggestion puzzles more than it helps.
    const CLOSE: f64 = 0.5;
    // What outsiders send may be long, and the comparison costs the product of the lengths.
    const LONGEST: usize = 64;

    if name.len() > LONGEST {
        return None;
    }
    (names.into_iter())
        .map(|n| (strsim::normalized_damerau_levenshtein(name, n), n))
        .filter(|(likeness, _)| *likeness >= CLOSE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, n)| n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn table_is_complete() {
        let t = table();
        assert_eq!(t.axes.len(), NR_AXES);
        assert_eq!(t.values.len(), NR_VALUES);
        assert_eq!(t.params.len(), NR_PARAMS);
        assert_eq!(t.stages.len(), NR_STAGES);
        assert_eq!(t.counters.len(), NR_COUNTERS);
        for axis in &t.axes {
            assert!(axis.values.contains(&axis.default), "{}", axis.name);
        }
        for p in &t.params {
            assert!(p.min <= p.default && p.default <= p.max, "{}", p.name);
        }
    }

    /// An item names an axis or a parameter, so their names must differ.
    #[test]
    fn names_are_unique() {
        let t = table();
        let axes = t.axes.iter().map(|a| a.name);
        let names: Vec<_> = axes.chain(t.params.iter().map(|p| p.name)).collect();
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
    }

    /// The counters of a stage must follow each other: a stage is a range of them.
    #[test]
    fn stages_are_ranges() {
        let t = table();
        for stage in &t.stages {
            assert!(!stage.counters.is_empty(), "{}", stage.name);
            for id in stage.counters.clone() {
                assert_eq!(t.counters[id].stage, stage.id);
            }
        }
    }

    #[test]
    fn help_has_no_control_characters() {
        let t = table();
        let axes = t.axes.iter().map(|a| a.help);
        let values = t.values.iter().flat_map(|v| [v.help, v.provenance]);
        let params = t.params.iter().flat_map(|p| [p.help, p.provenance, p.unit]);
        let presets = (t.presets.iter()).flat_map(|p| [p.name, p.help, p.provenance]);
        for s in axes.chain(values).chain(params).chain(presets) {
            assert!(!s.is_empty() && !s.contains(char::is_control), "{s:?}");
        }
    }

    #[test]
    fn nearest_suggests_only_what_is_near() {
        let names = ["idle_search", "affine", "fork"];
        assert_eq!(nearest("idle_serach", names), Some("idle_search"));
        assert_eq!(nearest("afine", names), Some("affine"));
        assert_eq!(nearest("zzzz", names), None);
        assert_eq!(nearest("", names), None);
        assert_eq!(nearest(&"a".repeat(100_000), names), None);
    }
}
