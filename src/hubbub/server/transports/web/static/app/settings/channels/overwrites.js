/** The permission overwrites of a channel: allow, neutral or deny for roles and members. */

import { OverwriteType } from "../../generated/enums.js";
import { ChannelType, Permissions, isVoice } from "../../network/enums.js";
import { compareIds } from "../../network/ids.js";
import { h, setChildren } from "../../ui/dom.js";
import { createPicker } from "../../ui/picker.js";
import { LOCALE, t } from "../../ui/translation.js";
import { choiceSetting, showFieldNotice, switchSetting } from "../forms/fields.js";
import { actionButton } from "../forms/layout.js";
import { permissionList } from "../permissions/list.js";
import { findTargets } from "../permissions/preview.js";

/** Permissions that overwrites can change in every type of channel. */
const COMMON_BITS =
  Permissions.CREATE_INSTANT_INVITE |
  Permissions.MANAGE_CHANNELS |
  Permissions.ADD_REACTIONS |
  Permissions.VIEW_CHANNEL |
  Permissions.SEND_MESSAGES |
  Permissions.SEND_TTS_MESSAGES |
  Permissions.MANAGE_MESSAGES |
  Permissions.EMBED_LINKS |
  Permissions.ATTACH_FILES |
  Permissions.READ_MESSAGE_HISTORY |
  Permissions.MENTION_EVERYONE |
  Permissions.USE_EXTERNAL_EMOJIS |
  Permissions.MANAGE_ROLES |
  Permissions.MANAGE_WEBHOOKS |
  Permissions.USE_APPLICATION_COMMANDS |
  Permissions.USE_EXTERNAL_STICKERS |
  Permissions.SEND_VOICE_MESSAGES |
  Permissions.SEND_POLLS |
  Permissions.USE_EXTERNAL_APPS |
  Permissions.BYPASS_SLOWMODE;
const TEXT_BITS =
  COMMON_BITS |
  Permissions.MANAGE_THREADS |
  Permissions.CREATE_PUBLIC_THREADS |
  Permissions.CREATE_PRIVATE_THREADS |
  Permissions.SEND_MESSAGES_IN_THREADS |
  Permissions.USE_EMBEDDED_ACTIVITIES |
  Permissions.PIN_MESSAGES;
const VOICE_BITS =
  COMMON_BITS |
  Permissions.PRIORITY_SPEAKER |
  Permissions.STREAM |
  Permissions.CONNECT |
  Permissions.SPEAK |
  Permissions.MUTE_MEMBERS |
  Permissions.DEAFEN_MEMBERS |
  Permissions.MOVE_MEMBERS |
  Permissions.USE_VAD |
  Permissions.MANAGE_EVENTS |
  Permissions.USE_EMBEDDED_ACTIVITIES |
  Permissions.USE_SOUNDBOARD |
  Permissions.CREATE_EVENTS |
  Permissions.USE_EXTERNAL_SOUNDS |
  Permissions.SET_VOICE_CHANNEL_STATUS;
const STAGE_BITS =
  COMMON_BITS |
  Permissions.STREAM |
  Permissions.CONNECT |
  Permissions.MUTE_MEMBERS |
  Permissions.MOVE_MEMBERS |
  Permissions.REQUEST_TO_SPEAK |
  Permissions.MANAGE_EVENTS |
  Permissions.CREATE_EVENTS;

/** Return the permissions that overwrites of a type of channel can change (spec/http.md#2.1). */
export function overwritableBits(type) {
  if (type === ChannelType.GUILD_CATEGORY) return TEXT_BITS | VOICE_BITS | STAGE_BITS;
  if (type === ChannelType.GUILD_STAGE_VOICE) return STAGE_BITS;
  return isVoice({ type }) ? VOICE_BITS : TEXT_BITS;
}

/** Return overwrites in a form that can be compared: sorted, with decimal strings. */
export function normalizeOverwrites(overwrites) {
  return (overwrites ?? [])
    .map(({ id, type, allow, deny }) => ({ id, type: Number(type), allow: String(allow), deny: String(deny) }))
    .sort((a, b) => compareIds(a.id, b.id));
}

/** Return whether two channels have the same overwrites. */
export function isInSync(channel, parent) {
  const text = ({ permission_overwrites: overwrites }) => JSON.stringify(normalizeOverwrites(overwrites));
  return text(channel) === text(parent);
}

/** Return overwrites with the bits of one role or member replaced. */
export function withOverwrite(overwrites, { id, type, allow, deny }) {
  const otherOverwrites = overwrites.filter(overwrite => overwrite.id !== id);
  return normalizeOverwrites([...otherOverwrites, { id, type, allow, deny }]);
}

/**
 * Return overwrites that deny the role @everyone to view the channel. Without `isPrivate`, the overwrite of this role
 * neither allows nor denies it.
 */
export function withPrivacy(overwrites, guildId, isPrivate) {
  const everyoneOverwrite = overwrites.find(overwrite => overwrite.id === guildId);
  const allow = BigInt(everyoneOverwrite?.allow ?? 0) & ~Permissions.VIEW_CHANNEL,
    deny = BigInt(everyoneOverwrite?.deny ?? 0) & ~Permissions.VIEW_CHANNEL;
  return withOverwrite(overwrites, {
    id: guildId,
    type: OverwriteType.ROLE,
    allow,
    deny: isPrivate ? deny | Permissions.VIEW_CHANNEL : deny,
  });
}

