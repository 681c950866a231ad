/** The bar of the current call, with its state and controls: below the channels, and above the view on narrow screens. */

import { iconButton } from "../ui/controls.js";
import { h, icon, setChildren } from "../ui/dom.js";
import { LayoutPart } from "../ui/layout_part.js";
import { openMenu } from "../ui/popups.js";
import { channelPath } from "../ui/router.js";
import { t } from "../ui/translation.js";
import { channelTitle } from "../content/avatars.js";
import { getCalls } from "../voice/calls.js";
import { applicationName } from "../games/game_images.js";
import { canShareScreen } from "../voice/support.js";
import { findCallChannel } from "./places.js";
import { openCallDetails, openVoiceSettings } from "./dialogs.js";

const STATE_LABELS = {
  connecting: t("Connecting…"),
  connected: t("Voice connected"),
  reconnecting: t("Reconnecting…"),
};

/** Round trips below these limits make a good or a fair connection. */
const GOOD_ROUND_TRIP_LIMIT_MS = 120;
const FAIR_ROUND_TRIP_LIMIT_MS = 300;

/** Return the state of the client's call: `connecting` (also before the call has a connection), `connected` or `reconnecting`. */
export function callState(calls) {
  return calls.call?.state ?? "connecting";
}

/**
 * Return the buttons of a call: mute, deafen, camera, screen, settings and leave. A listener has no buttons for
 * microphone, camera and screen.
 *
 * @param {{hasVideo?: boolean, isListener?: boolean, extraButtons?: any[]}} [options] `extraButtons` come before Leave
 */
export function callButtons(context, { hasVideo = true, isListener = false, extraButtons = [] } = {}) {
  const calls = getCalls(context);
  const { muted, deaf } = calls.devices.settings;
  const { video } = calls;
  const toggle = (name, label, pressed, onClick) =>
    iconButton(name, label, onClick, { "aria-pressed": String(pressed), dataset: { focus: name.replace("_off", "") } });
  const hasButton = type => hasVideo && !isListener && hasVideoButton(context, type);
  return [
    !isListener &&
      toggle(
        muted || deaf ? "microphone_off" : "microphone",
        muted || deaf ? t("Unmute") : t("Mute"),
        muted || deaf,
        () => calls.setMuted(!(muted || deaf)),
      ),
    toggle(deaf ? "ears_off" : "ears", deaf ? t("Undeafen") : t("Deafen"), deaf, () => calls.setDeaf(!deaf)),
    hasButton("video") &&
      toggle(
        "camera",
        video.type === "video" ? t("Turn off camera") : t("Turn on camera"),
        video.type === "video",
        () => calls.toggleVideo("video"),
      ),
    hasButton("screen") &&
      toggle("screen", video.type === "screen" ? t("Stop sharing") : t("Share screen"), video.type === "screen", () =>
        calls.toggleVideo("screen"),
      ),
    iconButton("settings", t("Voice settings"), () => openVoiceSettings(context), { dataset: { focus: "settings" } }),
    ...extraButtons,
    iconButton("hang_up", t("Leave voice"), () => calls.leave(), {
      class: "icon-button hang-up",
      dataset: { focus: "leave" },
    }),
  ];
}

/** Return whether the user sends their camera (`video`) or screen (`screen`), or may do so in the call with this browser. */
function hasVideoButton(context, type) {
  const calls = getCalls(context);
  return calls.video.type === type || (calls.allowsVideo && (type === "video" || canShareScreen()));
}

class CallBar extends LayoutPart {
  static kinds = ["call", "voiceStates", "channels", "guilds"];

