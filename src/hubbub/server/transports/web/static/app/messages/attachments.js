/** Attachments and stickers of messages. */

import { AttachmentFlags, MessageFlags, StickerFormatType } from "../network/enums.js";
import { h, icon } from "../ui/dom.js";
import { formatBytes } from "../ui/byte_sizes.js";
import { loadModule } from "../ui/lazy_modules.js";
import { t } from "../ui/translation.js";
import { cdnPath, stickerPath } from "../content/cdn_paths.js";
import { imageLink } from "../content/image_links.js";
import { inlineSpoiler } from "../content/markdown.js";

const SPOILER_PREFIX = "SPOILER_";
const MEDIA_WIDTH_MAX_PX = 420,
  MEDIA_HEIGHT_MAX_PX = 320;

const STICKER_SIZE_PX = 160;

/** Return the displayed size of media, so that loading it does not shift the layout; an empty object if it is unknown. */
export function fitSize(width, height) {
  if (!width || !height) return {};
  const scale = Math.min(1, MEDIA_WIDTH_MAX_PX / width, MEDIA_HEIGHT_MAX_PX / height);
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
}

/** Return the elements of a message's attachments: media and links for files on this server, only the name of other files. */
export function renderAttachments(message, context) {
  return (message.attachments ?? []).map(attachment => {
    const path = cdnPath(attachment.url, context.webUrl);
    const isSpoiler =
      attachment.filename?.startsWith(SPOILER_PREFIX) || (attachment.flags ?? 0) & AttachmentFlags.IS_SPOILER;
    if (path !== null && message.flags & MessageFlags.IS_VOICE_MESSAGE) return voiceMessage(attachment, path);
    const media = path === null ? null : mediaOf(attachment, path);
    const content = media ?? fileLine(attachment, path);
    const node = isSpoiler ? inlineSpoiler(h("span", null, content)) : content;
    if (media === null && !attachment.description) return node;
    return h("figure", { class: "media" }, node, altText(attachment));
  });
}

/** Return the alt text of a file as a note that the user can open, or null. */
function altText({ description }) {
  if (!description) return null;
  return h("details", { class: "alt-text" }, h("summary", null, t("Alt text")), h("p", { dir: "auto" }, description));
}

function voiceMessage(attachment, path) {
  const node = h("div", { class: "voice-message" });
  loadModule(() => import("./voice_message.js")).then(module => module?.showVoiceMessage(node, attachment, path));
  return node;
}

function mediaOf(file, path) {
  const contentType = file.content_type ?? "",
    alt = file.description ?? file.filename;
  if (/^image\/(png|jpeg|gif|webp|avif)/.test(contentType)) {
    return imageLink(
      { path, description: file.description, name: file.filename },
      h("img", { src: path, alt, loading: "lazy", ...fitSize(file.width, file.height) }),
    );
  }
  if (/^video\/(mp4|webm|ogg)/.test(contentType))
    return h("video", {
      src: path,
      controls: true,
      preload: "metadata",
      "aria-label": alt,
      ...fitSize(file.width, file.height),
    });
  if (/^audio\//.test(contentType))
    return h("audio", { src: path, controls: true, preload: "metadata", "aria-label": alt });
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
    h("span", { class: "muted small" }, formatBytes(file.size ?? 0)),
  );
}

/** Return the elements of a message's stickers. */
export function renderStickers(message) {
  return (message.sticker_items ?? []).map(sticker =>
    // Lottie stickers are animations that need a player, so only their name is shown.
    sticker.format_type === StickerFormatType.LOTTIE
      ? h("p", { class: "muted" }, t("Sticker: {name}", { name: sticker.name }))
      : h("img", {
          class: "sticker",
          src: stickerPath(sticker),
          alt: t("Sticker: {name}", { name: sticker.name }),
          width: STICKER_SIZE_PX,
          height: STICKER_SIZE_PX,
          loading: "lazy",
        }),
  );
}
