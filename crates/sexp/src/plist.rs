//! Access by keyword, to nodes and values alike.
//!
//! Protocol keys are compared ignoring ASCII case, because SBCL writes `:TYPE` and Emacs
//! `:type`; keys inside an Org tree are compared exactly, because there both occur and differ.

use crate::tree::{Children, Kind, Node};
use crate::value::Value;

impl<'t> Node<'t> {
    /// The value after the first keyword `key` in a key's place, ASCII case ignored.
    #[inline]
    pub fn get(&self, key: &str) -> Option<Node<'t>> {
        self.find(|node| node.is_keyword(key))
    }

    /// The value after the first keyword spelled exactly `key`.
    pub fn get_exact(&self, key: &str) -> Option<Node<'t>> {
        self.find(|node| node.keyword().is_some_and(|own| own == key))
    }

    #[inline]
    fn find(&self, matches: impl Fn(Node<'t>) -> bool) -> Option<Node<'t>> {
        if self.kind() != Kind::List {
            return None;
        }
        let mut children = self.children();
        loop {
            let key = children.next()?;
            let value = children.next()?;
            if matches(key) {
                return Some(value);
            }
        }
    }

    /// Its keys and values, if it is a plist: a proper list of even length with keywords in all
    /// key places. `nil` is the empty one.
    pub fn pairs(&self) -> Option<Pairs<'t>> {
        if !matches!(self.kind(), Kind::List | Kind::Nil) {
            return None;
        }
        let mut children = self.children();
        while let Some(key) = children.next() {
            if key.kind() != Kind::Keyword {
                return None;
            }
            children.next()?;
        }
        Some(Pairs { children: self.children() })
    }
}

/// Keys and values of a plist, in order; see [`Node::pairs`].
#[derive(Debug, Clone)]
pub struct Pairs<'t> {
    children: Children<'t>,
}

impl<'t> Iterator for Pairs<'t> {
    type Item = (Node<'t>, Node<'t>);

    fn next(&mut self) -> Option<Self::Item> {
        Some((self.children.next()?, self.children.next()?))
    }
}

impl Value {
    /// The value after the first keyword `key` in a key's place, ASCII case ignored.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.find(|own| own.is_keyword(key))
    }

    /// The value after the first keyword spelled exactly `key`.
    pub fn get_exact(&self, key: &str) -> Option<&Value> {
        self.find(|own| own.as_keyword() == Some(key))
    }

    fn find(&self, matches: impl Fn(&Value) -> bool) -> Option<&Value> {
        let Self::List(elements) = self else { return None };
        elements.chunks_exact(2).find(|pair| matches(&pair[0])).map(|pair| &pair[1])
    }

    /// Its keys and values, if it is a plist; as [`Node::pairs`].
    pub fn pairs(&self) -> Option<impl Iterator<Item = (&Value, &Value)>> {
        let elements = match self {
            Self::Nil => &[][..],
            Self::List(elements) => elements,
            _ => return None,
        };
        let is_plist = elements.len() % 2 == 0
            && elements.iter().step_by(2).all(|key| key.kind() == Kind::Keyword);
        is_plist.then(|| elements.chunks_exact(2).map(|pair| (&pair[0], &pair[1])))
    }
}
