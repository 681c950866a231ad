/** The stream or activity that a new invite opens in its voice channel. */

import { InviteTargetType } from "../../generated/enums.js";
import { isVoice } from "../../network/enums.js";
import { formField } from "../../ui/controls.js";
import { h, setChildren } from "../../ui/dom.js";
import { t } from "../../ui/translation.js";
import { ENTRY_POINT_COMMAND, fetchCommands } from "../../commands/available_commands.js";
import { activitiesEnabled } from "../../activities/availability.js";

const NO_TARGET = { label: t("Only the channel"), json: {} };

/**
 * Return a field whose value is the part of the request that names the target; an empty object without a target.
 * `showChannel` offers the targets of a channel. Channels without voice have none, so they hide the field.
 *
 * @returns {import("../forms/fields.js").SettingsField & {showChannel: (channelId: string) => Promise<void>}}
 */
export function linkTargetSetting(view) {
  const { context } = view;
  const select = h("select");
  const field = formField(
    t("Opens"),
    select,
    t("The screen that a member shares in the channel, or an activity of an app in the guild."),
  );
  let targets = [NO_TARGET],
    shownChannelId = null;
  const draw = () =>
    setChildren(
      select,
      targets.map(({ label }, index) => h("option", { value: index }, label)),
    );
  draw();
  return {
    node: field.node,
    read: () => targets[Number(select.value)].json,
    write() {
      select.value = "0";
    },
    setError: field.setError,
    setDisabled(disabled) {
      select.disabled = disabled;
    },
    async showChannel(channelId) {
      shownChannelId = channelId;
      const hasVoice = isVoice(context.state.channels.get(channelId));
      field.node.hidden = !hasVoice;
      targets = hasVoice ? [NO_TARGET, ...streamTargets(view, channelId)] : [NO_TARGET];
      draw();
      if (!hasVoice) return;
      const activities = await findActivityTargets(context, channelId);
      // The user may have chosen another channel meanwhile.
      if (shownChannelId !== channelId) return;
      const { value } = select;
      targets = [...targets, ...activities];
      draw();
      select.value = value;
    },
  };
}

function streamTargets({ context, guildId }, channelId) {
  const { state } = context;
  return state
    .voiceStatesIn(channelId)
    .filter(voiceState => voiceState.self_stream)
    .map(({ user_id: id }) => ({
      label: t("Screen of {name}", { name: state.displayName(state.user(id) ?? { id }, guildId) }),
      json: { target_type: InviteTargetType.STREAM, target_user_id: id },
    }));
}

/** Return the targets of the activities that the user can start in a channel; none if they cannot be loaded. */
async function findActivityTargets({ api }, channelId) {
  if (!activitiesEnabled()) return [];
  const entries = await fetchCommands({ api, channelId }).catch(() => []);
  return entries
    .filter(({ command }) => command.type === ENTRY_POINT_COMMAND)
    .map(({ application: { id, name } }) => ({
      label: t("Activity: {name}", { name }),
      json: { target_type: InviteTargetType.EMBEDDED_APPLICATION, target_application_id: id },
    }));
}
