/** The client of the control API, which the objects of a platform use for all requests. */

import { ExpectationFailed, RehearsalError, RequestRejected } from "./errors.js";
import { OPERATIONS } from "./operations.js";

const EXPECTATION_FAILED = 409;

/** A client of the control API of one platform. */
export class ControlClient {
  #token;

  constructor(url, token) {
    this.url = url.replace(/\/$/, "");
    this.#token = token;
  }

  /**
   * Call an operation of the control API by its name; return its result, or undefined if the response is empty.
   *
   * `data` is a body of the type `contentType`, instead of the JSON value `body`.
   */
  async call(operation, { path = {}, query = {}, body, data, contentType } = {}) {
    const route = OPERATIONS[operation];
    if (route === undefined) throw new TypeError(`The control API has no operation ${operation}.`);
    const [method, template] = route;
    const url = this.url + template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(path[name]));
    const parameters = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined));
    const headers = { Authorization: `Bearer ${this.#token}` };
    if (data !== undefined) headers["Content-Type"] = contentType;
    else if (body !== undefined) headers["Content-Type"] = "application/json";
    const payload = data ?? (body === undefined ? undefined : JSON.stringify(body));
    let response;
    try {
      response = await fetch(`${url}?${parameters}`, { method, headers, body: payload });
    } catch (error) {
      throw new RehearsalError(`The platform at ${this.url} cannot be reached.`, { cause: error });
    }
    const text = await response.text();
    if (response.ok) return text ? JSON.parse(text) : undefined;
    const ErrorClass = response.status === EXPECTATION_FAILED ? ExpectationFailed : RequestRejected;
    const subject = path.name === undefined ? operation : `${path.name} ${operation}`;
    throw new ErrorClass(subject, response.status, parseError(text));
  }
}

function parseError(text) {
  try {
    return JSON.parse(text);
  } catch {
    return { message: text };
  }
}
