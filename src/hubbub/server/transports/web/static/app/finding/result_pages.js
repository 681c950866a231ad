/** Buttons that lead through the pages of search results. */

import { SEARCH_LIMIT_MAX, SEARCH_OFFSET_MAX } from "../generated/limits.js";
import { h } from "../ui/dom.js";

/** Return the buttons around the page at an offset, or nothing for one page; `open` is called with the offset of a page. */
export function buildPageButtons(total, offset, open) {
  const pageCount = Math.ceil(Math.min(total, SEARCH_OFFSET_MAX + SEARCH_LIMIT_MAX) / SEARCH_LIMIT_MAX),
    pageIndex = offset / SEARCH_LIMIT_MAX;
  if (pageCount < 2) return [];
  const button = (label, index) =>
    h(
      "button",
      {
        type: "button",
        class: "button quiet small",
        disabled: index < 0 || index >= pageCount,
        onclick: () => open(index * SEARCH_LIMIT_MAX),
      },
      label,
    );
  return [
    button("Previous", pageIndex - 1),
    h("span", { class: "muted small" }, `Page ${pageIndex + 1} of ${pageCount}`),
    button("Next", pageIndex + 1),
  ];
}
