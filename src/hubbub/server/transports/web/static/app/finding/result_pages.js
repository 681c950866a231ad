/** Pages of search results: the buttons between them, and the text while the server prepares the search. */

import { SEARCH_LIMIT_MAX, SEARCH_OFFSET_MAX } from "../generated/limits.js";
import { h } from "../ui/dom.js";
import { t, tn } from "../ui/translation.js";

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
    button(t("Previous"), pageIndex - 1),
    h("span", { class: "muted small" }, t("Page {page} of {count}", { page: pageIndex + 1, count: pageCount })),
    button(t("Next"), pageIndex + 1),
  ];
}

/** Return the text while the server builds the index of a search; `count` is the number of indexed messages. */
export function searchPreparationText(count) {
  if (count === 0) return t("Search is being prepared for the first time. Results appear when it is ready.");
  return tn(
    "Search is being prepared for the first time. {count} message is ready so far. Results appear when it is ready.",
    "Search is being prepared for the first time. {count} messages are ready so far. Results appear when it is ready.",
    count,
  );
}
