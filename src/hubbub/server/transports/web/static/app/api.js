/** The HTTP API, as the person. Refusals are thrown as ApiError; a 429 is waited for. */

const BASE = "/api/v10";
const TRIES = 4;
const LONGEST_WAIT_S = 30;

/** A refusal in the platform's own words. */
export class ApiError extends Error {
  /**
   * @param {number} status 0 where no answer came at all
   * @param {number} code the platform's code, or 0
   * @param {string} message
   * @param {any} [errors] by field: `{content: {_errors: [{code, message}]}}`
   */
  constructor(status, code, message, errors) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.errors = errors;
  }

  /** The first sentence about a field, or about anything. */
  get sentence() {
    return firstSentence(this.errors) ?? this.message;
  }
}

function firstSentence(node) {
  if (node === null || typeof node !== "object") return null;
  if (Array.isArray(node._errors) && node._errors.length) return String(node._errors[0].message);
  for (const value of Object.values(node)) {
    const found = firstSentence(value);
    if (found !== null) return found;
  }
  return null;
}

/** Calls of the API. */
export class Api {
  #token;
  #ended;

  /**
   * @param {string} token stays in memory: no storage, no address, no log
   * @param {() => void} [ended] called once the token is no longer good
   */
  constructor(token, ended) {
    this.#token = token;
    this.#ended = ended ?? (() => {});
  }

  /**
   * `api.request("POST", "/channels/1/messages", {json: {content: "hi"}})`; the decoded answer, or null where there is none.
   *
   * @param {string} method
   * @param {string} path below /api/v10
   * @param {{json?: any, query?: Record<string, any>, files?: File[], reason?: string, signal?: AbortSignal,
   *   progress?: (share: number) => void, keepalive?: boolean}} [options] `files` are sent as files[0..] beside `json`, in the order of its `attachments`
   * @returns {Promise<any>}
   */
  async request(method, path, { json, query, files, reason, signal, progress, keepalive } = {}) {
    const address = BASE + path + asQuery(query);
    const headers = { Authorization: this.#token };
    if (reason !== undefined) headers["X-Audit-Log-Reason"] = encodeURIComponent(reason);
    let body;
    if (files !== undefined && files.length) {
      body = new FormData();
      body.append("payload_json", JSON.stringify(json ?? {}));
      files.forEach((file, at) => body.append(`files[${at}]`, file, file.name));
    } else if (json !== undefined) {
      body = JSON.stringify(json);
      headers["Content-Type"] = "application/json";
    }
    for (let tried = 1; ; tried += 1) {
      let answer;
      try {
        answer = await (progress === undefined ? fetched : uploaded)(method, address, headers, body, signal, progress ?? keepalive);
      } catch (error) {
        if (signal?.aborted) throw error;
        throw new ApiError(0, 0, "The platform cannot be reached.");
      }
      const { status, decoded } = answer;
      if (status >= 200 && status < 300) return decoded;
      if (status === 401) this.#ended();
      const wait = waitFor(method, status, decoded, tried);
      if (wait === null) throw refusal(status, decoded);
      await paused(wait * 1000, signal);
    }
  }
}

/** How many seconds to wait before the same is asked again; null where it is not. */
function waitFor(method, status, decoded, tried) {
  if (tried >= TRIES) return null;
  if (status === 429) {
    const wait = Number(decoded?.retry_after ?? 1);
    return wait <= LONGEST_WAIT_S ? wait : null;
  }
  // What only reads may be asked again at once; whether a write was done, nobody knows.
  return method === "GET" && status >= 502 ? tried * 0.5 : null;
}

function refusal(status, decoded) {
  if (status === 429) {
    const seconds = Math.ceil(Number(decoded?.retry_after ?? 1));
    return new ApiError(429, decoded?.code ?? 0, `Too fast. Try again in ${seconds} seconds.`);
  }
  const message = typeof decoded?.message === "string" ? decoded.message : "Something broke on the platform's side.";
  return new ApiError(status, Number(decoded?.code ?? 0), message, decoded?.errors);
}

function asQuery(query) {
  const pairs = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null);
  if (!pairs.length) return "";
  const search = new URLSearchParams();
  for (const [name, value] of pairs) for (const each of [value].flat()) search.append(name, String(each));
  return `?${search}`;
}

async function fetched(method, address, headers, body, signal, keepalive) {
  const response = await fetch(address, { method, headers, body, signal, keepalive, credentials: "omit", cache: "no-store" });
  return { status: response.status, decoded: parsed(await response.text()) };
}

/** Only XMLHttpRequest tells how much of an upload has gone. */
function uploaded(method, address, headers, body, signal, progress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, address);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", event => event.lengthComputable && progress(event.loaded / event.total));
    request.addEventListener("load", () => resolve({ status: request.status, decoded: parsed(request.responseText) }));
    request.addEventListener("error", () => reject(new TypeError("network")));
    request.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")));
    signal?.addEventListener("abort", () => request.abort());
    request.send(body);
  });
}

function parsed(text) {
  if (!text) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function paused(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("aborted", "AbortError"));
    });
  });
}
