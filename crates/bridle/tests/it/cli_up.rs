//! `bridle up` and `bridle health`: the contract that scripts rely on.

use std::io::{BufRead as _, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use bridle_test_support::frame_client::read_frame_blocking;
use bridle_test_support::server_process::ServerProcess;

use crate::harness::{Home, finish};

const HEALTH_CHECK: &[u8] = b"000015(:type :health-check)";

fn converse(mut stream: impl std::io::Read + std::io::Write) {
    let hello = read_frame_blocking(&mut stream);
    let start = "(:type :EVENT :payload (:action :handshake :version \"0.3.0\" :capabilities ";
    assert!(hello.starts_with(start), "{hello}");
    stream.write_all(HEALTH_CHECK).unwrap();
    assert_eq!(
        read_frame_blocking(&mut stream),
        "(:type :health-response :status :healthy :checked-p t)"
    );
}

#[test]
fn ready_line_names_every_listener() {
    let home = Home::new();
    let daemon = home.up(&[]);
    let (tcp, unix, http) = (daemon.tcp(), home.path("b.sock"), home.path("b.http"));
    assert!(tcp.starts_with("127.0.0.1:") && !tcp.ends_with(":0"), "{tcp}");
    assert_eq!(daemon.ready, format!("ready tcp={tcp} unix={unix} http-unix={http}\n"));
    converse(TcpStream::connect(&tcp).unwrap());
    converse(UnixStream::connect(&unix).unwrap());
    for socket in [unix, http] {
        let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{socket}");
    }
}

/// A table that grows later makes every connection wait.
#[cfg(target_os = "linux")]
#[test]
fn there_is_room_for_all_descriptors_from_the_start() {
    let home = Home::new();
    let daemon = home.up(&["--max-connections", "600"]);
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.child.id())).unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("FDSize:")).unwrap();
    assert!(size.trim().parse::<usize>().unwrap() > 600, "{size}");
}

/// Starts a daemon behind a limit of open files, as `ulimit` sets it.
fn up_behind(home: &Home, limit: &str) -> ServerProcess {
    let socket = home.path("b.sock");
    let args = ["up", "--tcp", "127.0.0.1:0", "--unix", &socket, "--log", "error"];
    let usual = home.command(&args);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit {limit} && exec \"$0\" \"$@\"")]);
    command.arg(usual.get_program()).args(usual.get_args());
    for (name, value) in usual.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    ServerProcess::start(&mut command)
}

#[test]
fn a_soft_limit_of_open_files_is_raised() {
    let home = Home::new();
    let daemon = up_behind(&home, "-Sn 64");
    let connect = |_| TcpStream::connect(daemon.tcp()).unwrap();
    let mut idle: Vec<TcpStream> = (0..150).map(connect).collect();
    for stream in &mut idle {
        assert!(read_frame_blocking(stream).contains(":handshake"));
    }
    converse(UnixStream::connect(home.path("b.sock")).unwrap());
}

#[test]
fn idle_connections_at_a_hard_limit_of_open_files_leave_places_for_the_unix_socket() {
    let home = Home::new();
    let daemon = up_behind(&home, "-n 200");
    let connect = |_| TcpStream::connect(daemon.tcp()).unwrap();
    let mut idle: Vec<TcpStream> = (0..150).map(connect).collect();
    let greeted = idle.iter_mut().filter_map(|stream| {
        let told = read_frame_blocking(stream);
        assert!(told.contains(":handshake") || told.contains(":too-many-connections"), "{told}");
        told.contains(":handshake").then_some(())
    });
    // Half of the descriptors are for connections, a quarter of these for the Unix socket.
    assert_eq!(greeted.count(), 75);
    for _ in 0..20 {
        converse(UnixStream::connect(home.path("b.sock")).unwrap());
    }
}

