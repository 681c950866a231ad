/** Guild settings: stickers. */

import { StickerFormatType } from "../generated/enums.js";
import {
  STICKERS_MAX_BY_TIER,
  STICKERS_MAX_WITH_MORE_STICKERS,
  STICKER_BYTES_MAX,
  STICKER_DESCRIPTION_MAX,
  STICKER_NAME_MAX,
  STICKER_SECONDS_MAX,
  STICKER_SIDE_PIXELS_MAX,
  STICKER_TAGS_MAX,
} from "../generated/limits.js";
import { h, icon } from "../ui/dom.js";
import { formatByteLimit } from "../ui/formats.js";
import { stickerPath } from "../content/cdn_paths.js";
import { expressionScreen, slotsMax } from "./expressions.js";
import { textSetting } from "./fields.js";
import { openActionDialog, reportAtField } from "./form.js";
import { uploadSetting } from "./upload_field.js";

const FILE_HINT = [
  `PNG, APNG or GIF, at most ${formatByteLimit(STICKER_BYTES_MAX)} and ${STICKER_SECONDS_MAX} seconds.`,
  `Best: a square of ${STICKER_SIDE_PIXELS_MAX} × ${STICKER_SIDE_PIXELS_MAX} pixels.`,
].join(" ");

/** @type {import("./settings_dialog.js").SettingsScreen} */
export const STICKERS_SCREEN = { id: "stickers", label: "Stickers", icon: "sticker", build };

const maxOf = guild => slotsMax(guild, STICKERS_MAX_BY_TIER, "MORE_STICKERS", STICKERS_MAX_WITH_MORE_STICKERS);

function build(view) {
  let knownStickers = view.guild.stickers;
  return expressionScreen(view, {
    label: "Stickers",
    emptyText: "There are no stickers yet. Add an image that members can send.",
    addLabel: "Add sticker",
    path: ({ guildId }) => `/guilds/${guildId}/stickers`,
    listOf: stickers => stickers,
    idOf: sticker => sticker.id,
    nameOf: sticker => sticker.name,
    slotsText: (guild, stickers) => `${stickers.length} of ${maxOf(guild)} stickers`,
    isFull: (guild, stickers) => stickers.length >= maxOf(guild),
    mark: (_view, sticker) => stickerImage(sticker),
    details: (_view, sticker) => [sticker.description || null, `Suggested for: ${sticker.tags}`],
    create,
    edit,
    isChange: ({ guild }) => {
      const isChanged = guild.stickers !== knownStickers;
      knownStickers = guild.stickers;
      return isChanged;
    },
  });
}

function stickerImage(sticker) {
  // Browsers cannot show Lottie files as images.
  if (sticker.format_type === StickerFormatType.LOTTIE)
    return h("span", { class: "expression-image" }, icon("sticker"));
  return h("img", { class: "expression-image sticker", src: stickerPath(sticker), alt: "", loading: "lazy" });
}

const textFields = () => ({
  name: textSetting("Name", { maxlength: STICKER_NAME_MAX, required: true }),
  description: textSetting("Description", {
    hint: "Optional. Screen readers announce it.",
    maxlength: STICKER_DESCRIPTION_MAX,
    isNullable: true,
  }),
  tags: textSetting("Suggested for", {
    hint: "Emoji names or keywords, separated by commas.",
    maxlength: STICKER_TAGS_MAX,
    required: true,
  }),
});

async function create(view) {
  let created = null;
  const file = uploadSetting("File", {
    hint: FILE_HINT,
    accept: hasLottie(view.guild) ? "image/png,image/gif,application/json" : "image/png,image/gif",
    bytesMax: STICKER_BYTES_MAX,
    preview: (url, { type }) =>
      type.startsWith("image/") ? h("img", { class: "expression-image sticker", src: url, alt: "Preview" }) : null,
  });
  await openActionDialog({
    title: "Add sticker",
    label: "Add",
    danger: false,
    fields: { file, ...textFields() },
    run: async values => {
      const form = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
      created = await reportAtField(
        "file",
        view.context.api.request("POST", `/guilds/${view.guildId}/stickers`, { form }),
      );
    },
  });
  return created;
}

const hasLottie = ({ features = [] }) => features.includes("VERIFIED") || features.includes("PARTNERED");

function edit(view, sticker) {
  const fields = textFields();
  for (const [name, field] of Object.entries(fields)) field.write(sticker[name]);
  return openActionDialog({
    title: `Edit ${sticker.name}`,
    label: "Save",
    danger: false,
    fields,
    run: json => view.context.api.request("PATCH", `/guilds/${view.guildId}/stickers/${sticker.id}`, { json }),
  });
}
