// Hides the page for browsers without script before it is drawn, if the chat client can run. This is a classic script,
// because modules are deferred until the document is parsed. Browsers without modules keep the page, and it is shown
// again after a script error before the client has started. The client does not run in a frame.
(() => {
  const root = document.documentElement;
  if (!("noModule" in HTMLScriptElement.prototype) || !("customElements" in window) || window.self !== window.top)
    return;
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
