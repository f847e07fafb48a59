//! Tagged words: what registers, cells and conses hold.
//!
//! A word is copied freely and never freed: what it points to lives in an arena of [`crate::heap`].
//! Small integers, characters, single floats, symbols and functions without captured variables are
//! in the word itself.

use std::fmt;

/// One Lisp value: a small integer when the lowest bit is clear, otherwise a tag and a payload.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Word(pub(crate) u64);

/// Low four bits of a word that is no small integer.
pub(crate) mod tag {
    pub(crate) const SYMBOL: u64 = 0x1;
    pub(crate) const CONS: u64 = 0x3;
    pub(crate) const CHARACTER: u64 = 0x5;
    pub(crate) const SINGLE: u64 = 0x7;
    pub(crate) const OBJECT: u64 = 0x9;
    pub(crate) const NATIVE: u64 = 0xb;
    pub(crate) const CODE: u64 = 0xd;
    pub(crate) const MARKER: u64 = 0xf;
}

/// Symbol 0.
pub(crate) const NIL: Word = Word(tag::SYMBOL);
/// Symbol 1.
pub(crate) const T: Word = Word(1 << 4 | tag::SYMBOL);
/// In a value cell: no value. In a register: an argument that was not supplied.
pub(crate) const UNBOUND: Word = Word(tag::MARKER);

/// Largest small integer, as in SBCL on 64 bits.
pub(crate) const MOST_POSITIVE_FIXNUM: i64 = (1 << 62) - 1;
/// Smallest small integer.
pub(crate) const MOST_NEGATIVE_FIXNUM: i64 = -(1 << 62);

impl Word {
    #[inline]
    pub(crate) const fn tagged(payload: u32, tag: u64) -> Self {
        Self((payload as u64) << 4 | tag)
    }

    /// A small integer; the caller knows that it fits.
    #[inline]
    pub(crate) const fn fixnum(number: i64) -> Self {
        Self((number << 1).cast_unsigned())
    }

    /// A small integer from a count or an index.
    #[inline]
    pub(crate) const fn count(number: usize) -> Self {
        Self::fixnum(number as i64)
    }

    /// The word of `number` where it is small enough.
    #[inline]
    pub(crate) const fn small(number: i64) -> Option<Self> {
        if number >= MOST_NEGATIVE_FIXNUM && number <= MOST_POSITIVE_FIXNUM {
            Some(Self::fixnum(number))
        } else {
            None
        }
    }

    #[inline]
    pub(crate) const fn symbol(index: u32) -> Self {
        Self::tagged(index, tag::SYMBOL)
    }

    #[inline]
    pub(crate) const fn cons(index: u32) -> Self {
        Self::tagged(index, tag::CONS)
    }

    #[inline]
    pub(crate) const fn object(index: u32) -> Self {
        Self::tagged(index, tag::OBJECT)
    }

    #[inline]
    pub(crate) const fn code(index: u32) -> Self {
        Self::tagged(index, tag::CODE)
    }

    #[inline]
    pub(crate) const fn native(index: u32) -> Self {
        Self::tagged(index, tag::NATIVE)
    }

    #[inline]
    pub(crate) const fn character(character: char) -> Self {
        Self::tagged(character as u32, tag::CHARACTER)
    }

    #[inline]
    pub(crate) const fn single(number: f32) -> Self {
        Self::tagged(number.to_bits(), tag::SINGLE)
    }

    /// `t` or `nil`.
    #[inline]
    pub(crate) const fn truth(truth: bool) -> Self {
        if truth { T } else { NIL }
    }

    #[inline]
    pub(crate) const fn is_fixnum(self) -> bool {
        self.0 & 1 == 0
    }

    #[inline]
    pub(crate) const fn is_nil(self) -> bool {
        self.0 == NIL.0
    }

    #[inline]
    pub(crate) const fn is_true(self) -> bool {
        self.0 != NIL.0
    }

    /// The tag; meaningless for a small integer.
    #[inline]
    pub(crate) const fn tag(self) -> u64 {
        self.0 & 0xf
    }

    /// The payload below a tag.
    #[inline]
    pub(crate) const fn payload(self) -> u32 {
        (self.0 >> 4) as u32
    }

    #[inline]
    pub(crate) const fn as_fixnum(self) -> Option<i64> {
        if self.is_fixnum() { Some(self.0.cast_signed() >> 1) } else { None }
    }

    #[inline]
    pub(crate) const fn is_cons(self) -> bool {
        self.tag() == tag::CONS
    }

    #[inline]
    pub(crate) const fn is_symbol(self) -> bool {
        self.tag() == tag::SYMBOL
    }

    #[inline]
    pub(crate) const fn is_object(self) -> bool {
        self.tag() == tag::OBJECT
    }

    pub(crate) const fn as_symbol(self) -> Option<u32> {
        if self.is_symbol() { Some(self.payload()) } else { None }
    }

    pub(crate) fn as_character(self) -> Option<char> {
        if self.tag() == tag::CHARACTER { char::from_u32(self.payload()) } else { None }
    }

    pub(crate) const fn as_single(self) -> Option<f32> {
        if self.tag() == tag::SINGLE { Some(f32::from_bits(self.payload())) } else { None }
    }

    /// An index or a count: a small integer that is not negative.
    pub(crate) fn as_index(self) -> Option<usize> {
        self.as_fixnum().and_then(|number| usize::try_from(number).ok())
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_fixnum() {
            Some(number) => write!(f, "{number}"),
            None => write!(f, "{:x}:{}", self.tag(), self.payload()),
        }
    }
}
