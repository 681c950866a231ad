/** Tags of forum posts: their labels, the field for choosing them, and the dialog that changes them. */

import { APPLIED_TAGS_MAX } from "../generated/limits.js";
import { ChannelFlags, Permissions } from "../network/enums.js";
import { openDialog } from "../ui/dialogs.js";
import { h } from "../ui/dom.js";
import { t, tn } from "../ui/translation.js";
import { emojiElement } from "../content/emoji/element.js";

/** Return the emoji and the name of a tag. */
export function tagLabel(tag, guild) {
  const customEmoji = tag.emoji_id ? guild?.emojis?.find(emoji => emoji.id === tag.emoji_id) : null;
  const emoji = customEmoji ?? (tag.emoji_name ? { name: tag.emoji_name } : null);
  return [emoji ? [emojiElement(emoji), " "] : null, tag.name];
}

/**
 * Return the field in which the user chooses the tags of a post.
 *
 * `node` is null if the forum has no tags. `read` returns the IDs of the chosen tags, or null after showing an error.
 * `setError` shows an error text below the tags; null hides it.
 */
export function tagField(context, forum, appliedIds = []) {
  const { state } = context;
  const isModerator = state.can(forum.id, Permissions.MANAGE_THREADS);
  const isRequired = Boolean((forum.flags ?? 0) & ChannelFlags.REQUIRE_TAG);
  const boxes = (forum.available_tags ?? []).map(tag => {
    const isLocked = tag.moderated && !isModerator;
    const input = h("input", {
      type: "checkbox",
      value: tag.id,
      checked: appliedIds.includes(tag.id),
      disabled: isLocked,
    });
    const label = h(
      "label",
      { class: "choice tag-choice", title: isLocked ? t("Only moderators use this tag.") : null },
      input,
      h("span", null, tagLabel(tag, state.guilds.get(forum.guild_id))),
    );
    return { id: tag.id, input, label };
  });
  const error = h("p", { class: "error", role: "alert", hidden: true });
  const setError = text => {
    error.textContent = text ?? "";
    error.hidden = !text;
  };
  const node = boxes.length
    ? h(
        "fieldset",
        { class: "tag-field" },
        h("legend", null, isRequired ? t("Tags (required)") : t("Tags")),
        h("p", { class: "hint" }, t("Choose up to {max}.", { max: APPLIED_TAGS_MAX })),
        h(
          "div",
          { class: "tag-choices" },
          boxes.map(({ label }) => label),
        ),
        error,
      )
    : null;
  const read = () => {
    const ids = boxes.filter(({ input }) => input.checked).map(({ id }) => id);
    const problem =
      ids.length > APPLIED_TAGS_MAX
        ? tn("Choose at most {count} tag.", "Choose at most {count} tags.", APPLIED_TAGS_MAX)
        : isRequired && !ids.length
          ? t("Choose at least one tag.")
          : null;
    setError(problem);
    if (problem) boxes.find(({ input }) => !input.disabled)?.input.focus();
    return problem ? null : ids;
  };
  return { node, read, setError };
}

/** Open the dialog that changes the tags of a post. */
export function openTagEditor(context, post) {
  const forum = context.state.channels.get(post.parent_id);
  openDialog(t("Edit tags"), close => {
    const field = tagField(context, forum, post.applied_tags ?? []);
    const saveTags = async event => {
      event.preventDefault();
      const ids = field.read();
      if (ids === null) return;
      try {
        await context.api.request("PATCH", `/channels/${post.id}`, { json: { applied_tags: ids } });
        close();
      } catch (error) {
        field.setError(error.userText);
      }
    };
    return h(
      "form",
      { class: "stack", onsubmit: saveTags },
      field.node ?? h("p", { class: "muted" }, t("This forum has no tags.")),
      field.node ? h("div", { class: "row end" }, h("button", { type: "submit", class: "button" }, t("Save"))) : null,
    );
  });
}
