// SPDX-License-Identifier: GPL-2.0-only

//! Wall-clock times as they are stored and shown.

use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds since 1970, UTC; 0 when the clock stands before that.
pub fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |d| u64::try_from(d.as_micros()).unwrap_or(u64::MAX))
}

/// `2026-11-30 14:43:06Z`, to the second.
pub fn format_us(at_us: u64) -> String {
    let secs = at_us / 1_000_000;
    let (days, secs) = (secs / 86_400, secs % 86_400);
    let (year, month, day) = civil_from_days(days);
    let (h, m, s) = (secs / 3600, secs / 60 % 60, secs % 60);
    format!("{year:04}-{month:02}-{day:02} {h:02}:{m:02}:{s:02}Z")
}

/// A duration for people: `0.4 s`, `12.3 s`, `5 min 12 s`, `3 h 5 min`, `2 d 3 h`.
pub fn format_duration_us(us: u64) -> String {
    let secs = us / 1_000_000;
    match secs {
        0..60 => format!("{:.1} s", us as f64 / 1e6),
        60..3600 => format!("{} min {} s", secs / 60, secs % 60),
        3600..86_400 => format!("{} h {} min", secs / 3600, secs / 60 % 60),
        _ => format!("{} d {} h", secs / 86_400, secs / 3600 % 24),
    }
}

/// Gregorian date of a day counted from 1970-01-01.
///
/// Counts in eras of 400 years (146,097 days) that begin on 1 March, so that the leap day is the
/// last of its year and month lengths follow the line (153 m + 2) / 5.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468; // days from 0000-03-01 to 1970-01-01
    let (era, doe) = (z / 146_097, z % 146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (era * 400 + yoe + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        let at = |secs: u64| format_us(secs * 1_000_000);
        assert_eq!(at(0), "1970-01-01 00:00:00Z");
        assert_eq!(at(951_782_399), "2000-02-28 23:59:59Z");
        assert_eq!(at(951_782_400), "2000-02-29 00:00:00Z");
        assert_eq!(at(1_709_251_199), "2024-02-29 23:59:59Z");
        assert_eq!(at(1_796_049_786), "2026-11-30 14:43:06Z");
        assert!(format_us(u64::MAX).ends_with('Z'));
    }

    #[test]
    fn durations() {
        assert_eq!(format_duration_us(400_000), "0.4 s");
        assert_eq!(format_duration_us(312_000_000), "5 min 12 s");
        assert_eq!(format_duration_us(11_100_000_000), "3 h 5 min");
        assert_eq!(format_duration_us(183_600_000_000), "2 d 3 h");
    }
}
