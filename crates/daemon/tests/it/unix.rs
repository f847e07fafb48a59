//! The Unix socket: who may see it, what happens to an old one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use bridle_daemon::{DaemonConfig, DaemonError, run};

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::frame_client::{CHECK, HEALTHY, assert_error};
use bridle_test_support::other_user::python_of_another_user;

fn only_unix(config: &mut DaemonConfig, dir: &Path) {
    config.tcp = None;
    config.unix = Some(dir.join("run/b.sock"));
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn socket_and_directory_are_private_and_the_socket_goes_with_the_daemon() {
    let daemon = TestDaemon::with(only_unix).await;
    let path = daemon.bound.unix.clone().unwrap();
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(names.len(), 1, "nothing but the socket: {names:?}");
    let mut peer = daemon.unix_peer().await;
    assert_eq!(peer.ask(CHECK).await, HEALTHY);
    let (end, _dir) = daemon.begin_stop();
    end.await.unwrap().unwrap();
    assert!(!path.exists());
}

#[tokio::test]
async fn a_dead_socket_is_replaced() {
    let daemon = TestDaemon::with(|config, dir| {
        only_unix(config, dir);
        let path = config.unix.as_ref().unwrap();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Bound, and dropped without being removed.
        drop(std::os::unix::net::UnixListener::bind(path).unwrap());
        assert!(path.exists());
    })
    .await;
    assert_eq!(daemon.unix_peer().await.ask(CHECK).await, HEALTHY);
    assert_eq!(mode(&daemon.bound.unix.clone().unwrap()), 0o600);
}

#[tokio::test]
async fn a_living_socket_and_a_plain_file_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("b.sock");
    let config = DaemonConfig {
        tcp: None,
        unix: Some(path.clone()),
        state: dir.path().join("state"),
        ..DaemonConfig::default()
    };
    let start = || run(config.clone(), |_| panic!("never ready"), std::future::pending());
    let other = std::os::unix::net::UnixListener::bind(&path).unwrap();
    assert!(matches!(start().await, Err(DaemonError::UnixInUse { .. })));
    drop(other);
    fs::remove_file(&path).unwrap();
    fs::write(&path, "mine").unwrap();
    assert!(matches!(start().await, Err(DaemonError::NotASocket { .. })));
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
}

#[tokio::test]
async fn tcp_and_unix_are_served_together() {
    let daemon = TestDaemon::with(|config, dir| config.unix = Some(dir.join("b.sock"))).await;
    assert_eq!(daemon.unix_peer().await.ask(CHECK).await, HEALTHY);
    daemon.assert_alive().await;
}

#[tokio::test]
async fn another_user_is_refused() {
    let daemon = TestDaemon::with(only_unix).await;
    let path = daemon.bound.unix.clone().unwrap();
    // Open the doors that keep others out, so that only the look at the uid is left.
    fs::set_permissions(daemon.dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(path.parent().unwrap(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let script = "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n\
                  d=b''\nwhile True:\n  b=s.recv(4096)\n  if not b: break\n  d+=b\n\
                  sys.stdout.write(d.decode())";
    let mut command = python_of_another_user();
    command.args(["-c", script]).arg(&path);
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    assert!(output.status.success(), "cannot run as another user: {output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    assert_error(&said[6..], "not-permitted");
    assert_eq!(usize::from_str_radix(&said[..6], 16).unwrap(), said.len() - 6, "one frame");
    assert_eq!(daemon.unix_peer().await.ask(CHECK).await, HEALTHY);
}
