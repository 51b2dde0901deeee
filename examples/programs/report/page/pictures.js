// SPDX-License-Identifier: Apache-2.0
// Pictures of an environment at a moment of an episode. Each kind is a function of the element that holds the picture and of
// the episode; it gives show(moment), in frames, and describe(moment), the same in words.
"use strict";

const minus = (number, digits) => number.toFixed(digits).replace("-", "−");
const frame_at = (episode, moment) => episode.frames[Math.min(Math.floor(moment), episode.frames.length - 1)];
/// What the canvases draw with, which know no variables of the style sheet.
const colours = {};
const read_colours = () => {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["paper", "panel", "ink", "faint", "line", "blue", "orange", "green", "truth"])
        colours[name] = style.getPropertyValue(`--${name}`).trim();
};

const canvas_in = (holder) => {
    const canvas = document.createElement("canvas");
    canvas.setAttribute("role", "img");
    holder.replaceChildren(canvas);
    return canvas;
};
/// An SVG that is drawn anew at each moment.
const svg_in = (holder, draw) => {
    const picture = svg("svg", {role: "img"});
    holder.replaceChildren(picture);
    return (moment, words) => {
        const [width, height] = [holder.clientWidth || 300, holder.clientHeight || 300];
        picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
        picture.setAttribute("aria-label", words);
        picture.replaceChildren();
        draw(picture, moment, width, height);
    };
};

const robot_picture = (holder, episode) => {
    const canvas = canvas_in(holder);
    canvas.tabIndex = 0;
    let moment = 0;
    const words = (shapes) => {
        const frame = frame_at(episode, moment);
        return [`${minus(moment * episode.seconds, 2)} s`, `${minus(middle_of(shapes, 0), 2)} m`,
            `reward ${minus(frame.reward, 2)}`, `so far ${minus(frame.earned, 0)}`];
    };
    const now = () => {
        const shapes = shapes_at(episode, moment);
        return {shapes, words: words(shapes)};
    };
    const robot = make_robot({canvas, colours, now});
    robot.measure(shapes_at(episode, 0));
    return {
        hint: "Drag to look from elsewhere, or use the arrow keys. Squares of the floor are a metre wide.",
        show: (to) => {
            moment = to;
            canvas.setAttribute("aria-label", `The robot: ${now().words.join(", ")}`);
            robot.draw();
        },
        describe: (to) => `the robot is at ${minus(middle_of(shapes_at(episode, to), 0), 1)} metres`,
    };
};

/// What an environment draws of itself (gmac::drawing): lines in a window.
const line_inks = ["faint", "blue", "orange", "green", "purple"];
const lines_picture = (holder, episode) => {
    const [low, high, bottom, top] = episode.window;
    const describe = (moment) => `the environment's own drawing of step ${frame_at(episode, moment).step}`;
    const draw = svg_in(holder, (picture, moment, width, height) => {
        const scale = Math.min(width / (high - low), height / (top - bottom));
        const x = (at) => width / 2 + scale * (at - (low + high) / 2);
        const y = (at) => height / 2 - scale * (at - (bottom + top) / 2);
        for (const {colour, places} of frame_at(episode, moment).lines) {
            const line = [];
            for (let i = 0; i < places.length; i += 2)
                line.push(`${x(places[i]).toFixed(1)} ${y(places[i + 1]).toFixed(1)}`);
            const one = line.length === 1; // a dot
            picture.append(svg("path", {
                d: `M${line.join("L")}${one ? "h0" : ""}`, fill: "none", stroke: ink(line_inks[colour] ?? "ink"),
                "stroke-width": one ? 14 : colour === 0 ? 2 : 5, "stroke-linecap": "round", "stroke-linejoin": "round",
            }));
        }
    });
    return {hint: "As the environment draws itself.", show: (moment) => draw(moment, describe(moment)), describe};
};

