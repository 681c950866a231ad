/** Guild settings: the roles in their order, and the dialog to create one. */

import { ROLE_NAME_MAX } from "../../generated/limits.js";
import { Permissions } from "../../network/enums.js";
import { setDenialReason } from "../../ui/controls.js";
import { h, icon, reconcile } from "../../ui/dom.js";
import { runAndReport, showNotice } from "../../ui/notices.js";
import { t, tn } from "../../ui/translation.js";
import { textSetting } from "../forms/fields.js";
import { SettingsForm, openActionDialog } from "../forms/form.js";
import { actionButton, listEntry, viewOnlyNotice } from "../forms/layout.js";
import { colorSwatch, colorsOf } from "./colors.js";
import { openRole } from "./editor.js";
import { SORTING_HINT, describePlace, makeSortable, moveHandle, placeId, stepId } from "../forms/sortable_list.js";

/** Delay before the numbers of members are loaded again, so that several changes in a row cause one request. */
const MEMBER_COUNTS_DELAY_MS = 500;

/** @type {import("../forms/settings_dialog.js").SettingsScreen} */
export const ROLES_SCREEN = { id: "roles", label: t("Roles"), icon: "shield", build };

function build(view, focusedId = null) {
  const { context, guildId } = view;
  /** Role IDs from the highest to the lowest, without @everyone. @type {string[]} */
  let order = [];
  /** Numbers of members by role ID; null until they are loaded. @type {Record<string, number> | null} */
  let counts = null,
    timer;
  const list = h("ul", { class: "settings-list", "aria-label": t("Roles") });
  const notice = h("div", { class: "settings-access" });
  const tools = h("div", { class: "settings-tools" });
  const edit = roleId => view.requestPage(() => openRole(view, roleId, () => showList(view, roleId)));

  const drawRoles = () => {
    const access = view.access,
      roles = new Map(access.roles.map(role => [role.id, role]));
    const denialReason = access.findDenialReason(Permissions.MANAGE_ROLES);
    drawNotice(notice, denialReason, access.isOwner);
    drawTools(tools, denialReason, () => createRole(view, edit));
    const entries = order.flatMap(id => (roles.has(id) ? [roles.get(id)] : []));
    reconcile(list, [
      ...entries.map(role =>
        roleEntry(
          role,
          { denialReason: access.findRoleDenialReason(role), isLocked: denialReason !== null },
          counts?.[role.id] ?? null,
          edit,
        ),
      ),
      everyoneEntry(access.everyoneRole, access.findRoleDenialReason(access.everyoneRole), edit),
    ]);
  };
  /**
   * Return the IDs of the roles that the user can move: those below the user's highest role, or all if the user owns
   * the guild.
   */
  const movableIds = () => {
    const access = view.access;
    return new Set(access.roles.filter(role => access.findRoleDenialReason(role) === null).map(role => role.id));
  };
  /** Use a new order after a move of a role, unless roles that the user cannot move would change. */
  const setOrder = (id, changedOrder) => {
    const movableRoleIds = movableIds();
    const firstMovable = changedOrder.findIndex(other => movableRoleIds.has(other));
    const isAllowed =
      movableRoleIds.has(id) && changedOrder.slice(firstMovable).every(other => movableRoleIds.has(other));
    if (!isAllowed) return;
    order = changedOrder;
    drawRoles();
  };
  const field = {
    node: list,
    read: () => order,
    write(ids) {
      order = [...ids];
      drawRoles();
    },
    setError() {},
    setDisabled() {},
  };
  const status = makeSortable(list, {
    read: field.read,
    write: field.write,
    step: (id, direction) => setOrder(id, stepId(order, id, direction)),
    place: (id, otherId, isAfter) => order.includes(otherId) && setOrder(id, placeId(order, id, otherId, isAfter)),
    describe: id => {
      const name = view.access.roles.find(role => role.id === id)?.name;
      return describePlace(name, order.indexOf(id), order.length);
    },
  });
  const form = new SettingsForm(
    { order: field },
    { order: currentOrder(view) },
    {
      save: () => saveOrder(view, order, movableIds()),
      onInput: () => view.drawBar(),
    },
  );
  view.useForm(form);
  const fetchCounts = () =>
    runAndReport(async () => {
      counts = await context.api.request("GET", `/guilds/${guildId}/roles/member-counts`);
      drawRoles();
    });
  view.onChange(({ kind }) => {
    if (kind === "channels") return;
    if (kind === "members") {
      clearTimeout(timer);
      timer = setTimeout(() => list.isConnected && fetchCounts(), MEMBER_COUNTS_DELAY_MS);
      return;
    }
    const currentRoleIds = currentOrder(view);
    if (form.isDirty)
      order = [...order.filter(id => currentRoleIds.includes(id)), ...currentRoleIds.filter(id => !order.includes(id))];
    form.showStored({ order: currentRoleIds });
    drawRoles();
  });
  fetchCounts();
  if (focusedId !== null) queueMicrotask(() => focusEntry(list, focusedId));
  return [notice, tools, h("p", { class: "hint sorting-hint" }, SORTING_HINT), list, status];
}

