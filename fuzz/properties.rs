//! What must hold for any input whatever: one function per fuzz target, each panicking when its
//! property fails. Included by path in the fuzz targets, which run for hours on nightly, and in
//! `crates/wire/tests/properties.rs`, which runs for seconds in every test run. Not a place for
//! examples: those are vectors.

use bridle_sexp::{Category, Comments, Dialect, Node, Place, Progress, Reader, Value};
use bridle_wire::frame::{
    DecodeStep, DecoderOptions, FrameDecoder, FrameEncoder, FrameError, LengthUnit, MAX_FRAME,
    UnknownUnitPolicy,
};
use bridle_wire::oacp::{self, OacpMessage};
use bridle_wire::openharness::socket::ShellFrame;
use bridle_wire::openharness::{
    self, JsonShape as _, MessageLimits, OpenHarnessEvent, ReceivedRequest, RefusedMessage,
    RequestEcho, RequestRefusal, ResponseMessage,
};
use bridle_wire::seal::{FrameSigner, FrameVerifier, KeyId, SigningKey, SigningKeyring};

/// Reading ends in a tree whose spans nest, in "incomplete", or in an error inside the text. What
/// follows a form does not change it, and no beginning of a form is an error.
pub(crate) fn sexp_read(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for dialect in [Dialect::Lisp, Dialect::Emacs] {
        for comments in [Comments::Refuse, Comments::Skip] {
            read_in(&text, Reader::new().dialect(dialect).comments(comments));
        }
    }
}

fn read_in(text: &str, reader: Reader) {
    // A blank behind the text ends its last token and cannot change anything before.
    let longer = format!("{text} ");
    match reader.read(text) {
        Ok(Progress::Done(tree)) => {
            let root = tree.root();
            assert!(root.span().end <= tree.consumed() && tree.consumed() <= text.len());
            nested(text, root);
            let again = done(reader.read(&longer));
            assert_eq!(again.consumed(), tree.consumed());
            assert_eq!(canonical(again.root()), canonical(root));
            beginnings(&text[..tree.consumed()], reader);
        }
        Ok(Progress::Incomplete) => {
            let error = reader.read_one(text).expect_err("an incomplete form is not one form");
            inside(text, error.place());
            let ended = matches!(error.category(), Category::Incomplete | Category::Empty);
            // Otherwise a last token is at fault. A blank may mend it (`?\`), else it stays at fault.
            if let Err(again) =
                reader.read(&longer).map_err(|again| (again.category(), again.place()))
            {
                assert!(
                    ended || again == (error.category(), error.place()),
                    "{error}, then {again:?}"
                );
            }
        }
        Err(error) => {
            inside(text, error.place());
            let again = reader.read(&longer).expect_err("text behind an error does not mend it");
            assert_eq!((again.category(), again.place()), (error.category(), error.place()));
        }
    }
}

/// An error means that no continuation is a form, so no beginning of a form gives one.
fn beginnings(text: &str, reader: Reader) {
    // All of them for a short text; a few for a long one, or the fuzzer would do nothing else.
    let step = if text.len() <= 64 { 1 } else { text.len() / 8 };
    for end in (0..text.len()).step_by(step).filter(|end| text.is_char_boundary(*end)) {
        if let Err(error) = reader.read(&text[..end]) {
            panic!("{error}, but it goes on: {text:?}");
        }
    }
}

fn done(
    progress: Result<Progress<bridle_sexp::Tree<'_>>, bridle_sexp::Error>,
) -> bridle_sexp::Tree<'_> {
    match progress {
        Ok(Progress::Done(tree)) => tree,
        Ok(Progress::Incomplete) => panic!("incomplete with a blank behind, complete without"),
        Err(error) => panic!("refused with a blank behind, accepted without: {error}"),
    }
}

/// Every node lies inside its parent, behind its elder sibling, and prints its exact bytes.
fn nested(text: &str, root: Node<'_>) {
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        let span = node.span();
        assert_eq!(text.get(span.clone()), Some(node.source()));
        let mut at = span.start;
        for child in node.children() {
            let inner = child.span();
            assert!(at <= inner.start && inner.start <= inner.end && inner.end <= span.end);
            at = inner.end;
            open.push(child);
        }
    }
}

