/** The call of the channel in view, above its messages: people, controls, and what is missing to join. */

import { ChannelType, Permissions, isPrivate } from "../network/enums.js";
import { h, icon, reconcile, setChildren } from "../ui/dom.js";
import { LayoutPart } from "../ui/layout_part.js";
import { getCalls } from "../voice/calls.js";
import { callObstacle } from "../voice/support.js";
import { callButtons, callState } from "./call_bar.js";
import { openCallDetails } from "./call_details.js";
import { participantEntries, showSpeaking } from "./participants.js";
import { declineCall, privateCall } from "./private_calls.js";
import { stageButtons } from "./stage.js";

class CallView extends LayoutPart {
  static kinds = ["call", "calls", "voiceStates", "channels", "members", "guilds"];

  begin() {
    this.tiles = h("ul", { class: "tiles" });
    this.hint = h("p", { class: "muted small call-hint", role: "status" });
    this.actions = h("div", { class: "call-actions" });
    this.section = h("section", { class: "call-view", "aria-label": "Call" }, this.tiles, this.hint, this.actions);
    this.replaceChildren(this.section);
  }

  draw() {
    const { state, channelId } = this.context;
    const channel = state.channels.get(channelId);
    if (channel === undefined) return;
    const calls = getCalls(this.context);
    const voiceStates = state.voiceStatesIn(channelId);
    const ringing = isPrivate(channel) ? privateCall(this.context, channelId) : null;
    this.hidden = isPrivate(channel) && ringing === null && calls.channelId !== channelId;
    const isHere = calls.channelId === channelId;
    reconcile(this.tiles, participantEntries(this.context, voiceStates));
    showSpeaking(this.tiles, this.context);
    this.section.classList.toggle("joined", isHere);
    this.tiles.classList.toggle("with-video", this.tiles.querySelector("video") !== null);
    this.hint.textContent = this.#hintText(channel, voiceStates, isHere, calls);
    this.#drawActions(channel, calls, isHere, ringing);
  }

  /** Return the sentence below the people: what is missing, or the state of the call. */
  #hintText(channel, voiceStates, isHere, calls) {
    const obstacle = callObstacle();
    if (!isHere && obstacle !== null) return obstacle;
    if (!isHere && channel.guild_id && !this.context.state.can(channel.id, Permissions.CONNECT))
      return "You do not have permission to join this channel.";
    if (!isHere && !voiceStates.length && channel.guild_id)
      return channel.type === ChannelType.GUILD_STAGE_VOICE
        ? "No one is on this stage."
        : "No one is in this voice channel.";
    if (isHere && callState(calls) === "reconnecting") return "The connection was lost. Reconnecting…";
    if (isHere && calls.devices.microphone.track === null && !calls.devices.settings.muted)
      return "Others cannot hear you, because no microphone is open.";
    return "";
  }

  #drawActions(channel, calls, isHere, ringing) {
    const { state, me } = this.context;
    const { muted, deaf } = calls.devices.settings;
    const canConnect = callObstacle() === null && (!channel.guild_id || state.can(channel.id, Permissions.CONNECT));
    const ownState = state.voiceStatesIn(channel.id).find(voiceState => voiceState.user_id === me.id);
    const isRinging = ringing?.ringing?.includes(me.id) ?? false;
    const isEncrypted = isHere && (calls.call?.isEncrypted ?? false);
    const stamp = JSON.stringify([
      isHere,
      canConnect,
      muted,
      deaf,
      calls.video.type,
      isRinging,
      isEncrypted,
      ownState?.suppress,
      ownState?.request_to_speak_timestamp,
    ]);
    if (this.actions.dataset.stamp === stamp) return;
    this.actions.dataset.stamp = stamp;
    const focused = this.actions.contains(document.activeElement)
      ? /** @type {HTMLElement} */ (document.activeElement).dataset.focus
      : undefined;
    if (isHere)
      setChildren(
        this.actions,
        h("div", { class: "call-buttons" }, callButtons(this.context)),
        stageButtons(this.context, channel, ownState),
        h(
          "button",
          {
            type: "button",
            class: "button quiet small privacy-button",
            dataset: { focus: "privacy" },
            onclick: () => openCallDetails(this.context),
          },
          icon("lock"),
          isEncrypted ? "End-to-end encrypted" : "Privacy code",
        ),
      );
    else
      setChildren(
        this.actions,
        h(
          "button",
          { type: "button", class: "button small", disabled: !canConnect, onclick: () => calls.join(channel) },
          "Join",
        ),
        isRinging
          ? h(
              "button",
              { type: "button", class: "button small quiet", onclick: () => declineCall(this.context, channel.id) },
              "Decline",
            )
          : null,
      );
    if (focused) /** @type {HTMLElement | null} */ (this.actions.querySelector(`[data-focus="${focused}"]`))?.focus();
  }
}

customElements.define("hubbub-call-view", CallView);
