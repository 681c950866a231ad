/** Guild settings: custom emoji. */

import { ComponentType } from "../../generated/enums.js";
import {
  EMOJIS_MAX_BY_TIER,
  EMOJI_BYTES_MAX,
  EMOJI_NAME_MAX,
  EMOJI_NAME_MIN,
  EMOJI_SIDE,
  EMOJIS_MAX_WITH_MORE_EMOJI,
} from "../../generated/limits.js";
import { h } from "../../ui/dom.js";
import { formatByteLimit } from "../../ui/byte_sizes.js";
import { t } from "../../ui/translation.js";
import { emojiPath } from "../../content/cdn_paths.js";
import { entitiesSetting } from "../forms/entity_picker.js";
import { expressionScreen, slotsMax } from "./expressions.js";
import { textSetting } from "../forms/fields.js";
import { openActionDialog } from "../forms/form.js";
import { IMAGE_TYPES, readDataUrl, uploadSetting } from "../forms/upload_field.js";

const IMAGE_HINT = [
  t("PNG, JPEG, GIF or WebP, at most {size}.", { size: formatByteLimit(EMOJI_BYTES_MAX) }),
  t("Best: a square of {side} × {side} pixels.", { side: EMOJI_SIDE }),
].join(" ");
const NAME_HINT = t("{min} to {max} letters, digits and underscores.", { min: EMOJI_NAME_MIN, max: EMOJI_NAME_MAX });

const PREVIEW_SIDE_PX = 96;

/** @type {import("../forms/settings_dialog.js").SettingsScreen} */
export const EMOJI_SCREEN = { id: "emoji", label: t("Emoji"), icon: "smile", build };

const maxOf = guild => slotsMax(guild, EMOJIS_MAX_BY_TIER, "MORE_EMOJI", EMOJIS_MAX_WITH_MORE_EMOJI);
const countOf = (emojis, isAnimated) => emojis.filter(emoji => emoji.animated === isAnimated).length;

function build(view) {
  let knownEmojis = view.guild.emojis;
  return expressionScreen(view, {
    label: t("Emoji"),
    emptyText: t("There are no emoji yet. Add an image that members can use in messages."),
    addLabel: t("Add emoji"),
    path: ({ guildId }) => `/guilds/${guildId}/emojis`,
    listOf: emojis => emojis,
    idOf: emoji => emoji.id,
    nameOf: emoji => `:${emoji.name}:`,
    slotsText: (guild, emojis) =>
      t("{count} of {max} emoji, {animatedCount} of {max} animated emoji", {
        count: countOf(emojis, false),
        animatedCount: countOf(emojis, true),
        max: maxOf(guild),
      }),
    isFull: (guild, emojis) => [false, true].every(isAnimated => countOf(emojis, isAnimated) >= maxOf(guild)),
    image: (_view, emoji) =>
      h("img", {
        class: "expression-image",
        src: emojiPath(emoji.id, emoji.animated, PREVIEW_SIDE_PX),
        alt: "",
        loading: "lazy",
      }),
    details: ({ access }, emoji) => [rolesText(access, emoji)],
    tag: emoji => (emoji.animated ? t("Animated") : null),
    create: createEmoji,
    edit: editEmoji,
    isChange: ({ guild }) => {
      const isChanged = guild.emojis !== knownEmojis;
      knownEmojis = guild.emojis;
      return isChanged;
    },
  });
}

function rolesText(access, emoji) {
  if (!emoji.roles.length) return null;
  const names = access.roles.filter(role => emoji.roles.includes(role.id)).map(role => role.name);
  return names.length ? t("Only for {names}", { names: names.join(", ") }) : t("Only for deleted roles");
}

const nameSetting = () => textSetting(t("Name"), { hint: NAME_HINT, maxlength: EMOJI_NAME_MAX, required: true });
const rolesSetting = view =>
  entitiesSetting(view, t("Roles"), {
    type: ComponentType.ROLE_SELECT,
    hint: t("Only members with one of these roles can use it. Without roles, everyone can."),
    placeholder: t("Everyone"),
    // A picker with a maximum of 1 would replace the choice instead of adding to it.
    max: Math.max(2, view.guild.roles.length),
  });

/** Return a valid emoji name from the name of a file; empty if the name is too short. */
function nameFromFile({ name }) {
  const base = name.replace(/\.[^.]*$/, "").replace(/[^A-Za-z0-9_]+/g, "_");
  return base.length < EMOJI_NAME_MIN ? "" : base.slice(0, EMOJI_NAME_MAX);
}

async function createEmoji(view) {
  let createdEmoji = null;
  const name = nameSetting();
  const image = uploadSetting(t("Image"), {
    hint: IMAGE_HINT,
    accept: IMAGE_TYPES,
    bytesMax: EMOJI_BYTES_MAX,
    preview: url => h("img", { class: "expression-image", src: url, alt: t("Preview") }),
    onChoose: file => {
      if (!name.read()) name.write(nameFromFile(file));
    },
  });
  await openActionDialog({
    title: t("Add emoji"),
    label: t("Add"),
    isDangerous: false,
    fields: { image, name, roles: rolesSetting(view) },
    run: async values => {
      const json = { ...values, image: values.image === null ? null : await readDataUrl(values.image) };
      createdEmoji = await view.context.api.request("POST", `/guilds/${view.guildId}/emojis`, { json });
    },
  });
  return createdEmoji;
}

function editEmoji(view, emoji) {
  const fields = { name: nameSetting(), roles: rolesSetting(view) };
  fields.name.write(emoji.name);
  fields.roles.write(emoji.roles);
  return openActionDialog({
    title: t("Edit :{name}:", { name: emoji.name }),
    label: t("Save"),
    isDangerous: false,
    fields,
    run: json => view.context.api.request("PATCH", `/guilds/${view.guildId}/emojis/${emoji.id}`, { json }),
  });
}
