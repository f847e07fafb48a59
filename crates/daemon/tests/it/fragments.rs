//! Frames that arrive in pieces.

use tokio::io::AsyncWriteExt;

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::frame_client::{CHECK, FrameClient, HEALTHY, assert_answered, frame};

fn big_message(text_bytes: usize) -> String {
    let text = "é".repeat(text_bytes / 2);
    format!("(:type :EVENT :id 5 :payload (:sensor :user-prompt :text \"{text}\"))")
}

#[tokio::test]
async fn one_byte_at_a_time() {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    let message = frame(&big_message(4000)) + " \n" + &frame(CHECK);
    for byte in message.as_bytes() {
        peer.send([*byte]).await;
    }
    assert_both_answered(&mut peer).await;
}

/// Fails unless the next two frames answer the message and the check; either may come first.
async fn assert_both_answered(peer: &mut FrameClient) {
    let frames = [peer.frame().await.unwrap(), peer.frame().await.unwrap()];
    let (healthy, answers): (Vec<_>, Vec<_>) = frames.iter().partition(|text| *text == HEALTHY);
    assert_eq!((healthy.len(), answers.len()), (1, 1), "{frames:?}");
    assert_answered(answers[0], "5");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_megabytes_in_thousand_byte_pieces() {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    let large = big_message(5 << 20).replace(":sensor :user-prompt", ":sensor :tool-output");
    let message = frame(&large) + &frame(CHECK);
    for piece in message.as_bytes().chunks(1000) {
        peer.send(piece).await;
    }
    assert_both_answered(&mut peer).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_largest_frame_at_once() {
    let daemon = TestDaemon::start().await;
    let peer = daemon.peer().await;
    let head = "(:type :LOG :payload (:text \"";
    let text = "x".repeat(0xff_ffff - head.len() - "\"))".len());
    let message = frame(&format!("{head}{text}\"))"));
    assert!(message.starts_with("ffffff"));
    let (mut read, mut write) = peer.split();
    let writer = tokio::spawn(async move {
        write.write_all(message.as_bytes()).await.unwrap();
        write
    });
    let mut answer = vec![0; 64];
    tokio::io::AsyncReadExt::read_exact(&mut read, &mut answer).await.unwrap();
    assert!(String::from_utf8_lossy(&answer).contains("(:type :RESPONSE :id nil"));
    drop(writer.await.unwrap());
}
