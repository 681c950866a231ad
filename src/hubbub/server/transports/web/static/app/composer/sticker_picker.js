/** The sticker picker: stickers of the user's guilds. A chosen sticker is sent immediately. */

import { Permissions, StickerFormatType } from "../network/enums.js";
import { h } from "../ui/dom.js";
import { openPopup } from "../ui/popups.js";
import { BACKWARD_KEY, FORWARD_KEY, t } from "../ui/translation.js";
import { stickerPath } from "../content/cdn_paths.js";

/** Open the picker beside an element; a chosen sticker is sent in the channel of the composer. */
export function openStickerPicker(composer, anchor) {
  const { context } = composer;
  const { state, guildId, channelId } = context;
  const grid = h("div", { class: "sticker-list" });
  const search = h("input", {
    type: "search",
    placeholder: t("Search stickers"),
    "aria-label": t("Search stickers"),
    autocomplete: "off",
    oninput: () => drawStickers(),
  });
  const node = h("div", { class: "sticker-window", role: "dialog", "aria-label": t("Stickers") }, search, grid);
  const canUseOthers = state.can(channelId, Permissions.USE_EXTERNAL_STICKERS);

  const sendSticker = sticker => {
    close();
    composer.submit({ extra: { sticker_ids: [sticker.id] } });
    composer.focus();
  };

  const section = (guild, stickers) => {
    const isUsable = guild.id === guildId || canUseOthers;
    return h(
      "section",
      { "aria-label": guild.name },
      h("h3", { class: "sticker-heading" }, guild.name),
      isUsable
        ? null
        : h(
            "p",
            { class: "muted small" },
            t("You do not have permission to use stickers of other guilds in this channel."),
          ),
      h(
        "div",
        { class: "sticker-grid" },
        stickers.map(sticker =>
          h(
            "button",
            {
              type: "button",
              disabled: !isUsable,
              "aria-label": sticker.name,
              title: sticker.description || sticker.name,
              onclick: () => sendSticker(sticker),
            },
            sticker.format_type === StickerFormatType.LOTTIE
              ? h("span", null, sticker.name)
              : h("img", { src: stickerPath(sticker), alt: "", loading: "lazy" }),
          ),
        ),
      ),
    );
  };

  function drawStickers() {
    const query = search.value.trim().toLowerCase();
    const sections = [...state.guilds.values()]
      .sort((a, b) => Number(b.id === guildId) - Number(a.id === guildId))
      .map(guild => [guild, (guild.stickers ?? []).filter(sticker => isFound(sticker, query))])
      .filter(([, stickers]) => stickers.length);
    grid.replaceChildren(...sections.map(([guild, stickers]) => section(guild, stickers)));
    if (!sections.length)
      grid.append(
        h("p", { class: "muted small" }, query ? t("No stickers found.") : t("Your guilds have no stickers yet.")),
      );
  }

  node.addEventListener("keydown", event => {
    const buttons = /** @type {HTMLButtonElement[]} */ ([...grid.querySelectorAll("button:not(:disabled)")]);
    const index = buttons.indexOf(/** @type {any} */ (document.activeElement));
    if (event.key === "Enter" && index < 0) buttons[0]?.click();
    else if (event.key === "ArrowDown" && index < 0) buttons[0]?.focus();
    else if (event.key in MOVES && index >= 0) (MOVES[event.key](buttons, index) ?? search).focus();
    else return;
    event.preventDefault();
  });
  drawStickers();
  const close = openPopup(anchor, node, { focus: search });
}

const isFound = ({ name, tags, available }, query) =>
  available !== false && `${name} ${tags ?? ""}`.toLowerCase().includes(query);

/** Functions that return the button that an arrow key leads to; null before the first button or above the first row. */
const MOVES = {
  [FORWARD_KEY]: (buttons, index) => buttons[Math.min(index + 1, buttons.length - 1)],
  [BACKWARD_KEY]: (buttons, index) => buttons[index - 1] ?? null,
  ArrowDown: (buttons, index) => closestInRow(buttons, index, 1) ?? buttons[index],
  ArrowUp: (buttons, index) => closestInRow(buttons, index, -1),
};

/** Return the button in the next or previous row that is closest to the current one, or null. */
function closestInRow(buttons, index, direction) {
  const boxes = buttons.map(button => button.getBoundingClientRect());
  const { top, left } = boxes[index];
  const rowTops = boxes.map(box => box.top).filter(otherTop => (otherTop - top) * direction > 1);
  if (!rowTops.length) return null;
  const rowTop = direction > 0 ? Math.min(...rowTops) : Math.max(...rowTops);
  const rowButtons = buttons.filter((_, otherIndex) => Math.abs(boxes[otherIndex].top - rowTop) < 1);
  const distance = button => Math.abs(button.getBoundingClientRect().left - left);
  return rowButtons.reduce((best, button) => (distance(button) < distance(best) ? button : best));
}
