/** Embeds of messages. */

import { h } from "../ui/dom.js";
import { timeElement } from "../ui/times.js";
import { cdnPath } from "../content/cdn_paths.js";
import { imageLink } from "../content/image_links.js";
import { renderMarkdown } from "../content/markdown.js";
import { coverSpoiler } from "../components/spoiler.js";
import { fitSize } from "./attachments.js";

/** Types of the embeds that the server creates for links. */
const PREVIEW_TYPES = new Set(["article", "gifv", "image", "link", "video"]);
/** Types of link previews whose thumbnail is shown below the text, in its full width. */
const LARGE_TYPES = new Set(["article", "gifv", "image", "video"]);

/** Return the elements of a message's embeds. */
export function renderEmbeds(message, context) {
  return (message.embeds ?? [])
    .filter(embed => embed.type !== "poll_result")
    .map(embed => {
      const scope = { context, message };
      const color = typeof embed.color === "number" ? `#${embed.color.toString(16).padStart(6, "0")}` : null;
      const isPreview = PREVIEW_TYPES.has(embed.type);
      const isLarge = LARGE_TYPES.has(embed.type);
      const image = imageOf(embed.image, context) ?? (isLarge ? imageOf(embed.thumbnail, context) : null);
      const thumbnail = isLarge ? null : imageOf(embed.thumbnail, context);
      if (embed.type === "image" && image === null) return null;
      const node = h(
        "div",
        {
          class: `embed${isPreview ? " link-preview" : ""}${embed.type === "image" ? " picture-preview" : ""}`,
          style: color ? { "border-inline-start-color": color } : null,
        },
        h(
          "div",
          { class: "embed-text" },
          embed.provider?.name ? h("p", { class: "muted small" }, embed.provider.name) : null,
          embed.author?.name ? h("p", { class: "small" }, externalLink(embed.author.url, embed.author.name)) : null,
          embed.title ? h("p", { class: "embed-title", dir: "auto" }, externalLink(embed.url, embed.title)) : null,
          embed.description ? buildDescription(embed.description, isPreview, scope) : null,
          embed.fields?.length
            ? h(
                "div",
                { class: "embed-fields" },
                embed.fields.map(field =>
                  h(
                    "div",
                    { class: field.inline ? "inline" : null },
                    h("p", { class: "embed-name", dir: "auto" }, field.name),
                    h("div", { class: "content" }, renderMarkdown(field.value, scope)),
                  ),
                ),
              )
            : null,
          image,
          embed.footer?.text || embed.timestamp
            ? h(
                "p",
                { class: "muted small", dir: "auto" },
                embed.footer?.text ?? "",
                embed.footer?.text && embed.timestamp ? " · " : "",
                embed.timestamp ? timeElement(Date.parse(embed.timestamp), "s") : null,
              )
            : null,
        ),
        thumbnail ? h("div", { class: "embed-thumbnail" }, thumbnail) : null,
      );
      return isPreview && isInSpoiler(message.content ?? "", embed.url ?? "") ? coverSpoiler(node) : node;
    });
}

/** Return the description of an embed. Texts of other websites are not Markdown. */
function buildDescription(text, isPreview, scope) {
  if (isPreview) return h("p", { class: "content", dir: "auto" }, text);
  return h("div", { class: "content" }, renderMarkdown(text, scope));
}

/** Return whether a link is between two `||` of a text, which hide it as a spoiler. */
function isInSpoiler(content, url) {
  const segments = content.split("||");
  return segments.some((segment, index) => index % 2 === 1 && index < segments.length - 1 && segment.includes(url));
}

function externalLink(url, text) {
  if (!/^https?:\/\//i.test(url ?? "")) return text;
  return h("a", { href: url, target: "_blank", rel: "noopener noreferrer nofollow" }, text);
}

function imageOf(media, context) {
  const path = cdnPath(media?.proxy_url, context.webUrl) ?? cdnPath(media?.url, context.webUrl);
  if (path === null) return null;
  return imageLink(
    { path, description: media.description },
    h("img", {
      class: "embed-picture",
      src: path,
      alt: media.description ?? "",
      loading: "lazy",
      ...fitSize(media.width, media.height),
    }),
  );
}
