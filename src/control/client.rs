// SPDX-License-Identifier: GPL-2.0-only

//! The subcommands' end of the control socket.

use std::fmt;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::protocol::{decode, encode};
use super::{Request, Response};

/// Longer than the server waits for the scheduler.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Bytes of a reply.
const MAX_REPLY: u64 = 4 * 1024 * 1024;

/// Why there is no answer.  Displayed as one line with its cure.
#[derive(Debug)]
pub enum ClientError {
    /// Nobody listens.
    NotRunning,
    /// The socket is root's.
    NoPermission,
    /// The scheduler was asked and says no.
    Refused(String),
    /// The connection failed midway.
    Io(io::Error),
}

impl std::error::Error for ClientError {}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            ClientError::NotRunning => {
                write!(f, "no running scx_place: start it with `sudo scx_place`")
            }
            ClientError::NoPermission => {
                write!(f, "the control socket is root only: try sudo")
            }
            ClientError::Refused(why) => write!(f, "{why}"),
            ClientError::Io(e) => write!(f, "the connection to scx_place failed: {e}"),
        }
    }
}

impl From<io::Error> for ClientError {
    fn from(e: io::Error) -> ClientError {
        match e.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => ClientError::NotRunning,
            ErrorKind::PermissionDenied => ClientError::NoPermission,
            _ => ClientError::Io(e),
        }
    }
}

/// Sends one request to the scheduler that listens at `path` and waits for its answer, at most 15
/// seconds.  [`Response::Error`] arrives as [`ClientError::Refused`].
pub fn call(path: &Path, request: &Request) -> Result<Response, ClientError> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;

    let line = encode(request).map_err(|e| ClientError::Io(e.into()))?;
    // A server that refuses may answer and close before it has read everything.
    let sent = stream.write_all(&line);
    let mut reply = Vec::new();
    let received = BufReader::new(stream.take(MAX_REPLY)).read_until(b'\n', &mut reply);
    if reply.last() != Some(&b'\n') {
        sent.and(received)?;
        return Err(ClientError::Io(ErrorKind::UnexpectedEof.into()));
    }
    match decode(&reply) {
        Ok(Response::Error(why)) => Err(ClientError::Refused(why)),
        Ok(response) => Ok(response),
        Err(e) => Err(ClientError::Refused(format!("answer {e}"))),
    }
}
