//! Brackets and what closes them, of one kind and one container: found in one walk, when the first is asked for.

/// Depth of brackets in each other, as far as sub- and superscripts care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// None inside.
    Leaf,
    /// Only leaves inside.
    One,
    /// Only such with only leaves inside.
    Two,
    /// Anything else.
    Other,
}

#[derive(Clone, Copy, Debug)]
struct Pair {
    open: usize,
    close: Option<usize>,
    shape: Shape,
}

/// Bytes in which a closing bracket is searched before all brackets are paired.
const NEAR_BYTES: usize = 64;

fn closing(opening: u8) -> u8 {
    match opening {
        b'{' => b'}',
        b'(' => b')',
        _ => b']',
    }
}

/// Returns the bracket that closes the one at `open`, when it is near and no other of its kind is between them:
/// nearly always.
fn near(text: &[u8], open: usize) -> Option<usize> {
    let opening = *text.get(open)?;
    let closing = closing(opening);
    let rest = &text[open + 1..text.len().min(open + NEAR_BYTES)];
    let at = rest.iter().position(|byte| *byte == opening || *byte == closing)?;
    (rest[at] == closing).then_some(open + 1 + at)
}

/// The brackets of one kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs {
    known: bool,
    pairs: Vec<Pair>,
    open: Vec<(usize, Option<Shape>)>,
}

impl Pairs {
    /// Another container is read.
    pub(super) fn forget(&mut self) {
        self.known = false;
    }

    /// Returns the bracket that closes the one at `open`.
    pub(super) fn close(&mut self, text: &[u8], start: usize, open: usize) -> Option<usize> {
        near(text, open).or_else(|| self.pair(text, start, open).and_then(|pair| pair.close))
    }

    /// Returns the bracket that closes the one at `open`, if brackets inside it are at most two deep, and all
    /// equally.
    pub(super) fn shallow(&mut self, text: &[u8], start: usize, open: usize) -> Option<usize> {
        if let Some(close) = near(text, open) {
            return Some(close);
        }
        let pair = self.pair(text, start, open)?;
        pair.close.filter(|_| pair.shape != Shape::Other)
    }

    fn pair(&mut self, text: &[u8], start: usize, open: usize) -> Option<Pair> {
        if !self.known {
            self.walk(text, start, *text.get(open)?);
        }
        let index = self.pairs.binary_search_by_key(&open, |pair| pair.open).ok()?;
        self.pairs.get(index).copied()
    }

    fn walk(&mut self, text: &[u8], start: usize, opening: u8) {
        let closing = closing(opening);
        self.known = true;
        self.pairs.clear();
        self.open.clear();
        for at in memchr::memchr2_iter(opening, closing, &text[start..]).map(|at| start + at) {
            if text[at] == opening {
                self.open.push((self.pairs.len(), None));
                self.pairs.push(Pair { open: at, close: None, shape: Shape::Other });
                continue;
            }
            let Some((index, inside)) = self.open.pop() else { continue };
            let shape = match inside {
                None => Shape::Leaf,
                Some(Shape::Leaf) => Shape::One,
                Some(Shape::One) => Shape::Two,
                Some(_) => Shape::Other,
            };
            self.pairs[index].close = Some(at);
            self.pairs[index].shape = shape;
            if let Some((_, above)) = self.open.last_mut() {
                *above = Some(
                    above.map_or(shape, |above| if above == shape { above } else { Shape::Other }),
                );
            }
        }
    }
}
