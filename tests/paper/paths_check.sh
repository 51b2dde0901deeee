#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016
# The check itself: paths_check.sh SCRATCH. paths.sh accepts pages whose paths exist and refuses each kind of wrong one.
set -u
here=$(cd "$(dirname "$0")" && pwd)
scratch=$1
rm -rf "$scratch"
mkdir -p "$scratch/docs" "$scratch/include/gmac/core" "$scratch/tests/a"
echo 'struct matrix_view {}; void other();' >"$scratch/include/gmac/core/view.hpp"
printf 'TEST_CASE("a name of "\n          "two parts") {}\nTEST_CASE("|d|") {}\n' >"$scratch/tests/a/b.cpp"

failed=0
# expect accepted|refused TEXT: a page with this text, beside one that is right.
expect() {
    printf '# A page\n\nSee `include/gmac/core/view.hpp`.\n' >"$scratch/README.md"
    printf '%b' "$2" >"$scratch/docs/page.md"
    output=$(bash "$here/paths.sh" "$scratch" 2>&1) && result=accepted || result=refused
    if [[ $result != "$1" ]]; then
        echo "this page was $result, not $1:"
        printf '%b\n' "$2"
        echo "$output"
        failed=1
    fi
}
expect accepted 'Words only; `not/a/path` of ours, `a b`, `x`.\n'
expect accepted '`gmac/core/view.hpp` and `include/gmac/core/*.hpp` and [a link](../README.md#part).\n'
expect accepted '[elsewhere](https://example.org/docs/none.md), [here](#part)\n'
expect accepted '`tests/a/b.cpp` "a name of two parts"\n'
expect accepted '| `tests/a/b.cpp`, "a name of two\n parts" |\n'
expect accepted '| `tests/a/b.cpp` "\\|d\\|" | x |\n'
expect accepted '`matrix_view` and `gmac::other()` in `gmac/core/view.hpp`, `not_there` in `elsewhere/a.cpp`\n'
expect accepted '| `none`, which is `matrix_view`, `other` in\n `include/gmac/core/view.hpp` |\n'
expect refused '`view` in `gmac/core/view.hpp`\n'
expect refused '`none`, `matrix_view` in `gmac/core/view.hpp`\n'
expect refused '| `matrix_view` and `gmac::none()` in `include/gmac/core/view.hpp` |\n'
expect accepted '```\n`docs/none.md`\n```\n\n    `docs/none.md`\n'
expect accepted 'This is not here yet: `docs/none.md`.\n'
expect accepted '| `tests/a/b.cpp`; not here yet: `docs/none.md` |\n'
expect refused '| `docs/none.md`; not here yet: `docs/other.md` |\n'
expect refused 'See `docs/none.md`.\n'
expect refused 'See `gmac/core/none.hpp`.\n'
expect refused 'See `include/gmac/none/*.hpp`.\n'
expect refused 'See [none](none.md).\n'
expect refused '`tests/a/b.cpp` "another name"\n'
expect refused '`tests/a/b.cpp` "a name of two parts", "another name"\n'
expect refused 'This is not here yet: `tests/a/b.cpp`.\n'
expect refused '- not here yet: `docs/none.md`\n- `docs/none.md`\n'
exit "$failed"
