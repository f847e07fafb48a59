//! The provider that is written in the skill language: its requests are those of the native codec, byte by byte.

use std::sync::Arc;

use bridle_models::{CodecName, encode_request, request_value};
use bridle_sexp::Value as Form;
use bridle_skill::{
    RunProgress, ShippedSkill, Skill, SkillCall, SkillLimits, SkillRun, SkillSource,
};
use serde_json::Value;

use crate::samples;

const VECTORS: &str = include_str!("../../../../vectors/models/requests.jsonl");

fn skill() -> Arc<Skill> {
    let shipped = ShippedSkill::find("chat-codec").expect("it comes with the program");
    let source = SkillSource::read(shipped.text, "chat-codec.org").expect("it is a skill");
    Arc::new(Skill::load(source, SkillLimits::default()).expect("it loads"))
}

fn encoded(skill: &Arc<Skill>, request: Form) -> Form {
    match SkillRun::start(skill, &SkillCall::Encode { request }).expect("it encodes").1 {
        RunProgress::Ends(value) => value,
        RunProgress::Asks(request) => panic!("a provider asks nobody: {request:?}"),
    }
}

#[test]
fn bodies_of_the_skill_are_those_of_the_vectors() {
    let skill = skill();
    let mut compared = 0;
    for sample in samples::requests(CodecName::OpenAiChat) {
        let note = format!("openai-chat: {}", sample.note);
        let of_it = |line: &&str| {
            let vector: Value = serde_json::from_str(line).unwrap();
            vector["note"] == note.as_str()
        };
        let line = VECTORS.lines().find(of_it).unwrap();
        let (codec, settings) = (CodecName::OpenAiChat, &sample.settings);
        let native = encode_request(codec, settings, &sample.request).unwrap();
        let made = encoded(&skill, request_value(codec, settings, &sample.request, &native));
        let body = made.get("body").and_then(Form::as_str).unwrap();
        assert!(line.ends_with(&format!("\"body\":{body}}}")), "{note}\n{body}\n{line}");
        assert_eq!(made.get("path").and_then(Form::as_str), Some(native.path.as_str()));
        compared += 1;
    }
    assert_eq!(compared, 7);
}

#[test]
fn texts_of_every_kind_are_quoted_as_the_codec_quotes_them() {
    let skill = skill();
    let all: String =
        (0..0x250).chain([0x2028, 0xfeff, 0x1f600]).filter_map(char::from_u32).collect();
    let request =
        bridle_models::ModelRequest::new("m", vec![bridle_models::ModelMessage::user(all)]);
    let settings = bridle_models::CodecSettings::default();
    let native = encode_request(CodecName::OpenAiChat, &settings, &request).unwrap();
    let made = encoded(&skill, request_value(CodecName::OpenAiChat, &settings, &request, &native));
    let body = made.get("body").and_then(Form::as_str).unwrap();
    assert_eq!(body.as_bytes(), native.body);
}
