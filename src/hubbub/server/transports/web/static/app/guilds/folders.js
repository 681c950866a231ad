/** Menus, dialogs and dragging that change the order and folders of guilds. */

import { FOLDER_NAME_MAX } from "../generated/limits.js";
import { folderKey, guildFolders, saveGuildFolders } from "../state/guild_order.js";
import { markChannelsRead } from "../state/read_markers.js";
import { formField } from "../ui/controls.js";
import { openDialog } from "../ui/dialogs.js";
import { h } from "../ui/dom.js";
import { announce } from "../ui/live_region.js";
import { runAndReport } from "../ui/notices.js";
import { openMenu } from "../ui/popups.js";
import { matchShortcut } from "../ui/shortcuts.js";
import { t } from "../ui/translation.js";
import {
  addToFolder,
  changeFolder,
  createFolder,
  dissolveFolder,
  dropEntry,
  folderOf,
  removeFromFolder,
  stepEntry,
  stepGuild,
} from "./moves.js";

/** Color that the dialog shows for a folder without a color, and stores as no color. */
const DEFAULT_COLOR = "#0d6b62";

/** Return the name of a folder; without one, the names of its guilds. */
const folderName = (folder, state) =>
  folder.name || folder.guild_ids.map(id => state.guilds.get(id)?.name ?? t("Unknown guild")).join(", ");

/** Store a new order of guilds and announce `announcement` to screen readers. */
function saveOrder(context, folders, announcement) {
  return runAndReport(async () => {
    await saveGuildFolders(context, folders);
    announce(announcement);
  });
}

export function openGuildMoveMenu(anchor, context, guildId) {
  const { state } = context;
  const folders = guildFolders(state);
  const folder = folderOf(folders, guildId);
  const name = state.guilds.get(guildId)?.name ?? t("Unknown guild");
  openMenu(anchor, t("Move {name}", { name }), [
    { label: t("Move up"), icon: "up", onClick: () => moveGuild(context, guildId, -1) },
    { label: t("Move down"), icon: "down", onClick: () => moveGuild(context, guildId, 1) },
    // Guilds outside of folders are entries without an ID.
    ...folders
      .filter(other => other.id !== null && other !== folder)
      .map(other => ({
        label: t("Move to {name}", { name: folderName(other, state) }),
        icon: "inbox",
        onClick: () =>
          saveOrder(context, addToFolder(folders, guildId, other.id), t("{name} is in the folder now.", { name })),
      })),
    {
      label: t("New folder"),
      icon: "plus",
      onClick: async () => {
        const changedFolders = createFolder(folders, guildId);
        if (await saveOrder(context, changedFolders, t("Folder created.")))
          openFolderDialog(context, folderOf(changedFolders, guildId).id);
      },
    },
    folder !== null && {
      label: t("Remove from folder"),
      icon: "close",
      onClick: () =>
        saveOrder(context, removeFromFolder(folders, guildId), t("{name} is outside of folders now.", { name })),
    },
  ]);
}

function moveGuild(context, guildId, step) {
  const name = context.state.guilds.get(guildId)?.name ?? t("The guild");
  return saveOrder(
    context,
    stepGuild(guildFolders(context.state), guildId, step),
    step < 0 ? t("{name} moved up.", { name }) : t("{name} moved down.", { name }),
  );
}

/** Open the menu of a folder; do nothing if the folder no longer exists. */
export function openFolderMenu(anchor, context, folderId) {
  const { state } = context;
  const folders = guildFolders(state);
  const folder = folders.find(other => other.id === folderId);
  if (folder === undefined) return;
  const name = folderName(folder, state);
  const channels = folder.guild_ids.flatMap(id => state.channelsOf(id));
  const moveFolder = step =>
    saveOrder(context, stepEntry(folders, folderKey(folder), step), t("{name} moved.", { name }));
  openMenu(anchor, name, [
    { label: t("Edit folder"), icon: "edit", onClick: () => openFolderDialog(context, folderId) },
    {
      label: t("Mark all as read"),
      icon: "check",
      onClick: () => runAndReport(() => markChannelsRead(context, channels)),
    },
    { label: t("Move up"), icon: "up", onClick: () => moveFolder(-1) },
    { label: t("Move down"), icon: "down", onClick: () => moveFolder(1) },
    {
      label: t("Remove folder"),
      icon: "bin",
      isDangerous: true,
      onClick: () =>
        saveOrder(context, dissolveFolder(folders, folderId), t("Folder removed. Its guilds stay in the list.")),
    },
  ]);
}

