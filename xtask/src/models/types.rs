//! Every request of the samples, checked by the compiler of TypeScript against the vendors' own types. An object
//! literal may have no member that its type does not have, so a wrong name is found as well as a wrong value.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};
use bridle_models::{ChatDialect, CodecName, CodecSettings, encode_request};

use super::{folder, samples};
use crate::console::{ProgramRun, VerbConsole};

/// The types of the bodies. Google's client has none for what goes over the wire; it is made of those it has.
const HEAD: &str = "\
import type Anthropic from \"@anthropic-ai/sdk\";
import type { Content, GenerationConfig, Tool, ToolConfig } from \"@google/genai\";
import type OpenAI from \"openai\";

// What other servers than OpenAI's want back, and its own types do not have.
type Accent = { reasoning_content?: string };
type Chat = { messages: (OpenAI.ChatCompletionMessageParam & Accent)[]; stream?: boolean } & Omit<
  OpenAI.ChatCompletionCreateParamsStreaming,
  \"messages\" | \"stream\"
>;
type Responses = OpenAI.Responses.ResponseCreateParams;
type Messages = Anthropic.MessageCreateParams;
// Enumerations of Google's client are words on the wire.
type Words<T> = T extends string ? `${T}` : T extends object ? { [K in keyof T]: Words<T[K]> } : T;
type Gemini = Words<{
  contents: Content[];
  systemInstruction?: Content;
  tools?: Tool[];
  toolConfig?: ToolConfig;
  generationConfig?: GenerationConfig;
}>;
";

const SETTINGS: &str = r#"{
  "compilerOptions": {
    "strict": true, "noEmit": true, "skipLibCheck": true, "target": "es2022",
    "module": "nodenext", "moduleResolution": "nodenext", "types": []
  },
  "files": ["bodies.ts"]
}
"#;

/// Checks the requests and returns their number.
pub(super) fn check(console: &VerbConsole) -> Result<usize> {
    let mut text = HEAD.to_owned();
    let mut count = 0;
    for codec in CodecName::ALL {
        let name = match codec {
            CodecName::OpenAiChat => "Chat",
            CodecName::OpenAiResponses => "Responses",
            CodecName::AnthropicMessages => "Messages",
            CodecName::Gemini => "Gemini",
        };
        for sample in samples::requests(codec) {
            for dialect in [ChatDialect::OpenAi, ChatDialect::Compatible] {
                let settings = CodecSettings { dialect, ..sample.settings };
                let request = encode_request(codec, &settings, &sample.request)?;
                let body = String::from_utf8(request.body).context("a body is not UTF-8")?;
                writeln!(text, "export const body{count}: {name} = {body};")?;
                count += 1;
            }
        }
    }
    // A check that lets everything pass would not be noticed.
    let wrong = "// @ts-expect-error\nexport const wrong";
    for (index, name) in ["Chat", "Responses", "Messages", "Gemini"].iter().enumerate() {
        writeln!(
            text,
            "{wrong}{index}: {name} = {{ \"model\": \"m\", \"messages\": [], \"contents\": [], \"no\": 1 }};"
        )?;
    }
    let folder = folder();
    fs::write(folder.join("bodies.ts"), text).context("cannot write the bodies")?;
    fs::write(folder.join("tsconfig.json"), SETTINGS).context("cannot write the settings")?;
    let compiler = folder.join("node_modules/typescript/bin/tsc");
    ProgramRun::new("node").args([compiler]).args(["--project"]).args([folder]).run(console)?;
    Ok(count)
}
