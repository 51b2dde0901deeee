// SPDX-License-Identifier: Apache-2.0
// A browser without a window, by the WebDriver protocol.
import {spawn} from "node:child_process";
import {once} from "node:events";
import {mkdirSync, writeFileSync} from "node:fs";
import {createInterface} from "node:readline";
import {dirname} from "node:path";
import {setTimeout as wait} from "node:timers/promises";

const start_driver = async (program) => {
    const driver = spawn(program, ["--port=0"], {stdio: ["ignore", "pipe", "inherit"]});
    for await (const line of createInterface({input: driver.stdout})) {
        const found = /started successfully on port (\d+)/.exec(line);
        if (found)
            return {driver, address: `http://127.0.0.1:${found[1]}`};
    }
    throw new Error(`${program} has not started`);
};

export class Browser {
    static async start() {
        const {driver, address} = await start_driver(process.env.GMAC_CHROMEDRIVER);
        const browser = new Browser();
        browser.driver = driver;
        browser.address = address;
        const {sessionId} = await browser.ask("POST", "/session", {
            capabilities: {
                alwaysMatch: {
                    "goog:chromeOptions": {
                        binary: process.env.GMAC_CHROMIUM,
                        args: [
                            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                            "--disable-background-networking", "--hide-scrollbars", "--window-size=1440,900",
                        ],
                        perfLoggingPrefs: {enableNetwork: true},
                    },
                    "goog:loggingPrefs": {browser: "ALL", performance: "ALL"},
                },
            },
        });
        browser.address += `/session/${sessionId}`;
        return browser;
    }

    /// One that reaches no network.
    static async start_offline() {
        const browser = await Browser.start();
        await browser.command("Network.enable");
        await browser.command("Network.setBlockedURLs", {urls: ["http://*", "https://*"]});
        return browser;
    }

    async ask(method, path, body = {}) {
        const answer = await fetch(this.address + path, {
            method,
            body: method === "POST" ? JSON.stringify(body) : undefined,
        });
        const {value} = await answer.json();
        if (!answer.ok)
            throw new Error(`${method} ${path}: ${value.message}`);
        return value;
    }

    open(url) {
        return this.ask("POST", "/url", {url});
    }
    /// What a function gives in the page, which knows nothing of this file.
    run(work, ...args) {
        return this.ask("POST", "/execute/sync", {script: `return (${work})(...arguments)`, args});
    }
    command(cmd, params = {}) {
        return this.ask("POST", "/goog/cdp/execute", {cmd, params});
    }
    /// Waits for a function of the page to give something true.
    async until(seconds, work, ...args) {
        const end = performance.now() + 1000 * seconds;
        for (;;) {
            const found = await this.run(work, ...args);
            if (found || performance.now() > end)
                return found;
            await wait(100);
        }
    }
    log(kind) {
        return this.ask("POST", "/se/log", {type: kind});
    }
    resize(width, height = 900) {
        return this.command("Emulation.setDeviceMetricsOverride", {
            width, height, deviceScaleFactor: width < 500 ? 2 : 1, mobile: false,
        });
    }
    colour_scheme(value) {
        return this.command("Emulation.setEmulatedMedia", {features: [{name: "prefers-color-scheme", value}]});
    }
    /// Of the whole page.
    async screenshot(file) {
        const {data} = await this.command("Page.captureScreenshot", {format: "png", captureBeyondViewport: true});
        mkdirSync(dirname(file), {recursive: true});
        writeFileSync(file, Buffer.from(data, "base64"));
    }
    /// The nearest that a test gets to a key: pressed and released.
    async key(key) {
        const windowsVirtualKeyCode = {Tab: 9, ArrowLeft: 37, ArrowRight: 39}[key];
        for (const type of ["keyDown", "keyUp"])
            await this.command("Input.dispatchKeyEvent", {type, key, code: key, windowsVirtualKeyCode});
    }
    async press(x, y) {
        for (const type of ["mousePressed", "mouseReleased"])
            await this.command("Input.dispatchMouseEvent", {type, x, y, button: "left", clickCount: 1});
    }

    /// One event of the mouse's left button, or of its way while that is down.
    mouse(type, x, y) {
        return this.command("Input.dispatchMouseEvent", {type, x, y, button: "left", buttons: 1, clickCount: 1});
    }

    async stop() {
        await this.ask("DELETE", "");
        this.driver.kill();
        await once(this.driver, "exit");
    }
}
