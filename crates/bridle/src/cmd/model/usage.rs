//! `bridle model use`: the tag of a tier behind one model, and no longer behind those before it.

use bridle_models::{ModelTier, read_providers};

use super::file::ModelsFile;
use super::{ModelPlace, unknown};
use crate::args::model::{ModelUseArgs, TierArg};
use crate::cmd::output::print;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};

pub(super) fn run(args: &ModelUseArgs) -> Result<BridleExit, CommandFailure> {
    let place = ModelPlace::of(&args.state)?;
    let file = ModelsFile::open(&place.folder)?;
    let tier = match args.tier {
        TierArg::Reflex => ModelTier::Reflex,
        TierArg::Cognition => ModelTier::Cognition,
        TierArg::Reasoning => ModelTier::Reasoning,
    };
    let set = bridle_models::ProviderSet { providers: read_providers(&file.text).providers };
    let (provider, model) = set.model(&args.model).ok_or_else(|| unknown(&args.model))?;
    let (name, line) = (format!("{}/{}", provider.name, model.name), model.line);
    let all = set.providers.iter().flat_map(|it| &it.models);
    let before: Vec<usize> =
        all.filter(|it| it.line < line && it.tiers.contains(&tier)).map(|it| it.line).collect();
    let tag = tier.as_str();
    let edited = file.text.split_inclusive('\n').enumerate().map(|(index, text)| match index + 1 {
        at if at == line => with_tag(text, tag),
        at if before.contains(&at) => without_tag(text, tag),
        _ => text.to_owned(),
    });
    let after: String = edited.collect();
    // What is written is read again: a heading that is not understood is left alone.
    let read = bridle_models::ProviderSet { providers: read_providers(&after).providers };
    let first = read.model_of_tier(tier).map(|(it, model)| format!("{}/{}", it.name, model.name));
    if first.as_ref() != Some(&name) {
        let what = format!("the heading of `{name}` cannot be changed");
        return Err(CommandFailure::new(BridleExit::Data, what)
            .hint(format!("write the tag `:{tag}:` behind it in models.org yourself")));
    }
    if after != file.text {
        file.replace(&after)?;
    }
    print(&match args.json {
        true => format!("{}\n", object(&[("model", quoted(&name)), ("tier", quoted(tag))])),
        false => format!("{tag}: {name}\n"),
    })
}

/// The line in its parts: before its tags, the tags, the end of the line.
fn parts(line: &str) -> (&str, Vec<&str>, &str) {
    let text = line.trim_end();
    let end = &line[text.len()..];
    let last = text.rfind([' ', '\t']).map_or(0, |at| at + 1);
    let (head, word) = text.split_at(last);
    let inside = word.strip_prefix(':').and_then(|rest| rest.strip_suffix(':'));
    let is_tag = |tag: &&str| {
        !tag.is_empty() && tag.chars().all(|it| it.is_alphanumeric() || "_@#%".contains(it))
    };
    match inside.map(|inside| inside.split(':').collect::<Vec<_>>()) {
        Some(tags) if tags.iter().all(is_tag) => (head, tags, end),
        _ => (text, Vec::new(), end),
    }
}

fn with_tag(line: &str, tag: &str) -> String {
    match parts(line) {
        (_, tags, _) if tags.contains(&tag) => line.to_owned(),
        (head, tags, end) if tags.is_empty() => format!("{head} :{tag}:{end}"),
        (head, tags, end) => format!("{head}:{}:{tag}:{end}", tags.join(":")),
    }
}

fn without_tag(line: &str, tag: &str) -> String {
    let (head, tags, end) = parts(line);
    if !tags.contains(&tag) {
        return line.to_owned();
    }
    let left: Vec<&str> = tags.into_iter().filter(|it| *it != tag).collect();
    match left.is_empty() {
        true => format!("{}{end}", head.trim_end()),
        false => format!("{head}:{}:{end}", left.join(":")),
    }
}

#[cfg(test)]
mod tests {
    use super::{with_tag, without_tag};

    #[test]
    fn tags_are_put_behind_a_heading_and_taken_away() {
        let check = |line: &str, with: &str, without: &str| {
            assert_eq!(with_tag(line, "reflex"), with, "{line:?}");
            assert_eq!(without_tag(line, "reflex"), without, "{line:?}");
        };
        check("** m\n", "** m :reflex:\n", "** m\n");
        check("** qwen3:8b", "** qwen3:8b :reflex:", "** qwen3:8b");
        check("** m  :a:b:\r\n", "** m  :a:b:reflex:\r\n", "** m  :a:b:\r\n");
        check("** m :reflex:\n", "** m :reflex:\n", "** m\n");
        check("** m\t:a:reflex:b: \n", "** m\t:a:reflex:b: \n", "** m\t:a:b: \n");
    }
}
