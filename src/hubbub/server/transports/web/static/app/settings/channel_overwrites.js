/** The permission overwrites of a channel: allow, neutral or deny for roles and members. */

import { ChannelType, Permissions as P, isVoice } from "../network/enums.js";
import { compareIds } from "../network/ids.js";
import { h, setChildren } from "../ui/dom.js";
import { createPicker } from "../ui/picker.js";
import { choiceSetting, showFieldNotice, switchSetting } from "./fields.js";
import { actionButton } from "./layout.js";
import { permissionList } from "./permission_list.js";
import { findTargets } from "./permission_preview.js";

const ROLE = 0;
const MEMBER = 1;

const ANY_CHANNEL =
  P.CREATE_INSTANT_INVITE |
  P.MANAGE_CHANNELS |
  P.ADD_REACTIONS |
  P.VIEW_CHANNEL |
  P.SEND_MESSAGES |
  P.SEND_TTS_MESSAGES |
  P.MANAGE_MESSAGES |
  P.EMBED_LINKS |
  P.ATTACH_FILES |
  P.READ_MESSAGE_HISTORY |
  P.MENTION_EVERYONE |
  P.USE_EXTERNAL_EMOJIS |
  P.MANAGE_ROLES |
  P.MANAGE_WEBHOOKS |
  P.USE_APPLICATION_COMMANDS |
  P.USE_EXTERNAL_STICKERS |
  P.SEND_VOICE_MESSAGES |
  P.SEND_POLLS |
  P.USE_EXTERNAL_APPS |
  P.BYPASS_SLOWMODE;
const TEXT =
  ANY_CHANNEL |
  P.MANAGE_THREADS |
  P.CREATE_PUBLIC_THREADS |
  P.CREATE_PRIVATE_THREADS |
  P.SEND_MESSAGES_IN_THREADS |
  P.USE_EMBEDDED_ACTIVITIES |
  P.PIN_MESSAGES;
const VOICE =
  ANY_CHANNEL |
  P.PRIORITY_SPEAKER |
  P.STREAM |
  P.CONNECT |
  P.SPEAK |
  P.MUTE_MEMBERS |
  P.DEAFEN_MEMBERS |
  P.MOVE_MEMBERS |
  P.USE_VAD |
  P.MANAGE_EVENTS |
  P.USE_EMBEDDED_ACTIVITIES |
  P.USE_SOUNDBOARD |
  P.CREATE_EVENTS |
  P.USE_EXTERNAL_SOUNDS |
  P.SET_VOICE_CHANNEL_STATUS;
const STAGE =
  ANY_CHANNEL |
  P.STREAM |
  P.CONNECT |
  P.MUTE_MEMBERS |
  P.MOVE_MEMBERS |
  P.REQUEST_TO_SPEAK |
  P.MANAGE_EVENTS |
  P.CREATE_EVENTS;

