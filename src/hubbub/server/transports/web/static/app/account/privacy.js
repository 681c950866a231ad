/** User settings: sources of friend requests and direct messages, joining the user's activities, and messages of games. */

import { InGameMessages } from "../generated/enums.js";
import { h } from "../ui/dom.js";
import { t } from "../ui/translation.js";
import { choiceSetting, groupSetting, switchSetting } from "../settings/forms/fields.js";
import { SettingsForm } from "../settings/forms/form.js";
import { settingsSection } from "../settings/forms/layout.js";

const IN_GAME_OPTIONS = [
  [InGameMessages.ALL, t("From all players")],
  [InGameMessages.USERS_WITH_GAME, t("From players of the same game")],
  [InGameMessages.NONE, t("None")],
];

/** @type {import("../settings/forms/settings_dialog.js").SettingsScreen} */
export const PRIVACY_SCREEN = { id: "privacy", label: t("Privacy"), icon: "lock", build };

function build(view) {
  const { context } = view;
  const guilds = [...context.state.guilds.values()].filter(guild => guild.name);
  const fields = {
    friend_source_flags: friendSources(),
    restricted_guilds: guildSwitches(guilds),
    allow_activity_party_privacy_friends: switchSetting(t("Friends may join my activities without asking")),
    allow_activity_party_privacy_voice_channel: switchSetting(
      t("People in my voice channel may join my activities without asking"),
    ),
    allow_game_friend_dms_in_platform: switchSetting(t("Keep messages of game friends"), {
      hint: t("Messages of people who are your friends only in a game appear here too."),
    }),
    slayer_sdk_receive_dms_in_game: choiceSetting(t("Messages shown in games"), IN_GAME_OPTIONS),
  };
  /** Return user settings as values of the form. The value UNSET is equivalent to ALL. */
  const formValues = ({ slayer_sdk_receive_dms_in_game: inGame, ...settings }) => ({
    ...settings,
    slayer_sdk_receive_dms_in_game: inGame || InGameMessages.ALL,
  });
  const form = new SettingsForm(fields, formValues(context.state.settings), {
    save: async changes => {
      const settings = await context.api.request("PATCH", "/users/@me/settings", { json: changes });
      context.state.apply("USER_SETTINGS_UPDATE", settings);
      return formValues(settings);
    },
    onInput: () => view.drawBar(),
  });
  view.useForm(form);
  view.onChange(({ kind }) => kind === "settings" && form.showStored(formValues(context.state.settings)));
  return h(
    "div",
    { class: "settings-form" },
    settingsSection(t("Who may send you friend requests"), fields.friend_source_flags.node),
    settingsSection(
      t("Who may send you direct messages"),
      h("p", { class: "hint" }, t("Friends always may. Members of a guild may if it is switched on here.")),
      guilds.length ? fields.restricted_guilds.node : h("p", { class: "muted" }, t("You are not in a guild yet.")),
    ),
    settingsSection(
      t("Activities and games"),
      fields.allow_activity_party_privacy_friends.node,
      fields.allow_activity_party_privacy_voice_channel.node,
      fields.allow_game_friend_dms_in_platform.node,
      fields.slayer_sdk_receive_dms_in_game.node,
    ),
  );
}

/** Return the field for the sources of friend requests; "Everyone" includes the others. */
function friendSources() {
  const switches = {
    all: switchSetting(t("Everyone")),
    mutual_friends: switchSetting(t("Friends of friends")),
    mutual_guilds: switchSetting(t("Members of your guilds")),
  };
  const group = groupSetting(switches);
  const updateSwitches = () => {
    const isAll = switches.all.read();
    for (const switchField of [switches.mutual_friends, switches.mutual_guilds]) {
      if (isAll) switchField.write(true);
      switchField.setDisabled(isAll);
    }
  };
  switches.all.node.addEventListener("change", updateSwitches);
  return {
    ...group,
    write(value) {
      group.write(value);
      updateSwitches();
    },
  };
}

/**
 * Return a field with one switch for each guild; its value is the sorted IDs of all restricted guilds, including those
 * without a switch.
 */
function guildSwitches(guilds) {
  const switchesByGuild = new Map(guilds.map(guild => [guild.id, switchSetting(guild.name)]));
  /** IDs of restricted guilds without a switch. */
  let otherIds = [];
  return {
    ...groupSetting(Object.fromEntries(switchesByGuild)),
    read: () => [...otherIds, ...[...switchesByGuild].filter(([, field]) => !field.read()).map(([id]) => id)].sort(),
    write(restricted) {
      otherIds = (restricted ?? []).filter(id => !switchesByGuild.has(id));
      for (const [id, field] of switchesByGuild) field.write(!(restricted ?? []).includes(id));
    },
  };
}
