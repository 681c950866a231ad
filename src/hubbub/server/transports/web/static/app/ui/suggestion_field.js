/** A text field with suggestions of an app, for options with autocompletion. */

import { h, setChildren } from "./dom.js";
import { t } from "./translation.js";

const DEBOUNCE_MS = 200;
let listCount = 0;

/**
 * Return a text field with suggestions that are fetched while the user types, after a pause. Outdated results are ignored.
 *
 * @param {{label: string, id: string, fetchSuggestions: (typed: string) => Promise<{name: string, value: any}[]>,
 *   maxlength?: number, inputmode?: string}} options
 * @returns {{node: HTMLElement, input: HTMLInputElement, value: () => any}} `value` returns the selected value, or the text
 */
export function createSuggestionField({ label, id, fetchSuggestions, maxlength, inputmode }) {
  const list = h("ul", {
    class: "picker-list",
    role: "listbox",
    id: `suggest-${(listCount += 1)}`,
    "aria-label": label,
  });
  const status = h("p", { class: "picker-hint", role: "status", hidden: true });
  const popup = h("div", { class: "picker-popup", popover: "manual" }, list, status);
  const input = h("input", {
    id,
    type: "text",
    class: "command-input",
    role: "combobox",
    "aria-autocomplete": "list",
    "aria-controls": list.id,
    "aria-expanded": "false",
    autocomplete: "off",
    spellcheck: "false",
    maxlength,
    inputmode,
    oninput: onInput,
    onfocus: onInput,
    onblur: closeList,
    onkeydown: onKeydown,
  });
  let visibleSuggestions = [];
  let activeIndex = -1;
  let latestRequestId = 0;
  let chosenSuggestion = null;
  let timer;
  return {
    node: h("div", { class: "suggest" }, input, popup),
    input,
    value: () => (chosenSuggestion && chosenSuggestion.text === input.value ? chosenSuggestion.value : input.value),
  };

  function onInput() {
    clearTimeout(timer);
    if (chosenSuggestion && chosenSuggestion.text === input.value) return;
    chosenSuggestion = null;
    timer = setTimeout(updateSuggestions, DEBOUNCE_MS);
  }

  async function updateSuggestions() {
    latestRequestId += 1;
    const ownRequestId = latestRequestId;
    let suggestions = null;
    try {
      suggestions = await fetchSuggestions(input.value);
    } catch {
      // The app may be slow or unavailable; the typed text can still be sent.
    }
    if (ownRequestId !== latestRequestId || document.activeElement !== input) return;
    visibleSuggestions = suggestions ?? [];
    activeIndex = -1;
    setChildren(
      list,
      visibleSuggestions.map((suggestion, index) =>
        h(
          "li",
          {
            id: `${list.id}-${index}`,
            role: "option",
            class: "picker-option",
            "aria-selected": "false",
            onmousedown: event => pick(event, index),
            onmousemove: () => setActive(index),
          },
          suggestion.name,
        ),
      ),
    );
    status.textContent =
      suggestions === null
        ? t("The app did not return suggestions.")
        : visibleSuggestions.length
          ? ""
          : t("No results.");
    status.hidden = !status.textContent;
    openList();
  }

  function openList() {
    if (!popup.matches(":popover-open")) popup.showPopover();
    input.setAttribute("aria-expanded", String(visibleSuggestions.length > 0));
    const box = input.getBoundingClientRect();
    const width = Math.min(Math.max(box.width, 220), window.innerWidth - 16);
    popup.style.width = `${width}px`;
    popup.style.maxHeight = `${Math.min(260, Math.max(box.top, window.innerHeight - box.bottom) - 12)}px`;
    popup.style.left = `${Math.max(8, Math.min(box.left, window.innerWidth - width - 8))}px`;
    const opensAbove = box.top > window.innerHeight - box.bottom;
    popup.style.top = opensAbove ? "auto" : `${box.bottom + 4}px`;
    popup.style.bottom = opensAbove ? `${window.innerHeight - box.top + 4}px` : "auto";
  }

  function closeList() {
    clearTimeout(timer);
    latestRequestId += 1;
    if (popup.matches(":popover-open")) popup.hidePopover();
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    visibleSuggestions = [];
  }

  function setActive(index) {
    list.children[activeIndex]?.classList.remove("active");
    list.children[activeIndex]?.setAttribute("aria-selected", "false");
    activeIndex = index;
    const node = list.children[activeIndex];
    if (!node) return;
    node.classList.add("active");
    node.setAttribute("aria-selected", "true");
    node.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", node.id);
  }

  function pick(event, index) {
    event.preventDefault();
    const { name, value } = visibleSuggestions[index];
    input.value = name;
    chosenSuggestion = { text: input.value, value };
    closeList();
    input.dispatchEvent(new Event("change", { bubbles: true }));
  }

  function onKeydown(event) {
    if (!visibleSuggestions.length) {
      if (event.key === "Escape" && popup.matches(":popover-open")) {
        event.stopPropagation();
        closeList();
      }
      return;
    }
    const lastIndex = visibleSuggestions.length - 1;
    if (event.key === "ArrowDown") setActive(activeIndex >= lastIndex ? 0 : activeIndex + 1);
    else if (event.key === "ArrowUp") setActive(activeIndex <= 0 ? lastIndex : activeIndex - 1);
    else if (event.key === "Enter" && activeIndex >= 0) pick(event, activeIndex);
    else if (event.key === "Escape") closeList();
    else if (event.key === "Tab" && activeIndex >= 0) return void pick({ preventDefault() {} }, activeIndex);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
