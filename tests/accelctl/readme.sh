#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# README.md and the pages of doc/ tell the truth: every command of their transcripts is run again and prints what stands
# there, apart from figures and the machine's name; every other command exists, and every link leads to a file.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

# The guide for drivers has a test of its own for its other blocks.
readme=$work/pages
awk '/^```sh$/ && FILENAME ~ /driver-guide/ { skip = 1 } !skip { print } /^```$/ { skip = 0 }' "$src/README.md" "$src/doc/plan.md" \
    "$src/doc/run.md" "$src/doc/quantization.md" "$src/doc/benchmark.md" "$src/doc/install.md" "$src/doc/driver-guide.md" >"$readme"
tree=$work/tree
mkdir "$tree"
for name in samples profiles tests README.md; do ln -s "$src/$name" "$tree/$name"; done
ln -s "$ACCEL_TEST_BUILDDIR" "$tree/build"
cd "$tree" || exit 99

# Texts of the 8-bit kernels hang on the level of vector instructions; the transcripts are of AVX2.
"$accelctl" devices --json >"$work/out" 2>/dev/null
case $(value devices.0.detail) in
*isa=avx2*) level=same ;;
*isa=avx* | *isa=amx*) level=same; ACCEL_CPU_ISA=avx2; export ACCEL_CPU_ISA ;;
*) level=other ;;
esac
# They hang on the rounding that the compiler's usual optimization makes, too.
if sanitized; then level=other; fi

# What a user has installed; here it lies in the build tree. The sanitizers of a build go with its libraries.
pkg_config()
{
    case $* in
    "--cflags --libs accel-driver")
        echo "-I$src/include -fvisibility=hidden" \
            "$ACCEL_TEST_BUILDDIR/.libs/libaccel-driver.a $ACCEL_TEST_BUILDDIR/.libs/libaccel-quant.a -lm" \
            "-Wl,-z,now -Wl,-z,nodelete -Wl,-z,noexecstack -Wl,--exclude-libs,ALL" ;;
    *) return 1 ;;
    esac
}

# Figures, units, names of the machine and folders of this place; and not the level that is set here.
plain()
{
    sed -E -e '/environment ACCEL_CPU_ISA$/d' -e "s,/[^ ]*/([a-z]+\.so),\1," -e "s,/[^ ]*/profiles,PROFILES," \
        -e 's/(cpu:cpu0(  cpu )?,? ).*/\1NAME/' -e 's/isa=[a-z0-9]+/isa=X/' -e 's/processors.*/processors/' -e 's/, probed earlier//' \
        -e 's/[0-9]+(\.[0-9]+)?/N/g' -e 's/\bN (B|KiB|MiB|GiB|ms|s)\b/N/g' -e 's/[+-]N/N/g' -e 's/ +/ /g' "$1"
}

# Rows of drivers that need libraries which a machine may have or not, with the lines below them.
optional='/^(opencl|vulkan)/ { skip = 1; next } skip && /^ / { next } { skip = 0; print }'

compare()
{
    checks=$((checks + 1))
    plain "$work/expected" | awk "$optional" >"$work/a"
    plain "$work/actual" | awk "$optional" >"$work/b"
    diff "$work/a" "$work/b" || fail "README.md: $1"
}

# Of a benchmark: which tests it has. Limits and notes hang on the machine.
bench_rows()
{
    sed -n '/^test /,/^$/p' "$1" | sed 's/^\([a-z]* [a-z0-9]*\).*/\1/' >"$work/rows"
    mv "$work/rows" "$1"
}

