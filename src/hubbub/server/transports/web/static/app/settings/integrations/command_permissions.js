/** Guild settings: the page with the permissions of an app's command for roles, members and channels. */

import { CommandPermissionType, ComponentType } from "../../generated/enums.js";
import { COMMAND_PERMISSIONS_MAX } from "../../generated/limits.js";
import { Permissions } from "../../network/enums.js";
import { iconButton } from "../../ui/controls.js";
import { h, icon, setChildren } from "../../ui/dom.js";
import { runAndReport, showNotice } from "../../ui/notices.js";
import { createPicker } from "../../ui/picker.js";
import { t } from "../../ui/translation.js";
import { channelIconName, userAvatar } from "../../content/avatars.js";
import { findGuildEntities } from "../forms/entity_picker.js";
import { SettingsForm } from "../forms/form.js";
import { settingsSection, viewOnlyNotice } from "../forms/layout.js";
import { colorSwatch, colorsOf } from "../roles/colors.js";

const { ROLE, USER, CHANNEL } = CommandPermissionType;

/** Return the ID of the entry for all channels of a guild: the guild ID minus one. */
const allChannelsId = guildId => String(BigInt(guildId) - 1n);

/** Return why the user cannot set the permissions of a command, or null; `command` is null for all commands of an app. */
function commandDenialReason(access, command, entries, applicationEntries) {
  const denialReason =
    access.findDenialReason(Permissions.MANAGE_GUILD) ?? access.findDenialReason(Permissions.MANAGE_ROLES);
  if (denialReason !== null || command === null || canUse(access, command, entries, applicationEntries))
    return denialReason;
  return t("You cannot use this command yourself.");
}

/** Return whether the user can use a command (spec/webhooks-and-interactions.md#5.5), regardless of the channel. */
function canUse(access, command, entries, applicationEntries) {
  if (access.hasPermissions(Permissions.ADMINISTRATOR)) return true;
  const isAllowed = decideByEntries(access, entries);
  if (isAllowed !== null) return isAllowed;
  if (decideByEntries(access, applicationEntries) === false) return false;
  // "0" allows only administrators.
  const requiredPermissions = command.default_member_permissions;
  return (
    requiredPermissions === null || (requiredPermissions !== "0" && access.hasPermissions(BigInt(requiredPermissions)))
  );
}

/** Return whether entries allow the user, or null if none applies. A member entry wins over roles, roles over @everyone. */
function decideByEntries({ me, member, guild }, entries) {
  const entriesFor = (type, isTarget) => entries.filter(entry => entry.type === type && isTarget(entry.id));
  const [memberEntry] = entriesFor(USER, id => id === me.id);
  const roleEntries = entriesFor(ROLE, id => member.roles.includes(id));
  const [everyoneEntry] = entriesFor(ROLE, id => id === guild.id);
  if (memberEntry !== undefined) return memberEntry.permission;
  if (roleEntries.length) return roleEntries.some(({ permission }) => permission);
  return everyoneEntry?.permission ?? null;
}

/**
 * Show the page with the permissions of a subject: a command, or all commands of an app.
 *
 * @param {any} view
 * @param {object} options
 * @param {any} options.application
 * @param {{id: string, name: string, command: any}} options.subject its `id` is the ID of the command or app; `command`
 *   is null for all commands
 * @param {Map<string, any[]>} options.entriesById the permission entries by the ID of their command or app
 * @param {() => void} goBack
 */
