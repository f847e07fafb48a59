//! A deliberately sloppy agent of ACP: an honest one that offers everything, with one fault planted between it and
//! the editor. `crates/conform/tests/kits.rs` has the kit find each of them.
//!
//!     sloppy_agent --list         every fault: the case that is meant to find it, and its name
//!     sloppy_agent NUMBER         an agent with that fault; without a number, an honest one
//!
//! `slow` in a prompt takes two seconds, `tool` needs a permission, everything else is answered at once. Sessions are
//! kept in a file of the folder `ACP_FOLDER`.

// Test equipment: what cannot be is the end of it.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod agent;
mod faults;
mod methods;

use std::io::{BufRead as _, stdin};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use agent::HonestAgent;
use faults::faults;

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
    let fault = number.map(|number| all.swap_remove(number)).unwrap_or_default();
    let (sender, lines) = sync_channel(64);
    std::thread::spawn(move || {
        for line in stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let lingers = fault.lingers;
    let mut agent = HonestAgent::new(fault);
    loop {
        match lines.recv_timeout(Duration::from_millis(20)) {
            Ok(line) => agent.take(&line),
            Err(RecvTimeoutError::Timeout) => agent.go_on(),
            Err(RecvTimeoutError::Disconnected) if lingers => {
                std::thread::sleep(Duration::from_secs(60));
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