run_command()
{
    case $1 in
    "./bootstrap "*)
        # The steps are those of the script, and its last command is run.
        sed -n 's/^==> //p' "$work/expected" | while read -r step rest; do
            grep -qE "(step|say) \"$step" "$src/bootstrap" || echo "bootstrap has no step $step $rest"
        done >"$work/steps"
        [ -s "$work/steps" ] && { cat "$work/steps"; fail "README.md: $1"; }
        last=$(sed -n 's/^==> \(build.*\)/\1/p' "$work/expected")
        grep -qF 'say "build/accelctl run $model --prompt \"Once upon a time\" -n 200"' "$src/bootstrap" ||
            fail "bootstrap runs something else than: $last"
        sed '/^==> /d' "$work/expected" >"$work/rest"
        mv "$work/rest" "$work/expected"
        ;;
    *) last=$1 ;;
    esac
    command=$(printf '%s\n' "$last" | sed 's/pkg-config/pkg_config/; s/^cc /${CC:-cc} ${CFLAGS:-} /')
    eval "$command" >"$work/actual" 2>"$work/errors" </dev/null
    cat "$work/errors" >>"$work/actual"
    if [ $level = other ]; then
        case $last in *q8_0* | *q4.gguf* | *precision.*) return ;; esac
    fi
    case $last in *"accelctl bench "*) bench_rows "$work/expected"; bench_rows "$work/actual" ;; esac
    compare "$1"
}

# Blocks of "console": a command after "$ ", then what it prints.
command=
: >"$work/expected"
inside=
while IFS= read -r line || [ -n "$line" ]; do
    case $inside:$line in
    ':```console') inside=console ;;
    ':```sh') inside=sh ;;
    'console:```' | 'sh:```')
        [ -z "$command" ] || run_command "$command"
        command=
        inside=
        ;;
    'console:$ '*)
        [ -z "$command" ] || run_command "$command"
        command=${line#"$ "}
        : >"$work/expected"
        ;;
    console:*) printf '%s\n' "$line" >>"$work/expected" ;;
    sh:./bootstrap*)
        checks=$((checks + 1))
        word=${line#./bootstrap }
        grep -qE "^  $word  " "$src/bootstrap" || fail "bootstrap has no $word"
        ;;
    sh:*make*)
        checks=$((checks + 1))
        # shellcheck disable=SC2013
        for target in $(printf '%s\n' "$line" | sed 's/&&/\n/g' | sed -n 's/^ *make *\([a-z]*\).*/\1/p'); do
            grep -q "^$target:" "$ACCEL_TEST_BUILDDIR/Makefile" || fail "no target $target"
        done
        ;;
    sh:*) fail "README.md: nobody checks: $line" ;;
    esac
done <"$readme"

# The greedy texts of the transcripts are the same on each level that this machine has, as README says.
for isa in scalar avx2 avxvnni avx512 avx512bf16 amx; do
    "$accelctl" plan "$q8" --set cpu.isa=$isa >/dev/null 2>&1 || continue
    grep -E '^\$ build/accelctl run samples/.* --greedy ' "$readme" | sed 's/^\$ //' | while read -r line; do
        # What steps down to fit a budget depends on the scratch memory of a level; the text does not.
        eval "$line --set cpu.isa=$isa -q" 2>&1 </dev/null | grep -v "^weights "; echo
    done >"$work/greedy.$isa"
    [ "$(wc -l <"$work/greedy.$isa")" -ge 4 ] || fail "README.md has too few greedy texts"
    cmp "$work/greedy.scalar" "$work/greedy.$isa" || fail "greedy texts of README.md with cpu.isa=$isa"
done

