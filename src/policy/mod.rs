// SPDX-License-Identifier: GPL-2.0-only

//! The policy in force as data: one value per axis, one number per parameter, and where each came
//! from.

mod json;
mod native;
pub mod parse;
pub mod show;
pub mod table;

use std::fmt;

use serde::{Deserialize, Serialize};

use table::{table, NR_AXES, NR_PARAMS};

/// Who chose a value or a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Origin {
    /// Nobody: the default of the table.
    Default,
    /// `--policy` at the start of the scheduler.
    CommandLine,
    /// `policy set` while it runs.
    Set {
        /// The generation that began with this change.
        generation: u32,
        /// When, in microseconds since 1970, UTC.
        at_us: u64,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Origin::Default => write!(f, "default"),
            Origin::CommandLine => write!(f, "command line"),
            // The time of day; the day stands in the JSON form.
            Origin::Set { generation, at_us } => {
                let at = crate::time::format_us(*at_us);
                let time = at.split(' ').next_back().unwrap_or_default();
                write!(f, "set {time}, generation {generation}")
            }
        }
    }
}

/// One setting: a value of an axis or the number of a parameter.  Always valid; made by
/// [`parse::parse_items`] or taken from a [`Policy`].  Displayed as it is written: `name=value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// Indices in [`table::Table::axes`] and [`table::Table::values`].
    Axis { axis: usize, value: usize },
    /// Index in [`table::Table::params`] and a number in its range.
    Param { param: usize, number: u32 },
}

impl Item {
    /// The axis or parameter it sets.
    pub fn name(&self) -> &'static str {
        match self {
            Item::Axis { axis, .. } => table().axes[*axis].name,
            Item::Param { param, .. } => table().params[*param].name,
        }
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Item::Axis { value, .. } => {
                write!(f, "{}={}", self.name(), table().values[*value].name)
            }
            Item::Param { number, .. } => write!(f, "{}={number}", self.name()),
        }
    }
}

/// Items as one line, `a=b c=d`.
pub fn join_items(items: &[Item]) -> String {
    let items: Vec<_> = items.iter().map(Item::to_string).collect();
    items.join(" ")
}

/// A whole policy.  Equality includes where the settings come from; [`Policy::changes_from`]
/// compares the settings alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "json::PolicyJson", try_from = "json::PolicyJson")]
pub struct Policy {
    /// Per axis, an index in [`table::Table::values`].
    values: [usize; NR_AXES],
    /// Per parameter, a number in its range.
    params: [u32; NR_PARAMS],
    value_origins: [Origin; NR_AXES],
    param_origins: [Origin; NR_PARAMS],
}

impl Default for Policy {
    /// The defaults of the table.
    fn default() -> Policy {
        Policy {
            values: std::array::from_fn(|axis| table().axes[axis].default),
            params: std::array::from_fn(|param| table().params[param].default),
            value_origins: [Origin::Default; NR_AXES],
            param_origins: [Origin::Default; NR_PARAMS],
        }
    }
}

impl Policy {
    /// The defaults with the items of the command line.
    pub fn from_command_line(items: &[Item]) -> Policy {
        let mut policy = Policy::default();
        for item in items {
            policy.put(*item, Origin::CommandLine);
        }
        policy
    }

    /// This policy with `items` set.  Settings that stay as they were keep their origin.
    pub fn with(&self, items: &[Item], origin: Origin) -> Policy {
        let mut policy = self.clone();
        for item in items.iter().filter(|i| !self.has(i)) {
            policy.put(*item, origin);
        }
        policy
    }

    fn put(&mut self, item: Item, origin: Origin) {
        match item {
            Item::Axis { axis, value } => {
                self.values[axis] = value;
                self.value_origins[axis] = origin;
            }
            Item::Param { param, number } => {
                self.params[param] = number;
                self.param_origins[param] = origin;
            }
        }
    }

    fn has(&self, item: &Item) -> bool {
        match *item {
            Item::Axis { axis, value } => self.values[axis] == value,
            Item::Param { param, number } => self.params[param] == number,
        }
    }

    /// The value of an axis, an index in [`table::Table::values`].
    pub fn value(&self, axis: usize) -> usize {
        self.values[axis]
    }

    /// The number of a parameter, in the unit of the table.
    pub fn param(&self, param: usize) -> u32 {
        self.params[param]
    }

    /// Where the value of an axis comes from.
    pub fn value_origin(&self, axis: usize) -> Origin {
        self.value_origins[axis]
    }

    /// Where the number of a parameter comes from.
    pub fn param_origin(&self, param: usize) -> Origin {
        self.param_origins[param]
    }

    /// Every setting, axes first, in the order of the table.
    pub fn items(&self) -> impl Iterator<Item = Item> + '_ {
        let axes = self.values.iter().enumerate();
        let params = self.params.iter().enumerate();
        let axes = axes.map(|(axis, &value)| Item::Axis { axis, value });
        axes.chain(params.map(|(param, &number)| Item::Param { param, number }))
    }

    /// The presets all of whose settings this policy has.
    pub fn presets(&self) -> impl Iterator<Item = &'static table::Preset> + '_ {
        let is_in_force = |preset: &&table::Preset| {
            parse::preset_items(preset).is_ok_and(|items| items.iter().all(|item| self.has(item)))
        };
        table().presets.iter().filter(is_in_force)
    }

    /// The settings of this policy that `other` has differently.
    pub fn changes_from(&self, other: &Policy) -> Vec<Item> {
        self.items().filter(|item| !other.has(item)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(text: &str) -> Vec<Item> {
        parse::parse_items(&[text]).unwrap()
    }

    #[test]
    fn set_changes_what_it_names_only() {
        let start = Policy::default();
        let origin = Origin::Set {
            generation: 2,
            at_us: 5,
        };
        let next = start.with(&items("affine=off,latency_us=8000"), origin);
        assert_eq!(
            join_items(&next.changes_from(&start)),
            "affine=off latency_us=8000"
        );
        let affine = table().axis("affine").unwrap().id;
        assert_eq!(next.value_origin(affine), origin);
        let others = (0..NR_AXES).filter(|a| *a != affine);
        assert!(others
            .map(|a| next.value_origin(a))
            .all(|o| o == Origin::Default));
    }

    #[test]
    fn setting_what_is_set_keeps_the_origin() {
        let start = Policy::default();
        let same: Vec<_> = start.items().collect();
        let origin = Origin::Set {
            generation: 2,
            at_us: 5,
        };
        assert_eq!(start.with(&same, origin), start);
    }

    /// On the command line, naming the default is still a choice.
    #[test]
    fn command_line_is_an_origin_even_for_the_default() {
        let policy = Policy::from_command_line(&items("affine=wa_414"));
        let affine = table().axis("affine").unwrap().id;
        assert_eq!(policy.value_origin(affine), Origin::CommandLine);
        assert!(policy.changes_from(&Policy::default()).is_empty());
    }
}
