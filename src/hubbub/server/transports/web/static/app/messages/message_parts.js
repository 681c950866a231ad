/** Parts of a message: attachments, embeds, stickers, polls and reactions. */

import { h, icon } from "../ui/dom.js";
import { Permissions } from "../network/enums.js";
import { openEmojiPicker } from "../content/emoji_picker.js";
import { customEmoji, markdown, spoiler } from "../content/markdown.js";
import { bytes, ownPath, stickerPath } from "../content/cdn_paths.js";
import { attempt } from "../ui/layout_parts.js";
import { relative, timeElement } from "../ui/times.js";

const SPOILER = "SPOILER_";
const IS_SPOILER = 1 << 3;
const MEDIA_WIDTH_MAX = 420,
  MEDIA_HEIGHT_MAX = 320;

/** Return the displayed size of media, so that loading it does not shift the layout. */
function fitSize(width, height) {
  if (!width || !height) return {};
  const share = Math.min(1, MEDIA_WIDTH_MAX / width, MEDIA_HEIGHT_MAX / height);
  return { width: Math.max(1, Math.round(width * share)), height: Math.max(1, Math.round(height * share)) };
}

export function attachments(message, context) {
  return (message.attachments ?? []).map(each => {
    const path = ownPath(each.url, context.web);
    const hidden = each.filename?.startsWith(SPOILER) || (each.flags ?? 0) & IS_SPOILER;
    const shown = path === null ? null : mediaOf(each, path);
    if (shown === null) return fileLine(each, path);
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
  return (message.sticker_items ?? []).map(each =>
    // Format 3 is Lottie, which needs a player.
    each.format_type === 3
      ? h("p", { class: "soft" }, `Sticker: ${each.name}`)
      : h("img", {
          class: "sticker",
          src: stickerPath(each),
          alt: `Sticker: ${each.name}`,
          width: 160,
          height: 160,
          loading: "lazy",
        }),
  );
}

export function embeds(message, context) {
  return (message.embeds ?? [])
    .filter(each => each.type !== "poll_result")
    .map(embed => {
      const scope = { context, message };
      const color = typeof embed.color === "number" ? `#${embed.color.toString(16).padStart(6, "0")}` : null;
      const image =
        imageOf(embed.image, context) ?? (embed.type === "image" ? imageOf(embed.thumbnail, context) : null);
      const thumbnail = embed.type === "image" ? null : imageOf(embed.thumbnail, context);
      return h(
        "div",
        { class: "embed", style: color ? { "border-inline-start-color": color } : null },
        h(
          "div",
          { class: "embed-text" },
          embed.provider?.name ? h("p", { class: "soft small" }, embed.provider.name) : null,
          embed.author?.name ? h("p", { class: "small" }, externalLink(embed.author.url, embed.author.name)) : null,
          embed.title ? h("p", { class: "embed-title", dir: "auto" }, externalLink(embed.url, embed.title)) : null,
          embed.description ? h("div", { class: "content" }, markdown(embed.description, scope)) : null,
          embed.fields?.length
            ? h(
                "div",
                { class: "embed-fields" },
                embed.fields.map(each =>
                  h(
                    "div",
                    { class: each.inline ? "inline" : null },
                    h("p", { class: "embed-name", dir: "auto" }, each.name),
                    h("div", { class: "content" }, markdown(each.value, scope)),
                  ),
                ),
              )
            : null,
          image,
          embed.footer?.text || embed.timestamp
            ? h(
                "p",
                { class: "soft small", dir: "auto" },
                embed.footer?.text ?? "",
                embed.footer?.text && embed.timestamp ? " · " : "",
                embed.timestamp ? timeElement(Date.parse(embed.timestamp), "s") : null,
              )
            : null,
        ),
        thumbnail ? h("div", { class: "embed-thumbnail" }, thumbnail) : null,
      );
    });
}

function externalLink(url, text) {
  if (!/^https?:\/\//i.test(url ?? "")) return text;
  return h("a", { href: url, target: "_blank", rel: "noopener noreferrer nofollow" }, text);
}

function imageOf(media, context) {
  const path = ownPath(media?.proxy_url, context.web) ?? ownPath(media?.url, context.web);
  return path === null
    ? null
    : h("img", {
        class: "embed-picture",
        src: path,
        alt: media.description ?? "",
        loading: "lazy",
        ...fitSize(media.width, media.height),
      });
}

// Reactions

const nameOf = emoji => (emoji.id ? `${emoji.name}:${emoji.id}` : emoji.name);

/** Add or remove the user's reaction. */
export function react(message, emoji, { api }, mine = false) {
  const path = `/channels/${message.channel_id}/messages/${message.id}/reactions/${encodeURIComponent(nameOf(emoji))}/@me`;
  return attempt(() => api.request(mine ? "DELETE" : "PUT", path));
}

export function reactions(message, context) {
  if (!message.reactions?.length) return null;
  const add = event => openEmojiPicker(event.currentTarget, context, emoji => react(message, emoji, context));
  return h(
    "div",
    { class: "reactions", role: "group", "aria-label": "Reactions" },
    message.reactions.map(each =>
      h(
        "button",
        {
          type: "button",
          class: each.me ? "reaction mine" : "reaction",
          "aria-pressed": each.me ? "true" : "false",
          "aria-label": `${each.emoji.name}, ${each.count}`,
          dataset: { focus: `reaction-${nameOf(each.emoji)}` },
          onclick: () => react(message, each.emoji, context, each.me),
        },
        each.emoji.id ? customEmoji(each.emoji) : h("span", { class: "emoji-text" }, each.emoji.name),
        h("span", { class: "number" }, each.count),
      ),
    ),
    context.state.can(message.channel_id, Permissions.ADD_REACTIONS)
      ? h(
          "button",
          { type: "button", class: "reaction add", "aria-label": "Add reaction", onclick: add },
          icon("smile"),
        )
      : null,
  );
}

// Polls

export function pollOf(message, context) {
  const poll = message.poll;
  if (!poll) return null;
  const counts = new Map((poll.results?.answer_counts ?? []).map(each => [each.id, each]));
  const total = [...counts.values()].reduce((sum, each) => sum + each.count, 0);
  const hasEnded = Boolean(poll.results?.is_finalized);
  const mine = [...counts.values()].filter(each => each.me_voted).map(each => each.id);
  const vote = ids =>
    attempt(() =>
      context.api.request("PUT", `/channels/${message.channel_id}/polls/${message.id}/answers/@me`, {
        json: { answer_ids: ids },
      }),
    );
  const press = id => {
    if (mine.includes(id)) return vote(mine.filter(each => each !== id));
    return vote(poll.allow_multiselect ? [...mine, id] : [id]);
  };
  return h(
    "div",
    { class: "poll", role: "group", "aria-label": `Poll: ${poll.question?.text ?? ""}` },
    h("p", { class: "poll-question", dir: "auto" }, poll.question?.text ?? ""),
    h(
      "p",
      { class: "soft small" },
      hasEnded ? "This poll has ended." : poll.allow_multiselect ? "Select one or more answers." : "Select one answer.",
    ),
    poll.answers.map(answer => {
      const count = counts.get(answer.answer_id)?.count ?? 0,
        chosen = mine.includes(answer.answer_id);
      const share = total ? count / total : 0,
        media = answer.poll_media;
      return h(
        "button",
        {
          type: "button",
          class: chosen ? "poll-answer mine" : "poll-answer",
          disabled: hasEnded,
          "aria-pressed": chosen ? "true" : "false",
          dataset: { focus: `answer-${answer.answer_id}` },
          onclick: () => press(answer.answer_id),
        },
        h("span", {
          class: "poll-share",
          style: { "inline-size": `${Math.round(share * 100)}%` },
          "aria-hidden": "true",
        }),
        h(
          "span",
          { class: "poll-text", dir: "auto" },
          media.emoji ? (media.emoji.id ? customEmoji(media.emoji) : `${media.emoji.name} `) : null,
          media.text ?? "",
        ),
        h("span", { class: "poll-count" }, `${count} ${count === 1 ? "vote" : "votes"}`),
      );
    }),
    h(
      "p",
      { class: "soft small" },
      `${total} ${total === 1 ? "vote" : "votes"}`,
      !hasEnded && poll.expiry ? ` · ends ${relative(Date.parse(poll.expiry))}` : "",
    ),
  );
}
