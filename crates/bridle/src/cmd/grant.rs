//! `bridle approve --always`: a policy that allows exactly what was asked for, for a time.
//!
//! Made from the record of the question, shown as a diff together with what it would have changed, and
//! written only after a yes. Nothing of what a model wrote can become Org or Cedar: it is quoted on one
//! line, and the new set must be the old one and a single permit.

use std::path::{Path, PathBuf};

use bridle_daemon::history::History;
use bridle_daemon::{policy_file, policy_load};
use bridle_loop::{DEFAULT_POLICY, EDITS, Facts, PREPARED, Policies, Word};
use bridle_org::{Document, Span};
use bridle_sexp::Value;
use bridle_wire::time::rfc3339;

use super::policy::{example_word, rehearsed_text};
use super::record::failure;
use super::why::one_line;
use crate::exit::{Exit, Failure};

/// Decisions of the past that a grant is tried on.
const REHEARSED: usize = 100_000;

/// Longest text of what was asked for that is quoted in the prose, in bytes; the hash has all of it.
const MAX_QUOTED: usize = 512;

/// Longest payload that becomes an example as it is, in bytes.
const MAX_EXAMPLE: usize = 4_096;

/// What somebody wants to be allowed from now on.
pub(super) struct Wish<'w> {
    /// The question.
    pub(super) id: &'w str,
    /// When it ends, in seconds since 1970.
    pub(super) until: i64,
    /// The file of policies.
    pub(super) file: &'w Path,
    /// Where the record is.
    pub(super) state: &'w Path,
}

/// A change of the file of policies, not yet made.
#[derive(Debug)]
pub(super) struct Patch {
    /// The file.
    pub(super) file: PathBuf,
    /// The diff and its rehearsal, for people.
    pub(super) shown: String,
    /// The hash of what was asked for.
    pub(super) hash: String,
    /// The file as it was; `None` when there is none yet.
    old: Option<String>,
    new: String,
}

/// Makes the change.
pub(super) fn prepare(wish: &Wish<'_>) -> Result<Patch, Failure> {
    let history = History::open(wish.state).map_err(|error| failure(&error))?;
    let named = wish.id.rsplit_once('-');
    let named = named.and_then(|(session, effect)| Some((session, effect.parse::<u64>().ok()?)));
    let unknown = || {
        Failure::new(Exit::NoInput, format!("no question `{}` in the record", wish.id))
            .hint("`bridle approvals` lists what is open")
    };
    let (session, effect) = named.ok_or_else(unknown)?;
    let asked = history.question(session, effect).map_err(|error| failure(&error))?;
    let (body, owner) = asked.ok_or_else(unknown)?;
    let grant = Grant::of(&body, &owner, wish).ok_or_else(|| {
        Failure::new(Exit::Data, "what was asked for cannot be written as a policy")
            .hint("answer without --always, or write a policy by hand: docs/policy.md")
    })?;
    let old = match policy_file::read(wish.file) {
        Ok(text) => Some(text),
        Err(policy_file::Error::Missing) => None,
        Err(error) => {
            let what = format!("cannot read `{}`", wish.file.display());
            return Err(Failure::because(Exit::NoInput, what, &error)
                .hint("`bridle policy check FILE` says what is wrong; nothing was written"));
        }
    };
    let before = old.as_deref().unwrap_or(DEFAULT_POLICY);
    let old_set = set(before)?;
    let source = before.as_bytes();
    let end = Span { start: source.len(), end: source.len() };
    let text = grant.org(&old_set)?;
    let document = Document::read(source);
    let edit = document.insert_after(end, text.as_bytes());
    let edit = edit.expect("the end of a text is in it");
    let new = String::from_utf8(edit.apply()).expect("text put behind text is text");
    let new_set = set(&new)?;
    grant.check(&old_set, &new_set)?;
    let rehearsed = history.rehearse(&new_set, REHEARSED).map_err(|error| failure(&error))?;
    let name = wish.file.display().to_string();
    let diff = String::from_utf8_lossy(&edit.diff(name.trim_start_matches('/'))).into_owned();
    let shown = format!("{diff}\nIn the last decisions, {}", rehearsed_text(&rehearsed));
    Ok(Patch { file: wish.file.to_owned(), shown, hash: grant.hash, old, new })
}

fn set(text: &str) -> Result<Policies, Failure> {
    policy_load::load(text).map_err(|bad| {
        Failure::because(Exit::Data, "the policies cannot be changed: they are not good", &bad)
            .hint("`bridle policy check FILE` lists what is wrong; nothing was written")
    })
}

