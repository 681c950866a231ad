/** A select with single or multiple choice, and a search field for long lists. */

import { h, setChildren } from "./dom.js";
import { t } from "./translation.js";

/**
 * An option of a picker; `buildIcon` builds the icon before its label.
 *
 * @typedef {{value: string, label: string, description?: string, buildIcon?: () => Node|null}} Choice
 */

/** Longer lists have a search field. */
const SEARCH_THRESHOLD = 10;
/** Number of choices that Page Up and Page Down move. */
const PAGE_SIZE = 8;
const HEIGHT_MAX_PX = 320;
const DEBOUNCE_MS = 150;
let pickerCount = 0;

/**
 * Return a button that opens a list of choices.
 *
 * @param {{
 *   label: string, placeholder?: string, min?: number, max?: number, disabled?: boolean, values?: Choice[],
 *   choices?: Choice[], find?: (query: string) => Choice[]|Promise<Choice[]>,
 *   onChange?: (values: Choice[]) => void, onCommit?: (values: Choice[]) => void
 * }} options `choices` is a fixed list, `find` searches for choices; `onChange` is called after every change, `onCommit` when the
 *   selection is complete
 * @returns {{node: HTMLElement, button: HTMLButtonElement, values: Choice[], set: (values: Choice[]) => void}}
 */
