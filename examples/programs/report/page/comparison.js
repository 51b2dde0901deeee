// SPDX-License-Identifier: Apache-2.0
// The page of several runs: show_comparison once.
"use strict";

/// A colour and a kind of line for each method, the same on the whole page.
const looks = new Map();
const colours = ["blue", "orange", "green", "purple", "truth"];
const look_of = (method) => looks.get(method) ?? {colour: "truth"};
const choose_looks = (methods) => methods.forEach((method, i) => looks.set(method, {
    colour: colours[i % colours.length], dashes: [undefined, "7 4", "2 3"][Math.floor(i / colours.length) % 3],
}));

/// An interval in units of a mean that may be 0 has no upper end.
const interval_text = ({value, low, high}, digits = 4) =>
    `${readable(value, digits)} (${readable(low, digits)} ${is_number(high) ? `to ${readable(high, digits)}` : "and more"})`;

/// A row a method: single scores as dots, an estimate with its interval. rows: [{name, scores, estimate}]
const interval_chart = (box, {label, rows, x_name}) => {
    const told = rows.map(({name, estimate}) => `${name}: ${interval_text(estimate)}`).join("; ");
    box.style.height = `${58 + 46 * rows.length}px`;
    chart(box, `${label}. ${told}`, (picture, width, height) => {
        const x_range = wider(range_of(...rows.flatMap(({scores, estimate: {low, high}}) => [scores, [low, high]])), 0.04);
        const place = axes_in(picture, width, height, {x_range, y_range: [0, rows.length], x_name, y_ticks: false});
        rows.forEach(({name, scores, estimate}, i) => {
            const {colour} = look_of(name);
            const y = place.y(rows.length - i - 0.62);
            picture.append(svg("text", {x: place.left, y: place.y(rows.length - i) + 14}, `${name}: ${interval_text(estimate)}`));
            picture.append(svg("path", {d: `M${place.x(estimate.low)} ${y}H${is_number(estimate.high) ? place.x(estimate.high) : place.right}`, stroke: ink(colour), "stroke-width": 7, opacity: 0.35}));
            for (const score of scores)
                if (is_number(score))
                    picture.append(svg("circle", {cx: place.x(score), cy: y, r: 3, fill: "none", stroke: ink(colour), "stroke-width": 1.5}));
            picture.append(svg("path", {d: `M${place.x(estimate.value)} ${y - 9}v18`, stroke: ink(colour), "stroke-width": 3}));
        });
    });
};

const profile_chart = (box, {profile, label, x_name}) => line_chart(box, {
    label, x_name, y_name: "share of the runs above it", y_range: [0, 1],
    series: profile.methods.map(({name, share, low, high}) => ({name, x: profile.thresholds, y: share, low, high, ...look_of(name)})),
});

const figure_of = (title, hint, kind = "tall") => {
    const box = make("div", {className: `chart ${kind}`});
    return [make("figure", {}, make("figcaption", {}, title), box, make("p", {className: "hint"}, hint)), box];
};
const scrolled = (label, table) => {
    const box = make("div", {className: "scrolled", tabIndex: 0, ariaLabel: label}, table);
    box.setAttribute("role", "region");
    return box;
};

const improvement_table = (methods, rows) => table_of(["a run of …", ...methods.map((name) => `beats one of ${name}`)], methods.map((name, i) =>
    make("tr", {}, make("th", {scope: "row"}, name), ...rows[i].map((one) => make("td", {}, one ? interval_text(one, 2) : "–")))));

const show_improvement = (section, names, improvement) => names.length > 1 && section.append(make("h3", {}, "Probability of improvement"),
    scrolled("Probability of improvement", improvement_table(names, improvement)),
    make("p", {className: "hint"}, "The chance that a run of the method of the row has a higher score than one of the column's, a mean over the environments, with 95 % of the stratified bootstrap. 0.5 is a draw; an interval with 0.5 in it decides nothing."));

