/**
 * The worker of a call: maintains the MLS group of the end-to-end encryption (DAVE, spec/voice.md#8 to 10) with davey's
 * WebAssembly build, and encrypts and decrypts every frame. It is a classic script, because emnapi is loaded with
 * importScripts.
 *
 * Messages from the page:
 * - `{kind: "load"}`: load davey before a call
 * - `{kind: "start", userId, channelId, version}`: start a call
 * - `{kind: "voice", op, data}`: a message of the voice gateway (a Uint8Array is a binary message)
 * - `{kind: "statistics"}`: return the number of frames
 *
 * Messages to the page:
 * - `{kind: "loaded"}`: davey is loaded
 * - `{kind: "send", op, data}`: send a message to the voice gateway (a Uint8Array is a binary message)
 * - `{kind: "status", version, ready, code, userIds}`: the state of the group
 * - `{kind: "statistics", encrypted, decrypted, failed, passed, dropped}`: without numbers if no call has started
 * - `{kind: "recovered", reason}`: a commit, welcome or proposal was invalid, and the worker joins the group again
 * - `{kind: "failed", reason}`: a message from the page could not be handled
 */

/** Media types of davey. */
const AUDIO = 0,
  VIDEO = 1;
/** Codec of davey for all audio. */
const OPUS = 1;
/** Codecs of davey for video, by MIME type. */
const VIDEO_CODECS = { "video/vp8": 2, "video/vp9": 3, "video/h264": 4, "video/av1": 6 };
const AV1_TYPE = "video/av1";
/** Interval between requests for a key frame, while frames of a video cannot be decrypted. */
const KEY_FRAME_INTERVAL_MS = 500;

// emnapi creates byte arrays with `Buffer.from(memory, offset, length)`, and looks for the class when it is loaded.
self.Buffer ??= class Buffer extends Uint8Array {
  static from = (...parts) => new Buffer(...parts);
};
importScripts("../generated/worker_values.js", "../third_party/emnapi_core.js", "../third_party/emnapi_runtime.js");
importScripts("./av1_frames.js");
const { VoiceOpcode, DAVE_VERSION, av1Frames } = /** @type {any} */ (self);

/** Instantiate davey. Its memory is shared only in type: no other thread uses it. */
async function loadDavey() {
  const response = await fetch("../third_party/davey.wasm");
  if (!response.ok) throw new Error(`davey.wasm: ${response.status}`);
  const memory = new WebAssembly.Memory({ initial: 4000, maximum: 65536, shared: true });
  const view = () => new DataView(memory.buffer);
  const wasi = {
    random_get(pointer, length) {
      // getRandomValues accepts at most 64 KiB, and no shared memory.
      for (let offset = 0; offset < length; offset += 65536) {
        const random = crypto.getRandomValues(new Uint8Array(Math.min(65536, length - offset)));
        new Uint8Array(memory.buffer, pointer + offset).set(random);
      }
      return 0;
    },
    environ_get: () => 0,
    environ_sizes_get(countPointer, sizePointer) {
      view().setUint32(countPointer, 0, true);
      view().setUint32(sizePointer, 0, true);
      return 0;
    },
    clock_time_get(clock, precision, pointer) {
      const now = clock === 0 ? Date.now() : performance.now();
      view().setBigUint64(pointer, BigInt(Math.round(now * 1e6)), true);
      return 0;
    },
    // EBADF (8): davey has no files.
    fd_write: () => 8,
    proc_exit(code) {
      throw new Error(`davey exited with ${code}`);
    },
    sched_yield: () => 0,
  };
  const { napiModule } = await self.emnapiCore.instantiateNapiModule(await response.arrayBuffer(), {
    context: self.emnapi.getDefaultContext(),
    // There are no threads, so the two asynchronous functions of davey do not work.
    asyncWorkPoolSize: 0,
    wasi: { wasiImport: wasi, initialize: instance => instance.exports._initialize?.() },
    overwriteImports(imports) {
      imports.env = { ...imports.env, ...imports.napi, ...imports.emnapi, memory };
      imports.wasi_snapshot_preview1 = wasi;
      return imports;
    },
    beforeInit({ instance }) {
      for (const name of Object.keys(instance.exports))
        if (name.startsWith("__napi_register__")) instance.exports[name]();
    },
  });
  return napiModule.exports;
}

/** The MLS group of a voice call, and the users that send each stream. */
class Encryption {
  constructor(davey, { userId, channelId, version }) {
    this.userId = userId;
    this.channelId = channelId;
    /** Version of the protocol; 0 means that frames have transport encryption only. */
    this.version = version;
    this.session = new davey.DAVESession(DAVE_VERSION, userId, channelId);
    this.externalSender = null;
    /** Versions of the transitions that were prepared and not executed, by ID. @type {Map<number, number>} */
    this.transitions = new Map();
    /** IDs of the other users in the call. @type {Set<string>} */
    this.connectedIds = new Set();
    /** IDs of users by the SSRC of their audio or video. @type {Map<number, string>} */
    this.senders = new Map();
    /** Numbers of frames: `passed` were not encrypted, `dropped` could not be encrypted or decrypted yet. */
    this.statistics = { encrypted: 0, decrypted: 0, failed: 0, passed: 0, dropped: 0 };
    if (version) this.#sendKeyPackage();
    this.#reportStatus();
  }

