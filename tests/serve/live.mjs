// SPDX-License-Identifier: Apache-2.0
// The report of a run that trains, as a browser shows it.
import assert from "node:assert/strict";
import {spawn} from "node:child_process";
import {once} from "node:events";
import {mkdtempSync, readFileSync, rmSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {createInterface} from "node:readline";
import {after, before, test} from "node:test";

import {Browser} from "../support/browser.mjs";

const folder = mkdtempSync(join(tmpdir(), "gmac live "));
let browser, training, address;
before(async () => {
    training = spawn(process.env.GMAC_TRAIN, [
        "--env", "classic/cart_pole", "--frames", "1000000000", "--serve", "0", "--out", join(folder, "run"),
        "--evaluation-episodes", "0", "--no-pictures",
    ], {stdio: ["ignore", "pipe", "inherit"]});
    for await (const line of createInterface({input: training.stdout})) {
        address = /the report is at (\S+)/.exec(line)?.[1];
        if (address)
            break;
    }
    training.stdout.resume();
    browser = await Browser.start();
    await browser.open(address);
});
after(async () => {
    training.kill("SIGKILL");
    await browser.stop();
    rmSync(folder, {recursive: true});
});

/// Given to the page: the frames that it says were trained, without those that were asked for.
const teach = () => {
    window.trained = () => {
        const term = [...document.querySelectorAll("#numbers dt")].find((one) => one.textContent === "frames");
        return Number(term.nextElementSibling.textContent.split(" of ")[0].replace(/\D/g, ""));
    };
};

test("the page grows with the run, without being loaded again", async () => {
    await browser.run(teach); // which would be gone after a load
    assert.match(await browser.run(() => document.querySelector("h1").textContent), /cart_pole/);
    for (let turn = 0, shown = await browser.run(() => window.trained()); turn < 3; ++turn) {
        const before = shown;
        shown = await browser.until(60, (least) => window.trained() > least && window.trained(), before);
        assert.ok(shown > before, `the page still shows ${before} frames`);
    }
    await browser.screenshot(`${process.env.GMAC_SCREENSHOTS}/live.png`);
});

test("the page shows the last update of a run that has ended", async () => {
    training.kill("SIGINT");
    await once(training, "exit");
    const rows = readFileSync(join(folder, "run", "metrics.csv"), "utf8").trim().split("\n");
    const last = Number(rows.at(-1).split(",")[0]);
    assert.equal(await browser.until(10, (expected) => window.trained() === expected, last), true);
});

test("nothing was asked of anybody else, and nothing went wrong before the end", async () => {
    const asked = (await browser.log("performance"))
        .map(({message}) => JSON.parse(message).message)
        .filter(({method}) => method === "Network.requestWillBeSent")
        .map(({params}) => params.request.url)
        .filter((url) => !url.startsWith("data:"));
    assert.ok(asked.some((url) => url === `${address}events`));
    assert.ok(asked.some((url) => url === `${address}data.json`));
    assert.deepEqual(asked.filter((url) => !url.startsWith(address)), []);
    const bad = (await browser.log("browser")).filter(({message}) => !/events|data\.json/.test(message));
    assert.deepEqual(bad, []); // the end of the server is in there, too
});
