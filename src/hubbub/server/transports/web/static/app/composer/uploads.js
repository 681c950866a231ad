/** Files to send with the next message. */

import { ATTACHMENT_BYTES_MAX, ATTACHMENTS_MAX } from "../generated/limits.js";
import { iconButton } from "../ui/controls.js";
import { h, icon } from "../ui/dom.js";
import { formatBytes } from "../ui/formats.js";
import { showNotice } from "../ui/notices.js";

/** The list of files that the user has selected. */
export class Uploads {
  #uploads = [];

  constructor() {
    this.node = h("ul", { class: "uploads", hidden: true, "aria-label": "Files to send" });
  }

  /** @param {Iterable<File>} files */
  add(files) {
    for (const file of files) {
      if (this.#uploads.length >= ATTACHMENTS_MAX) {
        showNotice(`You can attach up to ${ATTACHMENTS_MAX} files.`, "problem");
        break;
      }
      if (file.size > ATTACHMENT_BYTES_MAX) showNotice(`${file.name} is too large.`, "problem");
      else
        this.#uploads.push({
          file,
          previewUrl: /^image\/(png|jpeg|gif|webp)$/.test(file.type) ? URL.createObjectURL(file) : null,
        });
    }
    this.#draw();
  }

  /** Remove and return all files. @returns {File[]} */
  take() {
    const files = this.#uploads.map(upload => upload.file);
    this.clear();
    return files;
  }

  clear() {
    for (const { previewUrl } of this.#uploads) if (previewUrl) URL.revokeObjectURL(previewUrl);
    this.#uploads = [];
    this.#draw();
  }

  #draw() {
    this.node.hidden = !this.#uploads.length;
    this.node.replaceChildren(
      ...this.#uploads.map((upload, index) =>
        h(
          "li",
          null,
          upload.previewUrl ? h("img", { src: upload.previewUrl, alt: "" }) : icon("file"),
          h(
            "span",
            { class: "upload-name" },
            upload.file.name,
            h("span", { class: "muted small" }, ` ${formatBytes(upload.file.size)}`),
          ),
          iconButton("close", `Remove ${upload.file.name}`, () => {
            if (upload.previewUrl) URL.revokeObjectURL(upload.previewUrl);
            this.#uploads.splice(index, 1);
            this.#draw();
          }),
        ),
      ),
    );
  }
}
