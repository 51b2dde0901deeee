// SPDX-License-Identifier: Apache-2.0
// The page of one episode, as the sub-command `play` of a program writes it: of an environment of one's own, which draws itself, and of
// a robot or, without Bullet, a game.
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import {mkdtempSync, readFileSync, rmSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {after, before, test} from "node:test";
import {pathToFileURL} from "node:url";

import {Browser} from "../support/browser.mjs";

const folder = mkdtempSync(join(tmpdir(), "an episode "));
const page_of = (run) => join(folder, run, "play.html");
const small = ["--no-pictures", "--no-report", "--evaluation-episodes", "0"];
const other = process.env.GMAC_WITH_BULLET === "1" ? "bullet/hopper" : "minatar/breakout";

let browser;
before(async () => {
    // So long that the walker does not fall at once.
    execFileSync(process.env.GMAC_MY_TRAIN, [...small, "--frames", "20000", "--envs", "8", "--out", join(folder, "mine")], {stdio: "ignore"});
    execFileSync(process.env.GMAC_MY_TRAIN, ["play", join(folder, "mine"), "--seed", "3", "--steps", "40"], {stdio: "ignore"});
    execFileSync(process.env.GMAC_TRAIN, [...small, "--env", other, "--frames", "256", "--envs", "2", "--steps", "64", "--epochs", "1", "--out", join(folder, "other")], {stdio: "ignore"});
    execFileSync(process.env.GMAC_TRAIN, ["play", join(folder, "other"), "--steps", "40"], {stdio: "ignore"});
    browser = await Browser.start_offline();
});
after(async () => {
    await browser?.stop();
    rmSync(folder, {recursive: true});
});

for (const [run, env] of [["mine", "mine/cliff"], ["other", other]])
    test(`an episode on ${env} is played step by step`, async () => {
        const {episode} = JSON.parse(/id="data">(.*)<\/script>/.exec(readFileSync(page_of(run), "utf8"))[1]);
        await browser.open(pathToFileURL(page_of(run)).href);
        assert.equal(await browser.run(() => document.getElementById("title").textContent), `gmac on ${env}`);
        const seen = () => browser.run(() => {
            const canvas = document.querySelector("#picture canvas");
            return canvas ? canvas.toDataURL() : document.querySelector("#picture svg").innerHTML;
        });
        const first = await seen();
        const last = episode.frames.length - 1;
        assert.ok(last > 0);
        await browser.run((value) => {
            const slider = document.getElementById("moment");
            slider.value = value;
            slider.dispatchEvent(new Event("input"));
        }, last);
        assert.notEqual(await seen(), first);
        assert.equal(await browser.run(() => document.getElementById("player-step").textContent), `${episode.frames[last].step} of ${episode.steps}`);
        assert.ok(await browser.run(() => document.querySelector("#chart-density path") !== null));
        const severe = (await browser.log("browser")).filter(({level}) => level === "SEVERE");
        assert.deepEqual(severe, []);
    });