#[test]
fn listeners_can_be_off() {
    let home = Home::new();
    let daemon = home.up(&["--tcp", "off"]);
    assert_eq!(
        daemon.ready,
        format!("ready unix={} http-unix={}\n", home.path("b.sock"), home.path("b.http"))
    );
    let home = Home::new();
    home.run(&["up", "--tcp", "off", "--unix", "off"]).fails(
        78,
        "error: invalid settings: nothing to listen on: give a TCP address, a Unix \
         socket path or stdio\nhint: `bridle config show` shows the source of each value\n",
    );
}

#[test]
fn stdio_serves_frames_and_ends_with_its_input() {
    let home = Home::new();
    let args = ["up", "--stdio", "--tcp", "off", "--unix", "off", "--log", "error"];
    let done = home.pipe(&args, HEALTH_CHECK);
    assert_eq!((done.code, done.stderr.as_str()), (0, "ready stdio\n"));
    let mut frames = done.stdout.as_bytes();
    assert!(read_frame_blocking(&mut frames).contains(":handshake"));
    assert!(read_frame_blocking(&mut frames).contains(":health-response"));
    assert!(frames.is_empty());
}

#[test]
fn stdio_serves_lines_of_json_and_ends_with_its_input() {
    let home = Home::new();
    let args = ["up", "--stdio-json", "--tcp", "off", "--unix", "off", "--log", "error"];
    let request = r#"{"protocol_version":"1.0.0","request_id":"r1","request":{"context":{"user_intent":"help"}}}"#;
    let done = home.pipe(&args, format!("{request}\nwhat?\n"));
    assert_eq!((done.code, done.stderr.as_str()), (0, "ready stdio-json\n"));
    assert_eq!(done.stdout.lines().count(), 2, "{}", done.stdout);
    for line in done.stdout.lines() {
        let answer: serde_json::Value = serde_json::from_str(line).unwrap();
        let is_answered = answer["request_id"] == "r1";
        let status = &answer["response"]["status"];
        assert_eq!(status, if is_answered { "success" } else { "error" }, "{line}");
    }
    home.run(&["up", "--stdio", "--stdio-json"]).fails(
        78,
        "error: invalid settings: standard input and output are asked for twice: for \
         frames and for lines\nhint: `bridle config show` shows the source of each value\n",
    );
}

