//! A word to stop reaches a thread that waits, whether it comes before or during the wait.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::CancelFlag;

/// So long that a test that waits it out has failed for everybody.
const FOREVER: Duration = Duration::from_hours(1);

#[test]
fn without_the_word_the_time_passes() {
    assert!(!CancelFlag::new().wait(Duration::from_millis(1)));
    assert!(!CancelFlag::new().wait(Duration::ZERO));
}

#[test]
fn the_word_before_the_wait() {
    let cancel = CancelFlag::new();
    assert!(!cancel.is_canceled());
    cancel.clone().cancel();
    assert!(cancel.is_canceled());
    assert!(cancel.wait(FOREVER));
    assert!(cancel.wait(Duration::ZERO));
}

#[test]
fn the_word_during_the_wait() {
    let cancel = CancelFlag::new();
    let (sender, receiver) = mpsc::channel();
    let waiter = {
        let cancel = cancel.clone();
        thread::spawn(move || {
            sender.send(()).unwrap();
            cancel.wait(FOREVER)
        })
    };
    receiver.recv().unwrap();
    cancel.cancel();
    assert!(waiter.join().unwrap());
}
