/** The list of commands that `/` opens in the composer. */

import { h, setChildren } from "../ui/dom.js";
import { t, tn } from "../ui/translation.js";
import { appIcon } from "../content/app_icons.js";
import { fetchCommands, findMatches } from "./available_commands.js";
import { createCommandForm } from "./form.js";

const RESULTS_MAX = 40;
const COMMAND_PATTERN = /^\/([^\n]{0,80})$/;
let listCount = 0;

/**
 * Add the command list to a composer. Call once per composer.
 *
 * @param {{node: HTMLElement, field: HTMLTextAreaElement}} composer `node` contains `field` and shows the form in its place
 * @param {object|(() => object)} context {api, gateway, state, me, channelId, guildId}; a function if the composer outlives
 *   the channel
 * @returns {{close: () => void}} closes the list and the form when the channel changes
 */
export function attachCommandList(composer, context) {
  const { node, field } = composer;
  const currentContext = () => (typeof context === "function" ? context() : context);
  const id = `commands-${(listCount += 1)}`;
  const list = h("ul", { class: "command-list", role: "listbox", id, "aria-label": t("Commands") });
  const status = h("p", { class: "visually-hidden", role: "status" });
  const popup = h("div", { class: "command-popup", popover: "manual" }, list);
  let visibleCommands = [];
  let activeIndex = 0;
  let requestId = 0;
  let form = null;
  node.append(popup, status);
  field.addEventListener("input", updateList);
  field.addEventListener("blur", () => closeList());
  // Listen in the capture phase, before the composer handles Enter.
  node.addEventListener("keydown", onKeydown, { capture: true });
  // The user may have typed while this module was loading.
  if (document.activeElement === field) updateList();
  return {
    close() {
      closeList();
      closeForm("");
    },
  };

  async function updateList() {
    const match = COMMAND_PATTERN.exec(field.value);
    requestId += 1;
    const ownRequestId = requestId;
    if (!match || form) return closeList();
    let commands;
    try {
      commands = await fetchCommands(currentContext());
    } catch {
      return closeList();
    }
    if (ownRequestId !== requestId) return;
    visibleCommands = findMatches(commands, match[1].trimEnd()).slice(0, RESULTS_MAX);
    activeIndex = 0;
    if (!visibleCommands.length) return closeList();
    drawList();
  }

  function drawList() {
    setChildren(
      list,
      visibleCommands.map((command, index) =>
        h(
          "li",
          {
            id: `${id}-${index}`,
            role: "option",
            class: "command-option",
            "aria-selected": "false",
            onmousedown: event => onMousedown(event, index),
            onmousemove: () => setActive(index),
          },
          appIcon(command.application),
          h(
            "span",
            { class: "command-label" },
            h("strong", null, `/${command.name}`),
            h("span", null, command.description),
          ),
          h("small", null, command.application.name),
        ),
      ),
    );
    if (!popup.matches(":popover-open")) popup.showPopover();
    placePopup();
    field.setAttribute("aria-controls", id);
    field.setAttribute("aria-autocomplete", "list");
    status.textContent = tn("{count} command", "{count} commands", visibleCommands.length);
    setActive(0);
  }

  function placePopup() {
    const box = node.getBoundingClientRect();
    popup.style.left = `${Math.max(8, box.left)}px`;
    popup.style.width = `${Math.min(box.width, window.innerWidth - 16)}px`;
    popup.style.bottom = `${window.innerHeight - box.top + 6}px`;
    popup.style.maxHeight = `${Math.min(360, box.top - 16)}px`;
  }

  function setActive(index) {
    list.children[activeIndex]?.setAttribute("aria-selected", "false");
    activeIndex = index;
    const item = list.children[activeIndex];
    item?.setAttribute("aria-selected", "true");
    item?.scrollIntoView({ block: "nearest" });
    if (item) field.setAttribute("aria-activedescendant", item.id);
  }

  function closeList() {
    requestId += 1;
    visibleCommands = [];
    if (popup.matches(":popover-open")) popup.hidePopover();
    field.removeAttribute("aria-activedescendant");
    field.removeAttribute("aria-controls");
    status.textContent = "";
  }

  function onKeydown(event) {
    if (form || event.target !== field || !visibleCommands.length || event.isComposing) return;
    const lastIndex = visibleCommands.length - 1;
    if (event.key === "ArrowDown") setActive(activeIndex >= lastIndex ? 0 : activeIndex + 1);
    else if (event.key === "ArrowUp") setActive(activeIndex <= 0 ? lastIndex : activeIndex - 1);
    else if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey)) openForm(visibleCommands[activeIndex]);
    else if (event.key === "Escape") closeList();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function onMousedown(event, index) {
    event.preventDefault();
    openForm(visibleCommands[index]);
  }

  function openForm(command) {
    const typedText = field.value;
    closeList();
    field.value = "";
    field.dispatchEvent(new Event("input", { bubbles: true }));
    form = createCommandForm(command, currentContext(), hasRun => {
      closeForm(hasRun ? "" : typedText);
      field.focus();
    });
    node.classList.add("command-mode");
    node.append(form.node);
    form.focus();
  }

  function closeForm(text) {
    if (!form) return;
    form.node.remove();
    form = null;
    node.classList.remove("command-mode");
    // Restore the typed text without an input event, which would open the list again.
    field.value = text;
    requestId += 1;
  }
}
