/** A field for a list of records with their own fields, which the user adds, changes, moves and removes. */

import { iconButton } from "../../ui/controls.js";
import { h, icon } from "../../ui/dom.js";
import { t } from "../../ui/translation.js";
import { firstErrorMessage, groupSetting, labelInSentence } from "./fields.js";
import { describePlace, makeSortable, moveHandle, placeId, stepId } from "./sortable_list.js";

let recordCount = 0;

/**
 * Return a field for a list of records, each with its own fields.
 *
 * @param {string} label
 * @param {object} options
 * @param {string} options.addLabel label of the button that adds a record
 * @param {string} options.newLabel name of a record without a title
 * @param {number} options.max
 * @param {() => Record<string, import("./fields.js").SettingsField>} options.fields returns the fields of one record
 * @param {any} options.blank the values of a new record
 * @param {(record: any) => string} options.title returns the name of a record with these values
 * @param {(record: any) => any} [options.fromStored] returns the field values of a stored record
 * @param {(values: any, id: string | undefined) => any} [options.toStored] returns the record as the API takes it
 * @param {string} [options.emptyText] shown if there are no records
 * @param {boolean} [options.isCollapsible] whether the fields of a record are in a section that the user opens
 * @returns {import("./fields.js").SettingsField}
 */
export function recordsSetting(
  label,
  {
    addLabel,
    newLabel,
    max,
    fields,
    blank,
    title,
    fromStored = identity,
    toStored = identity,
    emptyText,
    isCollapsible = false,
  },
) {
  /** @type {{key: string, id: string | undefined, node: any, group: any, draw: (isDisabled: boolean) => void,
   *   showErrors: (errors: any) => void}[]} */
  let rows = [];
  let isDisabled = false;
  const list = h("ul", { class: "settings-list records", "aria-label": label });
  const status = h("p", { class: "muted small" });
  const error = h("p", { class: "error", hidden: true, role: "alert" });
  const addButton = h(
    "button",
    { type: "button", class: "button small quiet", onclick: () => addRecord() },
    icon("plus"),
    addLabel,
  );
  const emit = () => list.dispatchEvent(new Event("input", { bubbles: true }));
  const read = () => rows.map(({ group, id }) => toStored(group.read(), id));
  const drawRows = () => {
    addButton.disabled = isDisabled || rows.length >= max;
    status.textContent =
      rows.length >= max ? t("This is the maximum of {max}.", { max }) : rows.length ? "" : (emptyText ?? "");
    status.hidden = !status.textContent;
    rows.forEach((row, index) => {
      if (list.children[index] !== row.node) list.insertBefore(row.node, list.children[index] ?? null);
    });
    while (list.children.length > rows.length) list.lastElementChild.remove();
    for (const row of rows) row.draw(isDisabled);
  };
  const createRow = (values, id, isOpen) => {
    const row = recordRow(
      { newLabel, isCollapsible, title, isOpen },
      groupSetting(fields(), { class: "record-fields" }),
      () => {
        rows = rows.filter(other => other !== row);
        drawRows();
        emit();
        addButton.focus();
      },
    );
    row.id = id;
    row.group.write(values);
    return row;
  };
  const addRecord = () => {
    const row = createRow(blank, undefined, true);
    rows.push(row);
    drawRows();
    emit();
    row.group.node.querySelector("input, select, textarea, button")?.focus();
  };
  const keys = () => rows.map(({ key }) => key);
  const setOrder = changedKeys => {
    rows = changedKeys.map(key => rows.find(row => row.key === key));
    drawRows();
  };
  const announcement = makeSortable(list, {
    read: keys,
    write: setOrder,
    step: (key, direction) => setOrder(stepId(keys(), key, direction)),
    place: (key, other, isAfter) => setOrder(placeId(keys(), key, other, isAfter)),
    describe: key => {
      const index = keys().indexOf(key);
      const name = title(rows[index].group.read()) || labelInSentence(newLabel);
      return describePlace(name, index, rows.length);
    },
  });
  return {
    node: h("div", { class: "field" }, status, list, error, h("div", { class: "row" }, addButton), announcement),
    read,
    write(records) {
      const storedRows = (records ?? []).map(record => [fromStored(record), record.id]);
      const currentRows = rows.map(({ group, id }) => [group.read(), id]);
      // Keep fields that already hold these values, so that they do not lose the focus.
      if (JSON.stringify(storedRows) === JSON.stringify(currentRows)) return;
      const openIds = new Set(rows.filter(({ node }) => node.querySelector("details")?.open).map(({ id }) => id));
      rows = storedRows.map(([values, id]) => createRow(values, id, id !== undefined && openIds.has(id)));
      list.replaceChildren();
      drawRows();
    },
    setError(text) {
      error.hidden = !text;
      error.textContent = text ?? "";
      if (!text) for (const { group } of rows) group.setError(null);
    },
    setErrors(errors) {
      const invalid = Object.keys(errors).filter(key => rows[Number(key)] !== undefined);
      for (const key of invalid.reverse()) rows[Number(key)].showErrors(errors[key]);
      if (!invalid.length) this.setError(firstErrorMessage(errors));
    },
    setDisabled(disabled) {
      isDisabled = disabled;
      drawRows();
    },
  };
}

const identity = values => values;

function recordRow({ newLabel, isCollapsible, title, isOpen }, group, onRemove) {
  const key = `record-${(recordCount += 1)}`;
  const handle = moveHandle(labelInSentence(newLabel));
  const removeButton = iconButton("bin", t("Remove"), onRemove);
  const heading = h("span", { class: "record-title", dir: "auto" });
  const content = isCollapsible
    ? h("details", { class: "record-content", open: isOpen }, h("summary", null, heading), group.node)
    : h("div", { class: "record-content" }, group.node);
  const node = h("li", { class: "settings-entry record", dataset: { key } }, handle, content, removeButton);
  const drawTitle = () => {
    const name = title(group.read()) || labelInSentence(newLabel);
    heading.textContent = title(group.read()) || newLabel;
    handle.setAttribute("aria-label", t("Move {name}", { name }));
    handle.title = t("Move {name}: drag, or press the arrow keys", { name });
    removeButton.setAttribute("aria-label", t("Remove {name}", { name }));
    removeButton.title = t("Remove {name}", { name });
  };
  for (const event of ["input", "change"]) node.addEventListener(event, drawTitle);
  return {
    key,
    id: undefined,
    node,
    group,
    draw(isDisabled) {
      drawTitle();
      handle.disabled = isDisabled;
      removeButton.disabled = isDisabled;
      group.setDisabled(isDisabled);
    },
    showErrors(errors) {
      if (isCollapsible) content.open = true;
      group.setErrors(errors);
    },
  };
}
