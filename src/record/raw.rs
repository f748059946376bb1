// SPDX-License-Identifier: GPL-2.0-only

//! C structures as bytes, and bytes with their zeros left out.

use crate::bpf_intf as intf;

/// A C structure of integers: every pattern of bytes is a value.
///
/// # Safety
/// The type holds integers and arrays of them only; padding is named (bindgen does).
pub unsafe trait Plain: Copy {}

// SAFETY: generated from C structures of integers.
unsafe impl Plain for intf::place_in {}
unsafe impl Plain for intf::place_out {}
unsafe impl Plain for intf::place_view {}
unsafe impl Plain for intf::place_llc {}
unsafe impl Plain for intf::place_where {}
unsafe impl Plain for intf::place_record {}
unsafe impl Plain for intf::place_levels {}
unsafe impl Plain for intf::place_span {}
unsafe impl Plain for intf::place_fork_in {}
unsafe impl Plain for intf::place_fork_cpu {}
// SAFETY: integers.
unsafe impl Plain for u16 {}
unsafe impl Plain for u32 {}
unsafe impl Plain for u64 {}

pub fn zeroed<T: Plain>() -> T {
    // SAFETY: zero is a value of every `Plain` type.
    unsafe { std::mem::zeroed() }
}

/// A large one, where it stays.
pub fn zeroed_box<T: Plain>() -> Box<T> {
    Box::new(zeroed())
}

pub fn bytes<T: Plain>(value: &T) -> &[u8] {
    // SAFETY: a live value of that many bytes, all of them initialised.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}

pub fn bytes_mut<T: Plain>(value: &mut T) -> &mut [u8] {
    // SAFETY: as in `bytes`; every pattern that is written is a value.
    unsafe { std::slice::from_raw_parts_mut(std::ptr::from_mut(value).cast(), size_of::<T>()) }
}

/// Takes bytes off the front.
pub struct Cursor<'a>(pub &'a [u8]);

impl Cursor<'_> {
    /// The caller has checked that there are as many.
    pub fn take(&mut self, to: &mut [u8]) {
        let (bytes, rest) = self.0.split_at(to.len());
        to.copy_from_slice(bytes);
        self.0 = rest;
    }
}

/// FNV-1a, 64 bits, continued from `sum`.
pub fn fnv(sum: u64, bytes: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(sum, step)
}

/// Where [`fnv`] starts.
pub const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// A run of zeros that is worth the eight bytes of a new piece.
const WORTH: usize = 16;

/// Pieces of `skip: u32, length: u32, bytes`: what stands between long runs of zeros.
pub fn squeeze(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let zeros = |from: usize| bytes[from..].iter().take_while(|b| **b == 0).count();
        let skip = zeros(at);
        let start = at + skip;
        let mut end = start;
        while end < bytes.len() && zeros(end) < WORTH {
            end += zeros(end).max(1);
        }
        out.extend((skip as u32).to_le_bytes());
        out.extend(((end - start) as u32).to_le_bytes());
        out.extend(&bytes[start..end]);
        at = end;
        if at < bytes.len() && zeros(at) == bytes.len() - at {
            break;
        }
    }
    out
}

/// Fills `to`, which is zero, with what [`squeeze`] made.  False: it does not fit.
pub fn unsqueeze(mut squeezed: &[u8], to: &mut [u8]) -> bool {
    let mut at = 0usize;
    while !squeezed.is_empty() {
        let Some((head, rest)) = squeezed.split_at_checked(8) else {
            return false;
        };
        let word = |i: usize| u32::from_le_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]);
        let (skip, len) = (word(0) as usize, word(4) as usize);
        let Some((piece, rest)) = rest.split_at_checked(len) else {
            return false;
        };
        let start = at.saturating_add(skip);
        let Some(place) = to.get_mut(start..start.saturating_add(len)) else {
            return false;
        };
        place.copy_from_slice(piece);
        at = start + len;
        squeezed = rest;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn squeezed_bytes_come_back(parts in vec((0..40usize, vec(any::<u8>(), 0..20)), 0..8)) {
            let bytes: Vec<u8> = parts
                .into_iter()
                .flat_map(|(zeros, part)| std::iter::repeat_n(0, zeros).chain(part))
                .collect();
            let squeezed = squeeze(&bytes);
            let mut back = vec![0; bytes.len()];
            prop_assert!(unsqueeze(&squeezed, &mut back));
            prop_assert_eq!(back, bytes);
        }

        #[test]
        fn anything_can_be_unsqueezed(bytes in vec(any::<u8>(), 0..64), len in 0..64usize) {
            unsqueeze(&bytes, &mut vec![0; len]);
        }
    }

    #[test]
    fn zeros_cost_nothing() {
        assert!(squeeze(&[0; 10_000]).len() <= 8);
        assert!(squeeze(&[1; 100]).len() == 108);
    }
}
