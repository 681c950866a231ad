/** The dialog with all keyboard shortcuts. */

import { openDialog } from "../ui/dialogs.js";
import { h } from "../ui/dom.js";
import { SHORTCUTS } from "../ui/shortcuts.js";
import { t } from "../ui/translation.js";

/** Titles of the groups, by the scope of their shortcuts. */
const TITLES = {
  page: t("Everywhere"),
  composer: t("Message field"),
  list: t("List of messages"),
  message: t("Focused message"),
  entry: t("Lists"),
  guilds: t("Focused guild"),
  call: t("Calls"),
};
const IS_APPLE = /mac|iphone|ipad/i.test(navigator.platform);
const KEY_NAMES = {
  Mod: IS_APPLE ? "⌘" : t("Ctrl"),
  Alt: IS_APPLE ? "⌥" : t("Alt"),
  Shift: t("Shift"),
  Enter: t("Enter"),
  ArrowUp: "↑",
  ArrowDown: "↓",
  Escape: t("Esc"),
  ContextMenu: t("Menu"),
  ControlRight: t("Right Ctrl"),
};
/** Accessible names of keys whose symbols a screen reader would not read. */
const SPOKEN_NAMES = { ArrowUp: t("Up"), ArrowDown: t("Down") };

export function openShortcutHelp() {
  openDialog(
    t("Keyboard shortcuts"),
    () =>
      Object.entries(TITLES).map(([scope, title]) =>
        h(
          "section",
          { class: "shortcut-group" },
          h("h3", null, title),
          h(
            "dl",
            { class: "shortcuts" },
            SHORTCUTS.filter(shortcut => shortcut.scope === scope).map(({ label, keys }) =>
              h("div", null, h("dt", null, label), h("dd", null, keyElements(keys[0]))),
            ),
          ),
        ),
      ),
    { wide: true },
  );
}

function keyElements(keys) {
  // The key “+” contains the separator.
  const names = keys === "+" ? ["+"] : keys.split("+");
  return names.map(name =>
    h(
      "kbd",
      SPOKEN_NAMES[name] ? { "aria-label": SPOKEN_NAMES[name] } : null,
      KEY_NAMES[name] ?? (name.length === 1 ? name.toUpperCase() : name),
    ),
  );
}
