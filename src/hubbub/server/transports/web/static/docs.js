// The API reference: stores the language of the examples, and adds buttons that copy them.

const STORAGE_KEY = "docs-language";
const COPIED_MS = 2000;

/** Return the stored language, or null. Browsers can deny access to storage. */
function readStoredLanguage() {
  try {
    return localStorage.getItem(STORAGE_KEY);
  } catch {
    return null;
  }
}

/** Show all examples of the page in one language. */
function showLanguage(language) {
  for (const choice of document.querySelectorAll(".tabs input")) choice.checked = choice.value === language;
}

/** Show all examples in the language of a clicked tab, keep the tab at its place on the screen, and store the language. */
function chooseLanguage(choice) {
  const previousTop = choice.parentElement.getBoundingClientRect().top;
  showLanguage(choice.value);
  window.scrollBy(0, choice.parentElement.getBoundingClientRect().top - previousTop);
  try {
    localStorage.setItem(STORAGE_KEY, choice.value);
  } catch {
    // The choice is kept only until the page is closed.
  }
}

/** Add a button that copies the example in the chosen language. */
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

const initialLanguage = readStoredLanguage();
if (document.querySelector(`.tabs input[value="${CSS.escape(initialLanguage ?? "")}"]`)) {
  showLanguage(initialLanguage);
  // Examples differ in height, so scroll to the operation of the URL again.
  if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}
for (const tabs of document.querySelectorAll(".tabs")) {
  tabs.addEventListener("change", event => chooseLanguage(event.target));
  if (navigator.clipboard) addCopyButton(tabs);
}
