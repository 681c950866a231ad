/** Guild settings: the list of banned users, whose bans can be lifted. */

import { Permissions } from "../network/enums.js";
import { h, setChildren } from "../ui/dom.js";
import { runAndReport, showNotice } from "../ui/notices.js";
import { userAvatar } from "../content/avatars.js";
import { openActionDialog } from "./form.js";
import { actionButton, listEntry, lockedNotice } from "./layout.js";

const PAGE_SIZE = 100;

/** @type {import("./settings_dialog.js").SettingsScreen} */
export const BANS_SCREEN = { id: "bans", label: "Bans", icon: "block", build };

function build(view) {
  const { context, guildId, access } = view;
  const denialReason = access.findDenialReason(Permissions.BAN_MEMBERS);
  if (denialReason !== null) return lockedNotice(`You cannot see the bans. ${denialReason}`);
  /** Listed bans by user ID. */
  const bans = new Map();
  const list = h("ul", { class: "settings-list", "aria-label": "Bans" });
  const status = h("p", { class: "muted", role: "status" }, "Loading…");
  const moreButton = h(
    "button",
    { type: "button", class: "button small quiet settings-more", hidden: true, onclick: () => fetchPage() },
    "Show more",
  );
  const draw = () => {
    status.textContent = bans.size ? "" : "There are no bans. You can ban members under “Members”.";
    setChildren(
      list,
      [...bans.values()].map(ban => banEntry(view, ban, () => bans.delete(ban.user.id) && draw())),
    );
  };
  const fetchPage = () =>
    runAndReport(async () => {
      const query = { limit: PAGE_SIZE, after: [...bans.keys()].at(-1) };
      const found = await context.api.request("GET", `/guilds/${guildId}/bans`, { query });
      for (const ban of found) bans.set(ban.user.id, ban);
      moreButton.hidden = found.length < PAGE_SIZE;
      draw();
    });
  fetchPage();
  return [status, list, moreButton];
}

function banEntry({ context, guildId }, ban, onUnbanned) {
  const name = ban.user.global_name || ban.user.username;
  const unban = async () => {
    const isDone = await openActionDialog({
      title: `Lift the ban on ${name}?`,
      text: "They can join again with an invite.",
      label: "Lift ban",
      danger: false,
      run: () => context.api.request("DELETE", `/guilds/${guildId}/bans/${ban.user.id}`),
    });
    if (!isDone) return;
    onUnbanned();
    showNotice(`${name} can join again.`, "done");
  };
  return listEntry({
    mark: userAvatar(ban.user, name),
    title: name,
    details: [`@${ban.user.username}`, ban.reason ? `Reason: ${ban.reason}` : "No reason given"],
    actions: [actionButton("Lift ban", unban, { name: `Lift ban on ${name}` })],
  });
}
