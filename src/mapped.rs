// SPDX-License-Identifier: GPL-2.0-only

//! The BPF program's tables, mapped into this process.
//!
//! A data section of the BPF object is an array map of one value; mapping it gives user space and
//! the program the same memory.  Which side may write what is said in `src/bpf/intf.h`.

use std::marker::PhantomData;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

use anyhow::{ensure, Context, Result};
use libbpf_rs::MapCore;

/// A table of `T` in a data section, shared with the running BPF program.
///
/// Elements are copied in and out whole by volatile accesses; the other side may write at any time,
/// so a copy of a large element can be torn.  All fields are plain integers.
pub struct MappedTable<T: Copy> {
    base: NonNull<T>,
    len: usize,
    bytes: usize,
    _owns: PhantomData<T>,
}

impl<T: Copy> MappedTable<T> {
    /// Maps `len` elements of a data section's map.
    ///
    /// # Errors
    /// The section is smaller than that, or the kernel refuses the mapping.
    pub fn new(map: &impl MapCore, len: usize) -> Result<Self> {
        let name = map.name().to_string_lossy().into_owned();
        let bytes = len * size_of::<T>();
        ensure!(
            bytes > 0 && bytes <= map.value_size() as usize,
            "table {name} holds {} bytes, {bytes} are needed",
            map.value_size()
        );
        // SAFETY: a fresh shared mapping of a file descriptor that is open for the call.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                map.as_fd().as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error())
                .with_context(|| format!("mapping table {name}"));
        }
        let base = NonNull::new(base.cast()).context("the kernel mapped a table at address 0")?;
        Ok(Self {
            base,
            len,
            bytes,
            _owns: PhantomData,
        })
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A copy of element `i`.
    ///
    /// # Panics
    /// `i` is not below [`len`](Self::len): a fault of the caller, never of outside input.
    pub fn get(&self, i: usize) -> T {
        assert!(i < self.len);
        // SAFETY: in range of the mapping, aligned since a mapping begins at a page.
        unsafe { self.base.add(i).read_volatile() }
    }

    /// Replaces element `i`; same condition as [`get`](Self::get).
    pub fn set(&mut self, i: usize, value: T) {
        assert!(i < self.len);
        // SAFETY: as in `get`; `&mut self` excludes other writers of this process.
        unsafe { self.base.add(i).write_volatile(value) }
    }
}

impl<T: Copy> Drop for MappedTable<T> {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `new`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