  draw() {
    const { state } = this.context;
    const calls = getCalls(this.context);
    const callId = calls.channelId;
    const channel = findCallChannel(this.context, callId);
    const lobby = state.lobbies.get(callId);
    const isShown = channel !== null || lobby !== undefined;
    this.hidden = !isShown;
    const { muted, deaf } = calls.devices.settings;
    const connectionState = callState(calls);
    const quality = qualityOf(calls);
    const ownState = state.voiceStatesIn(callId).find(({ user_id: id }) => id === this.context.me.id);
    const isListener = ownState?.suppress ?? false;
    const version = JSON.stringify([
      callId,
      channel?.id,
      channel?.name,
      muted,
      deaf,
      connectionState,
      quality,
      calls.video.type,
      isListener,
      hasVideoButton(this.context, "video"),
      hasVideoButton(this.context, "screen"),
    ]);
    if (this.dataset.version === version) return;
    this.dataset.version = version;
    const focusedName = this.contains(document.activeElement)
      ? /** @type {HTMLElement} */ (document.activeElement).dataset.focus
      : undefined;
    if (!isShown) setChildren(this);
    else
      setChildren(
        this,
        h(
          "div",
          { class: `call-bar ${connectionState}`, role: "group", "aria-label": t("Voice") },
          h(
            "div",
            { class: "call-status" },
            h(
              "button",
              {
                type: "button",
                class: "icon-button",
                "aria-label": t("Connection: {quality}. Show details", { quality: quality.label }),
                title: t("Connection: {quality}", { quality: quality.label }),
                dataset: { focus: "quality" },
                onclick: () => openCallDetails(this.context),
              },
              signalIcon(quality.level),
            ),
            h(
              channel === null ? "span" : "a",
              { href: channel && channelPath(channel), class: "call-channel", dataset: { focus: "place" } },
              h("strong", null, STATE_LABELS[connectionState]),
              h(
                "span",
                { class: "muted small", dir: "auto" },
                channel === null ? applicationName(this.context, lobby.application_id) : this.#placeName(channel),
              ),
            ),
          ),
          h(
            "div",
            { class: "call-buttons" },
            callButtons(this.context, { hasVideo: false, isListener }),
            this.#moreButton(isListener),
          ),
        ),
      );
    if (focusedName) /** @type {HTMLElement | null} */ (this.querySelector(`[data-focus="${focusedName}"]`))?.focus();
  }

  #placeName(channel) {
    const guild = this.context.state.guilds.get(channel.guild_id);
    const title = channelTitle(channel, this.context.state);
    return guild ? `${title} · ${guild.name}` : title;
  }

  #moreButton(isListener) {
    const calls = getCalls(this.context);
    const hasItem = type => !isListener && hasVideoButton(this.context, type);
    const videoItem = (type, startLabel, stopLabel) => ({
      label: calls.video.type === type ? stopLabel : startLabel,
      icon: type === "video" ? "camera" : "screen",
      onClick: () => calls.toggleVideo(type),
    });
    return iconButton(
      "more",
      t("More call options"),
      event =>
        openMenu(event.currentTarget, t("Call"), [
          hasItem("video") && videoItem("video", t("Turn on camera"), t("Turn off camera")),
          hasItem("screen") && videoItem("screen", t("Share screen"), t("Stop sharing")),
          { label: t("Privacy code and statistics"), icon: "lock", onClick: () => openCallDetails(this.context) },
        ]),
      { "aria-haspopup": "menu", dataset: { focus: "more" } },
    );
  }
}

/** Return the quality of the connection: a level from 0 to 3 and a label. */
export function qualityOf(calls) {
  if (callState(calls) !== "connected") return { level: 0, label: t("not connected") };
  const { roundTripMs } = calls.call;
  if (roundTripMs === null || roundTripMs < GOOD_ROUND_TRIP_LIMIT_MS) return { level: 3, label: t("good") };
  return roundTripMs < FAIR_ROUND_TRIP_LIMIT_MS ? { level: 2, label: t("fair") } : { level: 1, label: t("poor") };
}

function signalIcon(level) {
  const node = icon("signal");
  node.classList.add(`signal-${level}`);
  return node;
}

customElements.define("hubbub-call-bar", CallBar);
