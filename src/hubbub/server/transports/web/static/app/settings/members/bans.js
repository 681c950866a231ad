/** Guild settings: the list of banned users, whose bans can be lifted. */

import { Permissions } from "../../network/enums.js";
import { h, setChildren } from "../../ui/dom.js";
import { runAndReport, showNotice } from "../../ui/notices.js";
import { t } from "../../ui/translation.js";
import { userAvatar } from "../../content/avatars.js";
import { openActionDialog } from "../forms/form.js";
import { actionButton, listEntry, lockedNotice } from "../forms/layout.js";

const PAGE_SIZE = 100;

/** @type {import("../forms/settings_dialog.js").SettingsScreen} */
export const BANS_SCREEN = { id: "bans", label: t("Bans"), icon: "block", build };

function build(view) {
  const { context, guildId, access } = view;
  const denialReason = access.findDenialReason(Permissions.BAN_MEMBERS);
  if (denialReason !== null) return lockedNotice(t("You cannot see the bans. {reason}", { reason: denialReason }));
  /** Listed bans by user ID. */
  const bans = new Map();
  const list = h("ul", { class: "settings-list", "aria-label": t("Bans") });
  const status = h("p", { class: "muted", role: "status" }, t("Loading…"));
  const moreButton = h(
    "button",
    { type: "button", class: "button small quiet settings-more", hidden: true, onclick: () => fetchPage() },
    t("Show more"),
  );
  const drawBans = () => {
    status.textContent = bans.size ? "" : t("There are no bans. You can ban members under “Members”.");
    setChildren(
      list,
      [...bans.values()].map(ban => banEntry(view, ban, () => bans.delete(ban.user.id) && drawBans())),
    );
  };
  const fetchPage = () =>
    runAndReport(async () => {
      const query = { limit: PAGE_SIZE, after: [...bans.keys()].at(-1) };
      const loadedBans = await context.api.request("GET", `/guilds/${guildId}/bans`, { query });
      for (const ban of loadedBans) bans.set(ban.user.id, ban);
      moreButton.hidden = loadedBans.length < PAGE_SIZE;
      drawBans();
    });
  fetchPage();
  return [status, list, moreButton];
}

function banEntry({ context, guildId }, ban, onUnbanned) {
  const name = ban.user.global_name || ban.user.username;
  const unban = async () => {
    const isDone = await openActionDialog({
      title: t("Lift the ban on {name}?", { name }),
      text: t("They can join again with an invite."),
      label: t("Lift ban"),
      isDangerous: false,
      run: () => context.api.request("DELETE", `/guilds/${guildId}/bans/${ban.user.id}`),
    });
    if (!isDone) return;
    onUnbanned();
    showNotice(t("{name} can join again.", { name }), "done");
  };
  return listEntry({
    image: userAvatar(ban.user, name),
    title: name,
    details: [
      `@${ban.user.username}`,
      ban.reason ? t("Reason: {reason}", { reason: ban.reason }) : t("No reason given"),
    ],
    actions: [actionButton(t("Lift ban"), unban, { name: t("Lift ban on {name}", { name }) })],
  });
}
