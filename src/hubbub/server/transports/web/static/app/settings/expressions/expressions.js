/** Shared parts of the emoji, sticker and sound screens: permissions, slots, and the list with its dialogs. */

import { Permissions } from "../../network/enums.js";
import { setDenialReason } from "../../ui/controls.js";
import { h, icon } from "../../ui/dom.js";
import { showNotice } from "../../ui/notices.js";
import { t } from "../../ui/translation.js";
import { openActionDialog } from "../forms/form.js";
import { actionButton, listEntry, viewOnlyNotice } from "../forms/layout.js";
import { liveList } from "../forms/live_list.js";

/**
 * A kind of expressions: emoji, stickers or sounds.
 *
 * @typedef {object} ExpressionKind
 * @property {string} label
 * @property {string} emptyText
 * @property {string} addLabel
 * @property {(view: any) => string} path returns the API path of the list; an item has its ID appended
 * @property {(response: any) => any[]} listOf returns the items of a response
 * @property {(item: any) => string} idOf
 * @property {(item: any) => string} nameOf
 * @property {(guild: any, items: any[]) => string} slotsText
 * @property {(guild: any, items: any[]) => boolean} isFull
 * @property {(view: any, item: any) => any} image returns the image of an item
 * @property {(view: any, item: any) => any[]} details
 * @property {(view: any, item: any) => any[]} [extraActions]
 * @property {(item: any) => any} [tag] a short text behind the name
 * @property {(view: any) => Promise<any>} create opens the dialog and resolves to the new item, or null
 * @property {(view: any, item: any) => Promise<boolean>} edit opens the dialog and resolves to whether the item changed
 * @property {(view: any, detail: any) => boolean} isChange returns whether a change of the state is about this kind
 */

/** Return the number of expressions that a guild can have by its premium tier; with a feature at least `moreMax`. */
export function slotsMax(guild, byTier, feature, moreMax) {
  const max = byTier[Math.min(guild.premium_tier ?? 0, byTier.length - 1)];
  return (guild.features ?? []).includes(feature) ? Math.max(max, moreMax) : max;
}

/** Return why the user cannot change an expression, or null. */
export function expressionDenialReason(access, expression) {
  const isOwn = expression.user?.id === access.me.id;
  if (isOwn && access.hasPermissions(Permissions.CREATE_GUILD_EXPRESSIONS)) return null;
  return access.findDenialReason(Permissions.MANAGE_GUILD_EXPRESSIONS);
}

/**
 * Return the content of the screen of one kind of expressions.
 *
 * @param {any} view
 * @param {ExpressionKind} kind
 */
export function expressionScreen(view, kind) {
  const { context } = view;
  const notice = h("div", { class: "settings-access" });
  const slots = h("p", { class: "hint", role: "status" });
  const addButton = h(
    "button",
    { type: "button", class: "button small", onclick: () => create() },
    icon("plus"),
    kind.addLabel,
  );
  const drawTools = items => {
    const access = view.access;
    const denialReason = access.findDenialReason(Permissions.CREATE_GUILD_EXPRESSIONS);
    const isLocked = denialReason !== null && !access.hasPermissions(Permissions.MANAGE_GUILD_EXPRESSIONS);
    notice.replaceChildren(
      ...(isLocked
        ? [viewOnlyNotice(denialReason)]
        : denialReason === null
          ? []
          : [
              h(
                "p",
                { class: "hint" },
                t("You can only change what exists. To add something: {reason}", { reason: denialReason }),
              ),
            ]),
    );
    const fullReason = denialReason === null && kind.isFull(view.guild, items) ? t("There is no free slot.") : null;
    setDenialReason(addButton, denialReason ?? fullReason);
    const text = [kind.slotsText(view.guild, items), fullReason].filter(Boolean).join(". ");
    if (slots.textContent !== text) slots.textContent = text;
  };
  const list = liveList({
    label: kind.label,
    emptyText: kind.emptyText,
    fetchItems: async () => kind.listOf(await context.api.request("GET", kind.path(view))),
    describeItem: item => expressionEntry(view, kind, item, { edit, remove }),
    onDraw: drawTools,
  });
  const create = async () => {
    const expression = await kind.create(view);
    if (expression === null) return;
    showNotice(t("{name} was added.", { name: kind.nameOf(expression) }), "done");
    await list.refresh();
    list.focus(kind.idOf(expression));
  };
  const edit = async item => {
    if (!(await kind.edit(view, item))) return;
    showNotice(t("Changes saved."), "done");
    await list.refresh();
    list.focus(kind.idOf(item));
  };
  const remove = async item => {
    const isDone = await openActionDialog({
      title: t("Delete {name}?", { name: kind.nameOf(item) }),
      text: t("Messages that use it show only its name. This cannot be undone."),
      label: t("Delete"),
      run: () => context.api.request("DELETE", `${kind.path(view)}/${kind.idOf(item)}`),
    });
    if (!isDone) return;
    showNotice(t("{name} was deleted.", { name: kind.nameOf(item) }), "done");
    await list.refresh();
    addButton.focus();
  };
  view.onChange(detail => {
    if (kind.isChange(view, detail)) list.refreshSoon();
    else list.draw();
  });
  return [notice, h("div", { class: "settings-tools" }, addButton), slots, ...list.nodes];
}

function expressionEntry(view, kind, item, { edit, remove }) {
  const denialReason = expressionDenialReason(view.access, item),
    name = kind.nameOf(item),
    details = [
      item.user ? t("Added by {name}", { name: item.user.global_name || item.user.username }) : null,
      ...kind.details(view, item),
    ];
  const buttons = () => {
    const editButton = actionButton(t("Edit"), () => edit(item), { denialReason, name: t("Edit {name}", { name }) });
    editButton.dataset.focus = "edit";
    return [
      editButton,
      actionButton(t("Delete"), () => remove(item), {
        isDangerous: true,
        denialReason,
        name: t("Delete {name}", { name }),
      }),
    ];
  };
  return {
    key: kind.idOf(item),
    version: JSON.stringify([item, details, denialReason]),
    build: () =>
      listEntry({
        image: kind.image(view, item),
        title: [name, kind.tag?.(item) ? h("span", { class: "tag" }, kind.tag(item)) : null],
        details,
        actions: [...(kind.extraActions?.(view, item) ?? []), ...buttons()],
      }),
  };
}
