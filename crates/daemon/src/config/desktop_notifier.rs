//! The program that shows notices on the desktop, as the settings choose it.

use std::path::PathBuf;

/// Program that shows notices on the desktop; its arguments are `--`, title and text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum DesktopNotifier {
    /// `notify-send`, where it is installed.
    #[default]
    Found,
    /// Named by its path.
    Program(PathBuf),
    /// None.
    Off,
}
