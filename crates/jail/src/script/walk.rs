//! The tree of a script, walked in the order of its text. A `cd` is followed as long as it is certain
//! that it happens; everything that changes what later words mean makes the script dynamic.

use brush_parser::ast::{
    AndOr, AndOrList, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem,
    CompoundCommand, CompoundList, IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, Pipeline,
    Program, RedirectList, SeparatorOperator, SimpleCommand,
};

use super::unwrap::push_command;
use super::word::read_word;
use super::{ScriptReading, ScriptWord};

/// Built-ins that change what later words mean, or run text.
const CHANGING: [&str; 15] = [
    "alias", "unalias", "eval", ".", "source", "enable", "hash", "set", "shopt", "trap", "unset",
    "pushd", "popd", "fc", "bind",
];

/// Variables that change which program a name means, or where a `cd` leads.
const LEADING: [&str; 7] = ["PATH", "CDPATH", "IFS", "ENV", "BASH_ENV", "SHELLOPTS", "GLOBIGNORE"];

pub(super) fn read_program(program: &Program, depth: usize) -> ScriptReading {
    let mut walker = Walker {
        reading: ScriptReading::default(),
        folder: ScriptWord::Static(String::new()),
        depth,
    };
    for list in &program.complete_commands {
        walker.list(list);
    }
    walker.reading
}

struct Walker {
    reading: ScriptReading,
    folder: ScriptWord,
    depth: usize,
}

impl Walker {
    fn dynamic(&mut self, reason: &str) {
        self.reading.dynamic.push(reason.to_owned());
    }

    fn list(&mut self, list: &CompoundList) {
        for item in &list.0 {
            let before = self.folder.clone();
            self.and_or(&item.0);
            if matches!(item.1, SeparatorOperator::Async) {
                // A `cd` in the background changes nothing here.
                self.folder = before;
            }
        }
    }

    fn and_or(&mut self, list: &AndOrList) {
        self.pipeline(&list.first);
        for next in &list.additional {
            let before = self.folder.clone();
            match next {
                AndOr::And(pipeline) => self.pipeline(pipeline),
                AndOr::Or(pipeline) => {
                    self.pipeline(pipeline);
                    self.unsure(&before);
                }
            }
        }
        if list.additional.iter().any(|it| matches!(it, AndOr::Or(_))) {
            self.unsure(&ScriptWord::Static(String::new()));
        }
    }

