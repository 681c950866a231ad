/** The context menu of a user in a channel: profile, direct message and moderation. */

import { openMenu } from "../ui/popups.js";
import { openDirectMessage, openProfile } from "../users/profile.js";
import { memberModerationItems } from "../settings/members.js";

/** Open the menu of a user; moderation is offered for members of the guild in view. */
export function openMemberMenu(anchor, context, userId) {
  const { state, guildId, me } = context;
  const user = state.user(userId);
  openMenu(anchor, user ? state.displayName(user, guildId) : "User", [
    { label: "Show profile", icon: "people", onClick: () => openProfile(context, userId) },
    userId !== me.id && {
      label: "Send message",
      icon: "send",
      onClick: () => openDirectMessage(context, userId),
    },
    ...(guildId === null ? [] : memberModerationItems(context, guildId, userId)),
  ]);
}
