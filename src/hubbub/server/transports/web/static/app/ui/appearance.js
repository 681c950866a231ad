/** The chosen appearance: colors, density, text size, motion and link previews, as data attributes for the style sheets. */

/** Colors of the browser's title bar: `--paper` of `style.css` in the two themes. */
const LIGHT_COLOR = "#f6f2ea";
const DARK_COLOR = "#12181a";

/** Apply the settings of the user to the page. The server renders the same attributes. */
export function applyAppearance({
  theme,
  message_display_compact: isCompact,
  font_scale: fontScale,
  reduced_motion: isMotionReduced,
  render_embeds: hasPreviews,
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
  set("previews", hasPreviews === false ? "hidden" : null);
  for (const meta of document.querySelectorAll("meta[name=theme-color]")) {
    const isDark = theme === "dark" || (theme !== "light" && meta.getAttribute("media")?.includes("dark"));
    meta.setAttribute("content", isDark ? DARK_COLOR : LIGHT_COLOR);
  }
}
