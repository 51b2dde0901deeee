// SPDX-License-Identifier: Apache-2.0
// The page as its visitor meets it: a file that is opened by a double click.
import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {after, before, test} from "node:test";
import {pathToFileURL} from "node:url";
import {setTimeout as wait} from "node:timers/promises";

import {Browser} from "../support/browser.mjs";

const page = pathToFileURL(process.env.GMAC_PAGE).href;
const picture = (name) => `${process.env.GMAC_SCREENSHOTS}/${name}.png`;
const text = (id) => document.getElementById(id).textContent;
const choose = (name, value) => document.querySelector(`input[name="${name}"][value="${value}"]`).click();

let browser;
before(async () => {
    browser = await Browser.start();
    await browser.open(page);
    await browser.run(teach);
});
after(() => browser.stop());

/// Given to the page: the places of the pixels of a canvas that have one of its colours, and an ear for pushes.
const teach = () => {
    window.pixels_of = (id, name) => {
        const canvas = document.getElementById(id);
        const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true});
        copy.drawImage(canvas, 0, 0);
        const {data} = copy.getImageData(0, 0, canvas.width, canvas.height);
        const hex = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
        const wanted = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
        const found = [];
        for (let i = 0; i < data.length; i += 4)
            if (data[i + 3] > 200 && wanted.every((x, k) => Math.abs(data[i + k] - x) < 8))
                found.push((i / 4) % canvas.width);
        return found;
    };
    /// How far the pole leans, in pixels: the mean place of its own, against the cart's.
    const mean = (numbers) => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
    window.leans = [];
    window.watch_leans = () => {
        window.leans.push(mean(window.pixels_of("pole", "orange")) - mean(window.pixels_of("pole", "blue")));
        requestAnimationFrame(window.watch_leans);
    };
    window.pushes = [];
    const post = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (order) {
        if (order.order === "push")
            window.pushes.push(Math.sign(order.angular_velocity));
        post.call(this, order);
    };
};
const count_pixels = (id, name) => window.pixels_of(id, name).length;

test("GMAC reaches a mean return of 475 within 60 seconds, from nothing", async (t) => {
    const start = performance.now();
    const solved = await browser.until(60, () => Number(document.getElementById("mean-return").textContent) >= 475);
    t.diagnostic(`${((performance.now() - start) / 1000).toFixed(1)} s, ${await browser.run(text, "frames")} steps, ` +
        `${await browser.run(text, "rate")} a second`);
    assert.ok(solved, `after 60 s it is ${await browser.run(text, "mean-return")}`);
    assert.match(await browser.run(text, "news"), /^GMAC balances the pole: the mean return is \d+ after \d+ steps\.$/);
});

test("the pole, the density and the returns are drawn, and their labels say what they show", async () => {
    assert.ok((await browser.run(count_pixels, "pole", "blue")) > 500);
    assert.ok((await browser.run(count_pixels, "density", "orange")) > 100);
    assert.ok((await browser.run(count_pixels, "returns", "orange")) > 100);
    const label = (id) => document.getElementById(id).getAttribute("aria-label");
    assert.match(await browser.run(label, "pole"), /^Cart at -?\d\.\d metres, pole at -?\d+ degrees, upright for \d+ seconds$/);
    assert.match(await browser.run(label, "density"), /with mean \d+\.\d of at most 50$/);
    assert.match(await browser.run(label, "returns"), /^Mean return \d+ after \d+ steps$/);
});

test("keys, buttons and the mouse push the pole", async () => {
    const box = await browser.run(() => {
        const {left, top, width, height} = document.getElementById("pole").getBoundingClientRect();
        return {left, top, width, height};
    });
    const press = (part) => browser.press(box.left + part * box.width, box.top + 0.4 * box.height);
    const button = (id) => browser.run((which) => document.getElementById(which).click(), id);
    for (const [name, push, side] of [
        ["the left key", () => browser.key("ArrowLeft"), -1],
        ["the right key", () => browser.key("ArrowRight"), 1],
        ["the left button", () => button("push-left"), -1],
        ["the right button", () => button("push-right"), 1],
        ["the mouse from the right", () => press(0.97), -1],
        ["the mouse from the left", () => press(0.03), 1],
    ]) {
        await push();
        assert.deepEqual(await browser.run(() => window.pushes.splice(0)), [side], name);
    }
});

