/** Nobody at the address: said where, and within a time, by both clients. */

import assert from "node:assert/strict";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";

import { CannotConnect, Client, Engine, TimeoutError } from "../src/index.js";

/** A port on which nobody listens. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test("a daemon that is not there is named", async () => {
  const address = `127.0.0.1:${await freePort()}`;
  const client = new Client(address, {});
  const failed = await client.ask("help", 300).catch((error: unknown) => error);
  client.close();
  assert.ok(failed instanceof CannotConnect && failed instanceof TimeoutError, String(failed));
  assert.match(failed.message, new RegExp(`^cannot connect to \`${address}\`: .*ECONNREFUSED`));
});

test("a daemon that says nothing is not waited for for ever", async () => {
  const server = createServer(() => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = new Client(`127.0.0.1:${(server.address() as AddressInfo).port}`, {});
  const failed = await client.ask("help", 200).catch((error: unknown) => error);
  client.close();
  server.close();
  assert.ok(failed instanceof TimeoutError && !(failed instanceof CannotConnect), String(failed));
});

test("an engine that is not there is named", async () => {
  const host = `127.0.0.1:${await freePort()}`;
  const turn = await new Engine(`http://${host}`).ask("help");
  assert.equal(turn.error?.code, "transport_error");
  assert.match(turn.error.message, new RegExp(`^cannot connect to \`${host}\`: `));
});
