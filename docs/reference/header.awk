# SPDX-License-Identifier: Apache-2.0
# What Doxygen reads in place of a header: the same text, of which it understands more.
{ sub(/namespace gmac::inline GMAC_ABI/, "namespace gmac") } # 1.9.4 does not know inline parts of nested namespaces

# For each line that is put in an empty one goes, so that warnings have the right line.
extra > 0 && /^$/ { --extra; next }

# A comment that says what a header is for stands before anything that it declares.
/^#include|^#define|^namespace|^template|^struct|^class|^typedef/ { began = 1 }
!began && /^\/\/\/? / && !/SPDX/ {
    sub(/^\/\/\/?/, described ? "///" : "/// @file\n///")
    extra += !described
    described = 1
}

/^ *\/\/\// {
    gsub(/et al\. /, "et al.\\ ") # this dot ends no sentence, so no summary
    # Indented lines are formulas and program text as they stand: Markdown wants an empty line before them.
    indented = /^ *\/\/\/     /
    if (indented && !block) {
        print "///"
        ++extra
    }
    block = indented
}
!/^ *\/\/\// { block = 0 }

{ print }
