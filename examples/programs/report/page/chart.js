// SPDX-License-Identifier: Apache-2.0
// Charts as SVG. Each function fills a box, an element with a size, and draws anew when the size changes; colours are
// names of variables of the style sheet, so that light and dark need no drawing.
"use strict";

/// An SVG element with attributes and children.
const svg = (tag, attributes = {}, ...children) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes))
        if (value !== undefined)
            element.setAttribute(name, value);
    element.append(...children);
    return element;
};
const ink = (name) => `var(--${name})`;

/// A number to read: four digits, a true minus, thousands as k and millions as M where it is long.
const readable = (x, digits = 4) => {
    if (x === null || x === undefined || !Number.isFinite(x))
        return "–";
    const size = Math.abs(x);
    if (size > 0 && size < 1e-3)
        return x.toExponential(Math.max(0, digits - 3)).replace(/\.0+e/, "e").replaceAll("-", "−");
    for (const [unit, letter] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]])
        if (size >= unit) {
            const scale = letter === "k" ? 1e3 : unit;
            return `${Number((x / scale).toPrecision(digits))}${letter}`.replace("-", "−");
        }
    return String(Number(x.toPrecision(digits))).replace("-", "−");
};

/// A count to read, with all its digits.
const whole = (n) => (is_number(n) ? n.toLocaleString("en-US") : "–");

/// About as many round numbers as asked for, between two others.
const ticks_between = (low, high, count) => {
    const rough = (high - low) / Math.max(1, count);
    const power = 10 ** Math.floor(Math.log10(rough));
    const far = (k) => Math.abs(Math.log((k * power) / rough));
    const step = power * [1, 2, 5, 10].reduce((best, k) => (far(k) < far(best) ? k : best));
    const ticks = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i)
        ticks.push(i * step);
    return ticks;
};

const is_number = (x) => typeof x === "number" && Number.isFinite(x);
/// The least and the greatest number of lists, a little apart if they are the same; null without a number.
const range_of = (...lists) => {
    let [low, high] = [Infinity, -Infinity];
    for (const list of lists)
        for (const x of list ?? [])
            if (is_number(x))
                [low, high] = [Math.min(low, x), Math.max(high, x)];
    if (low > high)
        return null;
    return low < high ? [low, high] : [low - (Math.abs(low) || 1) * 0.5, high + (Math.abs(high) || 1) * 0.5];
};
const wider = ([low, high], part) => [low - part * (high - low), high + part * (high - low)];

const drawings = new WeakMap(); // of boxes
const resized = new ResizeObserver((entries) => {
    for (const {target} of entries)
        drawings.get(target)?.();
});
/// draw(width, height) gives what is in the SVG; `label` says it to those who do not see it.
const chart = (box, label, draw) => {
    const again = () => {
        const [width, height] = [box.clientWidth, box.clientHeight];
        if (width === 0)
            return;
        const focused = box.contains(document.activeElement);
        const picture = svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label});
        draw(picture, width, height);
        box.replaceChildren(picture);
        if (focused)
            picture.focus();
    };
    drawings.set(box, again);
    resized.observe(box);
    again();
};

/// Axes of ranges, with their numbers; gives the functions from numbers to places.
const axes_in = (picture, width, height, {x_range, y_range, x_name = "", y_name = "", y_ticks = true, format = readable}) => {
    const y_values = y_ticks ? ticks_between(...y_range, Math.max(2, height / 50)) : [];
    const y_texts = y_values.map((value) => format(value));
    const left = y_ticks ? 14 + 7 * Math.max(1, ...y_texts.map((text) => text.length)) : 8;
    const [right, top, bottom] = [width - 12, y_name ? 22 : 10, height - (x_name ? 38 : 22)];
    const x = (value) => left + ((right - left) * (value - x_range[0])) / (x_range[1] - x_range[0]);
    const y = (value) => bottom - ((bottom - top) * (value - y_range[0])) / (y_range[1] - y_range[0]);
    y_values.forEach((value, i) => {
        picture.append(svg("path", {class: "axis", d: `M${left} ${y(value)}H${right}`}));
        picture.append(svg("text", {x: left - 6, y: y(value) + 4, "text-anchor": "end"}, y_texts[i]));
    });
    picture.append(svg("path", {class: "axis", d: `M${left} ${bottom}H${right}`}));
    for (const value of ticks_between(...x_range, Math.max(2, (right - left) / 90))) {
        picture.append(svg("path", {class: "axis", d: `M${x(value)} ${bottom}v4`}));
        picture.append(svg("text", {x: x(value), y: bottom + 17, "text-anchor": "middle"}, format(value)));
    }
    if (x_name)
        picture.append(svg("text", {x: (left + right) / 2, y: height - 5, "text-anchor": "middle"}, x_name));
    if (y_name)
        picture.append(svg("text", {x: 2, y: 12}, y_name));
    return {x, y, left, right, top, bottom};
};

