//! Nesting of a policy, measured on its text before Cedar sees it.
//!
//! Cedar reads, prints, checks and drops what is nested by calling itself, and a stack that runs over ends
//! the process. Called by `load` for each block, and before an expression is read again. Counts tokens, one
//! after the other, without calling itself; what it counts is never less than the depth that Cedar sees.

/// Most that a policy may nest.
#[derive(Clone, Copy, Debug)]
pub(super) struct DepthLimits {
    /// Brackets of all kinds and `if`s, one within the other: Cedar calls itself some ten times for each.
    nesting: usize,
    /// Everything that makes the tree of an expression deeper, long chains of `&&` and `||` included.
    depth: usize,
}

impl Default for DepthLimits {
    fn default() -> Self {
        Self::FILE
    }
}

impl DepthLimits {
    /// Limits of a file. What fits is read on a stack of 2 MiB and judged on one of 8 MiB, also without
    /// optimization.
    pub(super) const FILE: Self = Self { nesting: 24, depth: 128 };

    /// Limits of a set that the record holds: another version took it, and its sessions need it.
    pub(super) const RECORDED: Self = Self { nesting: 400, depth: 1_000 };
}

/// Place where a text is nested too deeply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TooDeep {
    /// Offset in the text, in bytes.
    pub(super) offset: usize,
    /// Reason, for people.
    pub(super) what: String,
}

/// Checks that nothing in a text is nested more deeply than the limits say.
pub(super) fn check_depth(text: &str, limits: DepthLimits) -> Result<(), TooDeep> {
    let mut gauge = DepthGauge::new(limits);
    let mut rest = text;
    while let Some((token, after)) = next_token(rest) {
        let offset = text.len() - rest.len();
        gauge.take(token).map_err(|what| TooDeep { offset, what })?;
        rest = after;
    }
    gauge.end_policy().map_err(|what| TooDeep { offset: text.len(), what })
}

/// Part of a text that can matter to its depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DepthToken {
    Open(u8),
    Close(u8),
    Comma,
    Semicolon,
    If,
    /// `&&`, `||`, `when`, `unless`: what stands between two of them is one operand.
    Chain,
    /// Any other operator.
    Operator,
    /// Names, numbers, texts, blanks and comments.
    Plain,
}

/// Counts of one bracket, or of the text outside of all.
#[derive(Debug, Default)]
struct DepthLevel {
    /// The bracket that ends it; none outside of all.
    close: Option<u8>,
    ifs: usize,
    chain: usize,
    /// Operators of the operand that is being read, and the deepest bracket in it.
    operators: usize,
    inner: usize,
    /// Brackets of the operand that are closed: each may look up in what comes before it, `a[..][..]`.
    brackets: usize,
    /// Deepest operand since the last comma.
    operand: usize,
    /// Deepest part between commas.
    deepest: usize,
}

#[derive(Debug)]
struct DepthGauge {
    limits: DepthLimits,
    /// Never empty: the first is the text outside of all brackets.
    levels: Vec<DepthLevel>,
    /// Open brackets, and the `if`s around the place.
    nesting: usize,
}

impl DepthGauge {
    fn new(limits: DepthLimits) -> Self {
        Self { limits, levels: vec![DepthLevel::default()], nesting: 0 }
    }

    fn take(&mut self, token: DepthToken) -> Result<(), String> {
        let is_outside = self.levels.len() == 1;
        let Some(level) = self.levels.last_mut() else { return Ok(()) };
        match token {
            DepthToken::Plain => {}
            DepthToken::Operator => level.operators += 1,
            DepthToken::Chain => level.end_operand(),
            DepthToken::If => {
                level.end_operand();
                level.ifs += 1;
                self.nesting += 1;
            }
            DepthToken::Open(close) => {
                self.levels.push(DepthLevel { close: Some(close), ..DepthLevel::default() });
                self.nesting += 1;
            }
            // What is closed by another bracket is not closed: Cedar will say so.
            DepthToken::Close(close) if level.close == Some(close) => {
                level.end_part();
                let (inner, ifs) = (level.deepest + 1, level.ifs);
                self.levels.pop();
                self.nesting -= 1 + ifs;
                if let Some(around) = self.levels.last_mut() {
                    around.inner = around.inner.max(inner);
                    around.brackets += 1;
                }
            }
            DepthToken::Close(_) => {}
            DepthToken::Semicolon if is_outside => return self.end_policy(),
            DepthToken::Comma | DepthToken::Semicolon => {
                level.end_part();
                self.nesting -= std::mem::take(&mut level.ifs);
            }
        }
        if self.nesting > self.limits.nesting {
            let most = self.limits.nesting;
            return Err(format!("brackets and `if`s nested deeper than {most}"));
        }
        if token == DepthToken::Plain { Ok(()) } else { self.check_depth() }
    }

