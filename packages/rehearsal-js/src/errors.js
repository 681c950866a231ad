/** The errors of the package, with messages that name the request, its cause and its invalid fields. */

/** Base class of the errors of a rehearsal: the platform cannot be reached, or is not in the state that the test expects. */
export class RehearsalError extends Error {
  get name() {
    return this.constructor.name;
  }
}

/** The platform could not be started. `log` is the end of its output. */
export class PlatformNotStarted extends RehearsalError {
  constructor(message, log = "", options = undefined) {
    super(log ? `${message}\n${log}` : message, options);
    this.log = log;
  }
}

/**
 * The platform rejected a request. `body` is the decoded response, `code` its error code (0 if it has none) and `errors`
 * the errors of its fields.
 */
export class RequestRejected extends RehearsalError {
  constructor(operation, status, body) {
    super(describe(operation, status, body), body.cause ? { cause: body.cause } : undefined);
    this.status = status;
    this.code = body.code ?? 0;
    this.errors = body.errors ?? {};
    this.body = body;
  }
}

/** An event, a response or audio did not arrive, or an unexpected event did. */
export class ExpectationFailed extends RequestRejected {
  constructor(operation, status, body) {
    super(operation, status, body);
    this.differences = body.differences ?? [];
    this.received = body.received ?? [];
  }
}

function describe(operation, status, body) {
  // A message of several lines is about an action of a person, and already names the person and the request.
  const lines = [body.message.includes("\n") ? body.message : `${operation}: ${status} ${body.message}`];
  if (body.cause && !body.message.includes(body.cause)) lines.push(body.cause);
  for (const [path, text] of fieldErrors(body.errors ?? {}, [])) {
    if (!body.message.includes(text)) lines.push(`${path}: ${text}`);
  }
  return lines.join("\n");
}

function* fieldErrors(node, path) {
  for (const [key, value] of Object.entries(node)) {
    if (key === "_errors") for (const error of value) yield [path.join(".") || "body", error.message];
    else if (typeof value === "object" && value !== null) yield* fieldErrors(value, [...path, key]);
  }
}
