// A client for a page in a browser, on one screen: asks, and yields the events of the answer as they come.
//
//   import {ask} from './stream.js';
//   for await (const event of ask('http://127.0.0.1:8788/v1/openharness', 'help')) console.log(event);
//
// When the connection breaks, it sends the same request again with the number of the last event that it saw:
// the answer goes on, and nothing runs twice. The daemon must let the page's origin in:
// `bridle up --http-origin http://localhost:3000`.

const TRIES = 10;

export async function* ask(url, intent, {session = 'desk', token} = {}) {
  const headers = {'Content-Type': 'application/json', Accept: 'text/event-stream'};
  if (token) headers.Authorization = `Bearer ${token}`;
  const body = JSON.stringify({
    protocol_version: '1.0.0',
    request_id: crypto.randomUUID(),
    capabilities: {'openharness.streaming': {profiles: ['dev.bridle.sse.1']}},
    request: {context: {session_id: session, user_intent: intent}},
  });
  for (let tried = 0; tried < TRIES; tried++) {
    try {
      const response = await fetch(url, {method: 'POST', headers, body});
      if (!response.headers.get('Content-Type').startsWith('text/event-stream')) {
        throw new Error((await response.json()).response.error.code);
      }
      for await (const event of events(response.body)) {
        headers['Last-Event-ID'] = event.seq;
        yield event;
        if (event.type === 'final') return;
      }
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // A TypeError is a connection that broke, or could not be made.
    }
    await new Promise((resume) => setTimeout(resume, 100 * 2 ** tried));
  }
  throw new Error('the daemon does not answer');
}

// The events of a stream: blocks of lines with an empty line behind each. Comments keep the connection alive.
async function* events(stream) {
  let text = '';
  for await (const piece of stream.pipeThrough(new TextDecoderStream())) {
    const blocks = (text + piece).split('\n\n');
    text = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/)));
      if (fields.event) yield {type: fields.event, ...JSON.parse(fields.data)};
    }
  }
}
