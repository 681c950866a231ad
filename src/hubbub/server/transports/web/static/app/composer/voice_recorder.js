/** The recorder of voice messages: it replaces the field of a composer until the message is sent or discarded. */

import { ATTACHMENT_WAVEFORM_MAX } from "../generated/limits.js";
import { MessageFlags } from "../network/enums.js";
import { h, icon } from "../ui/dom.js";
import { iconButton } from "../ui/controls.js";
import { announce } from "../ui/live_region.js";
import { showNotice } from "../ui/notices.js";
import { t } from "../ui/translation.js";
import { formatSeconds, showVoiceMessage } from "../messages/voice_message.js";

/** Formats with the Opus codec that the server accepts, best first. */
const FORMATS = [
  ["audio/ogg;codecs=opus", "ogg"],
  ["audio/webm;codecs=opus", "webm"],
];
const RECORDING_SECONDS_MAX = 600;
const LEVEL_INTERVAL_MS = 50;
const SHOWN_LEVELS_MAX = 40;
/** Maximum number of bytes of a waveform, whose base64 text has a limited length. */
const WAVEFORM_BYTES_MAX = Math.floor(ATTACHMENT_WAVEFORM_MAX / 4) * 3;

/** Start a recording in a composer; show a notice if the browser cannot record or the microphone cannot be used. */
export async function startRecorder(composer) {
  const format = FORMATS.find(([type]) => MediaRecorder.isTypeSupported(type));
  if (format === undefined) {
    showNotice(t("This browser cannot record voice messages."), "problem");
    return;
  }
  let stream;
  try {
    stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  } catch {
    showNotice(t("The microphone cannot be used. Allow access to it in the settings of your browser."), "problem");
    return;
  }
  if (composer.isConnected && !composer.node.classList.contains("recording"))
    new VoiceRecorder(composer, stream, format).start();
  else stopTracks(stream);
}

const stopTracks = stream => {
  for (const track of stream.getTracks()) track.stop();
};

class VoiceRecorder {
  #composer;
  #stream;
  #recorder;
  #format;
  #chunks = [];
  /** Peaks of the sound from 0 to 1, one for each interval. */
  #levels = [];
  #startedMs = 0;
  #timer = null;
  #audioContext = new AudioContext();
  #panel = h("div", { class: "voice-recorder", role: "group", "aria-label": t("Voice message") });
  #previewUrl = null;
  #isDiscarded = false;

  constructor(composer, stream, format) {
    this.#composer = composer;
    this.#stream = stream;
    this.#format = format;
    this.#recorder = new MediaRecorder(stream, { mimeType: format[0] });
    this.#recorder.addEventListener("dataavailable", ({ data }) => data.size && this.#chunks.push(data));
    this.#recorder.addEventListener("stop", () => this.#onStop());
    composer.addEventListener("composer-end", () => this.#discard(), { once: true });
  }

  start() {
    const analyser = this.#audioContext.createAnalyser();
    analyser.fftSize = 2048;
    this.#audioContext.createMediaStreamSource(this.#stream).connect(analyser);
    const samples = new Float32Array(analyser.fftSize);
    const bars = h("div", { class: "voice-bars", "aria-hidden": "true" });
    const time = h("span", { class: "voice-time", role: "timer" }, "0:00");
    this.#recorder.start();
    this.#startedMs = performance.now();
    this.#timer = setInterval(() => {
      analyser.getFloatTimeDomainData(samples);
      this.#levels.push(samples.reduce((peak, sample) => Math.max(peak, Math.abs(sample)), 0));
      const shownLevels = this.#levels.slice(-SHOWN_LEVELS_MAX);
      bars.replaceChildren(
        ...shownLevels.map(level =>
          h("i", { class: "played", style: { "block-size": `${12 + 88 * Math.min(1, level)}%` } }),
        ),
      );
      const seconds = this.#elapsedSeconds;
      time.textContent = formatSeconds(seconds);
      if (seconds >= RECORDING_SECONDS_MAX) this.#recorder.stop();
    }, LEVEL_INTERVAL_MS);
    const stopButton = h(
      "button",
      { type: "button", class: "button small", onclick: () => this.#recorder.stop() },
      t("Stop"),
    );
    this.#panel.replaceChildren(
      iconButton("bin", t("Discard recording"), () => this.#discard()),
      h("span", { class: "recording-mark" }, icon("microphone")),
      h("div", { class: "voice-wave" }, bars),
      time,
      stopButton,
    );
    this.#panel.addEventListener("keydown", event => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      this.#discard();
    });
    this.#composer.node.classList.add("recording");
    this.#composer.box.after(this.#panel);
    stopButton.focus();
    announce(t("Recording."));
  }

  get #elapsedSeconds() {
    return (performance.now() - this.#startedMs) / 1000;
  }

  /** Show the recording, so that the user can play it before sending it. */
  #onStop() {
    const durationSeconds = Math.max(0.1, Math.round(this.#elapsedSeconds * 100) / 100);
    this.#release();
    if (this.#isDiscarded) return;
    const [type, extension] = this.#format;
    const file = new File(this.#chunks, `voice-message.${extension}`, { type: type.split(";")[0] });
    const details = { duration_secs: durationSeconds, waveform: encodeWaveform(this.#levels) };
    this.#previewUrl = URL.createObjectURL(file);
    const player = h("div", { class: "voice-message" });
    showVoiceMessage(player, details, this.#previewUrl);
    const sendButton = iconButton("send", t("Send voice message"), () => {
      this.#close();
      const extra = { flags: MessageFlags.IS_VOICE_MESSAGE };
      this.#composer.submit({ files: [file], fileDetails: [details], extra });
    });
    this.#panel.replaceChildren(
      iconButton("bin", t("Discard recording"), () => this.#discard()),
      player,
      sendButton,
    );
    sendButton.focus();
    announce(t("Recording stopped."));
  }

  #discard() {
    if (this.#isDiscarded) return;
    this.#isDiscarded = true;
    if (this.#recorder.state !== "inactive") this.#recorder.stop();
    this.#close();
  }

  #release() {
    clearInterval(this.#timer);
    stopTracks(this.#stream);
    if (this.#audioContext.state !== "closed") this.#audioContext.close();
  }

  #close() {
    this.#release();
    if (this.#previewUrl) URL.revokeObjectURL(this.#previewUrl);
    this.#panel.remove();
    this.#composer.node.classList.remove("recording");
    if (this.#composer.isConnected) this.#composer.focus();
  }
}

/** Return peaks as a base64 waveform of limited length. */
function encodeWaveform(levels) {
  const length = Math.max(1, Math.min(levels.length, WAVEFORM_BYTES_MAX));
  const bytes = Array.from({ length }, (_, index) => {
    const start = Math.floor((index * levels.length) / length),
      end = Math.max(start + 1, Math.floor(((index + 1) * levels.length) / length));
    return Math.round(255 * Math.min(1, Math.max(0, ...levels.slice(start, end))));
  });
  return btoa(String.fromCharCode(...bytes));
}
