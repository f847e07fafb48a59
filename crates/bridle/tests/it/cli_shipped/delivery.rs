//! Delivery against servers that write down what they get: an HTTP server and an SMTP server, each a thread with a socket;
//! and across kills of the daemon against aiosmtpd in a process of its own.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use super::{Desk, say, talk};
use crate::harness::Shell;

/// Conduct of a server once it has the whole of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Conduct {
    Answers,
    FallsSilent,
}

/// A server on a port of its own, and the messages that it got.
struct Recorder {
    port: u16,
    got: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    fn start(serve: fn(&mut TcpStream, Conduct, &Mutex<Vec<String>>), conduct: Conduct) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let got = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&got);
        thread::spawn(move || {
            let mut kept = Vec::new();
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                serve(&mut stream, conduct, &list);
                if conduct == Conduct::FallsSilent {
                    kept.push(stream);
                }
            }
        });
        Recorder { port, got }
    }

    fn got(&self) -> Vec<String> {
        self.got.lock().unwrap().clone()
    }

    /// Waits until it has a message.
    fn wait(&self) {
        while self.got().is_empty() {
            thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

fn http(stream: &mut TcpStream, conduct: Conduct, got: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    got.lock().unwrap().push(format!("{head}{}", String::from_utf8(body).unwrap()));
    if conduct == Conduct::Answers {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}");
    }
}

fn smtp(stream: &mut TcpStream, conduct: Conduct, got: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let _ = stream.write_all(b"220 recorder\r\n");
    let (mut talk, mut is_text) = (String::new(), false);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        talk.push_str(&line);
        let answer: &[u8] = match (is_text, line.trim_end()) {
            (true, ".") => {
                got.lock().unwrap().push(std::mem::take(&mut talk));
                if conduct == Conduct::FallsSilent {
                    return;
                }
                is_text = false;
                b"250 taken\r\n"
            }
            (true, _) => b"",
            (false, "DATA") => {
                is_text = true;
                b"354 go on\r\n"
            }
            (false, "QUIT") => b"221 bye\r\n",
            (false, line) if line.starts_with("EHLO") => b"250-recorder\r\n250 8BITMIME\r\n",
            (false, _) => b"250 ok\r\n",
        };
        let _ = stream.write_all(answer);
    }
}

/// A folder whose channels lead to these ports, and a daemon that may reach them.
fn desk(http: u16, smtp: u16) -> Desk {
    let channels = format!(
        "* hook\n:PROPERTIES:\n:KIND: webhook\n:URL: http://127.0.0.1:{http}/hook\n:END:\n\
         * signal\n:PROPERTIES:\n:KIND: signal\n:URL: http://127.0.0.1:{http}\n:ACCOUNT: +49\n:END:\n\
         * post\n:PROPERTIES:\n:KIND: mail\n:SERVER: 127.0.0.1:{smtp}\n:SECURITY: none\n:ACCOUNT: me@example.org\n:END:\n"
    );
    let hosts = format!("127.0.0.1:{http},127.0.0.1:{smtp}");
    Desk::new(&[("channels.org", &channels)], &["--http-private", &hosts])
}

#[test]
fn a_message_leaves_once_and_the_outbox_says_so() {
    let (web, mail) =
        (Recorder::start(http, Conduct::Answers), Recorder::start(smtp, Conduct::Answers));
    let desk = desk(web.port, mail.port);
    let mut shell = desk.shell();
    let (said, asked) = say(&mut shell, "/send hook ops Fire in the shed");
    assert!(said.contains("Sent to ops."), "{said}");
    assert_eq!(asked.len(), 3, "entry, request, state: {asked:?}");
    assert_eq!(web.got().len(), 1);
    assert!(web.got()[0].contains("\"text\":\"Fire in the shed\""), "{:?}", web.got());
    assert!(web.got()[0].contains("idempotency-key: "), "{:?}", web.got());
    // The request of an older shell: a target, and no action.
    let request = "(:type :REQUEST :id 1 :target :delivery :payload (:channel :signal :to \"+1\" :text \"Hello\" :id \"m1\"))";
    let (said, _) = talk(&mut shell, request);
    assert!(said.contains("Sent to +1."), "{said}");
    assert!(web.got()[1].contains("\"recipient\":[\"+1\"]"), "{:?}", web.got());
    let (said, asked) = talk(&mut shell, request);
    assert!(said.contains("is not sent again"), "{said}");
    assert!(asked.is_empty() && web.got().len() == 2, "{asked:?}");
    let (said, _) = say(&mut shell, "/send post anna@example.org Tea at five");
    assert!(said.contains("Sent to anna@example.org."), "{said}");
    let mails = mail.got();
    assert_eq!(mails.len(), 1);
    assert!(mails[0].contains("RCPT TO:<anna@example.org>\r\n"), "{mails:?}");
    assert!(mails[0].contains("Subject: Tea at five\r\n"), "{mails:?}");
    let outbox = desk.text("delivery.org");
    assert_eq!(outbox.matches(":STATE: sent\n").count(), 3, "{outbox}");
}

