"""Horizontal bars as SVG, light and dark alike; for figures.py. No library draws this better."""

from xml.sax.saxutils import escape

COLOURS = ("#4878a8", "#d9843b", "#5c9e5c", "#b65a5a", "#8a6fb0", "#8c8c8c")
WIDTH, LABEL, BAR, GAP = 760, 250, 22, 10


def shown(value):
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def bars(title, unit, rows):
    """rows: (label, {part: value}). Parts stand behind each other in one bar, named in a legend."""
    parts = list(dict.fromkeys(part for _, values in rows for part in values))
    colours = {part: COLOURS[i % len(COLOURS)] for i, part in enumerate(parts)}
    has_legend = len(parts) > 1
    most = max([sum(values.values()) for _, values in rows] + [1e-9])
    scale = (WIDTH - LABEL - 100) / most
    top = 62 if has_legend else 40
    height = top + len(rows) * (BAR + GAP) + 10
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
           f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13" role="img">',
           f"<title>{escape(title)}</title>",
           f'<rect width="{WIDTH}" height="{height}" fill="#ffffff" rx="6"/>',
           f'<text x="12" y="24" font-size="15" font-weight="bold" fill="#222">{escape(title)} '
           f'<tspan font-weight="normal" fill="#666">{escape(unit)}</tspan></text>']
    if has_legend:
        x = 12
        for part in parts:
            out.append(f'<rect x="{x}" y="38" width="12" height="12" fill="{colours[part]}"/>'
                       f'<text x="{x + 17}" y="49" fill="#444">{escape(part)}</text>')
            x += 40 + 8 * len(part)
    for i, (label, values) in enumerate(rows):
        y = top + i * (BAR + GAP)
        out.append(f'<text x="{LABEL - 8}" y="{y + 16}" text-anchor="end" fill="#222">'
                   f"{escape(label)}</text>")
        x = float(LABEL)
        for part, value in values.items():
            out.append(f'<rect x="{x:.1f}" y="{y}" width="{max(value * scale, 0):.1f}" '
                       f'height="{BAR}" fill="{colours[part]}"/>')
            x += value * scale
        out.append(f'<text x="{x + 6:.1f}" y="{y + 16}" fill="#444">'
                   f"{shown(sum(values.values()))}</text>")
    return "\n".join(out + ["</svg>"]) + "\n"
