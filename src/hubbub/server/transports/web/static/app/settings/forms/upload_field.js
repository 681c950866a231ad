/** Fields for files to upload, with a preview and a check of their size. */

import { IMAGE_BYTES_MAX } from "../../generated/limits.js";
import { formField } from "../../ui/controls.js";
import { h, setChildren } from "../../ui/dom.js";
import { formatByteLimit, formatBytes } from "../../ui/byte_sizes.js";
import { t } from "../../ui/translation.js";
import { labelInSentence } from "./fields.js";

/** Return the error text for a file that is too large, or null. */
export function fileSizeError(file, bytesMax) {
  if (file.size <= bytesMax) return null;
  return t("This file has {size}. The limit is {max}.", {
    size: formatBytes(file.size),
    max: formatByteLimit(bytesMax),
  });
}

/** Return the content of a file as a data URL. @returns {Promise<string>} */
export function readDataUrl(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result)));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(file);
  });
}

/**
 * Return a field whose value is the chosen file, or null.
 *
 * @param {string} label
 * @param {object} options
 * @param {string} options.hint says the limits of the file
 * @param {string} options.accept
 * @param {number} options.bytesMax
 * @param {(url: string, file: File) => any} options.preview returns the node that shows the file
 * @param {(file: File) => void} [options.onChoose] called with each accepted file
 * @returns {import("./fields.js").SettingsField}
 */
export function uploadSetting(label, { hint, accept, bytesMax, preview, onChoose }) {
  /** @type {File | null} */
  let file = null,
    url = null;
  const previewBox = h("div", { class: "image-preview" });
  const input = h("input", { type: "file", accept, class: "visually-hidden", tabindex: "-1" });
  const field = formField(label, input, hint);
  const name = h("span", { class: "upload-name", dir: "auto" });
  const chooseButton = h(
    "button",
    {
      type: "button",
      class: "button small quiet",
      "aria-label": t("Choose file: {label}", { label }),
      onclick: () => input.click(),
    },
    t("Choose file"),
  );
  const setError = text => {
    field.setError(text);
    // The input is visually hidden, so the button receives the focus.
    if (text) chooseButton.focus();
  };
  const set = chosenFile => {
    if (url !== null) URL.revokeObjectURL(url);
    file = chosenFile;
    url = file === null ? null : URL.createObjectURL(file);
    name.textContent = file?.name ?? "";
    setChildren(previewBox, url === null ? null : preview(url, file));
  };
  input.addEventListener("change", () => {
    const chosenFile = input.files[0];
    if (!chosenFile) return;
    const error = fileSizeError(chosenFile, bytesMax);
    set(error === null ? chosenFile : null);
    input.value = "";
    setError(error);
    if (error === null) onChoose?.(chosenFile);
    field.node.dispatchEvent(new Event("input", { bubbles: true }));
  });
  field.node.insertBefore(h("div", { class: "image-field" }, previewBox, chooseButton, name), input);
  return {
    node: field.node,
    read: () => file,
    write: set,
    setError,
    setDisabled(disabled) {
      input.disabled = disabled;
      chooseButton.disabled = disabled;
    },
  };
}

/** Media types of images, for the `accept` attribute of a file input. */
export const IMAGE_TYPES = "image/png,image/jpeg,image/gif,image/webp";

/**
 * Return an image field: the value is the hash of the stored image, null, or a data URL of the chosen file.
 *
 * @param {string} label
 * @param {{hint?: string, preview: (value: string | null) => any, imageClass?: string}} options `preview` returns the node of a
 *   stored value; a chosen file has the class `imageClass`
 * @returns {import("./fields.js").SettingsField}
 */
export function imageSetting(label, { hint, preview, imageClass }) {
  let value = null;
  const previewBox = h("div", { class: "image-preview" });
  const input = h("input", { type: "file", accept: IMAGE_TYPES, class: "visually-hidden" });
  const field = formField(
    label,
    input,
    [hint, t("At most {size}.", { size: formatByteLimit(IMAGE_BYTES_MAX) })].filter(Boolean).join(" "),
  );
  const changeButton = h(
    "button",
    { type: "button", class: "button small quiet", onclick: () => input.click() },
    t("Upload"),
  );
  const removeButton = h(
    "button",
    { type: "button", class: "button small quiet", onclick: () => set(null) },
    t("Remove"),
  );
  input.tabIndex = -1;
  changeButton.setAttribute("aria-label", t("Upload {label}", { label: labelInSentence(label) }));
  removeButton.setAttribute("aria-label", t("Remove {name}", { name: labelInSentence(label) }));
  const drawPreview = () => {
    removeButton.hidden = value === null;
    setChildren(
      previewBox,
      value?.startsWith("data:") ? h("img", { src: value, alt: "", class: imageClass }) : preview(value),
    );
  };
  const set = newValue => {
    value = newValue;
    drawPreview();
    field.node.dispatchEvent(new Event("input", { bubbles: true }));
  };
  input.addEventListener("change", async () => {
    const file = input.files[0];
    if (!file) return;
    const error = fileSizeError(file, IMAGE_BYTES_MAX);
    field.setError(error);
    if (error === null) set(await readDataUrl(file));
    input.value = "";
  });
  field.node.insertBefore(h("div", { class: "image-field" }, previewBox, changeButton, removeButton), input);
  drawPreview();
  return {
    node: field.node,
    read: () => value,
    write(newValue) {
      value = newValue ?? null;
      drawPreview();
    },
    setError: field.setError,
    setDisabled(disabled) {
      for (const control of [input, changeButton, removeButton]) control.disabled = disabled;
    },
  };
}
