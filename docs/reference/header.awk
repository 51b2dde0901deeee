# SPDX-License-Identifier: Apache-2.0
# What Doxygen reads in place of a header: the same text, of which it understands more. For each line that is put in an empty
# one goes, so that warnings have the right line.
function flush(of_file,    i) { # the lines of a docstring, when it is known what stands behind it
    if (of_file && held > 0) {
        print "/// @file"
        ++extra
    }
    for (i = 1; i <= held; ++i)
        print docstring[i]
    held = 0
}

# 1.9.4 does not know inline parts of nested namespaces.
{ sub(/namespace gmac::inline GMAC_ABI/, "namespace gmac") }

# What a header is for is said before its first include, or before its namespace, which other headers have too.
!began && /^\/\/ / && !/SPDX/ { sub(/^\/\//, "///") }

/^ *\/\/\// {
    gsub(/et al\. /, "et al.\\ ") # this dot ends no sentence, so no summary
    # Indented lines are formulas and program text as they stand: Markdown wants an empty line before them.
    indented = /^ *\/\/\/     /
    if (indented && !block) {
        docstring[++held] = "///"
        ++extra
    }
    block = indented
    docstring[++held] = $0
    next
}
{
    block = 0
    flush(!began || /^namespace gmac/)
    began = began || /^#include|^#define/
}
extra > 0 && /^$/ { --extra; next }
{ print }
END { flush(!began) }
