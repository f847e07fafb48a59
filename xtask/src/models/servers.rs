//! The servers: each a process that prints its address on loopback and ends with its standard input.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::{EQUIPMENT, folder};
use crate::console::root;

/// Context of llama.cpp's server for a daemon.
const ROAD_CONTEXT_TOKENS: &str = "8192";

/// A server, ended with the value.
pub(super) struct Server {
    child: Child,
    /// `http://127.0.0.1:PORT`
    pub(super) address: String,
}

impl Server {
    /// The mock server.
    pub(super) fn mock() -> Result<Self> {
        let mut command = Command::new("node");
        command.arg("mock_server.mjs").current_dir(folder());
        Self::start(command)
    }

    /// llama.cpp's server with a small model.
    pub(super) fn llama() -> Result<Self> {
        let mut command = Command::new(folder().join("python/bin/python"));
        command.arg(root().join(EQUIPMENT).join("llama_server.py"));
        Self::start(command)
    }

    /// The mock server as a daemon asks it.
    pub(super) fn road_mock() -> Result<Self> {
        let mut command = Command::new("node");
        command.arg("road_server.mjs").current_dir(folder());
        Self::start(command)
    }

    /// llama.cpp's server as a daemon asks it.
    pub(super) fn road_llama() -> Result<Self> {
        let mut command = Command::new(folder().join("python/bin/python"));
        command.arg(root().join(EQUIPMENT).join("llama_server.py"));
        Self::start_with(command, &[ROAD_CONTEXT_TOKENS, "road.jinja"])
    }

    fn start_with(mut command: Command, arguments: &[&str]) -> Result<Self> {
        command.args(arguments);
        Self::start(command)
    }

    fn start(mut command: Command) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let output = child.stdout.take().context("a server without output")?;
        let mut server = Self { child, address: String::new() };
        BufReader::new(output).read_line(&mut server.address)?;
        server.address = server.address.trim().to_owned();
        let is_ready = server.address.starts_with("http://127.0.0.1:");
        ensure!(is_ready, "{command:?} said `{}`, expected an address", server.address);
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
