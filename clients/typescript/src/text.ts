/** Text of a peer, made safe to show: no terminal escapes, no characters that reorder or hide others, bounded. */

/** Characters of a message that is shown. */
export const MAX_TEXT = 65_536;
/** Characters of a text that stands in for something unknown, of an error, of a label. */
export const MAX_NOTICE = 4_096;
/** Stands for what was cut off. */
export const MORE = "\u2026";

// Control characters but newline and tab; marks that change the direction of text; separators that are no newline;
// annotations; a byte order mark; tags, which nobody sees and programs read.
const UNSAFE =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
const HALVES = /[\ud800-\udfff]/gu;

/** The text without what could do more than be read, and no longer than the limit. */
export function safe(text: string, limit: number = MAX_TEXT): string {
  // What is far beyond the limit is not looked at: the work is bounded too.
  const kept = text.slice(0, limit * 16).replace(UNSAFE, "").replace(HALVES, "\ufffd");
  if (kept.length <= limit) return kept;
  const chars = [...kept];
  return chars.length <= limit ? kept : chars.slice(0, limit).join("") + MORE;
}

/** The first of these fields that holds text, made safe; blank text is none. */
export function firstText(payload: unknown, keys: readonly string[], limit: number): string | undefined {
  if (typeof payload !== "object" || payload === null) return undefined;
  for (const key of keys) {
    const value = Object.hasOwn(payload, key) ? (payload as Record<string, unknown>)[key] : undefined;
    if (typeof value === "string") {
      const text = safe(value, limit);
      if (text.trim() !== "") return text;
    }
  }
  return undefined;
}