/// The place of an error is in the text, and its three coordinates agree.
fn inside(text: &str, place: Place) {
    let before = text.get(..place.offset).expect("an error lies on a character of the text");
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    assert_eq!(place.line, 1 + before.matches('\n').count());
    assert_eq!(place.column, 1 + before[line_start..].chars().count());
}

fn canonical(node: Node<'_>) -> String {
    let mut out = String::new();
    bridle_sexp::canonical(node, &mut out);
    out
}

/// What was read prints to text that reads as the same value, in both dialects and through JSON; the
/// canonical text is the canonical text of itself.
pub(crate) fn sexp_roundtrip(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for dialect in [Dialect::Lisp, Dialect::Emacs] {
        let Ok(tree) = Reader::new().dialect(dialect).read_one(&text) else { continue };
        let value = tree.root().to_value();
        let lisp = printed(&value, Dialect::Lisp);
        assert_eq!(canonical(tree.root()), lisp);
        if let Some(again) = reread(&lisp, Dialect::Lisp) {
            assert_eq!(again, value, "{lisp}");
            assert_eq!(printed(&again, Dialect::Lisp), lisp);
        }
        let emacs = printed(&value, Dialect::Emacs);
        if let Some(again) = reread(&emacs, Dialect::Emacs) {
            assert_eq!(again, value, "{emacs}");
        }
        let mut json = String::new();
        bridle_sexp::json::to_json(&value, &mut json);
        let again = bridle_sexp::json::from_json(&json).expect("our own JSON reads");
        assert_eq!(again, value, "{json}");
    }
}

fn printed(value: &Value, dialect: Dialect) -> String {
    let mut out = String::new();
    bridle_sexp::print(value, dialect, &mut out);
    out
}

/// `None` when the printed text, longer than what was read, goes over a limit.
fn reread(text: &str, dialect: Dialect) -> Option<Value> {
    match Reader::new().dialect(dialect).read_one(text) {
        Ok(tree) => Some(tree.root().to_value()),
        Err(error) if error.category().as_str().starts_with("limit-") => None,
        Err(error) => panic!("our own text is refused: {error}\n{text}"),
    }
}

/// The secret of the signed streams; the one that most signed vectors use.
const SECRET: &[u8] = b"s3cret";

/// A limit that short streams reach too, in the unit of the frame.
const SMALL_FRAME: usize = 64;

/// A stream of frames means the same however it is cut; what is delivered can be sent on; a signed
/// stream delivers nothing that was not signed.
///
/// The first byte chooses how to read, the second how to cut; the rest is the stream.
pub(crate) fn frame_decode(data: &[u8]) {
    let [mode, cut, stream @ ..] = data else { return };
    let mode = Mode::from_byte(*mode);
    let whole = outcome(&mode, stream, &mut || stream.len());
    let mut state = u32::from(*cut) + 1;
    let uneven = outcome(&mode, stream, &mut || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        1 + (state >> 24) as usize % 40
    });
    assert_eq!(uneven, whole, "cut unevenly");
    assert_eq!(outcome(&mode, stream, &mut || 1), whole, "cut into single bytes");
    for payload in &whole.payloads() {
        sent_on(payload);
    }
    sealed(&String::from_utf8_lossy(stream), usize::from(*cut));
}

/// How a stream is read.
struct Mode {
    signed: bool,
    options: DecoderOptions,
}

impl Mode {
    fn from_byte(byte: u8) -> Self {
        let unit = match byte >> 1 & 3 {
            1 => Some(LengthUnit::Bytes),
            2 => Some(LengthUnit::Chars),
            _ => None,
        };
        let max_frame = if byte & 8 == 0 { MAX_FRAME } else { SMALL_FRAME };
        let options = DecoderOptions { max_frame, unit };
        Self { signed: byte & 1 != 0, options }
    }

    fn decoder(&self) -> FrameDecoder {
        if self.signed {
            FrameDecoder::signed(self.options, FrameVerifier::v1(SigningKeyring::of(key())))
        } else {
            FrameDecoder::new(self.options)
        }
    }
}

