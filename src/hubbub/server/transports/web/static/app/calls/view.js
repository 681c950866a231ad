/** The call of the channel in view, above its messages: participants, controls, and the reason why the user cannot join. */

import { ChannelType, Permissions, isPrivate, isVoice } from "../network/enums.js";
import { iconButton } from "../ui/controls.js";
import { h, icon, reconcile, setChildren } from "../ui/dom.js";
import { LayoutPart } from "../ui/layout_part.js";
import { runAndReport } from "../ui/notices.js";
import { t } from "../ui/translation.js";
import { getCalls } from "../voice/calls.js";
import { callObstacle } from "../voice/support.js";
import { callButtons, callState } from "./bar.js";
import { callIdOf, joinLobbyCall } from "./places.js";
import { openCallDetails } from "./dialogs.js";
import { canFullscreen, changeLayout, getLayout, toggleFullscreen } from "./layout.js";
import { participantEntries, updateTiles } from "./participants.js";
import { declineCall, privateCall } from "./private_calls.js";
import { soundboardButton } from "./soundboard.js";
import { stageButtons } from "./stage.js";

class CallView extends LayoutPart {
  static kinds = ["call", "calls", "voiceStates", "channels", "members", "guilds"];

  begin() {
    this.tiles = h("ul", { class: "tiles", "aria-label": t("People in the call") });
    this.audienceTitle = h("h3", { class: "audience-title" });
    this.audience = h("ul", { class: "tiles audience", "aria-label": t("Audience") });
    this.hint = h("p", { class: "muted small call-hint", role: "status" });
    this.actions = h("div", { class: "call-actions" });
    this.section = h(
      "section",
      { class: "call-view", "aria-label": t("Call") },
      h("div", { class: "call-people" }, this.tiles, this.audienceTitle, this.audience),
      h("div", { class: "call-foot" }, this.hint, this.actions),
    );
    this.replaceChildren(this.section);
  }

  draw() {
    const { state, channelId } = this.context;
    const channel = state.channels.get(channelId);
    if (channel === undefined) return;
    const calls = getCalls(this.context);
    const callId = callIdOf(this.context, channel);
    const voiceStates = state.voiceStatesIn(callId);
    const channelCall = isPrivate(channel) ? privateCall(this.context, channelId) : null;
    const hasJoined = calls.channelId === callId;
    // Only voice channels show a call that no one is in.
    this.hidden = !isVoice(channel) && channelCall === null && voiceStates.length === 0 && !hasJoined;
    this.section.classList.toggle("joined", hasJoined);
    this.#drawParticipants(channel, calls, voiceStates, hasJoined);
    this.hint.textContent =
      this.#hintText(channel, voiceStates, hasJoined, calls) || this.#ringingText(channelCall, hasJoined);
    this.#drawActions(channel, calls, voiceStates, hasJoined, channelCall);
  }

