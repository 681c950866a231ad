/** Guild settings: the members of a role. */

import { MEMBERS_PAGE_MAX, SEARCH_QUERY_MAX } from "../generated/limits.js";
import { Permissions } from "../network/enums.js";
import { openDialog } from "../ui/dialogs.js";
import { h, icon, reconcile, setChildren } from "../ui/dom.js";
import { runAndReport, showNotice } from "../ui/notices.js";
import { userAvatar } from "../content/avatars.js";
import { textSetting } from "./fields.js";
import { actionButton, listEntry } from "./layout.js";

/** Members are read in pages, because the API lists members of the guild, not of a role. */
const REQUEST_SIZE = MEMBERS_PAGE_MAX;
const SHOWN_SIZE = 50;
const SEARCH_MAX = 50;
const SEARCH_DELAY_MS = 250;

const nameOf = member => member.nick || member.user.global_name || member.user.username;

/** Return why the user cannot give or take a role, or null. */
function whyNotAssign(access, role) {
  return role.managed ? "An app manages the members of this role." : access.whyNotRole(role);
}

/**
 * Return the members of a role, loaded when they are shown first.
 *
 * @returns {{node: HTMLElement, onShow: () => void, onChange: (detail: any) => void}}
 */
export function roleMembers(view, roleId) {
  const { context, guildId } = view;
  /** Members with the role by user ID. @type {Map<string, any>} */
  const members = new Map();
  let after = null,
    isComplete = false,
    isStarted = false;
  const list = h("ul", { class: "settings-list", "aria-label": "Members with this role" });
  const status = h("p", { class: "muted", role: "status" }, "Loading…");
  const reason = h("p", { class: "hint" });
  const add = h(
    "button",
    { type: "button", class: "button small", onclick: () => openAddDialog(view, roleId, members, store) },
    icon("plus"),
    "Add members",
  );
  const moreButton = h(
    "button",
    { type: "button", class: "button small quiet settings-more", hidden: true, onclick: () => fetchPage() },
    "Show more",
  );
  const findRole = () => view.guild.roles.find(role => role.id === roleId);
  const draw = () => {
    const role = findRole();
    if (role === undefined) return;
    const why = whyNotAssign(view.access, role);
    add.disabled = why !== null;
    reason.textContent = why ?? "";
    reason.hidden = why === null;
    if (isStarted) status.textContent = members.size ? "" : isComplete ? "No member has this role yet." : "Loading…";
    reconcile(
      list,
      [...members.values()].map(member => memberEntry(view, role, member, why, () => remove(member))),
    );
  };
  const store = (member, isAssigned) => {
    if (isAssigned) members.set(member.user.id, member);
    else members.delete(member.user.id);
    draw();
  };
  const remove = member =>
    runAndReport(async () => {
      await context.api.request("DELETE", `/guilds/${guildId}/members/${member.user.id}/roles/${roleId}`);
      store(member, false);
      showNotice(`${nameOf(member)} no longer has this role.`, "done");
      add.focus();
    });
  const fetchPage = () =>
    runAndReport(async () => {
      moreButton.hidden = true;
      const target = members.size + SHOWN_SIZE;
      while (!isComplete && members.size < target) {
        const query = { limit: REQUEST_SIZE, after: after ?? undefined };
        const found = await context.api.request("GET", `/guilds/${guildId}/members`, { query });
        for (const member of found) if (member.roles.includes(roleId)) members.set(member.user.id, member);
        after = found.at(-1)?.user.id ?? after;
        isComplete = found.length < REQUEST_SIZE;
        if (!list.isConnected) return;
      }
      moreButton.hidden = isComplete;
      draw();
    });
  draw();
  return {
    node: h("div", { class: "settings-section" }, h("div", { class: "row" }, add), reason, status, list, moreButton),
    onShow() {
      if (isStarted) return;
      isStarted = true;
      fetchPage();
    },
    onChange({ kind, id }) {
      const member = kind === "members" ? context.state.member(guildId, id) : undefined;
      if (kind === "members" && isStarted) {
        if (member?.roles.includes(roleId)) members.set(id, member);
        else members.delete(id);
      }
      draw();
    },
  };
}

function memberEntry({ access }, role, member, why, onRemove) {
  const name = nameOf(member);
  return {
    key: member.user.id,
    version: `${name} ${member.user.avatar} ${why} ${access.has(Permissions.MANAGE_ROLES)}`,
    build: () =>
      listEntry({
        mark: userAvatar(member.user, name),
        title: name,
        details: [`@${member.user.username}`],
        actions: [actionButton("Remove", onRemove, { why, name: `Remove ${name} from ${role.name}` })],
      }),
  };
}

/** Open the dialog that searches for members and gives them the role. */
function openAddDialog(view, roleId, members, store) {
  const { context, guildId } = view;
  const role = view.guild.roles.find(other => other.id === roleId);
  openDialog(`Add members to ${role.name}`, close => {
    const list = h("ul", { class: "settings-list", "aria-label": "Members without this role" });
    const status = h("p", { class: "muted small", role: "status" });
    const search = textSetting("Search members", { type: "search", maxlength: SEARCH_QUERY_MAX });
    let request = 0,
      timer;
    const give = member =>
      runAndReport(async () => {
        // A search that starts later would replace the message below.
        clearTimeout(timer);
        await context.api.request("PUT", `/guilds/${guildId}/members/${member.user.id}/roles/${roleId}`);
        store(member, true);
        await find();
        status.textContent = `${nameOf(member)} was added.`;
        search.node.querySelector("input").focus();
      });
    const find = async () => {
      const current = (request += 1),
        query = search.read().trim();
      const found = await (query
        ? context.api.request("GET", `/guilds/${guildId}/members/search`, { query: { query, limit: SEARCH_MAX } })
        : context.api.request("GET", `/guilds/${guildId}/members`, { query: { limit: SEARCH_MAX } }));
      if (current !== request) return;
      const others = found.filter(member => !members.has(member.user.id) && !member.roles.includes(roleId));
      status.textContent = others.length ? "" : "No other members found.";
      setChildren(
        list,
        others.map(member => {
          const name = nameOf(member);
          return listEntry({
            mark: userAvatar(member.user, name),
            title: name,
            details: [`@${member.user.username}`],
            actions: [actionButton("Add", () => give(member), { name: `Add ${name}` })],
          });
        }),
      );
    };
    search.node.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => runAndReport(find), SEARCH_DELAY_MS);
    });
    runAndReport(find);
    return h(
      "div",
      { class: "stack" },
      search.node,
      status,
      h("div", { class: "dialog-list" }, list),
      h("div", { class: "row end" }, h("button", { type: "button", class: "button", onclick: close }, "Done")),
    );
  });
}
