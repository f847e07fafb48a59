/**
 * What a shell offers to carry out, for its hello: actuators, their actions, the arguments of these.
 *
 * A description grants nothing: policies judge every request. Thinkers are offered the actions as tools.
 */

import { type Value, keyword } from "./sexp.js";

/** Shape of an argument; one with `choices` has the shape `choice`. */
export type ArgumentShape = "text" | "integer" | "number" | "flag" | "texts" | "plist" | "any";

/** An argument of an action. */
export interface OfferedArgument {
  name: string;
  about?: string;
  shape?: ArgumentShape;
  required?: boolean;
  choices?: readonly string[];
}

/** An action of an actuator. */
export interface OfferedAction {
  name: string;
  about?: string;
  arguments?: readonly OfferedArgument[];
}

/** An actuator that is asked for the actions it lists, and for no others; without any, for what every shell knows. */
export interface Actuator {
  name: string;
  actions?: readonly (OfferedAction | string)[];
}

/** What a hello says of an actuator. */
export function offerOf(actuator: Actuator | string): Value {
  if (typeof actuator === "string") return keyword(actuator);
  const actions = (actuator.actions ?? []).map((it) => (typeof it === "string" ? keyword(it) : actionForm(it)));
  if (actions.length === 0) return keyword(actuator.name);
  return [keyword("name"), keyword(actuator.name), keyword("actions"), actions];
}

function actionForm({ name, about, arguments: all }: OfferedAction): Value[] {
  const form: Value[] = [keyword("name"), keyword(name)];
  if (about) form.push(keyword("about"), about);
  if (all?.length) form.push(keyword("arguments"), all.map(argumentForm));
  return form;
}

function argumentForm({ name, about, shape, required, choices }: OfferedArgument): Value[] {
  const form: Value[] = [keyword("name"), keyword(name)];
  const word = choices?.length ? "choice" : (shape ?? "text");
  if (word !== "text") form.push(keyword("shape"), keyword(word));
  if (required) form.push(keyword("required"), true);
  if (choices?.length) form.push(keyword("choices"), choices.map(keyword));
  if (about) form.push(keyword("about"), about);
  return form;
}
