/** Screens whose content comes from the API, and is read again when it may have changed. */

import { h } from "../ui/dom.js";
import { runAndReport } from "../ui/notices.js";
import { SettingsForm } from "./form.js";
import { lockedNotice, viewOnlyNotice } from "./layout.js";

/** Changes come in groups, so the content is read once after them. */
const RELOAD_DELAY_MS = 300;

/**
 * Return the text that is shown until the content is loaded.
 *
 * @param {any} view
 * @param {string} title the heading of the page
 * @param {() => Promise<any>} load
 * @param {(data: any) => any} build returns the content; can call `view.useForm` and `view.onChange`
 */
export function loadContent(view, title, load, build) {
  const status = h("p", { class: "muted", role: "status" }, "Loading…");
  runAndReport(async () => {
    try {
      const data = await load();
      // The user may have opened another screen.
      if (status.isConnected) view.setContent(title, build(data));
    } catch (error) {
      status.textContent = "This could not be loaded. Open the screen again.";
      throw error;
    }
  });
  return status;
}

/**
 * Return a function that reads the content again, once for several calls.
 *
 * The content is also read when the user returns to the page, because some changes have no event.
 *
 * @param {HTMLElement} node part of the content; after it was removed, nothing is read
 * @param {() => Promise<any>} load
 * @param {(data: any) => void} show
 */
export function createReload(node, load, show) {
  let timer;
  const reload = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (!node.isConnected) return;
      runAndReport(async () => {
        const data = await load();
        if (node.isConnected) show(data);
      });
    }, RELOAD_DELAY_MS);
  };
  const onFocus = () => {
    if (node.isConnected) reload();
    else window.removeEventListener("focus", onFocus);
  };
  window.addEventListener("focus", onFocus);
  return reload;
}

/**
 * Return the content of a screen with one form, whose values come from the API.
 *
 * @param {any} view
 * @param {import("./settings_dialog.js").SettingsScreen} screen
 * @param {object} options
 * @param {() => string | null} options.whyNotSee returns why the user cannot see the values, or null
 * @param {() => string | null} options.whyNotChange
 * @param {() => Promise<any>} options.load returns the values
 * @param {(changes: any) => Promise<any>} options.save resolves to the stored values
 * @param {() => Record<string, import("./fields.js").SettingsField>} options.createFields
 * @param {(fields: any) => any} options.layout returns the content of the form
 * @param {(values: any) => void} [options.onValues] called with stored values
 */
export function loadForm(view, screen, { whyNotSee, whyNotChange, load, save, createFields, layout, onValues }) {
  const hidden = whyNotSee();
  if (hidden !== null) {
    view.onChange(() => whyNotSee() === null && view.show(screen.id));
    return lockedNotice(hidden);
  }
  return loadContent(view, screen.label, load, values => {
    const fields = createFields();
    const form = new SettingsForm(fields, values, {
      save: async changes => {
        const stored = await save(changes);
        onValues?.(stored);
        return stored;
      },
      onInput: () => view.drawBar(),
    });
    view.useForm(form);
    const notice = h("div", { class: "settings-access" });
    let shownReason;
    const drawAccess = () => {
      const why = whyNotChange();
      if (why === shownReason) return;
      shownReason = why;
      notice.replaceChildren(...(why === null ? [] : [viewOnlyNotice(why)]));
      for (const field of Object.values(fields)) field.setDisabled(why !== null);
    };
    const reload = createReload(notice, load, found => {
      form.load(found);
      onValues?.(found);
    });
    view.onChange(({ kind }) => {
      if (whyNotSee() !== null) {
        view.show(screen.id);
        return;
      }
      drawAccess();
      if (kind === "guilds" || kind === "auditLog") reload();
    });
    drawAccess();
    const content = [notice, h("div", { class: "settings-form" }, layout(fields))];
    onValues?.(values);
    return content;
  });
}
