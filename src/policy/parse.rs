// SPDX-License-Identifier: GPL-2.0-only

//! Reads `axis=value`, `param=number` and `preset=name`.
//!
//! A preset stands for a setting of each axis that it names and of all their parameters; what is written
//! beside it goes before it, wherever it stands.
//!
//! Order of the checks of an item: a `=`, a known name, then for an axis a value of it, for a
//! parameter a whole number in its range; of a list: no name twice, and one preset.  The first failure ends the
//! parsing, so a list is either valid as a whole or nothing.

use std::collections::HashSet;
use std::fmt;

use super::table::{nearest, table, Axis, Param, Preset};
use super::Item;

/// Why a list of items is not valid.  Displayed as one line that says what would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParseError {
    /// No `=` in the item.
    NoEqual { item: String },
    /// Neither an axis nor a parameter.
    UnknownName {
        name: String,
        nearest: Option<&'static str>,
    },
    /// Not a value of this axis.
    UnknownValue {
        axis: &'static str,
        value: String,
        nearest: Option<&'static str>,
        /// Axes that do have such a value.
        others: Vec<&'static str>,
    },
    /// No preset of that name.
    UnknownPreset {
        name: String,
        nearest: Option<&'static str>,
    },
    /// Not a whole number.
    NotANumber { param: &'static str, text: String },
    /// A number outside the parameter's range.
    OutOfRange { param: &'static str, text: String },
    /// The same axis or parameter more than once.
    Twice { name: &'static str },
    /// Nothing to set.
    Empty,
}

impl std::error::Error for ParseError {}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            ParseError::NoEqual { item } => {
                write!(f, "{}: expected NAME=VALUE", quote(item))
            }
            ParseError::UnknownName { name, nearest } => {
                write!(f, "no axis or parameter {}", quote(name))?;
                match nearest {
                    Some(n) => write!(f, "; did you mean `{n}`?"),
                    None => write!(f, "; `scx_place policy list` shows all"),
                }
            }
            ParseError::UnknownValue {
                axis,
                value,
                nearest,
                others,
            } => {
                write!(f, "{} is not a value of {axis}", quote(value))?;
                match nearest {
                    Some(n) => write!(f, "; did you mean `{n}`?")?,
                    None if others.is_empty() => write!(f, ";")?,
                    None => write!(f, " (it is one of {});", others.join(", "))?,
                }
                write!(f, " {axis} can be {}", values_of(axis).join(", "))
            }
            ParseError::UnknownPreset { name, nearest } => {
                write!(f, "no preset {}", quote(name))?;
                match nearest {
                    Some(n) => write!(f, "; did you mean `{n}`?"),
                    None => write!(f, "; `scx_place policy preset` shows all"),
                }
            }
            ParseError::NotANumber { param, text } => {
                write!(f, "{param}: {} is not a whole number; ", quote(text))?;
                write_range(f, param)
            }
            ParseError::OutOfRange { param, text } => {
                write!(f, "{param}: {} is out of range; ", clip(text))?;
                write_range(f, param)
            }
            ParseError::Twice { name } => write!(f, "{name} is set twice"),
            ParseError::Empty => write!(f, "nothing to set: expected NAME=VALUE"),
        }
    }
}

fn write_range(f: &mut fmt::Formatter, param: &str) -> fmt::Result {
    match table().param(param) {
        Some(p) => write!(f, "valid: {} to {} ({})", p.min, p.max, p.unit),
        None => Ok(()),
    }
}

fn values_of(axis: &str) -> Vec<&'static str> {
    let axis = table().axis(axis);
    axis.map_or(Vec::new(), |a| {
        table().values_of(a).map(|v| v.name).collect()
    })
}

/// At most 40 characters of what somebody wrote, without control characters.
fn clip(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut clipped: String = text.escape_debug().take(LONGEST).collect();
    if text.escape_debug().nth(LONGEST).is_some() {
        clipped.push_str("...");
    }
    clipped
}

fn quote(text: &str) -> String {
    format!("`{}`", clip(text))
}

/// Reads any number of arguments, each one item or several with commas between them.
pub fn parse_items<S: AsRef<str>>(arguments: &[S]) -> Result<Vec<Item>, ParseError> {
    let texts = arguments.iter().flat_map(|a| a.as_ref().split(','));
    let texts = texts.map(str::trim).filter(|t| !t.is_empty());

    let mut preset = None;
    let mut seen = HashSet::new();
    let mut items = Vec::new();
    for text in texts {
        if let Some(name) = preset_name(text) {
            if preset.replace(find_preset(name)?).is_some() {
                return Err(ParseError::Twice { name: PRESET });
            }
            continue;
        }
        let item = parse_item(text)?;
        if !seen.insert(item.name()) {
            return Err(ParseError::Twice { name: item.name() });
        }
        items.push(item);
    }
    let mut all = preset.map_or(Ok(Vec::new()), preset_items)?;
    all.retain(|item| !seen.contains(item.name()));
    all.extend(items);
    match all.is_empty() {
        true => Err(ParseError::Empty),
        false => Ok(all),
    }
}