/// What is granted.
struct Grant {
    id: String,
    question: String,
    until: i64,
    owner: String,
    asker: Value,
    by: String,
    target: String,
    place: String,
    payload: Value,
    hash: String,
}

impl Grant {
    /// Reads a question; nothing if it is not one, or if a name in it cannot be written on one line.
    fn of(body: &Value, owner: &str, wish: &Wish<'_>) -> Option<Grant> {
        let word = |key| body.get(key).and_then(Value::as_keyword).map(str::to_owned);
        let hash = body.get("hash").and_then(Value::as_str)?;
        let asker = body.get("asker")?.clone();
        let principal = asker.get("principal").and_then(Value::as_str)?;
        let names = [owner, principal, wish.id];
        if names.iter().any(|name| name.chars().any(char::is_control)) {
            return None;
        }
        let short = hash.get(..12)?;
        Some(Grant {
            id: format!("grant-{short}-{}", wish.until),
            question: wish.id.to_owned(),
            until: wish.until,
            owner: owner.to_owned(),
            by: word("by")?,
            target: word("target")?,
            place: word("place")?,
            payload: body.get("payload")?.clone(),
            hash: hash.to_owned(),
            asker,
        })
    }

    fn kind(&self) -> Result<String, Failure> {
        let facts = self.facts(self.until - 1)?.to_value();
        let kind = facts.get("kind").and_then(Value::as_keyword);
        Ok(kind.unwrap_or("other").to_owned())
    }

    fn facts(&self, now: i64) -> Result<Facts, Failure> {
        Facts::described(&self.described(now)).map_err(|why| {
            Failure::new(Exit::Data, format!("what was asked for cannot be judged: {why}"))
                .hint("answer without --always, or write a policy by hand: docs/policy.md")
        })
    }

    /// What was asked for, as an example writes it.
    fn described(&self, now: i64) -> String {
        let text = |key| self.asker.get(key).and_then(Value::as_str).unwrap_or_default();
        let is_owner = self.asker.get("owner").is_some_and(|owner| !owner.is_nil());
        let payload = self.payload.to_string();
        let is_plain = payload.len() <= MAX_EXAMPLE && !payload.chars().any(char::is_control);
        // The hash of what is written in full is computed, and must come out the same.
        let what = if is_plain {
            format!(":payload {payload}")
        } else {
            format!(":hash \"{}\" :payload {}", self.hash, self.stand_in())
        };
        format!(
            "(:principal {}{} :by :{} :session-owner {} :target :{} :place :{} :now {now} {what})",
            Value::str(text("principal")),
            if is_owner { " :owner t" } else { "" },
            self.by,
            Value::str(self.owner.as_str()),
            self.target,
            self.place,
        )
    }

    /// A payload of the same kind and place, for one that does not fit on a line: the hash says which
    /// it is.
    fn stand_in(&self) -> String {
        let action = self.payload.get("action").and_then(Value::as_keyword).unwrap_or_default();
        let plain = |key| {
            let value = self.payload.get(key).map(ToString::to_string).unwrap_or_default();
            if value.chars().any(char::is_control) { "\"/\"".to_owned() } else { value }
        };
        match action {
            "eval" => "(:action :eval :code \"..\")".to_owned(),
            "insert-at-end" => "(:action :insert-at-end :text \"..\")".to_owned(),
            "refactor-subtree" => "(:action :refactor-subtree :target-id \"..\")".to_owned(),
            "write" => format!("(:action :write :path {} :text \"..\")", plain("path")),
            edit if EDITS.contains(&edit) => self.plain_edit(),
            other => format!("(:action :{other})"),
        }
    }

    fn action(&self) -> &str {
        self.payload.get("action").and_then(Value::as_keyword).unwrap_or_default()
    }

    /// An edit without what the daemon found out about it, and without texts of several lines.
    fn plain_edit(&self) -> String {
        let pairs = self.payload.pairs().into_iter().flatten();
        let name = |key: &Value| key.as_keyword().unwrap_or_default().to_ascii_lowercase();
        let pairs = pairs.filter(|(key, _)| name(key) != PREPARED);
        let plain = |value: &Value| {
            let text = value.to_string();
            if text.chars().any(char::is_control) { "\"..\"".to_owned() } else { text }
        };
        let words = pairs.map(|(key, value)| format!(":{} {}", name(key), plain(value)));
        format!("({})", words.collect::<Vec<_>>().join(" "))
    }

    /// The other file, if two are changed: policies are asked about both.
    fn elsewhere(&self, kind: &str) -> Option<&str> {
        let other = self.payload.get("to").filter(|_| kind == "edit")?.get("path")?.as_str()?;
        (self.payload.get("path").and_then(Value::as_str) != Some(other)).then_some(other)
    }