test("a pole that is pushed hard goes to that side, and falls", async () => {
    await browser.run(() => window.watch_leans());
    for (const [id, side] of [["push-left", -1], ["push-right", 1]]) {
        await wait(3000);
        const falls = await browser.run((which) => {
            window.leans.length = 0;
            for (let i = 0; i < 8; ++i)
                document.getElementById(which).click();
            return Number(document.getElementById("falls").textContent);
        }, id);
        assert.ok(await browser.until(5, (least) => Number(document.getElementById("falls").textContent) > least, falls), id);
        // It lies at 12°, where the mean of its pixels is 13 beside the cart's; an upright one leans by 2.
        const leans = await browser.run(() => window.leans);
        assert.equal(Math.sign(leans.find((lean) => Math.abs(lean) > 3.5)), side, `${id}: ${leans}`);
    }
    await browser.run(() => (window.watch_leans = () => {}));
});

test("another method begins anew, and shows what it expects in its own way", async () => {
    for (const [value, hint] of [[0, /a number/], [2, /quantiles, learned by the energy/], [3, /five Gaussians/]]) {
        await browser.run(choose, "method", value);
        assert.ok(await browser.until(20, () => {
            const frames = Number(document.getElementById("frames").textContent.replace(",", ""));
            return frames > 0 && frames < 5000 && document.getElementById("mean-return").textContent !== "–";
        }));
        assert.match(await browser.run(text, "density-hint"), hint);
        assert.ok(Number(await browser.run(text, "mean-return")) < 150);
    }
});

test("the speed can be chosen, and stops at stop", async () => {
    const frames = async () => Number((await browser.run(text, "frames")).replaceAll(",", ""));
    await browser.run(choose, "pace", 1000);
    await wait(500);
    const start = [performance.now(), await frames()];
    await wait(3000);
    const rate = (1000 * ((await frames()) - start[1])) / (performance.now() - start[0]);
    assert.ok(rate > 600 && rate < 1400, `slow is ${rate} steps a second`);
    await browser.run(choose, "pace", 0);
    await wait(500);
    const stopped = await frames();
    await wait(700);
    assert.equal(await frames(), stopped);
    await browser.run(choose, "pace", "Infinity");
});

test("the chain shows both losses beside the truth: one collapses, the other does not", async () => {
    for (const chain of [1, 0]) {
        await browser.run(choose, "chain", chain);
        assert.ok(await browser.until(60, () => {
            const step = document.getElementById("chain-moment");
            return document.getElementById("chain-step").textContent === "3,000" && step.value === step.max;
        }));
        assert.ok(Number(await browser.run(text, "distance-huber")) > 0.3);
        assert.ok(Number(await browser.run(text, "distance-energy")) < 0.02);
    }
    assert.ok((await browser.run(count_pixels, "chain-huber", "orange")) > 200);
    assert.ok((await browser.run(count_pixels, "chain-energy", "green")) > 200);
    const slide = () => {
        const slider = document.getElementById("chain-moment");
        slider.value = 0;
        slider.dispatchEvent(new Event("input"));
    };
    await browser.run(slide);
    assert.equal(await browser.run(text, "chain-step"), "0");
    assert.ok(Number(await browser.run(text, "distance-energy")) > 0.3, "nothing is known at first");
    await browser.run(() => document.getElementById("chain-play").click());
});

const slide_robot = (to) => {
    const slider = document.getElementById("robot-moment");
    slider.value = to;
    slider.dispatchEvent(new Event("input"));
};
const choose_file = (name, content) => {
    const files = new DataTransfer();
    files.items.add(new File([content], name));
    const input = document.getElementById("robot-file");
    input.files = files.files;
    input.dispatchEvent(new Event("change"));
};
const drop_file = (name, content) => {
    const files = new DataTransfer();
    files.items.add(new File([content], name));
    document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: files, bubbles: true, cancelable: true}));
};
/// The middle of the robot's pixels, and how many there are.
const robot_middle = () => {
    const found = window.pixels_of("robot", "orange");
    return {count: found.length, x: found.reduce((sum, x) => sum + x, 0) / found.length};
};

