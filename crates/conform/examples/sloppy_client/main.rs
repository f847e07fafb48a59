//! A deliberately sloppy client of the framed protocol: bridle's own, with one fault planted between it
//! and the daemon, or between it and the user. `crates/conform/tests/kits.rs` has the kit find each of them.
//!
//!     sloppy_client --list         every fault: the case that is meant to find it, and its name
//!     sloppy_client NUMBER         a client with that fault; without a number, an honest one

// Test equipment: what cannot be is the end of it.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod faults;
mod proxy;

use std::io::{self, Write};
use std::sync::Arc;

use bridle_shell::ask::frames::{AttachOrder, run};
use bridle_shell::ask::{lines_of, new_id};
use bridle_shell::client::{ANSWER_TIMEOUT, ClientAuth, ClientOptions, DaemonTarget};
use bridle_wire::seal::{KeyId, SigningKey};

use faults::{Fault, faults};

fn main() {
    let argument = std::env::args().nth(1);
    let mut all = faults();
    if argument.as_deref() == Some("--list") {
        for fault in &all {
            println!("{} {}", fault.case, fault.name);
        }
        return;
    }
    let number: Option<usize> = argument.map(|text| text.parse().unwrap());
    let fault = Arc::new(number.map(|number| all.swap_remove(number)).unwrap_or_default());
    let variable = |name: &str| std::env::var(name).unwrap();
    let file = Some(variable("OACP_KEY_FILE")).filter(|name| !name.is_empty() && !fault.unsigned);
    let daemon = variable("OACP_ADDR");
    // What is signed cannot be changed on its way.
    let address = if file.is_some() { daemon } else { proxy::start(&daemon, Arc::clone(&fault)) };
    let auth = file.map_or(ClientAuth::None, |name| {
        ClientAuth::V2(SigningKey::from_bytes(
            KeyId::new(&variable("OACP_KEY_ID")),
            &std::fs::read(name).unwrap(),
        ))
    });
    let options = ClientOptions { timeout: ANSWER_TIMEOUT, auth };
    let order = AttachOrder {
        targets: vec![DaemonTarget { addr: address.parse().unwrap(), options }],
        session: variable("OACP_SESSION"),
        cursor: variable("OACP_CURSOR").parse().unwrap(),
        client: new_id(),
    };
    let (sender, input) = std::sync::mpsc::channel();
    let hears = Arc::clone(&fault);
    std::thread::spawn(move || {
        for line in lines_of(io::stdin()) {
            let _ = sender.send((hears.input)(line));
        }
        if hears.assumes {
            let _ = sender.send("allow".to_owned());
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
    });
    // How it ended is told on a line.
    let _ = run(order, &input, &mut Lines { fault, unwritten: Vec::new() });
}

/// What the client tells, as the user hears it.
struct Lines {
    fault: Arc<Fault>,
    unwritten: Vec<u8>,
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unwritten.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let text = String::from_utf8(std::mem::take(&mut self.unwritten)).unwrap();
        let mut out = io::stdout().lock();
        for line in text.lines().flat_map(|line| (self.fault.line)(line.to_owned())) {
            writeln!(out, "{line}")?;
        }
        out.flush()
    }
}
