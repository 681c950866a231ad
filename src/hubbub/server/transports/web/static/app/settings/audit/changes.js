/** Texts about the changes in the audit log, with names instead of IDs. */

import { AuditLogAction, OverwriteType } from "../../generated/enums.js";
import { formatTime } from "../../ui/times.js";
import { t, tn } from "../../ui/translation.js";
import {
  DURATION_KEYS,
  HIDDEN_KEYS,
  IMAGE_KEYS,
  HIDDEN_KEYS_OF_CREATIONS,
  VALUE_LABELS,
  formatDuration,
  keyLabel,
} from "./texts.js";
import { ACTION_TEXTS } from "../moderation/auto_moderation_rule.js";
import { PERMISSION_LABELS } from "../permissions/texts.js";

/** Maximum length of the text of a value, in characters. */
const VALUE_TEXT_MAX = 120;

/** Names and texts for the objects and values that audit log entries refer to. */
export class AuditNames {
  /** `users` are the users in the responses, by ID; other users come from the state. */
  constructor({ context, guild, guildId }, users) {
    this.state = context.state;
    this.guild = guild;
    this.guildId = guildId;
    this.users = users;
  }

  user(id) {
    return this.users.get(id) ?? this.state.user(id);
  }

  userName(id) {
    const user = this.user(id);
    return user === undefined ? null : this.state.displayName(user, this.guildId);
  }

  /** Return the name of the guild, role, channel or user with an ID, or null. */
  findName(id) {
    if (id === null || id === undefined) return null;
    // The role @everyone has the ID of the guild.
    if (id === this.guildId) return this.guild.name;
    const role = this.guild.roles.find(other => other.id === id),
      channel = this.state.channels.get(id);
    if (role !== undefined) return role.name;
    if (channel !== undefined) return channel.name;
    return this.userName(id);
  }

  /** Return the text about the target of an entry. The name of a deleted object is in the changes. */
  describeTarget({ action_type: type, target_id: id, changes = [], options = {} }) {
    if (id === this.guildId && type === AuditLogAction.ROLE_UPDATE) return "@everyone";
    const change = changes.find(({ key }) => key === "name" || key === "title" || key === "code");
    const name = this.findName(id) ?? change?.new_value ?? change?.old_value ?? "";
    const place = this.findName(options.channel_id);
    const details = [
      name,
      options.role_name ?? (options.type === String(OverwriteType.MEMBER) ? this.userName(options.id) : null),
      options.count ? tn("{count} time", "{count} times", Number(options.count)) : null,
      options.members_removed ? tn("{count} member", "{count} members", Number(options.members_removed)) : null,
      place === null || place === name ? null : t("in {place}", { place }),
    ];
    return details.filter(Boolean).join(" · ");
  }

  /** Return the text of one item of a list: its name, the name of the object with its ID, or its properties. */
  itemText(item) {
    if (typeof item === "string" && ID_PATTERN.test(item)) return this.findName(item) ?? t("unknown");
    if (item === null || typeof item !== "object") return String(item);
    if (item.id === this.guildId) return "@everyone";
    const name = item.name ?? item.title ?? item.label ?? this.findName(item.id) ?? this.findName(item.channel_id);
    return name ?? this.#propertiesText(item);
  }

  #propertiesText(item) {
    const properties = Object.entries(item).filter(([key, value]) => !HIDDEN_KEYS.has(key) && !isEmpty(value));
    return properties.map(([key, value]) => `${keyLabel(key)}: ${this.valueText(key, value)}`).join(", ");
  }

  /** Return a changed value as text; `key` decides whether it is a name, a duration, a color or another value. */
  valueText(key, value) {
    if (value === undefined || value === null || value === "") return t("none");
    if (typeof value === "boolean") return value ? t("yes") : t("no");
    if (VALUE_LABELS.get(key)?.has(value)) return VALUE_LABELS.get(key).get(value);
    if (key === "actions")
      return joinTexts(value.map(({ type }) => ACTION_TEXTS.get(type)?.label ?? t("unknown action")));
    if (key === "features")
      return value.map(feature => feature.toLowerCase().replaceAll("_", " ")).join(", ") || t("none");
    if (key === "permissions" || key === "allow" || key === "deny") return permissionNames(value);
    if (key === "$add" || key === "$remove") return value.map(role => role.name).join(", ");
    if (COLOR_PATTERN.test(key)) return value ? `#${Number(value).toString(16).padStart(6, "0")}` : t("none");
    if (DURATION_KEYS.has(key)) return value ? formatDuration(value) : t("none");
    if (Array.isArray(value)) return shorten(joinTexts(value.map(item => this.itemText(item)))) || t("none");
    if (typeof value === "object") return shorten(this.itemText(value)) || t("none");
    if (String(key).endsWith("_id")) return this.findName(String(value)) ?? t("unknown");
    if (TIME_PATTERN.test(value)) return formatTime(value);
    return shorten(String(value));
  }
}

