//! `bridle model remove`: the heading of a provider or model, with everything below it, after a yes.

use bridle_models::{Provider, read_providers};
use bridle_org::Document;

use super::file::ModelsFile;
use super::{ModelPlace, approval_failure, unknown};
use crate::args::model::ModelRemoveArgs;
use crate::cmd::confirm::confirm;
use crate::cmd::output::print;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};

pub(super) fn run(args: &ModelRemoveArgs) -> Result<BridleExit, CommandFailure> {
    let place = ModelPlace::of(&args.state)?;
    let file = ModelsFile::open(&place.folder)?;
    let parsed = read_providers(&file.text);
    let Target { line, provider } = target(&args.name, &parsed.providers, &parsed.problems)?;
    let document = Document::read(file.text.as_bytes());
    let found = document.headings().iter().find(|heading| heading.line == line);
    let found = found.ok_or_else(|| unknown(&args.name))?;
    let (start, end) = (found.subtree.start, found.subtree.end);
    let (before, removed, behind) =
        (&file.text[..start], &file.text[start..end], &file.text[end..]);
    if !args.yes {
        print(removed)?;
        let (question, kept) = ("Remove this from models.org?", "nothing was removed");
        confirm(question, "remove it", kept)?;
    }
    file.replace(&format!("{before}{behind}"))?;
    if let Some(provider) = &provider {
        place.approvals.forget(provider).map_err(|error| approval_failure(&error))?;
    }
    print(&match args.json {
        true => format!("{}\n", object(&[("removed", quoted(&args.name))])),
        false => format!("removed {}\n", args.name),
    })
}

/// Heading that is to go.
struct Target {
    line: usize,
    /// Name, if it is a provider.
    provider: Option<String>,
}

fn target(
    name: &str,
    providers: &[Provider],
    problems: &[bridle_models::ProviderProblem],
) -> Result<Target, CommandFailure> {
    if let Some(provider) = providers.iter().find(|it| it.name == name) {
        return Ok(Target { line: provider.line, provider: Some(provider.name.clone()) });
    }
    if problems.iter().any(|it| it.provider.as_deref() == Some(name)) {
        return Err(CommandFailure::new(
            BridleExit::Data,
            format!("`{name}` has a fault in models.org"),
        )
        .hint("`bridle model list` names the line; remove its heading in an editor"));
    }
    let (of, wanted) = name.split_once('/').ok_or_else(|| unknown(name))?;
    let provider = providers.iter().find(|it| it.name == of).ok_or_else(|| unknown(name))?;
    let model = provider.model(wanted).ok_or_else(|| unknown(name))?;
    if provider.models.len() == 1 {
        let what = format!("`{wanted}` is the only model of `{of}`");
        return Err(CommandFailure::new(BridleExit::Usage, what)
            .hint(format!("remove the provider: bridle model remove {of}")));
    }
    Ok(Target { line: model.line, provider: None })
}
