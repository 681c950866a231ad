/** Guild settings: transfer of ownership and deletion of the guild. */

import { ApiError } from "../network/api.js";
import { h } from "../ui/dom.js";
import { showNotice } from "../ui/notices.js";
import { ComponentType } from "../generated/enums.js";
import { t } from "../ui/translation.js";
import { entityPicker, findGuildEntities } from "./forms/entity_picker.js";
import { textSetting } from "./forms/fields.js";
import { openActionDialog } from "./forms/form.js";
import { actionButton, lockedNotice, settingsSection } from "./forms/layout.js";

/** @type {import("./forms/settings_dialog.js").SettingsScreen} */
export const OWNERSHIP_SCREEN = { id: "ownership", label: t("Ownership"), icon: "key", build };

function build(view) {
  const { access, context, guildId, guild } = view;
  const { isOwner } = access;
  view.onChange(() => {
    if (view.access.isOwner !== isOwner || view.guild.owner_id !== guild.owner_id) view.show(OWNERSHIP_SCREEN.id);
  });
  const owner = context.state.user(guild.owner_id);
  const name = owner === undefined ? t("another member") : context.state.displayName(owner, guildId);
  const denialReason = isOwner ? null : t("Only the owner can do this.");
  return h(
    "div",
    { class: "settings-form" },
    isOwner ? null : lockedNotice(t("Only the owner can transfer or delete the guild. The owner is {name}.", { name })),
    settingsSection(t("Transfer ownership"), transferControls(view, denialReason)),
    settingsSection(
      t("Delete guild"),
      h("p", null, t("All channels, messages and roles are deleted, for all members. This cannot be undone.")),
      h(
        "div",
        { class: "row" },
        actionButton(t("Delete guild"), () => deleteGuild(view), { isDangerous: true, denialReason }),
      ),
    ),
  );
}

/** Return a picker for a new owner and the button that transfers the guild; `view` has `context`, `guildId` and `guild`. */
export function transferControls(view, denialReason, onDone = () => {}) {
  let newOwner = null;
  const isPossible = ({ value }) => value !== view.guild.owner_id && !view.context.state.user(value)?.bot;
  const button = actionButton(t("Transfer ownership"), async () => (await transfer(view, newOwner)) && onDone(), {
    isDangerous: true,
    denialReason,
  });
  button.disabled = true;
  const picker = entityPicker(t("New owner"), {
    placeholder: t("Choose a member"),
    disabled: denialReason !== null,
    find: async query => (await findGuildEntities(view, ComponentType.USER_SELECT, query)).filter(isPossible),
    onChoose: choice => {
      newOwner = choice ?? null;
      button.disabled = newOwner === null;
    },
  });
  return [
    h("p", null, t("The new owner can do everything, and can remove you. Apps cannot own a guild.")),
    picker,
    h("div", { class: "row" }, button),
  ];
}

/** Return a field in which the user types the name of the guild. */
function nameConfirmation(guild) {
  return textSetting(t("Type “{name}” to confirm", { name: guild.name }), { required: true });
}

/** Throw an error for the field `name` unless the user typed the name of the guild. */
function requireName(guild, typed) {
  if (typed.trim() === guild.name) return;
  const message = t("This is not the name of the guild: {name}", { name: guild.name });
  throw new ApiError(0, 0, message, { name: { _errors: [{ message }] } });
}

async function transfer(view, choice) {
  const { context, guildId, guild } = view;
  const isDone = await openActionDialog({
    title: t("Transfer {guild} to {name}?", { guild: guild.name, name: choice.label }),
    text: t("You stay a member with your roles. Only the new owner can transfer it back."),
    label: t("Transfer ownership"),
    fields: { name: nameConfirmation(guild) },
    run: async ({ name }) => {
      requireName(guild, name);
      const changedGuild = await context.api.request("PATCH", `/guilds/${guildId}`, {
        json: { owner_id: choice.value },
      });
      context.state.apply("GUILD_UPDATE", changedGuild);
    },
  });
  if (isDone) showNotice(t("{name} owns the guild now.", { name: choice.label }), "done");
  return isDone;
}

/** Delete a guild after confirmation; `view` has `context`, `guildId` and `guild`. Resolve to whether it was deleted. */
export async function deleteGuild(view) {
  const { context, guildId, guild } = view;
  const isDone = await openActionDialog({
    title: t("Delete {name}?", { name: guild.name }),
    text: t("All channels, messages and roles are deleted, for all members. This cannot be undone."),
    label: t("Delete guild"),
    fields: { name: nameConfirmation(guild) },
    run: async ({ name }) => {
      requireName(guild, name);
      view.isDeletingGuild = true;
      await context.api.request("DELETE", `/guilds/${guildId}`);
    },
  });
  if (!isDone) return false;
  context.state.apply("GUILD_DELETE", { id: guildId });
  context.go("/app");
  showNotice(t("{name} was deleted.", { name: guild.name }), "done");
  return true;
}
