// SPDX-License-Identifier: Apache-2.0
// The side that is seen. Two workers compute, one for each half of the page; where there can be none, as in a page that is
// embedded strictly, the page computes itself, in slices of one update.
"use strict";
(() => {

const by_id = (id) => document.getElementById(id);
const engine_text = by_id("engine").textContent;

const fail = (message) => {
    const shown = by_id("failure");
    shown.hidden = false;
    shown.textContent = `The computation stopped: ${message}`;
};

/// Something that takes orders and hands over what comes of them.
const start_engine = (receive) => {
    const hear = ({data}) => (data.kind === "failure" ? fail(data.message) : receive(data));
    try {
        const address = URL.createObjectURL(new Blob([engine_text], {type: "text/javascript"}));
        const worker = new Worker(address);
        worker.onmessage = hear;
        worker.onerror = (problem) => fail(problem.message);
        return (order) => worker.postMessage(order);
    } catch {
        const inside = {postMessage: (data) => setTimeout(() => hear({data}))};
        new Function("self", engine_text)(inside);
        return (order) => setTimeout(() => inside.onmessage?.({data: order}));
    }
};

// Drawing.

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
let colours = {};
const read_colours = () => {
    for (const name of ["paper", "panel", "ink", "faint", "line", "blue", "orange", "green", "truth"])
        colours[name] = colour(name);
};
read_colours();

const round_up = (x) => {
    const power = 10 ** Math.floor(Math.log10(x));
    return [1, 2, 5, 10].map((k) => k * power).find((k) => k >= x * (1 - 1e-9));
};

/// Axes with their numbers; gives the functions from numbers to places.
const axes = (c, width, height, {x_range, y_range, x_ticks, y_ticks, x_name}) => {
    const [left, right, top, bottom] = [y_ticks.length > 0 ? 42 : 10, width - 12, 10, height - 40];
    const x = (value) => left + ((right - left) * (value - x_range[0])) / (x_range[1] - x_range[0]);
    const y = (value) => bottom - ((bottom - top) * (value - y_range[0])) / (y_range[1] - y_range[0]);
    c.strokeStyle = colours.line;
    c.lineWidth = 1;
    c.fillStyle = colours.faint;
    c.textAlign = "right";
    c.textBaseline = "middle";
    for (const [value, text] of y_ticks) {
        c.beginPath();
        c.moveTo(left, y(value));
        c.lineTo(right, y(value));
        c.stroke();
        c.fillText(text, left - 6, y(value));
    }
    c.textAlign = "center";
    c.textBaseline = "top";
    c.beginPath();
    c.moveTo(left, bottom);
    c.lineTo(right, bottom);
    for (const [value] of x_ticks) {
        c.moveTo(x(value), bottom);
        c.lineTo(x(value), bottom + 4);
    }
    c.stroke();
    for (const [value, text] of x_ticks)
        c.fillText(text, x(value), bottom + 6);
    c.fillText(x_name, (left + right) / 2, bottom + 22);
    return {x, y, left, right, top, bottom};
};

/// A filled curve over an even range.
const area = (c, {x, y}, [from, to], heights, fill, opacity, stroke) => {
    const place = (i) => x(from + ((to - from) * i) / (heights.length - 1));
    c.beginPath();
    c.moveTo(place(0), y(0));
    heights.forEach((height, i) => c.lineTo(place(i), y(height)));
    c.lineTo(place(heights.length - 1), y(0));
    c.fillStyle = fill;
    c.globalAlpha = opacity;
    c.fill();
    c.globalAlpha = 1;
    if (!stroke)
        return;
    c.beginPath();
    heights.forEach((height, i) => c.lineTo(place(i), y(height)));
    c.strokeStyle = fill;
    c.lineWidth = 2;
    c.stroke();
};

const line = (c, from, to, stroke, width, dashes = []) => {
    c.beginPath();
    c.moveTo(...from);
    c.lineTo(...to);
    c.strokeStyle = stroke;
    c.lineWidth = width;
    c.setLineDash(dashes);
    c.stroke();
    c.setLineDash([]);
};

// The pole.

const methods = ["PPO", "IQAC", "IQAC-E", "GMAC"];
const hints = [
    "PPO learns the mean alone, a number.",
    "Strokes: quantiles, learned by the Huber quantile loss; above them smoothed.",
    "Strokes: quantiles, learned by the energy distance; above them smoothed.",
    "A mixture of five Gaussians, learned by the energy distance.",
];
const solved = 475;

let method = 3;
let seed = 1;
let made = false; // what was asked for last is there
let state = null;
let pole = [0, 0, 0, 0, 0, 0]; // position, velocity, angle, angular velocity, steps, falls
let queue = []; // the pole's next steps, 20 ms each
let next_step = 0;
let episodes = []; // frames, return
let means = []; // frames, mean return
let push_shown = {until: 0, to: 0};
let fell_until = 0;
let told = false;

const begin = () => {
    made = false;
    [state, queue, episodes, means, told] = [null, [], [], [], false];
    pole = [0, 0, 0, 0, 0, 0];
    by_id("density-hint").textContent = `${hints[method]} Dashed: what a pole that never falls is worth.`;
    train({order: "create", method, seed});
};

const receive = (message) => {
    if (message.kind === "ready") {
        train({order: "pace", value: chosen_pace()});
        begin();
    } else if (message.kind === "created") {
        made = true;
    } else if (message.kind === "state" && made) {
        state = message;
        queue.push(...message.poles);
        for (let i = 0; i < message.ends.length; i += 2)
            episodes.push([message.ends[i], message.ends[i + 1]]);
        if (!Number.isNaN(message.mean_return) && (means.length === 0 || means.at(-1)[0] !== message.frames))
            means.push([message.frames, message.mean_return]);
        tell_milestone(message);
    }
};

const tell_milestone = ({mean_return, frames}) => {
    if (told || !(mean_return >= solved))
        return;
    told = true;
    by_id("news").textContent =
        `${methods[method]} balances the pole: the mean return is ${mean_return.toFixed(0)} after ${frames} steps.`;
};

const draw_pole = surface(by_id("pole"), (c, width, height) => {
    const metre = Math.min(width / 5.2, (height - 50) / 1.35);
    const ground = height - 34;
    const middle = width / 2;
    const [position, , angle] = pole;
    line(c, [middle - 2.4 * metre, ground], [middle + 2.4 * metre, ground], colours.faint, 2);
    for (const end of [-2.4, 2.4])
        line(c, [middle + end * metre, ground - 14], [middle + end * metre, ground + 14], colours.faint, 2);
    c.fillStyle = colours.faint;
    c.textAlign = "center";
    c.textBaseline = "top";
    for (const metres of [-2, -1, 0, 1, 2]) {
        line(c, [middle + metres * metre, ground], [middle + metres * metre, ground + 5], colours.faint, 1);
        c.fillText(`${metres} m`.replace("-", "−"), middle + metres * metre, ground + 8);
    }
    const cart = middle + position * metre;
    const [wide, high] = [0.5 * metre, 0.22 * metre];
    const pivot = ground - 0.06 * metre - high;
    const tip = (a, length) => [cart + length * metre * Math.sin(a), pivot - length * metre * Math.cos(a)];
    for (const limit of [-1, 1])
        line(c, [cart, pivot], tip((limit * Math.PI) / 15, 1.05), colours.line, 1, [4, 4]);
    const fallen = performance.now() < fell_until;
    c.fillStyle = colours.blue;
    c.fillRect(cart - wide / 2, pivot, wide, high);
    c.beginPath();
    for (const wheel of [-0.3, 0.3])
        c.arc(cart + wheel * wide, ground - 0.06 * metre, 0.06 * metre, 0, 7);
    c.fillStyle = colours.ink;
    c.fill();
    c.lineCap = "round";
    line(c, [cart, pivot], tip(angle, 1), colours.orange, Math.max(5, 0.06 * metre));
    c.lineCap = "butt";
    if (fallen) {
        c.fillStyle = colours.ink;
        c.textBaseline = "middle";
        c.fillText("it fell", cart, pivot + high / 2);
    }
    if (performance.now() < push_shown.until) {
        const [x, y] = tip(angle, 1);
        const to = x + push_shown.to * 0.45 * metre;
        line(c, [x + push_shown.to * 10, y], [to, y], colours.green, 4);
        c.beginPath();
        c.moveTo(to + push_shown.to * 10, y);
        c.lineTo(to, y - 8);
        c.lineTo(to, y + 8);
        c.fillStyle = colours.green;
        c.fill();
    }
});

const draw_density = surface(by_id("density"), (c, width, height) => {
    const range = [0, 55];
    const value = state && state.value;
    const highest = value ? Math.max(0.1, ...value.densities) : 0.1;
    const shown = axes(c, width, height, {
        x_range: range, y_range: [0, 1.08 * highest], y_ticks: [],
        x_ticks: [0, 10, 20, 30, 40, 50].map((x) => [x, String(x)]), x_name: "discounted sum of rewards to come",
    });
    line(c, [shown.x(50), shown.top], [shown.x(50), shown.bottom], colours.faint, 1, [4, 4]);
    if (!value)
        return;
    area(c, shown, range, value.densities, colours.blue, 0.25, value.points.length !== 1);
    for (const point of value.points)
        line(c, [shown.x(point), shown.bottom], [shown.x(point), shown.bottom - 0.08 * (shown.bottom - shown.top)],
            colours.ink, 1);
    const mean = shown.x(Math.min(55, Math.max(0, value.mean)));
    line(c, [mean, shown.top], [mean, shown.bottom], colours.orange, 2.5);
    c.fillStyle = colours.orange;
    c.textAlign = mean > shown.x(27) ? "right" : "left";
    c.fillText(`mean ${value.mean.toFixed(1)}`, mean + (mean > shown.x(27) ? -6 : 6), shown.top);
});

const draw_returns = surface(by_id("returns"), (c, width, height) => {
    const frames = Math.max(10000, state ? state.frames : 0);
    const tick = round_up(frames / 4);
    const ticks = [];
    for (let x = 0; x <= frames; x += tick)
        ticks.push([x, x === 0 ? "0" : `${x / 1000}k`]);
    const shown = axes(c, width, height, {
        x_range: [0, frames], y_range: [0, 520], x_ticks: ticks,
        y_ticks: [0, 100, 200, 300, 400, 500].map((y) => [y, String(y)]), x_name: "steps learned from",
    });
    line(c, [shown.left, shown.y(solved)], [shown.right, shown.y(solved)], colours.green, 1.5, [6, 4]);
    c.fillStyle = colours.blue;
    c.globalAlpha = 0.3;
    for (const [x, y] of episodes)
        c.fillRect(shown.x(x) - 1.5, shown.y(y) - 1.5, 3, 3);
    c.globalAlpha = 1;
    c.beginPath();
    for (const [x, y] of means)
        c.lineTo(shown.x(x), shown.y(y));
    c.strokeStyle = colours.orange;
    c.lineWidth = 2.5;
    c.stroke();
});

/// The steps come in bursts; they are shown one each 20 ms, and faster if many wait. A fall is always shown.
const move_pole = (now) => {
    const falls = pole[5];
    if (queue.length > 25) {
        const fall = queue.findIndex((one) => one[5] > falls);
        queue.splice(0, Math.min(queue.length - 10, fall < 0 ? Infinity : fall));
    }
    while (queue.length > 0 && now >= next_step) {
        next_step = Math.max(next_step, now - 40) + (queue.length > 8 ? 15 : 20);
        pole = queue.shift();
        if (pole[5] > falls) {
            fell_until = now + 400;
            break;
        }
    }
};

const frame = (now) => {
    move_pole(now);
    draw_pole();
    if (state) {
        by_id("mean-return").textContent = Number.isNaN(state.mean_return) ? "–" : state.mean_return.toFixed(1);
        by_id("frames").textContent = state.frames.toLocaleString("en");
        by_id("rate").textContent = Number.isNaN(state.rate) ? "–" : Math.round(state.rate).toLocaleString("en");
        by_id("upright").textContent = `${(pole[4] / 50).toFixed(1)} s`;
        by_id("falls").textContent = String(pole[5]);
        if (state !== drawn) {
            draw_density();
            draw_returns();
            drawn = state;
        }
    }
    if (now > label_due) {
        label_due = now + 1000;
        label_pictures();
    }
    replay.step(now);
    requestAnimationFrame(frame);
};
let drawn = null;
let label_due = 0;

/// For who hears the page.
const label_pictures = () => {
    replay.label();
    const degrees = ((180 * pole[2]) / Math.PI).toFixed(0);
    by_id("pole").setAttribute("aria-label",
        `Cart at ${pole[0].toFixed(1)} metres, pole at ${degrees} degrees, upright for ${(pole[4] / 50).toFixed(0)} seconds`);
    by_id("density").setAttribute("aria-label",
        state ? `Density of the value of this state, with mean ${state.value.mean.toFixed(1)} of at most 50` : "Nothing yet");
    by_id("returns").setAttribute("aria-label",
        means.length > 0 ? `Mean return ${means.at(-1)[1].toFixed(0)} after ${means.at(-1)[0]} steps` : "No episodes yet");
};

const push = (to) => {
    push_shown = {until: performance.now() + 350, to};
    train({order: "push", angular_velocity: 0.6 * to}); // of which a trained agent recovers
};
by_id("push-left").addEventListener("click", () => push(-1));
by_id("push-right").addEventListener("click", () => push(1));
by_id("pole").addEventListener("pointerdown", (event) => {
    const box = by_id("pole").getBoundingClientRect();
    const metre = Math.min(box.width / 5.2, (box.height - 50) / 1.35);
    // From where it is pressed, away.
    const tip = box.left + box.width / 2 + (pole[0] + Math.sin(pole[2])) * metre;
    push(event.clientX < tip ? 1 : -1);
});
document.addEventListener("keydown", (event) => {
    const to = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!to || event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey || event.altKey)
        return;
    event.preventDefault();
    push(to);
});

const chosen = (name) => Number(document.querySelector(`input[name="${name}"]:checked`).value);
const chosen_pace = () => chosen("pace");
by_id("controls").addEventListener("change", ({target}) => {
    if (target.name === "pace")
        return train({order: "pace", value: chosen_pace()});
    method = chosen("method");
    begin();
});
by_id("controls").addEventListener("submit", (event) => event.preventDefault());
by_id("restart").addEventListener("click", () => {
    seed += 1;
    begin();
});

// The chain.

const chain_methods = {huber: 0, energy: 7}; // their numbers in gmac-five-state
const chain_range = [-1.65, 1.65];
const lessons = {}; // by the chain, then the method
let playing = null; // since when, or null
const moment = by_id("chain-moment");

const lesson_of = (name) => (lessons[chosen("chain")] || {})[chain_methods[name]];

const draw_lesson = (name, canvas, fill) => surface(canvas, (c, width, height) => {
    const lesson = lesson_of(name);
    const highest = 1.1 * (lesson ? Math.max(...lesson.truth) : 2);
    const shown = axes(c, width, height, {
        x_range: chain_range, y_range: [0, highest], y_ticks: [],
        x_ticks: [[-1, "−1"], [0, "0"], [1, "1"]], x_name: "return from the first state",
    });
    if (!lesson)
        return;
    area(c, shown, chain_range, lesson.truth, colours.truth, 0.5, false);
    const now = Math.min(Number(moment.value), lesson.moments - 1);
    const places = lesson.truth.length;
    c.save();
    c.beginPath();
    c.rect(shown.left, 0, shown.right - shown.left, shown.bottom + 1);
    c.clip();
    area(c, shown, chain_range, lesson.densities.subarray(now * places, (now + 1) * places), colours[fill], 0.25, true);
    for (const point of lesson.locations.subarray(now * lesson.points, (now + 1) * lesson.points))
        line(c, [shown.x(point), shown.bottom], [shown.x(point), shown.bottom - 14], colours.ink, 1.2);
    c.restore();
});
const draw_huber = draw_lesson("huber", by_id("chain-huber"), "orange");
const draw_energy = draw_lesson("energy", by_id("chain-energy"), "green");

const show_moment = () => {
    draw_huber();
    draw_energy();
    const [huber, energy] = [lesson_of("huber"), lesson_of("energy")];
    if (!huber || !energy)
        return;
    const now = Number(moment.value);
    by_id("chain-step").textContent = huber.steps[now].toLocaleString("en");
    for (const [name, lesson] of [["huber", huber], ["energy", energy]]) {
        const distance = lesson.distances[now].toPrecision(2);
        by_id(`distance-${name}`).textContent = distance;
        by_id(`chain-${name}`).setAttribute("aria-label",
            `Learned density of the first state after ${huber.steps[now]} steps, ${distance} from the truth`);
    }
};

const play = () => {
    const lesson = lesson_of("huber");
    if (!lesson || !lesson_of("energy"))
        return;
    moment.disabled = false;
    moment.max = lesson.moments - 1;
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    moment.value = still ? lesson.moments - 1 : 0;
    playing = still ? null : performance.now();
    show_moment();
    if (!still)
        requestAnimationFrame(play_on);
};
/// Ten seconds for all, the first steps slower than the last.
const play_on = (now) => {
    if (playing === null)
        return;
    const part = Math.min(1, Math.max(0, (now - playing) / 10000));
    moment.value = Math.round(Number(moment.max) * part ** 1.5);
    show_moment();
    if (part < 1)
        requestAnimationFrame(play_on);
    else
        playing = null;
};

const learn_chain = () => {
    const chain = chosen("chain");
    if (lessons[chain])
        return play();
    lessons[chain] = {};
    show_moment();
    for (const number of Object.values(chain_methods))
        teach({order: "chain", chain, method: number, seed: 1});
};
document.querySelectorAll('input[name="chain"]').forEach((one) => one.addEventListener("change", learn_chain));
by_id("chain-play").addEventListener("click", play);
moment.addEventListener("input", () => {
    playing = null;
    show_moment();
});

// The robot.

const replay = make_replay({by_id, axes, area, line, round_up, colours});

// Light and dark, and the start.

window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    read_colours();
    for (const draw of [draw_pole, draw_density, draw_returns, draw_huber, draw_energy, replay.draw])
        draw();
});

const train = start_engine(receive);
const teach = start_engine((message) => {
    if (message.kind === "ready")
        return learn_chain();
    if (message.kind !== "chain")
        return;
    lessons[message.chain][message.method] = message;
    if (message.chain === chosen("chain"))
        play();
});
requestAnimationFrame(frame);

})();
