// SPDX-License-Identifier: GPL-2.0-only

//! Policies and the table of settings as text and JSON, for `policy`, `policy list` and `--help`.

use std::fmt::Write;

use serde_json::json;

use super::table::{table, Axis, Param};
use super::Policy;
use crate::render;

/// The policy as a table: one row per axis, one per parameter below its axis.
pub fn policy(policy: &Policy) -> String {
    let t = table();
    let mut out = render::table(&["axis", "value", "parameter", "unit", "default", "origin"]);
    for axis in &t.axes {
        out.add_row([
            axis.name,
            t.values[policy.value(axis.id)].name,
            "",
            "",
            t.values[axis.default].name,
            &policy.value_origin(axis.id).to_string(),
        ]);
        for param in axis.params.iter().map(|id| &t.params[*id]) {
            out.add_row([
                "",
                "",
                &format!("{}={}", param.name, policy.param(param.id)),
                param.unit,
                &param.default.to_string(),
                &policy.param_origin(param.id).to_string(),
            ]);
        }
    }
    let presets: Vec<_> = policy.presets().map(|p| p.name).collect();
    match presets.is_empty() {
        true => render::lines(&out),
        false => format!("{}\npreset {}\n", render::lines(&out), presets.join(", ")),
    }
}

/// The presets with their settings and what they follow.
pub fn presets() -> String {
    let mut out = String::from(
        "Set with `scx_place policy preset NAME`, or as preset=NAME wherever settings are given; what is\n\
         written beside it goes before it.  A preset sets the axes it names with all their parameters.\n",
    );
    let width = render::WIDTH as usize;
    for preset in &table().presets {
        let follows = format!("{}; follows: {}", preset.help, preset.provenance);
        let follows: Vec<_> = follows.split(' ').collect();
        out.push_str(&format!("\n{}\n", preset.name));
        for line in wrap(&follows, width - 2) {
            out.push_str(&format!("  {line}\n"));
        }
        for line in wrap(&preset.settings, width - 4) {
            out.push_str(&format!("    {line}\n"));
        }
    }
    out
}

/// Words in lines of at most `width` characters.
fn wrap(words: &[&str], width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words {
        let line = lines
            .last_mut()
            .filter(|l| l.len() + 1 + word.len() <= width);
        match line {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => line.push_str(&format!(" {word}")),
            None => lines.push(word.to_string()),
        }
    }
    lines
}

/// [`presets`] as JSON, in the order of the table.
pub fn presets_json() -> serde_json::Value {
    let presets = table().presets.iter().map(|p| {
        json!({
            "name": p.name,
            "settings": p.settings,
            "help": p.help,
            "provenance": p.provenance,
        })
    });
    json!({ "presets": presets.collect::<Vec<_>>() })
}

/// Every axis with its values and parameters: help, range, provenance.
pub fn list() -> String {
    let mut out = String::from(
        "Set with `scx_place policy set NAME=VALUE ...` or `scx_place --policy NAME=VALUE,...`.\n\
         `*` marks the default.  Scope placement: decides for one task; machine: for a queue.\n",
    );
    for axis in &table().axes {
        let scope = axis.scope.name();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "\n{} ({scope})\n  {}", axis.name, axis.help);
        out.push_str(&indent(&render::lines(&axis_rows(axis))));
    }
    out.push('\n');
    out.push_str("Presets, several settings under one name: `scx_place policy preset`.\n");
    out
}

fn axis_rows(axis: &Axis) -> comfy_table::Table {
    let t = table();
    let mut rows = comfy_table::Table::new();
    rows.load_preset(comfy_table::presets::NOTHING)
        .set_content_arrangement(comfy_table::ContentArrangement::Dynamic)
        .set_width(render::WIDTH - 2);
    for value in t.values_of(axis) {
        let mark = if value.id == axis.default { "*" } else { " " };
        rows.add_row([
            format!("{mark} {}", value.name),
            value.help.to_string(),
            value.provenance.to_string(),
        ]);
    }
    for param in axis.params.iter().map(|id| &t.params[*id]) {
        rows.add_row([
            format!("  {}=N", param.name),
            format!("{}; {}", param.help, range(param)),
            param.provenance.to_string(),
        ]);
    }
    let widths = [NAME_WIDTH, HELP_WIDTH, FOLLOWS_WIDTH];
    for (column, width) in rows.column_iter_mut().zip(widths) {
        column.set_padding((0, 1));
        column.set_constraint(comfy_table::ColumnConstraint::Absolute(
            comfy_table::Width::Fixed(width),
        ));
    }
    rows
}

