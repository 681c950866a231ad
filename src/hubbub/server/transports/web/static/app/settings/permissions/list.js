/** Permissions in groups with a search field, and the permission field of a role. */

import { h } from "../../ui/dom.js";
import { t } from "../../ui/translation.js";
import { showFieldNotice, switchSetting, textSetting } from "../forms/fields.js";
import { settingsSection } from "../forms/layout.js";
import { PERMISSION_GROUPS } from "./texts.js";

/**
 * Return the permissions in groups below a search field.
 *
 * @param {(bit: bigint, label: string, text: string) => HTMLElement} buildRow
 * @param {bigint} [bits] the permissions to list; all if absent
 */
export function permissionList(buildRow, bits) {
  const groups = PERMISSION_GROUPS.map(([title, permissions]) => {
    const rows = permissions
      .filter(([bit]) => bits === undefined || bits & bit)
      .map(([bit, label, text]) => ({
        searchText: `${label} ${text}`.toLowerCase(),
        node: buildRow(bit, label, text),
      }));
    return {
      rows,
      node: settingsSection(
        title,
        rows.map(row => row.node),
      ),
    };
  }).filter(group => group.rows.length);
  const status = h("p", { class: "muted", role: "status" });
  const search = textSetting(t("Search permissions"), { type: "search" });
  const filter = event => {
    // A search does not change the form that contains it.
    event.stopPropagation();
    const query = search.read().trim().toLowerCase();
    let totalCount = 0;
    for (const { rows, node } of groups) {
      for (const row of rows) row.node.hidden = !row.searchText.includes(query);
      const visibleCount = rows.filter(row => !row.node.hidden).length;
      node.hidden = visibleCount === 0;
      totalCount += visibleCount;
    }
    status.textContent = totalCount ? "" : t("No permissions found.");
  };
  for (const event of ["input", "change"]) search.node.addEventListener(event, filter);
  return h(
    "div",
    { class: "settings-form permissions" },
    search.node,
    status,
    groups.map(group => group.node),
  );
}

/**
 * Return the permission field of a role. Its value is the permissions as a decimal string; bits that the client does not
 * know stay unchanged.
 *
 * @param {(bit: bigint) => string | null} findDenialReason returns why the user cannot change a permission, or null
 * @returns {import("../forms/fields.js").SettingsField & {updateDenials: () => void}}
 */
export function permissionsSetting(findDenialReason) {
  let unknownBits = 0n;
  const switches = new Map();
  const node = permissionList((bit, label, text) => {
    const reason = h("p", { class: "hint permission-lock", hidden: true });
    const field = switchSetting(label, { hint: text });
    field.node.lastElementChild.append(reason);
    switches.set(bit, { field, reason });
    return field.node;
  });
  const updateDenials = () => {
    for (const [bit, { field, reason }] of switches) {
      const denialReason = findDenialReason(bit);
      field.setDisabled(denialReason !== null);
      reason.hidden = denialReason === null;
      reason.textContent = denialReason ?? "";
    }
  };
  updateDenials();
  return {
    node,
    read() {
      let bits = unknownBits;
      for (const [bit, { field }] of switches) if (field.read()) bits |= bit;
      return String(bits);
    },
    write(value) {
      unknownBits = BigInt(value);
      for (const [bit, { field }] of switches) {
        field.write(Boolean(unknownBits & bit));
        unknownBits &= ~bit;
      }
    },
    setError: showFieldNotice,
    // Each switch is locked for its own reason, so the flag of the form is ignored.
    setDisabled: updateDenials,
    updateDenials,
  };
}
