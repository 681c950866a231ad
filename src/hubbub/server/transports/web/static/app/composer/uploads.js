/** Files to send with the next message. */

import { ATTACHMENT_BYTES_MAX, ATTACHMENTS_MAX } from "../generated/limits.js";
import { iconButton } from "../ui/controls.js";
import { h, icon } from "../ui/dom.js";
import { formatBytes } from "../ui/formats.js";
import { showNotice } from "../ui/notices.js";

/** The list of files that the user has selected. */
export class Uploads {
  #files = [];

  constructor() {
    this.node = h("ul", { class: "uploads", hidden: true, "aria-label": "Files to send" });
  }

  /** @param {Iterable<File>} files */
  add(files) {
    for (const file of files) {
      if (this.#files.length >= ATTACHMENTS_MAX) {
        showNotice(`You can attach up to ${ATTACHMENTS_MAX} files.`, "problem");
        break;
      }
      if (file.size > ATTACHMENT_BYTES_MAX) showNotice(`${file.name} is too large.`, "problem");
      else
        this.#files.push({
          file,
          preview: /^image\/(png|jpeg|gif|webp)$/.test(file.type) ? URL.createObjectURL(file) : null,
        });
    }
    this.#draw();
  }

  /** Remove and return all files. @returns {File[]} */
  take() {
    const files = this.#files.map(upload => upload.file);
    this.clear();
    return files;
  }

  clear() {
    for (const { preview } of this.#files) if (preview) URL.revokeObjectURL(preview);
    this.#files = [];
    this.#draw();
  }

  #draw() {
    this.node.hidden = !this.#files.length;
    this.node.replaceChildren(
      ...this.#files.map((upload, index) =>
        h(
          "li",
          null,
          upload.preview ? h("img", { src: upload.preview, alt: "" }) : icon("file"),
          h(
            "span",
            { class: "upload-name" },
            upload.file.name,
            h("span", { class: "muted small" }, ` ${formatBytes(upload.file.size)}`),
          ),
          iconButton("close", `Remove ${upload.file.name}`, () => {
            if (upload.preview) URL.revokeObjectURL(upload.preview);
            this.#files.splice(index, 1);
            this.#draw();
          }),
        ),
      ),
    );
  }
}
