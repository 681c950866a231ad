/** The keyboard shortcuts of the page; `ui/shortcuts.js` lists them. */

import { markChannelsRead } from "./state/read_markers.js";
import { announce } from "./ui/live_region.js";
import { loadModule } from "./ui/lazy_modules.js";
import { runAndReport } from "./ui/notices.js";
import { matchShortcut } from "./ui/shortcuts.js";
import { t } from "./ui/translation.js";

/** Handle the shortcuts of the page, and the events that open the quick switcher and the list of shortcuts. */
export function startKeyboard(shell) {
  const handleKeydown = event => {
    if (event.defaultPrevented || event.isComposing || document.querySelector("dialog:modal") !== null) return;
    const id = matchShortcut(event, "page");
    if (id === null || PAGE_HANDLERS[id](shell, event.target) === false) return;
    event.preventDefault();
    event.stopPropagation();
  };
  // Shortcuts with a modifier key come before the keys of the focused field. Escape comes after them.
  const hasModifier = event => event.altKey || event.ctrlKey || event.metaKey;
  document.addEventListener("keydown", event => hasModifier(event) && handleKeydown(event), true);
  document.addEventListener("keydown", event => !hasModifier(event) && handleKeydown(event));
  shell.root.addEventListener("open-switcher", () => openSwitcher(shell));
  shell.root.addEventListener("open-shortcuts", openHelp);
}

/** Handlers by the ID of the shortcut; they return false if the browser should handle the key. */
const PAGE_HANDLERS = {
  switch: openSwitcher,
  help: openHelp,
  search: shell => void shell.search.open(),
  "previous-channel": shell => moveBy(shell, channelLinks(shell), -1),
  "next-channel": shell => moveBy(shell, channelLinks(shell), 1),
  "previous-unread": shell => moveToUnread(shell, -1),
  "next-unread": shell => moveToUnread(shell, 1),
  "previous-guild": shell => moveBy(shell, guildLinks(shell), -1),
  "next-guild": shell => moveBy(shell, guildLinks(shell), 1),
  escape(shell, target) {
    if (shell.hasOpenPanel) {
      shell.closePanels();
      shell.focusView();
    } else return target.closest("input, select") ? false : markRead(shell);
  },
  "read-guild"({ context }) {
    if (context.guildId === null) return false;
    runAndReport(() => markChannelsRead(context, context.state.channelsOf(context.guildId)));
    announce(t("Marked the guild as read."));
  },
};

async function openSwitcher({ context }) {
  (await loadModule(() => import("./finding/quick_switcher.js")))?.openQuickSwitcher(context);
}

async function openHelp() {
  (await loadModule(() => import("./finding/shortcut_help.js")))?.openShortcutHelp();
}

const channelLinks = shell => [...shell.side.querySelectorAll("a.entry")];
const guildLinks = shell => [...shell.rail.querySelectorAll("a")];

/** Return whether a link leads to the guild or channel in view. The parts may not have been redrawn after a navigation. */
function isCurrent({ context }, link) {
  const { guildId, channelId } = context;
  if (link.closest(".rail") !== null) return link.pathname === (guildId ? `/app/channels/${guildId}` : "/app");
  return channelId === null ? link.pathname === "/app" : link.dataset.focus === channelId;
}

function moveBy(shell, links, step) {
  const currentIndex = links.findIndex(link => isCurrent(shell, link));
  const next = links.at((currentIndex + step + links.length) % links.length);
  if (next === undefined) return false;
  shell.router.go(next.pathname);
}

function moveToUnread(shell, step) {
  const isUnread = link => link.classList.contains("unread") || link.querySelector(".count") !== null;
  const targets = channelLinks(shell).filter(link => link.dataset.focus && (isUnread(link) || isCurrent(shell, link)));
  const hasCurrent = targets.some(link => isCurrent(shell, link));
  if (targets.length <= Number(hasCurrent)) announce(t("No unread channels here."));
  else if (hasCurrent) moveBy(shell, targets, step);
  else shell.router.go(targets.at(step > 0 ? 0 : -1).pathname);
}

/** Mark the channel in view as read and show its newest message; return false if nothing is unread. */
function markRead(shell) {
  const { context } = shell;
  const channel = context.state.channels.get(context.channelId);
  if (channel === undefined) return false;
  const timeline =
    document.querySelector(".thread-pane hubbub-timeline") ?? shell.view.querySelector("hubbub-timeline");
  if (!context.state.isUnread(channel.id) && !(/** @type {any} */ (timeline)?.lastReadId)) return false;
  /** @type {any} */ (timeline)?.clearUnread();
  runAndReport(() => markChannelsRead(context, [channel]));
  announce(t("Marked as read."));
}
