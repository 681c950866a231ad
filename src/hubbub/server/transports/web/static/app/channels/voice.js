/** Voice channels: their members, and joining or leaving the call. */

import { Permissions } from "../network/enums.js";
import { iconButton } from "../ui/controls.js";
import { h, icon, reconcile, setChildren } from "../ui/dom.js";
import { LayoutPart } from "../ui/layout_part.js";
import { channelPath } from "../ui/router.js";
import { userAvatar } from "../content/avatars.js";
import { getCalls } from "../voice/calls.js";

/** The panel with the user's voice channel, above the account panel. */
class VoicePanel extends LayoutPart {
  static kinds = ["voiceStates", "channels", "guilds"];

  draw() {
    const { state } = this.context;
    const ownVoiceState = state.myVoiceState();
    const channel = ownVoiceState ? state.channels.get(ownVoiceState.channel_id) : undefined;
    this.hidden = channel === undefined;
    if (channel === undefined) {
      setChildren(this);
      return;
    }
    const { self_mute: muted, self_deaf: deaf } = ownVoiceState;
    setChildren(
      this,
      h(
        "div",
        { class: "voice-panel", role: "group", "aria-label": "Voice" },
        h(
          "a",
          { href: channelPath(channel), class: "voice-where" },
          icon("voice"),
          h(
            "span",
            null,
            h("strong", null, "Voice connected"),
            h("span", { class: "soft small", dir: "auto" }, channel.name ?? "Call"),
          ),
        ),
        iconButton(
          muted ? "microphone_off" : "microphone",
          muted ? "Unmute" : "Mute",
          () => getCalls(this.context).setMuted(!muted),
          { "aria-pressed": String(muted) },
        ),
        iconButton(
          deaf ? "ears_off" : "ears",
          deaf ? "Undeafen" : "Deafen",
          () => getCalls(this.context).setDeaf(!deaf),
          { "aria-pressed": String(deaf) },
        ),
        iconButton("leave", "Leave voice", () => getCalls(this.context).leave()),
      ),
    );
  }
}

/** The members of the voice channel in view, above its messages. */
class VoiceMembers extends LayoutPart {
  static kinds = ["voiceStates", "channels", "members", "guilds"];

  begin() {
    this.members = h("ul", { class: "stage-people" });
    this.hint = h("p", { class: "soft small" });
    this.actions = h("div", { class: "row" });
    this.replaceChildren(
      h("section", { class: "stage", "aria-label": "Voice" }, this.members, this.hint, this.actions),
    );
  }

  draw() {
    const { state, channelId, guildId } = this.context;
    const channel = state.channels.get(channelId);
    if (channel === undefined) return;
    const voiceStates = state.voiceStatesIn(channelId);
    const isJoined = state.myVoiceState()?.channel_id === channelId;
    reconcile(
      this.members,
      voiceStates.map(voiceState => {
        const user = state.user(voiceState.user_id) ?? { id: voiceState.user_id, username: "Unknown user" };
        const name = state.displayName(user, guildId),
          muted = voiceState.self_mute || voiceState.mute || voiceState.suppress;
        return {
          key: voiceState.user_id,
          stamp: `${name} ${muted} ${user.avatar}`,
          build: () =>
            h(
              "li",
              null,
              userAvatar(user, name),
              h("span", { dir: "auto" }, name),
              muted ? h("span", { role: "img", "aria-label": "muted" }, icon("microphone_off")) : null,
            ),
        };
      }),
    );
    this.hint.textContent = voiceStates.length ? "" : "No one is in this voice channel.";
    const stamp = `${isJoined} ${state.can(channelId, Permissions.CONNECT)}`;
    if (this.actions.dataset.stamp === stamp) return;
    this.actions.dataset.stamp = stamp;
    setChildren(
      this.actions,
      isJoined
        ? h(
            "button",
            { type: "button", class: "button small danger", onclick: () => getCalls(this.context).leave() },
            "Leave",
          )
        : h(
            "button",
            {
              type: "button",
              class: "button small",
              disabled: !state.can(channelId, Permissions.CONNECT),
              onclick: () => getCalls(this.context).join(channel),
            },
            "Join",
          ),
    );
  }
}

customElements.define("hubbub-voice-panel", VoicePanel);
customElements.define("hubbub-voice-members", VoiceMembers);