/** Return the permissions that overwrites of a type of channel can change (spec/http.md#2.1). */
export function overwritableBits(type) {
  if (type === ChannelType.GUILD_CATEGORY) return TEXT | VOICE | STAGE;
  if (type === ChannelType.GUILD_STAGE_VOICE) return STAGE;
  return isVoice({ type }) ? VOICE : TEXT;
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

/** Return overwrites with the bits of one target replaced. */
export function withOverwrite(overwrites, { id, type, allow, deny }) {
  const others = overwrites.filter(overwrite => overwrite.id !== id);
  return normalizeOverwrites([...others, { id, type, allow, deny }]);
}

/** Return overwrites in which @everyone can or cannot view the channel. */
export function withPrivacy(overwrites, guildId, isPrivate) {
  const everyone = overwrites.find(overwrite => overwrite.id === guildId);
  const allow = BigInt(everyone?.allow ?? 0) & ~P.VIEW_CHANNEL,
    deny = BigInt(everyone?.deny ?? 0) & ~P.VIEW_CHANNEL;
  return withOverwrite(overwrites, { id: guildId, type: ROLE, allow, deny: isPrivate ? deny | P.VIEW_CHANNEL : deny });
}

/** Return why the user cannot change a permission in the overwrites of a channel, or null. */
function whyNotBit(access, channel, bit) {
  const why = access.whyNotIn(P.MANAGE_ROLES, channel.id);
  // The notice above the tabs gives the reason for all permissions.
  if (why !== null) return "";
  const ownIds = new Set([access.me.id, access.guild.id, ...access.member.roles]);
  const managesByOverwrite = (channel.permission_overwrites ?? []).some(
    overwrite => ownIds.has(overwrite.id) && BigInt(overwrite.allow) & P.MANAGE_ROLES,
  );
  if (access.has(P.ADMINISTRATOR) || managesByOverwrite) return null;
  if (bit === P.MANAGE_ROLES) return "Only administrators can change this.";
  return access.has(bit) || access.state.can(channel.id, bit) ? null : "You can only change permissions that you have.";
}

const STATES = [
  ["deny", "Deny"],
  ["neutral", "Neutral"],
  ["allow", "Allow"],
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
    show(state, why) {
      inputs.get(state).checked = true;
      for (const input of inputs.values()) input.disabled = why !== null;
      reason.hidden = !why;
      reason.textContent = why ?? "";
    },
  };
}

/**
 * Return the field for the overwrites of a channel.
 *
 * @param {any} view
 * @param {() => any} findChannel returns the stored channel
 * @returns {import("./fields.js").SettingsField & {drawAccess: () => void, base: () => any[]}}
 */
