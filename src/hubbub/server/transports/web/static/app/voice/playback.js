/** Playback of the other users' audio: one element for each user, with volume and output device. */

import { h } from "../ui/dom.js";

export class Playback {
  /** Hidden element that contains the audio elements; browsers decode remote audio only for elements. */
  #node = h("div", { class: "call-audio", hidden: true });
  /** @type {Map<string, HTMLAudioElement>} */
  #elements = new Map();
  #settings;

  /** @param {{deaf: boolean, outputId: string, volumes: Map<string, number>}} settings */
  constructor(settings) {
    this.#settings = settings;
    document.body.append(this.#node);
  }

  add(userId, track) {
    this.remove(userId);
    const element = /** @type {HTMLAudioElement} */ (h("audio", { autoplay: true, dataset: { userId } }));
    element.srcObject = new MediaStream([track]);
    this.#elements.set(userId, element);
    this.#node.append(element);
    this.apply();
    // A browser that blocks playback without a click starts it with the next one.
    element
      .play()
      .catch(() => document.addEventListener("click", () => element.play().catch(() => {}), { once: true }));
  }

  remove(userId) {
    const element = this.#elements.get(userId);
    if (element === undefined) return;
    element.srcObject = null;
    element.remove();
    this.#elements.delete(userId);
  }

  /** Apply changed settings. */
  apply() {
    const { deaf, outputId, volumes } = this.#settings;
    for (const [userId, element] of this.#elements) {
      element.muted = deaf;
      element.volume = volumes.get(userId) ?? 1;
      const settable = /** @type {any} */ (element);
      if (settable.setSinkId && settable.sinkId !== outputId) settable.setSinkId(outputId).catch(() => {});
    }
  }

  close() {
    for (const userId of [...this.#elements.keys()]) this.remove(userId);
    this.#node.remove();
  }
}
