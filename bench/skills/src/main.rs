//! `bridle-bench-skills`: the skill language beside Luau's interpreter and SBCL's compiled code, in one run: four
//! programs, a fresh instance, a call from the host, the memory of many instances.
//!
//! It prints what was measured and how far that is from its target; it never fails because a number is bad, only
//! because contenders did different work.

use std::hint::black_box;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use bridle_lisp::{Instance, InstanceLimits, Snapshot};
use bridle_sexp::Value;
use mlua::{Function, Lua};

const LISP_SOURCE: &str = include_str!("../programs/programs.lisp");
const LUAU_SOURCE: &str = include_str!("../programs/programs.luau");

/// The programs by name; a function `run-NAME` each.
const PROGRAMS: &[&str] = &["fib", "list", "string", "hash"];

/// Runs of each program; the median counts.
const ROUNDS: usize = 9;

/// Calls and instances that one sample takes together, being too short to measure alone.
const CALLS: u32 = 100_000;
const INSTANCES: u32 = 1_000;

/// Targets: share of Luau's speed, times as slow as SBCL, and the largest durations and sizes.
const LUAU_SHARE_TARGET: f64 = 0.4;
const SBCL_TIMES_TARGET: f64 = 20.0;
const INSTANCE_TARGET: Duration = Duration::from_micros(20);
const CALL_TARGET: Duration = Duration::from_nanos(150);
const MEMORY_TARGET_MIB: f64 = 64.0;

fn main() -> Result<()> {
    let mut out = std::io::stdout().lock();
    let snapshot = load_snapshot()?;
    let lua = Lua::new();
    lua.load(LUAU_SOURCE).exec().map_err(lua_error)?;
    let theirs = run_sbcl()?;
    writeln!(out, "program   bridle ms   Luau ms   SBCL ms   Luau/bridle (>= {LUAU_SHARE_TARGET})   bridle/SBCL (<= {SBCL_TIMES_TARGET})")?;
    for (name, sbcl) in PROGRAMS.iter().zip(&theirs) {
        let mut instance = snapshot.instance();
        let (answer, ours) = measure_lisp(&mut instance, name)?;
        let (luau_answer, luau) = measure_luau(&lua, name)?;
        ensure!(
            answer == luau_answer && answer == sbcl.0,
            "`{name}` gave {answer}, {luau_answer} and {}",
            sbcl.0
        );
        let (luau_share, sbcl_times) = (luau / ours, ours / sbcl.1);
        let mark = |holds: bool| if holds { "met" } else { "missed" };
        writeln!(
            out,
            "{name:8} {ours:10.2} {luau:9.2} {:9.2}   {luau_share:8.2} {:6}          {sbcl_times:8.2} {:6}",
            sbcl.1,
            mark(luau_share >= LUAU_SHARE_TARGET),
            mark(sbcl_times <= SBCL_TIMES_TARGET),
        )?;
    }
    measure_host(&mut out, &snapshot, &lua)
}

fn lua_error(error: mlua::Error) -> anyhow::Error {
    anyhow!("Luau: {error}")
}

fn load_snapshot() -> Result<Snapshot> {
    let limits = InstanceLimits { fuel: u64::MAX >> 2, ..InstanceLimits::default() };
    let mut instance = Instance::new(limits);
    instance.load(LISP_SOURCE, "programs.lisp").map_err(|error| anyhow!("{error}"))?;
    Ok(instance.snapshot())
}

/// Milliseconds of processor time that this thread has used: what other programs take does not count.
fn thread_time() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").context("no thread times")?;
    let nanoseconds = text.split_whitespace().next().context("no thread times")?;
    Ok(nanoseconds.parse::<f64>()? / 1e6)
}

/// The middle of several samples.
fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(0.0)
}

fn measure_lisp(instance: &mut Instance, name: &str) -> Result<(i64, f64)> {
    let function = instance
        .function(&format!("RUN-{}", name.to_uppercase()))
        .with_context(|| format!("no program `{name}`"))?;
    let mut samples = Vec::new();
    let mut answer = 0;
    for _ in 0..=ROUNDS {
        let begin = thread_time()?;
        let value = instance.call(function, &[]).map_err(|error| anyhow!("{error}"))?;
        samples.push(thread_time()? - begin);
        let Value::Int(number) = value else { anyhow::bail!("`{name}` gave no number") };
        answer = number;
    }
    Ok((answer, median(samples.split_off(1))))
}