export function createPicker(options) {
  const { label, placeholder = t("Choose"), min = 1, max = 1, choices, find } = options;
  const id = `picker-${(pickerCount += 1)}`;
  const isSearchable = Boolean(find) || (choices?.length ?? 0) > SEARCH_THRESHOLD;
  const control = { values: [...(options.values ?? [])], set };
  let visibleChoices = [];
  let activeIndex = 0;
  let previousValues = control.values;
  let requestId = 0;
  let timer;

  const display = h("span", { class: "picker-value" });
  const button = h(
    "button",
    {
      type: "button",
      class: "picker-button",
      "aria-haspopup": "listbox",
      "aria-expanded": "false",
      onclick: toggle,
      onkeydown: onButtonKeydown,
    },
    display,
    h("span", { class: "picker-arrow", "aria-hidden": "true" }),
  );
  button.disabled = Boolean(options.disabled);
  const list = h("ul", {
    class: "picker-list",
    role: "listbox",
    id,
    "aria-label": label,
    tabindex: "-1",
    onkeydown: onKeydown,
  });
  if (max > 1) list.setAttribute("aria-multiselectable", "true");
  const field = isSearchable
    ? h("input", {
        class: "picker-search",
        type: "text",
        role: "combobox",
        placeholder: t("Search"),
        "aria-label": t("Search: {label}", { label }),
        "aria-controls": id,
        "aria-expanded": "true",
        "aria-autocomplete": "list",
        autocomplete: "off",
        spellcheck: "false",
        onkeydown: onKeydown,
        oninput: onInput,
      })
    : null;
  const hint = h("p", { class: "picker-hint", "aria-live": "polite" });
  const popup = h("div", { class: "picker-popup", popover: "auto", ontoggle: onToggle }, field, list, hint);
  const node = h("div", { class: "picker" }, button, popup);
  control.node = node;
  control.button = button;
  set(control.values);
  return control;

  function set(values) {
    control.values = [...values];
    setChildren(display, ...renderValues());
    // The accessible name contains the label and the shown values or placeholder.
    const shownText = control.values.map(choice => choice.label).join(", ") || placeholder;
    button.setAttribute("aria-label", shownText === label ? label : `${label}: ${shownText}`);
  }

  function renderValues() {
    if (!control.values.length) return [h("span", { class: "picker-empty" }, placeholder)];
    if (max === 1) return [choiceIcon(control.values[0]), h("span", { class: "picker-name" }, control.values[0].label)];
    return control.values.flatMap(choice => [
      h("span", { class: "picker-chip" }, choiceIcon(choice), choice.label),
      " ",
    ]);
  }

  function choiceIcon(choice) {
    const content = choice.buildIcon?.() ?? null;
    return content && h("span", { class: "picker-mark", "aria-hidden": "true" }, content);
  }

  function toggle() {
    if (popup.matches(":popover-open")) popup.hidePopover();
    else open();
  }

  function open() {
    previousValues = control.values;
    if (field) field.value = "";
    popup.showPopover();
    position();
    search("");
    (field ?? list).focus();
  }

  function onToggle({ newState }) {
    const isOpen = newState === "open";
    button.setAttribute("aria-expanded", String(isOpen));
    const listen = isOpen ? window.addEventListener : window.removeEventListener;
    listen.call(window, "resize", position);
    listen.call(window, "scroll", onScroll, true);
    if (isOpen) return;
    clearTimeout(timer);
    if (max === 1 || haveSameValues(previousValues, control.values)) return;
    if (control.values.length >= min) options.onCommit?.(control.values);
    else set(previousValues);
  }

  function onScroll({ target }) {
    if (!popup.contains(target)) position();
  }

  /** Place the popup below the button if it fits there or there is more space below than above, else above it. */
  function position() {
    const box = button.getBoundingClientRect();
    const width = Math.min(Math.max(box.width, 240), window.innerWidth - 16);
    const below = window.innerHeight - box.bottom - 8;
    const availableHeight = Math.max(below, box.top - 8);
    const height = Math.min(HEIGHT_MAX_PX, availableHeight);
    popup.style.width = `${width}px`;
    popup.style.maxHeight = `${height}px`;
    popup.style.left = `${Math.max(8, Math.min(box.left, window.innerWidth - width - 8))}px`;
    if (below >= Math.min(popup.scrollHeight, HEIGHT_MAX_PX) || below >= box.top) {
      popup.style.top = `${box.bottom + 4}px`;
      popup.style.bottom = "auto";
    } else {
      popup.style.top = "auto";
      popup.style.bottom = `${window.innerHeight - box.top + 4}px`;
    }
  }

  function onInput() {
    clearTimeout(timer);
    timer = setTimeout(() => search(field.value.trim()), find ? DEBOUNCE_MS : 0);
  }

  async function search(query) {
    requestId += 1;
    const currentRequest = requestId;
    const text = query.toLowerCase();
    const matches = ({ label: name, description }) =>
      name.toLowerCase().includes(text) || (description ?? "").toLowerCase().includes(text);
    let results;
    try {
      results = find ? await find(query) : choices.filter(matches);
    } catch {
      results = [];
    }
    // Ignore the result of an older search.
    if (currentRequest !== requestId) return;
    visibleChoices = results;
    activeIndex = Math.max(
      0,
      visibleChoices.findIndex(choice => isChosen(choice)),
    );
    draw();
  }

  function isChosen(choice) {
    return control.values.some(({ value }) => value === choice.value);
  }

  function draw() {
    setChildren(
      list,
      ...visibleChoices.map((choice, index) =>
        h(
          "li",
          {
            id: `${id}-${index}`,
            role: "option",
            class: index === activeIndex ? "picker-option active" : "picker-option",
            "aria-selected": String(isChosen(choice)),
            onclick: () => choose(index),
            onmousemove: () => setActive(index),
          },
          choiceIcon(choice),
          h(
            "span",
            { class: "picker-text" },
            h("span", {}, choice.label),
            choice.description ? h("small", {}, choice.description) : null,
          ),
        ),
      ),
    );
    const isFull = max > 1 && control.values.length >= max;
    const selection = { count: control.values.length, max };
    hint.textContent = !visibleChoices.length
      ? t("No results.")
      : max > 1
        ? isFull
          ? t("{count} of {max} selected (maximum)", selection)
          : t("{count} of {max} selected", selection)
        : "";
    hint.hidden = !hint.textContent;
    setActive(activeIndex);
    position();
  }

  function setActive(index) {
    list.children[activeIndex]?.classList.remove("active");
    activeIndex = index;
    const option = list.children[activeIndex];
    option?.classList.add("active");
    option?.scrollIntoView({ block: "nearest" });
    for (const owner of [list, field]) {
      if (option) owner?.setAttribute("aria-activedescendant", option.id);
      else owner?.removeAttribute("aria-activedescendant");
    }
  }

  function choose(index) {
    const choice = visibleChoices[index];
    if (!choice) return;
    if (max === 1) {
      const isDeselection = isChosen(choice);
      if (isDeselection && min > 0) return finish();
      set(isDeselection ? [] : [choice]);
      options.onChange?.(control.values);
      finish();
      options.onCommit?.(control.values);
      return;
    }
    if (isChosen(choice)) set(control.values.filter(({ value }) => value !== choice.value));
    else if (control.values.length < max) set([...control.values, choice]);
    options.onChange?.(control.values);
    activeIndex = index;
    draw();
  }

  function finish() {
    popup.hidePopover();
    button.focus();
  }

  function onButtonKeydown(event) {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    open();
  }

  function onKeydown(event) {
    const lastIndex = visibleChoices.length - 1;
    const moves = {
      ArrowDown: () => setActive(activeIndex >= lastIndex ? 0 : activeIndex + 1),
      ArrowUp: () => setActive(activeIndex <= 0 ? lastIndex : activeIndex - 1),
      PageDown: () => setActive(Math.min(lastIndex, activeIndex + PAGE_SIZE)),
      PageUp: () => setActive(Math.max(0, activeIndex - PAGE_SIZE)),
      Enter: () => choose(activeIndex),
      Escape: finish,
      Tab: finish,
    };
    if (event.target === list) moves[" "] = moves.Enter;
    const move = moves[event.key];
    if (!move || (lastIndex < 0 && event.key.startsWith("Arrow"))) return;
    event.preventDefault();
    event.stopPropagation();
    move();
  }
}

function haveSameValues(choices, otherChoices) {
  return (
    choices.length === otherChoices.length &&
    choices.every(choice => otherChoices.some(({ value }) => value === choice.value))
  );
}
