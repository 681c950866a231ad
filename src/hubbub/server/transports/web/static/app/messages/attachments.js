/** Attachments and stickers of messages. */

import { h, icon } from "../ui/dom.js";
import { bytes } from "../ui/formats.js";
import { ownPath, stickerPath } from "../content/cdn_paths.js";
import { spoiler } from "../content/markdown.js";

const SPOILER = "SPOILER_";
const IS_SPOILER = 1 << 3;
const MEDIA_WIDTH_MAX = 420,
  MEDIA_HEIGHT_MAX = 320;

/** Return the displayed size of media, so that loading it does not shift the layout. */
export function fitSize(width, height) {
  if (!width || !height) return {};
  const share = Math.min(1, MEDIA_WIDTH_MAX / width, MEDIA_HEIGHT_MAX / height);
  return { width: Math.max(1, Math.round(width * share)), height: Math.max(1, Math.round(height * share)) };
}

export function attachments(message, context) {
  return (message.attachments ?? []).map(attachment => {
    const path = ownPath(attachment.url, context.web);
    const hidden = attachment.filename?.startsWith(SPOILER) || (attachment.flags ?? 0) & IS_SPOILER;
    const shown = path === null ? null : mediaOf(attachment, path);
    if (shown === null) return fileLine(attachment, path);
    return h("figure", { class: "media" }, hidden ? spoiler(h("span", null, shown)) : shown);
  });
}

function mediaOf(file, path) {
  const kind = file.content_type ?? "",
    alt = file.description ?? file.filename;
  if (/^image\/(png|jpeg|gif|webp|avif)/.test(kind)) {
    return h(
      "a",
      { href: path, target: "_blank", rel: "noopener", "aria-label": `Image: ${alt}` },
      h("img", { src: path, alt, loading: "lazy", ...fitSize(file.width, file.height) }),
    );
  }
  if (/^video\/(mp4|webm|ogg)/.test(kind))
    return h("video", {
      src: path,
      controls: true,
      preload: "metadata",
      "aria-label": alt,
      ...fitSize(file.width, file.height),
    });
  if (/^audio\//.test(kind)) return h("audio", { src: path, controls: true, preload: "metadata", "aria-label": alt });
  return null;
}

function fileLine(file, path) {
  const name = file.title ?? file.filename ?? "file";
  return h(
    "p",
    { class: "file" },
    icon("file"),
    path === null
      ? h("span", null, name)
      : h("a", { href: path, download: file.filename, target: "_blank", rel: "noopener" }, name),
    h("span", { class: "soft small" }, bytes(file.size ?? 0)),
  );
}

export function stickers(message) {
  return (message.sticker_items ?? []).map(sticker =>
    // Format 3 is Lottie; it needs a player.
    sticker.format_type === 3
      ? h("p", { class: "soft" }, `Sticker: ${sticker.name}`)
      : h("img", {
          class: "sticker",
          src: stickerPath(sticker),
          alt: `Sticker: ${sticker.name}`,
          width: 160,
          height: 160,
          loading: "lazy",
        }),
  );
}