/**
 * Return why the user cannot change a permission in the overwrites of a channel, or null; empty if a notice gives the
 * reason.
 */
function bitDenialReason(access, channel, bit) {
  const denialReason = access.findChannelDenialReason(Permissions.MANAGE_ROLES, channel.id);
  // The notice above the tabs gives the reason for all permissions.
  if (denialReason !== null) return "";
  const ownIds = new Set([access.me.id, access.guild.id, ...access.member.roles]);
  const managesByOverwrite = (channel.permission_overwrites ?? []).some(
    overwrite => ownIds.has(overwrite.id) && BigInt(overwrite.allow) & Permissions.MANAGE_ROLES,
  );
  if (access.hasPermissions(Permissions.ADMINISTRATOR) || managesByOverwrite) return null;
  if (bit === Permissions.MANAGE_ROLES) return t("Only administrators can change this.");
  return access.hasPermissions(bit) || access.state.can(channel.id, bit)
    ? null
    : t("You can only change permissions that you have.");
}

const STATES = [
  ["deny", t("Deny")],
  ["neutral", t("Neutral")],
  ["allow", t("Allow")],
];
let rowCount = 0;

/** Return a row with the choice of deny, neutral and allow for one permission. */
function overwriteRow(label, text, onChoose) {
  const name = `overwrite-${(rowCount += 1)}`;
  const reason = h("p", { class: "hint permission-lock", hidden: true });
  const inputs = new Map(
    STATES.map(([state]) => [
      state,
      h("input", { type: "radio", name, value: state, onchange: () => onChoose(state) }),
    ]),
  );
  const node = h(
    "fieldset",
    { class: "overwrite-row" },
    h("legend", { class: "visually-hidden" }, label),
    h(
      "div",
      null,
      h("p", { class: "overwrite-label", "aria-hidden": "true" }, label),
      h("p", { class: "hint" }, text),
      reason,
    ),
    h(
      "div",
      { class: "overwrite-states" },
      STATES.map(([state, title]) =>
        h("label", { class: `overwrite-state ${state}` }, inputs.get(state), h("span", null, title)),
      ),
    ),
  );
  return {
    node,
    show(state, denialReason) {
      inputs.get(state).checked = true;
      for (const input of inputs.values()) input.disabled = denialReason !== null;
      reason.hidden = !denialReason;
      reason.textContent = denialReason ?? "";
    },
  };
}

/**
 * Return the field for the overwrites of a channel.
 *
 * @param {any} view
 * @param {() => any} findChannel returns the stored channel
 * @returns {import("../forms/fields.js").SettingsField & {updateDenials: () => void, base: () => any[]}}
 */
