#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures what the conformance kit finds: drivers with one planted bug each have to fail, with a line that says why,
# and the same drivers without the bug have to pass. planted/README.md describes the lists of bugs.
#
#   planted.sh [BUG...]   the bugs that are marked quick, or the named ones; ACCEL_PLANTED=all: all of them
#
# Each bug is an edit of a copy of the sources. Only the objects that the edited file is part of are compiled, with the
# flags of the build, and linked in front of the objects of the build.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"
build=$ACCEL_TEST_BUILDDIR
kit=$build/.libs/accel-conform
bugs_file=$work/bugs
copy=$work/src
unset MAKEFLAGS MFLAGS MAKELEVEL VK_DRIVER_FILES
# A crash has to end the process by its signal, under sanitizers too.
crash_by_signal

if sanitized; then
    echo "skipped: a build with sanitizers takes minutes for each object"
    exit 77
fi
cat "$src/tests/conform/planted"/*.list >"$bugs_file" || exit 99
set -f # patterns are the kit's
make=${MAKE:-make}
top=$(sed -n 's/^top_srcdir = //p' "$build/Makefile")
mkdir "$copy" && cp -R "$src/plugins" "$src/sdk" "$src/core" "$src/include" "$copy/" && mkdir -p "$copy/tests" &&
    cp -R "$src/tests/drivers" "$copy/tests/" && chmod -R u+w "$copy" || exit 99

# field BUG NAME: the values of the lines "NAME: ..." of a bug, one per line
field()
{
    awk -v bug="$1" -v name="$2: " '
        /^bug: / { inside = $2 == bug }
        inside && index($0, name) == 1 { print substr($0, length(name) + 1) }' "$bugs_file"
}

# plant BUG FILE: prints the source FILE with the edits of the bug. Lines to remove must be there exactly once.
plant()
{
    awk -v bug="$1" -v file="$2" -v path="$copy/$2" '
        function finish_edit(    i, j, found, at) {
            if (removed == 0) { added = 0; return }
            for (i = 1; i + removed - 1 <= count; i++) {
                for (j = 1; j <= removed && text[i + j - 1] == old[j]; j++) ;
                if (j > removed) { found++; at = i }
            }
            if (found != 1) {
                printf "%s: the text to replace is there %d times: %s\n", file, found, old[1] >"/dev/stderr"
                failed = 1
            } else {
                replaced[at] = removed
                for (j = 1; j <= added; j++)
                    put[at] = put[at] new[j] "\n"
                edits++
            }
            removed = added = 0
        }
        BEGIN { while ((getline line <path) > 0) text[++count] = line }
        /^bug: / { finish_edit(); inside = $2 == bug; chosen = 0; next }
        !inside { next }
        /^file: / { finish_edit(); chosen = $2 == file; next }
        chosen && /^-/ { if (added > 0) finish_edit(); old[++removed] = substr($0, 2); next }
        chosen && /^[+]/ { new[++added] = substr($0, 2); next }
        { finish_edit() }
        END {
            finish_edit()
            if (failed || edits == 0) exit 1
            for (i = 1; i <= count; i++) {
                if (i in replaced) { printf "%s", put[i]; i += replaced[i] - 1 } else print text[i]
            }
        }' "$bugs_file"
}

# objects_of FILE ISA DRIVER: the libtool objects that FILE is part of, of the driver and of the kernels of one level
objects_of()
{
    case $2 in
    emulated-amx) levels='avx512|avx512bf16|emulated_amx' ;;
    emulated*) levels=$(echo "$2" | tr - _) ;;
    avx512bf16) levels='avx512|avx512bf16' ;;
    amx) levels='avx512|avx512bf16|amx' ;;
    *) levels=$2 ;;
    esac
    (cd "$build" && find "plugins/$3" sdk -name '*.Plo' -exec grep -lF " $top/$1" {} +) |
        sed 's,/\.deps/,/,; s/\.Plo$/.lo/' | grep -v '/model/' |
        grep -E -e "libcpu_kernels_($levels)_la-" -e 'libaccel_quant_la-' -e '/[a-z0-9_]*\.lo$' |
        case $2 in emulated*) grep -v 'plugins/cpu/kernels/[a-z]*\.lo' ;; *) cat ;; esac
}

# compile OBJECT FILE: compiles the edited sources as the build compiled OBJECT; the new one lies under $out.
compile()
{
    made=$out/$(echo "$1" | sed 's,[^/]*$,.libs/&,; s/\.lo$/.o/')
    mkdir -p "${made%/*}"
    command=$(cd "$build" && "$make" -n V=1 -W "$top/$2" "$1" 2>/dev/null |
        sed -n '/--mode=compile/{ s/.*--mode=compile *//; s/ -MT .*//p; q; }')
    source=$(tr -s ' \\' '\n\n' <"$build/$(echo "$1" | sed 's,[^/]*$,.deps/&,; s/lo$/Plo/')" | grep -m 1 '\.c$')
    if [ -z "$command" ] || [ -z "$source" ]; then
        echo "make says neither how $1 is compiled nor of what"
        return 1
    fi
    faces=$(for word in $command; do case $word in -I"$top"*) echo "-I$copy${word#-I"$top"}" ;; esac; done)
    # The edited copies come first: the build's own folders have what the build made, such as config.h.
    (cd "$build" && eval "${command%% -*}" $faces "-${command#* -}" -g0 -fPIC -DPIC -c \
        "'$copy${source#"$top"}'" -o "'$made'")
}

