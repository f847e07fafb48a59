//! `bridle skill new`: the file of a new skill.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use bridle_skill::{SkillId, new_skill};

use crate::cmd::output::print;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};

pub(crate) fn run(name: &str, to: &Path, as_json: bool) -> Result<BridleExit, CommandFailure> {
    let id = SkillId::new(name).map_err(|error| {
        CommandFailure::because(BridleExit::Usage, format!("`{name}`"), &error)
            .hint("bridle skill new water-plants")
    })?;
    let file = to.join(format!("{id}.org"));
    let failed = |error: std::io::Error| {
        let what = format!("cannot create `{}`", file.display());
        CommandFailure::because(BridleExit::CannotCreate, what, &error)
            .hint("choose another name or folder: bridle skill new NAME --to DIR")
    };
    let mut out = OpenOptions::new().write(true).create_new(true).open(&file).map_err(failed)?;
    out.write_all(new_skill(&id).as_bytes()).map_err(failed)?;
    let shown = file.display();
    if as_json {
        let path = quoted(&file.to_string_lossy());
        let line = [("skill", quoted(id.as_str())), ("status", quoted("written")), ("file", path)];
        return print(&format!("{}\n", object(&line)));
    }
    print(&format!("wrote {shown}\ntest it: bridle skill test {shown}\n"))
}
