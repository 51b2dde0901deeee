// SPDX-License-Identifier: Apache-2.0
// The report of a run: start_report once, then show_report for each state of its data, which keeps what the reader has
// opened, chosen and started.
"use strict";

const duration = (seconds) => {
    if (!is_number(seconds))
        return "–";
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
    return hours > 0 ? `${hours} h ${minutes} min` : seconds >= 60 ? `${minutes} min ${Math.floor(seconds % 60)} s` : `${readable(seconds, 3)} s`;
};
const column = (table, name) => table?.columns?.[name] ?? {mean: []};
const has_numbers = (table, name) => column(table, name).mean.some(is_number);
const curve_of = (table, name, rest) => ({x: table.x, y: column(table, name).mean, low: column(table, name).low, high: column(table, name).high, ...rest});
const set_numbers = (list, pairs) => list.replaceChildren(...pairs.filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));

/// Of a shared library the name of the file.
const environment_of = ({env}) => (env.endsWith(".so") ? env.split("/").at(-1) : env);

const show_head = ({run, summary, machines}, live) => {
    const name = run.env ? `${run.algorithm || "?"} on ${environment_of(run)}` : run.name;
    document.title = `${name}, seed ${run.seed ?? "?"}`;
    by_id("title").textContent = name;
    const evaluation = summary?.evaluation;
    const parts = [run.name, run.finished ? "finished" : live ? "in training" : "not finished"];
    if (machines[0]?.frames === 0 && typeof machines[0].began === "string")
        parts.push(`begun ${machines[0].began.replace("T", " ").replace("Z", " UTC")}`);
    by_id("state").textContent = parts.join(" · ");
    const asked = is_number(run.frames_asked) && run.frames_asked !== run.frames ? make("small", {}, ` of ${whole(run.frames_asked)}`) : "";
    set_numbers(by_id("numbers"), [
        ["seed", String(run.seed ?? "–")],
        ["frames", make("span", {}, whole(run.frames), asked)],
        ["time", duration(run.seconds)],
        ["frames a second", run.seconds > 0 ? readable(run.frames / run.seconds, 3) : "–"],
        ["episodes", whole(run.episodes)],
        ["mean return of the last 100", readable(run.mean_return)],
        ["evaluation", is_number(evaluation?.mean) ? make("span", {}, readable(evaluation.mean), make("small", {}, ` over ${evaluation.episodes}`)) : null],
    ]);
};

const show_returns = ({run, metrics, episodes, evaluations, summary}) => {
    const series = [], dots = [], levels = [], legend = [];
    if (episodes.return.some(is_number)) {
        dots.push({x: episodes.frames, y: episodes.return, colour: "truth"});
        legend.push(key("truth", "episodes", "dot"));
    }
    if (has_numbers(metrics, "mean_return")) {
        series.push(curve_of(metrics, "mean_return", {name: "mean of the last 100", colour: "blue"}));
        legend.push(key("blue", "mean of the last 100 episodes"));
    }
    if (has_numbers(evaluations, "mean_return")) {
        series.push({name: "evaluation", colour: "orange", marks: true, x: evaluations.x, y: column(evaluations, "mean_return").mean,
            low: column(evaluations, "lowest_return").mean, high: column(evaluations, "highest_return").mean});
        legend.push(key("orange", "evaluations with the most likely actions, with the range of their episodes"));
    }
    if (is_number(summary?.evaluation?.mean)) {
        levels.push({value: summary.evaluation.mean, name: "evaluation at the end", colour: "orange"});
        legend.push(key("orange", "evaluation at the end", "dashed"));
    }
    if (run.env === "bullet/hopper")
        levels.push({value: 1010, name: "standing still"}, {value: 1500, name: "hopping"});
    if (dots.length === 0 && series.length === 0)
        throw new Missing(run.updates === 0 ? "No update is done yet." : "No episode has ended yet, so there is no return.");
    line_chart(by_id("chart-returns"), {label: "Returns over the training", series, dots, levels, x_name: "frames"});
    const thinned = episodes.each > 1
        ? `Of each ${episodes.each} episodes in a row the lowest, the middle and the highest one are shown, of ${whole(episodes.rows)} in all.` : "";
    by_id("returns-hint").replaceChildren(...legend, make("span", {className: "thinned"}, thinned));
};

