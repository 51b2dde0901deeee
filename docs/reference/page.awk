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
function target(link,    hash, place, path) { # what Doxygen calls it; "" for a source that is no page
    hash = index(link, "#")
    place = hash ? "-" anchor(substr(link, hash + 1)) : ""
    path = hash ? substr(link, 1, hash - 1) : link
    path = path == "" ? page : resolved(folder, path)
    if (path ~ /\.md$/)
        return name_of(path) place
    return path ~ /^include\// ? substr(path, 9) : ""
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
    if (page == "README.md") # beside the front page, whose title it has
        sub(/^# gmac$/, "# README")
    $0 = $0 " {#" name_of(page) (/^# / ? "" : "-" anchor(heading)) "}"
}
!/^    / { gsub(/'_/, "'\\_") } # G'_n begins no emphasis
{
    rest = $0
    line = ""
    while (match(rest, /\]\([A-Za-z0-9_.\/#-]+\)/)) {
        line = line substr(rest, 1, RSTART - 1)
        link = substr(rest, RSTART + 2, RLENGTH - 3)
        rest = substr(rest, RSTART + RLENGTH)
        begins = match(line, /\[[^\[]*$/) # 0: in the line before
        text = begins ? substr(line, begins + 1) : ""
        ahead = begins ? substr(line, 1, begins - 1) : ""
        to = link ~ /\.(png|svg|gif)$/ || link !~ /^#|\./ ? link : target(link)
        if (to == link)
            line = line "](" link ")"
        else if (to == "" && begins)
            line = ahead text " (`" resolved(folder, link) "`)"
        else if (begins && index_page && link !~ /[\/#]/) # pages below this one
            line = ahead "@subpage " to " \"" text "\""
        else
            line = line "](@ref " to ")"
    }
    print line rest
}
