# SPDX-License-Identifier: Apache-2.0
# PROGRAM --help | awk -v program=PROGRAM -v commands=NAMES -v shell=bash|zsh -v part=PART -f completion.awk: the completion of
# its options, as CLI11 prints them. A script has the part `first`, one for the help of each of the sub-commands but the first,
# by its name, and the part `last` for the help of the program. An option whose type is a name or a text is completed by the values that its description lists: words between
# commas and "or", two or more, each followed by nothing or by a remark in brackets.

# A line that begins with an option, or its description on the line after.
/^  -/ { add(); option = $0; next }
option != "" && /^ {30}[^ ]/ || option != "" && substr($0, 1, 30) ~ /^ +$/ { description = substr($0, 31); add(); next }
{ add() }
END {
    add()
    if (shell == "bash")
        print_bash()
    else
        print_zsh()
}

function add(    left, fields, type, names, i, n) {
    if (option == "")
        return
    left = option
    if (description == "") {
        left = substr(option, 1, 30)
        description = substr(option, 31)
    }
    split(left, fields)
    type = fields[2] == "Needs:" ? "" : fields[2]
    sub(/=.*/, "", type)
    ++count
    option_names[count] = fields[1]
    option_type[count] = type
    option_text[count] = description
    option_values[count] = type == "BOOLEAN" ? "true false" : type ~ /^(TEXT|NAME)$/ ? listed(description) : ""
    n = split(fields[1], names, ",")
    for (i = 1; i <= n; ++i)
        all_names = all_names (all_names == "" ? "" : " ") names[i]
    option = description = ""
}

# The values that a description lists.
function listed(text,    parts, found, values, i, n) {
    gsub(/ \([^)]*\)/, "", text)
    n = split(text, parts, /[,;:] or |[,;:] | or /)
    for (i = 1; i <= n; ++i)
        if (parts[i] ~ /^[a-z][a-z0-9_]*([\/-][a-z0-9_]+)*$/) {
            values = values (found ? " " : "") parts[i]
            ++found
        }
    return found > 1 ? values : ""
}

function print_bash(    name, pattern, i) {
    name = program
    gsub(/-/, "_", name)
    if (part == "first")
        return
    if (part != "last")
        name = name "_" part
    print "_" name "() {"
    print "    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words="
    if (part == "last" && commands != "") {
        # The first one has the options of the program itself.
        print "    if ((COMP_CWORD > 1)) && [[ ' " substr(commands, index(commands, " ") + 1) " ' == *\" ${COMP_WORDS[1]} \"* ]]; then"
        print "        \"_" name "_${COMP_WORDS[1]}\""
        print "        return"
        print "    fi"
    }
    print "    COMPREPLY=()"
    print "    case $previous in"
    for (i = 1; i <= count; ++i) {
        pattern = option_names[i]
        gsub(/,/, " | ", pattern)
        if (option_values[i] != "")
            print "    " pattern ") words='" option_values[i] "' ;;"
    }
    if (part == "last" && commands != "") {
        print "    *)"
        print "        if [[ $word == -* ]]; then"
        print "            words='" all_names "'"
        print "        elif ((COMP_CWORD == 1)); then"
        print "            words='" commands "'"
        print "        fi"
        print "        ;;"
    } else
        print "    *) [[ $word != -* ]] || words='" all_names "' ;;"
    print "    esac"
    print "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))"
    print "}"
    if (part == "last")
        print "complete -o default -F _" name " " program # files where nothing fits
}

function print_zsh(    names, text, i) {
    if (part == "first") {
        print "#compdef " program
        if (commands != "")
            print "if ((CURRENT > 2)); then\ncase $words[2] in"
        return
    }
    if (part != "last")
        print part ")\nshift words\n((CURRENT--))"
    else if (commands != "")
        print "esac\nfi"
    print "_arguments \\"
    for (i = 1; i <= count; ++i) {
        text = option_text[i]
        gsub(/[][\\:]/, "\\\\&", text)
        gsub(/'/, "'\\''", text)
        names = option_names[i]
        if (names ~ /,/) {
            text = "{" names "}'[" text "]"
            gsub(/,/, " ", names)
            text = "'(" names ")'" text
        } else
            text = "'" names "[" text "]"
        if (option_type[i] != "")
            text = text ":" option_type[i] ":" \
                (option_values[i] != "" ? "{compadd - " option_values[i] " || _files}" : \
                 option_type[i] == "TEXT" ? "_files" : "")
        print "    " text "' \\"
    }
    if (part == "last" && commands != "")
        print "    '1:sub-command:(" commands ")' \\"
    print "    '*:file:_files'"
    if (part != "last")
        print "return\n;;"
}