fn measure_luau(lua: &Lua, name: &str) -> Result<(i64, f64)> {
    let function: Function = lua.globals().get(format!("run_{name}")).map_err(lua_error)?;
    let mut samples = Vec::new();
    let mut answer = 0;
    for _ in 0..=ROUNDS {
        let begin = thread_time()?;
        answer = function.call::<i64>(()).map_err(lua_error)?;
        samples.push(thread_time()? - begin);
    }
    Ok((answer, median(samples.split_off(1))))
}

/// Answers and milliseconds of SBCL, in the order of the programs.
fn run_sbcl() -> Result<Vec<(i64, f64)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let output = Command::new("sbcl")
        .arg("--script")
        .arg(folder.join("sbcl.lisp"))
        .arg(ROUNDS.to_string())
        .output()
        .context("cannot start sbcl")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut found = Vec::new();
    for (line, name) in text.lines().zip(PROGRAMS) {
        let mut words = line.split_whitespace();
        let title = words.next().unwrap_or_default();
        ensure!(title == format!("run-{name}"), "SBCL said `{line}`");
        let numbers: Vec<i64> = words.map(str::parse).collect::<Result<_, _>>()?;
        let [answer, samples @ ..] = numbers.as_slice() else {
            anyhow::bail!("SBCL said `{line}`")
        };
        found.push((*answer, median(samples.iter().map(|us| *us as f64 / 1e3).collect())));
    }
    ensure!(found.len() == PROGRAMS.len(), "SBCL said `{text}`");
    Ok(found)
}

/// A fresh instance, a call, and the memory of many instances.
fn measure_host(out: &mut impl std::io::Write, snapshot: &Snapshot, lua: &Lua) -> Result<()> {
    let mark = |holds: bool| if holds { "met" } else { "missed" };
    let each = |begin: Instant, count: u32| begin.elapsed() / count;
    let begin = Instant::now();
    for _ in 0..INSTANCES {
        black_box(snapshot.instance());
    }
    let instance_time = each(begin, INSTANCES);
    writeln!(out, "fresh instance {instance_time:?} (<= {INSTANCE_TARGET:?}) {}", mark(instance_time <= INSTANCE_TARGET))?;

    let mut instance = snapshot.instance();
    let function = instance.function("RUN-CALL").context("no program `call`")?;
    let arguments = [Value::int(41)];
    let begin = Instant::now();
    for _ in 0..CALLS {
        black_box(instance.call(function, &arguments).map_err(|error| anyhow!("{error}"))?);
    }
    let call_time = each(begin, CALLS);
    let luau: Function = lua.globals().get("run_call").map_err(lua_error)?;
    let begin = Instant::now();
    for _ in 0..CALLS {
        black_box(luau.call::<i64>(41).map_err(lua_error)?);
    }
    let luau_time = each(begin, CALLS);
    writeln!(
        out,
        "call from the host {call_time:?} (<= {CALL_TARGET:?}) {}, Luau {luau_time:?}",
        mark(call_time <= CALL_TARGET)
    )?;

    let before = resident_mib()?;
    let mut instances: Vec<Instance> = (0..INSTANCES).map(|_| snapshot.instance()).collect();
    for instance in &mut instances {
        black_box(instance.call(function, &arguments).map_err(|error| anyhow!("{error}"))?);
    }
    let used = resident_mib()? - before;
    writeln!(
        out,
        "{INSTANCES} instances, each called {used:.1} MiB (<= {MEMORY_TARGET_MIB}) {}",
        mark(used <= MEMORY_TARGET_MIB)
    )?;
    drop(instances);
    Ok(())
}

/// Resident memory of this process.
fn resident_mib() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/self/status").context("cannot read the memory in use")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next()).context("no memory in use")?;
    Ok(number.parse::<f64>()? / 1024.0)
}
