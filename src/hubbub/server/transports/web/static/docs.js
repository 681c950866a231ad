// The API reference: remembers the language of the examples, and copies them.

const STORED = "docs-language";
const COPIED_MS = 2000;

/** Reads the stored language. Browsers can deny access to storage. */
function storedLanguage() {
  try {
    return localStorage.getItem(STORED);
  } catch {
    return null;
  }
}

/** Shows all examples of the page in one language. */
function show(language) {
  for (const choice of document.querySelectorAll(".tabs input")) choice.checked = choice.value === language;
}

/** Chooses a language for all examples, and keeps the chosen example where it is on the screen. */
function choose(choice) {
  const before = choice.parentElement.getBoundingClientRect().top;
  show(choice.value);
  window.scrollBy(0, choice.parentElement.getBoundingClientRect().top - before);
  try {
    localStorage.setItem(STORED, choice.value);
  } catch {
    // The choice then lasts as long as the page.
  }
}

/** Adds a button that copies the example in the chosen language. */
function addCopyButton(tabs) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const language = tabs.querySelector("input:checked").value;
    try {
      await navigator.clipboard.writeText(tabs.querySelector(`pre[data-language="${language}"]`).textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed";
    }
    setTimeout(() => {
      button.textContent = "Copy";
    }, COPIED_MS);
  });
  tabs.insertBefore(button, tabs.querySelector("pre"));
}

const stored = storedLanguage();
if (document.querySelector(`.tabs input[value="${CSS.escape(stored ?? "")}"]`)) {
  show(stored);
  // Other examples have other heights, so the browser has to find the operation in the address again.
  if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}
for (const tabs of document.querySelectorAll(".tabs")) {
  tabs.addEventListener("change", event => choose(event.target));
  if (navigator.clipboard) addCopyButton(tabs);
}