    /// A part that may not have been run: where a `cd` led is unknown behind it.
    fn unsure(&mut self, before: &ScriptWord) {
        if self.folder != *before {
            self.folder = ScriptWord::Dynamic("cd that may not have happened".into());
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        let before = self.folder.clone();
        for command in &pipeline.seq {
            self.command(command);
        }
        if pipeline.seq.len() > 1 {
            // Parts of a pipe are shells of their own, except the last in some.
            self.unsure(&before);
        }
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, redirects) => {
                self.redirects(redirects.as_ref());
                let before = self.folder.clone();
                self.compound(compound);
                if matches!(compound, CompoundCommand::Subshell(_)) {
                    self.folder = before;
                } else if !matches!(compound, CompoundCommand::BraceGroup(_)) {
                    self.unsure(&before);
                }
            }
            Command::Function(function) => {
                self.dynamic("a function gives a name another meaning");
                self.redirects(function.body.1.as_ref());
                self.compound(&function.body.0);
            }
            Command::ExtendedTest(..) => self.dynamic("`[[` is read in two ways by two shells"),
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        match compound {
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(group) => self.list(&group.list),
            CompoundCommand::ForClause(clause) => {
                for word in clause.values.iter().flatten() {
                    read_word(word, &mut self.reading, self.depth);
                }
                if LEADING.contains(&clause.variable_name.as_str()) {
                    self.dynamic("a variable that changes what names mean");
                }
                self.list(&clause.body.list);
            }
            CompoundCommand::CaseClause(clause) => {
                read_word(&clause.value, &mut self.reading, self.depth);
                for case in &clause.cases {
                    for pattern in &case.patterns {
                        read_word(pattern, &mut self.reading, self.depth);
                    }
                    let before = self.folder.clone();
                    if let Some(list) = &case.cmd {
                        self.list(list);
                    }
                    self.unsure(&before);
                }
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition);
                self.list(&clause.then);
                for other in clause.elses.iter().flatten() {
                    if let Some(condition) = &other.condition {
                        self.list(condition);
                    }
                    self.list(&other.body);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0);
                self.list(&clause.1.list);
            }
            CompoundCommand::Arithmetic(_)
            | CompoundCommand::ArithmeticForClause(_)
            | CompoundCommand::Coprocess(_) => {
                self.dynamic("a form that `/bin/sh` does not have");
            }
        }
    }

    fn simple(&mut self, command: &SimpleCommand) {
        let mut variables = Vec::new();
        let mut words = Vec::new();
        for item in command.prefix.iter().flat_map(|it| &it.0) {
            self.item(item, &mut variables, None);
        }
        if let Some(word) = &command.word_or_name {
            words.push(read_word(word, &mut self.reading, self.depth));
        }
        for item in command.suffix.iter().flat_map(|it| &it.0) {
            self.item(item, &mut variables, Some(&mut words));
        }
        if words.is_empty() {
            // Alone, assignments hold for all that follows.
            if let Some(name) = variables
                .iter()
                .find(|name| LEADING.contains(&name.as_str()) || super::classify::runs_code(name))
            {
                let reason = format!("`{name}` changes what later commands do");
                self.reading.dynamic.push(reason);
            }
            return;
        }
        self.note_builtin(&words);
        push_command(&mut self.reading, words.clone(), variables, &self.folder, self.depth);
        self.follow(&words);
    }

    fn note_builtin(&mut self, words: &[ScriptWord]) {
        let Some(name) = words[0].text() else { return };
        let declares =
            ["export", "readonly", "local", "declare", "typeset", "command", "builtin", "exec"];
        if CHANGING.contains(&name) {
            self.reading
                .dynamic
                .push(format!("`{name}` changes what later text means, or runs text"));
        }
        if declares.contains(&name) {
            for word in &words[1..] {
                let variable = word.text().map(|text| text.split('=').next().unwrap_or(text));
                let is_leading = variable
                    .is_none_or(|it| LEADING.contains(&it) || super::classify::runs_code(it));
                if is_leading {
                    self.reading.dynamic.push(format!(
                        "`{name}` of a variable that changes what later commands do"
                    ));
                }
            }
        }
    }

    /// Follows a `cd`.
    fn follow(&mut self, words: &[ScriptWord]) {
        if words[0].text() != Some("cd") {
            return;
        }
        self.folder = match (&self.folder, words) {
            (ScriptWord::Static(now), [_, ScriptWord::Static(to)])
                if !to.starts_with('-') && !to.is_empty() =>
            {
                ScriptWord::Static(joined(now, to))
            }
            _ => ScriptWord::Dynamic("cd to a place that is not known".into()),
        };
    }

    fn item(
        &mut self,
        item: &CommandPrefixOrSuffixItem,
        variables: &mut Vec<String>,
        words: Option<&mut Vec<ScriptWord>>,
    ) {
        match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(redirect),
            CommandPrefixOrSuffixItem::Word(word) => {
                let word = read_word(word, &mut self.reading, self.depth);
                if let Some(words) = words {
                    words.push(word);
                }
            }
            CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                if let Some(words) = words {
                    // Behind the name it is an argument.
                    words.push(read_word(word, &mut self.reading, self.depth));
                    return;
                }
                match (&assignment.name, &assignment.value) {
                    (AssignmentName::VariableName(name), AssignmentValue::Scalar(value)) => {
                        read_word(value, &mut self.reading, self.depth);
                        variables.push(name.clone());
                    }
                    _ => self.dynamic("arrays are not of `/bin/sh`"),
                }
            }
            CommandPrefixOrSuffixItem::ProcessSubstitution(_, group) => {
                self.dynamic("a form that `/bin/sh` does not have");
                self.list(&group.list);
            }
        }
    }

    fn redirects(&mut self, redirects: Option<&RedirectList>) {
        for redirect in redirects.iter().flat_map(|it| &it.0) {
            self.redirect(redirect);
        }
    }

    fn redirect(&mut self, redirect: &IoRedirect) {
        match redirect {
            IoRedirect::File(_, kind, IoFileRedirectTarget::Filename(word)) => {
                let word = read_word(word, &mut self.reading, self.depth);
                let place = match (&self.folder, word) {
                    (ScriptWord::Static(folder), ScriptWord::Static(path)) => {
                        ScriptWord::Static(joined(folder, &path))
                    }
                    (_, ScriptWord::Static(path)) if path.starts_with('/') => {
                        ScriptWord::Static(path)
                    }
                    (_, word) => ScriptWord::Dynamic(word.text().unwrap_or("a file").to_owned()),
                };
                if matches!(kind, IoFileRedirectKind::Read) {
                    self.reading.read.push(place);
                } else {
                    self.reading.written.push(place);
                }
            }
            IoRedirect::File(_, _, IoFileRedirectTarget::Fd(_)) => {}
            IoRedirect::File(_, _, IoFileRedirectTarget::Duplicate(word)) => {
                let word = read_word(word, &mut self.reading, self.depth);
                let is_number =
                    |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
                if !word.text().is_some_and(is_number) {
                    self.dynamic("a redirect to a place that is not known");
                }
            }
            IoRedirect::File(_, _, IoFileRedirectTarget::ProcessSubstitution(_, group)) => {
                self.dynamic("a form that `/bin/sh` does not have");
                self.list(&group.list);
            }
            IoRedirect::HereDocument(_, document) => {
                let text = &document.doc.value;
                let runs = text.contains("$(") || text.contains('`');
                if document.requires_expansion && runs {
                    self.dynamic("a command inside a here-document");
                }
            }
            IoRedirect::HereString(..) | IoRedirect::OutputAndError(..) => {
                self.dynamic("a redirect that two shells read in two ways");
            }
        }
    }
}

/// A path, seen from a folder; both as they are written.
fn joined(folder: &str, path: &str) -> String {
    if path.starts_with('/') || folder.is_empty() {
        path.to_owned()
    } else {
        format!("{}/{path}", folder.trim_end_matches('/'))
    }
}
