/** User settings: the users that the current user has blocked, with buttons that unblock them. */

import { RelationshipType } from "../network/enums.js";
import { h, reconcile } from "../ui/dom.js";
import { showNotice } from "../ui/notices.js";
import { t } from "../ui/translation.js";
import { userAvatar } from "../content/avatars.js";
import { removeRelationship } from "../users/profile.js";
import { actionButton, listEntry, statusLine } from "../settings/forms/layout.js";

/** @type {import("../settings/forms/settings_dialog.js").SettingsScreen} */
export const BLOCKED_SCREEN = { id: "blocked", label: t("Blocked people"), icon: "block", build };

function build(view) {
  const { context } = view;
  const { state } = context;
  const list = h("ul", { class: "settings-list", "aria-label": t("Blocked people") });
  const status = statusLine("");
  const drawBlockedUsers = () => {
    const blockedUsers = [...state.relationships.values()].filter(({ type }) => type === RelationshipType.BLOCKED);
    status.textContent = blockedUsers.length
      ? t("They cannot message you, and their messages in guilds are hidden.")
      : t("You have not blocked anyone. You can block people in their profile.");
    reconcile(
      list,
      blockedUsers.map(({ id, user }) => entry(user ?? state.user(id) ?? { id, username: t("Unknown user") })),
    );
  };
  const entry = user => {
    const name = state.displayName(user, null);
    const unblock = async () => {
      if (!(await removeRelationship(context, user.id))) return;
      showNotice(t("You unblocked {name}.", { name }), "done");
      view.main.focus();
    };
    return {
      key: user.id,
      version: JSON.stringify([name, user.avatar]),
      build: () =>
        listEntry({
          image: userAvatar(user, name),
          title: name,
          details: [`@${user.username}`],
          actions: [actionButton(t("Unblock"), unblock, { name: t("Unblock {name}", { name }) })],
        }),
    };
  };
  view.onChange(({ kind }) => (kind === "relationships" || kind === "ready") && drawBlockedUsers());
  drawBlockedUsers();
  return [status, list];
}