    /// Ends a policy: the next one begins outside of everything.
    fn end_policy(&mut self) -> Result<(), String> {
        self.check_depth()?;
        if let [outside] = &mut self.levels[..] {
            *outside = DepthLevel::default();
            self.nesting = 0;
        }
        Ok(())
    }

    /// Checks what is known so far, from the innermost level outwards. They are few.
    fn check_depth(&self) -> Result<(), String> {
        let depth = self.levels.iter().rev().fold(0, |inner, level| level.depth(inner) + 1);
        if depth <= self.limits.depth {
            return Ok(());
        }
        let most = self.limits.depth;
        Err(format!(
            "an expression deeper than {most}: write long chains of `&&` and `||` as several policies, or \
             as `[..].contains(..)`"
        ))
    }
}

impl DepthLevel {
    /// Depth of all that was read of it, with a bracket of the depth `inner` that is still open.
    fn depth(&self, inner: usize) -> usize {
        self.deepest.max(self.chain + self.operand.max(self.depth_of_operand(inner)))
    }

    fn depth_of_operand(&self, inner: usize) -> usize {
        // Outside of all brackets, none of them belongs to an expression.
        let lookups = if self.close.is_some() { self.brackets.saturating_sub(1) } else { 0 };
        self.operators + lookups + self.inner.max(inner)
    }

    /// Ends an operand of a chain.
    fn end_operand(&mut self) {
        self.operand = self.depth_of_operand(0).max(self.operand);
        (self.operators, self.inner, self.brackets) = (0, 0, 0);
        self.chain += 1;
    }

    /// Ends what stands between two commas.
    fn end_part(&mut self) {
        self.deepest = self.depth(0);
        (self.chain, self.operators, self.inner, self.brackets, self.operand) = (0, 0, 0, 0, 0);
    }
}

/// The next token and what follows it; nothing at the end.
fn next_token(text: &str) -> Option<(DepthToken, &str)> {
    let first = text.chars().next()?;
    let word = |c: char| c == '_' || c.is_ascii_alphanumeric();
    let (token, length) = match first {
        '"' => (DepthToken::Plain, string_length(text)),
        '/' if text.starts_with("//") => {
            (DepthToken::Plain, text.find(['\n', '\r']).unwrap_or(text.len()))
        }
        c if word(c) => {
            let length = text.find(|c| !word(c)).unwrap_or(text.len());
            let token = match &text[..length] {
                "if" => DepthToken::If,
                "when" | "unless" => DepthToken::Chain,
                "has" | "like" | "is" | "in" => DepthToken::Operator,
                _ => DepthToken::Plain,
            };
            (token, length)
        }
        '&' | '|' if text.starts_with("&&") || text.starts_with("||") => (DepthToken::Chain, 2),
        '(' => (DepthToken::Open(b')'), 1),
        '[' => (DepthToken::Open(b']'), 1),
        '{' => (DepthToken::Open(b'}'), 1),
        ')' => (DepthToken::Close(b')'), 1),
        ']' => (DepthToken::Close(b']'), 1),
        '}' => (DepthToken::Close(b'}'), 1),
        ',' => (DepthToken::Comma, 1),
        ';' => (DepthToken::Semicolon, 1),
        '!' | '=' | '<' | '>' if text[1..].starts_with('=') => (DepthToken::Operator, 2),
        '!' | '=' | '<' | '>' | '+' | '-' | '*' | '/' | '%' | '.' => (DepthToken::Operator, 1),
        other => (DepthToken::Plain, other.len_utf8()),
    };
    Some((token, &text[length..]))
}

/// Length of the text literal that begins here, up to the end if it never ends.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests;
