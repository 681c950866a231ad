/** The fields of a forum: tags, and defaults for posts and their list. */

import { ForumLayout, SortOrder } from "../../generated/enums.js";
import { FORUM_TAGS_MAX, FORUM_TAG_NAME_MAX } from "../../generated/limits.js";
import { ChannelType } from "../../network/enums.js";
import { iconButton } from "../../ui/controls.js";
import { h, icon, reconcile } from "../../ui/dom.js";
import { t } from "../../ui/translation.js";
import { emojiButton, emojiSetting } from "../forms/emoji_field.js";
import { choiceSetting } from "../forms/fields.js";
import { SORTING_HINT, describePlace, makeSortable, moveHandle, placeId, stepId } from "../forms/sortable_list.js";

const SORT_OPTIONS = [
  [null, t("Default")],
  [SortOrder.LATEST_ACTIVITY, t("Latest activity")],
  [SortOrder.CREATION_DATE, t("Newest posts")],
];
const LAYOUT_OPTIONS = [
  [ForumLayout.DEFAULT, t("Default")],
  [ForumLayout.LIST, t("List")],
  [ForumLayout.GRID, t("Gallery")],
];
const MATCH_OPTIONS = [
  [null, t("Default")],
  ["match_some", t("Any of the chosen tags")],
  ["match_all", t("All of the chosen tags")],
];

/** Return the fields of a forum or media channel by their name in the request. */
export function forumFields(view, channel) {
  return {
    available_tags: tagsSetting(view),
    default_reaction_emoji: emojiSetting(view, t("Default reaction"), { hint: t("Offered first on each post.") }),
    default_sort_order: choiceSetting(t("Sort posts by"), SORT_OPTIONS),
    ...(channel.type === ChannelType.GUILD_FORUM
      ? { default_forum_layout: choiceSetting(t("Layout"), LAYOUT_OPTIONS) }
      : {}),
    default_tag_setting: choiceSetting(t("Filter by"), MATCH_OPTIONS, { hint: t("When members choose several tags.") }),
  };
}

let newTagCount = 0;

/** Return the field in which the user adds, renames, moves and removes the tags of a forum. */
function tagsSetting(view) {
  /** Tags, with a key that identifies their row in the list. @type {any[]} */
  let tags = [],
    isDisabled = false,
    writeCount = 0;
  const list = h("ul", { class: "settings-list", "aria-label": t("Tags") });
  const error = h("p", { class: "error", role: "alert", hidden: true });
  const note = h("p", { class: "muted small" });
  const addButton = h(
    "button",
    { type: "button", class: "button small quiet", onclick: () => addTag() },
    icon("plus"),
    t("Add tag"),
  );
  const emit = () => list.dispatchEvent(new Event("input", { bubbles: true }));
  const setTags = changedTags => {
    tags = changedTags;
    drawTags();
    emit();
  };
  const change = (key, changes) => setTags(tags.map(tag => (tag.key === key ? { ...tag, ...changes } : tag)));
  const addTag = () => {
    const key = `new-${(newTagCount += 1)}`;
    setTags([...tags, { key, name: "", moderated: false, emoji_id: null, emoji_name: null }]);
    list.lastElementChild.querySelector("input").focus();
  };
  const remove = key => {
    setTags(tags.filter(tag => tag.key !== key));
    addButton.focus();
  };
  const setOrder = keys => setTags(keys.map(key => tags.find(tag => tag.key === key)));
  const keys = () => tags.map(tag => tag.key);
  const drawTags = () => {
    addButton.disabled = isDisabled || tags.length >= FORUM_TAGS_MAX;
    note.textContent =
      tags.length >= FORUM_TAGS_MAX
        ? t("A forum has at most {max} tags.", { max: FORUM_TAGS_MAX })
        : tags.length
          ? SORTING_HINT
          : t("There are no tags yet. Tags help members to find posts.");
    reconcile(
      list,
      tags.map(tag => ({
        key: tag.key,
        // The name is not part of the version: the field keeps the focus while the user types.
        version: `${tag.emoji_id} ${tag.emoji_name} ${isDisabled} ${tag.version ?? ""}`,
        build: () => tagRow(view, tag, isDisabled, change, remove),
      })),
    );
  };
  const status = makeSortable(list, {
    read: () => tags,
    write: setTags,
    step: (key, direction) => setOrder(stepId(keys(), key, direction)),
    place: (key, other, isAfter) => setOrder(placeId(keys(), key, other, isAfter)),
    describe: key => describePlace(tags.find(tag => tag.key === key).name, keys().indexOf(key), tags.length),
  });
  return {
    node: h("div", { class: "field" }, note, list, error, h("div", { class: "row" }, addButton), status),
    read: () =>
      tags.map(({ id, name, moderated, emoji_id, emoji_name }) => ({
        ...(id ? { id } : {}),
        name,
        moderated,
        emoji_id,
        emoji_name,
      })),
    write(storedTags) {
      // A new version builds all rows again, because their inputs hold the unsaved text of the user.
      writeCount += 1;
      tags = storedTags.map(tag => ({
        id: tag.id,
        key: tag.key ?? tag.id ?? `new-${(newTagCount += 1)}`,
        version: writeCount,
        name: tag.name,
        moderated: tag.moderated ?? false,
        emoji_id: tag.emoji_id ?? null,
        emoji_name: tag.emoji_name ?? null,
      }));
      drawTags();
    },
    setError(text) {
      error.hidden = !text;
      error.textContent = text ?? "";
    },
    setDisabled(disabled) {
      isDisabled = disabled;
      drawTags();
    },
  };
}

function tagRow(view, tag, isDisabled, change, remove) {
  const moderatedInput = h("input", {
    type: "checkbox",
    disabled: isDisabled,
    onchange: () => change(tag.key, { moderated: moderatedInput.checked }),
  });
  moderatedInput.checked = tag.moderated;
  const handle = moveHandle(tag.name, isDisabled ? t("You cannot change the tags.") : null);
  const emoji = emojiButton(view, tag, t("Emoji"), chosen => change(tag.key, chosen), isDisabled);
  const removeButton = iconButton("bin", t("Remove"), () => remove(tag.key), { disabled: isDisabled });
  const setLabels = text => {
    const name = text || t("tag");
    handle.setAttribute("aria-label", t("Move {name}", { name }));
    emoji.setAttribute("aria-label", t("Emoji of {name}", { name }));
    removeButton.setAttribute("aria-label", t("Remove {name}", { name }));
  };
  const nameInput = h("input", {
    type: "text",
    maxlength: FORUM_TAG_NAME_MAX,
    "aria-label": t("Tag name"),
    placeholder: t("Tag name"),
    dir: "auto",
    value: tag.name,
    disabled: isDisabled,
    oninput: () => {
      setLabels(nameInput.value);
      change(tag.key, { name: nameInput.value });
    },
  });
  setLabels(tag.name);
  return h(
    "li",
    { class: "settings-entry tag-row" },
    handle,
    emoji,
    nameInput,
    h("label", { class: "choice small" }, moderatedInput, t("Moderators only")),
    removeButton,
  );
}
