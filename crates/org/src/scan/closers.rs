//! The lines that close blocks, by name. A walk asks in the order of the lines, so each list is read once
//! from front to back and all questions together cost no more than the text is long.

use std::collections::HashMap;

use crate::line;
use crate::text::Lines;

/// What a line closes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Closes {
    /// `#+end_NAME`, in lower case.
    Block(Vec<u8>),
    /// `#+end:`
    Dynamic,
    /// `:END:`
    Drawer,
    /// `\end{NAME}`, in lower case.
    Environment(Vec<u8>),
}

#[derive(Default)]
struct Queue {
    lines: Vec<usize>,
    next: usize,
}

pub(super) struct Closers(HashMap<Closes, Queue>);

impl Closers {
    pub(super) fn new(lines: &Lines) -> Self {
        let mut closers = Self(HashMap::new());
        for index in 0..lines.count() {
            let line = lines.content(index);
            if let Some(name) = line::environment_end(line) {
                closers.add(Closes::Environment(name.to_ascii_lowercase()), index);
            }
            if line::is_drawer_end(line) {
                closers.add(Closes::Drawer, index);
            } else if let Some(marked) = line::after_mark(line) {
                if let Some(name) = line::block_end(marked) {
                    closers.add(Closes::Block(name.to_ascii_lowercase()), index);
                } else if line::is_dynamic_end(marked) {
                    closers.add(Closes::Dynamic, index);
                }
            }
        }
        closers
    }

    /// The first line from `from` on and before `limit` that closes this. `from` never goes back.
    pub(super) fn find(&mut self, closes: &Closes, from: usize, limit: usize) -> Option<usize> {
        let queue = self.0.get_mut(closes)?;
        let passed = queue.lines[queue.next..].iter().take_while(|line| **line < from).count();
        queue.next += passed;
        queue.lines.get(queue.next).copied().filter(|line| *line < limit)
    }

    fn add(&mut self, closes: Closes, line: usize) {
        self.0.entry(closes).or_default().lines.push(line);
    }
}
