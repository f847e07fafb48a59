// The mock server aimock on loopback, with answers and faults that the words of a prompt choose. It speaks as
// OpenAI, Anthropic and Google do. Prints its address when it listens, and ends with its standard input.
// Called by `cargo xtask models`, which knows what the answers are.

import { LLMock } from "@copilotkit/aimock";

const usage = {
  prompt_tokens: 11,
  completion_tokens: 7,
  total_tokens: 18,
  input_tokens: 11,
  output_tokens: 7,
  promptTokenCount: 11,
  candidatesTokenCount: 7,
  totalTokenCount: 18,
};
const text = "Grüße, ✓ and a text that is long enough to be cut into pieces.";
const calls = [
  { id: "call_1", name: "get_weather", arguments: '{"city":"Köln"}' },
  { id: "call_2", name: "get_weather", arguments: '{"city":"Rome"}' },
];

const mock = new LLMock({ port: 0, host: "127.0.0.1", chunkSize: 7, logLevel: "silent" });
const answer = (word, response, more = {}) =>
  mock.addFixture({ match: { userMessage: word }, response, ...more });

answer("plain", { content: text, usage });
answer("tools", { toolCalls: calls, usage, finishReason: "tool_calls" });
answer("both", { content: text, toolCalls: calls, usage, finishReason: "tool_calls" });
answer("reason", { content: text, reasoning: "First this, then that.", usage });
answer("long", { content: text, usage, finishReason: "length" });
answer("limit", {
  error: { message: "Rate limited", type: "rate_limit_error", code: "rate_limit_exceeded" },
  status: 429,
  retryAfter: 3,
});
// Slow enough that what is before the cut is sent.
answer("cut", { content: text, usage }, { truncateAfterChunks: 3, latency: 30 });
answer("drop", { content: text }, { chaos: { dropRate: 1 } });
answer("garble", { content: text }, { chaos: { malformedRate: 1 } });
answer("vanish", { content: text }, { chaos: { disconnectRate: 1 } });
answer("slow", { content: text, usage }, { streamingProfile: { ttft: 300, tps: 200 } });

await mock.start();
console.log(mock.url);
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
