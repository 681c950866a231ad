/** The emoji picker: custom emoji of the user's guilds and common Unicode emoji. */

import { h } from "../ui/dom.js";
import { openPopup } from "../ui/popups.js";
import { COMMON_EMOJI } from "./emoji_names.js";
import { customEmojiImage } from "./markdown.js";

/** Columns of the grid; the style sheet has the same number. */
const COLUMNS = 8;

/**
 * Open the emoji picker at an element; `choose` receives the chosen emoji.
 *
 * @param {Element} anchor
 * @param {import("../state/context.js").Context} context
 * @param {(emoji: {id?: string | null, name: string, animated?: boolean}) => void} choose
 */
export function openEmojiPicker(anchor, context, choose) {
  const grid = h("div", { class: "emoji-grid", role: "listbox", "aria-label": "Emoji" });
  const search = h("input", {
    type: "search",
    placeholder: "Search emoji",
    "aria-label": "Search emoji",
    autocomplete: "off",
    oninput: () => draw(),
  });
  const node = h("div", { class: "emoji-window", role: "dialog", "aria-label": "Emoji" }, search, grid);
  const pick = emoji => {
    close();
    choose(emoji);
  };
  const draw = () => {
    const query = search.value.trim().toLowerCase();
    const { state, guildId } = context;
    const isCurrent = guild => guild.id === guildId;
    const guilds = [...state.guilds.values()].sort((a, b) => isCurrent(b) - isCurrent(a));
    const custom = guilds
      .flatMap(guild => guild.emojis ?? [])
      .filter(emoji => emoji.available !== false && emoji.name.toLowerCase().includes(query));
    const common = COMMON_EMOJI.filter(([, names]) => names.includes(query));
    const button = (label, content, emoji) =>
      h(
        "button",
        {
          type: "button",
          role: "option",
          tabindex: "-1",
          "aria-label": label,
          title: label,
          onclick: () => pick(emoji),
        },
        content,
      );
    grid.replaceChildren(
      ...custom.map(emoji =>
        button(`:${emoji.name}:`, customEmojiImage(emoji), {
          id: emoji.id,
          name: emoji.name,
          animated: emoji.animated,
        }),
      ),
      ...common.map(([emoji, names]) => button(names.split(" ")[0], emoji, { id: null, name: emoji })),
    );
    if (!grid.children.length) grid.append(h("p", { class: "muted small" }, "No emoji found."));
  };
  node.addEventListener("keydown", event => {
    const buttons = [...grid.querySelectorAll("button")],
      index = buttons.indexOf(/** @type {any} */ (document.activeElement));
    if (index < 0 && event.key === "Enter") {
      buttons[0]?.click();
      event.preventDefault();
      return;
    }
    const targetIndex = {
      ArrowRight: index + 1,
      ArrowLeft: index - 1,
      ArrowDown: index < 0 ? 0 : index + COLUMNS,
      ArrowUp: index - COLUMNS,
    }[event.key];
    if (targetIndex === undefined || (index < 0 && event.key !== "ArrowDown")) return;
    event.preventDefault();
    if (targetIndex < 0) search.focus();
    else buttons[Math.min(targetIndex, buttons.length - 1)]?.focus();
  });
  draw();
  const close = openPopup(anchor, node, { focus: search });
}
