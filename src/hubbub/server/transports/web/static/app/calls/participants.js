/** Tiles of the participants of a call: avatar or video, name, indicators, and a border while they speak. */

import { iconButton } from "../ui/controls.js";
import { h, icon, setChildren } from "../ui/dom.js";
import { runAndReport } from "../ui/notices.js";
import { t } from "../ui/translation.js";
import { userAvatar } from "../content/avatars.js";
import { getCalls } from "../voice/calls.js";
import { callIdOf } from "./places.js";
import { canFullscreen, toggleFullscreen } from "./layout.js";
import { openParticipantOptions } from "./dialogs.js";
import { isUnwatched, screenPreview, stopWatchingButton, updateViewers, viewersButton } from "./screen_shares.js";

/** Return the entries for `reconcile`: one tile per participant. `updateTiles` updates names and adds indicators. */
export function participantEntries(context, voiceStates) {
  const { me } = context;
  const calls = getCalls(context);
  const hasJoined = calls.channelId === callIdOf(context, context.state.channels.get(context.channelId));
  return voiceStates.map(({ user_id: userId }) => {
    const { user, name } = participantOf(context, userId);
    const video = hasJoined ? videoOf(calls, userId, me.id) : null;
    const isUnwatchedScreen = video?.type === "screen" && isUnwatched(context, userId);
    return {
      key: userId,
      // A tile with a video is built again only if the video, the avatar or its buttons change: a new element would
      // leave full screen.
      version: JSON.stringify([
        user.avatar,
        video ? null : name,
        video?.track.id,
        video?.type,
        isUnwatchedScreen,
        hasJoined,
      ]),
      build: () => tile(context, { user, name, video, isUnwatchedScreen, hasJoined }),
    };
  });
}

/**
 * Update names, indicators, speaking borders and the large tile, which is that of the user `mainId`, without building the
 * tiles again.
 */
export function updateTiles(list, context, voiceStates, mainId) {
  const { call, channelId } = getCalls(context);
  const callId = callIdOf(context, context.state.channels.get(context.channelId));
  const speakingIds = channelId === callId ? (call?.speakingIds ?? new Set()) : new Set();
  const statesById = new Map(voiceStates.map(voiceState => [voiceState.user_id, voiceState]));
  for (const tileNode of list.children) {
    const userId = tileNode.dataset.key;
    const isSpeaking = speakingIds.has(userId);
    tileNode.classList.toggle("main-tile", userId === mainId);
    updateViewers(context, tileNode);
    if (tileNode.classList.contains("speaking") !== isSpeaking) {
      tileNode.classList.toggle("speaking", isSpeaking);
      tileNode.querySelector(".speaking-mark").textContent = isSpeaking ? t("speaking") : "";
    }
    const { name } = participantOf(context, userId);
    const indicators = voiceIndicators(statesById.get(userId) ?? {});
    const label = tileNode.querySelector(".tile-name");
    const version = JSON.stringify([name, indicators]);
    if (label.dataset.version === version) continue;
    label.dataset.version = version;
    tileNode.querySelector(".tile-participant").textContent = name;
    setChildren(
      tileNode.querySelector(".tile-marks"),
      indicators.map(([iconName, text, kind]) =>
        h("span", { role: "img", class: kind, "aria-label": text, title: text }, icon(iconName)),
      ),
    );
  }
}

function participantOf({ state, guildId }, userId) {
  const user = state.user(userId) ?? { id: userId, username: t("Unknown user") };
  return { user, name: state.displayName(user, guildId) };
}

function videoOf(calls, userId, ownId) {
  if (userId === ownId) return calls.video.track === null ? null : calls.video;
  return calls.call?.videos.get(userId) ?? null;
}

/** Return the indicators of a voice state: icon, label and class of each. */
function voiceIndicators({
  self_mute: selfMute,
  mute,
  suppress,
  self_deaf: selfDeaf,
  deaf,
  request_to_speak_timestamp: requestedToSpeakAt,
}) {
  const indicators = [];
  if (mute) indicators.push(["microphone_off", t("muted by a moderator"), "off"]);
  else if (suppress)
    indicators.push(
      requestedToSpeakAt ? ["hand", t("wants to speak"), "request"] : ["people", t("in the audience"), "listener"],
    );
  else if (selfMute) indicators.push(["microphone_off", t("muted"), "off"]);
  if (deaf) indicators.push(["ears_off", t("deafened by a moderator"), "off"]);
  else if (selfDeaf) indicators.push(["ears_off", t("deafened"), "off"]);
  return indicators;
}

function tile(context, { user, name, video, isUnwatchedScreen, hasJoined }) {
  const isOther = user.id !== context.me.id;
  const tileNode = h(
    "li",
    { class: video ? "tile has-video" : "tile" },
    isUnwatchedScreen ? screenPreview(context, user.id, name) : null,
    video && !isUnwatchedScreen ? videoElement(video, name, isOther) : null,
    video ? null : h("span", { class: "tile-avatar" }, userAvatar(user, name)),
    h(
      "span",
      { class: "tile-name" },
      h("span", { class: "tile-participant", dir: "auto" }, name),
      video?.type === "screen" ? h("span", { class: "muted small" }, t("Screen")) : null,
      h("span", { class: "visually-hidden speaking-mark" }),
      h("span", { class: "tile-marks" }),
    ),
    h(
      "span",
      { class: "tile-tools" },
      video?.type === "screen" && !isOther ? viewersButton(context) : null,
      video?.type === "screen" && isOther && !isUnwatchedScreen ? stopWatchingButton(context, user.id, name) : null,
      video && !isUnwatchedScreen && canFullscreen()
        ? iconButton(
            "expand",
            t("Full screen: {name}", { name }),
            () => runAndReport(() => toggleFullscreen(tileNode)),
            {
              dataset: { focus: "expand" },
            },
          )
        : null,
      hasJoined && (isOther || video)
        ? iconButton(
            "more",
            t("Options for {name}", { name }),
            event => openParticipantOptions(event.currentTarget, context, user),
            {
              "aria-haspopup": "dialog",
              dataset: { focus: "options" },
            },
          )
        : null,
    ),
  );
  return tileNode;
}

function videoElement({ track, type }, name, isOther) {
  const label = type === "screen" ? t("Screen of {name}", { name }) : t("Camera of {name}", { name });
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
