#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The check itself: links_check.sh SCRATCH. links.sh accepts a folder that is whole and refuses each kind of fault.
set -u
here=$(cd "$(dirname "$0")" && pwd)
scratch=$1
rm -rf "$scratch"
mkdir -p "$scratch/search"
echo '<a id="there"></a>' >"$scratch/other.html"
touch "$scratch/a b.png"

failed=0
# expect accepted|refused TEXT [FILE]: a folder with a file of this text, beside pages that are right.
expect() {
    local file=$scratch/${3:-page.html}
    printf '%s\n' "$2" >"$file"
    output=$(bash "$here/links.sh" "$scratch" 2>&1) && result=accepted || result=refused
    rm "$file"
    if [[ $result != "$1" ]]; then
        printf 'this was %s, not %s:\n%s\n%s\n' "$result" "$1" "$2" "$output"
        failed=1
    fi
}
expect accepted '<a href="other.html#there">x</a> <img src="a%20b.png"/> <a href="https://example.org/x#y">x</a>'
expect accepted '<a name="here"></a><a href="#here">x</a><a href="search/../other.html?q">x</a>'
expect accepted '<a class="el" href="../other.html#there">x</a>' search/page.html
expect accepted '<svg><a xlink:href="other.html#there" target="_top"></a></svg>' picture.svg
expect refused '<p>no link</p>'
expect refused '<a href="none.html">x</a>'
expect refused '<a href="other.html#none">x</a>'
expect refused '<a href="#none">x</a>'
expect refused '<a href="other.html">x</a>' search/page.html
expect refused '<a href="other.html">x</a><img alt="x" src="none.png">'
expect refused '<a href="other.html">x</a><script src="https://example.org/a.js"></script>'
expect refused '<a href="other.html">x</a><script async="async" src="//example.org/a.js"></script>'
expect refused '<a href="other.html">x</a><link rel="stylesheet" href="http://example.org/a.css">'
expect refused '<a href="other.html">x</a><style>body { background: url("http://example.org/a.png") }</style>'
expect refused '@import url(//example.org/a.css);' style.css
expect refused '<svg><a xlink:href="none.html"></a></svg>' picture.svg
exit "$failed"