/// What is written where otherwise an axis or a parameter is named.
const PRESET: &str = "preset";

fn preset_name(text: &str) -> Option<&str> {
    let (name, value) = text.split_once('=')?;
    (name.trim() == PRESET).then_some(value.trim())
}

fn find_preset(name: &str) -> Result<&'static Preset, ParseError> {
    table()
        .preset(name)
        .ok_or_else(|| ParseError::UnknownPreset {
            name: name.into(),
            nearest: nearest(name, table().presets.iter().map(|p| p.name)),
        })
}

/// All that a preset sets: the values it names, and each parameter of their axes.
pub fn preset_items(preset: &Preset) -> Result<Vec<Item>, ParseError> {
    let named = (preset.settings.iter()).map(|text| parse_item(text));
    let named = named.collect::<Result<Vec<_>, _>>()?;
    let axes = named.iter().filter_map(|item| match item {
        Item::Axis { axis, .. } => Some(&table().axes[*axis]),
        Item::Param { .. } => None,
    });
    let defaults = axes
        .flat_map(|axis| &axis.params)
        .map(|&param| Item::Param {
            param,
            number: table().params[param].default,
        });
    let others = defaults.filter(|d| named.iter().all(|n| n.name() != d.name()));
    let others: Vec<_> = others.collect();
    Ok(named.into_iter().chain(others).collect())
}

/// Reads one item.
pub fn parse_item(text: &str) -> Result<Item, ParseError> {
    let Some((name, value)) = text.split_once('=') else {
        return Err(ParseError::NoEqual { item: text.into() });
    };
    let (name, value) = (name.trim(), value.trim());

    if let Some(axis) = table().axis(name) {
        parse_value(axis, value)
    } else if let Some(param) = table().param(name) {
        parse_number(param, value)
    } else {
        let axes = table().axes.iter().map(|a| a.name);
        let params = table().params.iter().map(|p| p.name);
        Err(ParseError::UnknownName {
            name: name.into(),
            nearest: nearest(name, axes.chain(params)),
        })
    }
}

fn parse_value(axis: &'static Axis, text: &str) -> Result<Item, ParseError> {
    if let Some(value) = table().value(axis, text) {
        return Ok(Item::Axis {
            axis: axis.id,
            value: value.id,
        });
    }
    let others = table().values.iter().filter(|v| v.name == text);
    let others: Vec<_> = others.map(|v| table().axes[v.axis].name).collect();
    let names = table().values_of(axis).map(|v| v.name);
    Err(ParseError::UnknownValue {
        axis: axis.name,
        value: text.into(),
        // What is exactly another axis's value was not mistyped.
        nearest: others.is_empty().then(|| nearest(text, names)).flatten(),
        others,
    })
}

