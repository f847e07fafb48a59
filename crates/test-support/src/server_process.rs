//! A server in a process of its own: started, waited for, signalled, and killed when it is dropped.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command};

/// Server that printed its `ready` line; killed when dropped.
#[derive(Debug)]
pub struct ServerProcess {
    /// The process; its standard input and standard error are the caller's.
    pub child: Child,
    /// Kept open: a server may write.
    stdout: BufReader<ChildStdout>,
    /// Line that began with `ready `.
    pub ready: String,
}

impl ServerProcess {
    /// Starts a command, whose standard output and error are piped, and waits for its ready line.
    ///
    /// # Panics
    /// The command prints another line first, or ends; the panic shows its standard error.
    pub fn start(command: &mut Command) -> ServerProcess {
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut ready = String::new();
        stdout.read_line(&mut ready).unwrap();
        if !ready.starts_with("ready ") {
            let mut stderr = String::new();
            child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
            panic!("no ready line: {ready:?}, stderr: {stderr}");
        }
        ServerProcess { child, stdout, ready }
    }

    /// Waits for the ready line of a server that starts anew in the same process.
    ///
    /// # Panics
    /// Another line comes, or the end.
    pub fn wait_ready_again(&mut self) {
        self.ready.clear();
        self.stdout.read_line(&mut self.ready).unwrap();
        assert!(self.ready.starts_with("ready "), "no ready line: {:?}", self.ready);
    }

    /// Returns a value of the ready line, such as that of `tcp`.
    pub fn word(&self, name: &str) -> String {
        let prefix = format!("{name}=");
        let word = self.ready.split_whitespace().find_map(|word| word.strip_prefix(&prefix));
        word.unwrap_or_else(|| panic!("no {name} in {:?}", self.ready)).to_owned()
    }

    /// Returns the TCP address of the framed protocol.
    pub fn tcp(&self) -> String {
        self.word("tcp")
    }

    /// Sends a signal by its name.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Waits for the end; returns the exit code and everything on standard error.
    pub fn wait(mut self) -> (Option<i32>, String) {
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (self.child.wait().unwrap().code(), stderr)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // Both fail if it has ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