  /** Handle a message of the voice gateway. */
  receive(op, payload) {
    if (op === VoiceOpcode.CLIENTS_CONNECT) for (const id of payload.user_ids) this.connectedIds.add(id);
    else if (op === VoiceOpcode.CLIENT_DISCONNECT) this.#removeUser(payload.user_id);
    else if (op === VoiceOpcode.SPEAKING) this.senders.set(payload.ssrc, payload.user_id);
    else if (op === VoiceOpcode.VIDEO) this.senders.set(payload.video_ssrc, payload.user_id);
    else if (op === VoiceOpcode.DAVE_PREPARE_TRANSITION)
      this.#prepareTransition(payload.transition_id, payload.protocol_version);
    else if (op === VoiceOpcode.DAVE_EXECUTE_TRANSITION) this.#executeTransition(payload.transition_id);
    else if (op === VoiceOpcode.DAVE_PREPARE_EPOCH) this.#prepareEpoch(payload);
    else if (op === VoiceOpcode.MLS_EXTERNAL_SENDER) {
      this.externalSender = payload;
      this.session.setExternalSender(payload);
    } else if (op === VoiceOpcode.MLS_PROPOSALS) this.#processProposals(payload);
    else if (op === VoiceOpcode.MLS_ANNOUNCE_COMMIT)
      this.#processHandshake(payload, bytes => this.session.processCommit(bytes));
    else if (op === VoiceOpcode.MLS_WELCOME)
      this.#processHandshake(payload, bytes => this.session.processWelcome(bytes));
  }

  #removeUser(userId) {
    this.connectedIds.delete(userId);
    for (const [ssrc, id] of this.senders) if (id === userId) this.senders.delete(ssrc);
  }

  #sendKeyPackage() {
    sendToGateway(VoiceOpcode.MLS_KEY_PACKAGE, this.session.getSerializedKeyPackage());
  }

  /** Leave the group and offer to join it again. */
  #restart() {
    this.session.reinit(DAVE_VERSION, this.userId, this.channelId);
    if (this.externalSender !== null) this.session.setExternalSender(this.externalSender);
    this.#sendKeyPackage();
    this.#reportStatus();
  }

  /** Start a new group. Only epoch 1 creates a group; later epochs follow from commits. */
  #prepareEpoch({ epoch }) {
    if (epoch !== 1) return;
    this.#restart();
  }

  /** Process proposals: one byte with the operation (append or revoke), then the proposals or their references. */
  #processProposals(proposals) {
    const recognizedIds = [...this.connectedIds, this.userId];
    try {
      const { commit, welcome } = this.session.processProposals(
        proposals[0],
        toBuffer(proposals.subarray(1)),
        recognizedIds,
      );
      if (commit) sendToGateway(VoiceOpcode.MLS_COMMIT_WELCOME, concatenate(commit, welcome ?? new Uint8Array()));
    } catch (error) {
      this.#recover(0, error);
    }
  }

  /** Process a commit or welcome: two bytes with the transition ID, then the MLS message. */
  #processHandshake(message, process) {
    const transitionId = (message[0] << 8) | message[1];
    try {
      process(toBuffer(message.subarray(2)));
    } catch (error) {
      this.#recover(transitionId, error);
      return;
    }
    this.#prepareTransition(transitionId, DAVE_VERSION);
    this.#reportStatus();
  }

  /** Report an invalid proposal, commit or welcome, and join the group again (spec/voice.md#10). */
  #recover(transitionId, error) {
    postMessage({ kind: "recovered", reason: error.stack });
    sendToGateway(VoiceOpcode.MLS_INVALID_COMMIT_WELCOME, { transition_id: transitionId });
    this.#restart();
  }

  #prepareTransition(transitionId, version) {
    this.transitions.set(transitionId, version);
    if (transitionId === 0) this.#executeTransition(0);
    else sendToGateway(VoiceOpcode.DAVE_TRANSITION_READY, { transition_id: transitionId });
  }

  #executeTransition(transitionId) {
    const version = this.transitions.get(transitionId);
    if (version === undefined) return;
    this.transitions.clear();
    this.version = version;
    this.#reportStatus();
  }

  #reportStatus() {
    const { version, session } = this;
    const code = version && session.ready ? session.voicePrivacyCode : "";
    postMessage({ kind: "status", version, ready: session.ready, code, userIds: session.getUserIds() });
  }

  /** Return the encrypted frame, the unchanged one in a call without encryption, or null if it must not be sent. */
  encrypt(frame, media) {
    if (this.version === 0) {
      this.statistics.passed += 1;
      return frame.data;
    }
    if (!this.session.ready) {
      this.statistics.dropped += 1;
      return null;
    }
    const codec = media === AUDIO ? OPUS : VIDEO_CODECS[mimeTypeOf(frame) ?? "video/vp8"];
    const encryptedBytes = this.session.encrypt(media, codec, toBuffer(new Uint8Array(frame.data)));
    this.statistics.encrypted += 1;
    return copyBuffer(encryptedBytes);
  }

  /** Return the decrypted frame, the unchanged one if it is not encrypted, or null if it cannot be decrypted. */
  decrypt(frame, media) {
    const frameBytes = new Uint8Array(frame.data);
    if (isSilence(frameBytes) || (this.version === 0 && !hasTrailer(frameBytes))) {
      this.statistics.passed += 1;
      return frame.data;
    }
    const userId = this.senders.get(frame.getMetadata().synchronizationSource);
    // Frames that arrive before the welcome belong to an epoch that this client is not part of.
    if (userId === undefined || !this.session.ready) {
      this.statistics.dropped += 1;
      return null;
    }
    const isAv1 = media === VIDEO && mimeTypeOf(frame) === AV1_TYPE;
    try {
      const sentBytes = isAv1 ? av1Frames.removeLastSize(frameBytes) : frameBytes;
      const plain = this.session.decrypt(userId, media, toBuffer(sentBytes));
      this.statistics.decrypted += 1;
      return copyBuffer(isAv1 ? av1Frames.addLastSize(new Uint8Array(plain)) : plain);
    } catch {
      this.statistics.failed += 1;
      return null;
    }
  }
}

