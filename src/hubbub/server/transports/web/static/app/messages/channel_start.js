/** The row before the oldest message of a channel: its name, its topic, and a button that invites people. */

import { ChannelType, Permissions, isThread } from "../network/enums.js";
import { h, icon } from "../ui/dom.js";
import { t } from "../ui/translation.js";
import { channelIconName, channelTitle, conversationIcon } from "../content/avatars.js";
import { openInviteLink } from "../guilds/menu.js";

/** Build the row, or one that explains why older messages are missing. */
export function buildBeginning(context) {
  const { state, channelId } = context;
  const channel = state.channels.get(channelId);
  const canReadHistory = state.can(channelId, Permissions.READ_MESSAGE_HISTORY);
  if (channel === undefined || !canReadHistory)
    return h(
      "li",
      { class: "beginning" },
      h("p", { class: "muted" }, t("You do not have permission to read older messages.")),
    );
  const title = channelTitle(channel, state);
  return h(
    "li",
    { class: "beginning" },
    channel.guild_id
      ? h("span", { class: "beginning-icon", "aria-hidden": "true" }, icon(channelIconName(channel)))
      : conversationIcon(channel, title),
    h("p", { class: "beginning-title", dir: "auto" }, channel.guild_id && !isThread(channel) ? `#${title}` : title),
    h("p", { class: "muted" }, beginningText(channel)),
    channel.topic ? h("p", { class: "muted message-text", dir: "auto" }, channel.topic) : null,
    channel.guild_id && !isThread(channel) && state.can(channelId, Permissions.CREATE_INSTANT_INVITE)
      ? h(
          "button",
          { type: "button", class: "button quiet small", onclick: () => openInviteLink(context, channel) },
          icon("invite"),
          t("Invite people"),
        )
      : null,
  );
}

/** Return the text at the beginning of a channel, thread or conversation. */
function beginningText(channel) {
  if (isThread(channel)) return t("This is the beginning of the thread.");
  if (channel.guild_id) return t("This is the beginning of the channel.");
  if (channel.type === ChannelType.GROUP_DM) return t("This is the beginning of the group.");
  return t("This is the beginning of your conversation.");
}
