// SPDX-License-Identifier: GPL-2.0-only

//! Can this machine run the scheduler?  Looked at before anything is touched, in this order:
//!
//! 1. root;
//! 2. a kernel with sched_ext;
//! 3. its type information (BTF);
//! 4. the BPF compiler switched on;
//! 5. no other sched_ext scheduler attached;
//! 6. kernel functions described as a BPF program can call them.
//!
//! Each obstacle is one line with its cure.

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{bail, Result};

use crate::sys;

const STATE: &str = "sys/kernel/sched_ext/state";
const OPS: &str = "sys/kernel/sched_ext/root/ops";
const BTF: &str = "sys/kernel/btf/vmlinux";
const JIT: &str = "proc/sys/net/core/bpf_jit_enable";

/// Something that has to be done before the scheduler can run.  Displayed as one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    NotRoot,
    NoSchedExt,
    NoBtf,
    JitOff,
    /// Another scheduler, by the name of its operations.
    Attached(String),
    /// Kernel functions whose type information is wrong.
    MalformedKfuncs(Vec<String>),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Obstacle::NotRoot => write!(f, "not root: start it with `sudo scx_place`"),
            Obstacle::NoSchedExt => write!(
                f,
                "this kernel has no sched_ext (/sys/kernel/sched_ext is missing): boot a kernel of \
                 6.12 or newer built with CONFIG_SCHED_CLASS_EXT=y"
            ),
            Obstacle::NoBtf => write!(
                f,
                "this kernel has no type information (/sys/kernel/btf/vmlinux is missing): boot one \
                 built with CONFIG_DEBUG_INFO_BTF=y"
            ),
            Obstacle::JitOff => write!(
                f,
                "the BPF compiler is switched off: `sysctl net.core.bpf_jit_enable=1`"
            ),
            Obstacle::Attached(ops) => write!(
                f,
                "another sched_ext scheduler is attached: {ops}; stop it first (`systemctl stop \
                 scx` or end its process)"
            ),
            Obstacle::MalformedKfuncs(names) => write!(
                f,
                "this kernel describes {} wrongly in its type information, as one built with pahole \
                 before 1.26 does: boot a kernel built with a newer one",
                names.join(", ")
            ),
        }
    }
}

/// The text of a small file, trimmed; none when it cannot be read.
fn read(root: &Path, path: &str) -> Option<String> {
    let text = fs::read(root.join(path)).ok()?;
    Some(String::from_utf8_lossy(&text).trim().to_string())
}

/// The operations of the attached scheduler; none when the kernel's own scheduler decides.
/// `root` is `/`, or another directory in tests.
pub fn attached(root: &Path) -> Option<String> {
    match read(root, STATE)?.as_str() {
        "disabled" => None,
        // Being enabled or disabled: attached as far as another one is concerned.
        state => Some(match read(root, OPS) {
            Some(ops) if !ops.is_empty() => ops,
            _ => format!("one without a name, {state}"),
        }),
    }
}

/// Everything in the way of a process with the user id `euid`, as far as files tell.
pub fn obstacles(root: &Path, euid: u32) -> Vec<Obstacle> {
    let mut found = Vec::new();
    if euid != 0 {
        found.push(Obstacle::NotRoot);
    }
    if !root.join(STATE).exists() {
        found.push(Obstacle::NoSchedExt);
    }
    if !root.join(BTF).exists() {
        found.push(Obstacle::NoBtf);
    }
    // Missing or unreadable: nothing is known to be wrong.
    if read(root, JIT).as_deref() == Some("0") {
        found.push(Obstacle::JitOff);
    }
    found.extend(attached(root).map(Obstacle::Attached));
    found
}

/// Looks at this machine.  The error has one line per obstacle.
pub fn check() -> Result<()> {
    let mut found = obstacles(Path::new("/"), sys::effective_uid());
    // The look at the functions needs the type information, and takes a while.
    if found.is_empty() {
        let malformed = scx_utils::compat::malformed_scx_kfuncs();
        if !malformed.is_empty() {
            found.push(Obstacle::MalformedKfuncs(malformed));
        }
    }
    match found.is_empty() {
        true => Ok(()),
        false => {
            let lines: Vec<_> = found.iter().map(Obstacle::to_string).collect();
            bail!(lines.join("\nscx_place: "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// A tree of files that looks like a machine.
    struct Machine(PathBuf);

    impl Machine {
        /// One that could run the scheduler.
        fn good() -> Machine {
            static COUNT: AtomicU32 = AtomicU32::new(0);
            let n = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!("scx_place-preflight-{}-{n}", std::process::id());
            let machine = Machine(std::env::temp_dir().join(name));
            machine.write(STATE, "disabled\n");
            machine.write(BTF, "");
            machine.write(JIT, "1\n");
            machine
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn remove(&self, path: &str) {
            fs::remove_file(self.0.join(path)).unwrap();
        }

        fn obstacles(&self) -> Vec<Obstacle> {
            obstacles(&self.0, 0)
        }
    }

    impl Drop for Machine {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn nothing_in_the_way() {
        assert_eq!(Machine::good().obstacles(), []);
    }

    #[test]
    fn each_obstacle_by_itself() {
        let machine = Machine::good();
        assert_eq!(obstacles(&machine.0, 1000), [Obstacle::NotRoot]);
        machine.remove(STATE);
        assert_eq!(machine.obstacles(), [Obstacle::NoSchedExt]);

        let machine = Machine::good();
        machine.remove(BTF);
        assert_eq!(machine.obstacles(), [Obstacle::NoBtf]);

        let machine = Machine::good();
        machine.write(JIT, "0\n");
        assert_eq!(machine.obstacles(), [Obstacle::JitOff]);
        machine.remove(JIT);
        assert_eq!(machine.obstacles(), []);
    }

    #[test]
    fn another_scheduler_is_named() {
        let machine = Machine::good();
        machine.write(STATE, "enabled\n");
        machine.write(OPS, "rusty_1.1.4\n");
        let found = machine.obstacles();
        assert_eq!(found, [Obstacle::Attached("rusty_1.1.4".into())]);
        assert!(found[0].to_string().contains("rusty_1.1.4"));
        machine.remove(OPS);
        assert!(machine.obstacles()[0].to_string().contains("enabled"));
    }

    #[test]
    fn all_at_once_and_each_on_one_line() {
        let machine = Machine::good();
        machine.remove(BTF);
        machine.write(JIT, "0\n");
        machine.write(STATE, "enabling\n");
        let found = obstacles(&machine.0, 1);
        assert_eq!(found.len(), 4);
        let malformed = Obstacle::MalformedKfuncs(vec!["scx_bpf_a".into(), "scx_bpf_b".into()]);
        for obstacle in found.iter().chain([&malformed]) {
            assert!(!obstacle.to_string().contains('\n'));
            assert!(obstacle.to_string().contains(':'), "no cure: {obstacle}");
        }
    }
}
