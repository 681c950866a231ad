/** Guild settings: the audit log with filters. */

import { Permissions } from "../../network/enums.js";
import { creationTimeMs } from "../../network/ids.js";
import { h, icon, reconcile } from "../../ui/dom.js";
import { runAndReport } from "../../ui/notices.js";
import { timeElement } from "../../ui/times.js";
import { userAvatar } from "../../content/avatars.js";
import { ComponentType } from "../../generated/enums.js";
import { t, tn } from "../../ui/translation.js";
import { AuditNames, changeTexts } from "./changes.js";
import { AUDIT_GROUPS, AUDIT_LABELS } from "./texts.js";
import { entityPicker, findGuildEntities } from "../forms/entity_picker.js";
import { lockedNotice } from "../forms/layout.js";

const PAGE_SIZE = 50;
/** Delay before new entries are loaded, so that several actions in a row cause one request. */
const NEW_ENTRIES_DELAY_MS = 300;
/** Number of days that the server keeps entries (spec/http.md#3.11). */
const KEPT_DAYS = 45;

/** @type {import("../forms/settings_dialog.js").SettingsScreen} */
export const AUDIT_LOG_SCREEN = { id: "audit-log", label: t("Audit log"), icon: "history", build };

function build(view) {
  const { context, guildId } = view;
  const denialReason = view.access.findDenialReason(Permissions.VIEW_AUDIT_LOG);
  if (denialReason !== null) {
    view.onChange(
      () => view.access.findDenialReason(Permissions.VIEW_AUDIT_LOG) === null && view.show(AUDIT_LOG_SCREEN.id),
    );
    return lockedNotice(t("You cannot see the audit log. {reason}", { reason: denialReason }));
  }
  /** Listed entries, the newest first. */
  let entries = [];
  /** Users that the entries refer to, by ID. */
  const users = new Map();
  const filters = { user_id: undefined, target_id: undefined, action_type: undefined };
  let requestCount = 0,
    timer;
  const list = h("ul", { class: "settings-list audit-log", "aria-label": t("Audit log") });
  const status = h("p", { class: "muted", role: "status" }, t("Loading…"));
  const moreButton = h(
    "button",
    { type: "button", class: "button small quiet settings-more", hidden: true, onclick: () => fetchPage() },
    t("Show more"),
  );
  const drawEntries = () => {
    const isFiltered = Object.values(filters).some(value => value !== undefined);
    status.textContent = entries.length
      ? ""
      : isFiltered
        ? t("No entries match these filters.")
        : t("Nothing happened in the last {count} days.", { count: KEPT_DAYS });
    const names = new AuditNames(view, users);
    reconcile(
      list,
      entries.map(entry => ({
        key: entry.id,
        version: names.describeTarget(entry),
        build: () => auditEntry(entry, names),
      })),
    );
  };
  /** Store the users of a response and return its entries. */
  const readEntries = page => {
    for (const user of page.users ?? []) users.set(user.id, user);
    return page.audit_log_entries;
  };
  const fetchPage = (isFirstPage = false) =>
    runAndReport(async () => {
      const requestNumber = (requestCount += 1),
        before = isFirstPage ? undefined : entries.at(-1)?.id;
      const loadedEntries = readEntries(
        await context.api.request("GET", `/guilds/${guildId}/audit-logs`, {
          query: { ...filters, before, limit: PAGE_SIZE },
        }),
      );
      // A newer request replaced this one.
      if (requestNumber !== requestCount) return;
      entries = isFirstPage ? loadedEntries : [...entries, ...loadedEntries];
      moreButton.hidden = loadedEntries.length < PAGE_SIZE;
      drawEntries();
    });
  const setFilter = (name, value) => {
    filters[name] = value;
    fetchPage(true);
  };
  view.onChange(({ kind }) => {
    if (view.access.findDenialReason(Permissions.VIEW_AUDIT_LOG) !== null) view.show(AUDIT_LOG_SCREEN.id);
    else if (kind === "auditLog") {
      clearTimeout(timer);
      timer = setTimeout(() => list.isConnected && fetchNewest(), NEW_ENTRIES_DELAY_MS);
    }
  });
  /** Add new entries at the top of the list; the pages that the user opened stay. */
  const fetchNewest = () =>
    runAndReport(async () => {
      const requestNumber = requestCount;
      const loadedEntries = readEntries(
        await context.api.request("GET", `/guilds/${guildId}/audit-logs`, { query: { ...filters, limit: PAGE_SIZE } }),
      );
      if (requestNumber !== requestCount) return;
      const knownIds = new Set(entries.map(entry => entry.id));
      entries = [...loadedEntries.filter(entry => !knownIds.has(entry.id)), ...entries];
      drawEntries();
    });
  fetchPage(true);
  return [
    h(
      "p",
      { class: "hint settings-intro" },
      t("Shows what moderators and apps did in the last {count} days.", { count: KEPT_DAYS }),
    ),
    h("div", { class: "settings-tools audit-filters" }, filterControls(view, setFilter)),
    status,
    list,
    moreButton,
  ];
}

function filterControls(view, setFilter) {
  const userPicker = (label, filterName) =>
    entityPicker(label, {
      placeholder: t("Anyone"),
      find: query => findGuildEntities(view, ComponentType.USER_SELECT, query),
      onChoose: choice => setFilter(filterName, choice?.value),
    });
  const select = h(
    "select",
    { id: "audit-action", onchange: () => setFilter("action_type", select.value || undefined) },
    h("option", { value: "" }, t("All actions")),
    AUDIT_GROUPS.map(([title, actions]) =>
      h(
        "optgroup",
        { label: title },
        actions.map(([type, label]) => h("option", { value: type }, label)),
      ),
    ),
  );
  return [
    userPicker(t("Done by"), "user_id"),
    userPicker(t("Done to"), "target_id"),
    h("div", { class: "field" }, h("label", { for: "audit-action" }, t("Action")), select),
  ];
}

function auditEntry(entry, names) {
  const user = entry.user_id === null ? undefined : names.user(entry.user_id);
  const name = entry.user_id === null ? "Hubbub" : (names.userName(entry.user_id) ?? t("Unknown user"));
  const changes = changeTexts(names, entry.changes ?? []);
  const target = names.describeTarget(entry);
  const text = h(
    "div",
    { class: "settings-entry-text" },
    h(
      "p",
      { class: "settings-entry-title", dir: "auto" },
      AUDIT_LABELS.get(entry.action_type) ?? t("Action {type}", { type: entry.action_type }),
    ),
    target ? h("p", { dir: "auto" }, target) : null,
    entry.reason ? h("p", { class: "small", dir: "auto" }, t("Reason: {reason}", { reason: entry.reason })) : null,
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
          h("summary", { class: "small" }, tn("{count} change", "{count} changes", changes.length)),
          h(
            "ul",
            null,
            changes.map(change => h("li", { dir: "auto" }, change)),
          ),
        )
      : null,
  );
  return h("li", { class: "settings-entry" }, user === undefined ? icon("settings") : userAvatar(user, name), text);
}
