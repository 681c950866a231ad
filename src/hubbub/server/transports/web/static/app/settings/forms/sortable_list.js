/** Lists whose entries the user moves, with a pointer or the arrow keys. */

import { h, icon } from "../../ui/dom.js";
import { t } from "../../ui/translation.js";

/** Distance from the edge of the content within which a drag scrolls it. */
const SCROLL_EDGE_PX = 48;
/** Distance that the content scrolls for each movement of the pointer near the edge. */
const SCROLL_STEP_PX = 14;

/** The sentence that explains how entries are moved. */
export const SORTING_HINT = t(
  "To change the order, drag an entry by its handle, or focus the handle and press the arrow keys.",
);

/** Return the handle that moves an entry; `denialReason` disables it and is its tooltip. */
export function moveHandle(name, denialReason = null) {
  return h(
    "button",
    {
      type: "button",
      class: "icon-button move-handle",
      "aria-label": t("Move {name}", { name }),
      "aria-keyshortcuts": "ArrowUp ArrowDown",
      title: denialReason ?? t("Move {name}: drag, or press the arrow keys", { name }),
      disabled: denialReason !== null,
      dataset: { focus: "move" },
    },
    icon("move"),
  );
}

/** Return the announcement with the name and place of an entry; `index` starts with 0. */
export const describePlace = (name, index, count) =>
  t("{name}: {place} of {count}.", { name, place: index + 1, count });

/**
 * Let the user move the entries of a list. Return the node that announces the new place.
 *
 * Each entry is a child of the list with a unique `data-key` and contains a `moveHandle`.
 *
 * @param {HTMLElement} list
 * @param {object} handlers
 * @param {() => any} handlers.read returns the order
 * @param {(order: any) => void} handlers.write restores an order
 * @param {(key: string, step: -1 | 1) => void} handlers.step moves an entry up or down
 * @param {(key: string, other: string, isAfter: boolean) => void} handlers.place moves an entry beside another one
 * @param {(key: string) => string} handlers.describe returns the announcement with the name and place of an entry
 */
export function makeSortable(list, { read, write, step, place, describe }) {
  const status = h("p", { class: "visually-hidden", role: "status" });
  /** Return the handle that an event targets; null for the handles of nested lists. */
  const handleOf = event => {
    const handle = event.target.closest(".move-handle");
    return handle?.closest("[data-key]").parentElement === list ? handle : null;
  };
  const rowOf = key => [...list.children].find(row => /** @type {any} */ (row).dataset.key === key);
  const announceMove = key => {
    /** @type {any} */ (rowOf(key)?.querySelector(".move-handle"))?.focus();
    status.textContent = describe(key);
    list.dispatchEvent(new Event("input", { bubbles: true }));
  };
  /** The entry that is dragged, and the order before the drag. @type {{key: string, orderBefore: any} | null} */
  let drag = null;

  /** Cancel the drag. The document has the listener, because a row loses the focus when it moves. */
  const onDragKeydown = event => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    const { key, orderBefore } = drag;
    endDrag();
    write(orderBefore);
    announceMove(key);
  };
  list.addEventListener("keydown", event => {
    const handle = handleOf(event);
    const direction = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (handle === null || direction === undefined) return;
    event.preventDefault();
    const { key } = handle.closest("[data-key]").dataset;
    step(key, direction);
    announceMove(key);
    rowOf(key)?.scrollIntoView({ block: "nearest" });
  });
  list.addEventListener("pointerdown", event => {
    const handle = handleOf(event);
    if (handle === null || handle.disabled || event.button !== 0) return;
    event.preventDefault();
    handle.focus();
    drag = { key: handle.closest("[data-key]").dataset.key, orderBefore: read() };
    rowOf(drag.key).classList.add("dragged");
    // The list captures the pointer, because a row would lose the capture when it moves.
    list.setPointerCapture(event.pointerId);
    document.addEventListener("keydown", onDragKeydown, true);
  });
  list.addEventListener("pointermove", event => {
    if (drag === null) return;
    scrollAtEdge(list, event.clientY);
    const row = rowAt(list, event.clientY);
    if (row === null || row.dataset.key === drag.key) return;
    const box = row.getBoundingClientRect();
    place(drag.key, row.dataset.key, event.clientY > box.top + box.height / 2);
  });
  const endDrag = () => {
    if (drag === null) return;
    document.removeEventListener("keydown", onDragKeydown, true);
    rowOf(drag.key)?.classList.remove("dragged");
    drag = null;
  };
  const drop = () => {
    if (drag === null) return;
    const { key } = drag;
    endDrag();
    announceMove(key);
  };
  list.addEventListener("pointerup", drop);
  list.addEventListener("pointercancel", drop);
  return status;
}

function rowAt(list, clientY) {
  const rows = /** @type {any[]} */ ([...list.children]);
  return (
    rows.find(row => {
      const box = row.getBoundingClientRect();
      return clientY >= box.top && clientY < box.bottom;
    }) ?? null
  );
}

function scrollAtEdge(list, clientY) {
  const main = list.closest(".settings-main");
  if (main === null) return;
  const box = main.getBoundingClientRect();
  if (clientY < box.top + SCROLL_EDGE_PX) main.scrollTop -= SCROLL_STEP_PX;
  else if (clientY > box.bottom - SCROLL_EDGE_PX) main.scrollTop += SCROLL_STEP_PX;
}

/** Return a list of IDs with one of them moved by one place; unchanged at the ends. */
export function stepId(ids, id, direction) {
  const from = ids.indexOf(id),
    to = from + direction;
  if (to < 0 || to >= ids.length) return ids;
  const changedIds = ids.filter(other => other !== id);
  changedIds.splice(to, 0, id);
  return changedIds;
}

/** Return a list of IDs with one of them moved before or after another one. */
export function placeId(ids, id, otherId, isAfter) {
  const changedIds = ids.filter(other => other !== id);
  changedIds.splice(changedIds.indexOf(otherId) + (isAfter ? 1 : 0), 0, id);
  return changedIds;
}
