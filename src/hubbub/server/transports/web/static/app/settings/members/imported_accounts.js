/** Guild settings: placeholder accounts of an imported guild, with the links that their users claim them with. */

import { PLACEHOLDERS_PAGE_MAX } from "../../generated/limits.js";
import { Permissions } from "../../network/enums.js";
import { copyText } from "../../ui/clipboard.js";
import { h, setChildren } from "../../ui/dom.js";
import { runAndReport } from "../../ui/notices.js";
import { t } from "../../ui/translation.js";
import { loadAndShow } from "../forms/content_loader.js";
import { actionButton, listEntry, lockedNotice } from "../forms/layout.js";

/** @type {import("../forms/settings_dialog.js").SettingsScreen} */
export const IMPORTED_ACCOUNTS_SCREEN = {
  id: "imported-accounts",
  label: t("Imported accounts"),
  icon: "download",
  build,
};

function build(view) {
  const { context, guildId } = view;
  const denialReason = view.access.findDenialReason(Permissions.ADMINISTRATOR);
  if (denialReason !== null)
    return lockedNotice(t("You cannot see imported accounts. {reason}", { reason: denialReason }));
  const load = afterId =>
    context.api.request("GET", `/guilds/${guildId}/placeholders`, { query: afterId ? { after: afterId } : undefined });
  return loadAndShow(
    view,
    IMPORTED_ACCOUNTS_SCREEN.label,
    () => load(null),
    accounts => buildList(context, accounts, load),
  );
}

function buildList(context, firstAccounts, load) {
  const list = h("ul", { class: "settings-list" });
  const moreRow = h("div", { class: "row" });
  const add = accounts => {
    list.append(...accounts.map(account => accountEntry(context, account)));
    const lastAccount = accounts.at(-1);
    const showMore = () => runAndReport(async () => add(await load(lastAccount.user_id)));
    setChildren(
      moreRow,
      accounts.length === PLACEHOLDERS_PAGE_MAX
        ? h("button", { type: "button", class: "button small quiet", onclick: showMore }, t("Show more"))
        : null,
    );
  };
  add(firstAccounts);
  return [
    h(
      "p",
      { class: "hint settings-intro" },
      t("Users of another server are placeholder accounts until they are claimed."),
    ),
    h("p", { class: "hint" }, t("Give each user the link of their own account. It gives the roles of the account.")),
    firstAccounts.length
      ? list
      : h("p", { class: "muted", role: "status" }, t("This guild has no unclaimed accounts.")),
    moreRow,
  ];
}

function accountEntry({ webUrl }, { username, code }) {
  const copy = () => copyText(`${webUrl}/claim/${code}`, t("Link copied."));
  return listEntry({
    title: username,
    details: [code],
    actions: [actionButton(t("Copy link"), copy, { name: t("Copy link: {name}", { name: username }) })],
  });
}
