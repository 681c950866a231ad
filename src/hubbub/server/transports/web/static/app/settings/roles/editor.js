/** Guild settings: the page of one role, with its appearance, permissions and members. */

import { ROLE_NAME_MAX, ROLE_UNICODE_EMOJI_MAX } from "../../generated/limits.js";
import { Permissions } from "../../network/enums.js";
import { h } from "../../ui/dom.js";
import { runAndReport, showNotice } from "../../ui/notices.js";
import { t } from "../../ui/translation.js";
import { roleIconPath } from "../../content/cdn_paths.js";
import { switchSetting, textSetting } from "../forms/fields.js";
import { SettingsForm, openActionDialog } from "../forms/form.js";
import { actionButton, missingFeatureReason, settingsSection, viewOnlyNotice } from "../forms/layout.js";
import { permissionsSetting } from "../permissions/list.js";
import { colorsOf, roleColorsSetting } from "./colors.js";
import { connectionsSetting } from "./connections.js";
import { roleMembers } from "./members.js";
import { settingsTabs } from "../forms/tabs.js";
import { imageSetting } from "../forms/upload_field.js";

/** Return why the user cannot change a permission of a role, or null; empty if a notice gives the reason. */
function permissionDenialReason(access, role, bit) {
  // The notice above the tabs gives the reason for all permissions.
  if (access.findRoleDenialReason(role) !== null) return "";
  return access.hasPermissions(bit) ? null : t("You can only change permissions that you have.");
}

/** Show the page of a role; `goBack` shows the list again. */
export function openRole(view, roleId, goBack) {
  const findRole = () => view.guild.roles.find(role => role.id === roleId);
  const role = findRole();
  if (role === undefined) return;
  const isEveryone = roleId === view.guildId,
    features = new Set(view.guild.features ?? []);
  const permissions = permissionsSetting(bit => permissionDenialReason(view.access, findRole() ?? role, bit));
  const appearance = isEveryone ? {} : appearanceFields(findRole, role, features);
  const rolePath = `/guilds/${view.guildId}/roles/${roleId}`,
    connectionsPath = `${rolePath}/connections/configuration`;
  let applications = [],
    /** The conditions of the linked role; null until they are loaded. @type {any[][] | null} */
    connections = null;
  const connectionsField = isEveryone || role.managed ? null : connectionsSetting(() => applications);
  const fields = { ...appearance, permissions, ...(connectionsField ? { connections: connectionsField } : {}) };
  const readStored = current => ({ ...valuesOf(current), connections: connections ?? [] });
  const save = async ({ connections: changedConnections, ...changes }) => {
    if (changedConnections !== undefined) connections = await putConnections(view, connectionsPath, changedConnections);
    if (!Object.keys(changes).length) return readStored(findRole() ?? role);
    return readStored(await view.context.api.request("PATCH", rolePath, { json: changes }));
  };
  const form = new SettingsForm(fields, readStored(role), { save, onInput: () => view.drawBar() });
  const loadConnections = () =>
    runAndReport(async () => {
      if (connections !== null || connectionsField === null) return;
      const { api } = view.context;
      [applications, connections] = await Promise.all([
        api.request("GET", `/guilds/${view.guildId}/role-connections/applications`),
        api.request("GET", connectionsPath),
      ]);
      form.showStored(readStored(findRole() ?? role));
      updateDenials();
    });
  view.useForm(form);
  const notice = h("div", { class: "settings-access" });
  const deletion = h("div");
  let isDeletedHere = false,
    name = role.name;
  const members = isEveryone ? null : roleMembers(view, roleId);
  const updateDenials = () => {
    const access = view.access,
      current = findRole(),
      denialReason = access.findRoleDenialReason(current);
    notice.replaceChildren(...(denialReason === null ? [] : [viewOnlyNotice(addGeneralRule(access, denialReason))]));
    for (const [fieldName, field] of Object.entries(appearance))
      field.setDisabled(denialReason !== null || appearanceDenialReason(fieldName, features) !== null);
    connectionsField?.setDisabled(denialReason !== null || connections === null);
    permissions.updateDenials();
    if (!isEveryone) drawDeletion(deletion, view, current, denialReason, () => (isDeletedHere = true));
  };
  view.onChange(detail => {
    const current = findRole();
    if (current === undefined) {
      goBack();
      if (!isDeletedHere) showNotice(t("{name} was deleted by someone else.", { name }));
      return;
    }
    if (detail.kind === "guilds") {
      form.showStored(readStored(current));
      name = current.name;
      view.setTitle(titleOf(current, isEveryone));
    }
    updateDenials();
    members?.onChange(detail);
  });
  updateDenials();
  const permissionsTab = { label: t("Permissions"), content: permissions.node };
  const tabs = isEveryone
    ? [permissionsTab]
    : [
        { label: t("Appearance"), content: [appearanceSections(appearance, features), deletion] },
        permissionsTab,
        { label: t("Members"), content: members.node, onShow: members.onShow },
        ...(connectionsField ? [connectionsTab(connectionsField, loadConnections)] : []),
      ];
  view.openPage(titleOf(role, isEveryone), t("All roles"), goBack, [notice, settingsTabs(t("Role"), tabs)]);
}

