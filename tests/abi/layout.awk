# SPDX-License-Identifier: Apache-2.0
# Reads public headers and holds every struct against the layout rules of accel/abi.h. Findings go to standard error,
# static assertions on what only the compiler knows (sizes) to standard output.

function finding(text)
{
    print FILENAME ":" FNR ": struct " name ": " text > "/dev/stderr"
    bad = 1
}

# One member without comments, on one line.
function member(text,    scalar)
{
    gsub(/[ \t]+/, " ", text)
    gsub(/^ | $/, "", text)
    members++
    if (open && members == 1 && text != "uint32_t size;")
        finding("an open struct begins with \"uint32_t size\", not " text)
    if (open && members == 2 && text !~ /^(u?int32_t|float) [a-z_0-9]+;$/)
        finding("the second member of an open struct has 4 bytes, not " text)
    if (text ~ /\(/) {
        # Slots that end something or tell one number have nothing to say in an error.
        if (text ~ /^int32_t ?\(ACCEL_CALL \*(free|release|log|clock|progress)\)/)
            sub(/\) ACCEL_NOEXCEPT;$/, ", struct accel_error *error) ACCEL_NOEXCEPT;", text)
        if (text !~ /^(int32_t|void) ?\(ACCEL_CALL \*[a-z_0-9]+\)\(.*\) ACCEL_NOEXCEPT;$/)
            finding("a slot is \"int32_t (ACCEL_CALL *name)(...) ACCEL_NOEXCEPT\", not " text)
        if (text ~ /^int32_t/ && text !~ /struct accel_error \*error\) ACCEL_NOEXCEPT;$/)
            finding("a slot that may fail takes the error last, not " text)
        return
    }
    scalar = "(u?int(8|16|32|64)_t|float|double|size_t)"
    if (text ~ ("^(const )?" scalar " [a-z_0-9]+(\\[[A-Z_0-9a-z]+\\])?;$"))
        return
    if (text ~ /^accel_[a-z_]+_function [a-z_0-9]+;$/)
        return
    if (text ~ /^char [a-z_0-9]+\[[A-Z_0-9a-z]+\];$/)
        return
    if (text ~ /^struct accel_[a-z_]+ [a-z_0-9]+(\[[A-Z_0-9a-z]+\])?;$/)
        return
    if (text ~ ("^(const )?(char|void|" scalar "|struct accel_[a-z_]+) (\\*|const |\\*const )*[a-z_0-9]+(\\[[A-Z_0-9a-z]+\\])?;$"))
        return
    finding("not a fixed-width integer, float, size_t, pointer or struct: " text)
}

FNR == 1 {
    comment = ""
    inside = 0
}

# Comments: the last one before a struct says whether it is open.
{
    line = $0
    while (1) {
        if (inside) {
            end = index(line, "*/")
            if (!end) {
                comment = comment " " line
                line = kept
                break
            }
            comment = comment " " substr(line, 1, end - 1)
            line = kept substr(line, end + 2)
            inside = 0
        }
        start = index(line, "/*")
        if (!start)
            break
        if (name == "")
            comment = ""
        kept = substr(line, 1, start - 1)
        line = substr(line, start + 2)
        inside = 1
    }
    if (inside)
        kept = ""
}

name == "" && line ~ /^struct [a-z_0-9]+ \{/ {
    split(line, words, " ")
    name = words[2]
    open = comment ~ /(^|[^a-zA-Z])Open\./
    members = 0
    text = ""
    if (open == (comment ~ /(^|[^a-zA-Z])Closed\./))
        finding("its comment says neither or both of \"Open.\" and \"Closed.\"")
    next
}

name != "" && line ~ /^};/ {
    print "_Static_assert(sizeof(struct " name ") % 8 == 0, \"" name ": the size is a multiple of 8\");"
    structs++
    name = ""
    comment = ""
    next
}

name != "" && line !~ /^#/ {
    text = text " " line
    if (text ~ /; *$/) {
        member(text)
        text = ""
    }
}

# Constants of an enumeration without a name are ints; no field can have its type.
line == "enum {" {
    next
}

line ~ /(^|[^a-z_])(enum|bool|_Bool|union|long)([^a-z_]|$)/ {
    print FILENAME ":" FNR ": " line ": no enum, bool, union or long in a public header" > "/dev/stderr"
    bad = 1
}

END {
    if (structs < 30) {
        print "only " structs + 0 " structs found" > "/dev/stderr"
        bad = 1
    }
    exit bad
}
