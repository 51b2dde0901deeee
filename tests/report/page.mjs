// SPDX-License-Identifier: Apache-2.0
// The report as its reader meets it: a file that is opened by a double click, of runs that gmac-train has just made.
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import {copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {createServer} from "node:http";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {after, before, test} from "node:test";
import {pathToFileURL} from "node:url";
import {setTimeout as wait} from "node:timers/promises";

import {Browser} from "../support/browser.mjs";

const folder = mkdtempSync(join(tmpdir(), "a report "));
const screenshot = (name) => `${process.env.GMAC_SCREENSHOTS}/report-${name}.png`;
const page_of = (run) => join(folder, run, "report.html");
const html_of = (run) => readFileSync(page_of(run), "utf8");
const data_of = (run) => JSON.parse(/id="data">(.*)<\/script>/.exec(html_of(run))[1]);

const train = (run, ...options) => execFileSync(process.env.GMAC_TRAIN, [
    "--no-pictures", "--evaluation-episodes", "2", "--envs", "2", "--steps", "64", "--minibatch", "64", "--epochs", "1", "--hidden", "16",
    "--out", join(folder, run), ...options], {stdio: "ignore"});

/// All runs that are shown, and the kind of their pictures.
const kinds = {cart: "svg", pendulum: "svg", game: "canvas", sea: "svg", number: "svg", ...(process.env.GMAC_WITH_BULLET === "1" ? {hopper: "canvas"} : {})};
/// A run of which much is lost.
const damage = () => {
    const at = (name) => join(folder, "damaged", name);
    mkdirSync(at(""));
    for (const name of ["config.json", "metrics.csv", "episodes.csv", "observed.json"])
        copyFileSync(join(folder, "cart", name), at(name));
    const lines = readFileSync(at("metrics.csv"), "utf8").trimEnd().split("\n");
    const loss = lines[0].split(",").indexOf("value_loss");
    lines[3] = lines[3].split(",").map((cell, i) => (i === loss ? "nan" : cell)).join(",");
    lines[5] = "12,not a number";
    writeFileSync(at("metrics.csv"), lines.join("\n")); // without its last end
    writeFileSync(at("episodes.csv"), "frames,return,length\n");
    const observed = JSON.parse(readFileSync(at("observed.json"), "utf8"));
    observed.episode.frames[1] = null;
    writeFileSync(at("observed.json"), JSON.stringify(observed));
    writeFileSync(at("summary.json"), '{"frames": ');
    execFileSync(process.env.GMAC_REPORT, [join(folder, "damaged"), "--no-play"], {stdio: "ignore"});
};

let browser;
before(async () => {
    train("cart", "--env", "classic/cart_pole", "--frames", "4000", "--eval-every", "1000", "--eval-episodes", "3", "--learning-rate", "0.002");
    train("pendulum", "--env", "classic/pendulum", "--frames", "2000", "--algorithm", "iqac", "--quantile-hidden", "16");
    train("game", "--env", "minatar/breakout", "--frames", "1000");
    train("sea", "--env", "classic/deep_sea:6", "--frames", "2000", "--algorithm", "c51");
    train("number", "--env", "classic/cart_pole", "--frames", "1000", "--algorithm", "ppo");
    if (kinds.hopper)
        train("hopper", "--env", "bullet/hopper", "--frames", "2000");
    damage();
    browser = await Browser.start_offline();
});
after(async () => {
    await browser?.stop();
    rmSync(folder, {recursive: true});
});

const open = async (run) => {
    await browser.resize(1400);
    await browser.open(pathToFileURL(page_of(run)).href);
};
const slide = (to) => browser.run((value) => {
    const slider = document.getElementById("moment");
    slider.value = value;
    slider.dispatchEvent(new Event("input"));
}, to);
const text = (id) => browser.run((which) => document.getElementById(which).textContent, id);
/// What the reader sees of the environment and of the density.
const seen = () => browser.run(() => {
    const canvas = document.querySelector("#picture canvas");
    const density = [...document.querySelectorAll("#chart-density path")].map((one) => one.getAttribute("d")).join();
    return {picture: canvas ? canvas.toDataURL() : document.querySelector("#picture svg").innerHTML, density};
});
const readable = (x) => browser.run((value) => window.eval(`readable(${value})`), x);

for (const [run, kind] of Object.entries(kinds))
    test(`the slider shows any moment: ${run}`, async () => {
        await open(run);
        const {episode} = data_of(run).observed;
        const last = episode.frames.length - 1;
        assert.equal(Number(await browser.run(() => document.getElementById("moment").max)), last);
        assert.ok(await browser.run((tag) => document.querySelector(`#picture ${tag}`) !== null, kind));
        const before = await seen();
        for (const moment of [Math.ceil(last / 2), last]) {
            await slide(moment);
            const now = await seen();
            const frame = episode.frames[moment];
            assert.notEqual(now.picture, before.picture);
            assert.notEqual(now.density, before.density);
            assert.equal(await text("player-step"), `${frame.step} of ${episode.steps}`);
            // The line in the curve of the episode is there too, also after the window has changed.
            await browser.resize(moment === last ? 1400 : 1380);
            await wait(100);
            const line = Number(await browser.run(() => document.querySelector("#chart-episode .marker").getAttribute("d").match(/[\d.]+/)[0]));
            assert.ok(line > (moment === last ? 1100 : 550), `the line is at ${line}`);
            const hint = await text("density-hint");
            assert.ok(hint.includes(`mean ${await readable(frame.mean)}`), hint);
            assert.ok(hint.includes(`what came ${await readable(frame.came)}`), hint);
            assert.ok((await browser.run(() => document.querySelector("#chart-density svg").getAttribute("aria-label"))).includes(`step ${frame.step}`));
        }
        await slide(0);
        assert.deepEqual(await seen(), before);
    });

/// The page of a run whose episode is another one; gives its name.
const changed_page = (name, change) => {
    const data = data_of("cart");
    change(data.observed.episode);
    const file = join(folder, "cart", `${name}.html`);
    writeFileSync(file, html_of("cart").replace(/(id="data">).*(<\/script>)/, (_, begin, end) => begin + JSON.stringify(data) + end));
    changed.push(file);
    return pathToFileURL(file).href;
};
const changed = [];

test("an environment without a drawing shows its numbers", async () => {
    await browser.open(changed_page("numbers", (episode) => {
        episode.kind = "numbers";
        episode.frames.forEach((frame, i) => (frame.numbers = [i, -0.5]));
    }));
    const texts = () => browser.run(() => [...document.querySelectorAll("#picture text")].map((one) => one.textContent));
    assert.deepEqual(await texts(), ["1", "0", "2", "−0.5"]);
    await slide(3);
    assert.deepEqual(await texts(), ["1", "3", "2", "−0.5"]);
});

test("the screen of an Atari game is unpacked from its runs of greys", async () => {
    // Four white pixels above four black ones; then the other way round.
    await browser.open(changed_page("screen", (episode) => {
        Object.assign(episode, {kind: "grey", wide: 4, high: 2});
        episode.frames.forEach((frame, i) => (frame.grey = Buffer.from(i % 2 === 0 ? [0x3f, 0x30] : [0x30, 0x3f]).toString("base64")));
    }));
    const greys = () => browser.run(() => {
        const canvas = document.querySelector("#picture canvas");
        const {width, height} = canvas;
        const pixels = new OffscreenCanvas(width, height).getContext("2d", {willReadFrequently: true});
        pixels.drawImage(canvas, 0, 0);
        return [0.4, 0.6].map((part) => pixels.getImageData(width / 2, Math.round(part * height), 1, 1).data[0]);
    });
    assert.deepEqual(await greys(), [255, 0]);
    await slide(1);
    assert.deepEqual(await greys(), [0, 255]);
});

test("it plays, pauses, and goes on", async () => {
    await open("cart");
    const moment = () => browser.run(() => document.getElementById("moment").value).then(Number);
    const press = () => browser.run(() => document.getElementById("play").click());
    assert.equal(await moment(), 0, "it waits to be started");
    assert.equal(await text("play"), "Play");
    await press();
    assert.equal(await text("play"), "Pause");
    assert.ok(await browser.until(10, () => document.getElementById("moment").value > 2));
    await press();
    const paused = [await moment(), await seen()];
    await wait(300);
    assert.deepEqual([await moment(), await seen()], paused);
    await press();
    assert.ok(await browser.until(10, (least) => Number(document.getElementById("moment").value) !== least, paused[0]));
    await slide(3);
    assert.equal(await text("play"), "Play", "who slides wants it to stay");
});

test("rendering again keeps what the reader has chosen", async () => {
    await open("cart");
    await slide(5);
    await browser.run(() => (document.getElementById("all-settings").open = true));
    const before = await browser.run(() => document.querySelector("main").innerHTML);
    await browser.run(() => window.eval("show_report()"));
    assert.equal(await browser.run(() => document.getElementById("moment").value), "5");
    assert.equal(await browser.run(() => document.querySelector("main").innerHTML), before);
});

test("the charts show the numbers of the run", async () => {
    await open("cart");
    const data = data_of("cart");
    const count = (selector) => browser.run((which) => document.querySelectorAll(which).length, selector);
    const dots = await browser.run(() => document.querySelector("#chart-returns path[stroke-linecap=round]").getAttribute("d"));
    assert.equal(dots.match(/M/g).length, data.episodes.return.length);
    assert.equal(await count("#chart-returns circle"), data.evaluations.rows);
    assert.equal(await count("#chart-reliability circle"), 19);
    assert.equal(await count("#chart-pit rect"), 20);
    for (const name of ["value_loss", "policy_loss", "entropy", "approximate_kl", "clip_fraction", "explained_variance", "gradient_norm", "learning_rate"]) {
        const path = await browser.run((id) => document.querySelector(`#${id} path[fill=none]`).getAttribute("d"), `chart-${name}`);
        assert.equal(path.match(/[ML]/g).length, data.metrics.columns[name].mean.filter((x) => x !== null).length, name);
    }
    assert.match(await text("chart-split"), /steps of the environments [\d.]+ %.*learning [\d.]+ %/);
    const changed = await browser.run(() => [...document.querySelectorAll("#changed tbody tr")].map((row) => [...row.cells].slice(0, 3).map((cell) => cell.textContent)));
    assert.ok(changed.some(([name, value, usual]) => name === "learning-rate" && value === "0.002" && usual === "0.001"), JSON.stringify(changed));
    assert.ok(!changed.some(([name]) => name === "lambda"));
    assert.match(await text("machines"), /processor.*threads used.*compiler/s);
});

test("a value that is a number has no calibration, and the page says so", async () => {
    await open("number");
    assert.match(await text("calibration-lead"), /predicts a number and no distribution/);
    assert.equal(await browser.run(() => document.getElementById("calibration-charts").hidden), true);
    assert.equal(await browser.run(() => document.querySelectorAll("#chart-density path[stroke-width='3']").length), 1);
});

test("a damaged run says what is wrong where it matters, and shows the rest", async () => {
    await open("damaged");
    const problems = await text("problem-list");
    for (const part of ["summary.json", "machine.json: there is none", "value_loss is not a finite number in 1 of", "cells, but the header has", "cut off"])
        assert.ok(problems.includes(part), `${part} is not in ${problems}`);
    const missing = (id) => browser.run((which) => {
        const note = document.querySelector(`#${which} .missing`);
        return note.hidden ? "" : note.textContent;
    }, id);
    assert.equal(await missing("returns"), "");
    assert.match(await missing("player"), /This part of the data cannot be shown: frame 1 of the episode is damaged/);
    assert.match(await missing("machine"), /not known where/);
    for (const id of ["calibration", "learning", "throughput", "settings"])
        assert.equal(await missing(id), "");
    const gaps = await browser.run(() => document.querySelector("#chart-value_loss path[fill=none]").getAttribute("d").match(/M/g).length);
    assert.equal(gaps, 2, "the curve is broken where there is no number");
});

test("everything can be reached and worked by keys, and has a name", async () => {
    await open("cart");
    await browser.run(() => document.activeElement.blur());
    const reached = [];
    for (let i = 0; i < 30; ++i) {
        await browser.key("Tab");
        reached.push(await browser.run(() => document.activeElement.id || document.activeElement.closest(".chart")?.id || document.activeElement.tagName));
    }
    for (const name of ["play", "moment", "chart-returns", "chart-episode", "chart-reliability", "chart-pit", "chart-value_loss", "chart-speed", "SUMMARY"])
        assert.ok(reached.includes(name), `${name} is not among ${reached}`);
    const nameless = await browser.run(() => [...document.querySelectorAll("button, input, canvas, svg")]
        .filter((one) => !(one.textContent.trim() || one.getAttribute("aria-label") || one.closest("label")?.textContent.trim())).map((one) => one.outerHTML));
    assert.deepEqual(nameless, []);
    await browser.run(() => document.querySelector("#chart-value_loss svg").focus());
    await browser.key("ArrowLeft");
    assert.match(await text("news"), /^frames [\d.k]+, [\d.]+/);
    await browser.run(() => document.getElementById("moment").focus());
    await browser.key("ArrowRight");
    assert.equal(await browser.run(() => document.getElementById("moment").value), "1");
});

for (const run of [...Object.keys(kinds), "damaged"])
    test(`it fits a phone, a tablet and a screen, by day and by night: ${run}`, async () => {
        await open(run);
        if (run !== "damaged")
            await slide(8);
        await browser.run(() => (document.getElementById("all-settings").open = true));
        const papers = [];
        for (const scheme of ["light", "dark"]) {
            await browser.colour_scheme(scheme);
            papers.push(await browser.run(() => getComputedStyle(document.body).backgroundColor));
            for (const width of [360, 800, 1400]) {
                await browser.resize(width);
                await wait(200);
                const {wide, low} = await browser.run(() => ({
                    wide: document.documentElement.scrollWidth,
                    low: [...document.querySelectorAll("button, summary")].filter((one) => one.offsetHeight > 0 && one.offsetHeight < 36).length,
                }));
                assert.equal(wide, width, `at ${width} the page is ${wide} wide`);
                assert.equal(low, 0, `at ${width} there are buttons too low for a finger`);
                await browser.screenshot(screenshot(`${run}-${scheme}-${width}`));
            }
        }
        assert.notEqual(papers[0], papers[1]);
        await browser.colour_scheme("light");
    });

test("the pages ask nobody for anything, and have no complaint", async () => {
    const requests = (await browser.log("performance"))
        .map(({message}) => JSON.parse(message).message)
        .filter(({method}) => method === "Network.requestWillBeSent")
        .map(({params}) => params.request.url);
    const pages = [...[...Object.keys(kinds), "damaged"].map(page_of), ...changed].map((file) => pathToFileURL(file).href);
    for (const page of pages)
        assert.ok(requests.includes(page), "the log has the page itself");
    assert.deepEqual(requests.filter((url) => !pages.includes(url) && !url.startsWith("data:")), []);
    assert.deepEqual(await browser.log("browser"), []);
    for (const run of [...Object.keys(kinds), "damaged"])
        assert.ok(html_of(run).length < 1_500_000);
});

test("a live page shows new data as it is told of them, and stays where the reader is", async () => {
    await browser.command("Network.setBlockedURLs", {urls: []});
    const data = data_of("cart");
    let listener = null;
    const asked = [];
    const server = createServer((request, response) => {
        asked.push(request.url);
        if (request.url === "/events") {
            response.writeHead(200, {"Content-Type": "text/event-stream"});
            response.write("\n");
            listener = response;
        } else if (request.url === "/data.json") {
            response.writeHead(200, {"Content-Type": "application/json"});
            response.end(JSON.stringify(data));
        } else {
            response.writeHead(200, {"Content-Type": "text/html"});
            response.end(html_of("cart").replace("live: false", "live: true"));
        }
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
        await browser.open(`http://127.0.0.1:${server.address().port}/`);
        await slide(4);
        for (let i = 0; i < 100 && !listener; ++i)
            await wait(50);
        data.run.frames = 123_456;
        data.run.finished = false;
        listener.write("data: 1\n\n");
        assert.ok(await browser.until(5, () => document.getElementById("numbers").textContent.includes("123,456")));
        assert.match(await text("state"), /in training/);
        assert.equal(await browser.run(() => document.getElementById("moment").value), "4");
        assert.deepEqual([...new Set(asked)].sort(), ["/", "/data.json", "/events"]);
    } finally {
        listener?.end();
        server.closeAllConnections();
        server.close();
        await browser.open("about:blank");
    }
});
