//! Which lines close something. The lists are made once, in the order of the text; each question is a search by
//! halves in one of them.

use std::collections::HashMap;

use crate::line;
use crate::lines::{Class, Lines, narrow, widen};

/// The lines that close things, by what they close.
pub(super) struct Closers {
    /// `#+end_NAME`, by the name in lower case.
    blocks: HashMap<Vec<u8>, Vec<u32>>,
    /// `\end{NAME}`, by the name as it stands; the case does not matter, and is nearly always the same.
    environments: HashMap<Vec<u8>, Vec<u32>>,
    /// `#+end:` and `#+end`.
    dynamic: Vec<u32>,
    /// `#+end:` alone.
    colons: Vec<u32>,
    /// `:END:`.
    drawers: Vec<u32>,
}

impl Closers {
    pub(super) fn new(lines: &Lines<'_>) -> Self {
        let mut closers = Self {
            blocks: HashMap::new(),
            environments: HashMap::new(),
            dynamic: Vec::new(),
            colons: Vec::new(),
            drawers: Vec::new(),
        };
        for index in 0..lines.count() {
            match lines.class(index) {
                Class::Drawer if line::is_drawer_end(lines.content(index)) => {
                    closers.drawers.push(narrow(index));
                }
                Class::Marked => closers.marked(lines.content(index), narrow(index)),
                _ => {}
            }
        }
        closers.environments(lines);
        closers
    }

    fn marked(&mut self, line: &[u8], index: u32) {
        let Some(marked) = line::after_mark(line) else { return };
        if let Some(name) = line::block_end(marked) {
            self.blocks.entry(name.to_ascii_lowercase()).or_default().push(index);
        } else if line::is_dynamic_end(marked) {
            self.dynamic.push(index);
            if marked.len() > 3 && marked[3] == b':' {
                self.colons.push(index);
            }
        }
    }

    /// Looks for `\end{NAME}` at the end of lines: there are few backslashes in most texts.
    fn environments(&mut self, lines: &Lines<'_>) {
        let source = lines.source();
        let mut from = 0;
        while let Some(at) = memchr::memchr(b'\\', &source[from..]).map(|at| from + at) {
            from = at + 1;
            if !line::is_environment_end(&source[at..]) {
                continue;
            }
            let index = lines.at(at);
            if let Some(name) = line::environment_end(lines.content(index)) {
                let known = self.environments.entry(name.to_ascii_lowercase()).or_default();
                if known.last() != Some(&narrow(index)) {
                    known.push(narrow(index));
                }
            }
            from = lines.start(index + 1).max(from);
        }
    }

    /// The first line from `from` on and before `limit` that closes the block `name`.
    pub(super) fn block(&self, name: &[u8], from: usize, limit: usize) -> Option<usize> {
        first(self.blocks.get(&name.to_ascii_lowercase())?, from, limit)
    }

    pub(super) fn environment(&self, name: &[u8], from: usize, limit: usize) -> Option<usize> {
        first(self.environments.get(&name.to_ascii_lowercase())?, from, limit)
    }

    pub(super) fn dynamic(&self, from: usize, limit: usize) -> Option<usize> {
        first(&self.dynamic, from, limit)
    }

    /// Returns the next line that a list takes for the end of a dynamic block.
    pub(super) fn colon(&self, from: usize, limit: usize) -> Option<usize> {
        first(&self.colons, from, limit)
    }

    pub(super) fn drawer(&self, from: usize, limit: usize) -> Option<usize> {
        first(&self.drawers, from, limit)
    }
}

fn first(lines: &[u32], from: usize, limit: usize) -> Option<usize> {
    let next = lines.partition_point(|line| widen(*line) < from);
    lines.get(next).map(|line| widen(*line)).filter(|line| *line < limit)
}
