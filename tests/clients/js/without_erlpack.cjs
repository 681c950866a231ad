// Preloaded by tests that use JSON although erlpack is installed: the libraries use ETF whenever they find it.

const Module = require("node:module");

const load = Module._load;
Module._load = function (request, ...rest) {
  if (request === "erlpack") throw Object.assign(new Error("erlpack is hidden"), { code: "MODULE_NOT_FOUND" });
  return load.call(this, request, ...rest);
};