fn key() -> SigningKey {
    SigningKey::from_bytes(KeyId::new("fuzz"), SECRET)
}

/// Everything a caller of the decoder gets to see.
#[derive(Debug, PartialEq)]
struct Outcome {
    events: Vec<Result<String, FrameError>>,
    /// `None` when the stream may go on.
    end: Option<FrameError>,
    unit: Option<LengthUnit>,
}

impl Outcome {
    fn payloads(&self) -> Vec<String> {
        self.events.iter().filter_map(|event| event.as_ref().ok()).cloned().collect()
    }
}

fn outcome(mode: &Mode, stream: &[u8], next: &mut dyn FnMut() -> usize) -> Outcome {
    let mut decoder = mode.decoder();
    let (mut buffer, mut rest, mut events) = (Vec::new(), stream, Vec::new());
    let end = 'stream: loop {
        loop {
            match decoder.decode(&buffer) {
                Err(lost) => break 'stream Some(lost.error),
                Ok(DecodeStep::Need { skip, more }) => {
                    assert!(more > 0, "needs nothing, delivers nothing");
                    buffer.drain(..skip);
                    break;
                }
                Ok(DecodeStep::Frame { payload, consumed }) => {
                    assert!(payload.end <= consumed && consumed > 0);
                    let text = std::str::from_utf8(&buffer[payload]).expect("a payload is UTF-8");
                    events.push(Ok(text.to_owned()));
                    buffer.drain(..consumed);
                }
                Ok(DecodeStep::Refused { consumed, error }) => {
                    events.push(Err(error));
                    buffer.drain(..consumed);
                }
            }
        }
        if rest.is_empty() {
            break decoder.finish(&buffer).err().map(|lost| lost.error);
        }
        let (now, later) = rest.split_at(next().clamp(1, rest.len()));
        buffer.extend_from_slice(now);
        rest = later;
    };
    Outcome { events, end, unit: decoder.unit() }
}

/// A payload that was delivered arrives unchanged at a peer of either unit; one whose unit is not
/// known gets it with nothing but blanks behind.
fn sent_on(payload: &str) {
    for unit in [LengthUnit::Bytes, LengthUnit::Chars] {
        let reader = Mode {
            signed: false,
            options: DecoderOptions { unit: Some(unit), ..DecoderOptions::default() },
        };
        let mut encoder = FrameEncoder::new(UnknownUnitPolicy::Pad);
        let mut padded = Vec::new();
        encoder.encode(payload, &mut padded).expect("what came in one frame goes in one frame");
        let got = outcome(&reader, &padded, &mut || padded.len());
        assert_eq!(got.end, None);
        let [Ok(text)] = &got.events[..] else { panic!("one frame became {:?}", got.events) };
        let behind = text.strip_prefix(payload).expect("padding is behind the payload");
        assert!(behind.bytes().all(|byte| byte == b' '), "padding is blank");

        encoder.set_unit(unit);
        let mut plain = Vec::new();
        encoder.encode(payload, &mut plain).expect("what came in one frame goes in one frame");
        let got = outcome(&reader, &plain, &mut || plain.len());
        assert_eq!((got.end, got.events), (None, vec![Ok(payload.to_owned())]));
    }
}

/// A signed payload arrives; with one bit changed anywhere, nothing else arrives in its place.
fn sealed(payload: &str, position: usize) {
    let mut encoder = FrameEncoder::new(UnknownUnitPolicy::Bytes);
    encoder.set_signer(FrameSigner::v1(key()));
    let mut frame = Vec::new();
    if encoder.encode(payload, &mut frame).is_err() {
        return; // empty
    }
    let mode = Mode { signed: true, options: DecoderOptions::default() };
    let got = outcome(&mode, &frame, &mut || frame.len());
    assert_eq!((got.end, got.events), (None, vec![Ok(payload.to_owned())]));

    let at = position * 31 % frame.len();
    frame[at] ^= 1 << (position % 8);
    let got = outcome(&mode, &frame, &mut || frame.len());
    // The case of a hex digit is no part of what is signed.
    let same = got.payloads().iter().all(|text| text == payload);
    assert!(same, "a forged frame was delivered: byte {at}");
}

