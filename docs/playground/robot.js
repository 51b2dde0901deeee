// SPDX-License-Identifier: Apache-2.0
// An episode of a robot, as gmac-play --json records it, drawn in three dimensions beside what the agent expects.
"use strict";

const make_replay = ({by_id, surface, axes, area, line, round_up, colours}) => {

/// Throws an error that says what is wrong with a text that is no recording.
const read_recording = (text) => {
    let all = null;
    try {
        all = JSON.parse(text);
    } catch {
        throw new Error("it is not JSON");
    }
    const need = (fits, sentence) => {
        if (!fits)
            throw new Error(sentence);
    };
    const numbers = (list, count) => Array.isArray(list) && list.length === count && list.every(Number.isFinite);
    need(all && all.format === "gmac-episode-1", 'it has no "format": "gmac-episode-1", which gmac-play --json writes');
    need(typeof all.title === "string", '"title" must be a text');
    need(Number.isFinite(all.seconds) && all.seconds > 0, '"seconds" must be a positive number');
    need(Array.isArray(all.radii) && all.radii.length > 0 && all.radii.every((r) => Number.isFinite(r) && r > 0),
        '"radii" must be a list of positive numbers');
    need(Array.isArray(all.sides) && all.sides.length === all.radii.length,
        `"sides" must be a list of ${all.radii.length} texts, as many as there are radii`);
    need(numbers(all.range, 2) && all.range[0] < all.range[1], '"range" must be two numbers, the lower one first');
    need(Array.isArray(all.frames) && all.frames.length > 0, '"frames" must be a list of one frame or more');
    const places = all.frames[0]?.density?.length;
    all.frames.forEach((one, i) => {
        need(numbers(one?.shapes, 6 * all.radii.length),
            `"shapes" of frame ${i} must be ${6 * all.radii.length} numbers, six for each radius`);
        need(places > 1 && numbers(one.density, places),
            `"density" of frame ${i} must be numbers, at least two and as many as in frame 0`);
        for (const name of ["speed", "reward", "earned", "followed", "mean"])
            need(Number.isFinite(one[name]), `"${name}" of frame ${i} must be a number`);
    });
    return all;
};

let recording = read_recording(by_id("recording").textContent);
let moment = 0; // in frames, between two of which the shapes are in between
let playing = !window.matchMedia("(prefers-reduced-motion: reduce)").matches;
let in_sight = false;
let [high, room] = [1, 1]; // m: of the robot at first, and what is shown
let top_density = 1;
const camera = {turn: 0.5, height: 0.22}; // rad; without a turn it looks from the robot's right side

const measure = () => {
    moment = 0;
    const {shapes} = now();
    const middle = [middle_of(shapes, 0), middle_of(shapes, 1)];
    const ends = shapes.flatMap(({radius, from, to}) => [[radius, from], [radius, to]]);
    high = Math.max(...ends.map(([radius, [, , z]]) => z + radius));
    const wide = 2 * Math.max(...ends.map(([radius, [x, y]]) => Math.hypot(x - middle[0], y - middle[1]) + radius));
    room = Math.max(1.45 * high, 1.25 * wide);
    // One scale for all, of which a few peaks may leave the picture.
    const heights = recording.frames.map(({density}) => Math.max(...density)).sort((a, b) => a - b);
    top_density = 1.1 * Math.min(heights.at(-1), 3 * heights[heights.length >> 1]) || 1;
};

const shown = (number, digits) => number.toFixed(digits).replace("-", "−");

/// The ends of the shapes now, and the numbers of the frame.
const now = () => {
    const before = Math.min(Math.floor(moment), recording.frames.length - 1);
    const frame = recording.frames[before];
    const next = recording.frames[Math.min(before + 1, recording.frames.length - 1)];
    const part = moment - before;
    const ends = frame.shapes.map((x, i) => x + part * (next.shapes[i] - x));
    return {frame, shapes: recording.radii.map((radius, i) => ({
        radius, side: recording.sides[i], from: ends.slice(6 * i, 6 * i + 3), to: ends.slice(6 * i + 3, 6 * i + 6),
    }))};
};
const middle_of = (shapes, axis) =>
    shapes.reduce((sum, {from, to}) => sum + from[axis] + to[axis], 0) / (2 * shapes.length);

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

const draw_robot = surface(by_id("robot"), (c, width, height) => {
    const {frame, shapes} = now();
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
    const words = [`${shown(moment * recording.seconds, 2)} s`, `${shown(target[0], 2)} m`, `${shown(frame.speed, 1)} m/s`,
        `reward ${shown(frame.reward, 2)}`, `so far ${shown(frame.earned, 0)}`];
    const fits = c.measureText(words.join("    ")).width < width - 20;
    for (const [i, part] of (fits ? [words] : [words.slice(0, 3), words.slice(3)]).entries())
        c.fillText(part.join("    "), 10, 8 + 18 * i);
});

const draw_density = surface(by_id("robot-density"), (c, width, height) => {
    const {frame} = now();
    const [low, high] = recording.range;
    const tick = round_up((high - low) / 5);
    const ticks = [];
    for (let x = Math.ceil(low / tick) * tick; x <= high; x += tick)
        ticks.push([x, String(Number(x.toPrecision(4))).replace("-", "−")]);
    const place = axes(c, width, height, {
        x_range: recording.range, y_range: [0, top_density], y_ticks: [], x_ticks: ticks,
        x_name: "discounted sum of rewards to come",
    });
    c.save();
    c.beginPath();
    c.rect(place.left, place.top, place.right - place.left, place.bottom - place.top + 1);
    c.clip();
    area(c, place, recording.range, frame.density, colours.blue, 0.25, true);
    line(c, [place.x(frame.followed), place.top], [place.x(frame.followed), place.bottom], colours.green, 2, [6, 4]);
    line(c, [place.x(frame.mean), place.top], [place.x(frame.mean), place.bottom], colours.orange, 2.5);
    c.restore();
});

const draw = () => {
    draw_robot();
    draw_density();
};
const label = () => {
    const {frame, shapes} = now();
    by_id("robot").setAttribute("aria-label",
        `The robot after ${(moment * recording.seconds).toFixed(1)} seconds, at ${middle_of(shapes, 0).toFixed(1)} metres`);
    by_id("robot-density").setAttribute("aria-label",
        `Density of the predicted return, with mean ${frame.mean.toFixed(1)}; ${frame.followed.toFixed(1)} followed`);
};
const tell = () => {
    const {frame} = now();
    by_id("robot-moment").value = Math.floor(moment);
    by_id("robot-seconds").textContent = `${(moment * recording.seconds).toFixed(2)} s`;
    by_id("robot-mean").textContent = shown(frame.mean, 1);
    by_id("robot-followed").textContent = shown(frame.followed, 1);
    by_id("robot-play").textContent = playing ? "Pause" : "Play";
};

const show = () => {
    measure();
    by_id("robot-title").textContent = recording.title;
    by_id("robot-moment").max = recording.frames.length - 1;
    tell();
    label();
    draw();
};

let last = 0;
/// Called for each picture that the screen shows.
const step = (time) => {
    const passed = Math.min(0.1, (time - last) / 1000);
    last = time;
    if (!playing || !in_sight)
        return;
    moment += passed / recording.seconds;
    if (moment > recording.frames.length - 1)
        moment = 0;
    tell();
    draw();
};

/// Replays a file, or says why not.
const open = async (file) => {
    if (!file)
        return;
    const note = by_id("robot-note");
    try {
        if (file.size > 1e8)
            throw new Error("it has more than 100 MB");
        recording = read_recording(await file.text());
        note.textContent = `${file.name} is shown.`;
        note.classList.remove("wrong");
        show();
    } catch (problem) {
        note.textContent = `${file.name} cannot be replayed: ${problem.message}.`;
        note.classList.add("wrong");
    }
};
by_id("robot-file").addEventListener("change", ({target}) => {
    open(target.files[0]);
    target.value = ""; // so that the same file may be chosen again
});
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => {
    event.preventDefault();
    open(event.dataTransfer.files[0]);
});

const pause = (still) => {
    playing = !still;
    tell();
};
by_id("robot-play").addEventListener("click", () => pause(playing));
by_id("robot-moment").addEventListener("input", ({target}) => {
    moment = Number(target.value);
    pause(true);
    label();
    draw();
});

const orbit = (turn, height) => {
    camera.turn += turn;
    camera.height = Math.min(1.5, Math.max(0.02, camera.height + height));
    draw_robot();
};
const canvas = by_id("robot");
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
    event.stopPropagation(); // the pole is not meant
    orbit(...way);
});

new IntersectionObserver(([{isIntersecting}]) => (in_sight = isIntersecting)).observe(canvas);
show();
return {step, draw, label};
};
