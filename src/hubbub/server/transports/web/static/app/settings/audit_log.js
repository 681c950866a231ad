/** Guild settings: the audit log with filters. */

import { Permissions } from "../network/enums.js";
import { creationTimeMs } from "../network/ids.js";
import { h, icon, reconcile } from "../ui/dom.js";
import { runAndReport } from "../ui/notices.js";
import { timeElement } from "../ui/times.js";
import { userAvatar } from "../content/avatars.js";
import { AuditLogAction, ComponentType } from "../generated/enums.js";
import { AUDIT_GROUPS, AUDIT_LABELS, keyLabel } from "./audit_texts.js";
import { entityPicker, findGuildEntities } from "./entity_picker.js";
import { lockedNotice } from "./form.js";
import { PERMISSION_LABELS } from "./permission_texts.js";

const PAGE_SIZE = 50;
const VALUE_TEXT_MAX = 120;
/** Actions come in groups, so new entries are read once after them. */
const NEW_ENTRIES_DELAY_MS = 300;
/** How long entries are kept (spec/http.md#3.11). */
const KEPT_DAYS = 45;

/** @type {import("./guild_settings.js").SettingsScreen} */
export const AUDIT_LOG_SCREEN = { id: "audit-log", label: "Audit log", icon: "history", build };

function build(view) {
  const { context, guildId } = view;
  const why = view.access.whyNot(Permissions.VIEW_AUDIT_LOG);
  if (why !== null) {
    view.onChange(() => view.access.whyNot(Permissions.VIEW_AUDIT_LOG) === null && view.show(AUDIT_LOG_SCREEN.id));
    return lockedNotice(`You cannot see the audit log. ${why}`);
  }
  /** Listed entries, the newest first, and the users that they name. */
  let entries = [];
  const users = new Map();
  const filters = { user_id: undefined, target_id: undefined, action_type: undefined };
  let request = 0,
    timer;
  const list = h("ul", { class: "settings-list audit-log", "aria-label": "Audit log" });
  const status = h("p", { class: "muted", role: "status" }, "Loading…");
  const moreButton = h(
    "button",
    { type: "button", class: "button small quiet settings-more", hidden: true, onclick: () => fetchPage() },
    "Show more",
  );
  const draw = () => {
    const isFiltered = Object.values(filters).some(value => value !== undefined);
    status.textContent = entries.length
      ? ""
      : isFiltered
        ? "No entries match these filters."
        : `Nothing happened in the last ${KEPT_DAYS} days.`;
    const names = new AuditNames(view, users);
    reconcile(
      list,
      entries.map(entry => ({
        key: entry.id,
        stamp: names.describeTarget(entry),
        build: () => auditEntry(entry, names),
      })),
    );
  };
  const store = page => {
    for (const user of page.users ?? []) users.set(user.id, user);
    return page.audit_log_entries;
  };
  const fetchPage = (isNew = false) =>
    runAndReport(async () => {
      const current = (request += 1),
        before = isNew ? undefined : entries.at(-1)?.id;
      const found = store(
        await context.api.request("GET", `/guilds/${guildId}/audit-logs`, {
          query: { ...filters, before, limit: PAGE_SIZE },
        }),
      );
      // A newer choice of filters replaced this one.
      if (current !== request) return;
      entries = isNew ? found : [...entries, ...found];
      moreButton.hidden = found.length < PAGE_SIZE;
      draw();
    });
  const setFilter = (name, value) => {
    filters[name] = value;
    fetchPage(true);
  };
  view.onChange(({ kind }) => {
    if (view.access.whyNot(Permissions.VIEW_AUDIT_LOG) !== null) view.show(AUDIT_LOG_SCREEN.id);
    else if (kind === "auditLog") {
      clearTimeout(timer);
      timer = setTimeout(() => list.isConnected && fetchNewest(), NEW_ENTRIES_DELAY_MS);
    }
  });
  /** Add entries that were created since; the pages that the user opened stay. */
  const fetchNewest = () =>
    runAndReport(async () => {
      const current = request;
      const found = store(
        await context.api.request("GET", `/guilds/${guildId}/audit-logs`, { query: { ...filters, limit: PAGE_SIZE } }),
      );
      if (current !== request) return;
      const known = new Set(entries.map(entry => entry.id));
      entries = [...found.filter(entry => !known.has(entry.id)), ...entries];
      draw();
    });
  fetchPage(true);
  return [
    h("p", { class: "hint settings-intro" }, `Shows what moderators and apps did in the last ${KEPT_DAYS} days.`),
    h("div", { class: "settings-tools audit-filters" }, filterControls(view, setFilter)),
    status,
    list,
    moreButton,
  ];
}

function filterControls(view, setFilter) {
  const person = (label, name) =>
    entityPicker(label, {
      placeholder: "Anyone",
      find: query => findGuildEntities(view, ComponentType.USER_SELECT, query),
      onChoose: choice => setFilter(name, choice?.value),
    });
  const select = h(
    "select",
    { id: "audit-action", onchange: () => setFilter("action_type", select.value || undefined) },
    h("option", { value: "" }, "All actions"),
    AUDIT_GROUPS.map(([title, actions]) =>
      h(
        "optgroup",
        { label: title },
        actions.map(([type, label]) => h("option", { value: type }, label)),
      ),
    ),
  );
  return [
    person("Done by", "user_id"),
    person("Done to", "target_id"),
    h("div", { class: "field" }, h("label", { for: "audit-action" }, "Action"), select),
  ];
}

