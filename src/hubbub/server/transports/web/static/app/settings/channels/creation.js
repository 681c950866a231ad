/** The dialog that creates a channel. */

import { OverwriteType } from "../../generated/enums.js";
import { CHANNEL_NAME_MAX } from "../../generated/limits.js";
import { ChannelType, Permissions } from "../../network/enums.js";
import { h } from "../../ui/dom.js";
import { createPicker } from "../../ui/picker.js";
import { t } from "../../ui/translation.js";
import { CHANNEL_TYPES, categoryOptions, canHaveAnnouncements } from "./fields.js";
import { normalizeOverwrites, withOverwrite, withPrivacy } from "./overwrites.js";
import { choiceSetting, showFieldNotice, switchSetting, textSetting } from "../forms/fields.js";
import { openActionDialog } from "../forms/form.js";
import { findTargets } from "../permissions/preview.js";

/** Maximum number of roles and members that can be chosen for a private channel. */
const PRIVATE_TARGETS_MAX = 25;

/**
 * Open the dialog that creates a channel. Resolve to the channel, or null.
 *
 * @param {any} context
 * @param {string} guildId
 * @param {string | null} [parentId] the category that is chosen first
 */
export async function openChannelCreation(context, guildId, parentId = null) {
  const { state } = context,
    guild = state.guilds.get(guildId);
  const types = CHANNEL_TYPES.filter(
    ([type]) =>
      (type !== ChannelType.GUILD_ANNOUNCEMENT || canHaveAnnouncements(guild)) &&
      (type !== ChannelType.GUILD_CATEGORY || parentId === null),
  );
  const type = choiceSetting(
    t("Type"),
    types.map(([value, label]) => [value, label]),
    // `showFieldsOfType` replaces the hint with the explanation of the chosen type.
    { hint: " " },
  );
  const parent = choiceSetting(t("Category"), categoryOptions(state, guildId));
  const privacy = privacySetting({ context, guildId, guild });
  const showFieldsOfType = () => {
    type.node.querySelector(".hint").textContent = types.find(([value]) => value === type.read())[2];
    parent.node.hidden = type.read() === ChannelType.GUILD_CATEGORY;
  };
  type.node.addEventListener("change", showFieldsOfType);
  type.write(ChannelType.GUILD_TEXT);
  parent.write(parentId);
  showFieldsOfType();
  let channel = null;
  await openActionDialog({
    title: t("Create channel"),
    label: t("Create"),
    isDangerous: false,
    fields: {
      name: textSetting(t("Name"), { maxlength: CHANNEL_NAME_MAX, required: true, autofocus: true }),
      type,
      parent_id: parent,
      permission_overwrites: privacy,
    },
    run: async ({ name, type: chosen, parent_id: chosenParent, permission_overwrites: targets }) => {
      const json = { name, type: chosen };
      const isInCategory = chosen !== ChannelType.GUILD_CATEGORY && chosenParent !== null;
      if (isInCategory) json.parent_id = chosenParent;
      if (targets !== null)
        json.permission_overwrites = privateOverwrites(
          context,
          guild,
          isInCategory ? state.channels.get(chosenParent)?.permission_overwrites : [],
          targets,
        );
      channel = await context.api.request("POST", `/guilds/${guildId}/channels`, { json });
      state.apply("CHANNEL_CREATE", channel);
    },
  });
  return channel;
}

/** Return the overwrites of a private channel: those of its category, with access for the targets but not for @everyone. */
function privateOverwrites({ state }, guild, inherited, targets) {
  let overwrites = withPrivacy(normalizeOverwrites(inherited), guild.id, true);
  const allowedTargets = new Set(targets);
  // Without this, creators who are not administrators would not see their own channel.
  if (!state.canInGuild(guild.id, Permissions.ADMINISTRATOR)) allowedTargets.add(state.me.id);
  for (const id of allowedTargets) {
    const currentOverwrite = overwrites.find(overwrite => overwrite.id === id);
    overwrites = withOverwrite(overwrites, {
      id,
      type: guild.roles.some(role => role.id === id) ? OverwriteType.ROLE : OverwriteType.MEMBER,
      allow: BigInt(currentOverwrite?.allow ?? 0) | Permissions.VIEW_CHANNEL,
      deny: BigInt(currentOverwrite?.deny ?? 0) & ~Permissions.VIEW_CHANNEL,
    });
  }
  return overwrites;
}

/** Return the field for privacy. Its value is the IDs of the roles and members who can see the channel; null for everyone. */
function privacySetting(view) {
  const privateSwitch = switchSetting(t("Private"), {
    hint: t("Only the roles and members that you choose can see it."),
  });
  const picker = createPicker({
    label: t("Who can see it"),
    placeholder: t("Roles and members"),
    min: 0,
    max: PRIVATE_TARGETS_MAX,
    find: async query => (await findTargets(view, query)).filter(({ value }) => value !== view.guildId),
  });
  const targets = h(
    "div",
    { class: "field", hidden: true },
    h("p", { class: "label" }, t("Who can see it")),
    picker.node,
  );
  privateSwitch.node.addEventListener("change", () => {
    targets.hidden = !privateSwitch.read();
  });
  return {
    node: h("div", { class: "stack" }, privateSwitch.node, targets),
    read: () => (privateSwitch.read() ? picker.values.map(({ value }) => value) : null),
    write() {},
    setError: showFieldNotice,
    setDisabled() {},
  };
}
