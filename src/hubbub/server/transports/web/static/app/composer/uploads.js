/** Files to send with the next message: their order, alt text and spoiler marks. */

import { ATTACHMENT_DESCRIPTION_MAX, ATTACHMENTS_MAX } from "../generated/limits.js";
import { iconButton } from "../ui/controls.js";
import { h, icon, reconcile } from "../ui/dom.js";
import { formatByteLimit, formatBytes } from "../ui/byte_sizes.js";
import { showNotice } from "../ui/notices.js";
import { makeSortable, moveHandle, placeId, stepId } from "../settings/forms/sortable_list.js";
import { fileBytesMax } from "../state/file_limits.js";
import { t, tn } from "../ui/translation.js";

let uploadCount = 0;

/** The list of files that the user has selected. */
export class Uploads {
  /** @type {{key: string, file: File, previewUrl: string | null, description: string, isSpoiler: boolean}[]} */
  #uploads = [];
  #context;
  #onEmpty;

  /** `onEmpty` is called when the user removed the last file. */
  constructor(context, onEmpty) {
    this.#context = context;
    this.#onEmpty = onEmpty;
    this.list = h("ul", { class: "uploads", "aria-label": t("Files to send") });
    const keys = () => this.#uploads.map(({ key }) => key);
    const reorder = sorted => {
      this.#uploads = sorted.map(key => this.#uploads.find(upload => upload.key === key));
      this.#draw();
    };
    const status = makeSortable(this.list, {
      read: keys,
      write: reorder,
      step: (key, direction) => reorder(stepId(keys(), key, direction)),
      place: (key, other, isAfter) => reorder(placeId(keys(), key, other, isAfter)),
      describe: key => {
        const index = keys().indexOf(key);
        return t("{file} is number {number} of {count}.", {
          file: this.#uploads[index].file.name,
          number: index + 1,
          count: this.#uploads.length,
        });
      },
    });
    this.hint = h("p", { class: "uploads-hint muted small" });
    this.node = h("div", { class: "uploads-area", hidden: true }, this.list, this.hint, status);
  }

  /** @param {Iterable<File>} files */
  add(files) {
    const bytesMax = fileBytesMax(this.#context);
    for (const file of files) {
      if (this.#uploads.length >= ATTACHMENTS_MAX) {
        showNotice(
          tn("You can attach up to {count} file.", "You can attach up to {count} files.", ATTACHMENTS_MAX),
          "problem",
        );
        break;
      }
      if (file.size > bytesMax) {
        const sizes = { file: file.name, size: formatBytes(file.size), limit: formatByteLimit(bytesMax) };
        showNotice(t("{file} is too large ({size}). You can send files of up to {limit} here.", sizes), "problem");
        continue;
      }
      this.#uploads.push({
        key: String((uploadCount += 1)),
        file,
        previewUrl: /^image\/(png|jpeg|gif|webp)$/.test(file.type) ? URL.createObjectURL(file) : null,
        description: "",
        isSpoiler: false,
      });
    }
    this.hint.textContent = tn(
      "Up to {count} file of {limit} each.",
      "Up to {count} files of {limit} each.",
      ATTACHMENTS_MAX,
      {
        limit: formatByteLimit(bytesMax),
      },
    );
    this.#draw();
  }

  /** Remove and return all files with their details. @returns {{files: File[], fileDetails: any[]}} */
  take() {
    const files = this.#uploads.map(upload => upload.file);
    const fileDetails = this.#uploads.map(({ description, isSpoiler }) => ({
      ...(description.trim() ? { description: description.trim() } : {}),
      ...(isSpoiler ? { is_spoiler: true } : {}),
    }));
    this.clear();
    return { files, fileDetails };
  }

  clear() {
    for (const { previewUrl } of this.#uploads) if (previewUrl) URL.revokeObjectURL(previewUrl);
    this.#uploads = [];
    this.#draw();
  }

  #remove(upload) {
    if (upload.previewUrl) URL.revokeObjectURL(upload.previewUrl);
    const index = this.#uploads.indexOf(upload);
    this.#uploads.splice(index, 1);
    this.#draw();
    const next = this.list.children[Math.min(index, this.#uploads.length - 1)];
    if (next) next.querySelector("[data-focus=remove]").focus();
    else this.#onEmpty();
  }

  #draw() {
    this.node.hidden = !this.#uploads.length;
    const version = this.#uploads.length > 1 ? "several" : "one";
    reconcile(
      this.list,
      this.#uploads.map(upload => ({ key: upload.key, version, build: () => this.#buildEntry(upload) })),
    );
  }

  #buildEntry(upload) {
    const { file, previewUrl } = upload;
    const toggleSpoiler = event => {
      upload.isSpoiler = !upload.isSpoiler;
      event.currentTarget.setAttribute("aria-pressed", String(upload.isSpoiler));
      entry.classList.toggle("is-spoiler", upload.isSpoiler);
    };
    const entry = h(
      "li",
      { class: upload.isSpoiler ? "is-spoiler" : null },
      this.#uploads.length > 1 ? moveHandle(file.name) : null,
      h("span", { class: "upload-preview" }, previewUrl ? h("img", { src: previewUrl, alt: "" }) : icon("file")),
      h(
        "span",
        { class: "upload-details" },
        h(
          "span",
          { class: "upload-name" },
          file.name,
          h("span", { class: "muted small" }, ` ${formatBytes(file.size)}`),
        ),
        h("input", {
          type: "text",
          class: "upload-alt",
          value: upload.description,
          maxlength: ATTACHMENT_DESCRIPTION_MAX,
          dir: "auto",
          placeholder: t("Alt text: describe this file"),
          "aria-label": t("Alt text of {file}", { file: file.name }),
          dataset: { focus: "alt" },
          oninput: event => {
            upload.description = event.currentTarget.value;
          },
        }),
      ),
      iconButton("hide", t("Mark {file} as spoiler", { file: file.name }), toggleSpoiler, {
        "aria-pressed": String(upload.isSpoiler),
        "data-focus": "spoiler",
      }),
      iconButton("close", t("Remove {file}", { file: file.name }), () => this.#remove(upload), {
        "data-focus": "remove",
      }),
    );
    return entry;
  }
}