export function overwritesSetting(view, findChannel) {
  const { guildId } = view,
    type = findChannel().type,
    isCategory = type === ChannelType.GUILD_CATEGORY;
  /** The stored overwrites. */
  let base = [],
    /** The overwrites with the unsaved changes. */
    value = [],
    /** ID of the role or member whose permissions are shown. */
    targetId = guildId;
  const rows = new Map();
  const node = h("div", { class: "settings-form" });
  const setOverwrites = overwrites => {
    value = overwrites;
    drawOverwrites();
    node.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const privacy = switchSetting(isCategory ? t("Private category") : t("Private channel"), {
    hint: t("Only members and roles that you allow to view it can see it."),
  });
  privacy.node.addEventListener("change", event => {
    event.stopPropagation();
    setOverwrites(withPrivacy(value, guildId, privacy.read()));
  });
  const sync = h("div", { class: "sync-state" });
  const targets = h("div", { class: "overwrite-target" });
  const addPicker = createPicker({
    label: t("Add role or member"),
    placeholder: t("Add role or member"),
    find: async query =>
      (await findTargets(view, query)).filter(({ value: id }) => !value.some(other => other.id === id)),
    onCommit: ([choice]) => {
      addPicker.set([]);
      targetId = choice.value;
      const isRole = view.guild.roles.some(role => role.id === targetId);
      setOverwrites(
        withOverwrite(value, {
          id: targetId,
          type: isRole ? OverwriteType.ROLE : OverwriteType.MEMBER,
          allow: 0n,
          deny: 0n,
        }),
      );
    },
  });
  const list = permissionList((bit, label, text) => {
    const row = overwriteRow(label, text, state => choose(bit, state));
    rows.set(bit, row);
    return row.node;
  }, overwritableBits(type));
  /** Return the overwrite of the target that is shown, or an empty one of @everyone. */
  const shownOverwrite = () =>
    value.find(({ id }) => id === targetId) ?? { id: guildId, type: OverwriteType.ROLE, allow: "0", deny: "0" };
  const choose = (bit, state) => {
    const { id, type: targetType, allow, deny } = shownOverwrite();
    setOverwrites(
      withOverwrite(value, {
        id,
        type: targetType,
        allow: state === "allow" ? BigInt(allow) | bit : BigInt(allow) & ~bit,
        deny: state === "deny" ? BigInt(deny) | bit : BigInt(deny) & ~bit,
      }),
    );
  };
  const drawSync = (channel, denialReason) => {
    const parent = view.context.state.channels.get(channel.parent_id);
    if (isCategory || parent === undefined) return void setChildren(sync);
    const isSynced = isInSync({ permission_overwrites: value }, parent);
    setChildren(
      sync,
      h(
        "p",
        { class: "small" },
        isSynced
          ? t("Same permissions as the category {name}.", { name: parent.name })
          : t("Different from the category {name}.", { name: parent.name }),
      ),
      isSynced
        ? null
        : actionButton(
            t("Sync with category"),
            () => setOverwrites(normalizeOverwrites(parent.permission_overwrites)),
            {
              denialReason,
            },
          ),
    );
  };
  const drawTargets = denialReason => {
    const options = [[guildId, "@everyone"], ...sortedTargets(view, value)];
    if (!options.some(([id]) => id === targetId)) targetId = guildId;
    const version = JSON.stringify([options, targetId, denialReason]);
    if (targets.dataset.version === version) return;
    targets.dataset.version = version;
    const select = choiceSetting(t("Permissions of"), options);
    select.write(targetId);
    select.node.addEventListener("change", event => {
      event.stopPropagation();
      targetId = select.read();
      drawOverwrites();
      targets.querySelector("select").focus();
    });
    select.node.addEventListener("input", event => event.stopPropagation());
    const remove = () => {
      setOverwrites(value.filter(({ id }) => id !== targetId));
      targets.querySelector("select").focus();
    };
    const [label, name] =
      targetId === guildId ? [t("Clear"), t("Clear these permissions")] : [t("Remove"), t("Remove these permissions")];
    setChildren(targets, select.node, actionButton(label, remove, { denialReason, name }));
  };
  const drawOverwrites = () => {
    const channel = findChannel();
    if (channel === undefined) return;
    const access = view.access,
      denialReason = access.findChannelDenialReason(Permissions.MANAGE_ROLES, channel.id);
    const everyoneOverwrite = value.find(({ id }) => id === guildId);
    privacy.write(Boolean(BigInt(everyoneOverwrite?.deny ?? 0) & Permissions.VIEW_CHANNEL));
    privacy.setDisabled(bitDenialReason(access, channel, Permissions.VIEW_CHANNEL) !== null);
    addPicker.button.disabled = denialReason !== null;
    drawSync(channel, denialReason);
    drawTargets(denialReason);
    const { allow, deny } = shownOverwrite();
    for (const [bit, row] of rows)
      row.show(
        BigInt(allow) & bit ? "allow" : BigInt(deny) & bit ? "deny" : "neutral",
        bitDenialReason(access, channel, bit),
      );
  };
  const hasBits = ({ allow, deny }) => allow !== "0" || deny !== "0";
  const isStored = ({ id }) => base.some(overwrite => overwrite.id === id);
  setChildren(node, sync, privacy.node, targets, addPicker.node, list);
  return {
    node,
    base: () => base,
    // A new overwrite of @everyone without bits changes nothing, so it is not sent.
    read: () => value.filter(overwrite => overwrite.id !== guildId || hasBits(overwrite) || isStored(overwrite)),
    write(overwrites) {
      base = normalizeOverwrites(overwrites);
      value = base;
      drawOverwrites();
    },
    setError: showFieldNotice,
    // `updateDenials` disables each control by itself.
    setDisabled() {},
    updateDenials: drawOverwrites,
  };
}

/** Return pairs of ID and name of the targets except @everyone: roles from the highest, then members by name. */
function sortedTargets({ access, context, guildId }, overwrites) {
  const ids = new Set(overwrites.map(({ id }) => id));
  const roles = access.roles.filter(role => ids.has(role.id)).map(role => [role.id, role.name]);
  const members = overwrites
    .filter(({ type }) => type === OverwriteType.MEMBER)
    .map(({ id }) => {
      const user = context.state.user(id);
      return [id, user === undefined ? t("Member {id}", { id }) : `@${context.state.displayName(user, guildId)}`];
    })
    .sort((a, b) => a[1].localeCompare(b[1], LOCALE));
  return [...roles, ...members];
}

/** Send each changed overwrite in its own request, so that concurrent changes of other overwrites are kept. */
export async function saveOverwrites({ context }, channelId, overwritesBefore, overwritesAfter) {
  const textById = new Map(overwritesBefore.map(overwrite => [overwrite.id, JSON.stringify(overwrite)]));
  for (const overwrite of overwritesAfter) {
    const { id, type, allow, deny } = overwrite;
    if (textById.get(id) === JSON.stringify(overwrite)) continue;
    await context.api.request("PUT", `/channels/${channelId}/permissions/${id}`, { json: { type, allow, deny } });
  }
  for (const { id } of overwritesBefore)
    if (!overwritesAfter.some(overwrite => overwrite.id === id))
      await context.api.request("DELETE", `/channels/${channelId}/permissions/${id}`);
}
