/** Preview of the permissions that a role or member has in a channel, and the picker to choose the role or member. */

import { ChannelType, Permissions, isVoice } from "../../network/enums.js";
import { channelPermissions } from "../../state/permissions.js";
import { h, icon, setChildren } from "../../ui/dom.js";
import { runAndReport } from "../../ui/notices.js";
import { ComponentType } from "../../generated/enums.js";
import { t } from "../../ui/translation.js";
import { entityPicker, findGuildEntities } from "../forms/entity_picker.js";
import { permissionList } from "./list.js";

/** Return the choices of roles and members of a guild that match a query. */
export const findTargets = (view, query) => findGuildEntities(view, ComponentType.MENTIONABLE_SELECT, query);

/**
 * Return a picker of a role or member to view as. `onChoose` receives a member, or null, and the choice; for a role,
 * the member has only this role.
 */
export function createViewAsPicker(view, onChoose) {
  return entityPicker(t("View as"), {
    placeholder: t("Role or member"),
    find: query => findTargets(view, query),
    onChoose: choice =>
      runAndReport(async () => {
        onChoose(choice === undefined ? null : await resolveMember(view, choice.value), choice);
      }),
  });
}

/** Return the member with a user ID, or a member with only the role of this ID. */
async function resolveMember({ context, guildId, guild }, id) {
  if (guild.roles.some(role => role.id === id)) return { user: { id: "0" }, roles: id === guildId ? [] : [id] };
  return context.state.member(guildId, id) ?? context.api.request("GET", `/guilds/${guildId}/members/${id}`);
}

/** Return a member with only the role @everyone. */
export const plainMember = () => ({ user: { id: "0" }, roles: [] });

/** The summary of a channel that a member cannot see. */
export const HIDDEN_SUMMARY = t("Hidden");

/** Return a short label for the access of a member to a channel. */
export function accessSummary(guild, member, channel) {
  const permissions = channelPermissions(guild, member, channel);
  if (!(permissions & Permissions.VIEW_CHANNEL)) return HIDDEN_SUMMARY;
  if (channel.type === ChannelType.GUILD_CATEGORY) return t("Visible");
  if (isVoice(channel)) return permissions & Permissions.CONNECT ? t("Can connect") : t("Can only see it");
  return permissions & Permissions.SEND_MESSAGES ? t("Can write") : t("Can only read");
}

/**
 * Return the part of a page that shows the permissions of a role or member in a channel.
 *
 * @param {any} view
 * @param {() => any} readChannel returns the channel with its unsaved overwrites
 * @param {bigint} bits the permissions to list
 * @returns {{node: HTMLElement, draw: () => void}}
 */
export function permissionPreview(view, readChannel, bits) {
  let member = null,
    name = "";
  const result = h("div", { class: "settings-form" });
  const drawResult = () => {
    const version = member === null ? "" : `${name} ${channelPermissions(view.guild, member, readChannel())}`;
    if (result.dataset.version === version) return;
    result.dataset.version = version;
    if (member === null) {
      setChildren(
        result,
        h("p", { class: "muted" }, t("Choose a role or member to see what they can do in this channel.")),
      );
      return;
    }
    const channel = readChannel();
    const allowedPermissions = channelPermissions(view.guild, member, channel);
    const canView = Boolean(allowedPermissions & Permissions.VIEW_CHANNEL);
    setChildren(
      result,
      h(
        "p",
        { class: canView ? "notice" : "notice warning", role: "status" },
        canView ? t("{name} can see this channel.", { name }) : t("{name} cannot see this channel.", { name }),
      ),
      permissionList((bit, label) => previewRow(label, Boolean(allowedPermissions & bit)), bits),
    );
  };
  const picker = createViewAsPicker(view, (chosenMember, choice) => {
    member = chosenMember;
    name = choice?.label ?? "";
    drawResult();
  });
  drawResult();
  const hint = t("Includes changes that are not saved yet. A role is shown without the other roles of its members.");
  return {
    node: h("div", { class: "settings-form" }, h("p", { class: "hint" }, hint), picker, result),
    draw: drawResult,
  };
}

function previewRow(label, isAllowed) {
  return h(
    "p",
    { class: isAllowed ? "preview-row allowed" : "preview-row" },
    icon(isAllowed ? "check" : "close"),
    h("span", null, label),
    h("span", { class: "muted small" }, isAllowed ? t("Allowed") : t("Not allowed")),
  );
}
