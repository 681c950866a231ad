// Runs before anything is drawn: where the chat client can run, the page for those without script is not shown first.
// Not a module, so that it does not wait for the document. Browsers without modules keep the page.
if ("noModule" in HTMLScriptElement.prototype && "customElements" in window && window.self === window.top) {
  document.documentElement.classList.add("has-client");
}
