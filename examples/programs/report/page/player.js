// SPDX-License-Identifier: Apache-2.0
// One episode, step by step: the environment beside the density of the return that is predicted.
"use strict";

/// show(observed) shows an episode, and stays at its moment if it is the one that was shown before.
const make_player = (by_id) => {

let episode = null, shown_before = "", picture = null, top = 1;
let moment = 0; // in frames
let playing = false;
let last = 0;

const tell = () => {
    const frame = frame_at(episode, moment);
    by_id("moment").value = Math.floor(moment);
    by_id("moment").setAttribute("aria-valuetext", `step ${frame.step}`);
    by_id("player-step").textContent = `${frame.step} of ${episode.steps}`;
    by_id("play").textContent = playing ? "Pause" : "Play";
    const cut = frame.cut ? " (in part the agent's own guess, since the episode was cut)" : "";
    by_id("density-hint").replaceChildren(
        key("orange", `mean ${readable(frame.mean)}`), key("green", `what came ${readable(frame.came)}${cut}`, "dashed"));
};

const draw_density = () => {
    const frame = frame_at(episode, moment);
    density_chart(by_id("chart-density"), {
        label: `Predicted return at step ${frame.step}: mean ${readable(frame.mean)}; ${readable(frame.came)} came; ${picture.describe(moment)}`,
        range: episode.range, heights: frame.density ?? [], points: frame.points ?? [], top, mean: frame.mean, came: frame.came,
        x_name: "discounted sum of rewards to come",
    });
};

const draw = () => {
    tell();
    picture.show(moment);
    draw_density();
    by_id("chart-episode").querySelector("svg")?.move_marker?.();
};

const step = (time) => {
    const passed = Math.min(0.1, Math.max(0, (time - last) / 1000)); // the first picture may be of before the press
    last = time;
    if (!playing)
        return;
    moment += passed / episode.seconds;
    if (moment > episode.frames.length - 1)
        moment = 0;
    draw();
    requestAnimationFrame(step);
};
const set_playing = (value) => {
    playing = value;
    if (!episode)
        return;
    tell();
    if (!playing)
        return;
    last = performance.now();
    requestAnimationFrame(step);
};

by_id("play").addEventListener("click", () => set_playing(!playing));
by_id("moment").addEventListener("input", ({target}) => {
    moment = Number(target.value);
    set_playing(false);
    draw();
});
new ResizeObserver(() => picture?.show(moment)).observe(by_id("picture"));

const ends = {
    terminated: "It ended.", cut: "It was cut there, by a time limit.", stopped: "It was played no further.",
};
const ordinal_ending = (n) => n % 100 >= 11 && n % 100 <= 13 ? "th" : ["th", "st", "nd", "rd"][n % 10] ?? "th";
const lead_of = (observed) => {
    const {steps, every, ended, total, frames} = observed.episode;
    const kept = every > 1 ? ` Shown is every ${every}${ordinal_ending(every)} step.` : "";
    return `One episode with the most likely actions, of the agent after ${whole(observed.frames)} frames: `
        + `${whole(steps)} steps, with rewards of ${readable(total)} in all. ${ends[ended] ?? ""}${kept}`
        + (frames.some(({cut}) => cut) ? " Near a cut, what came is in part the agent's own guess." : "");
};

const show = (observed) => {
    const now = JSON.stringify([observed.frames, observed.seed, observed.episode.frames.length, observed.episode.kind]);
    const make = pictures[observed.episode.kind];
    if (!make)
        throw new Error(`this page knows no pictures of the kind ${observed.episode.kind}`);
    observed.episode.frames.forEach((frame, i) => {
        if (!frame || !is_number(frame.mean) || !is_number(frame.came))
            throw new Error(`frame ${i} of the episode is damaged`);
    });
    episode = observed.episode;
    if (now !== shown_before) {
        [moment, shown_before] = [0, now];
        read_colours();
        picture = make(by_id("picture"), episode);
    }
    by_id("moment").max = episode.frames.length - 1;
    by_id("player-lead").textContent = lead_of(observed);
    by_id("picture-title").textContent = observed.env ?? "";
    by_id("picture-hint").textContent = picture.hint;
    // One scale for all, of which a few peaks may leave the picture.
    const heights = episode.frames.map(({density}) => Math.max(0, ...(density ?? []))).sort((a, b) => a - b);
    top = 1.1 * Math.min(heights.at(-1), 3 * heights[heights.length >> 1]) || 1;
    const steps = episode.frames.map((frame) => frame.step);
    line_chart(by_id("chart-episode"), {
        label: "Predicted mean and what came, over the episode",
        series: [
            {name: "predicted", x: steps, y: episode.frames.map(({mean}) => mean), low: episode.frames.map(({low}) => low),
                high: episode.frames.map(({high}) => high), colour: "orange"},
            {name: "came", x: steps, y: episode.frames.map(({came}) => came), colour: "green", dashes: "6 4"},
        ],
        marker: {x: () => frame_at(episode, moment).step, colour: "ink"}, x_name: "step",
    });
    draw();
};

/// Of another colour scheme: the canvases draw anew.
const recolour = () => {
    read_colours();
    picture?.show(moment);
};
return {show, recolour};
};