const not_played = (program) => new Missing(`The agent was not played: ${program} report RUN plays it, if the run has a checkpoint.`);
const show_calibration = ({observed, program}) => {
    const found = observed?.calibration;
    if (!found)
        throw not_played(program);
    const {states, left_out, episodes, horizon, limit, spread} = found;
    by_id("calibration-lead").textContent =
        `Played again, with actions drawn as in training: at ${plural(states, "state")} of ${plural(episodes, "episode")} the return that came, `
        + `discounted by ${observed.discount} and in units of the rewards, beside the distribution that was predicted there.`
        + (observed.scale !== 1 ? ` The agent learns from rewards divided by ${readable(observed.scale)}, which is undone here.` : "");
    const fair = !(found.cut > 0.05 * (found.cut + states));
    const left = `${plural(left_out, "further state")} ${left_out === 1 ? "is" : "are"} left out, ${is_number(horizon) ? `less than ${plural(horizon, "step")} ` : ""}before an end that only cut the episode: `
        + `their return is not known to a twentieth${is_number(horizon) ? ` (${observed.discount}^${horizon} ≤ 0.05)` : ""}.`
        + (is_number(limit) ? ` That goes by the time limit of ${limit} steps, whether or not an episode came to it, since else those that failed would remain.` : "");
    by_id("calibration-hint").textContent = left_out > 0 ? left : "";
    by_id("calibration-warning").hidden = fair;
    by_id("calibration-warning").textContent = `Of the ${whole(found.cut + states)} states that could be judged ${whole(found.cut)} are left out because their own `
        + "episode was cut. Those that remain ended early, and may be better or worse than the others: read what follows with care.";
    by_id("calibration-charts").hidden = states === 0 || !spread;
    by_id("scores").hidden = states === 0;
    if (states === 0) {
        by_id("calibration-lead").textContent = "The agent was played again, but no state is far enough from a cut to know its return.";
        return;
    }
    set_numbers(by_id("scores"), [
        ["CRPS of the prediction", readable(found.crps)],
        ["of its mean alone", spread ? readable(found.crps_of_mean) : null],
        ["of all returns that came, as one prediction", readable(found.crps_of_all)],
        ["mean that was predicted", readable(found.mean_predicted)],
        ["mean that came", readable(found.mean_came)],
    ]);
    if (!spread) {
        by_id("calibration-lead").textContent += " This method predicts a number and no distribution, so there is nothing to be calibrated:"
            + " the CRPS is the mean distance of the number from what came.";
        return;
    }
    by_id("calibration-lead").textContent += ` ${verdict_of(found)}`;
    const off = found.below.map((share, i) => Math.abs(share - found.levels[i]));
    reliability_chart(by_id("chart-reliability"), {
        label: `Reliability: the share of returns below a quantile is off by ${readable(100 * off.reduce((a, b) => a + b, 0) / off.length, 2)} points on average`,
        predicted: found.levels, came: found.below, low: found.low, high: found.high, x_name: "level of the predicted quantile", y_name: "share of returns below it",
    });
    bar_chart(by_id("chart-pit"), {
        label: "Histogram of the probability integral transform", shares: found.bins, level: 1 / found.bins.length,
        x_name: "predicted probability of a return as low", y_name: "share of the states",
    });
};
const verdict_of = ({bins}) => {
    const edge = Math.max(1, Math.round(bins.length / 10));
    const sum = (list) => list.reduce((a, b) => a + b, 0);
    const [low, high] = [sum(bins.slice(0, edge)), sum(bins.slice(-edge))];
    const mean = sum(bins.map((share, i) => (share * (i + 0.5)) / bins.length));
    const even = (2 * edge) / bins.length;
    const bias = mean < 0.4 ? "Predictions are too high: returns lie low in them" : mean > 0.6 ? "Predictions are too low: returns lie high in them"
        : "Predictions are neither too high nor too low on the whole";
    if (Math.abs(mean - 0.5) > 0.2)
        return `${bias} (mean transform ${readable(mean, 2)}, 0.5 is right), too much so to say whether they are too wide or too narrow.`;
    const width = low + high > 1.5 * even ? "too narrow" : low + high < 0.6 * even ? "too wide" : "about as wide as they should be";
    return `${bias} (mean transform ${readable(mean, 2)}, 0.5 is right); they are ${width} `
        + `(${readable(100 * (low + high), 2)} % of the returns in the outer ${readable(100 * even, 2)} %).`;
};

