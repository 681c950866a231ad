/** The frame of the client. */

import { h } from "./dom.js";

export class Shell {
  constructor(context, router) {
    this.context = context;
    this.router = router;
  }

  mount() {
    document.body.replaceChildren(h("main", { id: "client" }));
  }
}