test("a robot's recorded episode plays, pauses, and shows any moment", async () => {
    await browser.run(() => document.getElementById("robot").scrollIntoView());
    const seconds = async () => Number.parseFloat(await browser.run(text, "robot-seconds"));
    assert.ok(await browser.until(5, () => document.getElementById("robot-moment").value > 5), "it plays by itself");
    await browser.run(() => document.getElementById("robot-play").click());
    const paused = await seconds();
    await wait(500);
    assert.equal(await seconds(), paused);
    await browser.run(() => document.getElementById("robot-play").click());
    await wait(300);
    assert.notEqual(await seconds(), paused);

    // Two moments that the recording itself says all of.
    const recorded = JSON.parse(readFileSync(process.env.GMAC_RECORDING, "utf8"));
    for (const moment of [7, recorded.frames.length - 1]) {
        await browser.run(slide_robot, moment);
        assert.equal(await browser.run(text, "robot-seconds"), `${(moment * recorded.seconds).toFixed(2)} s`);
        assert.equal(await browser.run(text, "robot-mean"), recorded.frames[moment].mean.toFixed(1).replace("-", "−"));
        assert.equal(await browser.run(text, "robot-followed"), recorded.frames[moment].followed.toFixed(1).replace("-", "−"));
        assert.ok((await browser.run(robot_middle)).count > 500);
        assert.ok((await browser.run(count_pixels, "robot-density", "orange")) > 100);
    }
    assert.equal(await browser.run(text, "robot-title"), recorded.title);
});

/// A sphere of 10 cm and a bar of 1 m that points ahead, on a robot of two shapes and two frames.
const small = () => ({
    format: "gmac-episode-1", title: "a bar", seconds: 0.1, radii: [0.1, 0.05], sides: ["left", "middle"], range: [0, 2],
    frames: [0, 1].map((i) => ({
        shapes: [i, 0, 1, i, 0, 1, i, 0, 0.5, i + 1, 0, 0.5], density: [0, 1, 0], speed: 1, reward: 2, earned: 3,
        followed: 1.5, mean: 1 + i,
    })),
});

test("a recording is opened by the file dialogue or dropped, and the mouse turns it", async () => {
    await browser.run(choose_file, "a bar.json", JSON.stringify(small()));
    assert.ok(await browser.until(5, () => document.getElementById("robot-title").textContent === "a bar"));
    assert.equal(await browser.run(text, "robot-note"), "a bar.json is shown.");
    assert.equal(await browser.run(() => document.getElementById("robot-moment").max), "1");
    await browser.run(slide_robot, 1);
    assert.equal(await browser.run(text, "robot-mean"), "2.0");

    // Seen from the side the bar is long; along it, it is not: a quarter turn, π / 2 rad at 0.01 rad a pixel.
    const wide = () => {
        const found = window.pixels_of("robot", "orange");
        return Math.max(...found) - Math.min(...found);
    };
    const box = await browser.run(() => {
        const {left, top, width, height} = document.getElementById("robot").getBoundingClientRect();
        return {x: left + width / 2, y: top + height / 2};
    });
    const drag = async (across) => {
        await browser.mouse("mousePressed", box.x, box.y);
        for (let i = 1; i <= 10; ++i)
            await browser.mouse("mouseMoved", box.x + (across * i) / 10, box.y);
        await browser.mouse("mouseReleased", box.x + across, box.y);
    };
    await drag(50); // it begins turned by 0.5 rad
    const side = await browser.run(wide);
    await drag(-157);
    const front = await browser.run(wide);
    assert.ok(front < 0.45 * side, `${side} pixels from the side, ${front} from the front`);
    await browser.run(() => {
        window.pushes.length = 0;
        document.getElementById("robot").focus();
    });
    for (let i = 0; i < 15; ++i)
        await browser.key("ArrowLeft");
    assert.ok((await browser.run(wide)) > 0.9 * side, "the keys turn it back");
    assert.deepEqual(await browser.run(() => window.pushes), [], "the pole is not meant");

    await browser.run(drop_file, "dropped.json", JSON.stringify({...small(), title: "dropped"}));
    assert.ok(await browser.until(5, () => document.getElementById("robot-title").textContent === "dropped"));
});