  /** Draw the tiles. The audience of a stage has smaller tiles below those of the speakers. */
  #drawParticipants(channel, calls, voiceStates, hasJoined) {
    const isStage = channel.type === ChannelType.GUILD_STAGE_VOICE;
    const speakers = isStage ? voiceStates.filter(({ suppress }) => !suppress) : voiceStates;
    const audience = isStage ? voiceStates.filter(({ suppress }) => suppress) : [];
    const ids = speakers.map(({ user_id: id }) => id);
    this.mainId = hasJoined ? getLayout(this.context).mainId(calls, ids, this.context.me.id) : null;
    for (const [list, participants, mainId] of /** @type {const} */ ([
      [this.tiles, speakers, this.mainId],
      [this.audience, audience, null],
    ])) {
      reconcile(list, participantEntries(this.context, participants));
      updateTiles(list, this.context, participants, mainId);
    }
    this.tiles.classList.toggle("with-video", this.tiles.querySelector("video, .screen-preview") !== null);
    this.tiles.classList.toggle("speaker-layout", this.mainId !== null);
    this.audienceTitle.hidden = audience.length === 0;
    this.audienceTitle.textContent = t("Audience · {count}", { count: audience.length });
  }

  /**
   * Return the hint below the tiles, or an empty text: why the user cannot join or speak, why no audio is sent, or the
   * state of the call.
   */
  #hintText(channel, voiceStates, hasJoined, calls) {
    const obstacle = callObstacle();
    if (!hasJoined && obstacle !== null) return obstacle;
    if (!hasJoined && isVoice(channel) && !this.context.state.can(channel.id, Permissions.CONNECT))
      return t("You do not have permission to join this channel.");
    if (!hasJoined && !voiceStates.length && isVoice(channel))
      return channel.type === ChannelType.GUILD_STAGE_VOICE
        ? t("No one is on this stage.")
        : t("No one is in this voice channel.");
    if (!hasJoined) return this.#lobbyHint(channel);
    if (callState(calls) === "reconnecting") return t("The connection was lost. Reconnecting…");
    if (this.#ownState(voiceStates)?.suppress)
      return channel.type === ChannelType.GUILD_STAGE_VOICE
        ? t("You are in the audience. Others cannot hear you.")
        : t("You do not have permission to speak in this channel.");
    if (calls.devices.microphone.track === null && !calls.devices.settings.muted)
      return t("Others cannot hear you, because no microphone is open.");
    if (calls.devices.hasScreenAudio && calls.devices.settings.muted)
      return t("Others do not hear the sound of your screen while you are muted.");
    if (calls.devices.settings.pushToTalk) return t("Hold the right Ctrl key to talk.");
    return "";
  }

  /** Return the hint for a channel whose call is that of a linked lobby; an empty text for other channels. */
  #lobbyHint(channel) {
    return callIdOf(this.context, channel) === channel.id ? "" : t("This is the call of your lobby in the game.");
  }

  #ringingText(channelCall, hasJoined) {
    const { state, me } = this.context;
    const ringingUserIds = hasJoined ? (channelCall?.ringing ?? []).filter(id => id !== me.id) : [];
    const names = ringingUserIds.map(id => state.displayName(state.user(id) ?? { id }, null));
    return names.length ? t("Calling {names}…", { names: names.join(", ") }) : "";
  }

  #ownState(voiceStates) {
    return voiceStates.find(({ user_id: id }) => id === this.context.me.id);
  }

  #drawActions(channel, calls, voiceStates, hasJoined, channelCall) {
    const { state, me } = this.context;
    const { muted, deaf } = calls.devices.settings;
    const canConnect = callObstacle() === null && (!isVoice(channel) || state.can(channel.id, Permissions.CONNECT));
    const ownState = this.#ownState(voiceStates);
    const isRinging = channelCall?.ringing?.includes(me.id) ?? false;
    const isEncrypted = hasJoined && (calls.call?.isEncrypted ?? false);
    const version = JSON.stringify([
      hasJoined,
      canConnect,
      // Some buttons depend on a permission.
      String(state.permissionsIn(channel.id)),
      muted,
      deaf,
      calls.video.type,
      calls.allowsVideo,
      isRinging,
      isEncrypted,
      ownState?.suppress,
      ownState?.request_to_speak_timestamp,
      voiceStates.length > 1,
      this.mainId !== null,
    ]);
    if (this.actions.dataset.version === version) return;
    this.actions.dataset.version = version;
    const focusedName = this.actions.contains(document.activeElement)
      ? /** @type {HTMLElement} */ (document.activeElement).dataset.focus
      : undefined;
    if (hasJoined)
      setChildren(
        this.actions,
        h(
          "div",
          { class: "call-buttons" },
          callButtons(this.context, {
            isListener: ownState?.suppress ?? false,
            extraButtons: [
              ownState?.suppress ? null : soundboardButton(this.context, channel),
              ...this.#layoutButtons(voiceStates),
            ],
          }),
        ),
        stageButtons(this.context, channel, ownState),
        this.#privacyButton(isEncrypted),
      );
    else setChildren(this.actions, this.#joinButtons(channel, calls, canConnect, isRinging));
    if (focusedName)
      /** @type {HTMLElement | null} */ (this.actions.querySelector(`[data-focus="${focusedName}"]`))?.focus();
  }

  #joinButtons(channel, calls, canConnect, isRinging) {
    const callId = callIdOf(this.context, channel);
    const button = (label, kind, attributes) =>
      h("button", { type: "button", class: `button small ${kind}`, ...attributes }, label);
    return [
      button(t("Join"), "", {
        disabled: !canConnect,
        onclick: () => (callId === channel.id ? calls.join(channel) : joinLobbyCall(this.context, callId)),
      }),
      isRinging ? button(t("Decline"), "quiet", { onclick: () => declineCall(this.context, channel.id) }) : null,
    ];
  }

  #layoutButtons(voiceStates) {
    const isSpeakerLayout = this.mainId !== null;
    const changeMode = () => changeLayout(this.context, { mode: isSpeakerLayout ? "grid" : "speaker", pinnedId: null });
    return [
      voiceStates.length > 1
        ? iconButton(
            isSpeakerLayout ? "grid" : "speaker",
            isSpeakerLayout ? t("Grid layout") : t("Speaker layout"),
            changeMode,
            { dataset: { focus: "layout" } },
          )
        : null,
      canFullscreen()
        ? iconButton("expand", t("Full screen"), () => runAndReport(() => toggleFullscreen(this.section)), {
            dataset: { focus: "fullscreen" },
          })
        : null,
    ];
  }

  #privacyButton(isEncrypted) {
    return h(
      "button",
      {
        type: "button",
        class: "button quiet small privacy-button",
        dataset: { focus: "privacy" },
        onclick: () => openCallDetails(this.context),
      },
      icon("lock"),
      isEncrypted ? t("End-to-end encrypted") : t("Privacy code"),
    );
  }
}

customElements.define("hubbub-call-view", CallView);