export function overwritesSetting(view, findChannel) {
  const { guildId } = view,
    type = findChannel().type,
    isCategory = type === ChannelType.GUILD_CATEGORY;
  /** The stored overwrites and the shown ones. */
  let base = [],
    value = [],
    targetId = guildId;
  const rows = new Map();
  const node = h("div", { class: "settings-form" });
  const set = changed => {
    value = changed;
    draw();
    node.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const privacy = switchSetting(isCategory ? "Private category" : "Private channel", {
    hint: "Only members and roles that you allow to view it can see it.",
  });
  privacy.node.addEventListener("change", event => {
    event.stopPropagation();
    set(withPrivacy(value, guildId, privacy.read()));
  });
  const sync = h("div", { class: "sync-state" });
  const targets = h("div", { class: "overwrite-target" });
  const adder = createPicker({
    label: "Add role or member",
    placeholder: "Add role or member",
    find: async query =>
      (await findTargets(view, query)).filter(({ value: id }) => !value.some(other => other.id === id)),
    onCommit: ([choice]) => {
      adder.set([]);
      targetId = choice.value;
      const isRole = view.guild.roles.some(role => role.id === targetId);
      set(withOverwrite(value, { id: targetId, type: isRole ? ROLE : MEMBER, allow: 0n, deny: 0n }));
    },
  });
  const list = permissionList((bit, label, text) => {
    const row = overwriteRow(label, text, state => choose(bit, state));
    rows.set(bit, row);
    return row.node;
  }, overwritableBits(type));
  const current = () => value.find(({ id }) => id === targetId) ?? { id: guildId, type: ROLE, allow: "0", deny: "0" };
  const choose = (bit, state) => {
    const { id, type: kind, allow, deny } = current();
    set(
      withOverwrite(value, {
        id,
        type: kind,
        allow: state === "allow" ? BigInt(allow) | bit : BigInt(allow) & ~bit,
        deny: state === "deny" ? BigInt(deny) | bit : BigInt(deny) & ~bit,
      }),
    );
  };
  const drawSync = (channel, why) => {
    const parent = view.context.state.channels.get(channel.parent_id);
    if (isCategory || parent === undefined) return void setChildren(sync);
    const isSynced = isInSync({ permission_overwrites: value }, parent);
    setChildren(
      sync,
      h(
        "p",
        { class: "small" },
        isSynced ? `Same permissions as the category ${parent.name}.` : `Different from the category ${parent.name}.`,
      ),
      isSynced
        ? null
        : actionButton("Sync with category", () => set(normalizeOverwrites(parent.permission_overwrites)), { why }),
    );
  };
  const drawTargets = why => {
    const names = [[guildId, "@everyone"], ...sortedTargets(view, value)];
    if (!names.some(([id]) => id === targetId)) targetId = guildId;
    const version = JSON.stringify([names, targetId, why]);
    if (targets.dataset.version === version) return;
    targets.dataset.version = version;
    const select = choiceSetting("Permissions of", names);
    select.write(targetId);
    select.node.addEventListener("change", event => {
      event.stopPropagation();
      targetId = select.read();
      draw();
      targets.querySelector("select").focus();
    });
    select.node.addEventListener("input", event => event.stopPropagation());
    const remove = () => {
      set(value.filter(({ id }) => id !== targetId));
      targets.querySelector("select").focus();
    };
    const label = targetId === guildId ? "Clear" : "Remove";
    setChildren(targets, select.node, actionButton(label, remove, { why, name: `${label} these permissions` }));
  };
  const draw = () => {
    const channel = findChannel();
    if (channel === undefined) return;
    const access = view.access,
      why = access.whyNotIn(P.MANAGE_ROLES, channel.id);
    const everyone = value.find(({ id }) => id === guildId);
    privacy.write(Boolean(BigInt(everyone?.deny ?? 0) & P.VIEW_CHANNEL));
    privacy.setDisabled(whyNotBit(access, channel, P.VIEW_CHANNEL) !== null);
    adder.button.disabled = why !== null;
    drawSync(channel, why);
    drawTargets(why);
    const { allow, deny } = current();
    for (const [bit, row] of rows)
      row.show(
        BigInt(allow) & bit ? "allow" : BigInt(deny) & bit ? "deny" : "neutral",
        whyNotBit(access, channel, bit),
      );
  };
  const hasBits = ({ allow, deny }) => allow !== "0" || deny !== "0";
  const isStored = ({ id }) => base.some(overwrite => overwrite.id === id);
  setChildren(node, sync, privacy.node, targets, adder.node, list);
  return {
    node,
    base: () => base,
    // An overwrite of @everyone without any permission is not worth a request.
    read: () => value.filter(overwrite => overwrite.id !== guildId || hasBits(overwrite) || isStored(overwrite)),
    write(overwrites) {
      base = normalizeOverwrites(overwrites);
      value = base;
      draw();
    },
    setError: showFieldNotice,
    setDisabled() {},
    drawAccess: draw,
  };
}

/** Return pairs of ID and name of the targets without @everyone: roles in their order, then members. */
function sortedTargets({ access, context, guildId }, overwrites) {
  const ids = new Set(overwrites.map(({ id }) => id));
  const roles = access.roles.filter(role => ids.has(role.id)).map(role => [role.id, role.name]);
  const members = overwrites
    .filter(({ type }) => type === MEMBER)
    .map(({ id }) => {
      const user = context.state.user(id);
      return [id, user === undefined ? `Member ${id}` : `@${context.state.displayName(user, guildId)}`];
    })
    .sort((a, b) => a[1].localeCompare(b[1]));
  return [...roles, ...members];
}

/** Send the changed overwrites, each by itself: changes that others made at the same time stay. */
export async function saveOverwrites({ context }, channelId, before, after) {
  const text = new Map(before.map(overwrite => [overwrite.id, JSON.stringify(overwrite)]));
  for (const overwrite of after) {
    const { id, type, allow, deny } = overwrite;
    if (text.get(id) === JSON.stringify(overwrite)) continue;
    await context.api.request("PUT", `/channels/${channelId}/permissions/${id}`, { json: { type, allow, deny } });
  }
  for (const { id } of before)
    if (!after.some(overwrite => overwrite.id === id))
      await context.api.request("DELETE", `/channels/${channelId}/permissions/${id}`);
}
