//! `cargo xtask siege`: the daemon under thousands of hostile connections of another user. Starts the
//! real daemon in a folder of its own, lets attackers of an unused uid at its ports (`attackers.py`),
//! and asks it as its owner over the Unix socket meanwhile. `ci` runs it for a short while.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::console::{ProgramRun, VerbConsole, root};

pub(crate) const HELP: &str = "\
usage: cargo xtask siege [--connections N] [--seconds N]

Hostile connections of another user (idle, dribbling, half bodies, big trees, prompts at full speed) are
kept up while the owner asks over the Unix socket: each of its questions must be answered, the daemon
stay under 256 MiB, and its files grow by less than 10 MiB. Needs root: the attackers are another user.

  --connections N   how many (4000 unless told)
  --seconds N       how long (60 unless told)";

/// Connections and seconds, by hand.
const CONNECTIONS: u64 = 4_000;
const SECONDS: u64 = 60;

/// Most memory that the daemon may ever have, in bytes.
const MAX_RESIDENT_BYTES: u64 = 256 << 20;

/// Most bytes by which its files may grow.
const MAX_GROWTH_BYTES: u64 = 10 << 20;

/// Longest wait for one answer: far above any on a loaded machine, and still nobody may be locked out.
const PATIENCE: Duration = Duration::from_secs(60);

/// Pause between two rounds of the owner's questions.
const PAUSE: Duration = Duration::from_millis(250);

/// Uids among which an unused one is looked for.
const UIDS: std::ops::Range<u32> = 61_000..62_000;

const ATTACKERS: &str = include_str!("siege/attackers.py");

struct SiegeOptions {
    connections: u64,
    seconds: u64,
}

pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    let options = parse(arguments)?;
    let me = fs::metadata("/proc/self").context("cannot look at this process")?.uid();
    ensure!(
        me == 0,
        "siege runs attackers as another user, and uid {me} lacks the right to (CAP_SETUID): run it as root"
    );
    ProgramRun::cargo(["build", "--locked", "--package", "bridle"]).run(console)?;
    let folder = std::env::temp_dir().join(format!("bridle-siege-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    let result = besiege(&folder, &options, console);
    if result.is_ok() {
        drop(fs::remove_dir_all(&folder));
    }
    result.with_context(|| format!("the daemon's files and log are in `{}`", folder.display()))
}

fn besiege(folder: &Path, options: &SiegeOptions, console: &VerbConsole) -> Result<()> {
    let mut daemon = SiegeDaemon::start(folder)?;
    // One round before the attack: what the first session takes is not the attackers' doing.
    SiegeOwner::new(&daemon).ask_all()?;
    let before = size_of_files(&folder.join("state"))?;
    let mut attackers = SiegeAttackers::start(&daemon, options)?;
    let mut owner = SiegeOwner::new(&daemon);
    let (mut rounds, mut longest) = (0_u64, Duration::ZERO);
    let told = loop {
        let began = Instant::now();
        owner.ask_all().with_context(|| format!("the owner was locked out in round {rounds}"))?;
        (rounds, longest) = (rounds + 1, longest.max(began.elapsed()));
        if let Some(told) = attackers.ended()? {
            break told;
        }
        std::thread::sleep(PAUSE);
    };
    ensure!(daemon.child.try_wait()?.is_none(), "the daemon ended");
    let peak = daemon.peak_bytes()?;
    let growth = size_of_files(&folder.join("state"))?.saturating_sub(before);
    let mib = |bytes: u64| bytes >> 20;
    console.say(format!("siege: attackers {}", told.trim()));
    console.say(format!(
        "siege: {} connections for {} s; owner asked {rounds} rounds, all answered, longest {} ms; \
         peak {} MiB, files grew by {} KiB",
        options.connections,
        options.seconds,
        longest.as_millis(),
        mib(peak),
        growth >> 10,
    ));
    ensure!(peak < MAX_RESIDENT_BYTES, "expected less than 256 MiB, got {} MiB", mib(peak));
    ensure!(growth < MAX_GROWTH_BYTES, "expected less than 10 MiB more, got {} KiB", growth >> 10);
    Ok(())
}

fn parse(arguments: &[String]) -> Result<SiegeOptions> {
    let mut options = SiegeOptions { connections: CONNECTIONS, seconds: SECONDS };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let place = match word.as_str() {
            "--connections" => &mut options.connections,
            "--seconds" => &mut options.seconds,
            other => bail!("no option `{other}`\n\n{HELP}"),
        };
        let number = words.next().and_then(|text| text.parse().ok()).filter(|number| *number > 0);
        *place = number.with_context(|| format!("`{word}` needs a number above 0"))?;
    }
    Ok(options)
}

/// Daemon in a folder of its own, ended with the run.
struct SiegeDaemon {
    child: Child,
    socket: PathBuf,
    tcp: u16,
    http: u16,
}

impl SiegeDaemon {
    fn start(folder: &Path) -> Result<SiegeDaemon> {
        let log = File::create(folder.join("log")).context("cannot write a log")?;
        let socket = folder.join("b.sock");
        let mut child = Command::new(root().join("target/debug/bridle"))
            .args(["up", "--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--unix"])
            .arg(&socket)
            .arg("--state")
            .arg(folder.join("state"))
            // No settings of whoever runs this.
            .env("XDG_CONFIG_HOME", folder)
            .env("HOME", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .context("cannot start the daemon")?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).context("the ready line is text")?;
        let mut daemon = SiegeDaemon { child, socket, tcp: 0, http: 0 };
        let port = |name: &str| -> Result<u16> {
            let address = line.split_whitespace().find_map(|word| word.strip_prefix(name));
            let port = address.and_then(|address| address.rsplit(':').next()?.parse().ok());
            port.with_context(|| format!("expected `{name}ADDRESS`, got `{line}`"))
        };
        (daemon.tcp, daemon.http) = (port("tcp=")?, port("http=")?);
        Ok(daemon)
    }

