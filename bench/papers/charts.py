# SPDX-License-Identifier: Apache-2.0
"""Pictures of papers' figures as SVG: heat maps, values by seed, times by ranks, rooflines."""
import math

import paper  # noqa: F401 (finds pictures)
from pictures import decades, line, svg, text

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#000000", "#888888")
WIDTH, HEIGHT = 470, 330
SMALL = 'font-size="11"'


def beside(*panels):
    """Panels, each a list of parts around (0, 0), in rows of two."""
    across = min(2, len(panels))
    parts = [f'<g transform="translate({WIDTH * (i % across)},{HEIGHT * (i // across)})">\n' + "\n".join(panel) + "\n</g>" for i, panel in enumerate(panels)]
    return svg(WIDTH * across, HEIGHT * -(-len(panels) // across), parts)


def title_of(words):
    return text(30, 20, words, 'font-weight="bold" font-size="12"')


def heat(title, values, grid, words=None):
    """A grid of squares; white: none, full colour: the most. words: below it; None: how far the values are from their mean."""
    parts, step, mean, most = [title_of(title)], 270 / grid, sum(values) / max(len(values), 1), max(values, default=1)
    for i, value in enumerate(values):
        parts.append(f'<rect x="{60 + i % grid * step:.1f}" y="{34 + i // grid * step:.1f}" width="{step:.1f}" height="{step:.1f}" '
                     f'fill="#d55e00" fill-opacity="{value / most:.3f}" stroke="#fff"/>')
    if not values:
        return parts
    return [*parts, text(60, 322, words or f"most {most / mean:.2f} times the mean, least {min(values) / mean:.2f}", SMALL)]


def dots(title, series, wanted):
    """Values over their numbers; dashed lines at the wanted values."""
    parts, most = [title_of(title)], max(max(values) for values in series.values()) * 1.1

    def y_of(value):
        return 290 - 240 * value / most
    for i in range(math.floor(most) + 1):
        parts += [line(50, y_of(i), 450, y_of(i), 'stroke="#ddd"'), text(44, y_of(i) + 4, str(i), f'text-anchor="end" {SMALL}')]
    for name, value in wanted.items():
        parts += [line(50, y_of(value), 450, y_of(value), 'stroke="#222" stroke-dasharray="5 4"'), text(448, y_of(value) - 4, f"paper, {name}: {value}", f'text-anchor="end" {SMALL}')]
    for s, (name, values) in enumerate(series.items()):
        parts += [f'<circle cx="{60 + 380 * i / max(len(values) - 1, 1):.1f}" cy="{y_of(value):.1f}" r="3" fill="{COLOURS[s]}"/>' for i, value in enumerate(values)]
        parts += [f'<circle cx="{60 + 130 * s}" cy="308" r="4" fill="{COLOURS[s]}"/>', text(70 + 130 * s, 312, name, SMALL)]
    return parts


def log_axes(title, x_label, y_label, xs, ys, ticks=None):
    """Parts of logarithmic axes, and the function that places a point. ticks: numbers on the horizontal axis; None: powers of ten."""
    low, high = min(xs) / 1.15, max(xs) * 1.15
    up = decades(min(ys), max(ys))
    up = up if len(up) > 1 else range(up[0], up[0] + 2)

    def place(x, y):
        return 60 + 240 * math.log(x / low) / math.log(high / low), 280 - 240 * (math.log10(y) - up[0]) / (up[-1] - up[0])
    parts = [title_of(title), text(180, 314, x_label, f'text-anchor="middle" {SMALL}'), text(8, 34, y_label, SMALL)]
    for power in up:
        y = place(low, 10.0**power)[1]
        parts += [line(60, y, 300, y, 'stroke="#ddd"'), text(56, y + 4, f"{10.0**power:g}", f'text-anchor="end" {SMALL}')]
    for x in ticks or [10.0**p for p in decades(low, high) if low <= 10.0**p <= high]:
        parts += [line(place(x, 1)[0], 40, place(x, 1)[0], 280, 'stroke="#eee"'), text(place(x, 1)[0], 296, f"{x:g}", f'text-anchor="middle" {SMALL}')]
    return parts, place


def scaling(title, series, x_label="ranks", y_label="ms"):
    """Milliseconds over ranks, or one figure over another; series: {name: [(x, y)]}."""
    points = [point for values in series.values() for point in values]
    if not points:
        return [title_of(title)]
    parts, place = log_axes(title, x_label, y_label, [p[0] for p in points], [p[1] for p in points], sorted({p[0] for p in points}))
    for s, (name, values) in enumerate(series.items()):
        colour = COLOURS[s % len(COLOURS)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in values))
        parts += [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>']
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in (place(*point) for point in values)]
        parts += [line(308, 52 + 18 * s, 326, 52 + 18 * s, f'stroke="{colour}" stroke-width="2"'), text(330, 56 + 18 * s, name, SMALL)]
    return parts


def roofs(title, network, peak, rows):
    """Rooflines. network: flop/s for each flop per byte; peak: 0 or flop/s; rows: (name, intensity, local roof, predicted rate, measured rate)."""
    xs = [row[1] for row in rows] + [row[2] / network for row in rows]
    ys = [value for row in rows for value in row[2:] if value] + ([peak] if peak else [])
    parts, place = log_axes(title, "flops for each byte between ranks", "GFLOP/s of a rank", xs, [y / 1e9 for y in ys])
    low, high, top = min(xs) / 1.15, max(xs) * 1.15, max(row[2] for row in rows)
    ridge = min(top / network, high)
    parts.append(line(*place(low, low * network / 1e9), *place(ridge, ridge * network / 1e9), 'stroke="#000" stroke-width="2"'))
    if peak:
        parts.append(line(*place(low, peak / 1e9), *place(high, peak / 1e9), 'stroke="#996633" stroke-width="2"'))
    for s, (name, at, roof, predicted, measured) in enumerate(rows):
        colour = COLOURS[s % len(COLOURS)]
        parts += [line(*place(low, roof / 1e9), *place(high, roof / 1e9), f'stroke="{colour}" stroke-dasharray="4 3"'),
                  line(*place(at, min(roof, at * network) / 1e9), place(at, 1)[0], 280, f'stroke="{colour}" stroke-width="1.5"')]
        for rate, fill in ((predicted, "none"), (measured, colour)):
            if rate:
                x, y = place(at, rate / 1e9)
                parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{fill}" stroke="{colour}"/>')
        parts += [line(308, 52 + 18 * s, 326, 52 + 18 * s, f'stroke="{colour}" stroke-width="2"'), text(330, 56 + 18 * s, name, SMALL)]
    return parts
