/** The page that deletes the account, after the user has transferred or deleted all owned guilds. */

import { h } from "../ui/dom.js";
import { guildIcon } from "../content/avatars.js";
import { clearStorage } from "../network/browser_storage.js";
import { openLoginPage } from "../network/login.js";
import { t } from "../ui/translation.js";
import { openActionDialog } from "../settings/forms/form.js";
import { actionButton, listEntry, settingsSection } from "../settings/forms/layout.js";
import { deleteGuild, transferControls } from "../settings/ownership.js";
import { codeSetting, currentPasswordSetting } from "./credential_fields.js";

const TITLE = t("Delete account");

/** Open the page; `leave` returns to the account screen. */
export function openDeletion(view, leave) {
  const { state } = view.context;
  const listOwnedGuilds = () => [...state.guilds.values()].filter(guild => guild.owner_id === state.me.id);
  const idsOf = guilds => guilds.map(({ id }) => id).join();
  const ownedGuilds = listOwnedGuilds();
  const reopen = () => openDeletion(view, leave);
  view.onChange(({ kind }) => {
    if (kind === "guilds" && idsOf(listOwnedGuilds()) !== idsOf(ownedGuilds)) reopen();
  });
  view.openPage(
    TITLE,
    t("Account"),
    leave,
    h(
      "div",
      { class: "settings-form" },
      settingsSection(
        t("1. Your guilds"),
        ownedGuilds.length
          ? [
              h(
                "p",
                null,
                t("Someone else must own these guilds, or they must be deleted, before you can delete your account."),
              ),
              h(
                "ul",
                { class: "settings-list", "aria-label": t("Guilds that you own") },
                ownedGuilds.map(guild => guildEntry(view, guild, reopen)),
              ),
            ]
          : h("p", null, t("You do not own a guild.")),
      ),
      settingsSection(
        t("2. Your account"),
        h(
          "ul",
          { class: "plain-list" },
          h("li", null, t("You leave all guilds and groups immediately.")),
          h("li", null, t("Connected games and apps lose access to your account.")),
          h("li", null, t("Your messages stay, attributed to “Deleted User”.")),
          h("li", null, t("Your username becomes available to others.")),
        ),
        h(
          "div",
          { class: "row" },
          actionButton(t("Delete account"), () => deleteAccount(view), {
            isDangerous: true,
            denialReason: ownedGuilds.length ? t("Transfer or delete your guilds first.") : null,
          }),
          ownedGuilds.length ? h("span", { class: "muted small" }, t("Transfer or delete your guilds first.")) : null,
        ),
      ),
    ),
  );
}

function guildEntry(view, guild, reopen) {
  const guildView = { context: view.context, guildId: guild.id, guild };
  const transfer = () =>
    view.openPage(t("Transfer {name}", { name: guild.name }), TITLE, reopen, transferControls(guildView, null, reopen));
  return listEntry({
    image: guildIcon(guild),
    title: guild.name,
    details: [guild.member_count === 1 ? t("You are the only member.") : null],
    actions: [
      actionButton(t("Transfer"), transfer, { name: t("Transfer {name}", { name: guild.name }) }),
      actionButton(t("Delete"), async () => (await deleteGuild(guildView)) && reopen(), {
        isDangerous: true,
        name: t("Delete {name}", { name: guild.name }),
      }),
    ],
  });
}

async function deleteAccount({ context }) {
  const { api, state } = context;
  const fields = { password: currentPasswordSetting() };
  if (state.me.mfa_enabled) fields.code = codeSetting(t("From your authenticator, or a backup code."));
  const isDone = await openActionDialog({
    title: t("Delete {name}?", { name: state.me.username }),
    text: t("This cannot be undone."),
    label: TITLE,
    fields,
    run: values => api.request("POST", "/users/@me/delete", { json: values }),
  });
  if (!isDone) return;
  clearStorage();
  openLoginPage();
}
