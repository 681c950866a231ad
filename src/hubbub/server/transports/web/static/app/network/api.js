/**
 * HTTP API client of the current user. It throws ApiError, or AbortError if the request is aborted. It retries after 429 if
 * the wait is short, and reads also after 502 and higher.
 */

import { recordServerDate } from "./platform_clock.js";
import { t, tn } from "../ui/translation.js";

const BASE_PATH = "/api/v10";
const ATTEMPTS_MAX = 4;
const RETRY_DELAY_MAX_SECONDS = 30;

/** An error response of the API, or a request without a response. */
export class ApiError extends Error {
  /**
   * @param {number} status 0 if there was no response
   * @param {number} code the API's error code, or 0
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

  /** Text for the user: the first field error, or the general message. */
  get userText() {
    return findFirstFieldMessage(this.errors) ?? this.message;
  }
}

function findFirstFieldMessage(node) {
  if (node === null || typeof node !== "object") return null;
  if (Array.isArray(node._errors) && node._errors.length) return String(node._errors[0].message);
  for (const value of Object.values(node)) {
    const text = findFirstFieldMessage(value);
    if (text !== null) return text;
  }
  return null;
}

/** A client of the API with the token of the user. */
export class Api {
  #token;
  #onUnauthorized;

  /**
   * @param {string} token is kept in memory only: not in storage, URLs or logs
   * @param {() => void} [onUnauthorized] called when the token is no longer valid
   */
  constructor(token, onUnauthorized) {
    this.#token = token;
    this.#onUnauthorized = onUnauthorized ?? (() => {});
  }

  /**
   * Send a request and return the decoded response, or null if it is empty:
   * `api.request("POST", "/channels/1/messages", {json: {content: "hi"}})`.
   *
   * @param {string} method
   * @param {string} path below /api/v10
   * @param {{json?: any, query?: Record<string, any>, files?: File[], form?: Record<string, string | File>, reason?: string,
   *   signal?: AbortSignal, onProgress?: (fraction: number) => void, keepalive?: boolean, isText?: boolean}} [options] `files` are
   *   sent as files[0..] beside `json`, in the order of its `attachments`; `form` is sent as form fields instead of `json`; with
   *   `isText` the response is returned as text, not parsed as JSON; with `onProgress`, `keepalive` has no effect
   * @returns {Promise<any>}
   */
  async request(method, path, { json, query, files, form, reason, signal, onProgress, keepalive, isText } = {}) {
    const url = BASE_PATH + path + queryString(query);
    const headers = { Authorization: this.#token };
    if (reason !== undefined) headers["X-Audit-Log-Reason"] = encodeURIComponent(reason);
    let body;
    if (files !== undefined && files.length) {
      body = new FormData();
      body.append("payload_json", JSON.stringify(json ?? {}));
      files.forEach((file, index) => body.append(`files[${index}]`, file, file.name));
    } else if (form !== undefined) {
      body = new FormData();
      for (const [name, value] of Object.entries(form)) body.append(name, value);
    } else if (json !== undefined) {
      body = JSON.stringify(json);
      headers["Content-Type"] = "application/json";
    }
    for (let attempt = 1; ; attempt += 1) {
      let result;
      try {
        const request = { method, url, headers, body, signal };
        result =
          onProgress === undefined
            ? await sendFetch({ ...request, keepalive })
            : await sendUpload({ ...request, onProgress });
      } catch (error) {
        if (signal?.aborted) throw error;
        throw new ApiError(0, 0, t("Cannot reach the server. Check your connection."));
      }
      const { status, text } = result;
      const isSuccess = status >= 200 && status < 300;
      const decoded = isText && isSuccess ? text : parseJson(text);
      if (isSuccess) return decoded;
      if (status === 401) this.#onUnauthorized();
      const delaySeconds = retryDelaySeconds(method, status, decoded, attempt);
      if (delaySeconds === null) throw apiError(status, decoded);
      await sleep(delaySeconds * 1000, signal);
    }
  }
}

/** Return the seconds to wait before a retry, or null to fail. */
function retryDelaySeconds(method, status, decoded, attempt) {
  if (attempt >= ATTEMPTS_MAX) return null;
  if (status === 429) {
    const retryAfter = Number(decoded?.retry_after ?? 1);
    return retryAfter <= RETRY_DELAY_MAX_SECONDS ? retryAfter : null;
  }
  // After a server error only reads are retried, because a failed write may have been executed.
  return method === "GET" && status >= 502 ? attempt * 0.5 : null;
}

function apiError(status, decoded) {
  if (status === 429) {
    const seconds = Math.ceil(Number(decoded?.retry_after ?? 1));
    return new ApiError(
      429,
      decoded?.code ?? 0,
      tn(
        "Too many requests. Try again in {count} second.",
        "Too many requests. Try again in {count} seconds.",
        seconds,
      ),
    );
  }
  const message =
    typeof decoded?.message === "string"
      ? decoded.message
      : t("Something went wrong on the server. Try again in a moment.");
  return new ApiError(status, Number(decoded?.code ?? 0), message, decoded?.errors);
}

function queryString(query) {
  const pairs = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null);
  if (!pairs.length) return "";
  const search = new URLSearchParams();
  for (const [name, value] of pairs) for (const item of [value].flat()) search.append(name, String(item));
  return `?${search}`;
}

async function sendFetch({ method, url, headers, body, signal, keepalive }) {
  const response = await fetch(url, {
    method,
    headers,
    body,
    signal,
    keepalive,
    credentials: "omit",
    cache: "no-store",
  });
  recordServerDate(response.headers.get("Date"));
  return { status: response.status, text: await response.text() };
}

/** Send with XMLHttpRequest, because fetch does not report upload progress. */
function sendUpload({ method, url, headers, body, signal, onProgress }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, url);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.addEventListener(
      "progress",
      event => event.lengthComputable && onProgress(event.loaded / event.total),
    );
    request.addEventListener("load", () => resolve({ status: request.status, text: request.responseText }));
    request.addEventListener("error", () => reject(new TypeError("network")));
    request.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")));
    signal?.addEventListener("abort", () => request.abort());
    request.send(body);
  });
}

function parseJson(text) {
  if (!text) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function sleep(durationMs, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, durationMs);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("aborted", "AbortError"));
    });
  });
}