/** Names of the objects that entries refer to. */
class AuditNames {
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

  /** Return the name of any object, or null. */
  find(id) {
    if (id === null || id === undefined) return null;
    // The role @everyone has the ID of the guild.
    if (id === this.guildId) return this.guild.name;
    const role = this.guild.roles.find(other => other.id === id),
      channel = this.state.channels.get(id);
    if (role !== undefined) return role.name;
    if (channel !== undefined) return channel.name;
    return this.userName(id);
  }

  /** Return the name of the target of an entry; a deleted one has its name in the changes. */
  describeTarget({ action_type: type, target_id: id, changes = [], options = {} }) {
    if (id === this.guildId && type === AuditLogAction.ROLE_UPDATE) return "@everyone";
    const change = changes.find(({ key }) => key === "name" || key === "title" || key === "code");
    const name = this.find(id) ?? change?.new_value ?? change?.old_value ?? "";
    const place = this.find(options.channel_id);
    const details = [
      name,
      options.role_name ?? (options.type === "1" ? this.userName(options.id) : null),
      options.count ? `${options.count} times` : null,
      options.members_removed ? `${options.members_removed} members` : null,
      place === null || place === name ? null : `in ${place}`,
    ];
    return details.filter(Boolean).join(" · ");
  }

  /** Return the text of one item of a list: its name, or the name of the object with its ID. */
  item(item) {
    if (item === null || typeof item !== "object") return String(item);
    return item.name ?? this.find(item.id) ?? JSON.stringify(item);
  }

  /** Return the text of a changed value. */
  value(key, value) {
    if (value === undefined || value === null || value === "") return "none";
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (key === "permissions" || key === "allow" || key === "deny") return permissionNames(value);
    if (key === "$add" || key === "$remove") return value.map(role => role.name).join(", ");
    if (key === "color") return `#${Number(value).toString(16).padStart(6, "0")}`;
    if (Array.isArray(value)) return shorten(value.map(item => this.item(item)).join(", ")) || "none";
    if (typeof value === "object") return shorten(this.item(value));
    if (String(key).endsWith("_id")) return this.find(String(value)) ?? String(value);
    return shorten(String(value));
  }
}

const shorten = text => (text.length > VALUE_TEXT_MAX ? `${text.slice(0, VALUE_TEXT_MAX)}…` : text);

function permissionNames(value) {
  const bits = BigInt(value);
  const names = [...PERMISSION_LABELS].filter(([bit]) => bits & bit).map(([, label]) => label);
  return names.join(", ") || "none";
}

/** Return the sentences about a changed property. */
function changeText(names, { key, old_value: before, new_value: after }) {
  const label = keyLabel(key);
  if (key === "$add" || key === "$remove") return `${label}: ${names.value(key, after)}`;
  if (key === "permissions" || key === "allow" || key === "deny") return permissionChanges(label, before, after);
  if (before === undefined) return `${label}: ${names.value(key, after)}`;
  if (after === undefined) return `${label}: was ${names.value(key, before)}`;
  return `${label}: from ${names.value(key, before)} to ${names.value(key, after)}`;
}

function permissionChanges(label, before, after) {
  const old = BigInt(before ?? 0),
    current = BigInt(after ?? 0);
  const parts = [];
  if (current & ~old) parts.push(`added ${permissionNames(current & ~old)}`);
  if (old & ~current) parts.push(`removed ${permissionNames(old & ~current)}`);
  return `${label}: ${parts.join("; ") || "unchanged"}`;
}

function auditEntry(entry, names) {
  const user = entry.user_id === null ? undefined : names.user(entry.user_id);
  const name = entry.user_id === null ? "Hubbub" : (names.userName(entry.user_id) ?? "Unknown user");
  const changes = entry.changes ?? [];
  const target = names.describeTarget(entry);
  const text = h(
    "div",
    { class: "settings-entry-text" },
    h(
      "p",
      { class: "settings-entry-title", dir: "auto" },
      AUDIT_LABELS.get(entry.action_type) ?? `Action ${entry.action_type}`,
    ),
    target ? h("p", { dir: "auto" }, target) : null,
    entry.reason ? h("p", { class: "small", dir: "auto" }, `Reason: ${entry.reason}`) : null,
    h(
      "p",
      { class: "muted small" },
      h("span", { dir: "auto" }, name),
      " · ",
      timeElement(creationTimeMs(entry.id), "s"),
    ),
    changes.length
      ? h(
          "details",
          { class: "audit-changes" },
          h("summary", { class: "small" }, changes.length === 1 ? "1 change" : `${changes.length} changes`),
          h(
            "ul",
            null,
            changes.map(change => h("li", { dir: "auto" }, changeText(names, change))),
          ),
        )
      : null,
  );
  return h("li", { class: "settings-entry" }, user === undefined ? icon("settings") : userAvatar(user, name), text);
}