/** Return the MIME type of a frame's codec in lower case, or undefined if the browser does not report it. */
function mimeTypeOf(frame) {
  return frame.getMetadata().mimeType?.toLowerCase();
}

/** Return whether a frame is the Opus silence frame, which is never encrypted. */
function isSilence(frameBytes) {
  return frameBytes.length === 3 && frameBytes[0] === 0xf8 && frameBytes[1] === 0xff && frameBytes[2] === 0xfe;
}

/** Return whether a frame ends with the magic bytes of an encrypted frame. */
function hasTrailer(frameBytes) {
  return (
    frameBytes.length > 2 && frameBytes[frameBytes.length - 1] === 0xfa && frameBytes[frameBytes.length - 2] === 0xfa
  );
}

function toBuffer(bytes) {
  return new self.Buffer(bytes);
}

/** Return a copy that does not share davey's memory. */
function copyBuffer(bytes) {
  return new Uint8Array(bytes).buffer;
}

function concatenate(first, second) {
  const bytes = new Uint8Array(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}

/** Ask the page to send a message to the voice gateway. */
function sendToGateway(op, data) {
  postMessage({ kind: "send", op, data: data instanceof Uint8Array ? new Uint8Array(data) : data });
}

/** @type {Encryption | null} */
let encryption = null;
let davey = null;
let queue = Promise.resolve();

async function handleMessage({ kind, op, data, ...options }) {
  if (kind === "load") {
    davey ??= await loadDavey();
    postMessage({ kind: "loaded" });
  } else if (kind === "start") {
    davey ??= await loadDavey();
    encryption = new Encryption(davey, /** @type {any} */ (options));
  } else if (kind === "voice") encryption?.receive(op, data);
  else if (kind === "statistics") postMessage({ kind: "statistics", ...encryption?.statistics });
}

// Each message waits for the one before it, because messages arrive while davey is loading.
self.addEventListener("message", ({ data }) => {
  queue = queue.then(() => handleMessage(data)).catch(error => postMessage({ kind: "failed", reason: error.stack }));
});

// Encrypt the frames of each sender of the page, and decrypt those of each receiver.
self.addEventListener("rtctransform", event => {
  const { transformer } = /** @type {any} */ (event);
  const { direction } = transformer.options;
  const media = transformer.options.media === "audio" ? AUDIO : VIDEO;
  let keyFrameRequestedAt = 0;
  const transform = (frame, controller) => {
    const data = direction === "send" ? encryption?.encrypt(frame, media) : encryption?.decrypt(frame, media);
    if (data) {
      frame.data = data;
      controller.enqueue(frame);
    } else if (
      direction === "receive" &&
      media === VIDEO &&
      performance.now() - keyFrameRequestedAt > KEY_FRAME_INTERVAL_MS
    ) {
      keyFrameRequestedAt = performance.now();
      transformer.sendKeyFrameRequest?.().catch(() => {});
    }
  };
  transformer.readable
    .pipeThrough(new TransformStream({ transform }))
    .pipeTo(transformer.writable)
    .catch(() => {});
});
