# SPDX-License-Identifier: Apache-2.0
"""Pictures as SVG, the same bytes wherever they are drawn: bars of speed-ups, and lines over logarithmic axes."""
import html
import math

FONT = 'font-family="sans-serif" font-size="13"'
COLOURS = ("#1f6fb4", "#d9822b", "#5a9e4b", "#888888")
FASTER, SLOWER = COLOURS[0], "#c0504d"


def text(x, y, words, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{html.escape(words)}</text>'


def line(x, y, x2, y2, more='stroke="#999"'):
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {more}/>'


def svg(width, height, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" {FONT}>\n'
            f'<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")


def bars(title, rows):
    """For each row (label, mean, worst, best, words) a bar from 0 to the mean, with a thin line from the worst case to the best,
    as far as they fit; at the dashed line both are equally fast."""
    left, width, step, top = 210, 360, 30, 56
    most = max(1.0, max(row[1] for row in rows)) * 1.15
    height = top + step * len(rows) + 16

    def at(value):
        return left + width * min(value, most) / most
    parts = [text(12, 22, title, 'font-weight="bold"'),
             text(at(1), top - 8, "1: as fast", 'text-anchor="middle" fill="#666" font-size="11"')]
    for i, (label, mean, worst, best, words) in enumerate(rows):
        y = top + step * i
        parts += [text(left - 10, y + 18, label, 'text-anchor="end"'),
                  f'<rect x="{left}" y="{y + 4}" width="{at(mean) - left:.1f}" height="{step - 10}" fill="{FASTER if mean >= 1 else SLOWER}"/>',
                  line(at(worst), y + 14, at(best), y + 14, 'stroke="#222"'), line(at(worst), y + 10, at(worst), y + 18, 'stroke="#222"'),
                  text(left + width + 12, y + 18, words)]
        if best <= most:
            parts.append(line(at(best), y + 10, at(best), y + 18, 'stroke="#222"'))
    parts.append(line(at(1), top - 4, at(1), height - 12, 'stroke="#666" stroke-dasharray="4 3"'))
    return svg(960, height, parts)


def decades(low, high):
    return range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)


def panel(x0, y0, width, height, title, x_label, y_label, series):
    """A chart of series (name, points); both axes have a line for each power of ten."""
    xs, ys = zip(*(point for _, points in series for point in points))
    across, up = decades(min(xs), max(xs)), decades(min(ys), max(ys))

    def place(x, y):
        return (x0 + width * (math.log10(x) - across[0]) / (across[-1] - across[0]),
                y0 + height - height * (math.log10(y) - up[0]) / (up[-1] - up[0]))
    parts = [text(x0 - 40, y0 - 12, f"{title}; {y_label}", 'font-weight="bold" font-size="12"'),
             text(x0 + width / 2, y0 + height + 34, x_label, 'text-anchor="middle"')]
    for power in across:
        x, _ = place(10.0**power, 10.0**up[0])
        parts += [line(x, y0, x, y0 + height, 'stroke="#ddd"'), text(x, y0 + height + 16, f"1e{power}", 'text-anchor="middle" font-size="11"')]
    for power in up:
        _, y = place(10.0**across[0], 10.0**power)
        parts += [line(x0, y, x0 + width, y, 'stroke="#ddd"'), text(x0 - 6, y + 4, f"1e{power}", 'text-anchor="end" font-size="11"')]
    for i, (name, points) in enumerate(series):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in points))
        dashed = ' stroke-dasharray="5 4"' if len(points) == 2 else ""
        parts += [f'<polyline points="{path}" fill="none" stroke="{COLOURS[i]}" stroke-width="2"{dashed}/>',
                  line(x0 + 10, y0 + 14 + 18 * i, x0 + 34, y0 + 14 + 18 * i, f'stroke="{COLOURS[i]}" stroke-width="2"{dashed}'),
                  text(x0 + 40, y0 + 18 + 18 * i, name)]
    return parts


def grid(panels):
    """Panels (title, x_label, y_label, series), two in a row."""
    rows, parts = (len(panels) + 1) // 2, []
    for i, each in enumerate(panels):
        parts += panel(80 + 480 * (i % 2), 40 + 330 * (i // 2), 370, 240, *each)
    return svg(960, 340 * rows, parts)
