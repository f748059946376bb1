// SPDX-License-Identifier: GPL-2.0-only

//! The few system calls that the standard library has no safe form of.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// The effective user id of this process; 0 is root.
pub fn effective_uid() -> u32 {
    // SAFETY: takes nothing, cannot fail.
    unsafe { libc::geteuid() }
}

/// Jiffies per second of the running kernel; 250 if it does not tell.
///
/// The resolution of the coarse clocks is the length of a jiffy.
pub fn kernel_hz() -> u32 {
    const USUAL: u32 = 250;
    let mut jiffy = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `jiffy` is valid for writes.
    let rc = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut jiffy) };
    match (rc, jiffy.tv_sec, u32::try_from(jiffy.tv_nsec)) {
        (0, 0, Ok(ns @ 100_000..)) => (1_000_000_000 + ns / 2) / ns,
        _ => USUAL,
    }
}

/// Release of the running kernel, as `uname -r` prints it.
pub fn kernel_release() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease");
    text.map_or_else(|_| "unknown".into(), |t| t.trim().into())
}

/// The user id of the process at the other end of a Unix socket, as it was when it connected.
pub fn peer_uid(socket: BorrowedFd) -> io::Result<u32> {
    let mut cred = libc::ucred {
        pid: 0,
        uid: u32::MAX,
        gid: u32::MAX,
    };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: `cred` and `len` are valid for writes and `len` is the size of `cred`.
    let rc = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut cred).cast(),
            &mut len,
        )
    };
    match rc {
        0 => Ok(cred.uid),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Waits until `fd` can be read, at most `timeout`.  False: it cannot be read yet.
pub fn wait_readable(fd: BorrowedFd, timeout: Duration) -> io::Result<bool> {
    let mut poll = libc::pollfd {
        fd: fd.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let ms = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: one valid element.
    match unsafe { libc::poll(&mut poll, 1, ms) } {
        -1 => match io::Error::last_os_error() {
            e if e.kind() == io::ErrorKind::Interrupted => Ok(false),
            e => Err(e),
        },
        n => Ok(n > 0),
    }
}

/// Waits until every callback that now runs in a section without preemption or sleep has ended.
///
/// `MEMBARRIER_CMD_GLOBAL` is the kernel's `synchronize_rcu()`.  False: this kernel refuses it (it
/// does with `nohz_full` CPUs), and the caller has to find another bound.
pub fn grace_period() -> bool {
    // SAFETY: takes two or three integers, touches no memory.
    let rc = unsafe {
        libc::syscall(
            libc::SYS_membarrier,
            libc::MEMBARRIER_CMD_GLOBAL as libc::c_long,
            0,
            0,
        )
    };
    rc == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hz_is_one_that_kernels_have() {
        assert!(
            [100, 250, 300, 1000].contains(&kernel_hz()),
            "{}",
            kernel_hz()
        );
    }
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn peer_of_a_pair_is_this_process() {
        let (a, _b) = UnixStream::pair().unwrap();
        assert_eq!(peer_uid(a.as_fd()).unwrap(), effective_uid());
    }

    #[test]
    fn readable_only_with_data() {
        use std::io::Write;
        let (a, mut b) = UnixStream::pair().unwrap();
        assert!(!wait_readable(a.as_fd(), Duration::ZERO).unwrap());
        b.write_all(b"x").unwrap();
        assert!(wait_readable(a.as_fd(), Duration::from_secs(5)).unwrap());
    }
}
