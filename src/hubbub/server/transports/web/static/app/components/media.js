/** Images, videos and files in components. */

import { GALLERY_ITEMS_MAX } from "../generated/limits.js";
import { h, icon } from "../ui/dom.js";
import { formatBytes } from "../ui/byte_sizes.js";
import { t } from "../ui/translation.js";
import { cdnPath } from "../content/cdn_paths.js";
import { imageLink } from "../content/image_links.js";
import { coverSpoiler } from "./spoiler.js";

const IMAGE_PATTERN = /^image\//;
const VIDEO_PATTERN = /^video\//;

/** Return the thumbnail of a section; a link instead of an image that is not on this server. */
export function renderThumbnail({ media, description, spoiler }, { context }) {
  const element = imageOrLink(media, description, "component-thumbnail", context);
  return spoiler ? coverSpoiler(element) : element;
}

/** Return a gallery of images and videos. */
export function renderGallery({ items = [] }, { context }) {
  const node = h("div", { class: "component-gallery", role: "list" });
  node.dataset.count = String(Math.min(items.length, GALLERY_ITEMS_MAX));
  for (const { media, description, spoiler } of items.slice(0, GALLERY_ITEMS_MAX)) {
    const element = galleryItem(media ?? {}, description, context);
    node.append(h("div", { class: "component-item", role: "listitem" }, spoiler ? coverSpoiler(element) : element));
  }
  return node;
}

/** Return a file as a download link; without a link if it is not on this server. */
export function renderFile(component, { context }) {
  const path = localPath(component.file, context);
  const name = component.name || nameOf(component.file?.url) || t("File");
  const content = [
    icon("file"),
    h("span", { class: "component-file-name" }, name),
    component.size ? h("small", null, formatBytes(component.size)) : null,
  ];
  const element = path
    ? h("a", { class: "component-file", href: path, download: name, target: "_blank", rel: "noopener" }, content)
    : h("span", { class: "component-file" }, content);
  return component.spoiler ? coverSpoiler(element) : element;
}

/** Return the path on this server, or null for external media. */
function localPath(media, { webUrl }) {
  return cdnPath(media?.proxy_url, webUrl) ?? cdnPath(media?.url, webUrl);
}

function galleryItem(media, description, context) {
  const contentType = media.content_type ?? "";
  const path = localPath(media, context);
  if (VIDEO_PATTERN.test(contentType) && path) {
    return h("video", {
      class: "component-video",
      src: path,
      controls: true,
      preload: "metadata",
      "aria-label": description || t("Video"),
    });
  }
  if (contentType && !IMAGE_PATTERN.test(contentType)) return linkTo(media, description);
  return imageOrLink(media, description, "component-picture", context);
}

/** Return an image that opens in the viewer, or a link if it is not on this server. */
function imageOrLink(media = {}, description, className, context) {
  const path = localPath(media, context);
  if (!path) return linkTo(media, description);
  const picture = h("img", {
    class: className,
    src: path,
    alt: description ?? "",
    loading: "lazy",
    width: media.width,
    height: media.height,
  });
  return imageLink({ path, description, className: `${className}-link` }, picture);
}

/**
 * Return a link to media that is not shown: files of other types, and external media, because loading it would reveal
 * the user's IP address to another server.
 */
function linkTo(media, description) {
  const url = media?.url ?? "";
  const attributes = { class: "component-external", href: url, target: "_blank", rel: "noopener noreferrer nofollow" };
  return h("a", attributes, icon("link"), description || nameOf(url) || t("Media"));
}

function nameOf(url) {
  try {
    return decodeURIComponent(new URL(url, location.origin).pathname.split("/").pop() ?? "");
  } catch {
    return "";
  }
}
