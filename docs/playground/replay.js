// SPDX-License-Identifier: Apache-2.0
// An episode of a robot, as gmac-play --json records it, beside what the agent expects.
"use strict";

const make_replay = ({by_id, axes, area, line, round_up, colours}) => {

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
let top_density = 1;

const measure = () => {
    moment = 0;
    robot.measure(now().shapes);
    // One scale for all, of which a few peaks may leave the picture.
    const heights = recording.frames.map(({density}) => Math.max(...density)).sort((a, b) => a - b);
    top_density = 1.1 * Math.min(heights.at(-1), 3 * heights[heights.length >> 1]) || 1;
};

const shown = (number, digits) => number.toFixed(digits).replace("-", "−");

/// The numbers of the frame, the shapes now, and what is said of them.
const now = () => {
    const frame = recording.frames[Math.min(Math.floor(moment), recording.frames.length - 1)];
    const shapes = shapes_at(recording, moment);
    return {frame, shapes, words: [
        `${shown(moment * recording.seconds, 2)} s`, `${shown(middle_of(shapes, 0), 2)} m`, `${shown(frame.speed, 1)} m/s`,
        `reward ${shown(frame.reward, 2)}`, `so far ${shown(frame.earned, 0)}`,
    ]};
};
const robot = make_robot({canvas: by_id("robot"), colours, now});

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
    robot.draw();
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

new IntersectionObserver(([{isIntersecting}]) => (in_sight = isIntersecting)).observe(by_id("robot"));
show();
return {step, draw, label};
};
