//! `bridle completions`: the script for a shell, and `bridle __complete KIND`, which the script calls for words that only
//! this installation knows: sessions, approvals, models, secrets.
//!
//! Words go to a shell that may expand them, so only those without any special character are given out.

use std::time::Duration;

use bridle_history::RecordHistory;
use bridle_models::read_providers;
use bridle_sexp::Value;
use bridle_shell::DaemonAddress;
use bridle_shell::client::{ClientAuth, ClientOptions, DaemonTarget};
use bridle_shell::system::{SystemReply, SystemRequest, ask};
use clap::CommandFactory as _;
use clap_complete::Shell;

use super::output::print;
use crate::args::{Cli, CompletionKind};
use crate::exit::{BridleExit, CommandFailure};
use crate::settings::{GivenFlags, ResolvedSettings};

/// Longest wait for the daemon: whoever presses a key waits for it.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// Most words.
const MAX_WORDS: usize = 200;

pub(crate) fn script(shell: Shell) -> Result<BridleExit, CommandFailure> {
    // The generator panics on a closed pipe, so it writes to memory first.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "bridle", &mut script);
    let script = String::from_utf8_lossy(&script);
    print(&match shell {
        Shell::Bash => format!("{script}{BASH}"),
        Shell::Zsh => zsh(&script),
        Shell::Fish => fish(&script),
        _ => script.into_owned(),
    })
}

/// Prints the words of a kind, one a line. Whatever is wrong, there are just no words.
pub(crate) fn words(kind: CompletionKind) -> Result<BridleExit, CommandFailure> {
    let found = ResolvedSettings::resolve(&GivenFlags::default())
        .map(|settings| match kind {
            CompletionKind::Sessions => sessions(&settings),
            CompletionKind::Approvals => approvals(&settings),
            CompletionKind::Models => models(&settings),
            CompletionKind::Secrets => secrets(&settings),
        })
        .unwrap_or_default();
    let plain = found.iter().filter(|word| is_plain(word)).take(MAX_WORDS);
    print(&plain.map(|word| format!("{word}\n")).collect::<String>())
}

/// Whether no shell does anything with the word but take it.
fn is_plain(word: &str) -> bool {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:/@+".contains(&byte);
    !word.is_empty() && !word.starts_with('-') && word.bytes().all(is_safe)
}

/// Names of sessions, the latest first.
fn sessions(settings: &ResolvedSettings) -> Vec<String> {
    let Ok(state) = settings.state() else { return Vec::new() };
    let rows = RecordHistory::open(&state).and_then(|history| history.sessions());
    let mut rows = rows.unwrap_or_default();
    rows.retain(|row| !row.forgotten);
    rows.sort_by_key(|row| std::cmp::Reverse(row.last_at));
    rows.iter().map(|row| row.name.to_string()).collect()
}

fn approvals(settings: &ResolvedSettings) -> Vec<String> {
    let Some(socket) = settings.path("unix") else { return Vec::new() };
    let options = ClientOptions { timeout: ANSWER_TIMEOUT, auth: ClientAuth::None };
    let target = DaemonTarget { addr: DaemonAddress::Unix(socket.to_path_buf()), options };
    let Ok(SystemReply::Done(told)) = ask(&[target], &SystemRequest::Approvals) else {
        return Vec::new();
    };
    let listed = told.get("approvals").and_then(Value::elements).unwrap_or_default();
    let id = |it: &Value| it.get("approval").and_then(Value::as_str).map(str::to_owned);
    listed.iter().filter_map(id).collect()
}

fn models(settings: &ResolvedSettings) -> Vec<String> {
    let Some(folder) = settings.path("memex") else { return Vec::new() };
    let text = std::fs::read_to_string(folder.join("models.org")).unwrap_or_default();
    let named = |provider: bridle_models::Provider| -> Vec<String> {
        provider.models.iter().map(|model| format!("{}/{}", provider.name, model.name)).collect()
    };
    read_providers(&text).providers.into_iter().flat_map(named).collect()
}

