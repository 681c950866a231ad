/** The keyboard shortcuts: one table, which the handlers of keys and the help read. */

import { t } from "./translation.js";

/**
 * `scope` is the part of the page that handles the keys; `keys` are alternatives, of which the help shows the first. `Mod` is
 * Ctrl, or Command on a Mac.
 *
 * @typedef {{id: string, scope: string, keys: string[], label: string}} Shortcut
 */

/** @type {Shortcut[]} */
export const SHORTCUTS = [
  { id: "switch", scope: "page", keys: ["Mod+k"], label: t("Go to a channel, conversation, user or guild") },
  { id: "search", scope: "page", keys: ["Mod+Shift+f"], label: t("Search messages") },
  { id: "previous-channel", scope: "page", keys: ["Alt+ArrowUp"], label: t("Previous channel") },
  { id: "next-channel", scope: "page", keys: ["Alt+ArrowDown"], label: t("Next channel") },
  { id: "previous-unread", scope: "page", keys: ["Alt+Shift+ArrowUp"], label: t("Previous unread channel") },
  { id: "next-unread", scope: "page", keys: ["Alt+Shift+ArrowDown"], label: t("Next unread channel") },
  { id: "previous-guild", scope: "page", keys: ["Mod+Alt+ArrowUp"], label: t("Previous guild") },
  { id: "next-guild", scope: "page", keys: ["Mod+Alt+ArrowDown"], label: t("Next guild") },
  { id: "escape", scope: "page", keys: ["Escape"], label: t("Close a panel, or mark the channel as read") },
  { id: "read-guild", scope: "page", keys: ["Shift+Escape"], label: t("Mark the guild as read") },
  { id: "help", scope: "page", keys: ["Mod+/"], label: t("Show the keyboard shortcuts") },
  { id: "send", scope: "composer", keys: ["Enter"], label: t("Send the message") },
  { id: "new-line", scope: "composer", keys: ["Shift+Enter"], label: t("New line") },
  { id: "edit-last", scope: "composer", keys: ["ArrowUp"], label: t("Edit your last message, if the field is empty") },
  { id: "cancel", scope: "composer", keys: ["Escape"], label: t("Cancel the reply") },
  { id: "previous-message", scope: "list", keys: ["ArrowUp"], label: t("Previous message") },
  { id: "next-message", scope: "list", keys: ["ArrowDown"], label: t("Next message") },
  { id: "first-message", scope: "list", keys: ["Home"], label: t("First loaded message") },
  { id: "last-message", scope: "list", keys: ["End"], label: t("Last message") },
  { id: "compose", scope: "list", keys: ["Escape"], label: t("Return to the message field") },
  { id: "reply", scope: "message", keys: ["r"], label: t("Reply") },
  { id: "edit", scope: "message", keys: ["e"], label: t("Edit your message") },
  { id: "react", scope: "message", keys: ["+"], label: t("Add a reaction") },
  { id: "delete", scope: "message", keys: ["Delete"], label: t("Delete") },
  { id: "unread", scope: "message", keys: ["u"], label: t("Mark as unread") },
  { id: "menu", scope: "message", keys: ["m", "ContextMenu"], label: t("Open the menu") },
  {
    id: "context-menu",
    scope: "entry",
    keys: ["Shift+F10"],
    label: t("Open the menu of a guild, channel, member or other entry"),
  },
  { id: "guild-up", scope: "guilds", keys: ["Mod+Shift+ArrowUp"], label: t("Move the guild or folder up") },
  { id: "guild-down", scope: "guilds", keys: ["Mod+Shift+ArrowDown"], label: t("Move the guild or folder down") },
  { id: "talk", scope: "call", keys: ["ControlRight"], label: t("Talk, while push to talk is on") },
];

/** Return the ID of the shortcut of a scope that a key event means, or null. */
export function matchShortcut(event, scope) {
  const isModified = event.ctrlKey || event.metaKey || event.altKey;
  const pressedKeys = [
    event.ctrlKey || event.metaKey ? "Mod" : null,
    event.altKey ? "Alt" : null,
    // Without another modifier, Shift is part of a character such as “+”.
    event.shiftKey && (isModified || event.key.length > 1) ? "Shift" : null,
    event.key.length === 1 && isModified ? event.key.toLowerCase() : event.key,
  ]
    .filter(Boolean)
    .join("+");
  return SHORTCUTS.find(shortcut => shortcut.scope === scope && shortcut.keys.includes(pressedKeys))?.id ?? null;
}