/// The path through numbers, broken where there is none; a number between two gaps is a short stroke.
const path_of = (place, xs, ys) => {
    let path = "";
    ys.forEach((value, i) => {
        if (!is_number(value) || !is_number(xs[i]))
            return;
        const goes_on = i > 0 && is_number(ys[i - 1]) && is_number(xs[i - 1]);
        path += `${goes_on ? "L" : "M"}${place.x(xs[i]).toFixed(1)} ${place.y(value).toFixed(1)}`;
        if (!goes_on && !is_number(ys[i + 1]))
            path += "h1";
    });
    return path;
};
const band_of = (place, xs, lows, highs) => {
    let path = "", there = [], back = [];
    const close = () => {
        if (there.length > 0)
            path += `M${there.join("L")}L${back.reverse().join("L")}Z`;
        [there, back] = [[], []];
    };
    xs.forEach((x, i) => {
        if (!is_number(x) || !is_number(lows[i]) || !is_number(highs[i]))
            return close();
        there.push(`${place.x(x).toFixed(1)} ${place.y(highs[i]).toFixed(1)}`);
        back.push(`${place.x(x).toFixed(1)} ${place.y(lows[i]).toFixed(1)}`);
    });
    close();
    return path;
};

/// Tells of the place under the pointer, or of the one that the arrow keys go to: tell(i) → text of place i of `xs`.
const add_reader = (picture, place, xs, tell) => {
    const known = xs.map((x, i) => [x, i]).filter(([x]) => is_number(x));
    if (known.length === 0)
        return;
    picture.setAttribute("tabindex", "0");
    const mark = svg("path", {stroke: ink("faint"), "stroke-dasharray": "3 3", visibility: "hidden"});
    const text = svg("text", {class: "told", y: place.top + 10, "text-anchor": "end", x: place.right, visibility: "hidden"});
    picture.append(mark, text);
    let at = known.length - 1;
    const show = (said) => {
        const [x, i] = known[at];
        mark.setAttribute("d", `M${place.x(x)} ${place.top}V${place.bottom}`);
        text.textContent = tell(i);
        for (const one of [mark, text])
            one.setAttribute("visibility", "visible");
        if (said)
            document.getElementById("news").textContent = text.textContent;
    };
    const hide = () => [mark, text].forEach((one) => one.setAttribute("visibility", "hidden"));
    picture.addEventListener("pointermove", (event) => {
        const {left, width} = picture.getBoundingClientRect();
        const pointer = ((event.clientX - left) * picture.viewBox.baseVal.width) / width;
        const away = known.map(([x]) => Math.abs(place.x(x) - pointer));
        at = away.indexOf(Math.min(...away));
        show(false);
    });
    picture.addEventListener("pointerleave", hide);
    picture.addEventListener("blur", hide);
    picture.addEventListener("keydown", (event) => {
        const way = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity}[event.key];
        if (way === undefined || event.ctrlKey || event.metaKey || event.altKey)
            return;
        event.preventDefault();
        at = Math.min(known.length - 1, Math.max(0, at + way));
        show(true);
    });
};