#[test]
fn a_mail_whose_server_falls_silent_is_unknown_and_not_sent_again() {
    let mail = Recorder::start(smtp, Conduct::FallsSilent);
    let mut desk = desk(1, mail.port);
    let mut shell = desk.shell();
    shell.send("(:type :EVENT :id 1 :payload (:sensor :user-prompt :text \"/send post a@example.org Hello\"))");
    loop {
        let frame = shell.receive();
        if frame.starts_with("(:type :REQUEST") && frame.contains(":target :approval ") {
            let name = frame.split('"').nth(1).unwrap().to_owned();
            shell.send(&format!("(:type :RESPONSE :id \"{name}\" :payload (:verdict :allow))"));
            if frame.contains(":wanted (:action :send") {
                break;
            }
        }
    }
    mail.wait();
    // Killed while nobody knows: the record has the beginning of the act, and not its end.
    drop(shell);
    drop(desk.daemon.take());
    desk.start();
    let mut shell = desk.shell();
    let (said, _) = say(&mut shell, "/outbox");
    assert!(said.contains("To a@example.org by post: "), "{said}");
    assert!(!said.contains(": sent "), "{said}");
    assert_eq!(mail.got().len(), 1, "it is not sent again by itself");
}

/// A server for mail as others run it, in a process of its own; it writes the words of what it has taken to a file.
struct MailServer {
    child: Child,
    port: u16,
    taken: std::path::PathBuf,
}

/// Program of the server: each message that it answers with `250` is a line of the file.
const MAIL_SERVER: &str = r#"
import asyncio, email, sys
from aiosmtpd.smtp import SMTP

class Handler:
    async def handle_DATA(self, server, session, envelope):
        body = email.message_from_bytes(envelope.content).get_payload(decode=True)
        with open(sys.argv[1], "a") as file:
            file.write(body.decode().strip() + "\n")
        return "250 taken"

async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(Handler()), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)

asyncio.run(main())
"#;

impl MailServer {
    fn start(folder: &Path) -> MailServer {
        let taken = folder.join("taken.txt");
        std::fs::write(&taken, "").unwrap();
        // Debian's own: what other Pythons have is theirs.
        let mut child = Command::new("/usr/bin/python3")
            .args([OsStr::new("-c"), OsStr::new(MAIL_SERVER), taken.as_os_str()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 with aiosmtpd: cargo xtask setup");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().parse().expect("python3-aiosmtpd: cargo xtask setup");
        MailServer { child, port, taken }
    }

    /// Messages with these words: one of a round before may come late.
    fn taken(&self, words: &str) -> usize {
        let taken = std::fs::read_to_string(&self.taken).unwrap();
        taken.lines().filter(|line| *line == words).count()
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Says yes to every question but whether to do something again, until the answer or until so many were answered.
fn answered(shell: &mut Shell, most: usize) -> Option<String> {
    let mut count = 0;
    while count < most {
        let frame = shell.receive();
        if frame.starts_with("(:type :RESPONSE :id 1 ") {
            return Some(frame);
        }
        if frame.starts_with("(:type :REQUEST") && frame.contains(":target :approval ") {
            let name = frame.split('"').nth(1).unwrap().to_owned();
            let verdict = if frame.contains("do it again?") { ":deny" } else { ":allow" };
            shell.send(&format!("(:type :RESPONSE :id \"{name}\" :payload (:verdict {verdict}))"));
            count += 1;
        }
    }
    None
}

#[test]
fn whenever_the_daemon_dies_a_message_leaves_once_or_nobody_says_that_it_did() {
    let folder = tempfile::TempDir::new().unwrap();
    let mail = MailServer::start(folder.path());
    let web = Recorder::start(http, Conduct::Answers);
    let mut desk = desk(web.port, mail.port);
    for (number, (channel, kill_behind)) in
        ["hook", "post"].iter().flat_map(|name| (0..4).map(move |at| (*name, at))).enumerate()
    {
        let id = format!("m{number}");
        let words = format!("Hello {id}");
        let request = format!(
            "(:type :REQUEST :id 1 :target :delivery :payload (:channel :{channel} :to \"a@example.org\" :text \"{words}\" :id \"{id}\"))"
        );
        let mut shell = Shell::attach(&desk.home, &format!("kill{number}"));
        shell.send(&request);
        // The entry, the message and its state are a question each.
        let early = answered(&mut shell, kill_behind);
        assert_eq!(early, None);
        drop(shell);
        drop(desk.daemon.take());
        desk.start();
        // The shell says it again, as one does that got no answer.
        let mut shell = Shell::attach(&desk.home, &format!("kill{number}"));
        shell.send(&request);
        let said = answered(&mut shell, usize::MAX).unwrap();
        let posted = web.got().iter().filter(|body| body.contains(&words)).count();
        let left = posted + mail.taken(&words);
        let outbox = desk.text("delivery.org");
        let entry = outbox.split("* To ").find(|entry| entry.contains(&format!(":ID: {id}\n")));
        let state = entry
            .and_then(|entry| Some(entry.split_once(":STATE: ")?.1.lines().next()?.to_owned()));
        let state = state.unwrap_or_else(|| "no entry".to_owned());
        assert!(left <= 1, "{channel} behind {kill_behind}: {left} messages, {said}");
        match state.as_str() {
            "sent" => assert_eq!(left, 1, "{channel} behind {kill_behind}: {said}"),
            "no entry" | "failed" | "refused" => {
                assert_eq!(left, 0, "{channel} behind {kill_behind}: {state} {said}");
            }
            "sending" | "unknown" => {}
            other => panic!("{channel} behind {kill_behind}: state {other}"),
        }
    }
    assert!(
        (0..8).any(|number| mail.taken(&format!("Hello m{number}")) > 0) && !web.got().is_empty()
    );
}
