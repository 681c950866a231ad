/** Menus and popups. */

import { h, icon } from "./dom.js";

let openedPopup = null;

/** Close the open popup, if there is one. */
export function closePopup() {
  openedPopup?.close();
}

/** Close the open popup, unless it belongs to an element outside the container. */
export function closePopupIn(container) {
  const anchor = openedPopup?.anchor;
  if (!(anchor instanceof Element) || container.contains(anchor)) closePopup();
}

/**
 * Open a popup beside an element. Escape, a click elsewhere or the returned function closes it.
 *
 * @param {Element | {x: number, y: number}} anchor
 * @param {HTMLElement} node
 * @param {{focus?: HTMLElement | null, onClose?: () => void}} [options]
 */
export function openPopup(anchor, node, { focus, onClose } = {}) {
  closePopup();
  const previousFocus = document.activeElement;
  node.classList.add("popup");
  // Inside a modal dialog or a full-screen element, the popup must be part of it to be visible.
  const host = anchor instanceof Element ? anchor.closest("dialog, :fullscreen") : null;
  // Outside of a dialog, a menu is in a landmark of its own, so that screen readers find it.
  const area = h("div", { role: "region", "aria-label": node.getAttribute("aria-label") });
  const isMenu = node.getAttribute("role") === "menu";
  (host ?? document.querySelector(".client")).append(isMenu && !host ? area : node);
  if (area.isConnected) area.append(node);
  position(anchor, node);
  const close = () => {
    if (openedPopup?.node !== node) return;
    openedPopup = null;
    document.removeEventListener("pointerdown", onPointerdown, true);
    document.removeEventListener("keydown", onKeydown, true);
    const hasFocus = node.contains(document.activeElement);
    node.remove();
    area.remove();
    onClose?.();
    if (hasFocus && previousFocus instanceof HTMLElement && previousFocus.isConnected) previousFocus.focus();
  };
  const onPointerdown = event => {
    if (!node.contains(event.target)) close();
  };
  const onKeydown = event => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    close();
  };
  document.addEventListener("pointerdown", onPointerdown, true);
  document.addEventListener("keydown", onKeydown, true);
  openedPopup = { node, anchor, close };
  focus?.focus();
  return close;
}

function position(anchor, node) {
  const box = anchor instanceof Element ? anchor.getBoundingClientRect() : new DOMRect(anchor.x, anchor.y, 0, 0);
  const nodeBox = node.getBoundingClientRect(),
    margin = 8;
  const left = Math.max(margin, Math.min(box.right - nodeBox.width, window.innerWidth - nodeBox.width - margin));
  const fitsBelow = box.bottom + 4 + nodeBox.height <= window.innerHeight - margin;
  const top = fitsBelow ? box.bottom + 4 : Math.max(margin, box.top - nodeBox.height - 4);
  node.style.setProperty("left", `${left}px`);
  node.style.setProperty("top", `${top}px`);
}

/**
 * Open a menu of buttons beside an element; items that are null or false are left out.
 *
 * @param {Element | {x: number, y: number}} anchor
 * @param {string} label
 * @param {({label: string, icon?: string, image?: Element, isChosen?: boolean, isDangerous?: boolean, onClick: () => void}
 *   | null | false)[]} items `isChosen` makes an item one of several alternatives
 */
export function openMenu(anchor, label, items) {
  const buttons = items.filter(Boolean).map(item =>
    h(
      "button",
      {
        type: "button",
        role: item.isChosen === undefined ? "menuitem" : "menuitemradio",
        "aria-checked": item.isChosen === undefined ? null : String(item.isChosen),
        tabindex: "-1",
        class: item.isDangerous ? "danger" : null,
        onclick: () => {
          closePopup();
          item.onClick();
        },
      },
      item.icon ? icon(item.icon) : (item.image ?? null),
      item.label,
      item.isChosen ? icon("check") : null,
    ),
  );
  const menu = h("div", { class: "menu", role: "menu", "aria-label": label }, buttons);
  menu.addEventListener("keydown", event => {
    const index = buttons.indexOf(/** @type {any} */ (document.activeElement));
    const targetIndex = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (event.key === "Tab") closePopup();
    if (targetIndex === undefined) return;
    event.preventDefault();
    buttons[(targetIndex + buttons.length) % buttons.length].focus();
  });
  openPopup(anchor, menu, {
    focus: buttons.find(button => button.getAttribute("aria-checked") === "true") ?? buttons[0],
  });
}
