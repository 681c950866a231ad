/** Files that wait to be sent: chosen, dropped or pasted. */

import { h, icon } from "./dom.js";
import { bytes } from "./media.js";
import { notice } from "./notices.js";
import { iconButton } from "./parts.js";

const MOST = 10;
const LARGEST = 100 * 1024 * 1024;

export class Uploads {
  #files = [];

  constructor() {
    this.node = h("ul", { class: "uploads", hidden: true, "aria-label": "Files to send" });
  }

  /** @param {Iterable<File>} files */
  add(files) {
    for (const file of files) {
      if (this.#files.length >= MOST) {
        notice(`A message takes ${MOST} files.`, "problem");
        break;
      }
      if (file.size > LARGEST) notice(`${file.name} is too large.`, "problem");
      else this.#files.push({ file, preview: /^image\/(png|jpeg|gif|webp)$/.test(file.type) ? URL.createObjectURL(file) : null });
    }
    this.#draw();
  }

  /** What there is, for a message; none is left. @returns {File[]} */
  take() {
    const files = this.#files.map(each => each.file);
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
      ...this.#files.map((each, at) =>
        h(
          "li",
          null,
          each.preview ? h("img", { src: each.preview, alt: "" }) : icon("file"),
          h("span", { class: "upload-name" }, each.file.name, h("span", { class: "soft small" }, ` ${bytes(each.file.size)}`)),
          iconButton("close", `Leave ${each.file.name} out`, () => {
            if (each.preview) URL.revokeObjectURL(each.preview);
            this.#files.splice(at, 1);
            this.#draw();
          }),
        ),
      ),
    );
  }
}
