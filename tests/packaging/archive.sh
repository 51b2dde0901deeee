#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# archive.sh <cmake> <sources> <build folder> <name>: the release archive has the files of the last commit and no other.
set -euo pipefail
cmake=$1 source=$2 build=$3 name=$4
"$cmake" --build "$build" --target release-archive >/dev/null
diff <(git -C "$source" ls-tree -r --name-only -z HEAD | sed -z "s|^|$name/|" | sort -z | tr '\0' '\n') \
    <(tar -tzf "$build/$name.tar.gz" | grep -v '/$' | sort)
