// SPDX-License-Identifier: Apache-2.0
// What pages are made of besides charts.
"use strict";

const by_id = (id) => document.getElementById(id);
const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    Object.assign(element, attributes);
    element.append(...children);
    return element;
};
/// A line of a legend.
const key = (colour, text, kind = "") => {
    const mark = make("i", {className: kind});
    mark.style[kind === "dot" ? "background" : "borderColor"] = ink(colour);
    return make("span", {className: "key"}, mark, text);
};
const plural = (count, one, many = `${one}s`) => `${whole(count)} ${count === 1 ? one : many}`;
const table_of = (names, rows) => make("table", {}, make("thead", {}, make("tr", {}, ...names.map((name) => make("th", {scope: "col"}, name)))), make("tbody", {}, ...rows));

const show_problems = ({problems}) => {
    by_id("problems").hidden = problems.length === 0;
    by_id("problem-list").replaceChildren(...problems.map(({where, what}) => make("li", {}, make("strong", {}, where), `: ${what}`)));
};