# link DRIVER ISA: links $out/DRIVER.so. Definitions of objects in front go before those of the same name behind.
link()
{
    command=$(cd "$build" && "$make" -n V=1 -W "$top/plugins/$1/driver.c" "plugins/$1/$1.la" 2>/dev/null |
        sed -n "/--mode=link.*-o plugins/ s/--mode=link/--dry-run &/p")
    command=$(cd "$build" && eval "$command" | sed -n 's/^libtool: link: \(.* -shared .*\)/\1/p')
    [ -n "$command" ] || return 1
    front=
    for object in $(cd "$out" && find . -name '*.o' | sed 's,^\./,,'); do
        case $command in
        *" $object "*) command=$(echo "$command" | sed "s, $object , $out/$object ,") ;;
        *) front="$front $out/$object" ;;
        esac
    done
    case $2 in
    # On a machine with AVX-512 their tables have its kernels, too.
    emulated-amx | emulated-avxvnni) kernels="libcpu-kernels-$2.a .libs/libcpu-kernels.a" ;;
    emulated*) kernels="libcpu-kernels-$2.a .libs/libcpu-kernels-scalar.a .libs/libcpu-kernels-avx2.a" ;;
    *) kernels= ;;
    esac
    if [ -n "$kernels" ]; then
        command=$(echo "$command" | sed "s,\./\.libs/libcpu-kernels\.a,.libs/$kernels,")
        front="$front $work/emulated.o"
    fi
    (cd "$build" && eval "${command%% -shared*} -shared $front ${command#* -shared} -Wl,-z,muldefs -Wl,-S -o '$out/$1.so'")
}

# can_run ISA: whether the machine has the level. Without AVX-VNNI, AVX-512 or AMX its kernels run by emulation, where it is
# built.
can_run()
{
    eval "known=\${can_$1-}"
    if [ -z "$known" ]; then
        known=no
        "$kit" "$build/plugins/cpu/.libs/cpu.so" --set "isa=$1" --filter argmax/rows --cases 1 --seed 1 \
            >/dev/null 2>&1 && known=yes
        eval "can_$1=$known"
    fi
    [ "$known" = yes ]
}

# judge STATUS BUG: runs the tests that are meant to find the bug, one pattern after the other.
judge()
{
    for pattern in $(field "$2" caught-by); do
        checks=$((checks + 1))
        # shellcheck disable=SC2046,SC2086 # options are words
        env XDG_CACHE_HOME="$out/cache" $environment "$kit" "$out/$driver.so" --filter "$pattern" --seed 1 \
            $options $(field "$2" options) >"$out/log" 2>&1 </dev/null
        status=$?
        # Lines that are wrapped become one again.
        sed ':a;N;$!ba;s/\n       \([^a ]\)/ \1/g' "$out/log" >"$out/lines" && mv "$out/lines" "$out/log"
        if [ $status != "$1" ]; then
            tail -n 12 "$out/log"
            fail "$2: status $status, not $1, of $pattern"
        elif [ "$1" = 1 ] && ! grep -qE '^(FAILED [a-z_]+/[^ :]+|accel-conform: [^ ]+): .* .* .*' "$out/log"; then
            cat "$out/log"
            fail "$2: no line says why $pattern failed"
        elif [ "$1" = 1 ] && says=$(field "$2" says) && [ -n "$says" ] && ! grep -qE -- "$says" "$out/log"; then
            cat "$out/log"
            fail "$2: the failure of $pattern does not say: $says"
        elif [ "$1" = 1 ]; then
            echo "caught $2: $(sed -n 's/^FAILED //p; s/^accel-conform: [^ ]*: //p' "$out/log" | head -n 1 | cut -c 1-150)"
        fi
    done
}

