// The mock server aimock on loopback for a daemon that asks it: answers, calls of the daemon's own tools and faults, chosen
// by a word in brackets in the last prompt. Prints its address when it listens, and ends with its standard input.
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
const mock = new LLMock({ port: 0, host: "127.0.0.1", chunkSize: 7, logLevel: "silent" });
const answer = (match, response, more = {}) => mock.addFixture({ match, response, ...more });
const call = (name, argumentsOf) => (request) => {
  const told = JSON.stringify(request.messages);
  const key = told.match(/.*\[write (\w+)/)?.[1] ?? "";
  const toolCalls = [{ id: `call_${key || "x"}`, name, arguments: JSON.stringify(argumentsOf(key)) }];
  return { toolCalls, usage, finishReason: "tool_calls" };
};
const query = () => ({ text: "roof" });
const write = (key) => ({ action: "append-subtree", path: "log.org", outline: ["Log"], text: `* entry ${key}\n` });

answer({ userMessage: "[plain]" }, { content: text, usage });
answer({ userMessage: "[look]", hasToolResult: false }, call("context_query", query));
answer({ userMessage: "[look]", hasToolResult: true }, { content: "Looked.", usage });
// Now and then something goes wrong.
const faults = { chaos: { dropRate: 0.05, malformedRate: 0.05, disconnectRate: 0.05 } };
answer({ userMessage: /\[write \w+\]/, hasToolResult: false }, call("memory_edit", write), faults);
answer({ userMessage: /\[write \w+\]/, hasToolResult: true }, { content: "Written.", usage }, faults);
answer({ userMessage: "[slow]" }, { content: text.repeat(40), usage }, { latency: 40 });
answer({ userMessage: "[cut]" }, { content: text, usage }, { truncateAfterChunks: 3, latency: 30 });
answer({ userMessage: "[drop]" }, { content: text }, { chaos: { dropRate: 1 } });
answer({ userMessage: "[garble]" }, { content: text }, { chaos: { malformedRate: 1 } });
answer({ userMessage: "[vanish]" }, { content: text }, { chaos: { disconnectRate: 1 } });
answer({ userMessage: "[limit]" }, {
  error: { message: "Rate limited", type: "rate_limit_error", code: "rate_limit_exceeded" },
  status: 429,
});

await mock.start();
console.log(mock.url);
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
