//! Estimates of tokens, made from bytes: no vocabulary of hundreds of kilobytes for each vendor, and an answer in
//! microseconds. For budgets and previews; what was really used is what the server counts.
//!
//! Measured on 25 texts (English, fifteen other languages, code, JSON, Org) against published vocabularies. For OpenAI's
//! codecs against o200k: median 1.0 of the real count, from 0.80 (Org with many short drawers) to 1.65 (Thai). For the
//! others, whose vocabularies are smaller or not published, against that of Claude 2: median 1.0, from 0.72 (Polish) to
//! 1.40 (Russian). The ceiling holds always: no vocabulary in use has tokens of less than a byte.

use crate::codec::CodecName;
use crate::message::{MessagePart, ModelMessage, ResultPart, ToolResult};
use crate::request::ModelRequest;

/// Tokens around a message: its role and its ends.
const MESSAGE_TOKENS: u64 = 5;

/// Tokens around a tool, beside its words.
const TOOL_TOKENS: u64 = 16;

/// Tokens of an image. Vendors count from 85 to about 1,600, by its size, which is not looked at here.
pub const IMAGE_TOKENS: u64 = 1_600;

/// Number of tokens that a text has probably, and has at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenEstimate {
    /// Probable number.
    pub likely: u64,
    /// Number that is not exceeded.
    pub ceiling: u64,
}

/// Weights of what a text is made of, in thousandths of a token.
struct Weights {
    /// A run of ASCII letters.
    word: u64,
    digit: u64,
    /// ASCII that is no letter, digit or blank.
    mark: u64,
    line: u64,
    /// A character of two, three, four bytes.
    wide: [u64; 3],
}

const OPENAI: Weights =
    Weights { word: 1150, digit: 600, mark: 420, line: 1200, wide: [420, 750, 2000] };

const OTHERS: Weights =
    Weights { word: 1350, digit: 1000, mark: 450, line: 1200, wide: [850, 1350, 3000] };

/// Estimates a text.
#[must_use]
pub fn estimate_text(codec: CodecName, text: &str) -> TokenEstimate {
    let weights = match codec {
        CodecName::OpenAiChat | CodecName::OpenAiResponses => OPENAI,
        CodecName::AnthropicMessages | CodecName::Gemini => OTHERS,
    };
    let mut milli = 0;
    let mut in_word = false;
    for byte in text.bytes() {
        let is_letter = byte.is_ascii_alphabetic();
        milli += match byte {
            b'0'..=b'9' => weights.digit,
            b'\n' => weights.line,
            b' ' | b'\t' | b'\r' => 0,
            0xC0..=0xDF => weights.wide[0],
            0xE0..=0xEF => weights.wide[1],
            0xF0..=0xFF => weights.wide[2],
            // The other bytes of a character.
            0x80..=0xBF => 0,
            _ if is_letter && in_word => 0,
            _ if is_letter => weights.word,
            _ => weights.mark,
        };
        in_word = is_letter;
    }
    let ceiling = u64::try_from(text.len()).unwrap_or(u64::MAX);
    TokenEstimate { likely: milli.div_ceil(1000).min(ceiling), ceiling }
}

/// Estimates the prompt of a request: everything but the answer.
#[must_use]
pub fn estimate_request(codec: CodecName, request: &ModelRequest) -> TokenEstimate {
    let mut sum = TokenEstimate::default();
    for part in &request.system {
        sum.add(estimate_text(codec, &part.text));
        sum.add_exact(MESSAGE_TOKENS);
    }
    for tool in &request.tools {
        for text in [tool.name.as_str(), tool.description.as_str(), tool.parameters.as_str()] {
            sum.add(estimate_text(codec, text));
        }
        sum.add_exact(TOOL_TOKENS);
    }
    for message in &request.messages {
        sum.add_message(codec, message);
    }
    sum
}

impl TokenEstimate {
    fn add(&mut self, other: Self) {
        self.likely = self.likely.saturating_add(other.likely);
        self.ceiling = self.ceiling.saturating_add(other.ceiling);
    }

    fn add_exact(&mut self, tokens: u64) {
        self.add(Self { likely: tokens, ceiling: tokens });
    }

    fn add_message(&mut self, codec: CodecName, message: &ModelMessage) {
        self.add_exact(MESSAGE_TOKENS);
        for part in &message.parts {
            match part {
                MessagePart::Text(text) => self.add(estimate_text(codec, text)),
                MessagePart::Image(_) => self.add_exact(IMAGE_TOKENS),
                MessagePart::ToolCall(call) => {
                    self.add(estimate_text(codec, &call.name));
                    self.add(estimate_text(codec, call.arguments.for_history().as_str()));
                    self.add_exact(MESSAGE_TOKENS);
                }
                MessagePart::ToolResult(result) => self.add_result(codec, result),
                // Signatures are as many bytes as what they stand for, or more.
                MessagePart::Opaque(state) => {
                    let bytes = u64::try_from(state.value.as_str().len()).unwrap_or(u64::MAX);
                    self.add(Self { likely: bytes / 4, ceiling: bytes });
                }
            }
        }
    }

    fn add_result(&mut self, codec: CodecName, result: &ToolResult) {
        self.add_exact(MESSAGE_TOKENS);
        for part in &result.content {
            match part {
                ResultPart::Text(text) => self.add(estimate_text(codec, text)),
                ResultPart::Image(_) => self.add_exact(IMAGE_TOKENS),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{TokenEstimate, estimate_request, estimate_text};
    use crate::codec::CodecName;
    use crate::message::ModelMessage;
    use crate::request::ModelRequest;

    /// Texts with what o200k and the vocabulary of Claude 2 make of them.
    const COUNTED: &[(&str, u64, u64)] = &[
        ("The quick brown fox jumps over the lazy dog.", 10, 10),
        ("fn main() { println!(\"{}\", 40 + 2); }", 13, 14),
        ("{\"city\":\"Paris\",\"days\":[1,2,3],\"unit\":\"celsius\"}", 18, 18),
        ("* TODO Call Anna\nSCHEDULED: <2026-11-18 Wed 10:00>\n", 22, 21),
    ];

    #[test]
    fn estimates_are_near_what_vocabularies_give() {
        for (text, openai, claude) in COUNTED {
            for (codec, real) in
                [(CodecName::OpenAiChat, *openai), (CodecName::AnthropicMessages, *claude)]
            {
                let likely = estimate_text(codec, text).likely;
                assert!(
                    likely * 10 >= real * 7 && likely * 10 <= real * 17,
                    "{likely}, {real}: {text}"
                );
            }
        }
    }

    #[test]
    fn the_ceiling_is_above_the_likely_number() {
        for text in ["", "a", "\n", "a\nb\nc", "1234", "é", "ü✓🙂", "\u{0}\u{1}"] {
            for codec in CodecName::ALL {
                let estimate = estimate_text(codec, text);
                assert!(estimate.likely <= estimate.ceiling, "{text:?}: {estimate:?}");
                assert_eq!(estimate.ceiling, text.len() as u64);
            }
        }
    }

    #[test]
    fn a_request_is_the_sum_of_its_parts() {
        let request = ModelRequest::new("m", vec![ModelMessage::user("Hi there")]);
        let estimate = estimate_request(CodecName::OpenAiChat, &request);
        assert_eq!(estimate, TokenEstimate { likely: 3 + 5, ceiling: 8 + 5 });
    }
}
