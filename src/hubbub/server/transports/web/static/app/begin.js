// Runs before anything is drawn: where the chat client can run, the page for those without script is not shown first.
// Not a module, so that it does not wait for the document. Browsers without modules keep the page, and so do those for which a
// module does not load or is too new.
(() => {
  const root = document.documentElement;
  if (!("noModule" in HTMLScriptElement.prototype) || !("customElements" in window) || window.self !== window.top) return;
  root.classList.add("has-client");
  window.addEventListener(
    "error",
    event => {
      const ours = !(event.target instanceof Element) || event.target instanceof HTMLScriptElement;
      if (ours && !root.classList.contains("client-began")) root.classList.remove("has-client");
    },
    true,
  );
})();
