/** The appearance that the user chose: colors, density, text size and motion, as data attributes for the style sheets. */

/** Apply the settings of the user to the page. The server renders the same attributes. */
export function applyAppearance({
  theme,
  message_display_compact: isCompact,
  font_scale: fontScale,
  reduced_motion: isMotionReduced,
}) {
  const { dataset } = document.documentElement;
  const set = (name, value) => {
    if (value === null) delete dataset[name];
    else dataset[name] = value;
  };
  set("theme", theme === "light" || theme === "dark" ? theme : null);
  set("density", isCompact ? "compact" : null);
  set("fontScale", fontScale && fontScale !== 100 ? String(fontScale) : null);
  set("motion", isMotionReduced ? "reduced" : null);
}
