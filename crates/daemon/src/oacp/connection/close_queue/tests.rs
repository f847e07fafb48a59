//! Tests of the turns to end.

use std::task::Waker;

use super::*;

#[test]
fn the_next_one_waits_until_the_turn_is_passed_on() {
    let turns = Arc::new(Semaphore::new(1));
    let cx = &mut Context::from_waker(Waker::noop());
    let (mut first, mut second) = (CloseTurn::None, CloseTurn::None);
    assert!(first.poll(&turns, cx).is_ready());
    assert!(second.poll(&turns, cx).is_pending());
    assert!(first.poll(&turns, cx).is_ready(), "a taken turn stays taken");
    first.pass_on();
    assert!(second.poll(&turns, cx).is_ready());
    drop(second);
    assert!(first.poll(&turns, cx).is_ready(), "a turn is free again when its holder is dropped");
}

#[test]
fn who_passes_on_while_waiting_keeps_its_place() {
    let turns = Arc::new(Semaphore::new(1));
    let cx = &mut Context::from_waker(Waker::noop());
    let (mut first, mut second, mut third) = (CloseTurn::None, CloseTurn::None, CloseTurn::None);
    assert!(first.poll(&turns, cx).is_ready());
    assert!(second.poll(&turns, cx).is_pending());
    second.pass_on();
    assert!(third.poll(&turns, cx).is_pending());
    drop(first);
    assert!(third.poll(&turns, cx).is_pending());
    assert!(second.poll(&turns, cx).is_ready());
}
