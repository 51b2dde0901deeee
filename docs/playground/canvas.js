// SPDX-License-Identifier: Apache-2.0
// Shared by docs/playground and the report of a run.
"use strict";

/// A canvas with as many pixels as the screen has there: draw(context, width, height) in the units of CSS.
const surface = (canvas, draw) => {
    const again = () => {
        const {width, height} = canvas.getBoundingClientRect();
        const scale = window.devicePixelRatio || 1;
        const [across, down] = [Math.round(width * scale), Math.round(height * scale)];
        if (canvas.width !== across || canvas.height !== down)
            [canvas.width, canvas.height] = [across, down];
        const context = canvas.getContext("2d");
        context.setTransform(scale, 0, 0, scale, 0, 0);
        context.clearRect(0, 0, width, height);
        context.font = "13px system-ui, 'DejaVu Sans', sans-serif";
        context.lineJoin = "round";
        if (width > 0)
            draw(context, width, height);
    };
    new ResizeObserver(again).observe(canvas);
    return again;
};
