//! The table of commands that guards get wrong, run in the jail as they are: whatever they do is on the stage, which is
//! thrown away. The project and what lies beside it are as they were, with their times.

use std::fs;
use std::time::Duration;

use bridle_jail::JailLayer;

use crate::escapes::{MARK, left_over};
use crate::world::{World, listing, text};

const TABLE: &str = include_str!("../../../vectors/commands/granted.jsonl");

/// Least number of commands of the table.
const MIN_COMMANDS: usize = 200;

pub(crate) fn run() -> Result<(), String> {
    let world = World::new("commands")?;
    let layer = world.jail.capabilities().layer.ok_or("no layer is in force")?;
    fs::create_dir_all(world.path("outside")).map_err(text)?;
    fs::write(world.path("outside/secret"), "confidential\n").map_err(text)?;
    for name in ["a", "b", "Makefile", "script"] {
        fs::write(world.project().join(name), format!("{name}\n")).map_err(text)?;
    }
    fs::create_dir(world.project().join("src")).map_err(text)?;
    let laid = || Ok::<_, String>((listing(&world.path("outside"))?, listing(&world.project())?));
    let before = laid()?;
    let (mut ran, mut changed) = (0, 0);
    for line in TABLE.lines() {
        let row: serde_json::Value = serde_json::from_str(line).map_err(text)?;
        let script = row["in"].as_str().ok_or("a row without a command")?;
        let stage = world.stage()?;
        let mut spec = world.script(script);
        spec.deadline = Duration::from_secs(5);
        spec.output_bytes = 64 << 10;
        let (_, output) = world.run(&spec, Some(&stage))?;
        if output.contains("confidential") {
            return Err(format!("`{script}` read what lies outside"));
        }
        changed += usize::from(!stage.changes().map_err(text)?.is_empty());
        stage.discard().map_err(text)?;
        let after = laid()?;
        if after != before {
            return Err(format!("`{script}` changed the project or what is beside it"));
        }
        ran += 1;
    }
    if let Some(named) = left_over(MARK) {
        return Err(format!("left over: {named}"));
    }
    println!(
        "commands: layer {layer}, {ran} of the table ran, {changed} changed their stage, nothing else"
    );
    match ran >= MIN_COMMANDS && (changed > 20 || layer == JailLayer::Copy) {
        true => Ok(()),
        false => {
            Err(format!("{ran} ran and {changed} changed something: the table is not what it was"))
        }
    }
}
