// SPDX-License-Identifier: GPL-2.0-only

//! The scheduler's end of the control socket.
//!
//! What a client can cost is bounded: at most [`MAX_CONNECTIONS`] threads, [`MAX_REQUEST`] bytes
//! and [`IO_TIME`] each; a full queue or a slow scheduler is an error for the client, never a wait
//! for the scheduler.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender, TrySendError};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use log::{debug, warn};

use super::protocol::{decode, encode};
use super::{ClientError, Request, Response};
use crate::sys;

/// Connections served at the same time; more are told to come back.
const MAX_CONNECTIONS: usize = 16;
/// Bytes of a request, the line break included.
const MAX_REQUEST: usize = 64 * 1024;
/// Time for a client to send its request, and again to take the reply.
const IO_TIME: Duration = Duration::from_secs(2);
/// Time for the scheduler to answer.
const ANSWER_TIME: Duration = Duration::from_secs(10);
/// Requests that wait for the scheduler.
const QUEUE: usize = 32;
/// How often the listening thread looks whether it should end.
const POLL: Duration = Duration::from_millis(200);

/// A request on its way to the scheduler.
struct Call {
    request: Request,
    responder: Responder,
    /// Nobody waits for the answer after this.
    expires: Instant,
}

/// Answers one request.  Dropped without an answer, the client gets an error.
pub struct Responder(SyncSender<Response>);

impl Responder {
    /// Sends the answer; one that nobody waits for any more is dropped.
    pub fn send(self, response: Response) {
        let _ = self.0.try_send(response);
    }
}

/// Asks the scheduler from another thread of the same process.
#[derive(Clone)]
pub struct Handle(SyncSender<Call>);

impl Handle {
    /// Waits for the answer, at most 10 seconds; all failures are [`Response::Error`].
    pub fn call(&self, request: Request) -> Response {
        let (sender, answer) = sync_channel(1);
        let call = Call {
            request,
            responder: Responder(sender),
            expires: Instant::now() + ANSWER_TIME,
        };
        match self.0.try_send(call) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => return Response::Error("the scheduler is busy".into()),
            Err(TrySendError::Disconnected(_)) => {
                return Response::Error("the scheduler is ending".into())
            }
        }
        answer
            .recv_timeout(ANSWER_TIME)
            .unwrap_or_else(|_| Response::Error("the scheduler did not answer".into()))
    }
}

/// A listening control socket.  Removed when dropped.
pub struct Server {
    path: PathBuf,
    calls: Receiver<Call>,
    handle: Handle,
    exit: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// Held as long as the server lives: the proof that the socket is in use.
    _lock: File,
}

impl Server {
    /// Listens at `path`.  The socket of a dead scheduler is replaced; a live one is an error.
    ///
    /// Creates the directory, for root only, if it is missing.
    pub fn start(path: &Path) -> Result<Server> {
        let shown = path.display();
        let dir = path.parent().unwrap_or(Path::new("."));
        make_directory(dir).with_context(|| format!("creating {}", dir.display()))?;
        let lock = take_lock(path)?;
        remove_stale(path)?;
        let listener =
            UnixListener::bind(path).with_context(|| format!("creating the socket {shown}"))?;
        fs::set_permissions(path, Permissions::from_mode(0o600))
            .with_context(|| format!("protecting the socket {shown}"))?;
        listener
            .set_nonblocking(true)
            .with_context(|| format!("setting up the socket {shown}"))?;

        let (sender, calls) = sync_channel(QUEUE);
        let handle = Handle(sender);
        let exit = Arc::new(AtomicBool::new(false));
        let thread = {
            let (handle, exit) = (handle.clone(), exit.clone());
            thread::Builder::new()
                .name("control".into())
                .spawn(move || listen(&listener, &handle, &exit))
                .context("starting the control thread")?
        };
        Ok(Server {
            path: path.into(),
            calls,
            handle,
            exit,
            thread: Some(thread),
            _lock: lock,
        })
    }

    /// The next request, or nothing after `timeout`.
    pub fn recv_timeout(&self, timeout: Duration) -> Option<(Request, Responder)> {
        let until = Instant::now() + timeout;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let call = self.calls.recv_timeout(left).ok()?;
            // Whoever was told that nothing happened must be right.
            if Instant::now() < call.expires {
                return Some((call.request, call.responder));
            }
        }
    }

    /// For other threads of this process.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.exit.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        // Still ours: the lock is released after this.
        let _ = fs::remove_file(&self.path);
    }
}