    /// Most memory that it ever had.
    fn peak_bytes(&self) -> Result<u64> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(path).context("the daemon is gone")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        Ok(kib.context("the system does not tell the memory of a process")? << 10)
    }
}

impl Drop for SiegeDaemon {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// User who started the daemon, at its Unix socket.
struct SiegeOwner {
    socket: PathBuf,
    /// Connection that stays, as a shell's does.
    shell: Option<UnixStream>,
}

impl SiegeOwner {
    fn new(daemon: &SiegeDaemon) -> SiegeOwner {
        SiegeOwner { socket: daemon.socket.clone(), shell: None }
    }

    /// Asks for health and for an answer to a prompt, on a new connection and on one that stays.
    fn ask_all(&mut self) -> Result<()> {
        let mut fresh = self.connect()?;
        let health = ask(&mut fresh, "(:type :health-check)")?;
        ensure!(health.starts_with("(:type :health-response :status "), "got `{health}`");
        let mut shell = match self.shell.take() {
            Some(shell) => shell,
            None => self.connect()?,
        };
        let prompt = "(:type :EVENT :id 1 :payload (:sensor :user-prompt :text \"help\"))";
        let answer = ask(&mut shell, prompt)?;
        ensure!(answer.contains(":status :success"), "got `{answer}`");
        self.shell = Some(shell);
        Ok(())
    }

    fn connect(&self) -> Result<UnixStream> {
        let mut stream = UnixStream::connect(&self.socket).context("the socket takes nobody")?;
        stream.set_read_timeout(Some(PATIENCE)).context("no time limit")?;
        stream.set_write_timeout(Some(PATIENCE)).context("no time limit")?;
        let hello = frame(&mut stream)?;
        ensure!(hello.contains(":handshake"), "expected a hello, got `{hello}`");
        Ok(stream)
    }
}

pub(crate) fn ask(stream: &mut UnixStream, text: &str) -> Result<String> {
    let said = format!("{:06x}{text}", text.len());
    stream.write_all(said.as_bytes()).context("the daemon does not listen")?;
    frame(stream)
}

pub(crate) fn frame(stream: &mut UnixStream) -> Result<String> {
    let mut header = [0; 6];
    stream.read_exact(&mut header).context("the daemon does not answer")?;
    let digits = str::from_utf8(&header).context("a header is text")?;
    let length = usize::from_str_radix(digits, 16).context("a header is a number")?;
    let mut text = vec![0; length];
    stream.read_exact(&mut text).context("an answer breaks off")?;
    String::from_utf8(text).context("an answer is text")
}

/// Hostile connections, ended with the run.
struct SiegeAttackers {
    child: Child,
}

impl SiegeAttackers {
    fn start(daemon: &SiegeDaemon, options: &SiegeOptions) -> Result<SiegeAttackers> {
        let uid = unused_uid()?;
        let numbers = [
            daemon.tcp.to_string(),
            daemon.http.to_string(),
            options.connections.to_string(),
            options.seconds.to_string(),
        ];
        let child = Command::new("python3")
            .args(["-c", ATTACKERS])
            .args(numbers)
            .uid(uid)
            .gid(uid)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run attackers as uid {uid}"))?;
        Ok(SiegeAttackers { child })
    }

    /// Report of the attackers, once they have ended.
    fn ended(&mut self) -> Result<Option<String>> {
        let Some(status) = self.child.try_wait().context("cannot look after the attackers")? else {
            return Ok(None);
        };
        let (mut told, mut errors) = (String::new(), String::new());
        if let Some(stdout) = &mut self.child.stdout {
            stdout.read_to_string(&mut told).context("the attackers' words are text")?;
        }
        if let Some(stderr) = &mut self.child.stderr {
            stderr.read_to_string(&mut errors).context("the attackers' words are text")?;
        }
        ensure!(status.success(), "the attackers failed: {status}\n{}", errors.trim_end());
        Ok(Some(told))
    }
}

impl Drop for SiegeAttackers {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Returns a uid that no user of this machine has.
fn unused_uid() -> Result<u32> {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let is_used =
        |uid: u32| users.lines().any(|line| line.split(':').nth(2) == Some(&uid.to_string()));
    UIDS.into_iter().find(|uid| !is_used(*uid)).context("no uid of 61000 to 62000 is unused")
}

/// Bytes of all files below a folder.
fn size_of_files(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    let listed =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in listed {
        let entry = entry.context("cannot list the state")?;
        // A file that was removed meanwhile takes no room.
        let Ok(found) = entry.metadata() else { continue };
        sum += if found.is_dir() { size_of_files(&entry.path())? } else { found.len() };
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn numbers_are_read_and_nothing_else() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let options = parse(&words("--connections 400 --seconds 6")).unwrap();
        assert_eq!((options.connections, options.seconds), (400, 6));
        assert_eq!(parse(&[]).unwrap().connections, 4_000);
        for bad in ["--seconds", "--seconds 0", "--hours 1", "--connections many"] {
            assert!(parse(&words(bad)).is_err(), "{bad}");
        }
    }
}
