/** Shared screens: the viewers that their owner sees, and the preview of a screen that the user stopped watching. */

import { iconButton } from "../ui/controls.js";
import { h, icon } from "../ui/dom.js";
import { openPopup } from "../ui/popups.js";
import { t, tn } from "../ui/translation.js";
import { getCalls } from "../voice/calls.js";

/** Width of a preview in pixels. */
const PREVIEW_WIDTH = 480;

/** Return whether the user stopped watching a screen. */
export function isUnwatched(context, userId) {
  return getCalls(context).call?.unwatched.has(userId) ?? false;
}

/** Return the button that stops watching a screen; its last frame becomes the preview. */
export function stopWatchingButton(context, userId, name) {
  return iconButton(
    "close",
    t("Stop watching {name}", { name }),
    event => {
      const video = event.currentTarget.closest(".tile").querySelector("video");
      getCalls(context).call?.setWatching(userId, false, video && drawPreview(video));
    },
    { dataset: { focus: "watch" } },
  );
}

/** Return the preview of a screen that the user stopped watching, with the button that watches it again. */
export function screenPreview(context, userId, name) {
  const { call } = getCalls(context);
  return h(
    "div",
    { class: "screen-preview" },
    call?.unwatched.get(userId) ?? null,
    h(
      "button",
      {
        type: "button",
        class: "button small",
        "aria-label": t("Watch the screen of {name}", { name }),
        dataset: { focus: "watch" },
        onclick: () => call?.setWatching(userId, true),
      },
      t("Watch"),
    ),
  );
}

/** Return a canvas with the current frame of a video. The frame stays in this page: the server receives no unencrypted image. */
function drawPreview(video) {
  const width = Math.min(PREVIEW_WIDTH, video.videoWidth || PREVIEW_WIDTH);
  const height = Math.round((width * (video.videoHeight || 9)) / (video.videoWidth || 16));
  const canvas = h("canvas", { width, height, "aria-hidden": "true" });
  canvas.getContext("2d")?.drawImage(video, 0, 0, width, height);
  return canvas;
}

/** Return the button with the number of viewers of the user's own screen; it lists their names. */
export function viewersButton(context) {
  return h(
    "button",
    {
      type: "button",
      class: "viewers",
      "aria-haspopup": "dialog",
      dataset: { focus: "viewers" },
      onclick: event => openViewers(event.currentTarget, context),
    },
    icon("people"),
    h("span", { class: "viewer-count" }),
  );
}

/** Update the number of viewers in the tile of the user's own screen. */
export function updateViewers(context, tile) {
  const label = tile.querySelector(".viewer-count");
  if (label === null) return;
  const count = getCalls(context).call?.viewerIds.length ?? 0;
  const text = tn("{count} viewer", "{count} viewers", count);
  if (label.textContent !== text) label.textContent = text;
}

function openViewers(anchor, context) {
  const { state, guildId } = context;
  const names = (getCalls(context).call?.viewerIds ?? []).map(id =>
    state.displayName(state.user(id) ?? { id }, guildId),
  );
  const node = h(
    "div",
    { class: "menu viewer-list", role: "dialog", "aria-label": t("Viewers"), tabindex: "-1" },
    names.length
      ? h(
          "ul",
          null,
          names.map(name => h("li", { dir: "auto" }, name)),
        )
      : h("p", { class: "muted" }, t("No one is watching your screen.")),
  );
  openPopup(anchor, node, { focus: node });
}
