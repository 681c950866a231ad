/** Guild settings: the tag and badge that members can show beside their name. */

import { GUILD_TAG_MAX } from "../generated/limits.js";
import { Permissions } from "../network/enums.js";
import { h } from "../ui/dom.js";
import { t } from "../ui/translation.js";
import { guildTagBadgePath } from "../content/cdn_paths.js";
import { textSetting } from "./forms/fields.js";
import { missingFeatureReason } from "./forms/layout.js";
import { imageSetting } from "./forms/upload_field.js";
import { loadAndShowForm } from "./forms/content_loader.js";

/** @type {import("./forms/settings_dialog.js").SettingsScreen} */
export const GUILD_TAG_SCREEN = { id: "guild-tag", label: t("Guild tag"), icon: "tag", build };

function build(view) {
  const { context, guildId } = view;
  const path = `/guilds/${guildId}/profile`;
  return loadAndShowForm(view, GUILD_TAG_SCREEN, {
    viewDenialReason: () => null,
    changeDenialReason: () => {
      const hasTags = (view.guild.features ?? []).includes("GUILD_TAGS");
      return hasTags
        ? view.access.findDenialReason(Permissions.MANAGE_GUILD)
        : missingFeatureReason(t("Tags are not available in this guild."), "GUILD_TAGS");
    },
    load: () => context.api.request("GET", path),
    save: changes => context.api.request("PATCH", path, { json: changes }),
    createFields: () => ({
      tag: textSetting(t("Tag"), {
        hint: t("Up to {max} characters. An empty tag removes the tag and its badge.", { max: GUILD_TAG_MAX }),
        isNullable: true,
        maxlength: GUILD_TAG_MAX,
        class: "short-input",
      }),
      badge: imageSetting(t("Badge"), {
        hint: t("A small square image."),
        preview: badge =>
          badge === null
            ? h("span", { class: "muted small" }, t("No badge"))
            : h("img", { src: guildTagBadgePath(guildId, badge), alt: "" }),
      }),
    }),
    layout: fields => [
      h("p", { class: "hint" }, t("Members can choose to show the tag beside their name, in all guilds.")),
      fields.tag.node,
      fields.badge.node,
    ],
  });
}
