// Copy buttons of the developer portal. They stay hidden without this script; the values can be selected as text.

const RESULT_MS = 2000;

/** Copy the text of an element to the clipboard; return whether it worked. */
async function copyText(source) {
  try {
    await navigator.clipboard.writeText(source.textContent.trim());
    return true;
  } catch {
    // Without HTTPS the clipboard API is missing: select the value and use the older command.
    getSelection().selectAllChildren(source);
    return document.execCommand("copy");
  }
}

// Screen readers announce changes of this element.
const status = document.createElement("div");
status.className = "visually-hidden";
status.setAttribute("role", "status");
document.querySelector("main").append(status);

for (const button of document.querySelectorAll("button[data-copy]")) {
  const source = button.parentElement.querySelector("code, a");
  const label = button.querySelector("[data-label]");
  const labelText = label.textContent;
  let timer = 0;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const result = (await copyText(source)) ? button.dataset.copied : button.dataset.selected;
    label.textContent = result;
    status.textContent = result;
    clearTimeout(timer);
    timer = setTimeout(() => {
      label.textContent = labelText;
      status.textContent = "";
    }, RESULT_MS);
  });
}