/// An accepted message survives being written; a refused one is answered with a message that any peer
/// accepts; the sanitizer has nothing to do the second time.
pub(crate) fn message_decode(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match oacp::read(&text, &Reader::new()) {
        Ok(message) => {
            let mut written = String::new();
            message.write(&mut written);
            let again = reread_message(&written);
            assert_eq!(again, message, "{written}");
            let clean = oacp::sanitize(&message.to_value());
            assert_eq!(oacp::sanitize(&clean), clean);
        }
        Err(unreadable) => {
            let mut answer = String::new();
            oacp::unreadable_response(unreadable).write(&mut answer);
            reread_message(&answer);
        }
    }
}

fn reread_message(text: &str) -> OacpMessage {
    match oacp::read(text, &Reader::new()) {
        Ok(message) => message,
        Err(_) => panic!("our own message is refused: {text}"),
    }
}

/// Whatever the bytes are, a request is read or refused, and the answer to a refusal is a valid
/// message that repeats the ids. What is accepted survives being written, and being read less
/// strictly. Both stages find the same ids.
pub(crate) fn openharness_read(data: &[u8]) {
    let limits = |mode| MessageLimits { mode, ..MessageLimits::default() };
    let (strict, lenient) =
        (limits(openharness::ReadMode::Strict), limits(openharness::ReadMode::Lenient));
    let strictly = request_read(data, &strict);
    let leniently = request_read(data, &lenient);
    if let Some(received) = strictly {
        assert_eq!(Some(received), leniently, "strict and not lenient");
    }
    for limits in [&strict, &lenient] {
        if let Ok(response) = openharness::read_response(data, limits) {
            response_written(&response);
        }
        for read in [ShellFrame::read, ShellFrame::read_line] {
            if let Err(refused) = read(data, limits) {
                response_written(&refused.response());
            }
        }
        for name in ["open", "progress", "directive.start", "directive.delta", "usage", "final"] {
            if let Ok(Some(event)) = OpenHarnessEvent::read(name, data, limits) {
                let again = OpenHarnessEvent::read(name, event.data().as_bytes(), limits);
                assert_eq!(again.expect("our own event reads"), Some(event.clone()));
                assert_eq!(event.to_sse().lines().count(), 4, "data is one line");
            }
        }
    }
}

fn request_read(data: &[u8], limits: &MessageLimits) -> Option<ReceivedRequest> {
    match openharness::receive(data, limits) {
        Ok(received) => {
            assert_eq!(RequestEcho::salvage(data), received.echo);
            let written = received.message.to_text();
            let again = openharness::receive(written.as_bytes(), limits);
            let again = again.unwrap_or_else(|error| panic!("our own request: {error}: {written}"));
            assert_eq!(again.message, received.message, "{written}");
            assert_eq!(again.echo, received.echo, "{written}");
            Some(received)
        }
        Err(refused) => {
            refusal_answered(data, &refused);
            None
        }
    }
}

fn refusal_answered(data: &[u8], refused: &RefusedMessage) {
    assert_eq!(RequestEcho::salvage(data), refused.echo, "{refused}");
    if let RequestRefusal::Broken(broken) = &refused.refusal {
        assert!(broken.offset <= data.len(), "{broken}");
    }
    let answer = refused.response();
    assert_eq!(answer.request_id, refused.echo.request_id);
    assert_eq!(answer.correlation_id, refused.echo.correlation_id);
    assert!(answer.response.action_directives.is_empty());
    response_written(&answer);
}

fn response_written(response: &ResponseMessage) {
    let strict = MessageLimits { mode: openharness::ReadMode::Strict, ..MessageLimits::default() };
    let text = response.to_text();
    match openharness::read_response(text.as_bytes(), &strict) {
        Ok(again) => assert_eq!(&again, response, "{text}"),
        Err(error) => panic!("our own answer is refused: {error}: {text}"),
    }
}
