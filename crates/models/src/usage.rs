//! Token counts of one exchange, as the server gave them. Vendors count differently; here the counts mean the same
//! for all, so that a price can be put on them.

/// Tokens of an exchange. `None` is unknown, which is not 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ModelUsage {
    /// The whole prompt, cached or not.
    pub input_tokens: Option<u64>,
    /// The whole answer, reasoning included.
    pub output_tokens: Option<u64>,
    /// Part of the prompt that came from the vendor's cache.
    pub cache_read_tokens: Option<u64>,
    /// Part of the prompt that was written into the vendor's cache.
    pub cache_write_tokens: Option<u64>,
    /// Part of the answer that is reasoning.
    pub reasoning_tokens: Option<u64>,
}

impl ModelUsage {
    /// Takes over every count that `newer` knows: counts of a stream are totals so far.
    pub fn update(&mut self, newer: Self) {
        let Self {
            input_tokens,
            output_tokens,
            cache_read_tokens,
            cache_write_tokens,
            reasoning_tokens,
        } = newer;
        self.input_tokens = input_tokens.or(self.input_tokens);
        self.output_tokens = output_tokens.or(self.output_tokens);
        self.cache_read_tokens = cache_read_tokens.or(self.cache_read_tokens);
        self.cache_write_tokens = cache_write_tokens.or(self.cache_write_tokens);
        self.reasoning_tokens = reasoning_tokens.or(self.reasoning_tokens);
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}
