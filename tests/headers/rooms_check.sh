#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The check itself: rooms_check.sh SCRATCH. rooms.sh accepts a small library and refuses each kind of fault.
set -u
here=$(cd "$(dirname "$0")" && pwd)
scratch=$1
failed=0

# header NAME INCLUDES…
header() {
    mkdir -p "$scratch/gmac/$(dirname "$1")"
    : >"$scratch/gmac/$1"
    if (($# > 1)); then printf '#include <gmac/%s>\n' "${@:2}" >"$scratch/gmac/$1"; fi
}
# [opening=LINE] expect accepted|refused WORDS [NAME INCLUDES…]: one more header beside those that are right, with this
# line after its includes.
expect() {
    rm -rf "$scratch"
    mkdir -p "$scratch/gmac/core/detail"
    touch "$scratch/gmac/core/view.hpp" "$scratch/gmac/core/detail/gather.hpp"
    header nn/linear.hpp core/view.hpp core/detail/gather.hpp nn/detail/pixels.hpp
    header nn/detail/pixels.hpp core/view.hpp
    header nn.hpp nn/linear.hpp
    header gmac.hpp nn.hpp core/view.hpp
    if (($# > 2)); then
        header "${@:3}"
        printf '%s\n' "${opening-}" >>"$scratch/gmac/$3"
    fi
    output=$(bash "$here/rooms.sh" "$scratch" 2>&1) && result=accepted || result=refused
    if [[ $result != "$1" || $output != *"$2"* ]]; then
        echo "${*:3} was $result, not $1 with \"$2\": $output"
        failed=1
    fi
}
expect accepted ''
expect refused 'gmac/core/a.hpp includes gmac/nn/linear.hpp, but core may include only:' core/a.hpp nn/linear.hpp
expect refused 'gmac/core.hpp includes gmac/nn.hpp, but core may include only:' core.hpp nn.hpp
expect refused 'gmac/nn/a.hpp includes gmac/agent/b.hpp, but nn may' nn/a.hpp agent/b.hpp
expect refused 'includes gmac/core/none.hpp, which is not there' nn/a.hpp core/none.hpp
expect refused 'these headers include each other: gmac/nn/' nn/detail/pixels.hpp nn/linear.hpp
expect refused 'gmac/nn.hpp includes gmac/nn/detail/pixels.hpp, which is private to nn/' nn.hpp nn/detail/pixels.hpp
expect refused 'gmac/gmac.hpp includes gmac/core/detail/gather.hpp, which is private to core/' gmac.hpp core/detail/gather.hpp
expect refused 'gmac/agent/a.hpp includes gmac/nn/detail/pixels.hpp, which is private to nn/' agent/a.hpp nn/detail/pixels.hpp
expect refused 'gmac/attic/a.hpp lies in no room' attic/a.hpp core/view.hpp
opening='namespace gmac::inline GMAC_ABI::nn {' expect accepted '' nn/a.hpp core/view.hpp
opening='namespace gmac::nn {' expect refused 'must be "namespace gmac::inline GMAC_ABI' nn/a.hpp core/view.hpp
opening='namespace gmac {' expect refused 'must be "namespace gmac::inline GMAC_ABI' nn/a.hpp core/view.hpp
opening='namespace gmac::inline GMAC_ABI {' expect refused 'nn/a.hpp has GMAC_ABI, but no include that' nn/a.hpp
opening='inline bool b = std::ranges::all_of(a, c);' expect refused 'nn/a.hpp uses std::ranges::all_of(…)' nn/a.hpp core/view.hpp
opening='inline auto b = std::ranges::size(a);' expect accepted '' nn/a.hpp core/view.hpp
exit "$failed"
