/** User settings: the nickname in each guild. */

import { NICK_MAX } from "../generated/limits.js";
import { Permissions } from "../network/enums.js";
import { h, reconcile } from "../ui/dom.js";
import { showNotice } from "../ui/notices.js";
import { guildIcon } from "../content/avatars.js";
import { textSetting } from "../settings/fields.js";
import { openActionDialog } from "../settings/form.js";
import { actionButton, listEntry, statusLine } from "../settings/layout.js";

/** @type {import("../settings/settings_dialog.js").SettingsScreen} */
export const GUILD_NAMES_SCREEN = { id: "nicknames", label: "Nicknames", icon: "tag", build };

function build(view) {
  const { state } = view.context;
  const list = h("ul", { class: "settings-list", "aria-label": "Guilds" });
  const status = statusLine("");
  const draw = () => {
    const guilds = [...state.guilds.values()].filter(guild => !guild.unavailable && guild.name);
    status.textContent = guilds.length
      ? "Members of a guild see your nickname instead of your display name."
      : "You are not in a guild yet.";
    reconcile(
      list,
      guilds.map(guild => guildEntry(view, guild)),
    );
  };
  view.onChange(draw);
  draw();
  return [status, list];
}

function guildEntry({ context }, guild) {
  const { state } = context;
  const nick = state.member(guild.id, state.me.id)?.nick ?? null;
  const denialReason = state.canInGuild(guild.id, Permissions.CHANGE_NICKNAME)
    ? null
    : "You need the permission “Change nickname”.";
  return {
    key: guild.id,
    version: JSON.stringify([guild.name, guild.icon, nick, denialReason]),
    build: () =>
      listEntry({
        mark: guildIcon(guild),
        title: guild.name,
        details: [nick ?? "No nickname", denialReason],
        actions: [
          actionButton("Change", () => changeNick(context, guild, nick), {
            denialReason,
            name: `Change nickname in ${guild.name}`,
          }),
        ],
      }),
  };
}

/** Open the dialog that changes the nickname of the user in a guild. */
async function changeNick({ api, state }, guild, nick) {
  const field = textSetting("Nickname", {
    hint: "Leave it empty to use your display name.",
    maxlength: NICK_MAX,
    isNullable: true,
  });
  field.write(nick);
  const isDone = await openActionDialog({
    title: `Nickname in ${guild.name}`,
    label: "Save",
    danger: false,
    fields: { nick: field },
    run: async values => {
      const member = await api.request("PATCH", `/guilds/${guild.id}/members/@me`, { json: values });
      state.apply("GUILD_MEMBER_UPDATE", { ...member, guild_id: guild.id });
    },
  });
  if (isDone) showNotice("Nickname changed.", "done");
}