const learning_panels = [
    ["value_loss", "Value loss"], ["policy_loss", "Policy loss"], ["entropy", "Entropy of the policy"],
    ["approximate_kl", "KL divergence from the policy of the rollout"], ["clip_fraction", "Share of the ratios that are clipped"],
    ["explained_variance", "Explained variance of the returns"], ["gradient_norm", "Gradient norm before clipping"],
    ["learning_rate", "Learning rate"], ["epochs", "Epochs of an update"], ["intrinsic_reward", "Intrinsic reward"],
    ["mean_length", "Length of the episodes, mean of the last 100"],
];
const elsewhere = ["frames", "update", "seconds", "episodes", "mean_return", "median_return", "frames_per_second", "environment_seconds",
    "inference_seconds", "target_seconds", "learning_seconds"];
const show_learning = ({metrics}) => {
    const known = learning_panels.map(([name]) => name);
    const others = Object.keys(metrics.columns).filter((name) => !known.includes(name) && !elsewhere.includes(name))
        .map((name) => [name, name.replaceAll("_", " ")]);
    const panels = [...learning_panels, ...others].filter(([name]) => metrics.columns[name]);
    if (panels.length === 0)
        throw new Missing("There are no metrics.");
    by_id("learning-hint").textContent = metrics.each > 1
        ? `Each point is the mean of ${metrics.each} updates in a row, the band their range; ${whole(metrics.rows)} updates in all.` : "";
    const holder = by_id("learning-charts");
    for (const [name, title] of panels) {
        if (!by_id(`chart-${name}`))
            holder.append(make("figure", {}, make("figcaption", {}, title), make("div", {className: "chart", id: `chart-${name}`})));
        line_chart(by_id(`chart-${name}`), {label: title, series: [curve_of(metrics, name, {name: "", colour: "blue"})], x_name: "frames"});
    }
};

const show_throughput = ({metrics}) => {
    if (!metrics.columns.frames_per_second)
        throw new Missing("There are no metrics.");
    line_chart(by_id("chart-speed"), {label: "Environment steps per second", series: [curve_of(metrics, "frames_per_second", {name: "", colour: "blue"})], x_name: "frames"});
    const total = (name) => column(metrics, name).mean.filter(is_number).reduce((sum, x) => sum + x, 0);
    share_chart(by_id("chart-split"), {label: "Shares of the time", parts: [
        {name: "steps of the environments", value: total("environment_seconds"), colour: "blue"},
        {name: "networks and policy in the rollout", value: total("inference_seconds"), colour: "orange"},
        {name: "advantages and targets", value: total("target_seconds"), colour: "purple"},
        {name: "learning", value: total("learning_seconds"), colour: "green"},
    ]});
};

