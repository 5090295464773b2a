# SPDX-License-Identifier: Apache-2.0
# Reads a public header and writes it as a minor before this one may have had it: without the members at the end of open
# structs that `trims` names, "STRUCT.MEMBER ...". A member goes with the comments before it and behind it.
BEGIN {
    count = split(trims, list, " ")
    for (i = 1; i <= count; i++)
        gone[list[i]] = 1
}
/^struct [a-z_0-9]+ \{/ { tag = $2; print; held = ""; next }
tag == "" { print; next }
/^};/ { printf "%s", held; held = ""; tag = ""; print; next }
{
    held = held $0 "\n"
    text = $0
    if (inside && !sub(/^.*\*\//, "", text))
        next
    inside = 0
    gsub(/\/\*[^*]*(\*[^\/][^*]*)*\*\//, "", text)
    if (sub(/\/\*.*$/, "", text))
        inside = 1
    declared = declared text
    if (declared !~ /;/ || inside)
        next
    name = declared
    if (name ~ /\(ACCEL_CALL \*/) {
        sub(/^.*\(ACCEL_CALL \*/, "", name)
        sub(/\).*$/, "", name)
    } else {
        sub(/(\[[^]]*\])?;.*$/, "", name)
        sub(/^.*[ *]/, "", name)
    }
    if (!((tag "." name) in gone))
        printf "%s", held
    held = ""
    declared = ""
}
