/** The emoji picker: recent emoji, custom emoji of guilds and all Unicode emoji. Rows are built when they come into view. */

import { h } from "../../ui/dom.js";
import { showError } from "../../ui/notices.js";
import { openPopup } from "../../ui/popups.js";
import { t } from "../../ui/translation.js";
import { guildIcon } from "../avatars.js";
import { EmojiGrid } from "./grid.js";
import { loadEmojiSet, searchEmoji, withTone } from "./set.js";
import { listGuildEmoji } from "../guild_emoji.js";
import { addRecentEmoji, listRecentEmoji } from "../recent_emoji.js";

const TONE_EMOJI = ["👋", "👋🏻", "👋🏼", "👋🏽", "👋🏾", "👋🏿"];
const TONE_LABELS = [t("No skin tone"), t("Light"), t("Medium-light"), t("Medium"), t("Medium-dark"), t("Dark")];

/** Open the picker; see `openEmojiPicker`. */
export function openEmojiWindow(anchor, context, choose) {
  const { state } = context;
  /** @type {import("./set.js").EmojiSet | null} */
  let emojiSet = null;
  let isEnterPending = false;
  const pick = (emoji, event) => {
    addRecentEmoji(emoji);
    // With Shift the picker stays open, so that the user can choose several emoji.
    if (!event?.shiftKey) close();
    choose(emoji);
    if (event?.shiftKey) search.focus();
  };
  const preview = h("p", { class: "emoji-preview", "aria-hidden": "true" });
  const grid = new EmojiGrid({
    pick,
    onActive: cell =>
      preview.replaceChildren(
        ...(cell
          ? [h("span", { class: "emoji-preview-image" }, cell.build()), h("span", null, cell.label)]
          : [h("span", { class: "muted" }, t("Choose an emoji"))]),
      ),
  });
  const search = h("input", {
    type: "search",
    placeholder: t("Search emoji"),
    "aria-label": t("Search emoji"),
    "aria-controls": grid.node.id,
    autocomplete: "off",
    oninput: () => drawContent(),
    onkeydown: event => {
      if (event.isComposing) return;
      if (event.key === "Enter" && emojiSet === null) isEnterPending = true;
      else if (!grid.handleKey(event)) return;
      event.preventDefault();
    },
  });
  grid.input = search;
  const tabs = h("div", { class: "emoji-tabs", role: "toolbar", "aria-label": t("Groups of emoji") });
  const tone = () => state.settings.emoji_skin_tone ?? 0;
  const toneButton = h("button", {
    type: "button",
    class: "emoji-tone",
    "aria-haspopup": "true",
    "aria-expanded": "false",
    onclick: () => toggleTones(),
  });
  const tones = h("div", { class: "emoji-tones", role: "group", "aria-label": t("Skin tone"), hidden: true });
  const node = h(
    "div",
    { class: "emoji-window", role: "dialog", "aria-label": t("Emoji") },
    h("div", { class: "emoji-top" }, search, toneButton),
    tones,
    tabs,
    grid.node,
    preview,
  );

  function toggleTones() {
    tones.hidden = !tones.hidden;
    toneButton.setAttribute("aria-expanded", String(!tones.hidden));
    if (!tones.hidden) tones.querySelector("[aria-pressed=true]").focus();
  }

  function drawTones() {
    toneButton.textContent = TONE_EMOJI[tone()];
    toneButton.title = t("Skin tone: {tone}", { tone: TONE_LABELS[tone()] });
    toneButton.setAttribute("aria-label", toneButton.title);
    tones.replaceChildren(
      ...TONE_EMOJI.map((emoji, index) =>
        h(
          "button",
          {
            type: "button",
            "aria-label": TONE_LABELS[index],
            title: TONE_LABELS[index],
            "aria-pressed": String(index === tone()),
            onclick: () => saveTone(index),
          },
          emoji,
        ),
      ),
    );
  }

  async function saveTone(index) {
    toggleTones();
    search.focus();
    try {
      const settings = await context.api.request("PATCH", "/users/@me/settings", { json: { emoji_skin_tone: index } });
      state.apply("USER_SETTINGS_UPDATE", settings);
    } catch (error) {
      showError(error);
    }
    drawTones();
    drawContent();
  }

  const customCell = emoji => ({
    label: `:${emoji.name}:`,
    emoji: { id: emoji.id, name: emoji.name, animated: Boolean(emoji.animated) },
  });
  const unicodeCell = entry => ({ label: entry.name, emoji: { id: null, name: withTone(entry, tone()) } });

  function drawContent() {
    const query = search.value.trim().toLowerCase().replace(/^:|:$/g, "");
    const guilds = listGuildEmoji(context);
    if (query) {
      const customEmoji = guilds
        .flatMap(({ emojis }) => emojis)
        .filter(emoji => emoji.name.toLowerCase().includes(query));
      const matches = emojiSet === null ? [] : searchEmoji(emojiSet, query.replaceAll(" ", "_"));
      const byWords = matches.length || emojiSet === null ? matches : searchEmoji(emojiSet, query);
      grid.setSections([{ label: null, cells: [...customEmoji.map(customCell), ...byWords.map(unicodeCell)] }]);
    } else grid.setSections(buildSections(guilds));
    tabs.hidden = Boolean(query);
    grid.setStatus(emojiSet === null ? t("Loading emoji…") : t("No emoji found."));
  }

  /** Return the sections of all emoji, and draw a tab for each. */
  function buildSections(guilds) {
    const groups = emojiSet?.groups ?? [];
    const names = new Map(
      groups.flatMap(group =>
        group.emojis.flatMap(entry => [entry.emoji, ...entry.tones].map(key => [key, entry.name])),
      ),
    );
    const usableIds = new Set(guilds.flatMap(({ emojis }) => emojis.map(({ id }) => id)));
    const recent = listRecentEmoji()
      .filter(({ id }) => !id || usableIds.has(id))
      .map(emoji => ({ label: emoji.id ? `:${emoji.name}:` : (names.get(emoji.name) ?? emoji.name), emoji }));
    const sections = [
      { label: t("Recently used"), icon: () => "🕑", cells: recent },
      ...guilds.map(({ guild, emojis }) => ({
        label: guild.name,
        icon: () => guildIcon(guild),
        cells: emojis.map(customCell),
      })),
      ...groups.map(group => ({
        label: group.label,
        icon: () => group.icon,
        cells: group.emojis.map(unicodeCell),
      })),
    ].filter(({ cells }) => cells.length);
    tabs.replaceChildren(
      ...sections.map(({ label, icon }, index) =>
        h(
          "button",
          {
            type: "button",
            "aria-label": label,
            title: label,
            onclick: () => {
              grid.scrollToSection(index);
              search.focus();
            },
          },
          icon(),
        ),
      ),
    );
    return sections;
  }

  drawTones();
  drawContent();
  const close = openPopup(anchor, node, { focus: search });
  grid.draw();
  loadEmojiSet().then(loadedSet => {
    if (!node.isConnected) return;
    emojiSet = loadedSet;
    toneButton.hidden = loadedSet.groups.length === 1;
    drawContent();
    if (isEnterPending) grid.pickActive();
  });
}
