/** Guild settings: the members of a role, and the dialog that adds members. */

import { MEMBERS_PAGE_MAX, SEARCH_QUERY_MAX } from "../../generated/limits.js";
import { Permissions } from "../../network/enums.js";
import { openDialog } from "../../ui/dialogs.js";
import { h, icon, reconcile, setChildren } from "../../ui/dom.js";
import { runAndReport, showNotice } from "../../ui/notices.js";
import { t } from "../../ui/translation.js";
import { userAvatar } from "../../content/avatars.js";
import { textSetting } from "../forms/fields.js";
import { actionButton, listEntry } from "../forms/layout.js";

/** Members per request. The API lists all members of the guild, and the client leaves out those without the role. */
const REQUEST_SIZE = MEMBERS_PAGE_MAX;
/** Number of members that the first page and "Show more" add at least, unless there are fewer. */
const ADDED_PER_PAGE_MIN = 50;
/** Maximum number of members that the dialog offers. */
const OFFERED_MEMBERS_MAX = 50;
const SEARCH_DELAY_MS = 250;

const nameOf = member => member.nick || member.user.global_name || member.user.username;

/** Return why the user cannot assign or remove a role, or null. */
function assignmentDenialReason(access, role) {
  return role.managed ? t("An app manages the members of this role.") : access.findRoleDenialReason(role);
}

/**
 * Return the content with the members of a role; they are loaded when it is shown for the first time.
 *
 * @returns {{node: HTMLElement, onShow: () => void, onChange: (detail: any) => void}}
 */
export function roleMembers(view, roleId) {
  const { context, guildId } = view;
  /** Members with the role by user ID. @type {Map<string, any>} */
  const members = new Map();
  /** ID of the last member of the guild that was loaded. */
  let lastLoadedId = null,
    isComplete = false,
    isStarted = false;
  const list = h("ul", { class: "settings-list", "aria-label": t("Members with this role") });
  const status = h("p", { class: "muted", role: "status" }, t("Loading…"));
  const reason = h("p", { class: "hint" });
  const addButton = h(
    "button",
    { type: "button", class: "button small", onclick: () => openAddDialog(view, roleId, members, updateMember) },
    icon("plus"),
    t("Add members"),
  );
  const moreButton = h(
    "button",
    { type: "button", class: "button small quiet settings-more", hidden: true, onclick: () => fetchPage() },
    t("Show more"),
  );
  const findRole = () => view.guild.roles.find(role => role.id === roleId);
  const drawMembers = () => {
    const role = findRole();
    if (role === undefined) return;
    const denialReason = assignmentDenialReason(view.access, role);
    addButton.disabled = denialReason !== null;
    reason.textContent = denialReason ?? "";
    reason.hidden = denialReason === null;
    if (isStarted)
      status.textContent = members.size ? "" : isComplete ? t("No member has this role yet.") : t("Loading…");
    reconcile(
      list,
      [...members.values()].map(member => memberEntry(view, role, member, denialReason, () => remove(member))),
    );
  };
  const updateMember = (member, isAssigned) => {
    if (isAssigned) members.set(member.user.id, member);
    else members.delete(member.user.id);
    drawMembers();
  };
  const remove = member =>
    runAndReport(async () => {
      await context.api.request("DELETE", `/guilds/${guildId}/members/${member.user.id}/roles/${roleId}`);
      updateMember(member, false);
      showNotice(t("{name} no longer has this role.", { name: nameOf(member) }), "done");
      addButton.focus();
    });
  const fetchPage = () =>
    runAndReport(async () => {
      moreButton.hidden = true;
      const wantedSize = members.size + ADDED_PER_PAGE_MIN;
      while (!isComplete && members.size < wantedSize) {
        const query = { limit: REQUEST_SIZE, after: lastLoadedId ?? undefined };
        const loadedMembers = await context.api.request("GET", `/guilds/${guildId}/members`, { query });
        for (const member of loadedMembers) if (member.roles.includes(roleId)) members.set(member.user.id, member);
        lastLoadedId = loadedMembers.at(-1)?.user.id ?? lastLoadedId;
        isComplete = loadedMembers.length < REQUEST_SIZE;
        if (!list.isConnected) return;
      }
      moreButton.hidden = isComplete;
      drawMembers();
    });
  drawMembers();
  return {
    node: h(
      "div",
      { class: "settings-section" },
      h("div", { class: "row" }, addButton),
      reason,
      status,
      list,
      moreButton,
    ),
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
      drawMembers();
    },
  };
}

function memberEntry({ access }, role, member, denialReason, onRemove) {
  const name = nameOf(member);
  return {
    key: member.user.id,
    version: `${name} ${member.user.avatar} ${denialReason} ${access.hasPermissions(Permissions.MANAGE_ROLES)}`,
    build: () =>
      listEntry({
        image: userAvatar(member.user, name),
        title: name,
        details: [`@${member.user.username}`],
        actions: [
          actionButton(t("Remove"), onRemove, {
            denialReason,
            name: t("Remove {name} from {role}", { name, role: role.name }),
          }),
        ],
      }),
  };
}

/** Open the dialog that searches for members and gives them the role. */
function openAddDialog(view, roleId, members, updateMember) {
  const { context, guildId } = view;
  const role = view.guild.roles.find(other => other.id === roleId);
  openDialog(t("Add members to {name}", { name: role.name }), close => {
    const list = h("ul", { class: "settings-list", "aria-label": t("Members without this role") });
    const status = h("p", { class: "muted small", role: "status" });
    const search = textSetting(t("Search members"), { type: "search", maxlength: SEARCH_QUERY_MAX });
    let requestCount = 0,
      timer;
    const assign = member =>
      runAndReport(async () => {
        // Cancel a pending search, because its result would replace the message below.
        clearTimeout(timer);
        await context.api.request("PUT", `/guilds/${guildId}/members/${member.user.id}/roles/${roleId}`);
        updateMember(member, true);
        await findMembers();
        status.textContent = t("{name} was added.", { name: nameOf(member) });
        search.node.querySelector("input").focus();
      });
    const findMembers = async () => {
      const requestNumber = (requestCount += 1),
        query = search.read().trim();
      const loadedMembers = await (query
        ? context.api.request("GET", `/guilds/${guildId}/members/search`, {
            query: { query, limit: OFFERED_MEMBERS_MAX },
          })
        : context.api.request("GET", `/guilds/${guildId}/members`, { query: { limit: OFFERED_MEMBERS_MAX } }));
      if (requestNumber !== requestCount) return;
      const addableMembers = loadedMembers.filter(
        member => !members.has(member.user.id) && !member.roles.includes(roleId),
      );
      status.textContent = addableMembers.length ? "" : t("No other members found.");
      setChildren(
        list,
        addableMembers.map(member => {
          const name = nameOf(member);
          return listEntry({
            image: userAvatar(member.user, name),
            title: name,
            details: [`@${member.user.username}`],
            actions: [actionButton(t("Add"), () => assign(member), { name: t("Add {name}", { name }) })],
          });
        }),
      );
    };
    search.node.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => runAndReport(findMembers), SEARCH_DELAY_MS);
    });
    runAndReport(findMembers);
    return h(
      "div",
      { class: "stack" },
      search.node,
      status,
      h("div", { class: "dialog-list" }, list),
      h("div", { class: "row end" }, h("button", { type: "button", class: "button", onclick: close }, t("Done"))),
    );
  });
}
