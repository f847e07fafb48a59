/** Finds the vectors of the repository; the tests of this folder run all of them that concern a client. */

import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = process.env["BRIDLE_VECTORS"] ?? fileURLToPath(new URL("../../../../vectors", import.meta.url));

/** One vector. Its shape depends on its folder, see `vectors/README.md`. */
export type Vector = Record<string, any> & { id: string; note: string };

/** Every vector of a folder, in the order of the files. */
export function vectors(folder: string): Vector[] {
  const files = readdirSync(`${ROOT}/${folder}`).filter((name) => name.endsWith(".jsonl")).sort();
  const lines = files.flatMap((name) => readFileSync(`${ROOT}/${folder}/${name}`, "utf8").split("\n"));
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Vector);
}

/** Texts and counts by turns. */
export function repeated(pieces: (string | number)[]): string {
  let text = "";
  for (let at = 0; at < pieces.length; at += 2) text += String(pieces[at]).repeat(Number(pieces[at + 1]));
  return text;
}

/** The input of a vector. */
export function octets(vector: Vector): Uint8Array {
  if (vector["in_hex"] !== undefined) return Buffer.from(vector["in_hex"] as string, "hex");
  return new TextEncoder().encode((vector["in"] as string | undefined) ?? repeated(vector["in_repeat"]));
}
