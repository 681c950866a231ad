/** Playback of the other users' audio and of soundboard sounds, with volume and output device. */

import { h } from "../ui/dom.js";
import { showNotice, showUntilClick } from "../ui/notices.js";
import { t } from "../ui/translation.js";

/** The audio elements of a call. */
export class Playback {
  /** Hidden element that contains the audio elements; browsers decode remote audio only for elements. */
  #node = h("div", { class: "call-audio", hidden: true });
  /** @type {Map<string, HTMLAudioElement>} */
  #elements = new Map();
  #devices;

  /** @param {import("./devices.js").Devices} devices settings: deafened, output device and volumes */
  constructor(devices) {
    this.#devices = devices;
    document.body.append(this.#node);
  }

  add(userId, track) {
    this.remove(userId);
    const element = /** @type {HTMLAudioElement} */ (h("audio", { autoplay: true, dataset: { userId } }));
    element.srcObject = new MediaStream([track]);
    this.#elements.set(userId, element);
    this.#node.append(element);
    this.apply();
    element.play().catch(error => this.#onPlayRejected(element, error));
  }

  /** Show a notice that the browser blocks playback, and start playback with the next click. */
  #onPlayRejected(element, error) {
    // The participant left, or another track replaced this one.
    if (error.name === "AbortError" || !element.isConnected) return;
    showUntilClick(
      t("The browser blocks the sound of this call. Click anywhere on the page to hear the others."),
      () => element.isConnected && this.#playAgain(element),
    );
  }

  #playAgain(element) {
    element.play().catch(error => {
      if (error.name === "AbortError" || !element.isConnected) return;
      showNotice(t("The sound of this call could not be started. Leave the call and join it again."), "problem");
    });
  }

  /** Play a sound of the soundboard once on the chosen output device; `volume` is from 0 to 1. */
  playSound(soundId, path, volume) {
    const element = /** @type {any} */ (h("audio", { src: path, dataset: { soundId } }));
    const { outputId } = this.#devices.settings;
    element.volume = volume;
    element.addEventListener("ended", () => element.remove());
    this.#node.append(element);
    if (element.setSinkId && outputId) element.setSinkId(outputId).catch(() => this.#onOutputRejected(outputId));
    element.play().catch(() => element.remove());
  }

  remove(userId) {
    const element = this.#elements.get(userId);
    if (element === undefined) return;
    element.srcObject = null;
    element.remove();
    this.#elements.delete(userId);
  }

  /** Apply changed settings to the audio of all users. */
  apply() {
    const { deaf, outputId, volumes } = this.#devices.settings;
    for (const [userId, element] of this.#elements) {
      element.muted = deaf;
      element.volume = volumes.get(userId) ?? 1;
      if (element.setSinkId && element.sinkId !== outputId)
        element.setSinkId(outputId).catch(() => this.#onOutputRejected(outputId));
    }
  }

  /** Use the default device instead of one that was disconnected or is not allowed. */
  #onOutputRejected(outputId) {
    if (!outputId || this.#devices.settings.outputId !== outputId) return;
    showNotice(
      t("The chosen speaker cannot be used. The default speaker is used now; choose another one in Voice settings."),
      "problem",
    );
    // The change applies to all elements.
    this.#devices.update({ outputId: "" });
  }

  close() {
    for (const userId of [...this.#elements.keys()]) this.remove(userId);
    this.#node.remove();
  }
}
