// SPDX-License-Identifier: GPL-2.0-only

//! A policy as the BPF program reads it: the C structure with its derived constants and checksum.

use crate::bpf_intf as intf;

use super::table::table;
use super::Policy;

/// The factor by which the fair scheduler stretches its granularities on larger machines:
/// 1 + floor(log2(min(CPUs, 8))), so 1 to 4 (`SCHED_TUNABLESCALING_LOG`).
fn scale(nr_cpus: u32) -> u32 {
    1 + nr_cpus.clamp(1, 8).ilog2()
}

impl Policy {
    /// The slot's content for a machine with `nr_cpus` CPUs online (0 counts as 1).
    pub fn to_native(&self, generation: u32, nr_cpus: u32) -> intf::place_policy {
        let scaled_ns = |param: intf::place_param| {
            u64::from(self.params[param as usize]) * 1000 * u64::from(scale(nr_cpus))
        };
        let latency_ns = scaled_ns(intf::place_param_PLACE_PARAM_latency_us);
        let min_granularity_ns = scaled_ns(intf::place_param_PLACE_PARAM_min_granularity_us);

        // SAFETY: a plain C structure of integers, for which zero is valid.
        let mut native: intf::place_policy = unsafe { std::mem::zeroed() };
        native.generation = generation;
        for (to, value) in native.axis.iter_mut().zip(self.values) {
            *to = table().values[value].id as u32;
        }
        native.param = self.params;
        native.derived.latency_ns = latency_ns;
        native.derived.min_granularity_ns = min_granularity_ns;
        native.derived.wakeup_granularity_ns =
            scaled_ns(intf::place_param_PLACE_PARAM_wakeup_granularity_us);
        // As sched_nr_latency: the quotient of the periods, rounded up.
        native.derived.nr_latency =
            u32::try_from(latency_ns.div_ceil(min_granularity_ns.max(1))).unwrap_or(u32::MAX);
        // SAFETY: reads the structure, keeps nothing.
        native.checksum = unsafe { intf::place_host_policy_checksum(&native) };
        native
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse_items;
    use super::*;

    #[test]
    fn scale_follows_the_kernel() {
        let expected = [(0, 1), (1, 1), (2, 2), (3, 2), (4, 3), (7, 3), (8, 4)];
        for (cpus, factor) in expected {
            assert_eq!(scale(cpus), factor, "{cpus} CPUs");
        }
        assert_eq!(scale(1024), 4);
    }

    #[test]
    fn defaults_on_eight_cpus() {
        let native = Policy::default().to_native(1, 8);
        assert_eq!(native.generation, 1);
        assert_eq!(native.derived.latency_ns, 24_000_000);
        assert_eq!(native.derived.min_granularity_ns, 3_000_000);
        assert_eq!(native.derived.wakeup_granularity_ns, 4_000_000);
        assert_eq!(native.derived.nr_latency, 8);
        assert_eq!(
            native.axis[0],
            intf::place_value_PLACE_idle_search_sis_modern
        );
    }

    #[test]
    fn nr_latency_is_at_least_one() {
        let items = parse_items(&["latency_us=100,min_granularity_us=100000"]).unwrap();
        let native = Policy::from_command_line(&items).to_native(1, 4);
        assert_eq!(native.derived.nr_latency, 1);
    }

    #[test]
    fn checksum_covers_generation_and_settings() {
        let policy = Policy::default();
        let sum = policy.to_native(1, 8).checksum;
        assert_eq!(policy.to_native(1, 8).checksum, sum);
        assert_ne!(policy.to_native(2, 8).checksum, sum);
        let other = Policy::from_command_line(&parse_items(&["affine=off"]).unwrap());
        assert_ne!(other.to_native(1, 8).checksum, sum);
    }
}
