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

/// Between two frames of numbers, where they are near each other.
const numbers_at = ({frames}, moment) => {
    const before = Math.min(Math.floor(moment), frames.length - 1);
    const [now, next] = [frames[before].numbers, frames[Math.min(before + 1, frames.length - 1)].numbers];
    return now.map((x, i) => x + (moment - before) * (next[i] - x));
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

const cart_pole_picture = (holder, episode) => {
    const describe = (moment) => {
        const [place, , angle] = numbers_at(episode, moment);
        return `cart at ${minus(place, 2)} m, pole leans by ${minus((angle * 180) / Math.PI, 1)}°`;
    };
    const draw = svg_in(holder, (picture, moment, width, height) => {
        const [place, , angle] = numbers_at(episode, moment);
        const scale = Math.min(width / 5.2, height / 1.8);
        const [x, y] = [width / 2 + scale * place, 0.78 * height];
        picture.append(svg("path", {d: `M${width / 2 - 2.4 * scale} ${y}H${width / 2 + 2.4 * scale}`, stroke: ink("line"), "stroke-width": 3}));
        for (const end of [-2.4, 2.4])
            picture.append(svg("path", {d: `M${width / 2 + end * scale} ${y - 8}v16`, stroke: ink("line"), "stroke-width": 3}));
        picture.append(svg("rect", {x: x - 0.22 * scale, y: y - 0.24 * scale, width: 0.44 * scale, height: 0.24 * scale, rx: 4, fill: ink("blue")}));
        picture.append(svg("path", {
            d: `M${x} ${y - 0.24 * scale}l${scale * Math.sin(angle)} ${-scale * Math.cos(angle)}`,
            stroke: ink("orange"), "stroke-width": Math.max(5, 0.07 * scale), "stroke-linecap": "round",
        }));
        picture.append(svg("text", {x: 10, y: 18}, describe(moment)));
    });
    return {hint: "It falls at 12°, or where the track ends.", show: (moment) => draw(moment, describe(moment)), describe};
};

const pendulum_picture = (holder, episode) => {
    const angle_at = (moment) => {
        const [cosine, sine] = numbers_at(episode, moment);
        return Math.atan2(sine, cosine);
    };
    const describe = (moment) => `the pendulum is ${minus((angle_at(moment) * 180) / Math.PI, 0)}° from upright, `
        + `and turns by ${minus(numbers_at(episode, moment)[2], 1)} rad/s`;
    const draw = svg_in(holder, (picture, moment, width, height) => {
        const angle = angle_at(moment), length = 0.36 * Math.min(width, height);
        const [x, y] = [width / 2, height / 2 + 8];
        picture.append(svg("circle", {cx: x, cy: y, r: length, fill: "none", stroke: ink("line"), "stroke-dasharray": "4 6"}));
        picture.append(svg("path", {
            d: `M${x} ${y}l${-length * Math.sin(angle)} ${-length * Math.cos(angle)}`,
            stroke: ink("orange"), "stroke-width": 14, "stroke-linecap": "round",
        }));
        picture.append(svg("circle", {cx: x, cy: y, r: 5, fill: ink("ink")}));
        picture.append(svg("text", {x: 10, y: 18}, describe(moment)));
    });
    return {hint: "It is to be held upright.", show: (moment) => draw(moment, describe(moment)), describe};
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
    robot: robot_picture, cart_pole: cart_pole_picture, pendulum: pendulum_picture, cells: cells_picture, grey: grey_picture,
    numbers: numbers_picture,
};
