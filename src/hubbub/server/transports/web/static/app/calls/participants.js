/** Tiles of the people in a call: avatar or video, name, marks, and a ring while they speak. */

import { iconButton } from "../ui/controls.js";
import { h, icon } from "../ui/dom.js";
import { openPopup } from "../ui/popups.js";
import { userAvatar } from "../content/avatars.js";
import { getCalls } from "../voice/calls.js";

/** Return the entries of `reconcile` for the people in a channel. */
export function participantEntries(context, voiceStates) {
  const { state, guildId, me } = context;
  const calls = getCalls(context);
  const isHere = calls.channelId === context.channelId;
  return voiceStates.map(voiceState => {
    const user = state.user(voiceState.user_id) ?? { id: voiceState.user_id, username: "Unknown user" };
    const name = state.displayName(user, guildId);
    const video = isHere ? videoOf(calls, voiceState.user_id, me.id) : null;
    const marks = marksOf(voiceState);
    return {
      key: voiceState.user_id,
      stamp: JSON.stringify([name, user.avatar, marks, video?.track.id, video?.type, isHere]),
      build: () => tile(context, { user, name, marks, video, isHere }),
    };
  });
}

/** Show who speaks, without building the tiles again. */
export function showSpeaking(list, context) {
  const { call, channelId } = getCalls(context);
  const speaking = channelId === context.channelId ? (call?.speakingIds ?? new Set()) : new Set();
  for (const item of list.children) {
    const isSpeaking = speaking.has(item.dataset.key);
    if (item.classList.contains("speaking") === isSpeaking) continue;
    item.classList.toggle("speaking", isSpeaking);
    item.querySelector(".speaking-mark").textContent = isSpeaking ? "speaking" : "";
  }
}

function videoOf(calls, userId, ownId) {
  if (userId === ownId) return calls.video.track === null ? null : calls.video;
  return calls.call?.videos.get(userId) ?? null;
}

/** Return the marks of a voice state: icon and label. */
function marksOf({
  self_mute: selfMute,
  mute,
  suppress,
  self_deaf: selfDeaf,
  deaf,
  request_to_speak_timestamp: request,
}) {
  const marks = [];
  if (mute) marks.push(["microphone_off", "muted by a moderator"]);
  else if (suppress) marks.push(request ? ["hand", "wants to speak"] : ["people", "in the audience"]);
  else if (selfMute) marks.push(["microphone_off", "muted"]);
  if (deaf) marks.push(["ears_off", "deafened by a moderator"]);
  else if (selfDeaf) marks.push(["ears_off", "deafened"]);
  return marks;
}

function tile(context, { user, name, marks, video, isHere }) {
  const isOther = user.id !== context.me.id;
  return h(
    "li",
    { class: video ? "tile has-video" : "tile" },
    video ? videoElement(video, name, isOther) : h("span", { class: "tile-avatar" }, userAvatar(user, name)),
    h(
      "span",
      { class: "tile-name" },
      h("span", { dir: "auto" }, name),
      video?.type === "screen" ? h("span", { class: "muted small" }, "shares their screen") : null,
      h("span", { class: "visually-hidden speaking-mark" }),
      marks.map(([mark, label]) => h("span", { role: "img", "aria-label": label, title: label }, icon(mark))),
    ),
    isHere && isOther
      ? iconButton("volume", `Volume of ${name}`, event => openVolume(event.currentTarget, context, user.id, name), {
          class: "icon-button tile-volume",
          "aria-haspopup": "dialog",
        })
      : null,
    video && isOther
      ? iconButton(
          "expand",
          `Full screen: ${name}`,
          event => event.currentTarget.closest(".tile").querySelector("video").requestFullscreen?.(),
          { class: "icon-button tile-expand" },
        )
      : null,
  );
}

function videoElement({ track, type }, name, isOther) {
  const label = type === "screen" ? `Screen of ${name}` : `Camera of ${name}`;
  const element = h("video", {
    autoplay: true,
    playsinline: true,
    class: isOther || type === "screen" ? null : "mirrored",
    "aria-label": label,
  });
  // Audio has its own element; a muted video starts without a click.
  element.muted = true;
  element.srcObject = new MediaStream([track]);
  return element;
}

function openVolume(anchor, context, userId, name) {
  const { devices } = getCalls(context);
  const { volumes } = devices.settings;
  const slider = h("input", {
    type: "range",
    min: "0",
    max: "100",
    value: Math.round(100 * (volumes.get(userId) ?? 1)),
    "aria-label": `Volume of ${name}`,
    oninput: event => {
      volumes.set(userId, Number(event.currentTarget.value) / 100);
      devices.update({ volumes });
    },
  });
  openPopup(anchor, h("div", { class: "volume", role: "dialog", "aria-label": `Volume of ${name}` }, slider), {
    focus: slider,
  });
}