/// Curves over one axis. series: [{name, x, y, low?, high?, colour, dashes?, marks?}], lists of numbers or nulls, a band from
/// low to high; dots: [{x, y, colour}], clouds of points; levels: [{value, name, colour}], horizontal lines;
/// marker: {x, colour}, a vertical one where x() says, which the SVG's move_marker() looks at again. y_range? is found otherwise.
const line_chart = (box, {label, series, dots = [], levels = [], marker, x_name = "", y_name = "", y_range}) => {
    const x_range = range_of(...series.map(({x}) => x), ...dots.map(({x}) => x));
    const y_found = y_range ?? range_of(...series.flatMap(({y, low, high}) => [y, low, high]), ...dots.map(({y}) => y),
        levels.map(({value}) => value));
    if (!x_range || !y_found)
        return box.replaceChildren(no_numbers());
    const last = series.map(({name, y}) => `${name ? `${name}: ` : ""}last ${readable(y.filter(is_number).at(-1))}`).join("; ");
    chart(box, `${label}. ${last}`, (picture, width, height) => {
        const place = axes_in(picture, width, height, {x_range, y_range: y_range ?? wider(y_found, 0.05), x_name, y_name});
        for (const {x, y, colour} of dots)
            picture.append(svg("path", {
                d: x.map((at, i) => (is_number(at) && is_number(y[i]) ? `M${place.x(at).toFixed(1)} ${place.y(y[i]).toFixed(1)}h0` : "")).join(""),
                stroke: ink(colour), "stroke-width": 3, "stroke-linecap": "round", opacity: x.length > 500 ? 0.5 : 0.7,
            }));
        for (const {value, name, colour = "truth"} of levels) {
            picture.append(svg("path", {d: `M${place.left} ${place.y(value)}H${place.right}`, stroke: ink(colour), "stroke-width": 1.5, "stroke-dasharray": "6 4"}));
        }
        for (const {x, low, high, colour} of series)
            if (low && high)
                picture.append(svg("path", {d: band_of(place, x, low, high), fill: ink(colour), opacity: 0.22}));
        for (const {x, y, colour, dashes, marks} of series) {
            picture.append(svg("path", {d: path_of(place, x, y), stroke: ink(colour), "stroke-width": 2, fill: "none", "stroke-linejoin": "round", "stroke-dasharray": dashes}));
            if (marks)
                x.forEach((at, i) => is_number(at) && is_number(y[i]) &&
                    picture.append(svg("circle", {cx: place.x(at), cy: place.y(y[i]), r: 3.5, fill: ink(colour)})));
        }
        for (const {value, name} of levels) // over the curves
            picture.append(svg("text", {class: "level", x: place.right, y: place.y(value) - 5, "text-anchor": "end"}, name ?? ""));
        if (marker) {
            const line = svg("path", {class: "marker", stroke: ink(marker.colour), "stroke-width": 2});
            picture.append(line);
            picture.move_marker = () => line.setAttribute("d", `M${place.x(marker.x())} ${place.top}V${place.bottom}`);
            picture.move_marker();
        }
        const [first] = series.length > 0 ? series : dots;
        add_reader(picture, place, first.x, (i) => [`${x_name} ${readable(first.x[i])}`.trim(), ...series.map(({name, x, y, low, high}) => {
            const at = x === first.x ? i : x.findLastIndex((value) => value <= first.x[i]);
            const band = low && is_number(low[at]) ? ` (${readable(low[at], 3)} to ${readable(high[at], 3)})` : "";
            return `${name ? `${name} ` : ""}${readable(y[at])}${band}`;
        })].join(", "));
    });
};

const no_numbers = () => {
    const note = document.createElement("p");
    note.className = "hint";
    note.textContent = "There is no number yet.";
    return note;
};

/// Bars of shares side by side over [0, 1], and the level that all would have if they were even.
const bar_chart = (box, {label, shares, level, x_name = "", y_name = ""}) => {
    chart(box, label, (picture, width, height) => {
        const top = 1.1 * Math.max(level, ...shares.filter(is_number));
        const place = axes_in(picture, width, height, {x_range: [0, 1], y_range: [0, top], x_name, y_name});
        shares.forEach((share, i) => is_number(share) && picture.append(svg("rect", {
            x: place.x(i / shares.length) + 1, width: Math.max(1, place.x(1 / shares.length) - place.x(0) - 2),
            y: place.y(share), height: place.bottom - place.y(share), fill: ink("blue"), opacity: 0.75,
        })));
        picture.append(svg("path", {d: `M${place.left} ${place.y(level)}H${place.right}`, stroke: ink("orange"), "stroke-width": 2, "stroke-dasharray": "6 4"}));
        add_reader(picture, place, shares.map((_, i) => (i + 0.5) / shares.length), (i) =>
            `${readable(i / shares.length)} to ${readable((i + 1) / shares.length)}: ${readable(100 * shares[i], 3)} %`);
    });
};