fn make_directory(dir: &Path) -> io::Result<()> {
    if dir.as_os_str().is_empty() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    if Some(dir) == Path::new(super::DEFAULT_PATH).parent() {
        fs::set_permissions(dir, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// The lock file beside the socket.  Never removed: a lock on a removed file protects nothing.
fn take_lock(socket: &Path) -> Result<File> {
    let mut path = socket.as_os_str().to_owned();
    path.push(".lock");
    let path = PathBuf::from(path);
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(&path)
        .with_context(|| format!("opening {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => bail!(
            "scx_place is already running and listens at {}: `scx_place status` shows it",
            socket.display()
        ),
        Err(TryLockError::Error(e)) => {
            Err(e).with_context(|| format!("locking {}", path.display()))
        }
    }
}

/// Removes the socket that a dead scheduler left, and nothing else.
fn remove_stale(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e).with_context(|| format!("looking at {}", path.display())),
        Ok(meta) if !meta.file_type().is_socket() => {
            bail!("{} is in the way and is not a socket", path.display())
        }
        Ok(_) => fs::remove_file(path).with_context(|| format!("removing {}", path.display())),
    }
}

fn listen(listener: &UnixListener, handle: &Handle, exit: &AtomicBool) {
    let open = Arc::new(AtomicUsize::new(0));
    while !exit.load(Ordering::Relaxed) {
        match sys::wait_readable(listener.as_fd(), POLL) {
            Ok(true) => {}
            Ok(false) => continue,
            Err(e) => {
                warn!("control socket: {e}");
                thread::sleep(POLL);
                continue;
            }
        }
        match listener.accept() {
            Ok((stream, _)) => start_connection(stream, handle, &open),
            Err(e) if e.kind() == ErrorKind::WouldBlock => {}
            Err(e) => {
                // Out of descriptors, for one: waiting is all that helps.
                warn!("control socket: {e}");
                thread::sleep(POLL);
            }
        }
    }
}

/// Counts a connection as long as it lives.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn start_connection(stream: UnixStream, handle: &Handle, open: &Arc<AtomicUsize>) {
    let place = Place(open.clone());
    if open.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
        refuse(stream, "too many connections, try again");
        return;
    }
    let handle = handle.clone();
    let connection = thread::Builder::new().name("control-client".into());
    let started = connection.spawn(move || {
        let _place = place;
        if let Err(e) = serve(stream, &handle) {
            debug!("control client: {e}");
        }
    });
    if let Err(e) = started {
        warn!("control socket: {e}");
    }
}

/// Says why, as far as the socket takes it without waiting.
fn refuse(mut stream: UnixStream, why: &str) {
    if let Ok(line) = encode(&Response::Error(why.into())) {
        if stream.set_nonblocking(true).is_ok() {
            let _ = stream.write(&line);
        }
    }
}

/// Root, or the user this process runs as, which in service is root too.
fn may_ask(uid: u32) -> bool {
    uid == 0 || uid == sys::effective_uid()
}

fn serve(mut stream: UnixStream, handle: &Handle) -> Result<()> {
    stream.set_nonblocking(false)?;
    let response = if !may_ask(sys::peer_uid(stream.as_fd())?) {
        Response::Error(ClientError::NoPermission.to_string())
    } else {
        match read_line(&mut stream, Instant::now() + IO_TIME)?.as_deref() {
            None => Response::Error(format!("longer than {MAX_REQUEST} bytes")),
            Some(line) => match decode(line) {
                Ok(request) => handle.call(request),
                Err(e) => Response::Error(e),
            },
        }
    };
    write_all(&mut stream, &encode(&response)?, Instant::now() + IO_TIME)?;
    Ok(())
}

/// The time left, as a socket timeout.
fn left(until: Instant) -> io::Result<Option<Duration>> {
    match until.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(ErrorKind::TimedOut.into()),
        left => Ok(Some(left)),
    }
}

/// The first line without its line break; none when it is longer than allowed.
fn read_line(stream: &mut UnixStream, until: Instant) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        stream.set_read_timeout(left(until)?)?;
        let n = match stream.read(&mut chunk) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => n,
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        let end = chunk[..n].iter().position(|b| *b == b'\n');
        line.extend_from_slice(&chunk[..end.unwrap_or(n)]);
        if line.len() >= MAX_REQUEST {
            return Ok(None);
        }
        if end.is_some() {
            return Ok(Some(line));
        }
    }
}

fn write_all(stream: &mut UnixStream, mut bytes: &[u8], until: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(left(until)?)?;
        match stream.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(n) => bytes = &bytes[n..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
