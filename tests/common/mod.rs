//! Runs commands in a guest with a sched_ext kernel, through `tools/vm`.

// Each test file is a crate of its own and uses the part it needs.
#![allow(dead_code)]

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Statuses that `tools/vm` keeps for itself.
pub const NOT_STARTED: i32 = 123;
pub const TIMED_OUT: i32 = 124;
pub const LOST: i32 = 125;

/// A file in the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A folder for files of one test, removed at its end.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "scx_place-test-{}-{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).expect("a scratch folder");
        Scratch(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Left-over files are no reason to fail a test.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a guest's command left.
#[derive(Debug)]
pub struct Output {
    /// Status of the command, or one of `NOT_STARTED`, `TIMED_OUT` and `LOST`.
    pub status: i32,
    /// The command's stdout and stderr.
    pub stdout: String,
    /// What `tools/vm` said.
    pub stderr: String,
    /// The guest's kernel log; of a guest that died, what its console showed.
    pub dmesg: String,
}

impl Output {
    /// The output of a command that must have succeeded.
    #[track_caller]
    pub fn success(self) -> String {
        assert_eq!(self.status, 0, "the guest's command failed: {self:#?}");
        self.stdout
    }

    /// The console log that `tools/vm` says it kept.
    #[track_caller]
    pub fn console(&self) -> String {
        let place = self
            .stderr
            .lines()
            .find_map(|line| line.strip_prefix("--- console log: ")?.split(" (").next())
            .unwrap_or_else(|| panic!("no console log is named: {self:#?}"));
        String::from_utf8_lossy(&fs::read(place).expect("the console log is kept")).into_owned()
    }
}

/// One run of `tools/vm`; what is not set is left to its defaults.
#[derive(Default)]
pub struct Vm {
    options: Vec<OsString>,
    scx_place: Option<PathBuf>,
}

impl Vm {
    pub fn new() -> Self {
        Vm::default()
    }

    fn option(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.options.push(name.into());
        self.options.push(value.into());
        self
    }

    fn pair(self, name: &str, from: &Path, to: &Path) -> Self {
        let mut value = from.as_os_str().to_owned();
        value.push(":");
        value.push(to);
        self.option(name, value)
    }

    pub fn kernel(self, version: &str) -> Self {
        self.option("--kernel", version)
    }

    /// A name or a description, see `tools/vm help`.
    pub fn topology(self, topology: &str) -> Self {
        self.option("--topology", topology)
    }

    /// `host` or `instructions`.
    pub fn clock(self, clock: &str) -> Self {
        self.option("--clock", clock)
    }

    /// Seconds for the whole guest.
    pub fn timeout(self, seconds: u32) -> Self {
        self.option("--timeout", seconds.to_string())
    }

    pub fn memory(self, size: &str) -> Self {
        self.option("--memory", size)
    }

    /// More kernel arguments.
    pub fn append(self, arguments: &str) -> Self {
        self.option("--append", arguments)
    }

    /// Puts a file or folder of the host into the guest.
    pub fn file(self, host: impl AsRef<Path>, guest: impl AsRef<Path>) -> Self {
        self.pair("--file", host.as_ref(), guest.as_ref())
    }

    /// Brings a file or folder of the guest back.
    pub fn get(self, guest: impl AsRef<Path>, host: impl AsRef<Path>) -> Self {
        self.pair("--get", guest.as_ref(), host.as_ref())
    }

    /// The scheduler under test, instead of the release build.
    pub fn scx_place(mut self, program: impl Into<PathBuf>) -> Self {
        self.scx_place = Some(program.into());
        self
    }

    /// The process that boots the guest, not started yet.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(repository("tools/vm"));
        command.arg("run").args(&self.options);
        command.arg("--").args(arguments);
        if let Some(program) = &self.scx_place {
            command.env("SCX_PLACE_BIN", program);
        }
        command
    }

    /// Runs one command with its arguments exactly as given.
    pub fn run(self, arguments: &[&str]) -> Output {
        let scratch = Scratch::new();
        let dmesg = scratch.path("dmesg");
        let vm = self.option("--dmesg-out", &dmesg);
        let output = vm.command(arguments).output().expect("tools/vm starts");
        Output {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            dmesg: String::from_utf8_lossy(&fs::read(dmesg).unwrap_or_default()).into_owned(),
        }
    }

    /// Runs a bash script.
    pub fn script(self, script: &str) -> Output {
        self.run(&["bash", "-c", script])
    }
}
