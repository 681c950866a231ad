/** User settings: the nickname in each guild. */

import { NICK_MAX } from "../generated/limits.js";
import { Permissions } from "../network/enums.js";
import { h, reconcile } from "../ui/dom.js";
import { showNotice } from "../ui/notices.js";
import { t } from "../ui/translation.js";
import { guildIcon } from "../content/avatars.js";
import { textSetting } from "../settings/forms/fields.js";
import { openActionDialog } from "../settings/forms/form.js";
import { actionButton, listEntry, statusLine } from "../settings/forms/layout.js";

/** @type {import("../settings/forms/settings_dialog.js").SettingsScreen} */
export const NICKNAMES_SCREEN = { id: "nicknames", label: t("Nicknames"), icon: "tag", build };

function build(view) {
  const { state } = view.context;
  const list = h("ul", { class: "settings-list", "aria-label": t("Guilds") });
  const status = statusLine("");
  const drawGuilds = () => {
    const guilds = [...state.guilds.values()].filter(guild => !guild.unavailable && guild.name);
    status.textContent = guilds.length
      ? t("Members of a guild see your nickname instead of your display name.")
      : t("You are not in a guild yet.");
    reconcile(
      list,
      guilds.map(guild => guildEntry(view, guild)),
    );
  };
  view.onChange(drawGuilds);
  drawGuilds();
  return [status, list];
}

function guildEntry({ context }, guild) {
  const { state } = context;
  const nick = state.member(guild.id, state.me.id)?.nick ?? null;
  const denialReason = state.canInGuild(guild.id, Permissions.CHANGE_NICKNAME)
    ? null
    : t("You need the permission “Change nickname”.");
  return {
    key: guild.id,
    version: JSON.stringify([guild.name, guild.icon, nick, denialReason]),
    build: () =>
      listEntry({
        image: guildIcon(guild),
        title: guild.name,
        details: [nick ?? t("No nickname"), denialReason],
        actions: [
          actionButton(t("Change"), () => changeNick(context, guild, nick), {
            denialReason,
            name: t("Change nickname in {name}", { name: guild.name }),
          }),
        ],
      }),
  };
}

/** Open the dialog that changes the nickname of the user in a guild. */
async function changeNick({ api, state }, guild, nick) {
  const field = textSetting(t("Nickname"), {
    hint: t("Leave it empty to use your display name."),
    maxlength: NICK_MAX,
    isNullable: true,
  });
  field.write(nick);
  const isDone = await openActionDialog({
    title: t("Nickname in {name}", { name: guild.name }),
    label: t("Save"),
    isDangerous: false,
    fields: { nick: field },
    run: async values => {
      const member = await api.request("PATCH", `/guilds/${guild.id}/members/@me`, { json: values });
      state.apply("GUILD_MEMBER_UPDATE", { ...member, guild_id: guild.id });
    },
  });
  if (isDone) showNotice(t("Nickname changed."), "done");
}