test("a file that is no recording is refused with a sentence, and what was shown stays", async () => {
    const broken = (change) => {
        const all = small();
        change(all);
        return JSON.stringify(all);
    };
    for (const [content, sentence] of [
        ["", "it is not JSON"],
        ["{", "it is not JSON"],
        ["null", 'it has no "format": "gmac-episode-1", which gmac-play --json writes'],
        ["[1]", 'it has no "format": "gmac-episode-1", which gmac-play --json writes'],
        [broken((all) => (all.format = "gmac-episode-2")), 'it has no "format": "gmac-episode-1", which gmac-play --json writes'],
        [broken((all) => delete all.title), '"title" must be a text'],
        [broken((all) => (all.seconds = 0)), '"seconds" must be a positive number'],
        [broken((all) => (all.radii = [])), '"radii" must be a list of positive numbers'],
        [broken((all) => all.sides.pop()), '"sides" must be a list of 2 texts, as many as there are radii'],
        [broken((all) => (all.range = [2, 2])), '"range" must be two numbers, the lower one first'],
        [broken((all) => (all.frames = [])), '"frames" must be a list of one frame or more'],
        [broken((all) => (all.frames[1] = null)), '"shapes" of frame 1 must be 12 numbers, six for each radius'],
        [broken((all) => all.frames[1].shapes.pop()), '"shapes" of frame 1 must be 12 numbers, six for each radius'],
        [broken((all) => (all.frames[0].shapes[3] = null)), '"shapes" of frame 0 must be 12 numbers, six for each radius'],
        [broken((all) => all.frames[1].density.push(0)), '"density" of frame 1 must be numbers, at least two and as many as in frame 0'],
        [broken((all) => delete all.frames[0].density), '"density" of frame 0 must be numbers, at least two and as many as in frame 0'],
        [broken((all) => (all.frames[1].mean = "high")), '"mean" of frame 1 must be a number'],
    ]) {
        await browser.run(choose_file, "my file.json", content);
        const wanted = `my file.json cannot be replayed: ${sentence}.`;
        assert.ok(await browser.until(5, (note) => document.getElementById("robot-note").textContent === note, wanted),
            `${await browser.run(text, "robot-note")} instead of ${wanted}`);
        assert.equal(await browser.run(text, "robot-title"), "dropped");
    }
    await browser.run(choose_file, "hopper.json", readFileSync(process.env.GMAC_RECORDING, "utf8"));
    assert.ok(await browser.until(5, () => document.getElementById("robot-note").textContent === "hopper.json is shown."));
    await browser.run(slide_robot, 40);
});

test("everything can be reached and worked by keys, and has a name", async () => {
    await browser.run(() => document.activeElement.blur());
    const reached = [];
    for (let i = 0; i < 16; ++i) {
        await browser.key("Tab");
        reached.push(await browser.run(() => document.activeElement.name || document.activeElement.id));
    }
    for (const name of ["method", "pace", "restart", "pole", "push-left", "push-right", "chain", "chain-moment", "chain-play",
        "robot-play", "robot-moment", "robot-file", "robot"])
        assert.ok(reached.includes(name), `${name} is not among ${reached}`);
    const nameless = await browser.run(() =>
        [...document.querySelectorAll("button, input, canvas")]
            .filter((one) => !(one.textContent.trim() || one.getAttribute("aria-label") || one.closest("label")?.textContent.trim()))
            .map((one) => one.outerHTML));
    assert.deepEqual(nameless, []);
});

test("it fits a phone, a tablet and a screen, by day and by night", async () => {
    await browser.until(20, () => document.getElementById("chain-step").textContent === "3,000");
    for (const scheme of ["light", "dark"]) {
        await browser.colour_scheme(scheme);
        for (const width of [390, 820, 1440]) {
            await browser.resize(width);
            await wait(600);
            const {wide, small} = await browser.run(() => ({
                wide: document.documentElement.scrollWidth,
                small: [...document.querySelectorAll("button, .choices span")].filter((one) => one.getBoundingClientRect().height < 36).length,
            }));
            assert.equal(wide, width, `at ${width} the page is ${wide} wide`);
            assert.equal(small, 0, `at ${width} there are buttons too low for a finger`);
            await browser.screenshot(picture(`${scheme}-${width}`));
        }
    }
});

test("where a page may have no workers, it computes by itself", async () => {
    const {identifier} = await browser.command("Page.addScriptToEvaluateOnNewDocument", {source: "window.Worker = undefined"});
    await browser.open(page);
    assert.ok(await browser.until(60, () => {
        const number = (id) => Number(document.getElementById(id).textContent.replaceAll(",", ""));
        return number("frames") > 2000 && number("distance-energy") < 0.02;
    }));
    await browser.command("Page.removeScriptToEvaluateOnNewDocument", {identifier});
});

test("the page asks nobody for anything, and has no complaint", async () => {
    const requests = (await browser.log("performance"))
        .map(({message}) => JSON.parse(message).message)
        .filter(({method}) => method === "Network.requestWillBeSent")
        .map(({params}) => params.request.url);
    assert.ok(requests.includes(page), "the log has the page itself");
    assert.deepEqual(requests.filter((url) => url !== page && !/^(blob:null\/|data:)/.test(url)), []);
    assert.deepEqual(await browser.log("browser"), []);
    assert.equal(await browser.run(() => document.getElementById("failure").hidden), true);
    assert.ok(!/(src|href)="(?!https:\/\/arxiv\.org|data:)/.test(readFileSync(process.env.GMAC_PAGE, "utf8").replace(/<script[^]*?<\/script>/g, "")));
});
