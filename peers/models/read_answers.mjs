// Reads recorded answers with the vendors' own clients, so that their reading can be compared with ours. Takes the
// path of a JSON file: a list of { name, codec, model, base64 }. Plays each answer on loopback to the client of its
// vendor and prints one JSON line for it: { name, text, calls, input, output } or { name, error }.
// Called by `cargo xtask models`.

import { createServer } from "node:http";
import { readFileSync } from "node:fs";

import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";

const prompt = [{ role: "user", content: "hi" }];

const readers = {
  async "openai-chat"(url) {
    const client = new OpenAI({ apiKey: "k", baseURL: url, maxRetries: 0 });
    const stream = client.chat.completions.stream({ model: "m", messages: prompt });
    const { choices, usage } = await stream.finalChatCompletion();
    const { content, tool_calls } = choices[0].message;
    const calls = (tool_calls ?? []).map((it) => [it.function.name, it.function.arguments]);
    return [content ?? "", calls, usage?.prompt_tokens, usage?.completion_tokens];
  },
  async "openai-responses"(url) {
    const client = new OpenAI({ apiKey: "k", baseURL: url, maxRetries: 0 });
    const stream = await client.responses.create({ model: "m", input: "hi", stream: true });
    let text = "";
    const calls = [];
    let usage;
    for await (const event of stream) {
      if (event.type === "response.output_text.delta") text += event.delta;
      if (event.type === "response.output_item.done" && event.item.type === "function_call") {
        calls.push([event.item.name, event.item.arguments]);
      }
      if (event.type === "response.completed" || event.type === "response.incomplete") {
        usage = event.response.usage;
      }
    }
    return [text, calls, usage?.input_tokens, usage?.output_tokens];
  },
  async "anthropic-messages"(url) {
    // This client puts the version into the path itself.
    const baseURL = url.replace(/\/v1$/, "");
    const client = new Anthropic({ apiKey: "k", baseURL, maxRetries: 0 });
    const stream = client.messages.stream({ model: "m", max_tokens: 9, messages: prompt });
    const { content, usage } = await stream.finalMessage();
    const text = content.filter((it) => it.type === "text").map((it) => it.text).join("");
    const calls = content
      .filter((it) => it.type === "tool_use")
      .map((it) => [it.name, JSON.stringify(it.input)]);
    const cached = (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);
    return [text, calls, usage.input_tokens + cached, usage.output_tokens];
  },
  async gemini(url) {
    const httpOptions = { baseUrl: url.replace(/\/v1$/, ""), apiVersion: "v1beta" };
    const client = new GoogleGenAI({ apiKey: "k", httpOptions });
    const stream = await client.models.generateContentStream({ model: "m", contents: "hi" });
    let text = "";
    const calls = [];
    let usage;
    for await (const chunk of stream) {
      for (const part of chunk.candidates?.[0]?.content?.parts ?? []) {
        if (part.text && !part.thought) text += part.text;
        const call = part.functionCall;
        if (call) calls.push([call.name, JSON.stringify(call.args)]);
      }
      usage = chunk.usageMetadata ?? usage;
    }
    const output = (usage?.candidatesTokenCount ?? 0) + (usage?.thoughtsTokenCount ?? 0);
    return [text, calls, usage?.promptTokenCount, output];
  },
};

let body = Buffer.alloc(0);
const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(body);
  });
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const url = `http://127.0.0.1:${server.address().port}/v1`;

for (const { name, codec, base64 } of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  body = Buffer.from(base64, "base64");
  try {
    const [text, calls, input, output] = await readers[codec](url);
    console.log(JSON.stringify({ name, text, calls, input: input ?? null, output: output ?? null }));
  } catch (error) {
    console.log(JSON.stringify({ name, error: String(error) }));
  }
}
server.close();
