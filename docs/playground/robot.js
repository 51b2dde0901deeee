// SPDX-License-Identifier: Apache-2.0
// A robot drawn in three dimensions, as docs/playground and the report of a run show it.
"use strict";

/// Where the shapes of a recording are at a moment, in frames, between two of which they are in between: for each its
/// radius, its side and the ends of the line that its sphere is swept along, [ahead, left, up] in metres.
const shapes_at = ({radii, sides, frames}, moment) => {
    const before = Math.min(Math.floor(moment), frames.length - 1);
    const [{shapes}, next] = [frames[before], frames[Math.min(before + 1, frames.length - 1)].shapes];
    const ends = shapes.map((x, i) => x + (moment - before) * (next[i] - x));
    return radii.map((radius, i) => ({
        radius, side: sides[i], from: ends.slice(6 * i, 6 * i + 3), to: ends.slice(6 * i + 3, 6 * i + 6),
    }));
};
const middle_of = (shapes, axis) =>
    shapes.reduce((sum, {from, to}) => sum + from[axis] + to[axis], 0) / (2 * shapes.length);

/// Draws on a canvas the shapes that now() gives, and its words above them; the mouse and the arrow keys turn the camera,
/// which follows the robot. measure(shapes) sets how much is shown, from a robot as it stands at first.
const make_robot = ({canvas, colours, now}) => {

let [high, room] = [1, 1]; // m: of the robot at first, and what is shown
const camera = {turn: 0.5, height: 0.22}; // rad; without a turn it looks from the robot's right side

const measure = (shapes) => {
    const middle = [middle_of(shapes, 0), middle_of(shapes, 1)];
    const ends = shapes.flatMap(({radius, from, to}) => [[radius, from], [radius, to]]);
    high = Math.max(...ends.map(([radius, [, , z]]) => z + radius));
    const wide = 2 * Math.max(...ends.map(([radius, [x, y]]) => Math.hypot(x - middle[0], y - middle[1]) + radius));
    room = Math.max(1.45 * high, 1.25 * wide);
};

/// From metres (ahead, left, up) to [x, y, pixels a metre, depth], around a point that the camera follows.
const view = (target, width, height) => {
    const [sine, cosine, low, level] =
        [Math.sin(camera.turn), Math.cos(camera.turn), Math.sin(camera.height), Math.cos(camera.height)];
    const distance = 2.2 * room;
    const zoom = (Math.min(height, width) * distance) / room;
    return ([x, y, z]) => {
        const [a, b, c] = [x - target[0], y - target[1], z - target[2]];
        const across = cosine * a + sine * b;
        const depth = distance + level * (cosine * b - sine * a) - low * c;
        const up = low * (cosine * b - sine * a) + level * c;
        const scale = zoom / depth;
        return [width / 2 + scale * across, height / 2 - scale * up, scale, depth];
    };
};

const draw_floor = (c, project, target) => {
    const near = 0.3 * room;
    const edge = Math.ceil(3 * room);
    const [first_x, first_y] = [Math.floor(target[0]) - edge, Math.floor(target[1]) - edge];
    for (let x = first_x; x < first_x + 2 * edge; ++x)
        for (let y = first_y; y < first_y + 2 * edge; ++y) {
            const corners = [[x, y, 0], [x + 1, y, 0], [x + 1, y + 1, 0], [x, y + 1, 0]].map(project);
            const away = Math.hypot(x + 0.5 - target[0], y + 0.5 - target[1]) / edge;
            if ((x + y) % 2 !== 0 || away > 1 || corners.some(([, , , depth]) => depth < near))
                continue;
            c.globalAlpha = 0.75 * (1 - away);
            c.fillStyle = colours.line;
            c.beginPath();
            corners.forEach(([a, b]) => c.lineTo(a, b));
            c.fill();
        }
    c.globalAlpha = 1;
};

/// The outline of a sphere swept from one point to another, as it is seen: two circles and what is between them, all in one
/// direction, so that a fill of many is that of their union.
const outline = (c, [x1, y1, r1], [x2, y2, r2]) => {
    const along = Math.atan2(y2 - y1, x2 - x1);
    const [sine, cosine] = [Math.sin(along), Math.cos(along)];
    for (const [x, y, r] of [[x1, y1, r1], [x2, y2, r2]]) {
        c.moveTo(x + r, y);
        c.arc(x, y, r, 0, 2 * Math.PI);
    }
    c.moveTo(x1 - r1 * sine, y1 + r1 * cosine);
    c.lineTo(x1 + r1 * sine, y1 - r1 * cosine);
    c.lineTo(x2 + r2 * sine, y2 - r2 * cosine);
    c.lineTo(x2 - r2 * sine, y2 + r2 * cosine);
    c.closePath();
};
const sweep = (c, ends, fill) => {
    c.beginPath();
    outline(c, ...ends);
    c.fillStyle = fill;
    c.fill();
};

const draw = surface(canvas, (c, width, height) => {
    const {shapes, words} = now();
    const target = [middle_of(shapes, 0), middle_of(shapes, 1), 0.45 * high];
    const project = view(target, width, height);
    draw_floor(c, project, target);
    const seen = shapes.map(({radius, side, from, to}) => {
        const [a, b] = [project(from), project(to)];
        return {side, depth: a[3] + b[3], ends: [a, b].map(([x, y, scale]) => [x, y, radius * scale]),
            shadow: [from, to].map(([x, y]) => project([x, y, 0])).map(([x, y, scale]) => [x, y, 0.7 * radius * scale])};
    });
    c.globalAlpha = 0.3;
    c.beginPath();
    for (const {shadow} of seen)
        outline(c, ...shadow);
    c.fillStyle = "#000000";
    c.fill();
    c.globalAlpha = 1;
    for (const {ends, side} of seen.sort((a, b) => b.depth - a.depth)) {
        sweep(c, ends.map(([x, y, r]) => [x, y, r + 1.2]), colours.ink);
        sweep(c, ends, colours.orange);
        if (side === "left") { // the farther one when the camera looks from the right
            c.globalAlpha = 0.35;
            sweep(c, ends, "#000000");
        }
        c.globalAlpha = 0.3;
        sweep(c, ends.map(([x, y, r]) => [x - 0.25 * r, y - 0.3 * r, 0.4 * r]), "#ffffff");
        c.globalAlpha = 1;
    }
    c.fillStyle = colours.ink;
    c.textAlign = "left";
    c.textBaseline = "top";
    const fits = c.measureText(words.join("    ")).width < width - 20;
    for (const [i, part] of (fits ? [words] : [words.slice(0, 3), words.slice(3)]).entries())
        c.fillText(part.join("    "), 10, 8 + 18 * i);
});

const orbit = (turn, height) => {
    camera.turn += turn;
    camera.height = Math.min(1.5, Math.max(0.02, camera.height + height));
    draw();
};
canvas.addEventListener("pointerdown", (event) => canvas.setPointerCapture(event.pointerId));
canvas.addEventListener("pointermove", (event) => {
    if (canvas.hasPointerCapture(event.pointerId))
        orbit(-0.01 * event.movementX, 0.01 * event.movementY);
});
canvas.addEventListener("keydown", (event) => {
    const way = {ArrowLeft: [0.1, 0], ArrowRight: [-0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1]}[event.key];
    if (!way || event.ctrlKey || event.metaKey || event.altKey)
        return;
    event.preventDefault();
    event.stopPropagation(); // only the robot is meant
    orbit(...way);
});

return {measure, draw};
};
