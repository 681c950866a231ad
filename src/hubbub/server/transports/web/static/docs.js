// The API reference: remembers the language of the examples, and copies them.

const STORAGE_KEY = "docs-language";
const COPIED_MS = 2000;

/** Reads the stored language. Browsers can deny access to storage. */
function storedLanguage() {
  try {
    return localStorage.getItem(STORAGE_KEY);
  } catch {
    return null;
  }
}

/** Shows all examples of the page in one language. */
function showLanguage(language) {
  for (const choice of document.querySelectorAll(".tabs input")) choice.checked = choice.value === language;
}

/** Shows all examples in a language, without moving the clicked one on the screen, and stores the choice. */
function chooseLanguage(choice) {
  const before = choice.parentElement.getBoundingClientRect().top;
  showLanguage(choice.value);
  window.scrollBy(0, choice.parentElement.getBoundingClientRect().top - before);
  try {
    localStorage.setItem(STORAGE_KEY, choice.value);
  } catch {
    // The choice is kept only until the page is closed.
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
  showLanguage(stored);
  // Examples differ in height, so scroll to the operation of the URL again.
  if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}
for (const tabs of document.querySelectorAll(".tabs")) {
  tabs.addEventListener("change", event => chooseLanguage(event.target));
  if (navigator.clipboard) addCopyButton(tabs);
}
