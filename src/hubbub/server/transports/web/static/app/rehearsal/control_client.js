/** Requests of the rehearsal console to the control API, and the stream of the traffic. */

const HEADERS = { "X-Hubbub-Console": "1" };
const RETRY_DELAY_MS = 1000;

/** A rejected request, with the message of the server. */
export class ControlError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Send a request to the control API and return the decoded response. */
export async function callControl(method, path, body) {
  const options = { method, headers: { ...HEADERS }, cache: "no-store" };
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const response = await fetch(`/control${path}`, options);
  const text = await response.text();
  if (!response.ok) throw new ControlError(response.status, readMessage(text, response.status));
  return text ? JSON.parse(text) : null;
}

function readMessage(text, status) {
  try {
    const { message, errors } = JSON.parse(text);
    const details = Object.entries(errors ?? {}).map(([field, value]) => `${field}: ${firstMessage(value)}`);
    return [message, ...details].join(" ");
  } catch {
    return `The server responded with status ${status}.`;
  }
}

function firstMessage(errors) {
  if (Array.isArray(errors?._errors)) return errors._errors[0].message;
  return Object.values(errors ?? {})
    .map(firstMessage)
    .join(" ");
}

/** The stream of the traffic. It reconnects after a loss, from the last entry that it received. */
export class TrafficStream {
  #controller = new AbortController();
  #lastId = 0;
  #onEntries;
  #onState;

  /**
   * @param {URLSearchParams} filter parameters that the server applies
   * @param {(entries: any[], missed: number) => void} onEntries `missed` is the number of entries that the server removed
   *   before it sent them
   * @param {(isConnected: boolean) => void} onState
   */
  constructor(filter, onEntries, onState) {
    this.#onEntries = onEntries;
    this.#onState = onState;
    this.#receiveUntilClosed(filter);
  }

  close() {
    this.#controller.abort();
  }

  /** Receive entries and reconnect until the stream is closed; reload the page if its link has expired. */
  async #receiveUntilClosed(filter) {
    const { signal } = this.#controller;
    while (!signal.aborted) {
      try {
        const headers = { ...HEADERS, "Last-Event-ID": String(this.#lastId) };
        const response = await fetch(`/control/traffic/stream?${filter}`, { headers, signal, cache: "no-store" });
        if (response.status === 401) {
          // The server was restarted, so this browser needs a new link.
          location.reload();
          return;
        }
        if (response.ok) {
          this.#onState(true);
          await this.#read(response.body.getReader());
        }
      } catch {
        // The connection was lost or closed; the loop connects again.
      }
      if (signal.aborted) return;
      this.#onState(false);
      await new Promise(resolve => setTimeout(resolve, RETRY_DELAY_MS));
    }
  }

  async #read(reader) {
    const decoder = new TextDecoder();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const blocks = text.split("\n\n");
      text = blocks.pop();
      for (const block of blocks) this.#receive(block);
    }
  }

  #receive(block) {
    const fields = Object.fromEntries(
      block.split("\n").map(line => {
        const end = line.indexOf(": ");
        return [line.slice(0, end), line.slice(end + 2)];
      }),
    );
    if (fields.data === undefined) return;
    const isFirst = this.#lastId === 0;
    this.#lastId = Number(fields.id);
    const { entries, missed } = JSON.parse(fields.data);
    this.#onEntries(entries, isFirst ? 0 : missed);
  }
}