fn parse_number(param: &'static Param, text: &str) -> Result<Item, ParseError> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(ParseError::NotANumber {
            param: param.name,
            text: text.into(),
        });
    }
    match text.parse::<u32>() {
        Ok(number) if (param.min..=param.max).contains(&number) => Ok(Item::Param {
            param: param.id,
            number,
        }),
        _ => Err(ParseError::OutOfRange {
            param: param.name,
            text: text.into(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Origin, Policy};
    use super::*;

    fn error(text: &str) -> String {
        parse_items(&[text]).unwrap_err().to_string()
    }

    #[test]
    fn every_setting_reads_back_as_it_is_displayed() {
        let t = table();
        for v in &t.values {
            let item = Item::Axis {
                axis: v.axis,
                value: v.id,
            };
            assert_eq!(parse_item(&item.to_string()), Ok(item));
        }
        for p in &t.params {
            for number in [p.min, p.default, p.max] {
                let item = Item::Param {
                    param: p.id,
                    number,
                };
                assert_eq!(parse_item(&item.to_string()), Ok(item));
            }
        }
    }

    #[test]
    fn commas_spaces_and_arguments_are_the_same() {
        let one = parse_items(&["idle_search=none, affine=off,"]).unwrap();
        let two = parse_items(&["idle_search=none", " affine = off"]).unwrap();
        assert_eq!(one, two);
        assert_eq!(one.len(), 2);
    }

    /// Each reads, names a value of every axis whose parameters it changes, and nothing twice.
    #[test]
    fn presets_are_valid() {
        for preset in &table().presets {
            let items = preset_items(preset).unwrap_or_else(|e| panic!("{}: {e}", preset.name));
            let names: HashSet<_> = items.iter().map(Item::name).collect();
            assert_eq!(names.len(), items.len(), "{}", preset.name);
            for item in &items {
                let Item::Param { param, .. } = item else {
                    continue;
                };
                let axis = table().axes[table().params[*param].axis].name;
                assert!(
                    names.contains(axis),
                    "{}: {item} without {axis}",
                    preset.name
                );
            }
        }
    }

    #[test]
    fn a_preset_sets_what_it_names_and_gives_way() {
        let preset = table().preset("mail2016a-mason").unwrap();
        let before = parse_items(&["wa_bias=0,affine=off,claim=test_only"]).unwrap();
        let items = parse_items(&["fork=stay,preset=mail2016a-mason", "sis_fudge=7"]).unwrap();
        let policy = Policy::from_command_line(&before).with(&items, Origin::CommandLine);
        let text = super::super::join_items(&policy.changes_from(&Policy::default()));
        assert_eq!(
            text,
            "idle_search=mason_pkg affine=v46 newload=v46 claim=test_only sis_fudge=7 imbalance_pct_wide=125"
        );
        assert_eq!(items.len(), preset_items(preset).unwrap().len());
        assert_eq!(
            error("preset=mail2016a-masn"),
            "no preset `mail2016a-masn`; did you mean `mail2016a-mason`?"
        );
        assert_eq!(
            error("preset="),
            "no preset ``; `scx_place policy preset` shows all"
        );
        let twice = "preset=mail2016a-mason,preset=mail2011-old";
        assert_eq!(error(twice), "preset is set twice");
    }

    #[test]
    fn errors_say_what_is_valid() {
        assert_eq!(
            error("idle_serach=none"),
            "no axis or parameter `idle_serach`; did you mean `idle_search`?"
        );
        assert_eq!(
            error("zzz=none"),
            "no axis or parameter `zzz`; `scx_place policy list` shows all"
        );
        assert_eq!(
            error("affine=wa_141"),
            "`wa_141` is not a value of affine; did you mean `wa_414`? affine can be off, always, v2626, v2627, v2637, v2638rc, v2638, v2638_nohot, v46, wa_414"
        );
        assert!(error("idle_search=test_only")
            .starts_with("`test_only` is not a value of idle_search (it is one of claim); "));
        assert_eq!(error("affine"), "`affine`: expected NAME=VALUE");
        assert_eq!(error("affine=off,affine=off"), "affine is set twice");
        assert_eq!(
            error("latency_us=99"),
            "latency_us: 99 is out of range; valid: 100 to 200000 (us)"
        );
        assert_eq!(
            error("latency_us=-5"),
            "latency_us: -5 is out of range; valid: 100 to 200000 (us)"
        );
        assert!(error("latency_us=99999999999999999999").contains("out of range"));
        assert!(error("latency_us=1.5").contains("`1.5` is not a whole number"));
        assert!(error("latency_us=").contains("not a whole number"));
        assert!(error("latency_us=+6000").contains("not a whole number"));
        assert_eq!(error(" , "), "nothing to set: expected NAME=VALUE");
    }

    #[test]
    fn errors_are_one_short_line() {
        let hostile = [
            "\n\n=\u{1b}[31m",
            &"x".repeat(60_000),
            "affine=\n",
            "=",
            "==",
        ];
        for text in hostile {
            let error = error(text);
            assert!(!error.contains(char::is_control), "{error:?}");
            assert!(error.len() < 300, "{error:?}");
        }
    }

    #[test]
    fn one_bad_item_spoils_the_list() {
        assert!(parse_items(&["affine=off", "wa_idle=2"]).is_err());
        let policy = Policy::from_command_line(&parse_items(&["affine=off"]).unwrap());
        assert_eq!(policy.changes_from(&Policy::default()).len(), 1);
    }

    mod properties {
        use super::*;
        use proptest::prelude::*;

        /// Any one setting with a valid value.
        fn setting() -> impl Strategy<Value = Item> {
            let t = table();
            let value = (0..t.values.len()).prop_map(|value| Item::Axis {
                axis: table().values[value].axis,
                value,
            });
            let number = (0..t.params.len()).prop_flat_map(|param| {
                let p = &table().params[param];
                (p.min..=p.max).prop_map(move |number| Item::Param { param, number })
            });
            prop_oneof![value, number]
        }

        /// Text that is close enough to an item to reach every check.
        const ALMOST: &str =
            "([a-z_]{0,12}|idle_search|affine|latency_us|wa_idle)[= ,]{0,2}\\PC{0,12}";

        proptest! {
            #[test]
            fn displayed_items_read_back(items in prop::collection::vec(setting(), 1..8)) {
                let names: HashSet<_> = items.iter().map(Item::name).collect();
                let texts: Vec<_> = items.iter().map(Item::to_string).collect();
                match parse_items(&texts) {
                    Ok(parsed) => prop_assert_eq!(parsed, items),
                    Err(ParseError::Twice { .. }) => prop_assert!(names.len() < items.len()),
                    Err(e) => prop_assert!(false, "{e}"),
                }
            }

            #[test]
            fn anything_is_read_or_refused_in_one_line(text in prop_oneof![ALMOST, "\\PC*", ".*"]) {
                match parse_items(&[&text]) {
                    Ok(items) => {
                        let texts: Vec<_> = items.iter().map(Item::to_string).collect();
                        prop_assert_eq!(parse_items(&texts), Ok(items));
                    }
                    Err(e) => prop_assert!(!e.to_string().contains(char::is_control)),
                }
            }
        }
    }
}