fn secrets(settings: &ResolvedSettings) -> Vec<String> {
    let Ok(store) = settings.secret_store() else { return Vec::new() };
    store.list().unwrap_or_default().into_iter().map(|(name, _)| name).collect()
}

/// Takes the place of the generated function where a word is known only at run time.
const BASH: &str = r#"
_bridle_dynamic() {
    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" kind=""
    case "${prev}" in
        --session) kind=sessions ;;
        --model) kind=models ;;
    esac
    case "${COMP_CWORD} ${COMP_WORDS[1]} ${COMP_WORDS[2]}" in
        "2 approve "*|"2 deny "*) kind=approvals ;;
        "2 forget "*) kind=sessions ;;
        "3 secret rm") kind=secrets ;;
        "3 model use"|"3 model test"|"3 model remove") kind=models ;;
    esac
    if [[ -n "${kind}" && "${cur}" != -* ]]; then
        COMPREPLY=($(compgen -W "$(bridle __complete "${kind}" 2>/dev/null)" -- "${cur}"))
        return 0
    fi
    _bridle "$@"
}
complete -F _bridle_dynamic -o bashdefault -o default bridle
"#;

/// Function of the script for zsh that offers words.
const ZSH: &str = r#"
_bridle_words() {
    local -a found
    found=("${(@f)$(bridle __complete $1 2>/dev/null)}")
    compadd -a found
}
"#;

/// Beginnings of lines for zsh, and the words that belong there.
const ZSH_PLACES: [(&str, &str); 4] = [
    ("'--session=", "sessions"),
    ("'--model=", "models"),
    ("':id -- Id of the approval", "approvals"),
    ("':name -- Name of the secret, from", "secrets"),
];

fn zsh(script: &str) -> String {
    let mut out = String::with_capacity(script.len());
    for line in script.lines() {
        let place = ZSH_PLACES.iter().find(|(start, _)| line.starts_with(start));
        match place.and_then(|(_, kind)| Some((line.strip_suffix(":_default' \\")?, kind))) {
            Some((rest, kind)) => out.push_str(&format!("{rest}:{{_bridle_words {kind}}}' \\\n")),
            None => out.push_str(&format!("{line}\n")),
        }
        // The first line says for which command the file is.
        if line.starts_with("#compdef") {
            out.push_str(ZSH);
        }
    }
    out
}

/// Commands whose argument is a word of a kind, for fish.
const FISH_PLACES: [(&str, &str); 4] = [
    ("__fish_bridle_using_subcommand approve", "approvals"),
    ("__fish_bridle_using_subcommand deny", "approvals"),
    ("__fish_bridle_using_subcommand forget", "sessions"),
    ("__fish_bridle_using_subcommand secret; and __fish_seen_subcommand_from rm", "secrets"),
];

fn fish(script: &str) -> String {
    let mut out = String::with_capacity(script.len());
    for line in script.lines() {
        out.push_str(line);
        for (flag, kind) in [(" -l session ", "sessions"), (" -l model ", "models")] {
            if line.contains(flag) && line.ends_with(" -r") {
                out.push_str(&format!(" -f -a \"(bridle __complete {kind})\""));
            }
        }
        out.push('\n');
    }
    for (place, kind) in FISH_PLACES {
        out.push_str(&format!(
            "complete -c bridle -n \"{place}\" -f -a \"(bridle __complete {kind})\"\n"
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn words_that_a_shell_would_expand_are_left_out() {
        for word in ["work", "work-7", "lab/m:1", "a@b", "2026+x"] {
            assert!(is_plain(word), "{word}");
        }
        for word in ["", "-rf", "$(x)", "`x`", "a b", "a;b", "a*", "~", "a'b", "a\"b", "é", "a\nb"]
        {
            assert!(!is_plain(word), "{word}");
        }
    }
}