function showList(view, focusedId) {
  view.setContent(ROLES_SCREEN.label, build(view, focusedId));
}

function focusEntry(list, key) {
  const row = [...list.children].find(child => child.dataset.key === key);
  (row?.querySelector("[data-focus=edit]") ?? list.closest(".settings-main"))?.focus();
}

const currentOrder = view => view.access.roles.map(role => role.id);

/** Send the positions of the roles that the user can move. */
function saveOrder({ context, guildId }, order, movable) {
  const ids = order.filter(id => movable.has(id));
  const json = ids.map((id, index) => ({ id, position: ids.length - index }));
  return context.api.request("PATCH", `/guilds/${guildId}/roles`, { json }).then(() => undefined);
}

function drawNotice(notice, denialReason, isOwner) {
  const hint = h("p", { class: "hint" }, t("You can only change roles below your highest role."));
  if (denialReason !== null) notice.replaceChildren(viewOnlyNotice(denialReason));
  else notice.replaceChildren(...(isOwner ? [] : [hint]));
}

function drawTools(tools, denialReason, onCreate) {
  if (tools.dataset.version === String(denialReason)) return;
  tools.dataset.version = String(denialReason);
  const button = h(
    "button",
    { type: "button", class: "button small", onclick: onCreate },
    icon("plus"),
    t("Create role"),
  );
  setDenialReason(button, denialReason);
  tools.replaceChildren(button);
}

async function createRole(view, edit) {
  let role = null;
  const isDone = await openActionDialog({
    title: t("Create role"),
    text: t("The role starts below all others, with the permissions of @everyone."),
    label: t("Create"),
    isDangerous: false,
    fields: { name: textSetting(t("Name"), { maxlength: ROLE_NAME_MAX, required: true }) },
    run: async ({ name }) => {
      role = await view.context.api.request("POST", `/guilds/${view.guildId}/roles`, { json: { name } });
      view.context.state.apply("GUILD_ROLE_CREATE", { guild_id: view.guildId, role });
    },
  });
  if (!isDone) return;
  showNotice(t("{name} was created.", { name: role.name }), "done");
  edit(role.id);
}

const membersText = count => (count === null ? null : tn("{count} member", "{count} members", count));

/** Return the entry of a role. With `isLocked`, a notice above the list has the reason, so the entry does not repeat it. */
function roleEntry(role, { denialReason, isLocked }, count, edit) {
  const colors = colorsOf(role);
  return {
    key: role.id,
    version: JSON.stringify([role.name, colors, role.managed, role.hoist, denialReason, isLocked, count]),
    build: () =>
      listEntry({
        image: [moveHandle(role.name, denialReason), colorSwatch(colors)],
        title: [role.name, role.managed ? h("span", { class: "tag" }, t("App")) : null],
        details: [
          [membersText(count), role.hoist ? t("shown separately") : null].filter(Boolean).join(" · ") || null,
          denialReason === null || isLocked ? null : h("span", null, icon("lock"), ` ${denialReason}`),
        ],
        actions: [editButton(role, denialReason, edit)],
      }),
  };
}

function everyoneEntry(role, denialReason, edit) {
  return {
    key: role.id,
    version: String(denialReason),
    build: () =>
      listEntry({
        image: [h("span", { class: "move-space" }), colorSwatch(colorsOf(role))],
        title: "@everyone",
        details: [t("The permissions that all members have.")],
        actions: [editButton({ ...role, name: "@everyone" }, denialReason, edit)],
      }),
  };
}

function editButton(role, denialReason, edit) {
  const { name } = role;
  const button =
    denialReason === null
      ? actionButton(t("Edit"), () => edit(role.id), { name: t("Edit {name}", { name }) })
      : actionButton(t("View"), () => edit(role.id), { name: t("View {name}", { name }) });
  button.dataset.focus = "edit";
  return button;
}