export async function openCommandPermissions(view, { application, subject, entriesById }, goBack) {
  const { context, guildId } = view;
  let storedEntriesById = entriesById;
  const entries = storedEntriesById.get(subject.id) ?? [];
  const members = await fetchMembers(view, entries);
  const path = `/applications/${application.id}/guilds/${guildId}/commands/${subject.id}/permissions`;
  const permissions = permissionsSetting(view, members);
  const notice = h("div", { class: "settings-access" });
  const form = new SettingsForm(
    { permissions },
    { permissions: entries },
    {
      save: async changes => {
        const savedPermissions = await context.api.request("PUT", path, { json: changes });
        storedEntriesById = new Map(storedEntriesById).set(subject.id, savedPermissions.permissions);
        return savedPermissions;
      },
      onInput: () => view.drawBar(),
    },
  );
  view.useForm(form);
  const updateDenial = () => {
    const denialReason = commandDenialReason(
      view.access,
      subject.command,
      storedEntriesById.get(subject.id) ?? [],
      storedEntriesById.get(application.id) ?? [],
    );
    setChildren(notice, denialReason === null ? null : viewOnlyNotice(denialReason));
    permissions.setDisabled(denialReason !== null);
  };
  const reload = () =>
    runAndReport(async () => {
      const response = await context.api.request("GET", `/guilds/${guildId}/integrations/${application.id}/commands`);
      if (!notice.isConnected) return;
      storedEntriesById = entriesBySubject(response);
      const currentEntries = storedEntriesById.get(subject.id) ?? [];
      for (const [id, member] of await fetchMembers(view, currentEntries)) members.set(id, member);
      form.showStored({ permissions: currentEntries });
      updateDenial();
    });
  view.onChange(({ kind }) => {
    if (!view.access.hasPermissions(Permissions.MANAGE_GUILD)) goBack();
    // Only the app's bot receives an event for changed permissions; users receive the audit log entry.
    else if (kind === "auditLog") reload();
    else if (kind === "integrations") goBackIfRemoved();
    else updateDenial();
  });
  const goBackIfRemoved = () =>
    runAndReport(async () => {
      const integrations = await context.api.request("GET", `/guilds/${guildId}/integrations`);
      if (notice.isConnected && !integrations.some(({ id }) => id === application.id)) {
        view.show("integrations");
        showNotice(t("{name} was removed by someone else.", { name: application.name }));
      }
    });
  updateDenial();
  view.openPage(subject.name, application.name, goBack, [notice, permissions.node]);
}

/** Return the permission entries in a response, by the ID of the app or command that they belong to. */
export const entriesBySubject = ({ permissions }) =>
  new Map(permissions.map(subject => [subject.id, subject.permissions]));

/** Return the members that entries refer to, by user ID, without members who left. */
async function fetchMembers({ context, guildId }, entries) {
  const members = new Map();
  for (const { id, type } of entries) {
    if (type !== USER) continue;
    const knownMember = context.state.member(guildId, id);
    const member =
      knownMember ?? (await context.api.request("GET", `/guilds/${guildId}/members/${id}`).catch(() => undefined));
    if (member !== undefined) members.set(id, member);
  }
  return members;
}

/**
 * Return the field for the permission entries of roles, members and channels.
 *
 * @param {any} view
 * @param {Map<string, any>} members the members that entries refer to, by user ID; chosen members are added
 * @returns {import("../forms/fields.js").SettingsField}
 */
