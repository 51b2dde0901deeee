// SPDX-License-Identifier: Apache-2.0
// The reference opened from a folder, in a browser without a window: its search finds things, and nothing comes from elsewhere.
import assert from "node:assert/strict";
import {after, before, test} from "node:test";
import {pathToFileURL} from "node:url";

import {Browser} from "../support/browser.mjs";

const folder = pathToFileURL(process.env.GMAC_PAGES).href;
let browser;
before(async () => { browser = await Browser.start(); });
after(() => browser?.stop());

/// Types into the search and gives what it shows: each name with all places that have it.
const search = async (text) => {
    const [x, y] = await browser.run(() => {
        const field = document.getElementById("MSearchField").getBoundingClientRect();
        return [field.x + field.width / 2, field.y + field.height / 2];
    });
    await browser.press(x, y);
    for (const key of text)
        await browser.command("Input.dispatchKeyEvent", {type: "char", text: key});
    await browser.key("ArrowRight"); // Doxygen looks when a key is let go
    assert.ok(await browser.until(10, () => document.getElementById("MSearchResultsWindow").style.display === "block"),
              "the results are shown");
    const frame = await browser.ask("POST", "/element", {using: "css selector", value: "#MSearchResults"});
    await browser.ask("POST", "/frame", {id: frame});
    const shown = () => [...document.querySelectorAll(".SRResult")]
        .filter((result) => getComputedStyle(result).display !== "none")
        .map((result) => [result.querySelector(".SRSymbol").textContent,
                          [...result.querySelectorAll("a[href*='.html']")].map(({href}) => href)]);
    await browser.until(10, () => document.querySelector("#Searching")?.style.display === "none");
    const results = await browser.run(shown);
    await browser.ask("POST", "/frame", {id: null});
    return results;
};

test("a loss, a page, and what is not there", async () => {
    await browser.open(`${folder}/index.html`);
    const losses = await search("gaussian_mixture_ene");
    assert.deepEqual(losses.map(([text]) => text), ["gaussian_mixture_energy", "gaussian_mixture_energy.hpp"]);
    await browser.open(losses[0][1].find((place) => place.includes("losses")));
    assert.match(await browser.run(() => document.title), /gmac::losses::gaussian_mixture_energy/);

    const pages = await search("which loss");
    assert.equal(pages.length, 1);
    await browser.open(pages[0][1][0]);
    assert.match(await browser.run(() => document.title), /Which loss shall I take/);

    assert.deepEqual(await search("nothing_of_this_name"), []);
});

test("nothing comes from elsewhere, and no script fails", async () => {
    await browser.open(`${folder}/docs-results.html`);
    const requests = (await browser.log("performance"))
        .map((entry) => JSON.parse(entry.message).message)
        .filter(({method}) => method === "Network.requestWillBeSent")
        .map(({params}) => params.request.url);
    assert.ok(requests.some((url) => url.endsWith("search/search.js")), "requests are logged");
    assert.deepEqual(requests.filter((url) => !/^(file|data|javascript|about):/.test(url)), []);
    const failures = (await browser.log("browser")).filter(({level}) => level === "SEVERE").map(({message}) => message);
    assert.deepEqual(failures, []);
});