/// The colours of examples/environments/minatar/picture.hpp: a channel each, the later one is seen.
const cell_colours = ["#e69f00", "#ffffff", "#5a6e8c", "#0072b2", "#56b4e9", "#cc79a7", "#009e73", "#f0e442", "#d55e00", "#96dcb4"];
const cells_picture = (holder, episode) => {
    const canvas = canvas_in(holder);
    let moment = 0;
    const draw = surface(canvas, (c, width, height) => {
        const {cells} = frame_at(episode, moment);
        const side = Math.round(Math.sqrt(cells.length));
        const size = Math.floor(Math.min(width, height) / side);
        const [left, top] = [(width - side * size) / 2, (height - side * size) / 2];
        c.fillStyle = "#14141c";
        c.fillRect(left, top, side * size, side * size);
        [...cells].forEach((cell, i) => {
            if (cell === ".")
                return;
            c.fillStyle = cell_colours[Number.parseInt(cell, 10)];
            c.fillRect(left + (i % side) * size + 1, top + Math.floor(i / side) * size + 1, size - 2, size - 2);
        });
    });
    const describe = (to) => {
        const {cells} = frame_at(episode, to);
        return `${[...cells].filter((cell) => cell !== ".").length} of ${cells.length} cells are taken`;
    };
    return {
        hint: "A colour for each channel of the observation; where two share a cell the later one is seen.",
        show: (to) => {
            moment = to;
            canvas.setAttribute("aria-label", `The game: ${describe(to)}`);
            draw();
        },
        describe,
    };
};

/// The greys of a screen, [0, 15], from runs of equal pixels: a byte each, 16 (length − 1) + grey.
const read_runs = (text) => {
    const greys = [];
    for (const letter of atob(text)) {
        const byte = letter.charCodeAt(0);
        for (let i = 0; i <= byte >> 4; ++i)
            greys.push(byte & 15);
    }
    return greys;
};
const grey_picture = (holder, episode) => {
    const canvas = canvas_in(holder);
    const {wide, high} = episode;
    const screen = new OffscreenCanvas(wide, high);
    const inside = screen.getContext("2d");
    let moment = 0;
    const draw = surface(canvas, (c, width, height) => {
        const image = inside.createImageData(wide, high);
        read_runs(frame_at(episode, moment).grey).slice(0, wide * high)
            .forEach((grey, i) => image.data.set([17 * grey, 17 * grey, 17 * grey, 255], 4 * i));
        inside.putImageData(image, 0, 0);
        const scale = Math.min(width / wide, height / high);
        c.imageSmoothingEnabled = false;
        c.drawImage(screen, (width - scale * wide) / 2, (height - scale * high) / 2, scale * wide, scale * high);
    });
    return {
        hint: "The newest screen that the network sees, in 16 greys.",
        show: (to) => {
            moment = to;
            canvas.setAttribute("aria-label", `The screen of the game at step ${frame_at(episode, to).step}`);
            draw();
        },
        describe: () => "the screen of the game",
    };
};

/// Any environment: its observation, number by number.
const numbers_picture = (holder, episode) => {
    const most = 24;
    const count = Math.min(most, episode.frames[0].numbers.length);
    const ranges = Array.from({length: count}, (_, k) => range_of(episode.frames.map(({numbers}) => numbers[k])) ?? [0, 1]);
    const describe = (moment) => `observation ${frame_at(episode, moment).numbers.slice(0, 6).map((x) => readable(x, 3)).join(", ")}`
        + `${episode.frames[0].numbers.length > 6 ? ", …" : ""}`;
    const draw = svg_in(holder, (picture, moment, width, height) => {
        const high = Math.min(26, (height - 8) / count);
        const [left, right] = [30, width - 64];
        frame_at(episode, moment).numbers.slice(0, count).forEach((x, k) => {
            const [low, top] = ranges[k];
            const place = (value) => left + ((right - left) * (value - low)) / (top - low);
            const y = 4 + k * high;
            const zero = place(Math.min(top, Math.max(low, 0)));
            if (high >= 10)
                picture.append(svg("text", {x: left - 6, y: y + 0.7 * high, "text-anchor": "end"}, String(k + 1)));
            picture.append(svg("rect", {x: left, y: y + 0.15 * high, width: right - left, height: 0.7 * high, fill: ink("line"), opacity: 0.4}));
            picture.append(svg("rect", {
                x: Math.min(zero, place(x)), y: y + 0.15 * high, width: Math.max(1.5, Math.abs(place(x) - zero)), height: 0.7 * high, fill: ink("blue"),
            }));
            if (high >= 10)
                picture.append(svg("text", {x: right + 6, y: y + 0.7 * high}, readable(x, 3)));
        });
    });
    const more = episode.frames[0].numbers.length - count;
    return {
        hint: `The numbers of the observation, each over its range in this episode${more > 0 ? `; ${more} more are not shown` : ""}.`,
        show: (moment) => draw(moment, describe(moment)),
        describe,
    };
};

const pictures = {
    robot: robot_picture, lines: lines_picture, cells: cells_picture, grey: grey_picture, numbers: numbers_picture,
};
