//! `:notify`: a text that the user should see now: on the desktop, where a program for that is installed, and in the
//! shells of the session, which ring their bell.
//!
//! It is no message to anybody else, and no part of the conversation. Nothing of the text is read as an option or as
//! markup of more than the desktop's own.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use bridle_host::{ActChannel, ActIo, Actuator, CrashOutcome, HostFuture};
use bridle_loop::{ActionSpec, ArgumentShape, ArgumentSpec, Order, Outcome};
use bridle_sexp::Value;
use tokio::process::Command;

use crate::config::DesktopNotifier;

/// Name of the actuator, and of its action.
pub(super) const NOTIFY: &str = "notify";

/// Programs for the desktop: their first argument is the title, the second the text.
const DESKTOP_PROGRAMS: [&str; 3] =
    ["/usr/bin/notify-send", "/usr/local/bin/notify-send", "/bin/notify-send"];

/// Longest title and text, in bytes; of more the beginning is shown.
const MAX_TITLE_BYTES: usize = 128;
const MAX_TEXT_BYTES: usize = 1_024;

/// Time for the program.
const PROGRAM_TIME: Duration = Duration::from_secs(5);

/// Time in which the shells of the session get the text: pieces are shown as long as their act goes on, and to the
/// slowest shell once a second.
const SHOWING_TIME: Duration = Duration::from_millis(1_200);

/// Title of a text that has none.
const DEFAULT_TITLE: &str = "bridle";

/// Notifies the user.
pub(super) struct NotifyActuator(pub(super) DesktopNotifier);

impl Actuator for NotifyActuator {
    fn specs(&self) -> Vec<ActionSpec> {
        let arguments = vec![
            ArgumentSpec::required("text", ArgumentShape::Text, "Text, a line or two"),
            ArgumentSpec::optional("title", ArgumentShape::Text, "Title; `bridle` unless said"),
        ];
        let about =
            "Show a text to the user at once: on the desktop and in the shells of the session.";
        vec![ActionSpec::new(NOTIFY, about, arguments)]
    }

    fn act<'a>(&'a self, order: &'a Order, io: &'a ActIo) -> HostFuture<'a, Outcome> {
        Box::pin(async move {
            let said = |key| order.payload().get(key).and_then(Value::as_str);
            let Some(text) = said("text") else {
                return Outcome::Failed("no good `:text`, expected a string".into());
            };
            let title = plain(said("title").unwrap_or(DEFAULT_TITLE), MAX_TITLE_BYTES);
            let text = plain(text, MAX_TEXT_BYTES);
            io.show(ActChannel::Notice, &format!("{title}: {text}\n"));
            let (desktop, ()) =
                tokio::join!(self.0.show(&title, &text), tokio::time::sleep(SHOWING_TIME));
            let pairs = match desktop {
                Ok(()) => vec![("desktop", Value::T), ("shells", Value::T)],
                Err(reason) => vec![
                    ("desktop", Value::Nil),
                    ("because", Value::str(reason)),
                    ("shells", Value::T),
                ],
            };
            Outcome::Done(Value::plist(pairs))
        })
    }

    fn crash_outcome(&self, _: &Order, _: u64) -> CrashOutcome {
        // To show it twice is better than not to show it.
        CrashOutcome::NotDone
    }
}

impl DesktopNotifier {
    /// Shows a text on the desktop; says why not.
    async fn show(&self, title: &str, text: &str) -> Result<(), String> {
        let program = match self {
            DesktopNotifier::Off => return Err("the setting `notify` is off".to_owned()),
            DesktopNotifier::Program(program) => program.clone(),
            DesktopNotifier::Found => {
                let found = DESKTOP_PROGRAMS.into_iter().find(|it| Path::new(it).exists());
                found.map(PathBuf::from).ok_or("no `notify-send` is installed")?
            }
        };
        let started = Command::new(&program)
            .args(["--", title, text])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        let name = program.display();
        let mut child = started.map_err(|error| format!("`{name}` does not start: {error}"))?;
        match tokio::time::timeout(PROGRAM_TIME, child.wait()).await {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => Err(format!("`{name}`: {status}")),
            Ok(Err(error)) => Err(format!("`{name}`: {error}")),
            Err(_) => Err(format!("`{name}` takes longer than five seconds")),
        }
    }
}

/// The beginning of a text without control characters.
fn plain(text: &str, most: usize) -> String {
    let end = text.floor_char_boundary(most);
    let is_plain = |it: char| !it.is_control() || it == '\n';
    text[..end].chars().map(|it| if is_plain(it) { it } else { ' ' }).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::{DesktopNotifier, plain};

    #[tokio::test]
    async fn the_program_gets_title_and_text_and_no_options() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("notify");
        let out = folder.path().join("out");
        let script = format!("#!/bin/sh\nprintf '%s|' \"$@\" > '{}'\n", out.display());
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        DesktopNotifier::Program(program).show("--help", "$(id) `id`").await.unwrap();
        assert_eq!(std::fs::read_to_string(&out).unwrap(), "--|--help|$(id) `id`|");
        let missing = DesktopNotifier::Program(folder.path().join("none")).show("a", "b").await;
        assert!(missing.unwrap_err().contains("does not start"));
        assert!(DesktopNotifier::Off.show("a", "b").await.unwrap_err().contains("off"));
    }

    #[test]
    fn a_text_is_shown_without_signs_for_terminals() {
        assert_eq!(plain("a\u{1b}[2Jb\nc", 99), "a [2Jb\nc");
        assert_eq!(plain("äöü", 3), "ä");
    }
}
