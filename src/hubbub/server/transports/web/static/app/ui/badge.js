/** The number of mentions on the icon of the page and of the installed app. */

import { h } from "./dom.js";

let shownText = "";
let originalUrl = null;

/** Show a number of mentions on the icon; 0 shows the icon alone. */
export function showBadge(count) {
  const text = count > 99 ? "99+" : count ? String(count) : "";
  if (text === shownText) return;
  shownText = text;
  const link = /** @type {HTMLLinkElement | null} */ (document.querySelector("link[rel=icon]"));
  originalUrl ??= link?.href ?? null;
  if (originalUrl !== null) replaceIcon(text ? badgeUrl(text) : originalUrl);
  // Only installed apps have a badge of their own.
  const badgeNavigator = /** @type {any} */ (navigator);
  (count ? badgeNavigator.setAppBadge?.(count) : badgeNavigator.clearAppBadge?.())?.catch(() => {});
}

/** Replace the icon element, because browsers update the icon only for a new element. */
function replaceIcon(href) {
  document.querySelector("link[rel=icon]")?.remove();
  document.head.append(h("link", { rel: "icon", type: "image/svg+xml", dataset: { badge: shownText } }));
  /** @type {HTMLLinkElement} */ (document.querySelector("link[rel=icon]")).href = href;
}

function badgeUrl(text) {
  const fontSize = text.length > 1 ? 30 : 38;
  const svg =
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><circle cx="32" cy="32" r="31" fill="#c62c3a"/>' +
    `<text x="32" y="33" font-family="sans-serif" font-weight="700" font-size="${fontSize}" fill="#fff" ` +
    `text-anchor="middle" dominant-baseline="central">${text}</text></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
