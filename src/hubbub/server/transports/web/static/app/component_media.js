/** Pictures, films and files that components show. */

import { veil } from "./component_veil.js";
import { h, icon } from "./dom.js";
import { bytes, ownPath } from "./media.js";

const PICTURE = /^image\//;
const FILM = /^video\//;

/** A picture beside the words of a section. */
export function thumbnail({ media, description, spoiler }, { context }) {
  const shown = picture(media, description, "component-thumbnail", context);
  return spoiler ? veil(shown) : shown;
}

/** Up to ten pictures and films. */
export function gallery({ items = [] }, { context }) {
  const node = h("div", { class: "component-gallery", role: "list" });
  node.dataset.count = String(Math.min(items.length, 10));
  for (const { media, description, spoiler } of items.slice(0, 10)) {
    const shown = item(media ?? {}, description, context);
    node.append(h("div", { class: "component-item", role: "listitem" }, spoiler ? veil(shown) : shown));
  }
  return node;
}

/** A file to take along. */
export function file(component, { context }) {
  const address = addressOf(component.file, context);
  const name = component.name || nameOf(component.file?.url) || "File";
  const inside = [icon("file"), h("span", { class: "component-file-name" }, name), component.size ? h("small", null, bytes(component.size)) : null];
  const shown = address
    ? h("a", { class: "component-file", href: address, download: name, target: "_blank", rel: "noopener" }, inside)
    : h("span", { class: "component-file" }, inside);
  return component.spoiler ? veil(shown) : shown;
}

/** Where we serve it; null for what is elsewhere. */
function addressOf(media, { web }) {
  return ownPath(media?.proxy_url, web) ?? ownPath(media?.url, web);
}

function item(media, description, context) {
  const kind = media.content_type ?? "";
  const address = addressOf(media, context);
  if (FILM.test(kind) && address) {
    return h("video", { class: "component-film", src: address, controls: true, preload: "metadata", "aria-label": description || "Video" });
  }
  if (kind && !PICTURE.test(kind)) return linkTo(media, description);
  return picture(media, description, "component-picture", context);
}

function picture(media = {}, description, style, context) {
  const address = addressOf(media, context);
  if (!address) return linkTo(media, description);
  const drawn = h("img", { class: style, src: address, alt: description ?? "", loading: "lazy", width: media.width, height: media.height });
  return h("a", { class: `${style}-link`, href: address, target: "_blank", rel: "noopener", "aria-label": description || "Open the picture" }, drawn);
}

/** What is elsewhere is not loaded, so that nobody there learns who looks. */
function linkTo(media, description) {
  const address = media?.url ?? "";
  const attributes = { class: "component-elsewhere", href: address, target: "_blank", rel: "noopener noreferrer nofollow" };
  return h("a", attributes, icon("link"), description || nameOf(address) || "Media");
}

function nameOf(address) {
  try {
    return decodeURIComponent(new URL(address, location.origin).pathname.split("/").pop() ?? "");
  } catch {
    return "";
  }
}