/// The same columns for every axis of `policy list`; together two less than [`render::WIDTH`].
const NAME_WIDTH: u16 = 26;
const HELP_WIDTH: u16 = 44;
const FOLLOWS_WIDTH: u16 = 28;

fn range(param: &Param) -> String {
    format!(
        "{} to {} {}, default {}",
        param.min, param.max, param.unit, param.default
    )
}

fn indent(lines: &str) -> String {
    lines.lines().map(|l| format!("  {l}\n")).collect()
}

/// [`list`] as JSON: an array of axes in the order of the table.
pub fn list_json() -> serde_json::Value {
    let t = table();
    let axes = t.axes.iter().map(|axis| {
        let values = t.values_of(axis).map(|v| {
            json!({
                "name": v.name,
                "help": v.help,
                "provenance": v.provenance,
                "default": v.id == axis.default,
            })
        });
        let params = axis.params.iter().map(|id| &t.params[*id]).map(|p| {
            json!({
                "name": p.name,
                "help": p.help,
                "provenance": p.provenance,
                "unit": p.unit,
                "default": p.default,
                "min": p.min,
                "max": p.max,
            })
        });
        json!({
            "name": axis.name,
            "help": axis.help,
            "scope": axis.scope.name(),
            "values": values.collect::<Vec<_>>(),
            "params": params.collect::<Vec<_>>(),
        })
    });
    json!({ "axes": axes.collect::<Vec<_>>(), "presets": presets_json()["presets"] })
}

/// The settings in the shortest form, for `--help`: axes with their values, parameters with their
/// ranges.
pub fn summary() -> String {
    let t = table();
    let mut out = String::from("Settings (`scx_place policy list` explains each; * = default):\n");
    for axis in &t.axes {
        let values = t.values_of(axis).map(|v| match v.id == axis.default {
            true => format!("{}*", v.name),
            false => v.name.to_string(),
        });
        out.push_str(&alternatives(axis.name, values));
        for param in axis.params.iter().map(|id| &t.params[*id]) {
            let _ = writeln!(out, "  {}=N ({})", param.name, range(param));
        }
    }
    out
}

/// `NAME=A|B|C`, on as many lines as it takes.
fn alternatives(name: &str, values: impl Iterator<Item = String>) -> String {
    let mut out = String::new();
    let mut line = format!("  {name}=");
    for (n, value) in values.enumerate() {
        let next = if n == 0 { value } else { format!("|{value}") };
        if line.len() + next.len() > render::WIDTH as usize {
            out.push_str(&line);
            out.push('\n');
            line = " ".repeat(2 + name.len());
        }
        line.push_str(&next);
    }
    out + &line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(text: &str) {
        for line in text.lines() {
            let width = line.chars().count();
            assert!(width <= render::WIDTH as usize, "{width} columns: {line}");
            assert_eq!(line, line.trim_end());
        }
    }

    #[test]
    fn list_names_everything() {
        let list = list();
        let t = table();
        let names = t.axes.iter().map(|a| a.name);
        let names = names.chain(t.values.iter().map(|v| v.name));
        for name in names.chain(t.params.iter().map(|p| p.name)) {
            assert!(list.contains(name), "{name}");
        }
        fits(&list);
    }

    #[test]
    fn policy_names_every_setting_and_fits() {
        let origin = super::super::Origin::Set {
            generation: 123_456,
            at_us: 1_796_049_786_000_000,
        };
        let items = super::super::parse::parse_items(&["affine=off,latency_us=200000"]).unwrap();
        let text = policy(&Policy::default().with(&items, origin));
        assert!(text.contains("latency_us=200000"), "{text}");
        assert!(text.contains("set 14:43:06Z,"), "{text}");
        assert!(text.contains("generation 123456"), "{text}");
        fits(&text);
    }

    #[test]
    fn presets_fit_and_are_told() {
        fits(&presets());
        let preset = &table().presets[0];
        let items = [format!("preset={}", preset.name)];
        let items = super::super::parse::parse_items(&items).unwrap();
        let text = policy(&Policy::from_command_line(&items));
        assert!(
            text.ends_with(&format!("preset {}\n", preset.name)),
            "{text}"
        );
        let other = super::super::parse::parse_items(&["wa_idle=0,sis_fudge=1"]).unwrap();
        let text = policy(&Policy::from_command_line(&other));
        assert!(!text.contains("preset"), "{text}");
    }

    #[test]
    fn help_summary_fits() {
        fits(&summary());
    }
}
