# SPDX-License-Identifier: Apache-2.0
# Writes a C program that prints each struct of the public headers with its size, and each member with its offset and
# size. The headers are formatted by clang-format, so that a member or a slot begins on a line of its own.
BEGIN {
    print "#include <accel/accel.h>\n#include <stdio.h>\nint main(void)\n{"
}
{
    sub(/\/\*.*/, "")
    sub(/^ *\*.*/, "")
}
/^struct [a-z_0-9]+ \{/ {
    tag = $2
    printf "    printf(\"%s %%zu\\n\", sizeof(struct %s));\n", tag, tag
    next
}
/^}/ { tag = "" }
tag == "" { next }
function member(name)
{
    printf "    printf(\"%s.%s %%zu %%zu\\n\", offsetof(struct %s, %s), sizeof(((struct %s *)0)->%s));\n", tag, name, tag, name, tag, name
}
match($0, /\(ACCEL_CALL \*[a-z_0-9]+\)/) {
    name = substr($0, RSTART, RLENGTH)
    gsub(/\(ACCEL_CALL \*|\)/, "", name)
    member(name)
    next
}
match($0, /[a-z_0-9]+(\[[A-Za-z_0-9]+\])?; *$/) {
    if ($0 ~ /ACCEL_NOEXCEPT;/ || $0 ~ /\) *; *$/)
        next
    name = substr($0, RSTART, RLENGTH)
    sub(/[\[;].*/, "", name)
    member(name)
}
END { print "    return 0;\n}" }