const value_text = (value) => {
    if (value === null || value === undefined || value === "")
        return "–";
    if (is_number(value))
        return String(Number(value.toPrecision(10)));
    return typeof value === "string" ? value : JSON.stringify(value).replaceAll(",", ", ");
};
const show_settings = ({settings, defaults}) => {
    if (settings.length === 0)
        throw new Missing("There is no config.json that can be read, so the settings are not known.");
    const differs = (one) => "default" in one && JSON.stringify(one.default) !== JSON.stringify(one.value);
    const row = (one) => make("tr", {className: differs(one) ? "differs" : ""}, make("td", {className: "name"}, one.name),
        make("td", {className: "value"}, value_text(one.value)),
        make("td", {className: "value"}, "default" in one ? value_text(one.default) : "not known"), make("td", {className: "help"}, one.help));
    const changed = settings.filter(differs);
    by_id("settings-hint").textContent = defaults === null ? "" : changed.length > 0
        ? `Those that differ from the defaults of ${defaults}:` : `All are the defaults of ${defaults}.`;
    const names = ["setting", "value", "default", "what it is"];
    by_id("changed").replaceChildren(...(changed.length > 0 ? [table_of(names, changed.map(row))] : []));
    by_id("unchanged").replaceChildren(table_of(names, settings.map(row)));
};

const machine_rows = [
    ["begun", ({began}) => began], ["after frames", ({frames}) => whole(frames)], ["processor", ({processor}) => processor],
    ["cores", ({cores}) => cores], ["threads used", ({threads}) => threads],
    ["memory", ({memory_bytes: bytes}) => (is_number(bytes) ? `${readable(bytes / 2 ** 30, 3)} GiB` : "–")], ["system", ({system}) => system],
    ["compiler", ({compiler}) => compiler], ["vector extensions", ({vectors}) => vectors], ["gmac", ({gmac}) => gmac],
];
const show_machines = ({machines}) => {
    if (machines.length === 0)
        throw new Missing("It is not known where this run was trained.");
    by_id("machines").replaceChildren(table_of(["", ...machines.map(({frames}) => (frames === 0 ? "at first" : "resumed"))],
        machine_rows.map(([name, value]) => make("tr", {}, make("th", {scope: "row"}, name), ...machines.map((one) => make("td", {}, String(value(one) ?? "–")))))));
};

/// Of a section that has nothing to show, in words for the reader.
class Missing extends Error {}

/// Shows one section; what goes wrong in it is told there, and the others are shown.
const attempt = (id, show) => {
    const section = by_id(id);
    const note = section.querySelector(".missing");
    let said = "";
    try {
        show();
    } catch (problem) {
        said = problem instanceof Missing ? problem.message : `This part of the data cannot be shown: ${problem.message}.`;
    }
    if (!note)
        return;
    note.textContent = said;
    note.hidden = said === "";
    for (const one of section.querySelectorAll(":scope > .content, :scope > figure"))
        one.hidden = said !== "";
};

let player = null;
let is_live = false;

/// Idempotent.
const render = (data) => {
    attempt("problems", () => show_problems(data));
    show_head(data, is_live);
    attempt("returns", () => show_returns(data));
    attempt("player", () => {
        if (!data.observed?.episode)
            throw not_played(data.program);
        player.show({env: environment_of(data.run), ...data.observed});
    });
    attempt("calibration", () => show_calibration(data));
    attempt("learning", () => show_learning(data));
    attempt("throughput", () => show_throughput(data));
    attempt("settings", () => show_settings(data));
    attempt("machine", () => show_machines(data));
};

const show_report = () => render(JSON.parse(by_id("data").textContent));

const start_report = ({live}) => {
    is_live = live;
    player = make_player(by_id);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", player.recolour);
    if (!live)
        return;
    const events = new EventSource("events");
    let [asking, wanted] = [false, false]; // one request at a time
    events.onmessage = async () => {
        wanted = true;
        if (asking)
            return;
        asking = true;
        try {
            while (wanted) {
                wanted = false;
                render(await (await fetch("data.json", {cache: "no-store"})).json());
            }
        } catch {
            // The training has ended, or the line is broken: what was shown stays.
        } finally {
            asking = false;
        }
    };
};
