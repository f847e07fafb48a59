//! The cost of jail and stage beside the bare start of the same program, in one run.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::world::{World, option, text};

pub(crate) fn run(words: &[&str]) -> Result<(), String> {
    let rounds = option(words, "--rounds", 40)?;
    let mib = option(words, "--mib", 1024)?;
    measure("2,000 files", rounds, &lay_files)?;
    measure(&format!("{mib} MiB in 64 files"), rounds.min(10), &|project| lay_bytes(project, mib))
}

fn lay_files(project: &Path) -> Result<(), String> {
    for folder in 0..100 {
        let path = project.join(format!("d{folder}"));
        fs::create_dir(&path).map_err(text)?;
        for file in 0..20 {
            fs::write(path.join(format!("f{file}")), format!("{folder} {file}\n").repeat(20))
                .map_err(text)?;
        }
    }
    Ok(())
}

fn lay_bytes(project: &Path, mib: usize) -> Result<(), String> {
    let piece = vec![b'x'; mib * (1 << 20) / 64];
    for file in 0..64 {
        fs::write(project.join(format!("f{file}")), &piece).map_err(text)?;
    }
    Ok(())
}

fn measure(
    name: &str,
    rounds: usize,
    lay: &dyn Fn(&Path) -> Result<(), String>,
) -> Result<(), String> {
    let world = World::new("bench")?;
    lay(&world.project())?;
    let layer = world.jail.capabilities().layer.ok_or("no layer")?;
    let [mut bare, mut jailed, mut begun, mut ran, mut seen] = [const { Vec::new() }; 5];
    for _ in 0..rounds {
        let start = Instant::now();
        let status = Command::new("/bin/sh")
            .args(["-c", "echo x >/dev/null"])
            .current_dir(world.project())
            .stdout(Stdio::null())
            .status()
            .map_err(text)?;
        bare.push(start.elapsed());
        if !status.success() {
            return Err("sh fails".into());
        }
        let start = Instant::now();
        let mut spec = world.script("true");
        spec.read_roots = vec![world.project()];
        world.run(&spec, None).map(drop)?;
        jailed.push(start.elapsed());
        let start = Instant::now();
        let stage = world.stage()?;
        begun.push(start.elapsed());
        let middle = Instant::now();
        world.run(&world.script("echo x > new"), Some(&stage)).map(drop)?;
        ran.push(middle.elapsed());
        let set = stage.changes().map_err(text)?;
        seen.push(start.elapsed());
        if set.changes.len() != 1 {
            return Err(format!("expected one change, got {}", set.changes.len()));
        }
        stage.discard().map_err(text)?;
    }
    let p50 = |mut times: Vec<std::time::Duration>| {
        times.sort();
        times[times.len() / 2].as_secs_f64() * 1000.0
    };
    println!(
        "bench: layer {layer}, {name}, p50 in ms: bare {:.1}, jail {:.1}, stage begun {:.1}, run in it {:.1}, all with the change set {:.1}",
        p50(bare),
        p50(jailed),
        p50(begun),
        p50(ran),
        p50(seen)
    );
    Ok(())
}
