/** Files to send with the next message. */

import { iconButton } from "../ui/controls.js";
import { h, icon } from "../ui/dom.js";
import { formatBytes } from "../ui/formats.js";
import { showNotice } from "../ui/notices.js";

const FILES_MAX = 10;
const FILE_BYTES_MAX = 100 * 1024 * 1024;

/** The list of files that the user has selected. */
export class Uploads {
  #files = [];

  constructor() {
    this.node = h("ul", { class: "uploads", hidden: true, "aria-label": "Files to send" });
  }

  /** @param {Iterable<File>} files */
  add(files) {
    for (const file of files) {
      if (this.#files.length >= FILES_MAX) {
        showNotice(`You can attach up to ${FILES_MAX} files.`, "problem");
        break;
      }
      if (file.size > FILE_BYTES_MAX) showNotice(`${file.name} is too large.`, "problem");
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
            h("span", { class: "soft small" }, ` ${formatBytes(upload.file.size)}`),
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
