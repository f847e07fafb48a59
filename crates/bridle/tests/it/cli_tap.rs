//! `bridle tap`: files, daemons, and the way between.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr};

use crate::harness::{Home, pipe};

const FRAMES: &str = "000006(:a 1)000000\n000007(:b . c00000d(:a \"日本\")";

#[test]
fn shows_the_frames_of_a_file() {
    let home = Home::new();
    let file = home.write("frames", FRAMES);
    let expected = "1 at byte 0, 6 bytes\n  (:a 1)\n\
                    2 at byte 12\n  empty-frame at byte 12: expected a length of at least 1, got \
                    `000000`\n\
                    3 at byte 19, 7 bytes\n  BAD\n  (:b . c\n\
                    4 at byte 32, 13 bytes\n  (:a \"日本\")\n";
    let done = home.run(&["tap", &file]);
    let bad = done.stdout.lines().nth(5).unwrap_or_default().trim().to_owned();
    assert!(bad.starts_with("incomplete at 1:8 (byte 7): "), "{}", done.stdout);
    done.prints(&expected.replace("BAD", &bad));
    assert_eq!(home.pipe(&["tap", "-"], FRAMES), done);
    assert_eq!(home.pipe(&["tap"], FRAMES), done);
}

#[test]
fn shows_json_lines() {
    let done = pipe(&["tap", "--json"], FRAMES);
    let lines: Vec<serde_json::Value> =
        done.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4);
    assert_eq!((&lines[0]["n"], &lines[0]["offset"]), (&1.into(), &0.into()));
    assert_eq!(lines[0]["text"], "(:a 1)");
    assert!(!lines[0]["form"].is_null());
    assert_eq!(lines[1]["error"]["code"], "empty-frame");
    assert_eq!(lines[2]["error"]["code"], "incomplete");
    assert_eq!(lines[3]["bytes"], 13);
}

#[test]
fn stops_where_framing_is_lost() {
    let done = pipe(&["tap"], "000006(:a 1)GET / HTTP/1.1");
    assert_eq!(done.code, 65);
    assert!(done.stdout.starts_with("1 at byte 0, 6 bytes\n  (:a 1)\n2 at byte 12\n  bad-header "));
    assert!(done.stderr.starts_with("bad-header at byte 12: "), "{}", done.stderr);
}

#[test]
fn lays_out_what_is_long() {
    let payload =
        format!("(:type :EVENT :payload (:sensor :user-prompt :text \"{}\"))", "x".repeat(80));
    let frame = format!("{:06x}{payload}", payload.len());
    pipe(&["tap"], frame).prints(&format!(
        "1 at byte 0, {} bytes\n  (:type :EVENT\n   :payload (:sensor :user-prompt\n             \
         :text \"{}\"))\n",
        payload.len(),
        "x".repeat(80)
    ));
}

#[test]
fn verifies_signed_frames() {
    let home = Home::new();
    let key = home.write("key", "k");
    let flags = ["--hmac", "v1", "--key-file", &key];
    let frame = home.pipe(&[&["frame", "encode"], &flags[..]].concat(), "(:a 1)").stdout;
    home.pipe(&[&["tap"], &flags[..]].concat(), frame).prints("1 at byte 0, 6 bytes\n  (:a 1)\n");
}

#[test]
fn arguments_that_contradict_are_usage_errors() {
    assert_eq!(pipe(&["tap", "file", "--connect", "127.0.0.1:1"], "").code, 2);
    assert_eq!(pipe(&["tap", "file", "--listen", "127.0.0.1:0"], "").code, 2);
    assert_eq!(pipe(&["tap", "--connect", "nowhere"], "").code, 2);
    assert_eq!(pipe(&["tap", "--config", "c.toml"], "").code, 2);
    let done = pipe(&["tap", "no-such-file"], "");
    done.fails(
        66,
        "error: cannot read `no-such-file`: No such file or directory (os error 2)\nhint: name a \
         file of frames, or - for stdin\n",
    );
}

#[test]
fn shows_what_a_daemon_says() {
    let home = Home::new();
    let daemon = home.up(&[]);
    let tcp = daemon.tcp();
    let mut tap = home.command(&["tap", "--connect", &tcp]).spawn().unwrap();
    let mut out = BufReader::new(tap.stdout.take().unwrap());
    let mut head = String::new();
    out.read_line(&mut head).unwrap();
    daemon.signal("TERM");
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert!(head.starts_with("1 daemon, "), "{head}");
    assert!(rest.contains(":action :handshake"), "{rest}");
    assert_eq!(tap.wait().unwrap().code(), Some(0));
}

/// A tap between clients and a daemon; killed when dropped.
struct Proxy {
    child: Child,
    addr: String,
    _stderr: BufReader<ChildStderr>,
}

impl Proxy {
    fn start(home: &Home, args: &[&str]) -> Proxy {
        let args = [&["tap", "--json"], args].concat();
        let mut child = home.command(&args).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut ready = String::new();
        stderr.read_line(&mut ready).unwrap();
        let addr = ready.trim().strip_prefix("ready ").unwrap_or_else(|| panic!("{ready}"));
        let addr = addr.to_owned();
        Proxy { child, addr, _stderr: stderr }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn shows_both_directions_between_a_client_and_a_daemon() {
    let home = Home::new();
    let daemon = home.up(&[]);
    let tcp = daemon.tcp();
    let config = home.write("c.toml", format!("tcp = \"{tcp}\"\nunix = \"gone.sock\"\n"));
    for args in [
        ["--listen", "127.0.0.1:0", "--connect", &tcp],
        ["--listen", "unix:tap.sock", "--config", &config],
    ] {
        let mut proxy = Proxy::start(&home, &args);
        let out = BufReader::new(proxy.child.stdout.take().unwrap());
        home.run(&["health", "--addr", &proxy.addr]).prints("healthy\n");
        let seen: Vec<(String, String)> = out
            .lines()
            .take(3)
            .map(|line| {
                let shown: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
                let text = |name: &str| shown[name].as_str().unwrap().to_owned();
                assert_eq!(shown["client"], 1);
                (text("from"), text("text"))
            })
            .collect();
        assert_eq!(seen[0].0, "daemon");
        assert!(seen[0].1.contains(":handshake"), "{seen:?}");
        assert_eq!(seen[1], ("client".to_owned(), "(:type :health-check)".to_owned()));
        assert_eq!(seen[2].0, "daemon");
        assert!(seen[2].1.contains(":health-response"), "{seen:?}");
    }
}
