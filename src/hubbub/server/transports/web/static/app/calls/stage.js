/** Stage channels: requesting to speak, and moving between audience and speakers. */

import { ChannelType, Permissions } from "../network/enums.js";
import { h, icon } from "../ui/dom.js";
import { runAndReport } from "../ui/notices.js";
import { t } from "../ui/translation.js";

/** Return the buttons of a stage for the user's own voice state; none in other channels. */
export function stageButtons(context, channel, ownState) {
  if (channel.type !== ChannelType.GUILD_STAGE_VOICE || ownState === undefined) return [];
  const { state, api } = context;
  const changeVoiceState = changes =>
    runAndReport(() =>
      api.request("PATCH", `/guilds/${channel.guild_id}/voice-states/@me`, {
        json: { channel_id: channel.id, ...changes },
      }),
    );
  const button = (iconName, label, changes, isPressed) =>
    h(
      "button",
      {
        type: "button",
        class: "button small quiet",
        "aria-pressed": isPressed === undefined ? null : String(isPressed),
        dataset: { focus: "stage" },
        onclick: () => changeVoiceState(changes),
      },
      icon(iconName),
      label,
    );
  if (!ownState.suppress) return [button("people", t("Move to audience"), { suppress: true })];
  if (state.can(channel.id, Permissions.MUTE_MEMBERS)) return [button("microphone", t("Speak"), { suppress: false })];
  const hasRequested = Boolean(ownState.request_to_speak_timestamp);
  return [
    button(
      "hand",
      hasRequested ? t("Cancel request to speak") : t("Request to speak"),
      { request_to_speak_timestamp: hasRequested ? null : new Date().toISOString() },
      hasRequested,
    ),
  ];
}
