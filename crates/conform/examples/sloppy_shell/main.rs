//! A deliberately sloppy Shell: bridle's own, with one fault planted between it and the Engine, or
//! between it and the user. `crates/conform/tests/kits.rs` has the kit find each of them.
//!
//!     sloppy_shell --list          every fault: the case that is meant to find it, and its name
//!     sloppy_shell NUMBER          a Shell with that fault; without a number, an honest one
//!
//! What passes the fault is the text of messages and lines, so that the Shell itself stays as it is.

// Test equipment: what cannot be is the end of it.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod faults;
mod proxy;

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use bridle_shell::ask::{lines, lines_of};
use bridle_shell::openharness::http::{EngineUrl, HttpOptions, HttpTransport};

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
    let place: EngineUrl = variable("OPENHARNESS_URL").parse().unwrap();
    let address = proxy::start(&place.authority, Arc::clone(&fault));
    let place: EngineUrl = format!("http://{address}").parse().unwrap();
    let options = HttpOptions { token: Some(variable("OPENHARNESS_TOKEN")), authorities: None };
    let transport = HttpTransport::new(place, options).unwrap();
    let input = spoiled(lines_of(io::stdin()), Arc::clone(&fault));
    let out = Lines { fault, unwritten: Vec::new() };
    let session = variable("OPENHARNESS_SESSION");
    lines::run(Box::new(transport), Some(&session), input, Box::new(out));
}

/// What the user says, as the Shell hears it.
fn spoiled(input: Receiver<String>, fault: Arc<Fault>) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in input {
            if sender.send((fault.input)(line)).is_err() {
                return;
            }
        }
        if let Some(last) = fault.end {
            let _ = sender.send(last.to_owned());
            // Somebody has to be there for what it leads to.
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
    });
    receiver
}

/// What the Shell says, as the user hears it.
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
        for line in text.lines() {
            for line in (self.fault.line)(line.to_owned()) {
                writeln!(out, "{line}")?;
            }
        }
        out.flush()
    }
}