#[test]
fn signals_end_it_with_success() {
    for signal in ["TERM", "INT"] {
        let home = Home::new();
        let daemon = home.up(&[]);
        let mut idle = TcpStream::connect(daemon.tcp()).unwrap();
        read_frame_blocking(&mut idle);
        daemon.signal(signal);
        assert_eq!(daemon.wait(), (Some(0), String::new()), "{signal}");
        assert_eq!(idle.read(&mut [0; 8]).unwrap(), 0, "the connection is closed");
        assert!(!std::path::Path::new(&home.path("b.sock")).exists());
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let home = Home::new();
    let mut daemon = home.up(&["--log", "info", "--shutdown-grace", "10m"]);
    // Answers that nobody reads keep the daemon waiting for its grace.
    let mut stuck = TcpStream::connect(daemon.tcp()).unwrap();
    stuck.set_write_timeout(Some(std::time::Duration::from_millis(500))).unwrap();
    while stuck.write_all(&HEALTH_CHECK.repeat(1000)).is_ok() {}
    daemon.signal("TERM");
    let mut log = std::io::BufReader::new(daemon.child.stderr.take().unwrap()).lines();
    assert!(log.any(|line| line.unwrap().contains("SIGTERM")), "the first one is noted");
    assert_eq!(daemon.child.try_wait().unwrap(), None, "it waits");
    daemon.signal("TERM");
    assert_eq!(daemon.child.wait().unwrap().code(), Some(143));
}

#[test]
fn memex_is_accepted_and_http_stays_on_this_machine() {
    let home = Home::new();
    std::fs::create_dir(home.path("memex")).unwrap();
    drop(home.up(&["--memex", &home.path("memex"), "--http", "127.0.0.1:0"]));
    let done = home.run(&["up", "--tcp", "off", "--unix", "off", "--http", "0.0.0.0:0"]);
    assert_eq!(done.code, 78, "{}", done.stderr);
    assert!(done.stderr.contains("`0.0.0.0:0` can be reached from other machines"));
}

#[test]
fn one_daemon_a_state_directory() {
    let home = Home::new();
    let daemon = home.up(&[]);
    let pid = daemon.child.id();
    let state = home.path(".local/state/bridle");
    home.run(&["up", "--tcp", "127.0.0.1:0", "--unix", "off", "--log", "error"]).fails(
        75,
        &format!(
            "error: cannot start: the state directory `{state}` is in use by process {pid}\n\
             hint: stop the other daemon, or give this one its own directory: --state DIR\n"
        ),
    );
}

#[test]
fn a_taken_port_has_a_hint() {
    let (first, second) = (Home::new(), Home::new());
    let daemon = first.up(&[]);
    let tcp = daemon.tcp();
    let done = second.run(&["up", "--tcp", &tcp, "--unix", "off", "--log", "error"]);
    done.fails(
        69,
        &format!(
            "error: cannot start: cannot listen on TCP `{tcp}`: Address already in use (os error \
             98)\nhint: choose another port, or any free one: --tcp 127.0.0.1:0\n"
        ),
    );
}

#[test]
fn settings_reach_the_daemon() {
    let home = Home::new();
    let config = home.write("c.toml", "max-frame = \"64KiB\"\nunix = \"off\"\n");
    let mut command = home.command(&["up", "--config", &config]);
    let daemon = ServerProcess::start(command.env("BRIDLE_TCP", "127.0.0.1:0"));
    let mut stream = TcpStream::connect(daemon.tcp()).unwrap();
    let hello = read_frame_blocking(&mut stream);
    assert!(hello.contains(":max-frame 65536"), "{hello}");
}

#[test]
fn short_secrets_are_refused_and_not_printed() {
    let home = Home::new();
    let env = [
        ("HARNESS_PROTOCOL_ENFORCE_HMAC", "true"),
        ("HARNESS_PROTOCOL_HMAC_SECRET", "only-15-bytes!!"),
    ];
    finish(home.command(&["up"]).envs(env), b"").fails(
        78,
        "error: key `default` (env HARNESS_PROTOCOL_HMAC_SECRET) is too short: expected at least \
         16 bytes, got 15\nhint: make one: head -c 32 /dev/urandom > KEY; chmod 600 KEY; name it \
         with --hmac-key-file KEY\n",
    );
    home.run(&["up", "--hmac-enforce"]).fails(
        78,
        "error: `hmac.enforce` is on (flag --hmac-enforce), but there is no key\nhint: make one: \
         head -c 32 /dev/urandom > KEY; chmod 600 KEY; name it with --hmac-key-file KEY\n",
    );
}

#[test]
fn doubtful_keys_and_stray_variables_are_noted() {
    let home = Home::new();
    let key = home.write("key", "sixteen bytes or more\n");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let args = ["up", "--tcp", "127.0.0.1:0", "--unix", "off", "--hmac-key-file", &key];
    let daemon = ServerProcess::start(home.command(&args).env("BRIDLE_TPC", "off"));
    daemon.signal("TERM");
    let (code, log) = daemon.wait();
    assert_eq!(code, Some(0));
    for note in ["other users can read key file", "ends with a newline", "name=BRIDLE_TPC"] {
        assert!(log.contains(note), "{note}: {log}");
    }
}

#[test]
fn the_socket_directory_is_made() {
    let home = Home::new();
    let run = home.path("run");
    std::fs::create_dir(&run).unwrap();
    let mut command = home.command(&["up", "--tcp", "off"]);
    let daemon = ServerProcess::start(command.env("XDG_RUNTIME_DIR", &run));
    assert_eq!(
        daemon.ready,
        format!("ready unix={run}/bridle/bridle.sock http-unix={run}/bridle/bridle.http\n")
    );
}

#[test]
fn the_ready_line_is_said_once() {
    let home = Home::new();
    let daemon = home.up(&["--log", "info"]);
    daemon.signal("TERM");
    let (_, log) = daemon.wait();
    assert!(!log.contains("ready"), "{log}");
}

#[test]
fn logs_can_be_json() {
    let home = Home::new();
    let daemon = home.up(&["--log", "info", "--log-format", "json"]);
    daemon.signal("TERM");
    let (code, stderr) = daemon.wait();
    assert_eq!(code, Some(0));
    for line in stderr.lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(event["ts"].is_number() && event["level"].is_string(), "{line}");
    }
    assert!(stderr.contains("\"message\":\"ready\""), "{stderr}");
}

