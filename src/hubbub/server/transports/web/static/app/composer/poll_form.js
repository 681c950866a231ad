/** The dialog that creates a poll. */

import {
  POLL_ANSWERS_MAX,
  POLL_ANSWER_LENGTH_MAX,
  POLL_HOURS_DEFAULT,
  POLL_HOURS_MAX,
  POLL_QUESTION_LENGTH_MAX,
} from "../generated/limits.js";
import { messageErrorText } from "../state/outbox.js";
import { formField, iconButton } from "../ui/controls.js";
import { openDialog } from "../ui/dialogs.js";
import { h, icon } from "../ui/dom.js";
import { t, tn } from "../ui/translation.js";
import { emojiElement } from "../content/emoji/element.js";
import { openEmojiPicker } from "../content/emoji/picker.js";

const ANSWERS_MIN = 2;
/** Durations of a poll in hours, with their labels. */
const DURATIONS = [
  [1, tn("{count} hour", "{count} hours", 1)],
  [4, tn("{count} hour", "{count} hours", 4)],
  [8, tn("{count} hour", "{count} hours", 8)],
  [POLL_HOURS_DEFAULT, tn("{count} hour", "{count} hours", 24)],
  [72, tn("{count} day", "{count} days", 3)],
  [168, tn("{count} week", "{count} weeks", 1)],
  [336, tn("{count} week", "{count} weeks", 2)],
  [POLL_HOURS_MAX, tn("{count} day", "{count} days", 32)],
];

/** Open the dialog that creates a poll in the channel of a composer. */
export function openPollForm(composer) {
  openDialog(t("Create a poll"), close => buildForm(composer, close));
}

function buildForm(composer, close) {
  const { context } = composer;
  const question = formField(
    t("Question"),
    h("input", { type: "text", maxlength: POLL_QUESTION_LENGTH_MAX, dir: "auto", autofocus: true }),
  );
  const duration = formField(
    t("Duration"),
    h(
      "select",
      null,
      DURATIONS.map(([hours, label]) =>
        h("option", { value: hours, selected: hours === POLL_HOURS_DEFAULT ? true : null }, label),
      ),
    ),
  );
  const severalCheckbox = h("input", { type: "checkbox" });
  const answers = [];
  const list = h("ol", { class: "poll-answers", "aria-label": t("Answers") });
  const addButton = h("button", { type: "button", class: "button quiet small", onclick: () => addAnswer().focus() });
  const errorLine = h("p", { class: "error", role: "alert", hidden: true });
  const submitButton = h("button", { type: "submit", class: "button" }, t("Create poll"));

  function addAnswer() {
    const answer = createAnswer(context, () => removeAnswer(answer));
    answers.push(answer);
    list.append(answer.node);
    updateList();
    return answer;
  }

  function removeAnswer(answer) {
    const index = answers.indexOf(answer);
    answers.splice(index, 1);
    answer.node.remove();
    updateList();
    answers[Math.min(index, answers.length - 1)].focus();
  }

  function updateList() {
    answers.forEach((answer, index) => answer.setNumber(index + 1, answers.length > ANSWERS_MIN));
    addButton.hidden = answers.length >= POLL_ANSWERS_MAX;
    addButton.replaceChildren(
      icon("plus"),
      ` ${t("Add answer ({count} of {max})", { count: answers.length, max: POLL_ANSWERS_MAX })}`,
    );
  }

  /** Show the errors of a form that is incomplete; return whether it is complete. Focus the first field with an error. */
  function validate() {
    let isComplete = true;
    for (const answer of [...answers].reverse()) {
      const emptyText =
        answers.length > ANSWERS_MIN ? t("Enter an answer, or remove this one.") : t("Enter an answer.");
      const error = answer.text ? null : emptyText;
      answer.setError(error);
      if (error !== null) isComplete = false;
    }
    question.setError(question.input.value.trim() ? null : t("Enter a question."));
    return isComplete && question.input.value.trim() !== "";
  }

  function showErrors(error) {
    const fields = error.errors?.poll ?? {};
    const messageAt = node => {
      if (node === null || typeof node !== "object") return null;
      return node._errors?.[0]?.message ?? Object.values(node).map(messageAt).find(Boolean) ?? null;
    };
    answers.forEach((answer, index) => answer.setError(messageAt(fields.answers?.[index])));
    duration.setError(messageAt(fields.duration));
    question.setError(messageAt(fields.question));
    const hasFieldError = messageAt(fields) !== null;
    errorLine.hidden = hasFieldError;
    errorLine.textContent = hasFieldError ? "" : messageErrorText(error);
  }

  async function submitPoll(event) {
    event.preventDefault();
    errorLine.hidden = true;
    if (!validate()) return;
    submitButton.disabled = true;
    const poll = {
      question: { text: question.input.value.trim() },
      answers: answers.map(answer => ({ poll_media: answer.read() })),
      duration: Number(duration.input.value),
      allow_multiselect: severalCheckbox.checked,
    };
    try {
      await context.api.request("POST", `/channels/${context.channelId}/messages`, { json: { poll } });
      close();
      composer.dispatchEvent(new CustomEvent("message-sent", { bubbles: true }));
      composer.focus();
    } catch (error) {
      if (error.name !== "ApiError") throw error;
      showErrors(error);
    } finally {
      submitButton.disabled = false;
    }
  }

  for (let count = 0; count < ANSWERS_MIN; count += 1) addAnswer();
  return h(
    "form",
    { class: "stack poll-form", onsubmit: submitPoll, novalidate: true },
    question.node,
    h("div", { class: "field" }, h("p", { class: "label", "aria-hidden": "true" }, t("Answers")), list, addButton),
    duration.node,
    h("label", { class: "check" }, severalCheckbox, ` ${t("Allow several answers")}`),
    errorLine,
    h(
      "div",
      { class: "row end" },
      h("button", { type: "button", class: "button quiet", onclick: close }, t("Cancel")),
      submitButton,
    ),
  );
}

