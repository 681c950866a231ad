/** The page's side of the worker that encrypts and decrypts frames (`frame_worker.js`). */

const WORKER_URL = new URL("./frame_worker.js", import.meta.url).href;

/** Trusted Types policy of the worker; it allows the URL of the worker and no other (decisions/0085). */
const policy = /** @type {any} */ (window).trustedTypes?.createPolicy("voice-worker", {
  createScriptURL(url) {
    if (url !== WORKER_URL) throw new TypeError("not the worker of calls");
    return url;
  },
});

/**
 * The frame worker of one call.
 *
 * Dispatches every message of the worker as an event of its kind, with the other fields as the detail: `loaded`, `send`,
 * `status`, `statistics`, `recovered` and `failed`. `failed` `{reason}` also reports an error of the worker itself.
 */
export class FrameEncryption extends EventTarget {
  #worker;
  #isLoaded = false;
  #isClosed = false;
  #statisticsResolvers = [];
  /** The last reported status. */
  status = { version: 0, ready: false, code: "", userIds: [] };

  constructor() {
    super();
    this.#worker = new Worker(policy ? policy.createScriptURL(WORKER_URL) : WORKER_URL);
    this.#worker.addEventListener("message", ({ data }) => this.#receive(data));
    this.#worker.addEventListener("error", event => this.#receive({ kind: "failed", reason: event.message }));
    this.#worker.postMessage({ kind: "load" });
  }

  /** Start the group of a call. */
  start({ userId, channelId, version }) {
    this.#worker.postMessage({ kind: "start", userId, channelId, version });
  }

  /** Handle a message of the voice gateway. */
  receive(op, payload) {
    this.#worker.postMessage({ kind: "voice", op, data: payload });
  }

  /** Encrypt the frames of a sender (`direction` "send") or decrypt those of a receiver ("receive"). */
  attach(senderOrReceiver, direction, media) {
    senderOrReceiver.transform = new RTCRtpScriptTransform(this.#worker, { direction, media });
  }

  /** Return the numbers of frames: `{encrypted, decrypted, failed, passed, dropped}`; `passed` are frames without encryption. */
  statistics() {
    return new Promise(resolve => {
      this.#statisticsResolvers.push(resolve);
      this.#worker.postMessage({ kind: "statistics" });
    });
  }

  close() {
    this.#isClosed = true;
    // The browser reports a script that is terminated while it loads as an error. Such a worker ends when it has loaded.
    if (this.#isLoaded) this.#worker.terminate();
    for (const resolve of this.#statisticsResolvers.splice(0)) resolve({});
  }

  #receive({ kind, ...detail }) {
    if (kind === "loaded" || kind === "failed") this.#isLoaded = true;
    if (this.#isClosed) {
      if (this.#isLoaded) this.#worker.terminate();
      return;
    }
    if (kind === "statistics") this.#statisticsResolvers.shift()?.(detail);
    else if (kind === "status") this.status = /** @type {any} */ (detail);
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }
}