function permissionsSetting(view, members) {
  const { context, guildId } = view;
  /** @type {{id: string, type: number, permission: boolean}[]} */
  let entries = [],
    isDisabled = false;
  const error = h("p", { class: "error", role: "alert", hidden: true });
  const roleAndMemberList = h("ul", { class: "settings-list", "aria-label": t("Roles and members") });
  const channelList = h("ul", { class: "settings-list", "aria-label": t("Channels") });
  const setEntries = changedEntries => {
    entries = changedEntries;
    drawEntries();
    node.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const setEntry = (id, type, permission) => {
    const otherEntries = entries.filter(entry => entry.id !== id || entry.type !== type);
    const index = entries.findIndex(entry => entry.id === id && entry.type === type);
    if (permission === null) setEntries(otherEntries);
    else if (index < 0) setEntries([...entries, { id, type, permission }]);
    else setEntries(entries.with(index, { id, type, permission }));
  };
  const row = ({ id, type, permission }) => entryRow(view, members, { id, type, permission }, isDisabled, setEntry);
  const drawEntries = () => {
    /** Draw the entries of some types; the entry of the `fixed` target is first and always listed. */
    const drawRows = (list, types, fixed) =>
      setChildren(
        list,
        row({ ...fixed, permission: findEntry(fixed)?.permission ?? null }),
        entries.filter(({ id, type }) => types.includes(type) && id !== fixed.id).map(row),
      );
    drawRows(roleAndMemberList, [ROLE, USER], { id: guildId, type: ROLE });
    drawRows(channelList, [CHANNEL], { id: allChannelsId(guildId), type: CHANNEL });
    const isFull = entries.length >= COMMAND_PERMISSIONS_MAX;
    for (const picker of [roleAndMemberPicker, channelPicker]) picker.button.disabled = isDisabled || isFull;
  };
  const findEntry = ({ id, type }) => entries.find(entry => entry.id === id && entry.type === type);
  const createEntryPicker = (label, componentType, entryType) => {
    const picker = createPicker({
      label,
      placeholder: label,
      min: 0,
      find: async query => {
        const choices = await findGuildEntities(view, componentType, query);
        return choices.filter(({ value }) => value !== guildId && !entries.some(({ id }) => id === value));
      },
      onCommit: ([choice]) => {
        picker.set([]);
        if (choice === undefined) return;
        const member = context.state.member(guildId, choice.value);
        if (member !== undefined) members.set(choice.value, member);
        else if (entryType(choice.value) === USER)
          // The state does not have the member, so only the label of the choice is known.
          members.set(choice.value, { nick: choice.label, user: { id: choice.value } });
        setEntry(choice.value, entryType(choice.value), true);
      },
    });
    return picker;
  };
  const roleAndMemberPicker = createEntryPicker(t("Add role or member"), ComponentType.MENTIONABLE_SELECT, id =>
    view.guild.roles.some(role => role.id === id) ? ROLE : USER,
  );
  const channelPicker = createEntryPicker(t("Add channel"), ComponentType.CHANNEL_SELECT, () => CHANNEL);
  const node = h(
    "div",
    { class: "settings-form command-permissions" },
    error,
    settingsSection(t("Roles and members"), roleAndMemberList, roleAndMemberPicker.node),
    settingsSection(t("Channels"), channelList, channelPicker.node),
    h(
      "p",
      { class: "hint" },
      t("At most {max} entries. Administrators can always use the command.", { max: COMMAND_PERMISSIONS_MAX }),
    ),
  );
  return {
    node,
    read: () => entries,
    write(storedEntries) {
      entries = storedEntries.map(({ id, type, permission }) => ({ id, type, permission }));
      drawEntries();
    },
    setError(text) {
      error.hidden = !text;
      error.textContent = text ?? "";
    },
    setDisabled(disabled) {
      isDisabled = disabled;
      drawEntries();
    },
  };
}

/** Return the image and name of the target of an entry, and why the user cannot change the entry, or null. */
function describeTarget(view, members, { id, type }) {
  const { access, guildId, context } = view;
  if (type === CHANNEL) {
    if (id === allChannelsId(guildId)) return { image: icon("hash"), name: t("All channels"), denialReason: null };
    const channel = context.state.channels.get(id);
    if (channel === undefined) return { image: icon("hash"), name: t("Unknown channel"), denialReason: null };
    return { image: icon(channelIconName(channel)), name: channel.name, denialReason: null };
  }
  if (type === ROLE) {
    if (id === guildId)
      return { image: colorSwatch(colorsOf(access.everyoneRole)), name: "@everyone", denialReason: null };
    const role = access.roles.find(other => other.id === id);
    if (role === undefined) return { image: null, name: t("Unknown role"), denialReason: null };
    return { image: colorSwatch(colorsOf(role)), name: role.name, denialReason: access.findRoleDenialReason(role) };
  }
  const member = members.get(id);
  if (member === undefined) return { image: null, name: t("Unknown member"), denialReason: null };
  const name = member.nick || member.user.global_name || member.user.username;
  return { image: userAvatar(member.user, name), name, denialReason: null };
}

function entryRow(view, members, { id, type, permission }, isDisabled, setEntry) {
  const { image, name, denialReason } = describeTarget(view, members, { id, type });
  const isFixed = id === view.guildId || id === allChannelsId(view.guildId);
  const options = [...(isFixed ? [[null, t("Default")]] : []), [true, t("Allowed")], [false, t("Not allowed")]];
  const select = h(
    "select",
    {
      "aria-label": t("Permission of {name}", { name }),
      disabled: isDisabled || denialReason !== null,
      onchange: () => {
        setEntry(id, type, options[Number(select.value)][0]);
        view.main.querySelector(`[data-entry="${type}-${id}"]`)?.focus();
      },
      dataset: { entry: `${type}-${id}` },
    },
    options.map(([, label], index) => h("option", { value: index }, label)),
  );
  select.value = String(options.findIndex(([value]) => value === permission));
  const removeButton = iconButton("bin", t("Remove {name}", { name }), () => setEntry(id, type, null), {
    disabled: isDisabled || denialReason !== null,
  });
  return h(
    "li",
    { class: "settings-entry command-permission" },
    image,
    h(
      "div",
      { class: "settings-entry-text" },
      h("p", { class: "settings-entry-title", dir: "auto" }, name),
      denialReason === null ? null : h("p", { class: "muted small" }, denialReason),
    ),
    h("div", { class: "settings-entry-actions" }, select, isFixed ? null : removeButton),
  );
}
