//! A WebSocket library of others: Python's `websockets`, which checks what it gets by RFC 6455.

use std::process::Command;

use tempfile::TempDir;

use crate::support::{Server, attempt, root};

/// The Python that Debian's packages are for; another one in the path may not have them.
const PYTHON: &str = "/usr/bin/python3";

#[test]
fn a_library_of_others_talks_to_the_daemon() {
    let state = TempDir::new().expect("a temporary directory can be made");
    let server = Server::bridle_in(state.path(), &["--http", "127.0.0.1:0"]);
    let mut command = Command::new(PYTHON);
    command.args(["-B", "peers/python/websocket.py", &server.address()]).current_dir(root());
    let finished = attempt(command, b"");
    let said = String::from_utf8_lossy(&finished.stdout);
    let hint = "`cargo xtask setup` installs python3-websockets";
    assert!(finished.success, "{said}{} ({hint})", finished.stderr);
    assert!(said.ends_with("9 passed, 0 failed\n"), "{said}");
}
