# SPDX-License-Identifier: Apache-2.0
# Reads a public header and writes it as the next minor might have it: a member at the end of every open struct, a slot
# at the end of every table, an error code and a bit of a device more, and another minor. Structs are open
# where the comment before them says so.
/\/\*/ && tag == "" { comment = "" }
tag == "" { comment = comment " " $0 }
/^struct [a-z_0-9]+ \{/ {
    tag = $2
    is_open = comment ~ /(^|[^a-zA-Z])Open\./
}
/^};/ {
    if (is_open && tag ~ /_table$/)
        print "    int32_t(ACCEL_CALL *sentinel)(void) ACCEL_NOEXCEPT;"
    else if (is_open)
        print "    uint64_t sentinel;"
    is_open = 0
    tag = ""
    comment = ""
}
{
    sub(/^#define ACCEL_ABI_MINOR 2u/, "#define ACCEL_ABI_MINOR 3u")
    print
    if ($2 == "ACCEL_E_INTERNAL")
        print "#define ACCEL_E_SENTINEL (" substr($3, 2, length($3) - 2) - 1 ")"
    if ($2 == "ACCEL_DEVICE_TARGET")
        print "#define ACCEL_DEVICE_SENTINEL " 2 * $3 "u"
}
