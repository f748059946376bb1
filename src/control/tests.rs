// SPDX-License-Identifier: GPL-2.0-only

//! Tests of the socket with both ends in this process, friendly and hostile.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::*;

/// A directory of its own, removed at the end.
struct Dir(PathBuf);

impl Dir {
    fn new() -> Dir {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("scx_place-control-{}-{n}", std::process::id());
        Dir(std::env::temp_dir().join(name))
    }

    fn socket(&self) -> PathBuf {
        self.0.join("control.sock")
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Answers everything with the request's name, as an error text.
fn echo(server: &Server, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        if let Some((request, responder)) = server.recv_timeout(Duration::from_millis(20)) {
            responder.send(Response::Error(format!("{request:?}")));
        }
    }
}

/// Runs `test` while an echoing server listens.
fn with_server(test: impl FnOnce(&std::path::Path)) {
    let dir = Dir::new();
    let server = Server::start(&dir.socket()).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let echoing = {
        let stop = stop.clone();
        thread::spawn(move || echo(&server, &stop))
    };
    test(&dir.socket());
    stop.store(true, Ordering::Relaxed);
    echoing.join().unwrap();
    assert!(!dir.socket().exists(), "the socket was left behind");
}

fn status_works(path: &std::path::Path) {
    match call(path, &Request::Status) {
        Err(ClientError::Refused(text)) => assert_eq!(text, "Status"),
        other => panic!("{other:?}"),
    }
}

/// Sends bytes as they are and returns what comes back.
fn raw(path: &std::path::Path, bytes: &[u8]) -> String {
    let mut stream = UnixStream::connect(path).unwrap();
    let _ = stream.write_all(bytes);
    let mut reply = String::new();
    let _ = stream.read_to_string(&mut reply);
    reply
}

#[test]
fn requests_arrive_as_they_were_sent() {
    with_server(|path| {
        let items = vec!["affine=off".to_string()];
        match call(path, &Request::PolicySet { items }) {
            Err(ClientError::Refused(text)) => {
                assert_eq!(text, r#"PolicySet { items: ["affine=off"] }"#)
            }
            other => panic!("{other:?}"),
        }
        status_works(path);
    });
}

#[test]
fn only_root_can_reach_it() {
    with_server(|path| {
        let mode = |p: &std::path::Path| p.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
    });
}

#[test]
fn nobody_there() {
    let dir = Dir::new();
    let error = call(&dir.socket(), &Request::Status).unwrap_err();
    assert!(matches!(error, ClientError::NotRunning), "{error:?}");
    assert_eq!(
        error.to_string(),
        "no running scx_place: start it with `sudo scx_place`"
    );
}

#[test]
fn stale_socket_is_replaced_live_one_is_not() {
    let dir = Dir::new();
    std::fs::create_dir_all(&dir.0).unwrap();
    drop(UnixListener::bind(dir.socket()).unwrap());
    assert!(dir.socket().exists());
    let error = call(&dir.socket(), &Request::Status).unwrap_err();
    assert!(matches!(error, ClientError::NotRunning), "{error:?}");

    let server = Server::start(&dir.socket()).unwrap();
    let second = Server::start(&dir.socket()).err().unwrap().to_string();
    assert!(second.contains("already running"), "{second}");
    assert!(dir.socket().exists(), "the second one removed the socket");
    drop(server);
    Server::start(&dir.socket()).unwrap();
}

#[test]
fn a_file_in_the_way_is_left_alone() {
    let dir = Dir::new();
    std::fs::create_dir_all(&dir.0).unwrap();
    std::fs::write(dir.socket(), "precious").unwrap();
    let error = Server::start(&dir.socket()).err().unwrap().to_string();
    assert!(error.contains("not a socket"), "{error}");
    assert_eq!(std::fs::read(dir.socket()).unwrap(), b"precious");
}

#[test]
fn garbage_gets_an_error_and_harms_nobody() {
    with_server(|path| {
        assert!(raw(path, b"hello\n").contains("not JSON"));
        assert!(raw(path, b"\xff\xfe\0\n").contains("not JSON"));
        assert!(raw(path, b"{}\n").contains("no version"));
        assert!(raw(path, b"[1]\n").contains("no version"));
        assert!(raw(path, b"{\"version\":99}\n").contains("version 99"));
        assert!(raw(path, b"{\"version\":1,\"request\":\"fly\"}\n").contains("not understood"));
        assert!(raw(path, b"{\"version\":1,\"request\":\"policy_set\"}\n").contains("items"));
        raw(path, "[".repeat(60_000).as_bytes());
        assert!(raw(path, &[b'x'; 70_000]).len() < 200);
        status_works(path);
    });
}

#[test]
fn hostile_clients_do_not_block_others() {
    with_server(|path| {
        // Silent, slow, and gone before the answer.
        let silent: Vec<_> = (0..8).map(|_| UnixStream::connect(path).unwrap()).collect();
        let mut slow = UnixStream::connect(path).unwrap();
        slow.write_all(b"{\"versi").unwrap();
        for _ in 0..100 {
            let mut gone = UnixStream::connect(path).unwrap();
            let _ = gone.write_all(b"{\"version\":1,\"request\":\"status\"}\n");
        }
        // Those that were gone are served quickly; afterwards there is room.
        let until = Instant::now() + Duration::from_secs(5);
        while let Err(ClientError::Refused(text)) = call(path, &Request::Status) {
            if text == "Status" {
                break;
            }
            assert!(Instant::now() < until, "{text}");
            thread::sleep(Duration::from_millis(10));
        }
        drop(silent);
    });
}

#[test]
fn too_many_connections_are_told_so_and_time_out() {
    with_server(|path| {
        let silent: Vec<_> = (0..16)
            .map(|_| UnixStream::connect(path).unwrap())
            .collect();
        // All of them are accepted, in order, before this one.
        match call(path, &Request::Status) {
            Err(ClientError::Refused(text)) => assert!(text.contains("too many"), "{text}"),
            other => panic!("{other:?}"),
        }
        // They have 2 seconds.
        thread::sleep(Duration::from_millis(2300));
        status_works(path);
        drop(silent);
    });
}

#[test]
fn without_an_answer_the_client_is_told() {
    let dir = Dir::new();
    let server = Server::start(&dir.socket()).unwrap();
    let handle = server.handle();
    let asking = thread::spawn(move || handle.call(Request::Status));
    let (request, responder) = server.recv_timeout(Duration::from_secs(5)).unwrap();
    assert_eq!(request, Request::Status);
    drop(responder);
    let answer = asking.join().unwrap();
    assert_eq!(
        answer,
        Response::Error("the scheduler did not answer".into())
    );
}
