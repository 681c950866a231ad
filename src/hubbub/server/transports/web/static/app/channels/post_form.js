/** The form that creates a forum post: title, message, files and tags. */

import { ATTACHMENTS_MAX, CHANNEL_NAME_MAX, CONTENT_MAX } from "../generated/limits.js";
import { Permissions } from "../network/enums.js";
import { fileBytesMax } from "../state/file_limits.js";
import { messageErrorText } from "../state/outbox.js";
import { formField, iconButton } from "../ui/controls.js";
import { openDialog } from "../ui/dialogs.js";
import { h, icon, setChildren } from "../ui/dom.js";
import { formatByteLimit, formatBytes } from "../ui/byte_sizes.js";
import { channelPath } from "../ui/router.js";
import { t, tn } from "../ui/translation.js";
import { tagField } from "./post_tags.js";

/** Open the form for a post in the forum of the context. */
export function openPostForm(context) {
  const { api, state, channelId } = context;
  const forum = state.channels.get(channelId);
  openDialog(
    t("New post"),
    close => {
      const title = formField(
        t("Title"),
        h("input", { type: "text", maxlength: CHANNEL_NAME_MAX, required: true, dir: "auto", autofocus: true }),
      );
      const content = formField(t("Message"), h("textarea", { rows: "5", maxlength: CONTENT_MAX, dir: "auto" }));
      const files = state.can(channelId, Permissions.ATTACH_FILES) ? fileField(context) : null;
      const tags = tagField(context, forum);
      const button = h("button", { type: "submit", class: "button" }, t("Create post"));
      const create = async event => {
        event.preventDefault();
        for (const field of [title, content]) field.setError(null);
        const tagIds = tags.read();
        if (tagIds === null) return;
        const attachedFiles = files?.read() ?? [];
        const json = {
          name: title.input.value.trim(),
          message: { content: content.input.value },
          applied_tags: tagIds,
        };
        if (attachedFiles.length)
          json.message.attachments = attachedFiles.map((file, id) => ({ id, filename: file.name }));
        button.disabled = true;
        try {
          const post = await api.request("POST", `/channels/${channelId}/threads`, {
            json,
            files: attachedFiles.length ? attachedFiles : undefined,
          });
          state.apply("THREAD_CREATE", post);
          close();
          context.go(channelPath(post));
        } catch (error) {
          (error.errors?.name ? title : content).setError(messageErrorText(error));
        } finally {
          button.disabled = false;
        }
      };
      return h(
        "form",
        { class: "stack", onsubmit: create },
        title.node,
        content.node,
        files?.node,
        tags.node,
        h("div", { class: "row end" }, button),
      );
    },
    { wide: true },
  );
}

/** Return the field with the files of a post. It rejects files that are too large or too many; `read` returns the others. */
function fileField(context) {
  const bytesMax = fileBytesMax(context);
  /** @type {File[]} */
  let files = [];
  const list = h("ul", { class: "post-files", "aria-label": t("Files of the post") });
  const error = h("p", { class: "error", role: "alert", hidden: true });
  const input = h("input", {
    type: "file",
    multiple: true,
    class: "visually-hidden",
    tabindex: "-1",
    "aria-label": t("Files of the post"),
  });
  const drawFiles = problem => {
    error.textContent = problem ?? "";
    error.hidden = !problem;
    setChildren(
      list,
      files.map(file =>
        h(
          "li",
          null,
          icon("file"),
          h(
            "span",
            { class: "upload-name" },
            file.name,
            h("span", { class: "muted small" }, ` ${formatBytes(file.size)}`),
          ),
          iconButton("close", t("Remove {file}", { file: file.name }), () => {
            files = files.filter(other => other !== file);
            drawFiles();
          }),
        ),
      ),
    );
  };
  input.addEventListener("change", () => {
    const chosenFiles = [...input.files];
    input.value = "";
    const tooLarge = chosenFiles.find(file => file.size > bytesMax);
    files = [...files, ...chosenFiles.filter(file => file.size <= bytesMax)];
    const problem = tooLarge
      ? t("{file} is larger than {limit}.", { file: tooLarge.name, limit: formatByteLimit(bytesMax) })
      : files.length > ATTACHMENTS_MAX
        ? tn("A post has at most {count} file.", "A post has at most {count} files.", ATTACHMENTS_MAX)
        : null;
    files = files.slice(0, ATTACHMENTS_MAX);
    drawFiles(problem);
  });
  const addButton = h(
    "button",
    { type: "button", class: "button quiet small", onclick: () => input.click() },
    icon("plus"),
    t("Add files"),
  );
  return {
    node: h(
      "div",
      { class: "field", role: "group", "aria-label": t("Files") },
      h("p", null, addButton, input),
      list,
      error,
    ),
    read: () => files,
  };
}
