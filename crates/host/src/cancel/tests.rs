//! A word to stop reaches a task that waits, whether it comes before or during the wait.

use std::time::Duration;

use super::CancelFlag;

/// So long that a test that waits it out has failed for everybody.
const FOREVER: Duration = Duration::from_hours(1);

#[tokio::test]
async fn without_the_word_the_time_passes() {
    assert!(!CancelFlag::new().wait(Duration::from_millis(1)).await);
    assert!(!CancelFlag::new().wait(Duration::ZERO).await);
}

#[tokio::test]
async fn the_word_before_the_wait() {
    let cancel = CancelFlag::new();
    assert!(!cancel.is_canceled());
    cancel.clone().cancel();
    assert!(cancel.is_canceled());
    assert!(cancel.wait(FOREVER).await);
    assert!(cancel.wait(Duration::ZERO).await);
    cancel.cancelled().await;
}

#[tokio::test]
async fn the_word_during_the_wait() {
    let cancel = CancelFlag::new();
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let waiter = {
        let cancel = cancel.clone();
        tokio::spawn(async move {
            sender.send(()).unwrap();
            cancel.wait(FOREVER).await
        })
    };
    receiver.await.unwrap();
    cancel.cancel();
    assert!(waiter.await.unwrap());
}
