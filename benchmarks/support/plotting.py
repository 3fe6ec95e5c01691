"""Draws the plots of docs/performance.md. Equal results make equal files."""
import pathlib

LOOK = {
    "svg.hashsalt": "adverb",  # names in the file would else be by lot
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
# The reference is wide and pale, so that both are to be seen where they are equal.
REFERENCE_LINE = {"color": "#f4a261", "linewidth": 6, "alpha": 0.6, "solid_capstyle": "round"}
OUR_LINE = {"color": "#1d3557", "linewidth": 1.5, "marker": "o", "markersize": 4}
OUR_OTHER_LINE = OUR_LINE | {"color": "#2a9d8f", "marker": "s"}


def make_pyplot():
    """Returns matplotlib's pyplot for SVG files. The help of a program is there without it."""
    import matplotlib  # pylint: disable=import-outside-toplevel

    matplotlib.use("svg")
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel

    matplotlib.rcParams.update(LOOK)
    return pyplot


def save(pyplot, figure, path: pathlib.Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
