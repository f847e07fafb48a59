//! One daemon per state directory.

use bridle_daemon::{DaemonConfig, DaemonError, run};

use bridle_test_support::daemon::TestDaemon;

#[tokio::test]
async fn a_second_daemon_is_told_who_has_the_directory() {
    let daemon = TestDaemon::start().await;
    let state = daemon.dir.path().join("state");
    let config = DaemonConfig {
        tcp: Some("127.0.0.1:0".to_owned()),
        state: state.clone(),
        ..DaemonConfig::default()
    };
    let second = run(config.clone(), |_| panic!("never ready"), std::future::pending()).await;
    let error = second.unwrap_err();
    assert!(
        matches!(&error, DaemonError::Locked { dir, pid }
        if *dir == state && *pid == std::process::id().to_string()),
        "{error}"
    );
    let (end, _dir) = daemon.begin_stop();
    end.await.unwrap().unwrap();
    // Released: the next one starts, and stops at once.
    run(config, |_| {}, std::future::ready(())).await.unwrap();
}

#[tokio::test]
async fn an_open_address_without_signatures_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = DaemonConfig {
        tcp: Some("0.0.0.0:0".to_owned()),
        state: dir.path().to_owned(),
        ..DaemonConfig::default()
    };
    let refused = run(config.clone(), |_| panic!("never ready"), std::future::pending()).await;
    let error = refused.unwrap_err();
    assert!(matches!(error, DaemonError::OpenToTheNetwork { .. }), "{error}");
    assert!(error.to_string().contains("HMAC"), "{error}");
    config.hmac.enforce = true;
    config.hmac.keys = vec![bridle_daemon::HmacKey { id: "k".to_owned(), secret: vec![b'k'; 16] }];
    run(config, |bound| assert!(bound.tcp.is_some()), std::future::ready(())).await.unwrap();
}
