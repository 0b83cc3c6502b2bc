"""Maps of selection as drawings: SVG, alone or in a page that needs no other file."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from tileops.introspect.maps import Axis, Raster, SelectionLine

__all__ = ["line_svg", "page", "raster_svg"]

_WIDTH, _HEIGHT, _LEFT, _TOP = 640, 480, 70, 10

# Okabe and Ito's palette, which readers with colour-blindness tell apart.
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")
_NONE = {
    "unserved": "#dddddd",
    "no_device": "#dddddd",
    "impossible": "#ffffff",
    "ambiguous": "#d00",
}


def line_svg(found: SelectionLine) -> str:
    """Draw the intervals as one bar."""
    axis, height = found.axis, 40
    colours = _colours([one.outcome for one in found.intervals])
    span = axis.high - axis.low + 1
    bars = [
        _rectangle(
            _LEFT + _WIDTH * (one.low - axis.low) / span,
            _TOP,
            _WIDTH * (one.high - one.low + 1) / span,
            height,
            colours[one.outcome],
            f"{axis.fact} {one.low} to {one.high}: {one.outcome}",
        )
        for one in found.intervals
    ]
    return _drawing(bars, _ticks(axis, height), colours, height)


def raster_svg(found: Raster) -> str:
    """Draw the cells; those not proved uniform are paler."""
    x, y = found.axes
    colours = _colours([one.outcome for one in found.cells])
    wide, high = x.high - x.low + 1, y.high - y.low + 1
    cells = [
        _rectangle(
            _LEFT + _WIDTH * (one.x[0] - x.low) / wide,
            _TOP + _HEIGHT * (y.high - one.y[1]) / high,
            _WIDTH * (one.x[1] - one.x[0] + 1) / wide,
            _HEIGHT * (one.y[1] - one.y[0] + 1) / high,
            colours[one.outcome],
            f"{x.fact} {one.x[0]} to {one.x[1]}, {y.fact} {one.y[0]} to {one.y[1]}: {one.outcome}",
            1.0 if one.proved else 0.6,
        )
        for one in found.cells
    ]
    side = [
        f'<text x="{_LEFT - 6}" y="{_TOP + 12}" text-anchor="end">{y.high}</text>',
        f'<text x="{_LEFT - 6}" y="{_TOP + _HEIGHT}" text-anchor="end">{y.low}</text>',
        f'<text x="{_LEFT - 6}" y="{_TOP + _HEIGHT / 2:g}" text-anchor="end">{y.fact}</text>',
    ]
    return _drawing([*cells, *side], _ticks(x, _HEIGHT), colours, _HEIGHT)


def page(drawing: str) -> str:
    """Return a page with a drawing."""
    return (
        "<!doctype html>\n<html lang=en><meta charset=utf-8><title>tileops map</title>\n"
        f"<style>body{{margin:2em}}</style>\n{drawing}</html>\n"
    )


def _colours(outcomes: Sequence[str]) -> dict[str, str]:
    keys = [one for one in dict.fromkeys(outcomes) if one not in _NONE]
    named = {one: _COLOURS[place % len(_COLOURS)] for place, one in enumerate(keys)}
    return {**named, **{one: _NONE[one] for one in dict.fromkeys(outcomes) if one in _NONE}}


def _rectangle(
    x: float, y: float, width: float, height: float, colour: str, title: str, opacity: float = 1.0
) -> str:
    return (
        f'<rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" fill="{colour}" '
        f'fill-opacity="{opacity:g}"><title>{html.escape(title)}</title></rect>'
    )


def _ticks(axis: Axis, height: int) -> list[str]:
    y = _TOP + height + 16
    return [
        f'<text x="{_LEFT}" y="{y}">{axis.low}</text>',
        f'<text x="{_LEFT + _WIDTH / 2:g}" y="{y}" text-anchor="middle">{axis.fact}</text>',
        f'<text x="{_LEFT + _WIDTH}" y="{y}" text-anchor="end">{axis.high}</text>',
    ]


def _drawing(
    shapes: Iterable[str], ticks: Iterable[str], colours: dict[str, str], height: int
) -> str:
    top = _TOP + height + 40
    legend = [
        f'<rect x="{_LEFT}" y="{top + 20 * n}" width="12" height="12" fill="{colour}" '
        f'stroke="#888"/><text x="{_LEFT + 20}" y="{top + 20 * n + 11}">'
        f"{html.escape(outcome)}</text>"
        for n, (outcome, colour) in enumerate(colours.items())
    ]
    body = "\n".join([*shapes, *ticks, *legend])
    total = top + 20 * len(colours) + 10
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 20}" height="{total}" '
        f'font-family="sans-serif" font-size="12">\n{body}\n</svg>\n'
    )