/// The charts that one environment and all together have; what is returned draws them, once the section is on the page.
const charts_of = (section, {methods, profile, unit}) => {
    const [means, means_box] = figure_of("Interquartile mean over the runs", "Circles: single runs. Bar: 95 % of the stratified bootstrap.", "");
    const [profiles, profiles_box] = figure_of("Performance profile", "How many of the runs have a score above a threshold: the higher, the better. Bands: 95 %, at each place.");
    section.append(make("div", {className: "panels"}, means, profiles));
    const few = methods.filter(({scores}) => scores.length < 5).map(({name}) => name);
    if (few.length > 0)
        section.append(make("p", {className: "hint"}, `Fewer than five runs: ${few.join(", ")}. The bootstrap knows only what it was given, so such intervals are too narrow.`));
    return () => {
        interval_chart(means_box, {label: "Interquartile means", rows: methods.map(({name, scores, interquartile_mean: estimate}) => ({name, scores, estimate})), x_name: unit});
        profile_chart(profiles_box, {profile, label: "Performance profile", x_name: unit});
    };
};

const show_task = ({env, evaluated, methods, profile, improvement}) => {
    const section = make("section", {});
    const [curves, box] = figure_of(`Returns of ${env} over the training`, "Mean of the last 100 episodes: line, the mean over the seeds; band, from the lowest to the highest seed; as far as all of them have come.");
    section.append(make("h2", {}, env), curves);
    const draw = charts_of(section, {methods, profile, unit: evaluated ? "mean return of the evaluation" : "mean return of the last 100 episodes"});
    show_improvement(section, methods.map(({name}) => name), improvement);
    by_id("tasks").append(section);
    line_chart(box, {label: `Returns of ${env}`, x_name: "frames",
        series: methods.map(({name, scores, curve}) => ({name: `${name}, ${plural(scores.length, "run")}`, ...curve, ...look_of(name)}))});
    draw();
};

const show_overall = ({overall, overall_problem}) => {
    const section = by_id("overall");
    section.hidden = !overall && !overall_problem;
    if (overall_problem)
        section.append(make("p", {className: "missing"}, overall_problem));
    if (!overall)
        return;
    section.append(make("p", {className: "lead"}, `${overall.tasks.join(", ")}.`));
    if (overall.methods)
        charts_of(section, {...overall, unit: `score, in units of the mean of ${overall.baseline} on each environment`})();
    show_improvement(section, overall.names, overall.improvement);
};

const show_settings_that_differ = ({settings, tasks}) => {
    by_id("settings-hint").textContent = settings.length > 0 ? "Seeds aside." : "None: on each environment all methods have the same settings, seeds aside.";
    for (const {env} of tasks) {
        const own = settings.filter((one) => one.env === env);
        const methods = [...looks.keys()].filter((name) => own.some(({values}) => name in values));
        if (own.length > 0)
            by_id("settings-tables").append(make("h3", {}, env), scrolled(`Settings that differ on ${env}`, table_of(["setting", ...methods], own.map(({name, values}) =>
                make("tr", {}, make("th", {scope: "row"}, name), ...methods.map((method) => make("td", {className: "value"}, values[method] ?? "–")))))));
    }
};

const show_runs = ({runs}) => {
    const names = ["run", "environment", "method", "seed", "frames", "seconds", "mean return of the last 100", "evaluation"];
    const cells = ({name, env, method, seed, frames, seconds, last, evaluation}) => [name, env, method, seed, frames, seconds, last, evaluation].map((cell) => String(cell ?? "–"));
    by_id("run-table").replaceChildren(table_of(names, runs.map((one) => make("tr", {}, ...cells(one).map((cell) => make("td", {}, cell))))));
    const text = by_id("text");
    text.value = [names, ...runs.map(cells)].map((row) => row.join("\t")).join("\n");
    by_id("copy").onclick = async () => {
        try {
            await navigator.clipboard.writeText(text.value);
            by_id("copied").textContent = "It is in the clipboard.";
        } catch { // as of some browsers for a page from the disk
            text.closest("details").open = true;
            text.select();
            by_id("copied").textContent = document.execCommand("copy") ? "It is in the clipboard." : "It is selected: copy it from there.";
        }
    };
};

const show_comparison = (data) => {
    choose_looks(data.methods);
    by_id("lead").textContent = `${plural(data.runs.length, "run")} of ${plural(data.methods.length, "method")} on ${plural(data.tasks.length, "environment")}.`;
    by_id("legend").replaceChildren(...data.methods.map((method) => key(look_of(method).colour, method, look_of(method).dashes ? "dashed" : "")));
    show_problems(data);
    show_overall(data);
    data.tasks.forEach(show_task);
    show_settings_that_differ(data);
    show_runs(data);
};