#[test]
fn health_says_one_word() {
    let home = Home::new();
    let daemon = home.up(&[]);
    home.run(&["health", "--addr", &daemon.tcp()]).prints("healthy\n");
    home.run(&["health", "--addr", &home.path("b.sock")]).prints("healthy\n");
    let detail = home.run(&["health", "--addr", &daemon.tcp(), "--detail"]);
    assert!(detail.stdout.starts_with("healthy\n"), "{}", detail.stdout);
    assert!(!detail.stdout.contains("# HELP"), "{}", detail.stdout);
    let (lines, widest) =
        (detail.stdout.lines().count(), detail.stdout.lines().map(str::len).max());
    assert!(lines <= 24 && widest <= Some(80), "{}", detail.stdout);
    let json = home.run(&["health", "--addr", &daemon.tcp(), "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["status"], "healthy", "{json}");
}

#[test]
fn health_finds_the_daemon_by_itself() {
    let home = Home::new();
    let daemon = home.up(&["--unix", &home.path(".local/state/bridle/bridle.sock")]);
    home.run(&["health"]).prints("healthy\n");
    let tcp = daemon.tcp();
    let config = home.write("tcp.toml", format!("tcp = \"{tcp}\"\nunix = \"gone.sock\"\n"));
    home.run(&["health", "--config", &config]).prints("healthy\n");
    finish(home.command(&["health"]).env("BRIDLE_ADDR", &tcp), b"").prints("healthy\n");
    finish(home.command(&["health"]).env("BRIDLE_ADDR", "nowhere"), b"").fails(
        78,
        "error: BRIDLE_ADDR: expected HOST:PORT, [IPV6]:PORT, unix:PATH or a path with a slash, \
         got `nowhere`\nhint: unset it, or name the daemon with --addr\n",
    );
}

#[test]
fn health_without_a_daemon() {
    let home = Home::new();
    home.run(&["health", "--addr", "./no.sock"]).fails(
        69,
        "error: cannot connect to `unix:./no.sock` (No such file or directory (os error 2))\n\
         hint: start it with: bridle up\n",
    );
    let done = home.run(&["health", "--addr", "./no.sock", "--wait", "0.2"]);
    assert_eq!(done.code, 69);
}

#[test]
fn health_waits_for_a_daemon_that_starts_later() {
    let home = Home::new();
    let socket = home.path("b.sock");
    let waiting = home.command(&["health", "--addr", &socket, "--wait", "60"]).spawn().unwrap();
    let _daemon = home.up(&[]);
    let output = waiting.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"healthy\n"[..]));
}

#[test]
fn health_of_something_else() {
    let home = Home::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"220 mail.example ESMTP\r\n").unwrap();
    });
    let done = home.run(&["health", "--addr", &addr]);
    server.join().unwrap();
    assert_eq!(done.code, 76, "{done:?}");
    assert!(done.stderr.ends_with("hint: check the address: another program listens there\n"));
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = silent.local_addr().unwrap().to_string();
    home.run(&["health", "--addr", &addr, "--timeout", "0.2"]).fails(
        75,
        &format!(
            "error: `{addr}` did not answer within 0.2 s\nhint: raise --timeout, or \
             look at the log of `bridle up`\n"
        ),
    );
}
