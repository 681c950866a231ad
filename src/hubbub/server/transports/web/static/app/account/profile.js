/** User settings: avatar, banner, color, display name and profile text, with a preview. */

import { BIO_MAX, GLOBAL_NAME_MAX } from "../generated/limits.js";
import { formField } from "../ui/controls.js";
import { h, setChildren } from "../ui/dom.js";
import { t } from "../ui/translation.js";
import { userAvatar } from "../content/avatars.js";
import { userBannerPath } from "../content/cdn_paths.js";
import { textSetting } from "../settings/forms/fields.js";
import { SettingsForm, reportAtField } from "../settings/forms/form.js";
import { settingsSection } from "../settings/forms/layout.js";
import { imageSetting } from "../settings/forms/upload_field.js";

/** Color that the color field shows while no color is chosen. */
const DEFAULT_ACCENT_COLOR = 0x0d6b62;

/** @type {import("../settings/forms/settings_dialog.js").SettingsScreen} */
export const PROFILE_SCREEN = { id: "profile", label: t("Profile"), icon: "people", build };

function build(view) {
  const { context } = view;
  const { me } = context.state;
  const card = h("div", { class: "profile-card", role: "group", "aria-label": t("Preview") });
  const fields = {
    avatar: imageSetting(t("Avatar"), {
      hint: t("At least 128 by 128 pixels looks best."),
      imageClass: "avatar",
      preview: value => userAvatar({ ...me, avatar: value }, me.global_name ?? me.username),
    }),
    banner: imageSetting(t("Banner"), {
      imageClass: "banner",
      preview: value =>
        value
          ? h("img", { src: userBannerPath({ ...me, banner: value }), alt: "", class: "banner" })
          : h("span", { class: "muted small" }, t("No banner")),
    }),
    global_name: textSetting(t("Display name"), {
      hint: t("Leave it empty to use your username."),
      maxlength: GLOBAL_NAME_MAX,
      isNullable: true,
      autocomplete: "nickname",
    }),
    accent_color: accentSetting(),
    bio: textSetting(t("About you"), {
      hint: t("People see it in your profile. At most {max} characters.", { max: BIO_MAX }),
      multiline: true,
      maxlength: BIO_MAX,
    }),
  };
  const drawCard = () => {
    const values = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.read()]));
    const name = values.global_name?.trim() || me.username;
    setChildren(
      card,
      bannerNode(me, values),
      h(
        "div",
        { class: "profile-card-text" },
        values.avatar?.startsWith("data:")
          ? h("span", { class: "avatar" }, h("img", { src: values.avatar, alt: "" }))
          : userAvatar({ ...me, avatar: values.avatar }, name),
        h("p", { class: "profile-card-name", dir: "auto" }, name),
        h("p", { class: "muted small", dir: "auto" }, `@${me.username}`),
        values.bio ? h("p", { class: "profile-card-bio", dir: "auto" }, values.bio) : null,
      ),
    );
  };
  const form = new SettingsForm(fields, me, {
    save: async changes => {
      const errorField = ["avatar", "banner"].find(image => image in changes) ?? "global_name";
      const changedUser = await reportAtField(
        errorField,
        context.api.request("PATCH", "/users/@me", { json: changes }),
      );
      context.state.apply("USER_UPDATE", changedUser);
      return changedUser;
    },
    onInput: () => {
      drawCard();
      view.drawBar();
    },
  });
  view.useForm(form);
  view.onChange(({ kind }) => kind === "me" && form.showStored(context.state.me));
  return h(
    "div",
    { class: "settings-form" },
    card,
    settingsSection(t("Name"), fields.global_name.node, fields.bio.node),
    settingsSection(t("Images"), fields.avatar.node, fields.banner.node, fields.accent_color.node),
  );
}

/** Return the banner of the preview: the chosen or stored image, or the color. */
function bannerNode(me, { banner, accent_color: color }) {
  const src = banner?.startsWith("data:") ? banner : userBannerPath({ ...me, banner });
  if (src) return h("img", { class: "profile-card-banner", src, alt: "" });
  const style = color === null ? null : { background: `#${color.toString(16).padStart(6, "0")}` };
  return h("div", { class: "profile-card-banner", style });
}

/**
 * Return a color field; its value is the number 0xRRGGBB, or null for no color.
 *
 * @returns {import("../settings/forms/fields.js").SettingsField}
 */
function accentSetting() {
  let accentColor = null;
  const input = h("input", { type: "color", class: "color" });
  const field = formField(t("Color"), input, t("Shown above your profile if you have no banner."));
  const removeButton = h(
    "button",
    { type: "button", class: "button small quiet", "aria-label": t("Remove color") },
    t("Remove"),
  );
  const text = h("span", { class: "muted small" });
  const drawColor = () => {
    input.value = `#${(accentColor ?? DEFAULT_ACCENT_COLOR).toString(16).padStart(6, "0")}`;
    removeButton.hidden = accentColor === null;
    text.textContent = accentColor === null ? t("No color") : input.value;
  };
  input.addEventListener("input", () => {
    accentColor = Number.parseInt(input.value.slice(1), 16);
    drawColor();
  });
  removeButton.addEventListener("click", () => {
    accentColor = null;
    drawColor();
    input.focus();
    field.node.dispatchEvent(new Event("input", { bubbles: true }));
  });
  const row = h("div", { class: "row" });
  field.node.insertBefore(row, input);
  row.append(input, text, removeButton);
  return {
    node: field.node,
    read: () => accentColor,
    write(storedColor) {
      accentColor = storedColor ?? null;
      drawColor();
    },
    setError: field.setError,
    setDisabled(disabled) {
      input.disabled = disabled;
      removeButton.disabled = disabled;
    },
  };
}
