//! The state folder under the most open umask. A program of its own: a umask is the whole process's.

use std::os::unix::fs::PermissionsExt as _;

use bridle_test_support::daemon::TestDaemon;
use rustix::fs::Mode;

#[tokio::test]
async fn every_file_of_the_state_folder_is_for_its_owner_alone() {
    rustix::process::umask(Mode::empty());
    let daemon = TestDaemon::with(|config, dir| {
        std::fs::create_dir(dir.join("org")).unwrap();
        std::fs::write(dir.join("org/a.org"), "* One\n").unwrap();
        config.memex = Some(dir.join("org"));
        config.http = Some("127.0.0.1:0".to_owned());
        config.unix = Some(dir.join("run/socket"));
    })
    .await;
    let mut peer = daemon.unix_peer().await;
    peer.ask("(:type :EVENT :id 1 :payload (:sensor :user-prompt :text \"status\"))").await;
    peer.ask("(:type :REQUEST :id 2 :target :context :payload (:action :memex-status))").await;
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let (state, run) = (daemon.dir.path().join("state"), daemon.dir.path().join("run"));
    assert_eq!((mode(&state), mode(&run), mode(&run.join("socket"))), (0o700, 0o700, 0o600));
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&state).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        names.push(path.file_name().unwrap().to_str().unwrap().to_owned());
    }
    for name in ["record.db", "record.db-wal", "memory.db", "index.db", "daemon.lock"] {
        assert!(names.iter().any(|found| found == name), "{name} in {names:?}");
    }
    drop(peer);
    daemon.stop().await.unwrap();
}
