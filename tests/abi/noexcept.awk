# SPDX-License-Identifier: Apache-2.0
# Writes a C++ program that compiles when every slot of the public structs refuses a function that may throw. The
# headers are formatted, so that a slot begins on a line of its own.
BEGIN {
    print "#include <accel/accel.h>"
    print "#include <accel/driver.h>"
    print "#include <accel/driver/sdk.h>"
    print "#include <type_traits>"
    # Only a pointer to a function that does not throw matches; any other slot has no such member and does not compile.
    print "template <class T> struct throwing;"
    print "template <class R, class... A> struct throwing<R (*)(A...) noexcept> { using type = R (*)(A...); };"
    print "template <class T> constexpr bool refuses = !std::is_convertible_v<typename throwing<T>::type, T>;"
}
/^struct [a-z_0-9]+ \{/ { tag = $2 }
/^}/ { tag = "" }
tag != "" && match($0, /\((ACCEL_CALL )?\*[a-z_0-9]+\)\(/) {
    name = substr($0, RSTART, RLENGTH)
    gsub(/\((ACCEL_CALL )?\*|\)\(/, "", name)
    printf "static_assert(refuses<decltype(%s::%s)>, \"%s.%s\");\n", tag, name, tag, name
    slots++
}
END {
    if (slots < 60)
        print "#error only " slots + 0 " slots were found"
}