/// How often something came true that was predicted with a probability, both in [0, 1], beside the diagonal.
const reliability_chart = (box, {label, predicted, came, low, high, x_name = "", y_name = ""}) => {
    chart(box, label, (picture, width, height) => {
        const place = axes_in(picture, width, height, {x_range: [0, 1], y_range: [0, 1], x_name, y_name});
        picture.append(svg("path", {d: `M${place.x(0)} ${place.y(0)}L${place.x(1)} ${place.y(1)}`, stroke: ink("truth"), "stroke-width": 1.5, "stroke-dasharray": "6 4"}));
        if (low && high)
            picture.append(svg("path", {d: band_of(place, predicted, low, high), fill: ink("blue"), opacity: 0.22}));
        picture.append(svg("path", {d: path_of(place, predicted, came), stroke: ink("blue"), "stroke-width": 2, fill: "none"}));
        predicted.forEach((p, i) => is_number(came[i]) && picture.append(svg("circle", {cx: place.x(p), cy: place.y(came[i]), r: 3.5, fill: ink("blue")})));
        add_reader(picture, place, predicted, (i) => `predicted ${readable(p_percent(predicted[i]), 3)} %, came ${readable(p_percent(came[i]), 3)} %`);
    });
};
const p_percent = (share) => (is_number(share) ? 100 * share : null);

/// A density at even places of a range, its mean, and the number that came. points: [[place, weight]] of a distribution that
/// has no density.
const density_chart = (box, {label, range, heights, top, mean, came, points = [], x_name = ""}) => {
    chart(box, label, (picture, width, height) => {
        const place = axes_in(picture, width, height, {x_range: range, y_range: [0, top], x_name, y_ticks: false});
        const xs = heights.map((_, i) => range[0] + ((range[1] - range[0]) * i) / (heights.length - 1));
        const cut = heights.map((y) => Math.min(top, y));
        picture.append(svg("path", {class: "density", d: band_of(place, xs, xs.map(() => 0), cut), fill: ink("blue"), opacity: 0.25}));
        if (heights.length > 0)
            picture.append(svg("path", {d: path_of(place, xs, cut), stroke: ink("blue"), "stroke-width": 2, fill: "none"}));
        for (const [at, weight] of points)
            picture.append(svg("path", {d: `M${place.x(at)} ${place.bottom}V${place.bottom - (place.bottom - place.top) * weight * 0.95}`, stroke: ink("blue"), "stroke-width": 3}));
        const upright = (at, colour, dashes) => is_number(at) && picture.append(svg("path", {
            d: `M${place.x(at)} ${place.top}V${place.bottom}`, stroke: ink(colour), "stroke-width": 2.5, "stroke-dasharray": dashes}));
        upright(came, "green", "6 4");
        upright(mean, "orange");
    });
};

/// One bar of parts that add up, with a line of words for each. parts: [{name, value, colour}]
const share_chart = (box, {label, parts}) => {
    const total = parts.reduce((sum, {value}) => sum + value, 0);
    if (!(total > 0))
        return box.replaceChildren(no_numbers());
    const told = parts.map(({name, value}) => `${name} ${readable((100 * value) / total, 3)} %`);
    chart(box, `${label}: ${told.join(", ")}`, (picture, width) => {
        let from = 0;
        parts.forEach(({value, colour}, i) => {
            const part = ((width - 4) * value) / total;
            picture.append(svg("rect", {x: 2 + from, y: 8, width: Math.max(0, part - 1), height: 34, fill: ink(colour)}));
            from += part;
            picture.append(svg("rect", {x: 2, y: 62 + 26 * i, width: 14, height: 14, rx: 3, fill: ink(colour)}));
            picture.append(svg("text", {x: 24, y: 74 + 26 * i}, told[i]));
        });
    });
};
