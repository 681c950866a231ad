/** Guild settings: stickers. */

import { StickerFormatType } from "../../generated/enums.js";
import {
  STICKERS_MAX_BY_TIER,
  STICKERS_MAX_WITH_MORE_STICKERS,
  STICKER_BYTES_MAX,
  STICKER_DESCRIPTION_MAX,
  STICKER_NAME_MAX,
  STICKER_SECONDS_MAX,
  STICKER_SIDE_PIXELS_MAX,
  STICKER_TAGS_MAX,
} from "../../generated/limits.js";
import { h, icon } from "../../ui/dom.js";
import { formatByteLimit } from "../../ui/byte_sizes.js";
import { t } from "../../ui/translation.js";
import { stickerPath } from "../../content/cdn_paths.js";
import { expressionScreen, slotsMax } from "./expressions.js";
import { textSetting } from "../forms/fields.js";
import { openActionDialog, reportAtField } from "../forms/form.js";
import { uploadSetting } from "../forms/upload_field.js";

const FILE_HINT = [
  t("PNG, APNG or GIF, at most {size} and {seconds} seconds.", {
    size: formatByteLimit(STICKER_BYTES_MAX),
    seconds: STICKER_SECONDS_MAX,
  }),
  t("Best: a square of {side} × {side} pixels.", { side: STICKER_SIDE_PIXELS_MAX }),
].join(" ");

/** @type {import("../forms/settings_dialog.js").SettingsScreen} */
export const STICKERS_SCREEN = { id: "stickers", label: t("Stickers"), icon: "sticker", build };

const maxOf = guild => slotsMax(guild, STICKERS_MAX_BY_TIER, "MORE_STICKERS", STICKERS_MAX_WITH_MORE_STICKERS);

function build(view) {
  let knownStickers = view.guild.stickers;
  return expressionScreen(view, {
    label: t("Stickers"),
    emptyText: t("There are no stickers yet. Add an image that members can send."),
    addLabel: t("Add sticker"),
    path: ({ guildId }) => `/guilds/${guildId}/stickers`,
    listOf: stickers => stickers,
    idOf: sticker => sticker.id,
    nameOf: sticker => sticker.name,
    slotsText: (guild, stickers) => t("{count} of {max} stickers", { count: stickers.length, max: maxOf(guild) }),
    isFull: (guild, stickers) => stickers.length >= maxOf(guild),
    image: (_view, sticker) => stickerImage(sticker),
    details: (_view, sticker) => [sticker.description || null, t("Suggested for: {tags}", { tags: sticker.tags })],
    create: createSticker,
    edit: editSticker,
    isChange: ({ guild }) => {
      const isChanged = guild.stickers !== knownStickers;
      knownStickers = guild.stickers;
      return isChanged;
    },
  });
}

function stickerImage(sticker) {
  // Browsers cannot show Lottie files as images, so an icon is shown.
  if (sticker.format_type === StickerFormatType.LOTTIE)
    return h("span", { class: "expression-image" }, icon("sticker"));
  return h("img", { class: "expression-image sticker", src: stickerPath(sticker), alt: "", loading: "lazy" });
}

const textFields = () => ({
  name: textSetting(t("Name"), { maxlength: STICKER_NAME_MAX, required: true }),
  description: textSetting(t("Description"), {
    hint: t("Optional. Screen readers announce it."),
    maxlength: STICKER_DESCRIPTION_MAX,
    isNullable: true,
  }),
  tags: textSetting(t("Suggested for"), {
    hint: t("Emoji names or keywords, separated by commas."),
    maxlength: STICKER_TAGS_MAX,
    required: true,
  }),
});

async function createSticker(view) {
  let createdSticker = null;
  const file = uploadSetting(t("File"), {
    hint: FILE_HINT,
    accept: hasLottie(view.guild) ? "image/png,image/gif,application/json" : "image/png,image/gif",
    bytesMax: STICKER_BYTES_MAX,
    preview: (url, { type }) =>
      type.startsWith("image/") ? h("img", { class: "expression-image sticker", src: url, alt: t("Preview") }) : null,
  });
  await openActionDialog({
    title: t("Add sticker"),
    label: t("Add"),
    isDangerous: false,
    fields: { file, ...textFields() },
    run: async values => {
      const form = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
      createdSticker = await reportAtField(
        "file",
        view.context.api.request("POST", `/guilds/${view.guildId}/stickers`, { form }),
      );
    },
  });
  return createdSticker;
}

const hasLottie = ({ features = [] }) => features.includes("VERIFIED") || features.includes("PARTNERED");

function editSticker(view, sticker) {
  const fields = textFields();
  for (const [name, field] of Object.entries(fields)) field.write(sticker[name]);
  return openActionDialog({
    title: t("Edit {name}", { name: sticker.name }),
    label: t("Save"),
    isDangerous: false,
    fields,
    run: json => view.context.api.request("PATCH", `/guilds/${view.guildId}/stickers/${sticker.id}`, { json }),
  });
}