    /// The condition on what it is done to, in the head of a permit and behind it.
    fn place(&self, kind: &str) -> (String, String) {
        let resource = self.resource(kind);
        match self.elsewhere(kind) {
            None => (format!("resource == {resource}"), String::new()),
            Some(other) => {
                let other = other.escape_default();
                let both =
                    format!("(resource == {resource} || resource == Path::\"{other}\") &&\n    ");
                ("resource".to_owned(), both)
            }
        }
    }

    /// What it is done to.
    fn resource(&self, kind: &str) -> String {
        let text = |key| self.payload.get(key).and_then(Value::as_str).unwrap_or_default();
        let first = self.payload.get("argv").and_then(Value::elements);
        let first = first.and_then(|argv| argv.first()?.as_str()).unwrap_or_default();
        match kind {
            "read" | "write" | "edit" => format!("Path::\"{}\"", text("path").escape_default()),
            "exec" => format!("Command::\"{}\"", first.escape_default()),
            "net" => format!("Host::\"{}\"", text("host").escape_default()),
            "spend" => format!("Money::\"{}\"", text("currency").escape_default()),
            _ => format!("Actuator::\"{}\"", self.target.escape_default()),
        }
    }

    /// The heading that is added. What the old set says when the time is over is its second example.
    fn org(&self, old: &Policies) -> Result<String, Failure> {
        let kind = self.kind()?;
        let after = old.find(&self.facts(self.until)?);
        if after.word == Word::Allow {
            return Err(Failure::new(Exit::Usage, "the policies allow it already, without a yes")
                .hint("answer without --always"));
        }
        let (resource, both) = self.place(&kind);
        // The content of a file may differ from one time to the next; everything else may not.
        let exact = match &*kind {
            "read" | "write" => {
                format!("context.target == Actuator::\"{}\"", self.target.escape_default())
            }
            "edit" => format!(
                "context.target == Actuator::\"{}\" && context.name == \"{}\"",
                self.target.escape_default(),
                self.action().escape_default()
            ),
            _ => format!("context.hash == \"{}\"", self.hash),
        };
        let until = rfc3339(self.until.saturating_mul(1_000));
        let mut quoted = one_line(&self.payload);
        quoted.truncate(quoted.floor_char_boundary(MAX_QUOTED));
        Ok(format!(
            "\n* Granted until {until}: {kind} by {target}\n:PROPERTIES:\n:CUSTOM_ID: {id}\n:END:\n\n\
             Asked for as {question}, in a session of {owner}:\n\n: {quoted}\n\n\
             #+begin_src cedar\n\
             permit (principal, action == Action::\"{kind}\", {resource})\n\
             when {{\n    {both}{exact} &&\n    context.session.owner == Person::\"{person}\" &&\n    \
             context.now < {seconds}\n}};\n#+end_src\n\n\
             #+begin_src examples\n(allow {before})\n({word} {later})\n#+end_src\n",
            target = self.target,
            id = self.id,
            question = self.question,
            owner = self.owner,
            person = self.owner.escape_default(),
            seconds = self.until,
            before = self.described(self.until - 1),
            word = example_word(after.word),
            later = self.described(self.until),
        ))
    }

    /// The new set is the old one and this grant, and the grant does what it is for.
    fn check(&self, old: &Policies, new: &Policies) -> Result<(), Failure> {
        let (mut added, mut kept) = (Vec::new(), Vec::new());
        for policy in new.policies() {
            let known =
                old.policies().iter().any(|it| it.id == policy.id && it.text == policy.text);
            if known { kept.push(policy) } else { added.push(policy) }
        }
        let is_one = kept.len() == old.policies().len()
            && matches!(&added[..], [one] if *one.id == *self.id && one.text.starts_with("permit"));
        if is_one {
            return Ok(());
        }
        Err(Failure::new(
            Exit::Software,
            "the change would be more than one permit; it is not made",
        )
        .hint("answer without --always, and report this with the question"))
    }
}

impl Patch {
    /// Writes the file: all of it or nothing, and never over what somebody changed meanwhile.
    pub(super) fn write(&self) -> Result<(), Failure> {
        let name = self.file.display();
        let put = policy_file::replace(&self.file, self.old.as_deref(), &self.new);
        put.map_err(|error| match error {
            policy_file::Error::Changed => {
                let what = format!("`{name}` was changed meanwhile; the policy is not written");
                Failure::new(Exit::Temporary, what).hint(
                    "the question is answered; write the policy by hand if it is still wanted",
                )
            }
            error => Failure::because(Exit::CannotCreate, format!("cannot write `{name}`"), &error)
                .hint("it is as it was; the question is answered"),
        })
    }
}
