//! Code inside of text: inline source blocks and calls, macros, export snippets.

use super::cursor::Sought;
use super::{Found, Frame, Reader};
use crate::kind::Type;
use crate::syntax::joins_word;

impl Reader<'_> {
    /// `src_lang[..]{..}` or `call_name[..](..)[..]`, given the place of its `_`.
    pub(super) fn inline(&mut self, at: usize, from: usize, frame: &Frame) -> Option<Found> {
        let before = &self.text[from..at];
        if before.ends_with(b"src") {
            return self.inline_source(at - 3, at + 1, frame);
        }
        if before.ends_with(b"call") {
            return self.inline_call(at - 4, at + 1, frame);
        }
        None
    }

    fn begins_word(&self, at: usize, frame: &Frame) -> bool {
        !self.before(at, frame).is_some_and(joins_word)
    }

    fn inline_source(&mut self, begin: usize, name: usize, frame: &Frame) -> Option<Found> {
        if !frame.set.has(Type::InlineSrcBlock) || !self.begins_word(begin, frame) {
            return None;
        }
        let (text, start) = (self.text, self.start);
        let mut at = self.scratch.cursors.find(text, Sought::LanguageEnd, name)?;
        if at == name {
            return None;
        }
        if text[at] == b'[' {
            at = self.scratch.brackets.close(text, start, at)? + 1;
        }
        let open = self.rest(at, frame).first() == Some(&b'{');
        let end = open.then(|| self.scratch.braces.close(text, start, at)).flatten()? + 1;
        (end <= frame.end).then(|| self.found(Type::InlineSrcBlock, begin, end, frame, None))
    }

    fn inline_call(&mut self, begin: usize, name: usize, frame: &Frame) -> Option<Found> {
        if !frame.set.has(Type::InlineBabelCall) || !self.begins_word(begin, frame) {
            return None;
        }
        let (text, start) = (self.text, self.start);
        let mut at = self.scratch.cursors.find(text, Sought::CallEnd, name)?;
        if at == name {
            return None;
        }
        if text[at] == b'[' {
            at = self.scratch.brackets.close(text, start, at)? + 1;
        }
        let open = self.rest(at, frame).first() == Some(&b'(');
        at = open.then(|| self.scratch.parentheses.close(text, start, at)).flatten()? + 1;
        if self.rest(at, frame).first() == Some(&b'[') {
            let header = self.scratch.brackets.close(text, start, at);
            at = header.filter(|close| *close < frame.end).map_or(at, |close| close + 1);
        }
        (at <= frame.end).then(|| self.found(Type::InlineBabelCall, begin, at, frame, None))
    }

    /// `{{{name}}}` or `{{{name(arguments)}}}`.
    pub(super) fn macro_(&mut self, at: usize, frame: &Frame) -> Option<Found> {
        let rest = self.rest(at, frame);
        let inner = rest.strip_prefix(b"{{{").filter(|_| frame.set.has(Type::Macro))?;
        inner.first().filter(|byte| byte.is_ascii_alphabetic())?;
        let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let name = inner.iter().take_while(is_name).count();
        let behind = at + 3 + name;
        let end = if inner[name..].starts_with(b"}}}") {
            behind + 3
        } else if inner.get(name) == Some(&b'(') {
            let close = self.scratch.cursors.find(self.text, Sought::MacroEnd, behind + 1)?;
            let nul = self.scratch.cursors.find(self.text, Sought::Nul, behind + 1);
            if nul.is_some_and(|nul| nul < close) {
                return None;
            }
            close + 4
        } else {
            return None;
        };
        (end <= frame.end).then(|| self.found(Type::Macro, at, end, frame, None))
    }

    /// `@@html:text@@`.
    pub(super) fn snippet(&self, at: usize, frame: &Frame) -> Option<Found> {
        if !frame.set.has(Type::ExportSnippet) {
            return None;
        }
        let inner = self.rest(at + 2, frame);
        let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'-';
        let name = inner.iter().take_while(is_name).count();
        if name == 0 || inner.get(name) != Some(&b':') {
            return None;
        }
        // Where nothing closes it, Org takes the beginning for all of it.
        let close = memchr::memmem::find(&inner[name + 1..], b"@@").map_or(0, |close| close + 2);
        let end = at + 2 + name + 1 + close;
        Some(self.found(Type::ExportSnippet, at, end, frame, None))
    }
}
