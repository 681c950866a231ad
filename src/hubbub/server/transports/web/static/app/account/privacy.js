/** User settings: friend requests, direct messages and activities that the user accepts. */

import { h } from "../ui/dom.js";
import { choiceSetting, groupSetting, switchSetting } from "../settings/fields.js";
import { SettingsForm } from "../settings/form.js";
import { settingsSection } from "../settings/layout.js";

/** Values of `InGameMessages`; 0 is the default and equals 1. */
const IN_GAME_OPTIONS = [
  [1, "From all players"],
  [2, "From players of the same game"],
  [3, "None"],
];

/** @type {import("../settings/settings_dialog.js").SettingsScreen} */
export const PRIVACY_SCREEN = { id: "privacy", label: "Privacy", icon: "lock", build };

function build(view) {
  const { context } = view;
  const guilds = [...context.state.guilds.values()].filter(guild => guild.name);
  const fields = {
    friend_source_flags: friendSources(),
    restricted_guilds: guildSwitches(guilds),
    allow_activity_party_privacy_friends: switchSetting("Friends may join my activities without asking"),
    allow_activity_party_privacy_voice_channel: switchSetting(
      "People in my voice channel may join my activities without asking",
    ),
    allow_game_friend_dms_in_platform: switchSetting("Keep messages of game friends", {
      hint: "Messages of people who are your friends only in a game appear here too.",
    }),
    slayer_sdk_receive_dms_in_game: choiceSetting("Messages shown in games", IN_GAME_OPTIONS),
  };
  const values = ({ slayer_sdk_receive_dms_in_game: inGame, ...settings }) => ({
    ...settings,
    slayer_sdk_receive_dms_in_game: inGame || 1,
  });
  const form = new SettingsForm(fields, values(context.state.settings), {
    save: async changes => {
      const settings = await context.api.request("PATCH", "/users/@me/settings", { json: changes });
      context.state.apply("USER_SETTINGS_UPDATE", settings);
      return values(settings);
    },
    onInput: () => view.drawBar(),
  });
  view.useForm(form);
  view.onChange(({ kind }) => kind === "settings" && form.load(values(context.state.settings)));
  return h(
    "div",
    { class: "settings-form" },
    settingsSection("Who may send you friend requests", fields.friend_source_flags.node),
    settingsSection(
      "Who may send you direct messages",
      h("p", { class: "hint" }, "Friends always may. Members of a guild may if it is switched on here."),
      guilds.length ? fields.restricted_guilds.node : h("p", { class: "muted" }, "You are not in a guild yet."),
    ),
    settingsSection(
      "Activities and games",
      fields.allow_activity_party_privacy_friends.node,
      fields.allow_activity_party_privacy_voice_channel.node,
      fields.allow_game_friend_dms_in_platform.node,
      fields.slayer_sdk_receive_dms_in_game.node,
    ),
  );
}

/** Return the switches for friend requests; "Everyone" includes the others. */
function friendSources() {
  const parts = {
    all: switchSetting("Everyone"),
    mutual_friends: switchSetting("Friends of friends"),
    mutual_guilds: switchSetting("Members of your guilds"),
  };
  const group = groupSetting(parts);
  const draw = () => {
    const isAll = parts.all.read();
    for (const part of [parts.mutual_friends, parts.mutual_guilds]) {
      if (isAll) part.write(true);
      part.setDisabled(isAll);
    }
  };
  parts.all.node.addEventListener("change", draw);
  return {
    ...group,
    write(value) {
      group.write(value);
      draw();
    },
  };
}

/** Return one switch for each guild; the value is the list of guilds that are switched off. */
function guildSwitches(guilds) {
  const parts = new Map(guilds.map(guild => [guild.id, switchSetting(guild.name)]));
  /** Restricted guilds without a switch. */
  let others = [];
  return {
    ...groupSetting(Object.fromEntries(parts)),
    read: () => [...others, ...[...parts].filter(([, part]) => !part.read()).map(([id]) => id)].sort(),
    write(restricted) {
      others = (restricted ?? []).filter(id => !parts.has(id));
      for (const [id, part] of parts) part.write(!(restricted ?? []).includes(id));
    },
  };
}
