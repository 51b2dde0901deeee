// SPDX-License-Identifier: Apache-2.0
// What the page computes, without a browser.
import assert from "node:assert/strict";
import {createRequire} from "node:module";
import {readFileSync} from "node:fs";
import test from "node:test";

const make = createRequire(import.meta.url)(process.env.GMAC_ENGINE);
const wasm = await make();
const address = (at, k) => wasm.HEAPU32[(at >> 2) + k];
const number = (at, k) => wasm.HEAPF64[(at >> 3) + k];
const numbers = (at, count) => Array.from(wasm.HEAPF64.subarray(at >> 3, (at >> 3) + count));
const places = 221;
const integral = (heights, width) => (heights.reduce((sum, y) => sum + y, 0) * width) / (places - 1);

const train = (method, seed, updates) => {
    wasm._playground_create(method, seed);
    let at = 0;
    for (let i = 0; i < updates; ++i)
        at = wasm._playground_train();
    return {frames: number(at, 0), mean_return: number(at, 1)};
};
const expectation = () => {
    const at = wasm._playground_expect();
    return {
        mean: number(at, 0),
        points: numbers(address(at, 4), number(at, 1)),
        densities: numbers(address(at, 5), places),
    };
};

test("the WebAssembly is smaller than 2 MB", () => {
    const coded = /data:application\/octet-stream;base64,([A-Za-z0-9+/=]+)/.exec(readFileSync(process.env.GMAC_ENGINE, "utf8"));
    const size = Buffer.from(coded[1], "base64").length;
    assert.ok(size > 10_000 && size < 2_000_000, `it has ${size} bytes`);
});

for (const [method, name] of ["PPO", "IQAC", "IQAC-E", "GMAC"].entries())
    test(`${name} learns, and a run is the same each time`, () => {
        const before = train(method, 1, 4);
        assert.equal(before.frames, 1024);
        const after = train(method, 1, 80);
        assert.equal(after.frames, 80 * 256);
        assert.ok(before.mean_return < 50, `after 4 updates it is ${before.mean_return}`);
        assert.ok(after.mean_return > 2.5 * before.mean_return, `after 80 updates it is ${after.mean_return}`);
        const expected = expectation();
        assert.deepEqual(train(method, 1, 4), before);
        assert.notEqual(train(method, 2, 4).mean_return, before.mean_return);

        // With the discount 0.98 nothing is above 50; the agent has an idea of how long it lasts.
        assert.ok(expected.mean > 20 && expected.mean < 55, `it expects ${expected.mean}`);
        assert.equal(expected.points.length, {PPO: 1, GMAC: 0}[name] ?? 16);
        if (expected.points.length > 0) {
            const mean = expected.points.reduce((sum, x) => sum + x, 0) / expected.points.length;
            assert.ok(Math.abs(mean - expected.mean) < 1e-6);
        }
        if (name !== "PPO")
            assert.ok(integral(expected.densities, 55) > 0.6, `the density's integral is ${integral(expected.densities, 55)}`);
    });

test("a push moves the pole, and the agent acts upon the state", () => {
    const angles = [0, 1].map((force) => {
        train(0, 3, 1);
        wasm._playground_watch(1);
        wasm._playground_push(force);
        const at = wasm._playground_watch(2);
        return numbers(at + 48, 6);
    });
    // Half a radian a second for 20 ms, and what the cart does in 20 ms: at most 20 rad/s^2.
    assert.ok(angles[1][2] - angles[0][2] > 0.02, String(angles));
    assert.ok(angles[1][3] - angles[0][3] > 0.2, String(angles));
});

test("an untrained agent's pole falls, and begins anew", () => {
    train(3, 1, 1);
    let last = 0;
    for (let i = 0; i < 20; ++i)
        last = wasm._playground_watch(64) + 48 * 63;
    assert.ok(number(last, 5) > 3, "it fell so often");
    assert.ok(number(last, 4) < 500);
});

test("the Huber quantile loss makes one peak of the chain's two, the energy loss keeps both", () => {
    const learn = (chain, method) => {
        const at = wasm._playground_learn_chain(chain, method, 1);
        const [moments, points] = [number(at, 0), number(at, 1)];
        const densities = numbers(address(at, 7) + 8 * places * (moments - 1), places);
        const truth = numbers(address(at, 8), places);
        return {
            points, densities, truth,
            steps: numbers(address(at, 4), moments),
            distance: number(address(at, 5), moments - 1),
            middle: integral(densities.map((y, i) => (Math.abs(i - 110) < 40 ? y : 0)), 3.3), // |x| < 0.6
        };
    };
    for (const chain of [0, 1]) {
        const huber = learn(chain, 0);
        const energy = learn(chain, 7);
        assert.equal(huber.points, 15);
        assert.equal(energy.points, 0);
        assert.equal(huber.steps.at(-1), 3000);
        assert.ok(huber.distance > 0.3 && energy.distance < 0.02, `${huber.distance}, ${energy.distance}`);
        assert.ok(energy.middle < 0.05);
        assert.ok(chain === 1 || huber.middle > 0.9, String(huber.middle));
        assert.ok(Math.abs(integral(huber.truth, 3.3) - 1) < 1e-3);
        assert.ok(Math.abs(integral(huber.densities, 3.3) - 1) < 1e-2);
    }
});
