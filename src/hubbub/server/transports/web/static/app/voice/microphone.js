/** The microphone: capture, level, and detection of speech. */

const LEVEL_INTERVAL_MS = 50;
const LEVEL_RANGE_DB = 60;
/** Time without voice after which the user counts as silent. */
const HOLD_MS = 300;

/**
 * A microphone, open or closed.
 *
 * Dispatches `level` `{level}` (0 to 1), `speaking` `{isSpeaking}` and `ended` if the device disappears.
 */
export class Microphone extends EventTarget {
  #audio;
  #analyser = null;
  #source = null;
  #timer = 0;
  #lastVoiceAt = 0;
  /** @type {MediaStreamTrack | null} */
  track = null;
  level = 0;
  isSpeaking = false;
  /** Whether the track is being sent; otherwise the user does not count as speaking. */
  isActive = true;

  /**
   * @param {AudioContext} audio
   * @param {{deviceId: string, echoCancellation: boolean, noiseSuppression: boolean, threshold: number}} settings
   */
  constructor(audio, settings) {
    super();
    this.#audio = audio;
    this.settings = settings;
  }

  /** Open the device and return its track. Throw an error if the user or the system denies access to it. */
  async open() {
    const { deviceId, echoCancellation, noiseSuppression } = this.settings;
    const stream = await navigator.mediaDevices.getUserMedia({
      audio: {
        ...(deviceId ? { deviceId: { exact: deviceId } } : {}),
        echoCancellation,
        noiseSuppression,
        autoGainControl: true,
      },
    });
    this.close();
    this.track = stream.getAudioTracks()[0];
    this.track.addEventListener("ended", () => this.dispatchEvent(new CustomEvent("ended")));
    this.#source = this.#audio.createMediaStreamSource(new MediaStream([this.track]));
    this.#analyser = new AnalyserNode(this.#audio, { fftSize: 1024 });
    this.#source.connect(this.#analyser);
    const samples = new Float32Array(this.#analyser.fftSize);
    this.#timer = setInterval(() => this.#measure(samples), LEVEL_INTERVAL_MS);
    return this.track;
  }

  close() {
    clearInterval(this.#timer);
    this.#source?.disconnect();
    this.#source = this.#analyser = null;
    this.track?.stop();
    this.track = null;
    this.#setSpeaking(false);
  }

  #measure(samples) {
    if (this.#analyser === null) return;
    this.#analyser.getFloatTimeDomainData(samples);
    const power = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length;
    // Map -60 to 0 dB to 0 to 1.
    this.level = Math.max(0, Math.min(1, 1 + (10 * Math.log10(power + 1e-9)) / LEVEL_RANGE_DB));
    this.dispatchEvent(new CustomEvent("level", { detail: { level: this.level } }));
    const now = performance.now();
    if (this.level > this.settings.threshold) this.#lastVoiceAt = now;
    this.#setSpeaking(this.isActive && this.#lastVoiceAt > 0 && now - this.#lastVoiceAt < HOLD_MS);
  }

  #setSpeaking(isSpeaking) {
    if (this.isSpeaking === isSpeaking) return;
    this.isSpeaking = isSpeaking;
    this.dispatchEvent(new CustomEvent("speaking", { detail: { isSpeaking } }));
  }
}
