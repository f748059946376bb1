// SPDX-License-Identifier: GPL-2.0-only

//! The JSON form of a policy: settings by name, with their origin and what the table says of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::table::table;
use super::{parse, Item, Origin, Policy};

#[derive(Serialize, Deserialize)]
pub(super) struct PolicyJson {
    axes: BTreeMap<String, AxisJson>,
    params: BTreeMap<String, ParamJson>,
}

#[derive(Serialize, Deserialize)]
struct AxisJson {
    value: String,
    default: String,
    scope: String,
    #[serde(flatten)]
    origin: Origin,
}

#[derive(Serialize, Deserialize)]
struct ParamJson {
    axis: String,
    value: u32,
    default: u32,
    min: u32,
    max: u32,
    unit: String,
    #[serde(flatten)]
    origin: Origin,
}

impl From<Policy> for PolicyJson {
    fn from(policy: Policy) -> PolicyJson {
        let t = table();
        let axes = t.axes.iter().map(|axis| {
            let json = AxisJson {
                value: t.values[policy.value(axis.id)].name.into(),
                default: t.values[axis.default].name.into(),
                scope: axis.scope.name().into(),
                origin: policy.value_origin(axis.id),
            };
            (axis.name.into(), json)
        });
        let params = t.params.iter().map(|param| {
            let json = ParamJson {
                axis: t.axes[param.axis].name.into(),
                value: policy.param(param.id),
                default: param.default,
                min: param.min,
                max: param.max,
                unit: param.unit.into(),
                origin: policy.param_origin(param.id),
            };
            (param.name.into(), json)
        });
        PolicyJson {
            axes: axes.collect(),
            params: params.collect(),
        }
    }
}

/// Settings that are missing take their default; unknown ones are an error.
impl TryFrom<PolicyJson> for Policy {
    type Error = parse::ParseError;

    fn try_from(json: PolicyJson) -> Result<Policy, parse::ParseError> {
        let axes = (json.axes.iter()).map(|(name, a)| (format!("{name}={}", a.value), a.origin));
        let params =
            (json.params.iter()).map(|(name, p)| (format!("{name}={}", p.value), p.origin));

        let mut policy = Policy::default();
        for (text, origin) in axes.chain(params) {
            let item: Item = parse::parse_item(&text)?;
            policy.put(item, origin);
        }
        Ok(policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survives_a_round_trip() {
        let items = parse::parse_items(&["idle_search=none,wa_idle=0"]).unwrap();
        let policy = Policy::from_command_line(&items).with(
            &parse::parse_items(&["affine=always"]).unwrap(),
            Origin::Set {
                generation: 7,
                at_us: 1_000_000,
            },
        );
        let text = serde_json::to_string(&policy).unwrap();
        assert_eq!(serde_json::from_str::<Policy>(&text).unwrap(), policy);
        assert!(text.contains(r#""from":"command_line""#), "{text}");
    }

    #[test]
    fn refuses_what_the_table_does_not_know() {
        let mut json = serde_json::to_value(Policy::default()).unwrap();
        json["axes"]["affine"]["value"] = "sideways".into();
        assert!(serde_json::from_value::<Policy>(json).is_err());
    }
}
