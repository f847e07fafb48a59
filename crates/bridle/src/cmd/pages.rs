//! `bridle man` and `bridle schema`: pages made from the command line and from the
//! types of messages.

use std::io::{self, Write};
use std::path::Path;

use bridle_wire::openharness::{self, ReadMode};
use clap::CommandFactory as _;

use crate::args::{Cli, DirectionArg, SchemaArgs};
use crate::exit::{BridleExit, CommandFailure};

pub(crate) fn man(dir: Option<&Path>) -> Result<BridleExit, CommandFailure> {
    let Some(dir) = dir else {
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(Cli::command()).render(&mut page);
        rendered.map_err(|error| CommandFailure::stream("cannot render the page", &error))?;
        return print(&page);
    };
    let written =
        std::fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(Cli::command(), dir));
    written.map_err(|error| {
        let what = format!("cannot write pages into `{}`", dir.display());
        CommandFailure::because(BridleExit::CannotCreate, what, &error)
            .hint("name a directory you can write to")
    })?;
    Ok(BridleExit::Ok)
}

pub(crate) fn schema(verb: &SchemaArgs) -> Result<BridleExit, CommandFailure> {
    let SchemaArgs::Openharness { direction, lenient } = verb;
    let direction = direction.map(|direction| match direction {
        DirectionArg::Request => openharness::SchemaDirection::Request,
        DirectionArg::Response => openharness::SchemaDirection::Response,
    });
    let mode = if *lenient { ReadMode::Lenient } else { ReadMode::Strict };
    print(openharness::schema(direction, mode).to_pretty().as_bytes())
}

fn print(bytes: &[u8]) -> Result<BridleExit, CommandFailure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)
        .and_then(|()| out.flush())
        .map_err(|error| CommandFailure::stream("cannot write to stdout", &error))?;
    Ok(BridleExit::Ok)
}
