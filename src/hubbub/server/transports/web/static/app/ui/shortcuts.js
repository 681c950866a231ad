/** The keyboard shortcuts: one table, which the handlers of keys and the help read. */

/**
 * `scope` is the part of the page that handles the keys; `keys` are alternatives, of which the help shows the first. `Mod` is
 * Ctrl, or Command on a Mac.
 *
 * @typedef {{id: string, scope: string, keys: string[], label: string}} Shortcut
 */

/** @type {Shortcut[]} */
export const SHORTCUTS = [
  { id: "switch", scope: "page", keys: ["Mod+k"], label: "Go to a channel, conversation, user or guild" },
  { id: "search", scope: "page", keys: ["Mod+Shift+f"], label: "Search messages" },
  { id: "previous-channel", scope: "page", keys: ["Alt+ArrowUp"], label: "Previous channel" },
  { id: "next-channel", scope: "page", keys: ["Alt+ArrowDown"], label: "Next channel" },
  { id: "previous-unread", scope: "page", keys: ["Alt+Shift+ArrowUp"], label: "Previous unread channel" },
  { id: "next-unread", scope: "page", keys: ["Alt+Shift+ArrowDown"], label: "Next unread channel" },
  { id: "previous-guild", scope: "page", keys: ["Mod+Alt+ArrowUp"], label: "Previous guild" },
  { id: "next-guild", scope: "page", keys: ["Mod+Alt+ArrowDown"], label: "Next guild" },
  { id: "escape", scope: "page", keys: ["Escape"], label: "Close a panel, or mark the channel as read" },
  { id: "read-guild", scope: "page", keys: ["Shift+Escape"], label: "Mark the guild as read" },
  { id: "help", scope: "page", keys: ["Mod+/"], label: "Show the keyboard shortcuts" },
  { id: "send", scope: "composer", keys: ["Enter"], label: "Send the message" },
  { id: "new-line", scope: "composer", keys: ["Shift+Enter"], label: "New line" },
  { id: "edit-last", scope: "composer", keys: ["ArrowUp"], label: "Edit your last message, if the field is empty" },
  { id: "cancel", scope: "composer", keys: ["Escape"], label: "Cancel the reply" },
  { id: "previous-message", scope: "list", keys: ["ArrowUp"], label: "Previous message" },
  { id: "next-message", scope: "list", keys: ["ArrowDown"], label: "Next message" },
  { id: "first-message", scope: "list", keys: ["Home"], label: "First loaded message" },
  { id: "last-message", scope: "list", keys: ["End"], label: "Last message" },
  { id: "compose", scope: "list", keys: ["Escape"], label: "Return to the message field" },
  { id: "reply", scope: "message", keys: ["r"], label: "Reply" },
  { id: "edit", scope: "message", keys: ["e"], label: "Edit your message" },
  { id: "react", scope: "message", keys: ["+"], label: "Add a reaction" },
  { id: "delete", scope: "message", keys: ["Delete"], label: "Delete" },
  { id: "unread", scope: "message", keys: ["u"], label: "Mark as unread" },
  { id: "menu", scope: "message", keys: ["m", "ContextMenu"], label: "Open the menu" },
  {
    id: "context-menu",
    scope: "entry",
    keys: ["Shift+F10"],
    label: "Open the menu of a guild, channel, member or other entry",
  },
  { id: "guild-up", scope: "guilds", keys: ["Mod+Shift+ArrowUp"], label: "Move the guild or folder up" },
  { id: "guild-down", scope: "guilds", keys: ["Mod+Shift+ArrowDown"], label: "Move the guild or folder down" },
  { id: "talk", scope: "call", keys: ["ControlRight"], label: "Talk, while push to talk is on" },
];

/** Return the ID of the shortcut of a scope that a key event means, or null. */
export function matchShortcut(event, scope) {
  const isModified = event.ctrlKey || event.metaKey || event.altKey;
  const pressed = [
    event.ctrlKey || event.metaKey ? "Mod" : null,
    event.altKey ? "Alt" : null,
    // Without another modifier, Shift is part of a character such as “+”.
    event.shiftKey && (isModified || event.key.length > 1) ? "Shift" : null,
    event.key.length === 1 && isModified ? event.key.toLowerCase() : event.key,
  ]
    .filter(Boolean)
    .join("+");
  return SHORTCUTS.find(shortcut => shortcut.scope === scope && shortcut.keys.includes(pressed))?.id ?? null;
}
