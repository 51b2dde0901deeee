#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gmac-train for the tests of gmac-sweep, but it fails with seed 2, while there is a file "broken" where it is run.
for word in "$@"; do
    if [ "$word" = --seed=2 ] && [ -e broken ]; then
        echo "the disk is on fire" >&2
        exit 3
    fi
done
exec "$GMAC_TRAIN" "$@"
