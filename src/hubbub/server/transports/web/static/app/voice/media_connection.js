/** The peer connection of a call: one media section for each stream, in an answer that the page writes itself. */

import { codecsOf, writeAnswer } from "./answer.js";

const VIDEO_BITS_PER_SECOND_MAX = 2_500_000;

/**
 * The peer connection between this client and the voice server.
 *
 * Dispatches `offer` `{sdp, codecs}` for SELECT_PROTOCOL, `track` and `ended` `{userId, kind, track}` for streams of other
 * users, and `state` `{state}` after changes of the connection.
 */
export class MediaConnection extends EventTarget {
  #connection = new RTCPeerConnection();
  #encryption;
  /** SDP lines of SESSION_DESCRIPTION, or null before they arrive. @type {string | null} */
  #description = null;
  #answerVersion = 0;
  /** The end of the last negotiation; negotiations run one after the other. */
  #lastNegotiation = Promise.resolve();
  /** Streams of other users, by `${kind} ${userId}`. @type {Map<string, {userId: string, kind: string, ssrc: number}>} */
  #streams = new Map();
  /** Receiving transceivers and the stream of each; null while it is unused. @type {Map<RTCRtpTransceiver, any>} */
  #receivers = new Map();
  /** Resolves the description that `start` awaits; null while it does not wait. */
  #resolveDescription = null;
  #isClosed = false;

  /** @param {import("./encryption.js").FrameEncryption} encryption */
  constructor(encryption) {
    super();
    this.#encryption = encryption;
    this.audio = this.#connection.addTransceiver("audio", { direction: "sendonly" });
    this.video = this.#connection.addTransceiver("video", {
      direction: "sendonly",
      sendEncodings: [{ maxBitrate: VIDEO_BITS_PER_SECOND_MAX }],
    });
    encryption.attach(this.audio.sender, "send", "audio");
    encryption.attach(this.video.sender, "send", "video");
    this.#connection.addEventListener("connectionstatechange", () => {
      if (!this.#isClosed) this.#dispatch("state", { state: this.#connection.connectionState });
    });
  }

  /** State of the connection: `new`, `connecting`, `connected`, `disconnected`, `failed` or `closed`. */
  get state() {
    return this.#connection.connectionState;
  }

  /** Make an offer, and apply the answer when `setDescription` is called. */
  start({ iceRestart = false } = {}) {
    return this.#enqueue(async () => {
      this.#syncReceivers();
      await this.#connection.setLocalDescription(await this.#connection.createOffer({ iceRestart }));
      const { sdp } = /** @type {RTCSessionDescription} */ (this.#connection.localDescription);
      const codecs = codecsOf(sdp).map(({ format, ...codec }) => codec);
      const description = new Promise(resolve => (this.#resolveDescription = resolve));
      this.#dispatch("offer", { sdp, codecs });
      this.#description = await description;
      this.#resolveDescription = null;
      await this.#applyAnswer();
      // Add the streams that were announced since the offer.
      this.#renegotiate();
    });
  }

  /** Continue `start` with the SDP lines of SESSION_DESCRIPTION. */
  setDescription(description) {
    this.#resolveDescription?.(description);
  }

  /** Receive a stream of another user; a new SSRC replaces the previous one. */
  addStream(userId, kind, ssrc) {
    const key = `${kind} ${userId}`;
    if (this.#streams.get(key)?.ssrc === ssrc) return;
    this.#streams.set(key, { userId, kind, ssrc });
    this.#renegotiate();
  }

  /** Stop receiving a stream, or all streams of a user. */
  removeStream(userId, kind = null) {
    let hasRemoved = false;
    for (const [key, stream] of this.#streams)
      if (stream.userId === userId && (kind === null || stream.kind === kind)) hasRemoved = this.#streams.delete(key);
    if (hasRemoved) this.#renegotiate();
  }

  /** Return the track of a stream, or null before it has a media section. @returns {MediaStreamTrack | null} */
  receivedTrack(userId, kind) {
    const stream = this.#streams.get(`${kind} ${userId}`);
    for (const [transceiver, received] of this.#receivers)
      if (stream !== undefined && received === stream) return transceiver.receiver.track;
    return null;
  }

  getStats() {
    return this.#connection.getStats();
  }

  close() {
    this.#isClosed = true;
    this.#resolveDescription?.(null);
    this.#connection.close();
  }

  #enqueue(task) {
    this.#lastNegotiation = this.#lastNegotiation
      .then(() => (this.#isClosed ? undefined : task()))
      .catch(error => {
        if (this.#isClosed) return;
        console.error(error);
        this.#dispatch("state", { state: "failed" });
      });
    return this.#lastNegotiation;
  }

  /** Change the media sections; the server is not involved. */
  #renegotiate() {
    if (this.#description === null) return;
    this.#enqueue(async () => {
      if (!this.#syncReceivers()) return;
      await this.#connection.setLocalDescription(await this.#connection.createOffer());
      await this.#applyAnswer();
    });
  }

  /** Give every stream a transceiver, and reuse audio transceivers of ended streams. Return whether anything changed. */
  #syncReceivers() {
    let hasChanged = false;
    for (const [transceiver, stream] of this.#receivers) {
      if (stream === null || this.#streams.get(`${stream.kind} ${stream.userId}`) === stream) continue;
      this.#receivers.set(transceiver, null);
      transceiver.direction = "inactive";
      this.#dispatch("ended", { userId: stream.userId, kind: stream.kind, track: transceiver.receiver.track });
      hasChanged = true;
    }
    const receivedStreams = new Set(this.#receivers.values());
    // A video track that was inactive shows no frames in Chromium, so only audio sections are used again.
    const unusedTransceivers = new Set(
      [...this.#receivers]
        .filter(([{ receiver }, stream]) => stream === null && receiver.track.kind === "audio")
        .map(([transceiver]) => transceiver),
    );
    for (const stream of this.#streams.values()) {
      if (receivedStreams.has(stream)) continue;
      // A transceiver that became unused just now still has its old SSRC until the next answer.
      let transceiver = hasChanged
        ? undefined
        : [...unusedTransceivers].find(candidate => candidate.receiver.track.kind === stream.kind);
      if (transceiver === undefined) {
        transceiver = this.#connection.addTransceiver(stream.kind, { direction: "recvonly" });
        this.#encryption.attach(transceiver.receiver, "receive", stream.kind);
      }
      unusedTransceivers.delete(transceiver);
      transceiver.direction = "recvonly";
      this.#receivers.set(transceiver, stream);
      hasChanged = true;
      this.#dispatch("track", { userId: stream.userId, kind: stream.kind, track: transceiver.receiver.track });
    }
    return hasChanged;
  }

  async #applyAnswer() {
    if (this.#description === null) return;
    const { sdp } = /** @type {RTCSessionDescription} */ (this.#connection.localDescription);
    const streams = new Map([...this.#receivers].map(([{ mid }, stream]) => [mid, stream]));
    const ownMids = new Set([this.audio.mid, this.video.mid]);
    this.#answerVersion += 1;
    const answer = writeAnswer(sdp, this.#description, this.#answerVersion, mid =>
      ownMids.has(mid) ? "own" : (streams.get(mid) ?? null),
    );
    await this.#connection.setRemoteDescription({ type: "answer", sdp: answer });
  }

  #dispatch(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}
