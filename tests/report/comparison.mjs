// SPDX-License-Identifier: Apache-2.0
// The page that compares runs, of runs that gmac-train has just made.
import assert from "node:assert/strict";
import {execFileSync, spawnSync} from "node:child_process";
import {existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {after, before, test} from "node:test";
import {pathToFileURL} from "node:url";
import {setTimeout as wait} from "node:timers/promises";

import {Browser} from "../support/browser.mjs";

const folder = mkdtempSync(join(tmpdir(), "compared runs "));
const page = join(folder, "comparison.html");
const runs = [];
const train = (name, ...options) => {
    runs.push(name);
    execFileSync(process.env.GMAC_TRAIN, [
        "--no-pictures", "--no-report", "--evaluation-episodes", "2", "--envs", "2", "--steps", "64", "--minibatch", "64", "--epochs", "1",
        "--hidden", "16", "--frames", "3000", "--out", join(folder, name), ...options], {stdio: "ignore"});
};
const report = (...words) => spawnSync(process.env.GMAC_REPORT, words, {cwd: folder, encoding: "utf8"});

let browser;
before(async () => {
    for (const seed of ["1", "2", "3"]) {
        for (const algorithm of ["gmac", "ppo"])
            train(`pole-${algorithm}-${seed}`, "--env", "classic/cart_pole", "--algorithm", algorithm, "--seed", seed);
        train(`pole-slow-${seed}`, "--env", "classic/cart_pole", "--algorithm", "gmac", "--seed", seed, "--learning-rate", "0.0001");
    }
    for (const algorithm of ["gmac", "ppo"])
        train(`sea-${algorithm}`, "--env", "classic/deep_sea:6", "--algorithm", algorithm);
    browser = await Browser.start_offline();
});
after(async () => {
    await browser?.stop();
    rmSync(folder, {recursive: true});
});

test("it is written where it was asked for, and over nothing else", () => {
    writeFileSync(page, "my notes\n");
    const refused = report(...runs);
    assert.equal(refused.status, 1);
    assert.match(refused.stderr, /comparison\.html is there, and is no page that compares runs, which would be lost: give another file by --out/);
    assert.equal(readFileSync(page, "utf8"), "my notes\n");
    rmSync(page);
    const done = report(...runs);
    assert.equal(done.status, 0, done.stderr);
    assert.match(done.stdout, /comparison\.html is written/);
    assert.equal(report(...runs, "--baseline", "gmac (learning-rate 0.001)").status, 0, "a page of before is written anew");
    assert.match(report(...runs, "--baseline", "sac").stderr, /the baseline is sac, but must be one of the methods of the runs: gmac/);
    assert.match(report(runs[0], "--baseline", "ppo").stderr, /--baseline is for several runs, but there is one/);
    assert.match(report(runs[0], "nowhere").stderr, /there is no folder nowhere/);
    assert.ok(!existsSync(join(folder, runs[0], "comparison.html")));
});

test("the charts and the tables show the runs", async () => {
    await browser.resize(1400);
    await browser.open(pathToFileURL(page).href);
    const texts = (selector) => browser.run((which) => [...document.querySelectorAll(which)].map((one) => one.textContent), selector);
    assert.deepEqual(await texts("#tasks h2"), ["classic/cart_pole", "classic/deep_sea:6"]);
    assert.deepEqual(await texts("#legend .key"), ["gmac (learning-rate 0.001)", "ppo", "gmac (learning-rate 0.0001)"]);
    const data = JSON.parse(/id="data">(.*)<\/script>/.exec(readFileSync(page, "utf8"))[1]);
    // A curve and a band for each method, as many circles as runs, and an interval.
    const counts = await browser.run(() => [...document.querySelectorAll("#tasks section")].map((section) => [...section.querySelectorAll(".chart")].map((chart) => ({
        curves: chart.querySelectorAll("path[fill=none][stroke-width='2']").length, circles: chart.querySelectorAll("circle").length,
    }))));
    assert.deepEqual(counts, data.tasks.map(({methods}) => [
        {curves: methods.length, circles: 0}, {curves: 0, circles: methods.reduce((sum, {scores}) => sum + scores.length, 0)}, {curves: methods.length, circles: 0}]));
    const rows = await browser.run(() => [...document.querySelectorAll("#run-table tbody tr")].map((row) => [...row.cells].map((cell) => cell.textContent)));
    assert.equal(rows.length, runs.length);
    for (const [i, run] of runs.entries()) {
        const {evaluation} = JSON.parse(readFileSync(join(folder, run, "summary.json"), "utf8"));
        assert.equal(rows[i][0], run);
        assert.ok(Math.abs(Number(rows[i][7]) - evaluation.mean) <= 1e-4 * Math.abs(evaluation.mean) + 1e-12, run);
    }
    assert.equal(await browser.run(() => document.getElementById("text").value),
        [["run", "environment", "method", "seed", "frames", "seconds", "mean return of the last 100", "evaluation"], ...rows].map((row) => row.join("\t")).join("\n"));
    // Who beats whom, by hand.
    const wins = (ours, theirs) => ours.flatMap((a) => theirs.map((b) => (a > b ? 1 : a === b ? 0.5 : 0))).reduce((a, b) => a + b, 0) / (ours.length * theirs.length);
    const [{methods, improvement}] = data.tasks;
    assert.ok(Math.abs(improvement[0][1].value - wins(methods[0].scores, methods[1].scores)) < 1e-4);
    assert.match((await texts("#settings-tables td.value")).join(" "), /0\.001.*0\.0001/);
    assert.match((await texts("#overall .missing")).join(), /no two environments on which all methods have runs/);
});

test("the table can be copied", async () => {
    await browser.command("Browser.grantPermissions", {permissions: ["clipboardReadWrite", "clipboardSanitizedWrite"]});
    await browser.run(() => document.getElementById("copy").click());
    assert.ok(await browser.until(5, () => document.getElementById("copied").textContent !== ""));
    assert.match(await browser.run(() => document.getElementById("copied").textContent), /in the clipboard|copy it from there/);
});

test("it fits a phone, a tablet and a screen, by day and by night", async () => {
    for (const scheme of ["light", "dark"]) {
        await browser.colour_scheme(scheme);
        for (const width of [360, 800, 1400]) {
            await browser.resize(width);
            await wait(200);
            assert.equal(await browser.run(() => document.documentElement.scrollWidth), width);
            await browser.screenshot(`${process.env.GMAC_SCREENSHOTS}/comparison-${scheme}-${width}.png`);
        }
    }
});

test("it asks nobody for anything, and has no complaint", async () => {
    const requests = (await browser.log("performance"))
        .map(({message}) => JSON.parse(message).message)
        .filter(({method}) => method === "Network.requestWillBeSent")
        .map(({params}) => params.request.url)
        .filter((url) => !url.startsWith("data:"));
    assert.deepEqual([...new Set(requests)], [pathToFileURL(page).href]);
    assert.deepEqual(await browser.log("browser"), []);
});
