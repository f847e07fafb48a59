//! Texts that look like an API key. A key in a provider file is refused, and one that a server repeats in an error is
//! masked: what is not seen cannot be logged.

/// Beginnings of the keys of known vendors.
const KEY_PREFIXES: &[&str] = &[
    "sk-",
    "sk_",
    "AIza",
    "AQ.",
    "gsk_",
    "xai-",
    "hf_",
    "pplx-",
    "nvapi-",
    "r8_",
    "csk-",
    "tgp_v1_",
    "fw_",
    "ghp_",
    "github_pat_",
    "eyJ",
];

/// Shortest key behind a known beginning; `sk-proxy` is somebody's word.
const MIN_PREFIXED_KEY_BYTES: usize = 12;

/// Shortest key without a known beginning: 32 hex digits are 128 bits.
const MIN_PLAIN_KEY_BYTES: usize = 32;

/// Fewest digits in one; names of models have fewer.
const MIN_PLAIN_KEY_DIGITS: usize = 4;

/// Text that stands for a key in a message.
const MASK: &str = "[key]";

/// Whether a text is probably a key itself, not the name of one.
pub(crate) fn looks_like_key(text: &str) -> bool {
    let text = text.strip_prefix("Bearer ").unwrap_or(text).trim();
    let in_key = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.*+/=".contains(&byte);
    if !text.bytes().all(in_key) {
        return false;
    }
    let has_prefix = KEY_PREFIXES.iter().any(|prefix| text.starts_with(prefix));
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let is_mixed = (MIN_PLAIN_KEY_DIGITS..text.len()).contains(&digits);
    (has_prefix && text.len() >= MIN_PREFIXED_KEY_BYTES)
        || (is_mixed && text.len() >= MIN_PLAIN_KEY_BYTES && !text.contains('/'))
}

/// The text with every word that looks like a key masked.
pub(crate) fn mask_keys(text: &str) -> String {
    let is_edge = |c: char| c.is_whitespace() || "\"'`,;:()[]{}<>".contains(c);
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive(is_edge) {
        let word = piece.trim_end_matches(is_edge);
        let bare = word.trim_end_matches('.');
        if looks_like_key(bare) {
            out.push_str(MASK);
            out.push_str(&piece[bare.len()..]);
        } else {
            out.push_str(piece);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{looks_like_key, mask_keys};

    #[test]
    fn keys_of_vendors_and_long_random_words() {
        for key in [
            "sk-proj-abcdefgh12345678",
            "sk-ant-api03-xyzxyz",
            "AIzaSyA1234567890abcdefghij",
            "gsk_abcdefghijkl",
            "Bearer sk-or-v1-0123456789",
            "0123456789abcdef0123456789abcdef",
        ] {
            assert!(looks_like_key(key), "{key}");
        }
        for name in [
            "OPENAI_API_KEY",
            "openai",
            "sk-proxy",
            "pass show llm/openai",
            "/etc/bridle/keys/0123456789abcdef0123456789abcdef",
            "claude-sonnet-5-5-with-a-very-long-name-indeed",
        ] {
            assert!(!looks_like_key(name), "{name}");
        }
    }

    #[test]
    fn keys_in_sentences_are_masked() {
        let text =
            "Incorrect API key provided: sk-abc12***********wxyz. See \"gsk_abcdefghijklmnop\".";
        assert_eq!(mask_keys(text), "Incorrect API key provided: [key]. See \"[key]\".");
        assert_eq!(mask_keys("nothing here, really"), "nothing here, really");
    }
}
