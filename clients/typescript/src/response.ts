/**
 * Reads an answer of an Engine: of its shape, or not taken at all.
 *
 * What a Shell must not misread fails closed: an unknown word counts as the one that does least harm, and anything
 * but `false` or absence asks the user. See `docs/protocol.md`, section 15.1.
 */

import { MAX_NOTICE, safe } from "./text.js";

/** Where this profile keeps what version 1 has no place for. */
export const NAMESPACE = "dev.bridle";
/** UTF-16 units of an id or a name. */
export const MAX_ID = 1_024;
/** Risk tiers, rising. */
export const TIERS = ["safe", "caution", "dangerous"] as const;

export type Tier = (typeof TIERS)[number];
export type Json = { [key: string]: unknown };

/** The Engine's answer is none; nothing of it is carried out. */
export class InvalidResponse extends Error {
  constructor(
    reason: string,
    readonly code = "invalid_response",
  ) {
    super(reason);
  }
}

/** One thing that the Engine wants done, with every choice already on the safe side. */
export interface Directive {
  readonly raw: Json;
  readonly actionType: string;
  readonly payload: Json;
  readonly parallel: boolean;
  readonly riskTier: Tier;
  readonly needsApproval: boolean;
  readonly deadlineMs: number | undefined;
  readonly directiveId: string | undefined;
  readonly result: string;
  readonly dependsOn: readonly string[];
}

/** Why the Engine could not; `retryable` only if it says so. */
export interface EngineError {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
}

/** One answer. */
export interface Response {
  readonly ok: boolean;
  readonly directives: readonly Directive[];
  readonly error: EngineError | undefined;
  readonly continuation: Json | undefined;
  readonly supportedVersions: readonly string[];
  readonly capabilities: Json;
  readonly denials: readonly Json[];
}

/** Major and minor of `N.N.N[-pre][+build]` with a dot between them, or undefined. */
export function version(text: unknown): string | undefined {
  if (typeof text !== "string" || text.length > 128) return undefined;
  const found = /^([0-9]+)\.([0-9]+)\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/.exec(text);
  return found ? `${BigInt(found[1]!)}.${BigInt(found[2]!)}` : undefined;
}

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The answer in a message that answers `requestId`. Throws `InvalidResponse`. */
export function parse(message: unknown, requestId?: string): Response {
  if (!isObject(message)) throw new InvalidResponse("expected an object");
  const served = version(message["protocol_version"]);
  if (served === undefined) throw new InvalidResponse("expected a `protocol_version` such as `1.0.0`");
  if (!served.startsWith("1.")) {
    throw new InvalidResponse("an answer of another major version", "protocol_version_unsupported");
  }
  const answered = text(message, "request_id", 65_536);
  if (requestId !== undefined && answered !== undefined && answered !== requestId) {
    throw new InvalidResponse("an answer to another request");
  }
  const body = object(message, "response");
  if (!body) throw new InvalidResponse("expected `response`");
  const status = text(body, "status");
  if (status === undefined) throw new InvalidResponse("expected a `status`");
  const own = object(object(body, "extensions") ?? {}, NAMESPACE) ?? {};
  const versions = list(message, "supported_protocol_versions");
  if (versions.some((it) => version(it) === undefined)) {
    throw new InvalidResponse("expected versions in `supported_protocol_versions`");
  }
  const latency = body["engine_latency_ms"] ?? 0;
  if (typeof latency !== "number" || latency < 0) throw new InvalidResponse("expected a number for `engine_latency_ms`");
  const denials = list(message, "capability_denials");
  if (!denials.every((denial) => isObject(denial) && text(denial, "capability") !== undefined)) {
    throw new InvalidResponse("expected a `capability` in each denial");
  }
  return {
    ok: status === "success",
    directives: list(body, "action_directives").map(readDirective),
    error: engineError(object(body, "error")),
    continuation: object(body, "continuation") ?? object(own, "continuation"),
    supportedVersions: versions as string[],
    capabilities: object(message, "supported_capabilities") ?? {},
    denials: denials as Json[],
  };
}

/** One directive. Throws `InvalidResponse`. */
export function readDirective(item: unknown): Directive {
  if (!isObject(item)) throw new InvalidResponse("expected an object for a directive");
  const actionType = text(item, "action_type");
  if (actionType === undefined) throw new InvalidResponse("expected an `action_type`");
  const tier = text(item, "risk_tier");
  const own = object(object(item, "extensions") ?? {}, NAMESPACE) ?? {};
  const dependsOn = list(own, "depends_on");
  if (!dependsOn.every((id) => typeof id === "string")) throw new InvalidResponse("expected ids in `depends_on`");
  text(item, "priority"); // a hint that changes no order, but it has a shape
  const approval = item["requires_user_approval"];
  return {
    raw: item,
    actionType,
    payload: object(item, "payload") ?? {},
    parallel: text(item, "execution") === "parallel",
    riskTier: tier === undefined ? "safe" : (TIERS.find((it) => it === tier) ?? "dangerous"),
    needsApproval: approval !== undefined && approval !== false,
    deadlineMs: integer(item, "deadline_ms"),
    directiveId: text(own, "directive_id"),
    result: text(own, "result") ?? "optional",
    dependsOn: dependsOn as string[],
  };
}

function engineError(error: Json | undefined): EngineError | undefined {
  if (!error) return undefined;
  const code = text(error, "code");
  if (code === undefined) throw new InvalidResponse("expected an error with a `code`");
  const retryable = error["retryable"] ?? false;
  if (typeof retryable !== "boolean") throw new InvalidResponse("expected true or false for `retryable`");
  const message = text(error, "message", MAX_ID * MAX_ID, 0) ?? "";
  return { code: safe(code, MAX_NOTICE), message: safe(message, MAX_NOTICE), retryable };
}

function text(holder: Json, key: string, most = MAX_ID, least = 1): string | undefined {
  const value = holder[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string" || value.length < least || value.length > most) {
    throw new InvalidResponse(`expected a text for \`${key}\``);
  }
  return value;
}

function object(holder: Json, key: string): Json | undefined {
  const value = holder[key];
  if (value === undefined || value === null) return undefined;
  if (!isObject(value)) throw new InvalidResponse(`expected an object for \`${key}\``);
  return value;
}

function list(holder: Json, key: string): readonly unknown[] {
  const value = holder[key] ?? [];
  if (!Array.isArray(value)) throw new InvalidResponse(`expected a list for \`${key}\``);
  return value;
}

/** An integer in any spelling of JSON. Throws `InvalidResponse`. */
export function integer(holder: Json, key: string): number | undefined {
  const value = holder[key];
  if (value === undefined || value === null) return undefined;
  // What is too large for a number is an integer, and far away.
  if (typeof value !== "number" || (Number.isFinite(value) && !Number.isInteger(value)) || Number.isNaN(value)) {
    throw new InvalidResponse(`expected an integer for \`${key}\``);
  }
  return value;
}
