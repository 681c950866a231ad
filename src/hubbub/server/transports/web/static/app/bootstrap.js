// Hides the page for browsers without script before it is drawn, if the chat client can run. This is a classic script,
// because modules are deferred until the document is parsed. Browsers without modules keep the page, and it is shown
// again after a script error before the client has started. The client does not run in a frame, except beside the client of
// another user of a rehearsal.
(() => {
  const root = document.documentElement;
  const isFramed = window.self !== window.top && !location.hostname.endsWith(".people.localhost");
  if (!("noModule" in HTMLScriptElement.prototype) || !("customElements" in window) || isFramed) return;
  root.classList.add("has-client");
  window.addEventListener(
    "error",
    event => {
      const isClientError = !(event.target instanceof Element) || event.target instanceof HTMLScriptElement;
      if (isClientError && !root.classList.contains("client-started")) root.classList.remove("has-client");
    },
    true,
  );
})();