/** Store the conditions of a role; errors of the API, whose paths begin at the list, are reported at the field. */
async function putConnections({ context }, connectionsPath, connections) {
  try {
    return await context.api.request("PUT", connectionsPath, { json: connections });
  } catch (error) {
    if (error.errors !== undefined) error.errors = { connections: error.errors };
    throw error;
  }
}

const connectionsTab = (field, onShow) => ({
  label: t("Linked accounts"),
  content: settingsSection(
    t("Conditions"),
    h(
      "p",
      { class: "hint" },
      t(
        "Members who connect an account and meet the conditions of one alternative can have this role. The app checks them.",
      ),
    ),
    field.node,
  ),
  onShow,
});

const titleOf = (role, isEveryone) => (isEveryone ? "@everyone" : role.name);

/** Add the general rule to the reason of `findRoleDenialReason` if the user may manage roles, but not this one. */
function addGeneralRule(access, denialReason) {
  return access.hasPermissions(Permissions.MANAGE_ROLES)
    ? t("{reason} You can only change roles below your highest role.", { reason: denialReason })
    : denialReason;
}

function valuesOf(role) {
  return {
    name: role.name,
    colors: colorsOf(role),
    icon: role.icon ?? null,
    unicode_emoji: role.unicode_emoji ?? null,
    hoist: role.hoist,
    mentionable: role.mentionable,
    permissions: String(role.permissions),
  };
}

/** Return why the roles of a guild with these features cannot have an appearance field, or null. */
function appearanceDenialReason(fieldName, features) {
  const isIcon = fieldName === "icon" || fieldName === "unicode_emoji";
  return isIcon && !features.has("ROLE_ICONS")
    ? missingFeatureReason(t("Role icons are not available in this guild."), "ROLE_ICONS")
    : null;
}

function appearanceFields(findRole, role, features) {
  return {
    name: textSetting(t("Name"), { maxlength: ROLE_NAME_MAX }),
    colors: roleColorsSetting(features.has("ENHANCED_ROLE_COLORS")),
    icon: imageSetting(t("Icon"), {
      hint: t("A square image of at least 64 × 64 pixels."),
      preview: value => {
        const path = roleIconPath({ ...(findRole() ?? role), icon: value });
        return path === null
          ? h("span", { class: "muted small" }, t("No icon"))
          : h("img", { src: path, alt: "", class: "role-icon" });
      },
    }),
    unicode_emoji: textSetting(t("Emoji"), {
      hint: t("Shown if there is no icon."),
      isNullable: true,
      maxlength: ROLE_UNICODE_EMOJI_MAX,
      class: "short-input",
    }),
    hoist: switchSetting(t("Show members separately"), {
      hint: t("Lists online members with this role in their own group."),
    }),
    mentionable: switchSetting(t("Allow everyone to mention this role"), {
      hint: t("Members with the permission “Mention everyone” always can."),
    }),
  };
}

function appearanceSections(fields, features) {
  const iconDenialReason = appearanceDenialReason("icon", features);
  return [
    settingsSection(t("Role"), fields.name.node, fields.colors.node),
    settingsSection(
      t("Icon"),
      fields.icon.node,
      fields.unicode_emoji.node,
      iconDenialReason === null ? null : h("p", { class: "hint" }, iconDenialReason),
    ),
    settingsSection(t("Visibility"), fields.hoist.node, fields.mentionable.node),
  ];
}

function drawDeletion(node, view, role, denialReason, onDelete) {
  const reason = role.managed ? t("An app manages this role. Remove the app to delete the role.") : denialReason;
  const version = `${role.name} ${reason}`;
  if (node.dataset.version === version) return;
  node.dataset.version = version;
  const remove = async () => {
    const isDone = await openActionDialog({
      title: t("Delete {name}?", { name: role.name }),
      text: t("Members lose this role and its permissions, in all channels too. This cannot be undone."),
      label: t("Delete role"),
      run: async () => {
        onDelete();
        await view.context.api.request("DELETE", `/guilds/${view.guildId}/roles/${role.id}`);
      },
    });
    if (!isDone) return;
    view.context.state.apply("GUILD_ROLE_DELETE", { guild_id: view.guildId, role_id: role.id });
    showNotice(t("{name} was deleted.", { name: role.name }), "done");
  };
  node.replaceChildren(
    settingsSection(
      t("Delete"),
      h("div", { class: "row" }, actionButton(t("Delete role"), remove, { isDangerous: true, denialReason: reason })),
      reason === null ? null : h("p", { class: "hint" }, reason),
    ),
  );
}
