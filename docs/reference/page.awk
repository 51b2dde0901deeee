# SPDX-License-Identifier: Apache-2.0
# What Doxygen reads in place of a page of Markdown: headings and links have names that it knows. -v root=FOLDER is where
# the paths of links begin.
function name_of(path) { # docs/results.md is docs-results
    sub(/\.md$/, "", path)
    gsub(/[^A-Za-z0-9]/, "-", path)
    return tolower(path)
}
function anchor(heading) { # as GitHub makes it, without what is not ASCII
    heading = tolower(heading)
    gsub(/[^a-z0-9 _-]/, "", heading)
    gsub(/ /, "-", heading)
    return heading
}
function resolved(folder, path) { # docs/ and ../README.md are README.md
    path = folder path
    while (match(path, /[^\/]+\/\.\.\//))
        path = substr(path, 1, RSTART - 1) substr(path, RSTART + RLENGTH)
    return path
}
function target(link,    hash, place, path) {
    hash = index(link, "#")
    place = hash ? anchor(substr(link, hash + 1)) : ""
    path = hash ? substr(link, 1, hash - 1) : link
    path = path == "" ? page : resolved(folder, path)
    if (path ~ /\.md$/)
        return (index_page && !hash && path ~ /^docs\// ? "@subpage " : "@ref ") name_of(path) (place == "" ? "" : "-" place)
    if (path ~ /^include\//)
        return "@ref " substr(path, 9)
    return ""
}

FNR == 1 {
    page = substr(FILENAME, length(root) + 2)
    folder = page
    sub(/[^\/]*$/, "", folder)
    index_page = page == "docs/README.md"
}
/^ *```/ { fenced = !fenced }
fenced { print; next }
/^#+ / {
    heading = $0
    sub(/^#+ /, "", heading)
    $0 = $0 " {#" name_of(page) (/^# / ? "" : "-" anchor(heading)) "}"
}
{
    rest = $0
    line = ""
    while (match(rest, /\]\([A-Za-z0-9_.\/#-]+\)/)) {
        before = substr(rest, 1, RSTART + 1)
        link = substr(rest, RSTART + 2, RLENGTH - 3)
        rest = substr(rest, RSTART + RLENGTH)
        if (link ~ /\.(png|svg|gif)$/ || link !~ /^#|\./) {
            line = line before link ")"
        } else if ((to = target(link)) != "") {
            line = line before to ")"
        } else { # a source that is no page: where it is, without a link
            match(before, /\[[^\[]*\]\($/)
            line = line substr(before, 1, RSTART - 1) substr(before, RSTART + 1, RLENGTH - 3) " (`" resolved(folder, link) "`)"
        }
    }
    print line rest
}
