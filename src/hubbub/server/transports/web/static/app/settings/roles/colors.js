/** The colors of a role: none, one color, a gradient or the holographic style. */

import { h } from "../../ui/dom.js";
import { t } from "../../ui/translation.js";
import { choiceSetting, colorSetting } from "../forms/fields.js";
import { missingFeatureReason } from "../forms/layout.js";

const NONE = "none";
const SOLID = "solid";
const GRADIENT = "gradient";
const HOLOGRAPHIC = "holographic";
const STYLES = [
  [NONE, t("No color")],
  [SOLID, t("One color")],
  [GRADIENT, t("Gradient of two colors")],
  [HOLOGRAPHIC, t("Holographic")],
];
/** The fixed colors of the holographic style (spec/http.md#3.5). */
const HOLOGRAPHIC_COLORS = { primary_color: 0xa9c9ff, secondary_color: 0xffbbec, tertiary_color: 0xffc3a0 };
/** The color that the first color field shows before the user chooses one. */
const DEFAULT_FIRST_COLOR = 0x0d6b62;
/** The color that the second color field shows before the user chooses one. */
const DEFAULT_SECOND_COLOR = 0x28608f;

const hex = color => `#${color.toString(16).padStart(6, "0")}`;

/** Return the colors of a role; without `colors`, its single color is the primary one. */
export const colorsOf = role =>
  role.colors ?? { primary_color: role.color ?? 0, secondary_color: null, tertiary_color: null };

function styleOf({ primary_color: primary, secondary_color: secondary, tertiary_color: tertiary }) {
  if (tertiary !== null) return HOLOGRAPHIC;
  if (secondary !== null) return GRADIENT;
  return primary ? SOLID : NONE;
}

/** Return a circle filled with colors. */
export function colorSwatch(colors) {
  const stops = [colors.primary_color, colors.secondary_color, colors.tertiary_color].filter(color => color !== null);
  const node = h("span", { class: "role-swatch", "aria-hidden": "true" });
  if (!colors.primary_color) node.classList.add("no-color");
  else if (stops.length === 1) node.style.setProperty("background", hex(stops[0]));
  else node.style.setProperty("background", `linear-gradient(to right, ${stops.map(hex).join(", ")})`);
  return node;
}

/**
 * Return the field for the colors of a role.
 *
 * @param {boolean} hasGradients whether the guild can use gradients
 * @returns {import("../forms/fields.js").SettingsField}
 */
export function roleColorsSetting(hasGradients) {
  const style = choiceSetting(t("Color"), STYLES, {
    hint: hasGradients
      ? undefined
      : missingFeatureReason(
          t("Gradients and the holographic style are not available in this guild."),
          "ENHANCED_ROLE_COLORS",
        ),
  });
  const firstColor = colorSetting(t("First color")),
    secondColor = colorSetting(t("Second color"));
  const preview = h("div", { class: "role-preview" });
  const select = style.node.querySelector("select");
  const read = () => {
    const chosenStyle = style.read();
    if (chosenStyle === HOLOGRAPHIC) return { ...HOLOGRAPHIC_COLORS };
    return {
      primary_color: chosenStyle === NONE ? 0 : firstColor.read(),
      secondary_color: chosenStyle === GRADIENT ? secondColor.read() : null,
      tertiary_color: null,
    };
  };
  const updateColorFields = () => {
    const chosenStyle = style.read();
    firstColor.node.hidden = chosenStyle !== SOLID && chosenStyle !== GRADIENT;
    secondColor.node.hidden = chosenStyle !== GRADIENT;
    firstColor.node.querySelector("label").textContent = chosenStyle === GRADIENT ? t("First color") : t("Role color");
    for (const option of select.options) {
      // The options of a choice have their index as value.
      const [optionStyle] = STYLES[Number(option.value)];
      const needsGradients = [GRADIENT, HOLOGRAPHIC].includes(optionStyle);
      option.disabled = needsGradients && !hasGradients && !option.selected;
    }
    preview.replaceChildren(colorSwatch(read()));
  };
  const node = h(
    "div",
    { class: "role-colors" },
    style.node,
    h("div", { class: "role-color-fields" }, firstColor.node, secondColor.node, preview),
  );
  node.addEventListener("input", updateColorFields);
  node.addEventListener("change", updateColorFields);
  return {
    node,
    read,
    write(colors) {
      style.write(styleOf(colors));
      firstColor.write(colors.primary_color || DEFAULT_FIRST_COLOR);
      secondColor.write(colors.secondary_color ?? DEFAULT_SECOND_COLOR);
      updateColorFields();
    },
    setError: style.setError,
    setDisabled(disabled) {
      for (const field of [style, firstColor, secondColor]) field.setDisabled(disabled);
    },
  };
}