/** Open the dialog with the name and color of a folder. */
function openFolderDialog(context, folderId) {
  const folder = guildFolders(context.state).find(other => other.id === folderId);
  openDialog(t("Folder"), close => {
    const nameField = formField(
      t("Name"),
      h("input", { type: "text", maxlength: FOLDER_NAME_MAX, value: folder.name ?? "", dir: "auto", autofocus: true }),
    );
    const initialColor = folder.color === null ? DEFAULT_COLOR : `#${folder.color.toString(16).padStart(6, "0")}`;
    const colorField = formField(t("Color"), h("input", { type: "color", value: initialColor }));
    const submit = async event => {
      event.preventDefault();
      const changes = {
        name: nameField.input.value.trim() || null,
        color: colorField.input.value === DEFAULT_COLOR ? null : Number.parseInt(colorField.input.value.slice(1), 16),
      };
      try {
        await saveGuildFolders(context, changeFolder(guildFolders(context.state), folderId, changes));
        close();
      } catch (error) {
        nameField.setError(error.userText);
      }
    };
    return h(
      "form",
      { class: "stack", onsubmit: submit },
      nameField.node,
      colorField.node,
      h("div", { class: "row end" }, h("button", { type: "submit", class: "button" }, t("Save"))),
    );
  });
}

/** Let the user move the entries of the guild list with a pointer, and with the shortcuts of `ui/shortcuts.js`. */
export function makeGuildsMovable(list, context) {
  let draggedKey = null;
  const itemOf = event => event.target.closest?.("li[data-move]") ?? null;
  const clearDropIndicators = () => {
    for (const item of list.querySelectorAll("[data-drop]")) delete item.dataset.drop;
  };
  const dropPlace = (event, item) => {
    const box = item.getBoundingClientRect();
    const verticalFraction = (event.clientY - box.top) / box.height;
    const canDropInside = !draggedKey.startsWith("folder-");
    if (canDropInside && verticalFraction > 0.3 && verticalFraction < 0.7) return "inside";
    return verticalFraction < 0.5 ? "before" : "after";
  };
  list.addEventListener("dragstart", event => {
    const item = itemOf(event);
    if (item === null) return;
    draggedKey = item.dataset.move;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", "");
    item.classList.add("dragged");
  });
  list.addEventListener("dragover", event => {
    const item = itemOf(event);
    clearDropIndicators();
    if (draggedKey === null || item === null || item.dataset.move === draggedKey) return;
    event.preventDefault();
    item.dataset.drop = dropPlace(event, item);
  });
  list.addEventListener("drop", event => {
    const item = itemOf(event);
    if (draggedKey === null || item === null) return;
    event.preventDefault();
    const place = dropPlace(event, item);
    saveOrder(
      context,
      dropEntry(guildFolders(context.state), draggedKey, item.dataset.move, place),
      t("Order of guilds changed."),
    );
  });
  list.addEventListener("dragend", () => {
    draggedKey = null;
    clearDropIndicators();
    for (const item of list.querySelectorAll(".dragged")) item.classList.remove("dragged");
  });
  list.addEventListener("keydown", event => {
    const step = { "guild-up": -1, "guild-down": 1 }[matchShortcut(event, "guilds")];
    const item = itemOf(event);
    if (step === undefined || item === null) return;
    event.preventDefault();
    const key = item.dataset.move;
    if (key.startsWith("folder-"))
      saveOrder(context, stepEntry(guildFolders(context.state), key, step), t("Folder moved."));
    else moveGuild(context, key, step);
  });
}
