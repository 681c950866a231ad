"""Draw the plots of docs/performance.md from stored figures.

python -m bench.plots

matplotlib draws them: it is well maintained, writes SVG without a display, and only developers need it. Texts stay texts
in the files, and nothing in them depends on the time, so that a plot changes only with its figures.
"""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from bench.curves import CURVES_FILE
from bench.load import CHECKOUT
from bench.peers import PEERS_FILE

PLOTS_DIRECTORY: Final = CHECKOUT / "docs" / "images" / "performance"
X_LABELS: Final = {
    "sessions": "sessions that receive a message",
    "messages": "stored messages",
    "members": "members of the guild",
    "processes": "API processes",
}


def draw_plots() -> list[Path]:
    """Draw a plot for each curve and one for the peers, and return the files; none if matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        print("skip plots: install matplotlib, which the extra `dev` contains", flush=True)
        return []
    PLOTS_DIRECTORY.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    if CURVES_FILE.exists():
        document = json.loads(CURVES_FILE.read_text())
        files += [_draw_curve(name, series, document) for name, series in document["curves"].items()]
    if PEERS_FILE.exists():
        files.append(_draw_peers(json.loads(PEERS_FILE.read_text())))
    return files


def _draw_curve(name: str, series: dict[str, list[tuple[int, float]]], document: dict[str, Any]) -> Path:
    figure, axes = _new_figure()
    for label, points in series.items():
        sizes, costs = zip(*points, strict=True)
        axes.plot(sizes, costs, marker="o", label=label)
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    if name != "processes":
        axes.set_xscale("log")
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.minorticks_off()
    axes.set_xlabel(X_LABELS[name])
    axes.set_ylabel("CPU time in µs")
    axes.set_ylim(bottom=0)
    axes.legend()
    return _save(figure, axes, name, document)


def _draw_peers(document: dict[str, Any]) -> Path:
    figure, axes = _new_figure()
    names = list(document["costs"])
    server_costs = [document["costs"][name]["server_us"] for name in names]
    database_costs = [document["costs"][name]["database_us"] for name in names]
    axes.bar(names, server_costs, 0.5, label="server")
    axes.bar(names, database_costs, 0.5, bottom=server_costs, label="PostgreSQL")
    axes.set_ylabel("CPU time of a stored message in µs")
    axes.legend()
    return _save(figure, axes, "peers", document)


def _new_figure() -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("svg")
    # The salt makes the IDs in the file reproducible.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "hubbub", "font.size": 9})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3.2), layout="constrained")
    axes.grid(axis="y", alpha=0.3)
    return figure, axes


def _save(figure: Any, axes: Any, name: str, document: dict[str, Any]) -> Path:
    """Write a plot with the machine in its title, and return the file."""
    machine = document["machine"]
    axes.set_title(
        f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, {document['date']}", fontsize=8
    )
    file = PLOTS_DIRECTORY / f"{name}.svg"
    figure.savefig(file, metadata={"Date": None})
    return file


if __name__ == "__main__":
    for file in draw_plots():
        print(file.relative_to(CHECKOUT))