/** Return the row of one answer with its emoji and text. */
function createAnswer(context, remove) {
  let emoji = null,
    number = 0;
  const emojiButton = iconButton("smile", "", event => toggleEmoji(event.currentTarget));
  const input = h("input", { type: "text", maxlength: POLL_ANSWER_LENGTH_MAX, dir: "auto" });
  const error = h("p", { class: "error", role: "alert", hidden: true });
  const removeButton = iconButton("close", "", remove);

  function toggleEmoji(anchor) {
    if (emoji !== null) {
      emoji = null;
      drawEmoji();
      return;
    }
    openEmojiPicker(anchor, context, chosenEmoji => {
      emoji = chosenEmoji;
      drawEmoji();
      input.focus();
    });
  }

  function drawEmoji() {
    const label =
      emoji === null
        ? t("Choose emoji of answer {number}", { number })
        : t("Remove emoji of answer {number}", { number });
    emojiButton.replaceChildren(emoji === null ? icon("smile") : emojiElement(emoji));
    emojiButton.setAttribute("aria-label", label);
    emojiButton.title = label;
  }

  return {
    node: h("li", { class: "poll-answer-row" }, emojiButton, input, removeButton, error),
    get text() {
      return input.value.trim();
    },
    focus: () => input.focus(),
    read: () => ({
      text: input.value.trim(),
      ...(emoji === null ? {} : { emoji: emoji.id ? { id: emoji.id } : { name: emoji.name } }),
    }),
    setNumber(newNumber, canRemove) {
      number = newNumber;
      input.placeholder = t("Answer {number}", { number });
      input.setAttribute("aria-label", input.placeholder);
      removeButton.title = t("Remove answer {number}", { number });
      removeButton.setAttribute("aria-label", removeButton.title);
      removeButton.disabled = !canRemove;
      error.id = `poll-answer-error-${number}`;
      input.setAttribute("aria-describedby", error.id);
      drawEmoji();
    },
    setError(text) {
      error.hidden = !text;
      error.textContent = text ?? "";
      input.toggleAttribute("aria-invalid", Boolean(text));
      if (text) {
        input.setAttribute("aria-invalid", "true");
        input.focus();
      }
    },
  };
}
