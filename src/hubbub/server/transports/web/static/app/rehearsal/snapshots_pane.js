/** The pane with snapshots and forks as a tree, with buttons that create, restore, delete and stop them. */

import { h, setChildren } from "../ui/dom.js";
import { callControl } from "./control_client.js";
import { controlButton } from "./status_line.js";

export class SnapshotsPane {
  #tree;

  constructor() {
    this.#tree = h("div");
    this.node = h(
      "div",
      { class: "pane-content" },
      h("h1", null, "Snapshots and forks"),
      h("p", { class: "muted" }, "A snapshot has data, files and time. A fork is a second platform on its own port."),
      h(
        "div",
        { class: "row" },
        controlButton("Take snapshot", () => this.#callAndRefresh("POST", "/snapshots"), {
          style: "",
          message: "Snapshot taken.",
        }),
        controlButton("Fork the current state", () => this.#callAndRefresh("POST", "/forks", {}), {
          message: "Fork started.",
        }),
      ),
      this.#tree,
    );
  }

  /** Load the snapshots and forks and show them. */
  async show() {
    const [snapshots, forks] = await Promise.all([callControl("GET", "/snapshots"), callControl("GET", "/forks")]);
    setChildren(
      this.#tree,
      h("ul", { class: "snapshot-tree", "aria-label": "Snapshots and forks" }, [
        h(
          "li",
          null,
          h("span", { class: "snapshot" }, "Start of the rehearsal"),
          this.#children(null, snapshots, forks),
        ),
      ]),
    );
  }

  #children(parentId, snapshots, forks) {
    const knownIds = new Set(snapshots.map(snapshot => snapshot.id));
    // A snapshot or fork whose parent was deleted is shown below the start.
    const isThisParent = id => (id !== null && knownIds.has(id) ? id : null) === parentId;
    const listItems = [
      ...snapshots
        .filter(snapshot => isThisParent(snapshot.parent_id))
        .map(snapshot => h("li", null, this.#snapshot(snapshot), this.#children(snapshot.id, snapshots, forks))),
      ...forks.filter(fork => isThisParent(fork.snapshot_id)).map(fork => h("li", null, this.#fork(fork))),
    ];
    return listItems.length === 0 ? null : h("ul", null, listItems);
  }

  #snapshot(snapshot) {
    const name = `Snapshot ${snapshot.id}`;
    return h(
      "div",
      { class: `snapshot ${snapshot.current ? "current" : ""}` },
      h("strong", null, name),
      h(
        "span",
        { class: "muted small" },
        `${snapshot.at.slice(0, 19).replace("T", " ")}, ${Math.ceil(snapshot.bytes / 1024)} KB`,
      ),
      snapshot.current && h("span", { class: "tag" }, "current"),
      controlButton("Restore", () => this.#callAndRefresh("POST", `/snapshots/${snapshot.id}/restore`), {
        message: `${name} was restored.`,
        "aria-label": `Restore ${name}`,
      }),
      controlButton("Fork", () => this.#callAndRefresh("POST", "/forks", { snapshot_id: snapshot.id }), {
        message: "Fork started.",
        "aria-label": `Fork ${name}`,
      }),
      controlButton("Delete", () => this.#callAndRefresh("DELETE", `/snapshots/${snapshot.id}`), {
        "aria-label": `Delete ${name}`,
      }),
    );
  }

  #fork(fork) {
    const name = `Fork ${fork.fork_id}`;
    return h(
      "div",
      { class: "snapshot fork" },
      h("strong", null, name),
      h("a", { href: fork.web, target: "_blank", rel: "noopener" }, fork.web),
      controlButton("Open console", () => openConsole(fork), { "aria-label": `Open console of ${name}` }),
      controlButton("Stop", () => this.#callAndRefresh("DELETE", `/forks/${fork.fork_id}`), {
        "aria-label": `Stop ${name}`,
      }),
    );
  }

  async #callAndRefresh(method, path, body) {
    await callControl(method, path, body);
    await this.show();
  }
}

async function openConsole(fork) {
  // Opened before the request, because browsers block windows that are opened later.
  const target = window.open("about:blank", `hubbub-console-${fork.fork_id}`);
  const { url } = await callControl("POST", `/forks/${fork.fork_id}/console-links`);
  if (target !== null) target.location.href = url;
}
