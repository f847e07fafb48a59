/** An OpenHarness Shell, for Node and browsers: `Engine` over HTTP, and below it the parts that do no input or output. */

export { Engine, type EngineOptions, type Handler, Turn, type Ui } from "./engine.js";
export { type Abilities, type Ask, type Option, Performance, type Result, type Step } from "./perform.js";
export { type Directive, type EngineError, InvalidResponse, type Json, type Response, parse } from "./response.js";
export { type Action, type Failed, type Intent, type Profile, type Send, Shell, type Sources } from "./shell.js";
export { EventParser, Stream } from "./stream.js";
export { safe } from "./text.js";
