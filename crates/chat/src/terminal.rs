//! The terminal while a conversation holds it: raw mode, keys, signals. It is given back as it was,
//! however the conversation ends.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::mpsc::Sender;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;

use crate::error::ChatError;
use crate::event::{ChatEvent, ChatKey};
use crate::painter::{ReflowBehavior, TerminalSize};
use crate::style::ColorUse;

/// Sequence that has pastes come in one piece.
const PASTE_ON: &str = "\u{1b}[?2004h";

/// Sequence that undoes everything that may be set: pastes, styles, the cursor, the other screen.
const RESTORE: &str = "\u{1b}[?2004l\u{1b}[0m\u{1b}[?7h\u{1b}[?25h";

/// The terminal in raw mode; dropping it restores what was.
#[derive(Debug)]
pub struct HeldTerminal {
    is_raw: bool,
}

impl HeldTerminal {
    /// Takes the terminal.
    ///
    /// # Errors
    /// Input or output is no terminal, or it cannot be set.
    pub fn take() -> Result<HeldTerminal, ChatError> {
        if !is_terminal() {
            return Err(ChatError::NoTerminal);
        }
        let mut held = HeldTerminal { is_raw: false };
        held.resume()?;
        Ok(held)
    }

    /// Size of the terminal; 80 by 24 when it does not tell.
    pub fn size(&self) -> TerminalSize {
        let (columns, rows) = crossterm::terminal::size().unwrap_or((80, 24));
        let known = |told: u16, otherwise: usize| match told {
            0 => otherwise,
            told => usize::from(told),
        };
        TerminalSize { columns: known(columns, 80), rows: known(rows, 24) }
    }

    /// Writes a painting.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn write(&mut self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Sets the terminal up again.
    fn resume(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        self.is_raw = true;
        self.write(PASTE_ON)
    }

    fn release(&mut self) {
        if std::mem::take(&mut self.is_raw) {
            // A terminal that is gone needs nothing back.
            let _ = self.write(RESTORE);
            let _ = disable_raw_mode();
        }
    }

    /// Stops the process as Ctrl-Z does, and sets the terminal up when it goes on.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn suspend(&mut self) -> io::Result<()> {
        self.release();
        signal_hook::low_level::emulate_default_handler(SIGTSTP)?;
        self.resume()
    }
}

impl Drop for HeldTerminal {
    fn drop(&mut self) {
        self.release();
    }
}

/// Whether a conversation can be held here.
pub fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Whether colors are wanted: not with `NO_COLOR`.
pub fn colors() -> ColorUse {
    let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if is_plain { ColorUse::None } else { ColorUse::Ansi }
}

/// Behavior of this terminal when its width changes, by its name.
pub fn reflow() -> ReflowBehavior {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let term = std::env::var("TERM").unwrap_or_default();
    let cuts = set("XTERM_VERSION") || (["linux", "screen"].contains(&&*term) && !set("TMUX"));
    if cuts { ReflowBehavior::Cuts } else { ReflowBehavior::Reflows }
}

/// Reads keys until nobody listens, on a thread of its own; the end of the terminal is told as leaving.
pub fn read_keys<T: From<ChatEvent>>(out: &Sender<T>, leave: impl Fn() -> T) {
    loop {
        let event = match crossterm::event::read() {
            Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                key_of(key).map(ChatEvent::Key)
            }
            Ok(Event::Paste(text)) => Some(ChatEvent::Paste(text)),
            Ok(Event::Resize(columns, rows)) => {
                Some(ChatEvent::Resize(usize::from(columns), usize::from(rows)))
            }
            Ok(_) => None,
            Err(_) => {
                let _ = out.send(leave());
                return;
            }
        };
        if let Some(event) = event
            && out.send(event.into()).is_err()
        {
            return;
        }
    }
}

/// Tells of signals that end the conversation, on a thread of its own.
///
/// # Errors
/// The system takes no handler.
pub fn watch_signals<T: Send + 'static>(
    out: Sender<T>,
    leave: impl Fn() -> T + Send + 'static,
) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGHUP, SIGINT])?;
    let watch = move || {
        for _ in signals.forever() {
            if out.send(leave()).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(watch).map(drop)
}

/// The key as the conversation knows it; `None` for one that means nothing.
fn key_of(key: KeyEvent) -> Option<ChatKey> {
    let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    Some(match key.code {
        KeyCode::Char(letter) if ctrl && !alt => ChatKey::Ctrl(letter.to_ascii_lowercase()),
        KeyCode::Char(letter) if alt && !ctrl => ChatKey::Alt(letter.to_ascii_lowercase()),
        KeyCode::Char(letter) => ChatKey::Letter(letter),
        KeyCode::Enter if alt || shift => ChatKey::NewLine,
        KeyCode::Enter => ChatKey::Enter,
        KeyCode::Tab => ChatKey::Tab,
        KeyCode::Esc => ChatKey::Escape,
        KeyCode::Backspace if alt || ctrl => ChatKey::BackspaceWord,
        KeyCode::Backspace => ChatKey::Backspace,
        KeyCode::Delete => ChatKey::Delete,
        KeyCode::Up => ChatKey::Up,
        KeyCode::Down => ChatKey::Down,
        KeyCode::Left if alt || ctrl => ChatKey::WordLeft,
        KeyCode::Left => ChatKey::Left,
        KeyCode::Right if alt || ctrl => ChatKey::WordRight,
        KeyCode::Right => ChatKey::Right,
        KeyCode::Home => ChatKey::Home,
        KeyCode::End => ChatKey::End,
        KeyCode::PageUp => ChatKey::PageUp,
        KeyCode::PageDown => ChatKey::PageDown,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    use super::key_of;
    use crate::event::ChatKey;

    #[test]
    fn keys_of_terminals_become_keys_of_the_conversation() {
        let key = |code, modifiers| key_of(KeyEvent::new(code, modifiers));
        let none = KeyModifiers::NONE;
        assert_eq!(key(KeyCode::Char('日'), none), Some(ChatKey::Letter('日')));
        let ctrl = KeyModifiers::CONTROL;
        assert_eq!(key(KeyCode::Char('W'), ctrl), Some(ChatKey::Ctrl('w')));
        assert_eq!(key(KeyCode::Enter, KeyModifiers::ALT), Some(ChatKey::NewLine));
        assert_eq!(key(KeyCode::Left, ctrl), Some(ChatKey::WordLeft));
        // The third level of some keyboards is both.
        assert_eq!(key(KeyCode::Char('@'), ctrl | KeyModifiers::ALT), Some(ChatKey::Letter('@')));
        assert_eq!(key(KeyCode::F(5), none), None);
    }
}
