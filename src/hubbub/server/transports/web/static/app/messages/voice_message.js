/** The player of a voice message, with its waveform. */

import { iconButton } from "../ui/controls.js";
import { h, icon } from "../ui/dom.js";
import { t } from "../ui/translation.js";

const BAR_COUNT = 40;

/** Show the player in a node; `path` is the URL of the sound. */
export function showVoiceMessage(node, { duration_secs: durationSeconds = 0, waveform = "" }, path) {
  const audio = h("audio", { src: path, preload: "none" });
  const bars = readWaveform(waveform).map(level =>
    h("i", { style: { "block-size": `${12 + Math.round(88 * level)}%` } }),
  );
  const time = h("span", { class: "voice-time" }, formatSeconds(durationSeconds));
  const position = h("input", {
    type: "range",
    min: "0",
    max: String(durationSeconds),
    step: "0.1",
    value: "0",
    "aria-label": t("Position in the voice message"),
    oninput: () => {
      audio.currentTime = Number(position.value);
      drawProgress();
    },
  });
  const button = iconButton("play", t("Play voice message"), () => {
    if (!audio.paused) audio.pause();
    else audio.play().catch(() => time.replaceChildren(t("Cannot be played")));
  });
  const drawProgress = () => {
    const { currentTime, paused } = audio;
    const share = durationSeconds ? currentTime / durationSeconds : 0;
    bars.forEach((bar, index) => bar.classList.toggle("played", index / BAR_COUNT < share));
    position.value = String(currentTime);
    position.setAttribute(
      "aria-valuetext",
      t("{time} of {duration}", { time: formatSeconds(currentTime), duration: formatSeconds(durationSeconds) }),
    );
    time.textContent = formatSeconds(currentTime > 0 ? currentTime : durationSeconds);
    const label = paused ? t("Play voice message") : t("Pause voice message");
    if (button.title === label) return;
    button.title = label;
    button.setAttribute("aria-label", label);
    button.replaceChildren(icon(paused ? "play" : "pause"));
  };
  for (const name of ["timeupdate", "play", "pause"]) audio.addEventListener(name, drawProgress);
  audio.addEventListener("ended", () => {
    audio.currentTime = 0;
    drawProgress();
  });
  node.replaceChildren(
    button,
    h("div", { class: "voice-wave" }, h("div", { class: "voice-bars" }, bars), position),
    time,
    audio,
  );
}

/** Return the levels of a base64 waveform, from 0 to 1, as a fixed number of bars. */
function readWaveform(waveform) {
  let levels;
  try {
    levels = Uint8Array.from(atob(waveform), character => character.charCodeAt(0));
  } catch {
    levels = new Uint8Array();
  }
  return Array.from({ length: BAR_COUNT }, (_, bar) => {
    const start = Math.floor((bar * levels.length) / BAR_COUNT),
      end = Math.max(start + 1, Math.floor(((bar + 1) * levels.length) / BAR_COUNT));
    return Math.max(0, ...levels.subarray(start, end)) / 255;
  });
}

/** Format a duration as minutes and seconds. */
export function formatSeconds(seconds) {
  const wholeSeconds = Math.floor(seconds);
  return `${Math.floor(wholeSeconds / 60)}:${String(wholeSeconds % 60).padStart(2, "0")}`;
}
