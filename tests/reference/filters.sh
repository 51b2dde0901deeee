#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# filters.sh ROOT SCRATCH: what Doxygen reads in place of a header and of a page.
set -euo pipefail
filters=$1/docs/reference
rm -rf "$2"
mkdir -p "$2/docs"
cd "$2"

# expect FILE: the filtered file is the text on stdin.
expect() {
    if [[ $1 == *.md ]]; then
        awk -v "root=$PWD" -f "$filters/page.awk" "$PWD/$1" >got
    else
        awk -f "$filters/header.awk" "$1" >got
    fi
    diff - got || {
        echo "$1 is not filtered as it should be"
        exit 1
    }
}

cat >a.hpp <<'END'
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What it is for,
// in two lines.
#include <b.hpp>

/// What many headers
/// do for it.
namespace gmac::inline GMAC_ABI::losses {

// Not a docstring.
/// By Someone et al. 2020, the value
///     a = b
///       + c
/// of it.

int a;

} // namespace gmac::inline GMAC_ABI::losses
END
# The lines below keep their numbers as soon as an empty one could go.
expect a.hpp <<'END'
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// What it is for,
/// in two lines.
#include <b.hpp>
/// @file
/// What many headers
/// do for it.
namespace gmac::losses {
// Not a docstring.
/// By Someone et al.\ 2020, the value
///
///     a = b
///       + c
/// of it.
int a;

} // namespace gmac::losses
END

cat >docs/page.md <<'END'
# A page of λ: its `code`

Let G'_n be G_n.

    G'_n

See [this](other.md), [a part](other.md#its-part), [here](#a-part), [the top](../README.md#top), ![a picture](pictures/a.svg),
[a header](../include/gmac/core.hpp), [a file](../examples/a.c), [elsewhere](https://example.org/a.md#b), `[](auto& x)`, [a text of
two lines](other.md#its-part).

## A part

```cpp
# [a](b.md)
```
END
expect docs/page.md <<'END'
# A page of λ: its `code` {#docs-page}

Let G'\_n be G_n.

    G'_n

See [this](@ref docs-other), [a part](@ref docs-other-its-part), [here](@ref docs-page-a-part), [the top](@ref readme-top), ![a picture](pictures/a.svg),
[a header](@ref gmac/core.hpp), a file (`examples/a.c`), [elsewhere](https://example.org/a.md#b), `[](auto& x)`, [a text of
two lines](@ref docs-other-its-part).

## A part {#docs-page-a-part}

```cpp
# [a](b.md)
```
END
printf '# Index\n\n[first](page.md), [its part](page.md#a-part)\n' >docs/README.md
printf '# Index {#docs-readme}\n\n@subpage docs-page "first", [its part](@ref docs-page-a-part)\n' | expect docs/README.md
