// SPDX-License-Identifier: Apache-2.0
// The side that computes. It follows upon the JavaScript of Emscripten, which makes `make_playground`, and runs in a
// worker; where a page may have none, in the page. It hears and sends messages, see page.js.
make_playground().then((wasm) => {
    const address = (at, k) => wasm.HEAPU32[(at >> 2) + k];
    const number = (at, k) => wasm.HEAPF64[(at >> 3) + k];
    const numbers = (at, count) => wasm.HEAPF64.slice(at >> 3, (at >> 3) + count);
    const places = 221;
    const step = 20; // milliseconds of the watched pole

    let pace = 0; // steps of learning a second
    let made = false;
    let shown = 0; // until when the pole was watched
    let owed = 0; // steps that the pace allows by now
    let turned = 0;
    let posted = 0;
    let ends = [];
    let poles = [];
    let frames = 0;
    let mean_return = NaN;
    let window_start = 0; // of the speed that is told
    let window_frames = 0;
    let rate = NaN;

    const watch = (now) => {
        let due = Math.floor((now - shown) / step);
        if (due > 25) { // the page slept
            due = 1;
            shown = now - step;
        }
        if (due <= 0)
            return;
        shown += due * step;
        const at = wasm._playground_watch(due);
        for (let i = 0; i < due; ++i)
            poles.push(Array.from(numbers(at + 48 * i, 6)));
    };

    const learn = () => {
        const at = wasm._playground_train();
        const before = frames;
        frames = number(at, 0);
        mean_return = number(at, 1);
        ends.push(...numbers(address(at, 6), 2 * number(at, 2)));
        return frames - before;
    };

    const post = (now) => {
        posted = now;
        if (now - window_start > 1000) {
            rate = (1000 * (frames - window_frames)) / (now - window_start);
            window_start = now;
            window_frames = frames;
        }
        const at = wasm._playground_expect();
        const value = {
            mean: number(at, 0),
            points: numbers(address(at, 4), number(at, 1)),
            densities: numbers(address(at, 5), places),
        };
        self.postMessage({kind: "state", frames, rate, mean_return, ends, poles, value});
        ends = [];
        poles = [];
    };

    const turn = () => {
        const now = performance.now();
        watch(now);
        if (pace === Infinity) {
            learn();
        } else {
            owed = Math.min(owed + (pace * (now - turned)) / 1000, 512); // after a pause little is made up for
            if (owed >= 256)
                owed -= learn();
        }
        turned = now;
        if (now - posted >= 15 && poles.length > 0)
            post(now);
        again();
    };

    // setTimeout waits 4 ms at least, a message does not.
    const channel = new MessageChannel();
    channel.port1.onmessage = turn;
    const again = () => (pace === Infinity ? channel.port2.postMessage(0) : setTimeout(turn, 5));

    const orders = {
        create({method, seed}) {
            wasm._playground_create(method, seed);
            const now = performance.now();
            [frames, mean_return, rate, owed, window_frames] = [0, NaN, NaN, 0, 0];
            [shown, turned, window_start] = [now, now, now];
            [ends, poles] = [[], []];
            self.postMessage({kind: "created", method});
            if (!made) {
                made = true;
                again();
            }
        },
        pace({value}) {
            pace = value;
        },
        push({angular_velocity}) {
            if (made)
                wasm._playground_push(angular_velocity);
        },
        chain({chain, method, seed}) {
            const at = wasm._playground_learn_chain(chain, method, seed);
            const [moments, points] = [number(at, 0), number(at, 1)];
            self.postMessage({
                kind: "chain", chain, method, moments, points,
                steps: numbers(address(at, 4), moments),
                distances: numbers(address(at, 5), moments),
                locations: numbers(address(at, 6), moments * points),
                densities: numbers(address(at, 7), moments * places),
                truth: numbers(address(at, 8), places),
            });
        },
    };
    self.onmessage = ({data}) => orders[data.order](data);
    self.postMessage({kind: "ready"});
}).catch((problem) => self.postMessage({kind: "failure", message: String(problem)}));
