/** Validation of RPC arguments. Activities are untrusted, and their values may be sent to the API. */

import { isId } from "../../network/ids.js";
import { invalidField } from "./errors.js";

/**
 * Function that returns the validated value, or throws an RPC error that names the field.
 *
 * @typedef {(value: any, name: string) => any} Check
 */

/** @returns {Check} */
export const string = (min, max) => (value, name) => {
  if (typeof value !== "string") throw invalidField(name, "must be a string");
  if (value.length < min) throw invalidField(name, `length must be at least ${min} characters long`);
  if (value.length > max) throw invalidField(name, `length must be less than or equal to ${max} characters long`);
  return value;
};

/** @type {Check} */
export const snowflake = (value, name) => {
  if (typeof value !== "string" || !isId(value)) throw invalidField(name, "must be a snowflake");
  return value;
};

/** @returns {Check} */
export const integer =
  (min, max = Number.MAX_SAFE_INTEGER) =>
  (value, name) => {
    if (typeof value !== "number" || !Number.isSafeInteger(value)) throw invalidField(name, "must be an integer");
    if (value < min || value > max) throw invalidField(name, `must be between ${min} and ${max}`);
    return value;
  };

/** @type {Check} */
export const boolean = (value, name) => {
  if (typeof value !== "boolean") throw invalidField(name, "must be a boolean");
  return value;
};

/** @returns {Check} */
export const oneOf =
  (...allowed) =>
  (value, name) => {
    if (!allowed.includes(value)) throw invalidField(name, `must be one of [${allowed.join(", ")}]`);
    return value;
  };

/** Return a check for an http or https URL of at most `max` characters. @returns {Check} */
export const httpUrl = max => (value, name) => {
  string(1, max)(value, name);
  const parsedUrl = URL.canParse(value) ? new URL(value) : null;
  if (parsedUrl?.protocol !== "https:" && parsedUrl?.protocol !== "http:")
    throw invalidField(name, "must be a valid uri");
  return value;
};

/** @returns {Check} */
export const list = (check, min, max) => (value, name) => {
  if (!Array.isArray(value)) throw invalidField(name, "must be an array");
  if (value.length < min || value.length > max) throw invalidField(name, `must contain ${min} to ${max} items`);
  return value.map(item => check(item, name));
};

/**
 * Return a check for an object with the fields of `checks`. Null counts as absent, and unknown fields are dropped.
 *
 * @param {Record<string, Check>} checks
 * @param {string[]} [required]
 * @returns {Check}
 */
export const object =
  (checks, required = []) =>
  (value, name) => {
    if (value === null || typeof value !== "object" || Array.isArray(value))
      throw invalidField(name, "must be an object");
    const result = {};
    for (const [key, check] of Object.entries(checks)) {
      const input = Object.hasOwn(value, key) ? value[key] : undefined;
      if (input !== undefined && input !== null) result[key] = check(input, key);
      else if (required.includes(key)) throw invalidField(key, "is required");
    }
    return result;
  };

/** Validate the arguments of a command; missing arguments equal an empty object (spec/rpc.md#5). */
export function readArguments(input, checks, ...required) {
  return object(checks, required)(input ?? {}, "args");
}