# begin BUG: sets driver, isa, options and environment; skips what the machine has no means for.
begin()
{
    driver=$(field "$1" driver)
    isa=$(field "$1" isa)
    driver=${driver:-cpu}
    options='--rounds 0' environment=
    [ -z "$isa" ] || options="$options --set isa=$isa"
    case $driver in
    cpu)
        if [ -n "$isa" ] && ! can_run "$isa"; then
            case $isa in
            amx)
                isa=emulated
                [ ! -f "$build/.libs/libcpu-kernels-emulated-amx.a" ] || ! can_run avx512bf16 || isa=emulated-amx
                ;;
            avx512*) isa=emulated ;;
            avxvnni) isa=emulated-avxvnni ;;
            *) return 1 ;;
            esac
            [ -f "$build/.libs/libcpu-kernels-$isa.a" ] && can_run avx2 || return 1
        fi
        ;;
    faulty) environment="ACCEL_TEST_FAULT=$(field "$1" fault)" ;;
    vulkan)
        environment="VK_ICD_FILENAMES=${ACCEL_TEST_VULKAN:-/usr/share/vulkan/icd.d/lvp_icd.x86_64.json}"
        ;;
    opencl) environment="OCL_ICD_VENDORS=${ACCEL_TEST_OPENCL:-/etc/OpenCL/vendors}" ;;
    esac
    case $driver in
    vulkan | opencl)
        # shellcheck disable=SC2086
        [ -f "$build/plugins/$driver/.libs/$driver.so" ] && env $environment "$kit" \
            "$build/plugins/$driver/.libs/$driver.so" --filter file/gate --seed 1 >/dev/null 2>&1
        ;;
    esac
}

# test_clean BUG: the driver without the bug passes the same tests. Each driver, level and pattern once.
test_clean()
{
    key=$driver.$isa.$(field "$1" caught-by | cksum | tr -d ' ').$(field "$1" options | cksum | tr -d ' ')
    [ ! -e "$work/clean/$key" ] || return
    mkdir -p "$work/clean/$key"
    out=$work/clean/$driver.$isa
    if [ ! -d "$out" ]; then
        mkdir -p "$out"
        if [ "$driver" = faulty ]; then
            ln -s "$build/tests/drivers/.libs/faulty.so" "$out/"
        else
            link "$driver" "$isa" || fail "the driver $driver without a bug does not link"
        fi
    fi
    fault=$environment
    environment=$(echo "$environment" | sed 's/ACCEL_TEST_FAULT=.*/ACCEL_TEST_FAULT=none/')
    judge 0 "$1"
    environment=$fault
}

test_bug()
{
    out=$work/$1
    mkdir "$out"
    if [ "$driver" = faulty ]; then
        ln -s "$build/tests/drivers/.libs/faulty.so" "$out/"
    else
        for file in $(field "$1" file); do
            plant "$1" "$file" >"$out/edited" || { fail "$1: the edit of $file"; return; }
            cp "$out/edited" "$copy/$file"
        done
        for file in $(field "$1" file); do
            case $file in
            sdk/gpu/kernels/*.[kh])
                GLSLC=$(sed -n 's/^GLSLC = //p' "$build/Makefile") COOPMAT=$(sed -n 's/^GLSLC_COOPMAT = //p' "$build/Makefile") \
                    sh "$src/sdk/gpu/embed.sh" "$(echo "$driver" | sed 's/vulkan/spirv/')" \
                    "$copy/sdk/gpu/kernels/sources.def" "$copy/plugins/$driver/kernels.h" || fail "$1: the kernels"
                objects="plugins/$driver/driver.lo" file=plugins/$driver/driver.c
                ;;
            *) objects=$(objects_of "$file" "$isa" "$driver") ;;
            esac
            [ -n "$objects" ] || fail "$1: no object of $driver is made of $file"
            for object in $objects; do
                compile "$object" "$file" >"$out/log" 2>&1 || { cat "$out/log"; fail "$1: $object does not compile"; return; }
            done
        done
        for file in $(field "$1" file); do
            cp "$src/$file" "$copy/$file" && chmod u+w "$copy/$file"
        done
        rm -f "$copy/plugins/$driver/kernels.h"
        link "$driver" "$isa" >"$out/log" 2>&1 || { cat "$out/log"; fail "$1: the driver does not link"; return; }
    fi
    judge 1 "$1"
    rm -rf "$out"
}

bugs=$(sed -n 's/^bug: //p' "$bugs_file")
doubled=$(echo "$bugs" | sort | uniq -d)
[ -z "$doubled" ] || fail "two bugs have the name $doubled"
[ "$(echo "$bugs" | wc -l)" -ge 60 ] || fail "the lists have fewer than 60 bugs"
[ "$(grep -cE '^(equivalent|open): ' "$bugs_file")" -le 3 ] || fail "more than 3 bugs are not planted"
# slots: the slots of the ABI's tables, as "queue.wait".
slots()
{
    awk '/^struct accel_[a-z]*_table \{/ || /^struct accel_driver \{/ { table = $2; gsub(/accel_|_table/, "", table) }
        /^}/ { table = "" }
        table != "" && match($0, /ACCEL_CALL \*[a-z_]*/) { print table "." substr($0, RSTART + 12, RLENGTH - 12) }' \
        "$src/include/accel/driver.h" "$src/include/accel/driver_module.h" "$src/include/accel/driver_queue.h"
    echo driver.query
}
slots >"$work/slots"
[ "$(wc -l <"$work/slots")" -gt 30 ] || fail "the headers have $(wc -l <"$work/slots") slots"
while read -r slot; do
    grep -qx "slot: $slot" "$bugs_file" || fail "no bug is of the slot $slot"
