/** The user's microphone, output device and settings of calls. They are kept while the page is open. */

import { showNotice, showUntilClick } from "../ui/notices.js";
import { t } from "../ui/translation.js";
import { Microphone } from "./microphone.js";
import { Mixer } from "./mixer.js";
import { captureProblem } from "./support.js";

/**
 * The microphone, the sound of a shared screen and the settings of calls.
 *
 * Dispatches `change` after changed settings, `microphone` when the sent track changes, `level` and `speaking`.
 */
export class Devices extends EventTarget {
  settings = {
    /** Whether the user is muted. */
    muted: false,
    /** Whether playback is disabled. */
    deaf: false,
    /** ID of the microphone; empty for the default device. */
    deviceId: "",
    /** ID of the output device; empty for the default device. */
    outputId: "",
    echoCancellation: true,
    noiseSuppression: true,
    /** Level above which the user counts as speaking, 0 to 1. */
    threshold: 0.3,
    /** Whether the user speaks only while a key is pressed. */
    pushToTalk: false,
    /** Volume of other users by ID, 0 to 1. @type {Map<string, number>} */
    volumes: new Map(),
  };
  /** @type {AudioContext | null} */
  #audio = null;
  /** @type {Microphone | null} */
  #microphone = null;
  /** Mixes the sound of a shared screen. @type {Mixer | null} */
  #mixer = null;
  #isTalkKeyPressed = false;
  /** Whether the server discards the audio of this user: a moderator muted them, or they are in the audience of a stage. */
  #isSilenced = false;

  /** The microphone; `track` is null while it is closed. */
  get microphone() {
    this.#microphone ??= this.#createMicrophone();
    return this.#microphone;
  }

  /** Whether a shared screen has sound. */
  get hasScreenAudio() {
    return this.#mixer !== null;
  }

  /** The track to send: the microphone, the sound of a shared screen or both; null to send nothing. */
  get sentTrack() {
    const track = this.isSending ? this.microphone.track : null;
    if (this.#mixer === null) return track;
    this.#mixer.setMicrophone(track);
    return this.#mixer.track;
  }

  /** Send the sound of a shared screen beside the microphone; null stops it. @param {MediaStreamTrack | null} track */
  setScreenAudio(track) {
    if (track === (this.#mixer?.screenTrack ?? null)) return;
    this.#mixer?.close();
    this.#mixer = track === null ? null : new Mixer(this.#audioContext(), track);
    this.#applyChange();
  }

  /** Whether the microphone's audio is sent. */
  get isSending() {
    const { muted, deaf, pushToTalk } = this.settings;
    return !muted && !deaf && !this.#isSilenced && (!pushToTalk || this.#isTalkKeyPressed);
  }

  #createMicrophone() {
    const microphone = new Microphone(this.#audioContext(), this.settings);
    microphone.addEventListener("level", () => this.dispatchEvent(new CustomEvent("level")));
    microphone.addEventListener("speaking", () => this.dispatchEvent(new CustomEvent("speaking")));
    microphone.addEventListener("ended", () => this.#onDeviceLost());
    return microphone;
  }

  #audioContext() {
    this.#audio ??= new AudioContext();
    // Browsers start the context after a click; without an output device, the promise may never resolve.
    this.#audio.resume().catch(() => this.#onAudioRejected());
    return this.#audio;
  }

  #onAudioRejected() {
    showUntilClick(
      t("The browser did not start its audio, so others do not see when you speak. Click anywhere on the page."),
      () =>
        this.#audio
          ?.resume()
          .catch(() => showNotice(t("The audio did not start. Reload the page and join again."), "problem")),
    );
  }

  /** Open the microphone if it is closed. Without one the user can listen. Return whether it is open. */
  async open() {
    if (this.microphone.track !== null) return true;
    return await this.#openMicrophone();
  }

  async #openMicrophone() {
    try {
      await this.microphone.open();
    } catch (error) {
      showNotice(
        t("{problem} You can listen until then.", { problem: captureProblem(error, "microphone") }),
        "problem",
      );
      this.dispatchEvent(new CustomEvent("microphone"));
      return false;
    }
    this.#applyChange();
    return true;
  }

  async #onDeviceLost() {
    this.microphone.close();
    showNotice(t("The microphone was disconnected. The default microphone is used now."));
    this.settings.deviceId = "";
    await this.#openMicrophone();
  }

  /** Close the microphone after a call. */
  close() {
    this.#microphone?.close();
    this.dispatchEvent(new CustomEvent("change"));
  }

  /** Change settings. A changed device or processing opens the microphone again. */
  async update(changes) {
    const previousSettings = { ...this.settings };
    Object.assign(this.settings, changes);
    const mustReopen = ["deviceId", "echoCancellation", "noiseSuppression"].some(
      name => previousSettings[name] !== this.settings[name],
    );
    if (mustReopen && this.microphone.track !== null && !(await this.#openMicrophone()))
      // The microphone that was open is still used.
      Object.assign(this.settings, { deviceId: previousSettings.deviceId });
    this.#applyChange();
  }

  /** Set whether the push-to-talk key is pressed. */
  setTalkKey(isPressed) {
    if (this.#isTalkKeyPressed === isPressed) return;
    this.#isTalkKeyPressed = isPressed;
    this.#applyChange();
  }

  /** Set whether the server discards the audio of this user. */
  setSilenced(isSilenced) {
    if (this.#isSilenced === isSilenced) return;
    this.#isSilenced = isSilenced;
    this.#applyChange();
  }

  #applyChange() {
    this.microphone.isActive = this.isSending;
    this.dispatchEvent(new CustomEvent("microphone"));
    this.dispatchEvent(new CustomEvent("change"));
  }

  /** Return the devices of a kind, `audioinput`, `audiooutput` or `videoinput`, with their labels. */
  async list(kind) {
    const devices = await navigator.mediaDevices.enumerateDevices();
    return devices
      .filter(device => device.kind === kind && device.deviceId && device.deviceId !== "default")
      .map((device, index) => ({
        id: device.deviceId,
        label: device.label || t("Device {number}", { number: index + 1 }),
      }));
  }
}
