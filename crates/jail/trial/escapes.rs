//! Attempts to break out, each a small program in the jail: what it must not reach is laid out beside
//! the project, and a success says `ESCAPED`. What *copy* cannot stop is in the table, by name; the
//! table is held to it in both directions. One attempt is long: request, run, look.

mod table;

use std::collections::BTreeMap;
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bridle_jail::{HostRule, JailLayer, JailPromise, NetworkGrant};

use crate::world::{World, listing, text};
use table::{Attempt, Grant, InCopy, attempts};

/// Text that must never be seen inside.
const CANARY: &str = "CANARY-5b1e";

/// Seconds that a left-over program would sleep: recognised by it in `/proc`.
pub(crate) const MARK: &str = "31337";

pub(crate) fn run(words: &[&str]) -> Result<(), String> {
    let is_verbose = words.contains(&"--verbose");
    let only = words.iter().position(|it| *it == "--only").and_then(|place| words.get(place + 1));
    let world = World::new("escapes")?;
    let layer = world.jail.capabilities().layer.ok_or("no layer is in force")?;
    if words.contains(&"--full") && layer != JailLayer::Full {
        return Err(format!(
            "expected layer full, got {layer}: {:?}",
            world.jail.capabilities().facts
        ));
    }
    let bait = Bait::lay(&world)?;
    controls(&world, &bait, layer)?;
    let laid = || Ok::<_, String>((listing(&world.path("outside"))?, listing(&world.project())?));
    let (before, project) = laid()?;
    let (mut closed, mut open, mut wrong) = (0, Vec::new(), Vec::new());
    for attempt in attempts() {
        if only.is_some_and(|it| **it != *attempt.name)
            || (attempt.needs_x86 && !cfg!(target_arch = "x86_64"))
        {
            continue;
        }
        let escaped = try_one(&world, &bait, &attempt, layer, is_verbose)?;
        let may_escape = layer == JailLayer::Copy && attempt.in_copy == InCopy::NotCovered;
        match (escaped, may_escape) {
            (false, false) => closed += 1,
            (true, true) => open.push(attempt.name.clone()),
            (true, false) => wrong.push(format!("{} escaped", attempt.name)),
            (false, true) => wrong.push(format!("{} is said to escape and does not", attempt.name)),
        }
    }
    if let Some(named) = left_over(MARK) {
        wrong.push(format!("left over: {named}"));
    }
    let (after, project_after) = laid()?;
    if project_after != project {
        wrong.push("the project differs although every stage was refused".into());
    }
    let touched: Vec<_> = before
        .iter()
        .filter(|(path, it)| after.get(*path).is_none_or(|now| now.content != it.content))
        .collect();
    if !touched.is_empty() || after.len() != before.len() {
        wrong.push(format!(
            "files outside differ: {} touched, {} before, {} after",
            touched.len(),
            before.len(),
            after.len()
        ));
    }
    println!("escapes: layer {layer}, {closed} attempts closed, {} not covered", open.len());
    for name in &open {
        println!("  not covered in {layer}: {name}");
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n  ")) }
}

/// What attackers want, laid out beside the project.
struct Bait {
    victim: Child,
    tcp: TcpListener,
    udp: UdpSocket,
    _path_socket: UnixListener,
    _abstract_socket: UnixListener,
    /// Without the flag that closes it: what a careless library would leave open.
    _inherited: fs::File,
    abstract_name: String,
}

impl Drop for Bait {
    fn drop(&mut self) {
        drop(self.victim.kill());
        drop(self.victim.wait());
    }
}

impl Bait {
    fn lay(world: &World) -> Result<Bait, String> {
        let outside = world.path("outside");
        for folder in ["skills", "readable/deep", ".ssh"] {
            fs::create_dir_all(outside.join(folder)).map_err(text)?;
        }
        for file in [
            "secret",
            "policy.org",
            "skills/mine.org",
            "record.db",
            "token",
            "settings.toml",
            ".ssh/id_ed25519",
            ".bashrc",
            "readable/.env",
            "readable/deep/key",
        ] {
            fs::write(outside.join(file), format!("{CANARY} {file}\n")).map_err(text)?;
        }
        fs::write(outside.join("readable/open"), "open\n").map_err(text)?;
        fs::write(world.project().join("file"), "project\n").map_err(text)?;
        std::os::unix::fs::symlink(outside.join("secret"), world.project().join("link"))
            .map_err(text)?;
        std::os::unix::fs::symlink(&outside, world.project().join("folder-link")).map_err(text)?;
        fs::set_permissions(outside.join("secret"), fs::Permissions::from_mode(0o600))
            .map_err(text)?;
        let abstract_name = format!("bridle-bait-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&abstract_name).map_err(text)?;
        let inherited = fs::File::open(outside.join("secret")).map_err(text)?;
        rustix::io::fcntl_setfd(&inherited, rustix::io::FdFlags::empty()).map_err(text)?;
        let victim = Command::new("sleep")
            .arg("600")
            .env("VICTIM", CANARY)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(text)?;
        Ok(Bait {
            victim,
            tcp: TcpListener::bind("127.0.0.1:0").map_err(text)?,
            udp: UdpSocket::bind("127.0.0.1:0").map_err(text)?,
            _path_socket: UnixListener::bind(outside.join("socket")).map_err(text)?,
            _abstract_socket: UnixListener::bind_addr(&address).map_err(text)?,
            _inherited: inherited,
            abstract_name,
        })
    }

    fn variables(
        &self,
        world: &World,
    ) -> Result<BTreeMap<std::ffi::OsString, std::ffi::OsString>, String> {
        let pairs = [
            ("OUT", world.path("outside").display().to_string()),
            ("BASE", world.path("").display().to_string()),
            ("PORT", self.tcp.local_addr().map_err(text)?.port().to_string()),
            ("UDP", self.udp.local_addr().map_err(text)?.port().to_string()),
            ("VICTIM", self.victim.id().to_string()),
            ("DAEMON", std::process::id().to_string()),
            ("ABSTRACT", self.abstract_name.clone()),
            ("CANARY", CANARY.split('-').next().unwrap_or_default().to_owned()),
            ("MARK", MARK.to_owned()),
        ];
        Ok(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }

    /// Whether anybody came to one of the doors outside.
    fn was_visited(&self) -> bool {
        let mut byte = [0; 1];
        self.tcp.set_nonblocking(true).is_ok() && self.tcp.accept().is_ok()
            || self.udp.set_nonblocking(true).is_ok() && self.udp.recv(&mut byte).is_ok()
    }
}

fn try_one(
    world: &World,
    bait: &Bait,
    attempt: &Attempt,
    layer: JailLayer,
    is_verbose: bool,
) -> Result<bool, String> {
    let stage = world.stage()?;
    let mut spec = world.script(&attempt.script);
    spec.env = bait.variables(world)?;
    spec.deadline = Duration::from_secs(attempt.seconds);
    spec.read_roots = vec![world.path("outside/readable")];
    spec.hidden = vec![world.path("outside/readable/.env"), world.path("outside/readable/deep")];
    let port = bait.tcp.local_addr().map_err(text)?.port();
    match attempt.grant {
        Grant::Nothing => {}
        Grant::Hosts if layer == JailLayer::Copy => {
            spec.demands = vec![JailPromise::HostsByName];
        }
        Grant::Hosts => {
            let rules = [
                format!("granted.example:{port}"),
                format!("localhost:{port}"),
                "*.wild.example".into(),
            ];
            let rules: Result<Vec<_>, _> = rules.iter().map(|it| HostRule::parse(it)).collect();
            spec.network = NetworkGrant::Hosts(rules?);
        }
    }
    spec.limits.processes = 64;
    spec.limits.file_bytes = 32 << 20;
    spec.limits.memory_bytes = 512 << 20;
    spec.output_bytes = 1 << 20;
    let output = match world.jail.spawn(&spec, Some(&stage)) {
        // Refused with its reason: that is closed.
        Err(_) if attempt.grant == Grant::Hosts => String::new(),
        Err(error) => return Err(format!("{}: {}", attempt.name, text(error))),
        Ok(child) => {
            let (outcome, [out, err]) = child
                .wait_with_output()
                .map_err(|error| format!("{}: {}", attempt.name, text(error)))?;
            let all = [out, err].concat();
            let shown = String::from_utf8_lossy(&all).into_owned();
            if is_verbose {
                println!(
                    "{}: {:?} {:?}",
                    attempt.name,
                    outcome.end,
                    shown.chars().take(300).collect::<String>()
                );
            }
            shown
        }
    };
    let visited = bait.was_visited();
    stage.discard().map_err(text)?;
    Ok(output.contains("ESCAPED")
        || output.contains(CANARY)
        || visited
        || left_over(MARK).is_some())
}

/// What must work, or else the attempts fail for the wrong reason.
fn controls(world: &World, bait: &Bait, layer: JailLayer) -> Result<(), String> {
    let script = "set -e; cat file; cat \"$OUT/readable/open\"; echo new > made; mkdir -p d/e; ln file hard; \
        perl -e 'exit 0'; ls / >/dev/null; test -r /proc/self/status; echo x > $TMPDIR/t; echo y > $HOME/h; (sleep 0.01 & wait); echo WELL";
    let stage = world.stage()?;
    let mut spec = world.script(script);
    spec.env = bait.variables(world)?;
    spec.read_roots = vec![world.path("outside/readable")];
    if layer == JailLayer::Copy {
        let plain = "set -e; cat file; cat \"$OUT/readable/open\"; echo new > made; perl -e 'exit 0'; echo x > $TMPDIR/t; echo WELL";
        let env = spec.env.clone();
        spec = world.script(plain);
        (spec.env, spec.read_roots) = (env, vec![world.path("outside/readable")]);
    }
    let (outcome, output) = world.run(&spec, Some(&stage))?;
    if !output.contains("WELL") {
        return Err(format!("the controls do not work: {outcome:?} {output}"));
    }
    stage.discard().map_err(text)?;
    if layer == JailLayer::Copy {
        return Ok(());
    }
    let port = bait.tcp.local_addr().map_err(text)?.port();
    let stage = world.stage()?;
    let mut spec = world.script("perl -MIO::Socket::INET -e '($h,$p)=$ENV{http_proxy}=~m{//(.*):(\\d+)}; $s=IO::Socket::INET->new(PeerAddr=>$h,PeerPort=>$p) or die; print $s \"CONNECT localhost:$ENV{PORT} HTTP/1.1\\r\\n\\r\\n\"; print scalar <$s>;'");
    spec.env = bait.variables(world)?;
    spec.network =
        NetworkGrant::Hosts(vec![HostRule::parse(&format!("localhost:{port}+private"))?]);
    let (outcome, output) = world.run(&spec, Some(&stage))?;
    if !output.contains("200") || !bait.was_visited() {
        return Err(format!("a granted host is not reached: {outcome:?} {output}"));
    }
    stage.discard().map_err(text)
}

/// A process of a run that outlived it.
pub(crate) fn left_over(mark: &str) -> Option<String> {
    // What the kernel is still burying is given a moment.
    for _ in 0..50 {
        let found = fs::read_dir("/proc").into_iter().flatten().flatten().find_map(|entry| {
            let line = fs::read_to_string(entry.path().join("cmdline")).ok()?;
            line.split('\0')
                .any(|word| word == mark)
                .then(|| format!("{} {line}", entry.path().display()))
        });
        found.as_ref()?;
        std::thread::sleep(Duration::from_millis(20));
    }
    Some("a process with the mark of a run".into())
}