done <"$work/slots"
sed -n 's/^slot: //p' "$bugs_file" | grep -vxF -f "$work/slots" && fail "bugs are of slots that the ABI lacks"
# The drivers of GPUs, and the instruction sets, with the groups of tests that find bugs of them.
awk '/^bug: / { driver = "cpu"; isa = "" }
    /^driver: / { driver = $2 == "vulkan" || $2 == "opencl" ? "gpu" : $2 }
    /^isa: / { isa = $2 }
    /^caught-by: / { group = $2; sub("/.*", "", group); print driver, group; print driver, "isa=" isa }' "$bugs_file" |
    sort -u >"$work/found"
sed -n 's/^ACCEL_OPERATOR([0-9]*, [A-Z0-9_]*, \([a-z0-9_]*\),.*/\1/p' "$src/include/accel/driver/ops.def" >"$work/operators"
[ "$(wc -l <"$work/operators")" -gt 30 ] || fail "ops.def has $(wc -l <"$work/operators") operators"
while read -r operator; do
    for driver in cpu gpu; do
        [ $driver.$operator = gpu.reshape ] || grep -qx "$driver $operator" "$work/found" ||
            fail "no bug of $operator is planted for $driver"
    done
done <"$work/operators"
for isa in scalar avx2 avxvnni avx512 avx512bf16 amx; do
    grep -qx "cpu isa=$isa" "$work/found" || fail "no bug is of $isa"
done
chosen=$*
if [ -z "$chosen" ] && [ "${ACCEL_PLANTED-}" = all ]; then
    chosen=$bugs
elif [ -z "$chosen" ]; then
    chosen=$(awk '/^bug: / { name = $2 } /^quick: yes/ { print name }' "$bugs_file")
fi
if [ -n "$(find "$build/.libs" -name 'libcpu-kernels-emulated*.a')" ]; then
    cat >"$work/emulated.c" <<'END'
#include <stddef.h>
#include <stdint.h>
int cpu_isa_is_built(uint32_t level);
const char *cpu_isa_why_unavailable(uint32_t level);
const char *cpu_isa_why_unavailable(uint32_t level)
{
    return cpu_isa_is_built(level) ? NULL : "it was not built";
}
END
    ${CC:-cc} -fPIC -fvisibility=hidden -c "$work/emulated.c" -o "$work/emulated.o" || fail "the levels by emulation"
fi
# An edit whose text has changed is found here, not by the next run of all bugs.
awk '/^bug: / { bug = $2 } /^file: / { print bug, $2 }' "$bugs_file" >"$work/edits"
while read -r bug file; do
    plant "$bug" "$file" >/dev/null || fail "$bug: the edit of $file"
done <"$work/edits"
tried=0 left_out= open=
for bug in $chosen; do
    [ -n "$(field "$bug" caught-by)" ] || { fail "the bug $bug has no tests that find it"; continue; }
    [ -z "$(field "$bug" open)$(field "$bug" equivalent)" ] || { open="$open $bug"; continue; }
    begin "$bug" || { left_out="$left_out $bug"; continue; }
    tried=$((tried + 1))
    test_clean "$bug"
    test_bug "$bug"
done
echo "$tried bugs were planted"
[ -z "$left_out" ] || echo "left out, no such device or level here:$left_out"
[ -z "$open" ] || echo "not planted, the kit is known not to find them:$open"
[ $tried != 0 ] || fail "no bug was planted"
finish
