/**
 * The Unicode emoji with their names, groups and skin tones. A server without the third-party list has the common emoji only
 * (decisions/0122).
 */

import { t } from "../../ui/translation.js";
import { COMMON_EMOJI } from "./names.js";

/**
 * A Unicode emoji.
 *
 * @typedef {object} UnicodeEmoji
 * @property {string} emoji
 * @property {string} name the first of its names, as in `:name:`
 * @property {string[]} names
 * @property {string} keywords in lower case, separated by spaces
 * @property {string[]} tones variants in the skin tones 1 to 5, or empty
 */

/**
 * @typedef {object} EmojiSet
 * @property {{label: string, icon: string, emojis: UnicodeEmoji[]}[]} groups
 * @property {Map<string, string>} byName emoji by each of their names, including names with a skin tone
 */

/** Labels and icons of the groups, by their number in the list. Group 2 is left out: its entries are only parts of emoji. */
const GROUPS = Object.freeze({
  0: [t("Smileys"), "😀"],
  1: [t("People"), "👋"],
  3: [t("Animals and nature"), "🐻"],
  4: [t("Food and drink"), "🍎"],
  5: [t("Travel and places"), "🚗"],
  6: [t("Activities"), "⚽"],
  7: [t("Objects"), "💡"],
  8: [t("Symbols"), "💜"],
  9: [t("Flags"), "🏁"],
});
/** Emoji version that all fonts are assumed to have. `LATER_VERSIONS` contains an emoji to test for each later version. */
const COMMON_VERSION = 15;
const LATER_VERSIONS = new Map([
  [15.1, "🐦‍🔥"],
  [16, "\u{1fae9}"],
  [17, "\u{1faea}"],
]);

/** @type {Promise<EmojiSet> | undefined} */
let emojiSet;

/** Return the emoji, which are loaded once. @returns {Promise<EmojiSet>} */
export function loadEmojiSet() {
  emojiSet ??= loadFullSet().catch(error => {
    console.error(error);
    return null;
  });
  return emojiSet.then(fullSet => fullSet ?? createCommonSet());
}

async function loadFullSet() {
  const meta = /** @type {HTMLMetaElement | null} */ (document.querySelector("meta[name=hubbub-client]"));
  if (meta?.dataset.emoji === undefined) return null;
  const [list, namesByCode] = await Promise.all(["emoji.json", "emoji_names.json"].map(fetchList));
  return createSet(list, namesByCode);
}

async function fetchList(name) {
  const response = await fetch(new URL(`../../third_party/${name}`, import.meta.url));
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  return response.json();
}

/** Remove variation selectors after characters that are emoji without them, so that equal reactions are the same. */
const qualify = emoji => emoji.replace(/(\p{Emoji_Presentation})\ufe0f/gu, "$1");

function createSet(list, namesByCode) {
  const byName = new Map();
  const addNames = ({ hexcode, label, emoji }) => {
    const names = [namesByCode[hexcode] ?? label.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "_")].flat();
    for (const name of names) if (!byName.has(name)) byName.set(name, qualify(emoji));
    return names;
  };
  const drawableVersions = new Set([...LATER_VERSIONS].filter(([, emoji]) => isDrawable(emoji)).map(([key]) => key));
  const groups = new Map(
    Object.entries(GROUPS).map(([number, [label, icon]]) => [Number(number), { label, icon, emojis: [] }]),
  );
  for (const item of [...list].sort((a, b) => (a.order ?? 0) - (b.order ?? 0))) {
    const names = addNames(item);
    const skins = item.skins ?? [];
    skins.forEach(addNames);
    if (item.version > COMMON_VERSION && !drawableVersions.has(item.version)) continue;
    groups.get(item.group)?.emojis.push({
      emoji: qualify(item.emoji),
      name: names[0],
      names,
      keywords: [...names, item.label, ...(item.tags ?? [])].join(" ").toLowerCase(),
      // Emoji of two people also have variants with two tones, whose `tone` is a list.
      tones: skins.filter(({ tone }) => typeof tone === "number").map(({ emoji }) => qualify(emoji)),
    });
  }
  return { groups: [...groups.values()], byName };
}

function createCommonSet() {
  const byName = new Map();
  const emojis = COMMON_EMOJI.map(([emoji, keywords]) => {
    const name = keywords.split(" ")[0];
    byName.set(name, emoji);
    return { emoji, name, names: [name], keywords, tones: [] };
  });
  return { groups: [{ label: t("Emoji"), icon: "😀", emojis }], byName };
}

/** Return whether the fonts of this device draw an emoji as one colored image. */
function isDrawable(emoji) {
  const canvas = document.createElement("canvas");
  canvas.width = 24;
  canvas.height = 24;
  const drawingContext = canvas.getContext("2d", { willReadFrequently: true });
  if (drawingContext === null) return false;
  drawingContext.font = `16px ${getComputedStyle(document.body).fontFamily}`;
  drawingContext.textBaseline = "top";
  // The parts of an unknown sequence are drawn side by side.
  if (drawingContext.measureText(emoji).width > 1.5 * drawingContext.measureText("😀").width) return false;
  drawingContext.fillText(emoji, 0, 2);
  const { data } = drawingContext.getImageData(0, 0, 24, 24);
  for (let index = 0; index < data.length; index += 4)
    if (data[index] !== data[index + 1] || data[index] !== data[index + 2]) return true;
  return false;
}

/** Return an emoji in the skin tone of the user, if it has one. @param {UnicodeEmoji} entry */
export const withTone = (entry, tone) => entry.tones[tone - 1] ?? entry.emoji;

/** Return the emoji that match a query, best first: by the start of a name, the start of a keyword, then any part. */
export function searchEmoji({ groups }, query) {
  const matchesByRank = [[], [], []];
  for (const entry of groups.flatMap(group => group.emojis)) {
    if (!entry.keywords.includes(query)) continue;
    const startsName = entry.names.some(name => name.startsWith(query));
    matchesByRank[startsName ? 0 : entry.keywords.includes(` ${query}`) ? 1 : 2].push(entry);
  }
  matchesByRank[0].sort((a, b) => Number(b.names.includes(query)) - Number(a.names.includes(query)));
  return matchesByRank.flat();
}
