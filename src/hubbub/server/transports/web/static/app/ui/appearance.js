/** The appearance that the user chose: colors, density, text size and motion. Style sheets read these attributes. */

/** Apply the settings of the user to the page. The server renders the same attributes. */
export function applyAppearance({
  theme,
  message_display_compact: isCompact,
  font_scale: scale,
  reduced_motion: isReduced,
}) {
  const { dataset } = document.documentElement;
  const set = (name, value) => {
    if (value === null) delete dataset[name];
    else dataset[name] = value;
  };
  set("theme", theme === "light" || theme === "dark" ? theme : null);
  set("density", isCompact ? "compact" : null);
  set("fontScale", scale && scale !== 100 ? String(scale) : null);
  set("motion", isReduced ? "reduced" : null);
}
