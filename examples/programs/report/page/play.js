// SPDX-License-Identifier: Apache-2.0
// One episode of a run, with the player of its report.
"use strict";

const show_play = () => {
    const played = JSON.parse(by_id("data").textContent);
    const name = `${played.algorithm} on ${played.env}`;
    document.title = `${name}, an episode`;
    by_id("title").textContent = name;
    by_id("state").textContent = `${played.run} · seed ${played.seed}`;
    const player = make_player(by_id);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", player.recolour);
    player.show(played);
};