const ID_PATTERN = /^\d{15,20}$/;
const TIME_PATTERN = /^\d{4}-\d\d-\d\dT\d\d:/;
const COLOR_PATTERN = /(^|_)color$/;

const joinTexts = texts => texts.filter(Boolean).join(", ");
const shorten = text => (text.length > VALUE_TEXT_MAX ? `${text.slice(0, VALUE_TEXT_MAX)}…` : text);

/** Return whether a value is missing, false, zero or empty, or contains only such values. */
function isEmpty(value) {
  if (value === undefined || value === null || value === "" || value === 0 || value === "0" || value === false)
    return true;
  return typeof value === "object" && Object.values(value).every(isEmpty);
}

function permissionNames(permissionText) {
  const permissions = BigInt(permissionText);
  const names = [...PERMISSION_LABELS].filter(([bit]) => permissions & bit).map(([, label]) => label);
  return names.join(", ") || t("none");
}

/** Return a text for each changed property that is shown to users. */
export function changeTexts(names, changes) {
  const hasColors = changes.some(({ key }) => key === "colors");
  return changes
    .filter(({ key }) => !HIDDEN_KEYS.has(key) && !(key === "color" && hasColors))
    .filter(({ old_value: before, new_value: after }) => !(isEmpty(before) && isEmpty(after)))
    .filter(({ key, old_value: before }) => !(HIDDEN_KEYS_OF_CREATIONS.has(key) && before === undefined))
    .map(change => changeText(names, change));
}

function changeText(names, { key, old_value: oldValue, new_value: newValue }) {
  const label = keyLabel(key);
  if (key === "$add" || key === "$remove") return `${label}: ${names.valueText(key, newValue)}`;
  if (key === "permissions" || key === "allow" || key === "deny") return permissionChanges(label, oldValue, newValue);
  if (IMAGE_KEYS.has(key)) return imageChange(label, oldValue, newValue);
  if (Array.isArray(oldValue) && Array.isArray(newValue)) return arrayChange(names, key, oldValue, newValue);
  if (oldValue === undefined) return `${label}: ${names.valueText(key, newValue)}`;
  const oldText = names.valueText(key, oldValue);
  if (newValue === undefined) return t("{label}: was {before}", { label, before: oldText });
  return t("{label}: from {before} to {after}", { label, before: oldText, after: names.valueText(key, newValue) });
}

function imageChange(label, oldImage, newImage) {
  if (isEmpty(oldImage)) return t("{label} added", { label });
  return isEmpty(newImage) ? t("{label} removed", { label }) : t("{label} changed", { label });
}

/** Return the text about the added and removed items of a list. */
function arrayChange(names, key, oldItems, newItems) {
  const without = (items, otherItems) => {
    const otherTexts = new Set(otherItems.map(other => JSON.stringify(other)));
    return items.filter(item => !otherTexts.has(JSON.stringify(item)));
  };
  const addedItems = without(newItems, oldItems),
    removedItems = without(oldItems, newItems);
  const parts = [];
  if (addedItems.length) parts.push(t("added {names}", { names: names.valueText(key, addedItems) }));
  if (removedItems.length) parts.push(t("removed {names}", { names: names.valueText(key, removedItems) }));
  return `${keyLabel(key)}: ${parts.join("; ") || t("order changed")}`;
}

function permissionChanges(label, oldValue, newValue) {
  const oldPermissions = BigInt(oldValue ?? 0),
    newPermissions = BigInt(newValue ?? 0);
  const parts = [];
  if (newPermissions & ~oldPermissions)
    parts.push(t("added {names}", { names: permissionNames(newPermissions & ~oldPermissions) }));
  if (oldPermissions & ~newPermissions)
    parts.push(t("removed {names}", { names: permissionNames(oldPermissions & ~newPermissions) }));
  return `${label}: ${parts.join("; ") || t("unchanged")}`;
}
