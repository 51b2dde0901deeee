#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pages.sh DOXYGEN DOXYFILE FOLDER: makes the reference in FOLDER, which fails at a warning unless GMAC_DOCS_WARNINGS_AS_ERRORS is
# off, and looks at what came out.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$3"
mkdir -p "$3"
{
    cat "$2"
    printf 'OUTPUT_DIRECTORY = "%s"\n' "$3"
} | "$1" -
bash "$here/links.sh" "$3/html"

cd "$3/html"
# expect WHAT FILES…: the page names it, and so does the index of the search.
expect() {
    local what=$1
    shift
    grep -qF -- "$what" "$@" || {
        echo "\"$what\" is in none of $*"
        exit 1
    }
}
expect 'gaussian_mixture_energy' namespacegmac_1_1losses.html
expect "'gaussian_5fmixture_5fenergy_" search/all_*.js
expect 'What value heads and policies are trained with' losses_8hpp.html
expect 'What SR(λ) takes fresh particles from' sources_8hpp.html
expect '2 δ(U, V) − δ(U, U)' structgmac_1_1losses_1_1gaussian__mixture__energy.html
expect 'class="fragment">2 δ(U, V)' structgmac_1_1losses_1_1gaussian__mixture__energy.html
expect 'href="losses_8hpp.html"' index.html
expect 'xlink:href="losses_8hpp.html' ./*.svg
# Nothing private has a page.
if private=$(find . -name '*detail*' | grep .); then
    printf 'pages of what is private:\n%s\n' "$private"
    exit 1
fi