# What the script does not know it names, before it does anything.
# The first screen names every driver that there is as one that runs today, and no other.
named=$(sed -n '1,30s/^| devices |\([^|]*\)|.*/\1/p' "$src/README.md" | grep -o '`[a-z]*`' | tr -d '`' | sort | tr '\n' ' ')
there=$(for folder in "$src"/plugins/*/; do basename "$folder"; done | sort | tr '\n' ' ')
is "$named" "$there" "drivers that README names as running today"

try 2 "$src/bootstrap" run -j2
grep -q 'no option -j2$' "$work/err" && grep -q 'remedy: .*JOBS=2 ./bootstrap run$' "$work/err" ||
    fail "bootstrap does not say how the number of jobs is set: $(cat "$work/err")"
try 2 "$src/bootstrap" build tests
grep -q "no 'tests' to do" "$work/err" || fail "bootstrap does not name what it does not know"
# Packages that it installs beside a build that is configured, as `check` does after `run`, have it configured again.
if grep -qE '^ID(_LIKE)?=.*(debian|ubuntu)' /etc/os-release; then
    mkdir -p "$work/clone/build" "$work/bin"
    cp "$src/bootstrap" "$work/clone/"
    for tool in apt-get autoreconf dpkg-query make; do printf '#!/bin/sh\n' >"$work/bin/$tool"; done
    printf '#!/bin/sh\necho 0\n' >"$work/bin/id"
    printf '#!/bin/sh\n' >"$work/clone/configure"
    printf '#!/bin/sh\necho "config.status $*" >>calls\n' >"$work/clone/build/config.status"
    chmod +x "$work/bin"/* "$work/clone/configure" "$work/clone/build/config.status"
    try 0 env PATH="$work/bin:$PATH" "$work/clone/bootstrap" build
    is "$(cat "$work/clone/build/calls")" "config.status --recheck
config.status " "calls of bootstrap after it has installed packages"
fi

# The example of a file with settings is sound, and its values count.
sed -n '/^```yaml$/,/^```$/p' "$readme" | grep -v '^```' >"$work/accel.yaml"
try 0 "$accelctl" profile lint --strict "$work/accel.yaml"
(cd "$work" && "$accelctl" plan "$q8" --explain context) >"$work/out" 2>&1 || fail "accel.yaml of README.md fails: $(cat "$work/out")"
grep -q 'accel.yaml:3' "$work/out" || { cat "$work/out"; fail "accel.yaml of README.md sets no context"; }

# Size, links, and the paths that the tables of doc/architecture.md name.
[ "$(wc -l <"$src/README.md")" -lt 250 ] || fail "README.md has $(wc -l <"$src/README.md") lines"
for page in "$src"/README.md "$src"/doc/*.md; do
    for link in $(grep -oE '\]\([^)#:]+[)#]' "$page" | sed 's/^](//; s/[)#]$//'); do
        checks=$((checks + 1))
        [ -e "$(dirname "$page")/$link" ] || fail "$(basename "$page") links to $link, which is not there"
    done
done
for path in $(grep -E '^\|' "$src/doc/architecture.md" | grep -oE '`[a-z]+/[^` ]*`' | tr -d '`'); do
    checks=$((checks + 1))
    # shellcheck disable=SC2086 # a pattern
    ls -d "$src"/$path >/dev/null 2>&1 || fail "doc/architecture.md names $path, which is not there"
done

# Where something is added: the files that mention one of its kind, by the rows of doc/architecture.md. One that is named in
# `except` mentions it for another reason.
# stands ROW EXPRESSION EXCEPT: the files of the product that match the expression are in the rows that begin with ROW
stands()
{
    grep -E "^\| ($1)" "$src/doc/architecture.md" | grep -oE '`[a-z]+/[^` ]*`' | tr -d '`' >"$work/rows"
    (cd "$src" && grep -rlwE "$2" --include='*.[ch]' --include='*.k' --include='*.def' \
        core include model convert quant sdk plugins tools) | sort >"$work/files"
    [ -s "$work/files" ] || fail "nothing mentions $2"
    while read -r file; do
        checks=$((checks + 1))
        # shellcheck disable=SC2254 # rows are patterns
        while read -r row; do
            case $file in $row) continue 2 ;; esac
        done <"$work/rows"
        echo "$file" | grep -qE "$3" || fail "doc/architecture.md: no row of \"$1\" names $file"
    done <"$work/files"
}
stands 'weight format' 'Q5_K|q5_k' '^tools/accelctl/commands/quantize.c$'
stands operator 'group_norm|ACCEL_OP_GROUP_NORM' '^$'
stands 'error origin' ACCEL_FROM_SYSTEM \
    '^(core/(base/file|plugin/child|runtime/packed_(evict|file)|thread/pool|topology/threads)|model/session/measure)\.c$'

# Tables: commands, exit codes, folders.
for command in $(commands); do
    grep -q "^| \`$command" "$readme" || fail "README.md does not list $command"
done
"$accelctl" --help | sed -n 's/^  \([0-9][0-9]*\) .*/\1/p' | while read -r code; do
    grep -q "^| $code |" "$readme" || echo "$code"
done >"$work/codes"
[ -s "$work/codes" ] && fail "README.md lacks exit status $(cat "$work/codes")"
is "$(wc -l <"$src/tests/drivers/four.c" | tr -d ' ')" "$(sed -n 's/.*four operators in \([0-9]*\) lines.*/\1/p' "$readme")" \
    "lines of tests/drivers/four.c"
finish
