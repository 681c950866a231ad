/** Arguments of an activity's commands, checked: an activity is a stranger, and whatever it sends may go on to the platform. */

import { isId } from "./ids.js";
import { misfit } from "./rpc_errors.js";

/** A check takes a value and its name, and answers what is kept of it. @typedef {(value: any, name: string) => any} Check */

/** @returns {Check} */
export const text = (least, most) => (value, name) => {
  if (typeof value !== "string") throw misfit(name, "must be a string");
  if (value.length < least) throw misfit(name, `length must be at least ${least} characters long`);
  if (value.length > most) throw misfit(name, `length must be less than or equal to ${most} characters long`);
  return value;
};

/** @type {Check} */
export const snowflake = (value, name) => {
  if (typeof value !== "string" || !isId(value)) throw misfit(name, "must be a snowflake");
  return value;
};

/** @returns {Check} */
export const number = (least, most = Number.MAX_SAFE_INTEGER) => (value, name) => {
  if (typeof value !== "number" || !Number.isSafeInteger(value)) throw misfit(name, "must be an integer");
  if (value < least || value > most) throw misfit(name, `must be between ${least} and ${most}`);
  return value;
};

/** @type {Check} */
export const flag = (value, name) => {
  if (typeof value !== "boolean") throw misfit(name, "must be a boolean");
  return value;
};

/** @returns {Check} */
export const oneOf = (...known) => (value, name) => {
  if (!known.includes(value)) throw misfit(name, `must be one of [${known.join(", ")}]`);
  return value;
};

/** An http or https address. @returns {Check} */
export const link = most => (value, name) => {
  text(1, most)(value, name);
  const parsed = URL.canParse(value) ? new URL(value) : null;
  if (parsed?.protocol !== "https:" && parsed?.protocol !== "http:") throw misfit(name, "must be a valid uri");
  return value;
};

/** @returns {Check} */
export const items = (check, least, most) => (value, name) => {
  if (!Array.isArray(value)) throw misfit(name, "must be an array");
  if (value.length < least || value.length > most) throw misfit(name, `must contain ${least} to ${most} items`);
  return value.map(each => check(each, name));
};

/**
 * An object with these fields; what is null counts as absent, and what nobody knows is left out.
 * @param {Record<string, Check>} checks
 * @param {string[]} [required]
 * @returns {Check}
 */
export const fields = (checks, required = []) => (value, name) => {
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw misfit(name, "must be an object");
  const kept = {};
  for (const [key, check] of Object.entries(checks)) {
    const given = Object.hasOwn(value, key) ? value[key] : undefined;
    if (given !== undefined && given !== null) kept[key] = check(given, key);
    else if (required.includes(key)) throw misfit(key, "is required");
  }
  return kept;
};

/** The arguments of a command; none at all are as an empty object (rpc.md 5). */
export function args(given, checks, ...required) {
  return fields(checks, required)(given ?? {}, "args");
}
