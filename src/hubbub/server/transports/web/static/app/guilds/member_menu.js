/** The context menu of a user: profile, direct message, relationship, removal from a group, moderation and report. */

import { ChannelType } from "../network/enums.js";
import { confirmAction } from "../ui/dialogs.js";
import { runAndReport } from "../ui/notices.js";
import { openMenu } from "../ui/popups.js";
import { t } from "../ui/translation.js";
import { reportItem } from "../reports/report_items.js";
import { openDirectMessage, openProfile, relationshipActions } from "../users/profile.js";
import { memberModerationItems } from "../settings/members/members.js";

/** Open the menu of a user; moderation is offered for members of the guild in view. */
export function openMemberMenu(anchor, context, userId) {
  const { state, guildId, me } = context;
  const user = state.user(userId) ?? state.relationships.get(userId)?.user;
  const name = user ? state.displayName(user, guildId) : t("User");
  const channel = state.channels.get(context.channelId);
  const isGroupOwner = channel?.type === ChannelType.GROUP_DM && channel.owner_id === me.id;
  openMenu(anchor, name, [
    { label: t("Show profile"), icon: "people", onClick: () => openProfile(context, userId) },
    userId !== me.id && {
      label: t("Send message"),
      icon: "send",
      onClick: () => openDirectMessage(context, userId),
    },
    ...(user && userId !== me.id ? relationshipActions(context, user) : []).map(({ label, icon, style, run }) => ({
      label,
      icon,
      isDangerous: style === "danger",
      onClick: run,
    })),
    isGroupOwner &&
      userId !== me.id && {
        label: t("Remove from group"),
        icon: "leave",
        isDangerous: true,
        onClick: () => removeFromGroup(context, channel, name, userId),
      },
    ...(guildId === null ? [] : memberModerationItems(context, guildId, userId)),
    userId !== me.id && reportItem(context, { kind: "user", id: userId }),
  ]);
}

async function removeFromGroup({ api }, channel, name, userId) {
  if (
    !(await confirmAction(
      t("Remove {name} from the group?", { name }),
      t("You can add them again later."),
      t("Remove"),
    ))
  )
    return;
  await runAndReport(() => api.request("DELETE", `/channels/${channel.id}/recipients/${userId}`));
}
