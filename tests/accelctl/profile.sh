#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every action of `accelctl profile` as a user calls it, on the profiles that are installed and on broken ones.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

profiles=$src/profiles
# No variable and no file of this place may have a say.
for variable in $(env | sed -n 's/^\(ACCEL_[A-Z_]*\|WEB[A-Z0-9_]*\)=.*/\1/p' | grep -v '^ACCEL_TEST_'); do unset "$variable"; done
HOME=$work XDG_CONFIG_HOME=$work
export HOME XDG_CONFIG_HOME
cd "$work" || exit 99

# profile STATUS ARGUMENT...: accelctl profile on the profiles of the tree, or on $folder
profile()
{
    wanted_status=$1
    shift
    try "$wanted_status" env -u ACCEL_TEST_SRCDIR -u ACCEL_TEST_BUILDDIR "$accelctl" profile "$@" --profiles "${folder-$profiles}"
}

# ---- list ----
profile 0 list
for name in base cpu cuda webgpu t4 2xt4 chrome safari edge-device; do
    grep -qE "^  $name  " "$work/out" || fail "list has no $name"
done
for heading in base platforms devices clients; do
    grep -qx "$heading" "$work/out" || fail "list has no heading $heading"
done
grep "$(printf '\033')" "$work/out" && fail "list prints colours into a file"
awk 'length($0) > 100 { print; bad = 1 } END { exit bad }' "$work/out" || fail "list: long lines"
profile 0 list --json
"$json" "$work/out" accelctl/profile-list/1 || fail "list --json"
is "$(value profiles.0.layer)" base "the first layer"
listed=$(value profiles.#)
profile 0 list --names
for file in "$profiles"/*.yaml "$profiles"/devices/*.yaml "$profiles"/clients/*.yaml "$profiles"/models/*.yaml; do
    head -n 40 "$file" 2>/dev/null | grep -q '^accel-profile:' || continue
    name=$(basename "$file" .yaml)
    grep -qx -- "$name" "$work/out" || fail "list --names has no $name"
done
# A folder whose name is not UTF-8: the documents have a question mark, and lose nothing.
odd=$work/$(printf 'odd\377')
cp -r "$profiles" "$odd"
folder=$odd profile 0 list --json
"$json" "$work/out" accelctl/profile-list/1 || fail "list --json of a folder that is not UTF-8"
is "$(value profiles.#)" "$listed" "profiles of a folder that is not UTF-8"
is "$(value profiles.0.path)" "$work/odd?/base.yaml" "path in a folder that is not UTF-8"
folder=$odd profile 0 show cuda --fact model.kind=generation --json
is "$(value settings.weights.type.origin.file)" "$work/odd?/cuda.yaml" "file of a setting in a folder that is not UTF-8"
profile 0 list devices
grep -q '^  cuda ' "$work/out" && fail "list devices lists a platform"
profile 2 list devises
one_error 'did you mean "devices"?'

# The nearest name is of a file that can be selected.
mkdir "$work/accel"
printf 'accel-profile: 1\n' >"$work/accel/accel.yaml"
try 4 "$accelctl" profile show accel --profiles "$profiles"
one_error 'there is no profile "accel" ('
rm -r "$work/accel"
mkdir "$work/empty"
: >"$work/empty/accel.yaml"
try 3 env --chdir="$work/empty" "$accelctl" plan llama-2-7b
one_error "accel.yaml:1:1: the file is empty"
grep -qF "  remedy: remove it, or write a profile into it" "$work/err" || fail "no remedy for an empty profile"

# ---- show ----
profile 0 show cuda --fact model.kind=generation
has "platform   cuda: "
has "none of this platform is here"
grep -qE '^  weights.type +q8 +cuda.yaml:[0-9]+: ' "$work/out" || { cat "$work/out"; fail "show cuda: weights.type"; }
grep -qE 'and [0-9]+ more with their built-in values' "$work/out" || fail "show counts what it leaves out"
grep -q '^facts$' "$work/out" && fail "show lists facts without --all"
awk 'length($0) > 100 { print; bad = 1 } END { exit bad }' "$work/out" || fail "show: long lines"
profile 0 show cuda --fact model.kind=generation --all
grep -qE '^  model.kind +generation +command line --fact model.kind=generation' "$work/out" || fail "show --all: facts"
grep -qE '^  log.level +auto +built in' "$work/out" || fail "show --all: what is built in"
profile 0 show cuda+t4 --fact model.kind=generation --json
"$json" "$work/out" accelctl/profile-show/1 || fail "show --json"
is "$(value settings.weights.type.value)" q4 "what a T4 has for weights.type"
is "$(value settings.weights.type.origin.kind)" profile "kind of its origin"
is "$(basename "$(value settings.weights.type.origin.file)")" t4.yaml "file of its origin"
is "$(value settings.weights.type.origin.losers.0.value)" q8 "what it overruled"
is "$(value device_profile)" t4 "device of the view"
is "$(value facts.device.memory.value)" 16106127360 "memory of a T4"
joined=$(value settings)
profile 0 show cuda t4 --fact model.kind=generation --json
is "$(value settings)" "$joined" "settings of cuda t4"
for words in "cuda+t4:--platform cuda --device t4" "webgpu+safari:-p webgpu --client safari"; do
    profile 0 show "${words%%:*}" --fact model.kind=generation
    cp "$work/out" "$work/named"
    # shellcheck disable=SC2086 # options
    profile 0 show ${words#*:} --fact model.kind=generation
    cmp "$work/out" "$work/named" || fail "${words#*:} shows other files than ${words%%:*}"
done
profile 0 show -p cpu --device cpu
profile 2 list --device t4
one_error "profile list: the action has no option --device"
profile 0 show cuda devices/t4 --fact model.kind=generation --json
is "$(value settings)" "$joined" "settings of cuda devices/t4"
profile 0 show cuda+t4 --set weights.type=f16 --overruled
grep -qE '^  weights.type +f16 +command line --set weights.type=f16$' "$work/out" || fail "show --set"
grep -qE '^ +over auto \(built in\)' "$work/out" || fail "show --overruled"
# A name that no file has: as plan --platform, with the file whose text mentions it.
try 4 "$accelctl" profile show metal --profiles "$profiles"
one_error 'there is no profile "metal"; did you mean "mps"?'
profile 0 show webgpu+safari
grep -qE '^client     safari: ' "$work/out" || fail "show names the client"
grep -qE '^  kernels.matmul.workgroup +4x4 +later: webgpu driver \(safari.yaml:[0-9]+: ' "$work/out" || fail "show of a client"
profile 0 show webgpu+safari --json
is "$(value later.kernels.unroll.value) $(value later.kernels.unroll.later)" "1 webgpu driver" "later of a client"
is "$(value settings.kernels.unroll.value)" auto "the value in force"
profile 0 show cpu
grep -qE '^device     cpu:cpu0: ' "$work/out" || fail "show names the device that is here"
profile 0 show
grep -qE '^platform   cpu: ' "$work/out" || fail "show without a name is about the best device of this machine"
if [ -f "$profiles/models/llama-2-7b.yaml" ]; then
    profile 0 show cuda --model llama-2-7b --json
    is "$(value facts.model.layers.value)" 32 "layers of llama-2-7b"
    is "$(value settings.weights.type.value)" q8 "its weights on cuda"
    joined=$(value settings)
    profile 0 show cuda+llama-2-7b --json
    is "$(value settings)" "$joined" "settings of cuda+llama-2-7b"
    profile 3 show --model cuda
    one_error "names no model"
fi
profile 4 show cdua
one_error 'there is no profile "cdua"; did you mean "cuda"?'
profile 2 show cuda rocm
one_error "one holds at a time"
profile 2 show t4
one_error "does not state the platform"
profile 2 show cuda --fact modl.kind=x
one_error 'did you mean "model.kind"?'
profile 2 show cuda --fact device.memory=8tok
one_error "requires a whole number, with its unit (as 8GiB)"
profile 0 show cuda --fact request.length=7000tok
profile 2 show cuda --fact model.kind
one_error "--fact requires NAME=VALUE"
profile 0 show cpu --set goal=THROUGHPUT --set weights.load=read
grep -qE '^  goal +throughput ' "$work/out" || fail "the value of another --set"
profile 2 show cuda --set bach=3tok
one_error 'did you mean "batch"?'
profile 0 show cuda --set batch=3
has "batch  "
profile 2 show cuda --set memory.budget=3
one_error "lacks its unit"
profile 2 show --strict
one_error "the action has no option --strict"

# ---- diff ----
profile 0 show cuda+a100
has "other      --device a100-80gb: An A100 with 80 GB on an SXM4 board"
profile 0 diff cuda+t4 cuda+a100 --fact model.kind=generation
grep -qE '^ +cuda\+t4 +cuda\+a100$' "$work/out" || fail "diff has no heading"
grep -qE '^weights.type +q4 +q8$' "$work/out" || fail "diff: weights.type"
grep -qE '^    cuda\+a100 +a100.yaml:[0-9]+: ' "$work/out" || fail "diff: places"
grep -q '^kv.type.k' "$work/out" && fail "diff lists what is the same"
profile 0 diff cuda+t4 cuda+a100 --fact model.kind=generation --json
"$json" "$work/out" accelctl/profile-diff/1 || fail "diff --json"
is "$(value settings.weights.type.a.value)-$(value settings.weights.type.b.value)" q4-q8 "both sides of diff --json"
profile 0 diff cuda cuda
has "nothing differs: all"
# The counts are those of the rows, and together those of the settings.
for sides in "cuda+t4 cuda+a100" "cpu cuda" "webgpu+chrome webgpu+safari" "cuda rocm" "cuda+t4 cuda+a100 --model llama-2-7b" \
    "cuda+t4 cuda+a100 --model $q8"; do
    # shellcheck disable=SC2086
    profile 0 diff $sides
    rows=$(grep -E '^[a-z]+(\.[a-z_]+)* ' "$work/out" | grep -v -E '^[a-z-]+ model ' | cut -d ' ' -f 1 | sort -u | grep -c .)
    count=$(sed -n 's/^\([0-9]*\) settings* differs*, \([0-9]*\) .* the same.*/\1 \2/p' "$work/out")
    is "${count% *}" "$rows" "settings that differ in diff $sides"
    # shellcheck disable=SC2086
    profile 0 diff $sides --json
    is "$(value different) $(value same)" "$count" "counts of diff $sides --json"
done
# A number that a run takes from the model is not printed as if it were one of the profiles.
profile 0 show cpu
grep -qE '^  context +up to 4096 tok +from the model: ' "$work/out" || fail "show: a context that no model has limited"
grep -qE '^  attention.page +the context +one page, ' "$work/out" || fail "show: pages of one sequence"
profile 0 show cpu --set sequences=2
grep -qE '^  attention.page +64 tok ' "$work/out" || fail "show: pages of two sequences"
profile 0 show cpu --model "$q8"
grep -qE '^  context +512 tok +from the model, which was trained for 512 tok' "$work/out" || fail "show: the context of a model"
try 0 "$accelctl" plan "$q8" --json
is "$(value settings.context.value)" 512 "the context of a plan"
profile 0 show cpu --json
is "$(value settings.context.rule | cut -c 1-15)" "from the model:" "the rule of context in JSON"
profile 0 show cpu --set context=99
grep -qE '^  context +99 tok +command line' "$work/out" || fail "show: a context that the user gives"
# A platform that does not drive the device: the remedy works as it is printed.
profile 2 show cpu+t4
one_error "the platform cpu does not drive the device t4"
name=$(sed -n 's/^  remedy: .*: name it as \([a-z0-9+]*\)$/\1/p' "$work/err")
platforms=$(sed -n 's/^  remedy: \(.*\) drive t4: .*/\1/p' "$work/err" | tr -d ,)
profile 0 show "$name"
is "$(echo "$platforms" | wc -w | tr -d ' ')" 4 "platforms of t4"
for platform in $platforms; do profile 0 show "$platform+t4"; done
# What depends on the model is compared for each kind of model, and values that are kept for later are compared.
profile 0 diff cuda rocm
grep -qE '^generation model  cuda +rocm$' "$work/out" || fail "diff: no heading of a kind of model"
grep -qE '^context +up to 2048 tok +up to 1024 tok$' "$work/out" || fail "diff: a rule for generation is left out"
grep -qE '^kv.enabled +false +true$' "$work/out" || fail "diff: a rule for embeddings is left out"
grep -qE '^optimization +highest +high$' "$work/out" || fail "diff: a value for later is left out"
has "    rocm  later: cuda and rocm drivers (rocm.yaml:"
profile 0 diff cuda rocm --json
is "$(value kinds.generation.settings.context.a.value)" 2048 "a kind of model in diff --json"
is "$(value later.optimization.b.value)" high "a value for later in diff --json"
profile 0 diff cuda rocm --fact model.kind=embedding
grep -q "model  cuda" "$work/out" && fail "diff compares kinds of models although one is named"
profile 2 diff cuda
one_error "diff requires arguments: NAME NAME"
profile 4 diff cuda roccm
one_error 'did you mean "rocm"?'

# ---- lint ----
profile 0 lint --strict
grep -qE '^[0-9]+ files, 0 errors, 0 warnings$' "$work/out" || { cat "$work/out"; fail "the profiles are not without a fault"; }
cp -r "$profiles" "$work/copy"
chmod -R u+w "$work/copy"
folder=$work/copy
cat >"$work/copy/broken.yaml" <<'END'
accel-profile: 1
about: a platform with a mistake
defaults:
  kv.typ.k: f16
END
profile 3 lint
grep -qF 'copy/broken.yaml:4:3: error: setting "kv.typ.k" is unknown; did you mean "kv.type.k"?' "$work/out" || { cat "$work/out"; fail "lint: a misspelt key"; }
grep -qE ' 1 error,' "$work/out" || fail "lint counts errors"
profile 3 lint --json
"$json" "$work/out" accelctl/profile-lint/1 || fail "lint --json"
is "$(value errors)" 1 "errors of lint --json"
is "$(value findings.0.level)" error "level of a finding"
profile 0 list
grep -qE '^  broken +broken.yaml:4:3: setting' "$work/out" || { cat "$work/out"; fail "list does not say what is broken"; }
profile 3 show broken
one_error 'did you mean "kv.type.k"?'
profile 0 show cuda
# Every error of a file is told with its line, not the first alone; what is not YAML ends it.
cat >"$work/many.yaml" <<'END'
accel-profile: 1
abuot: a misspelt word
match: device.knid == gpu
defaults:
  memory.budget: 128
  context: {value: 4096tok, because: fine}
rules:
  - when: device.kind ==
    set: {kv.typ.k: f16, cpu.pin: perhaps}
    because: b
  - {set: {batch: 1tok}}
lock: [contxt]
END
profile 3 lint "$work/many.yaml"
is "$(sed -n 's/.*many.yaml:\([0-9]*\):[0-9]*: error: .*/\1/p' "$work/out" | tr '\n' ' ')" "2 3 5 8 9 9 11 12 " "lines of a file with many errors"
grep -qE '^1 file, 8 errors, ' "$work/out" || { cat "$work/out"; fail "errors of a file are not counted"; }
profile 3 lint "$work/many.yaml" --json
is "$(value errors)" 8 "errors of a file in JSON"
# The same of a table of variables.
cat >"$work/table.yaml" <<'END'
accel-environment: 1
abuot: a misspelt word
prefixes: [WEB_, small]
variables:
  WEB_ONE: {key: batsh, because: a misspelt setting}
  web_two: {key: batch, unit: KiB, because: a name and a unit that are none}
  WEB_THREE:
    set:
      "1": {memory.budget: 128, context: 1tok, kv.typ.k: f16}
      "2": {cpu.pin: perhaps}
    because: three values that are none
  WEB_FOUR: {key: batch}
END
profile 3 lint "$work/table.yaml"
is "$(sed -n 's/.*table.yaml:\([0-9]*\):[0-9]*: error: .*/\1/p' "$work/out" | tr '\n' ' ')" "2 3 5 6 6 9 9 10 12 " "lines of a table with many errors"
grep -qE '^1 file, 9 errors, ' "$work/out" || { cat "$work/out"; fail "errors of a table are not counted"; }
# And of the variables that are set: without files all are looked at, each with what would mend it.
try 3 env ACCEL_BATCH=abc ACCEL_MEMORY_BUDGET=12 ACCEL_CPU_THREADS=4 "$accelctl" profile lint
grep -qE '^environment ACCEL_BATCH: error: batch: "abc" is not a whole number' "$work/out" || { cat "$work/out"; fail "lint of ACCEL_BATCH"; }
grep -qF 'environment ACCEL_MEMORY_BUDGET: error: memory.budget: "12" lacks its unit' "$work/out" || { cat "$work/out"; fail "lint of ACCEL_MEMORY_BUDGET"; }
has "  remedy: unset ACCEL_MEMORY_BUDGET, or set it to a value that accelctl profile env ACCEL_MEMORY_BUDGET lists"
grep -qE ' 2 errors,' "$work/out" || { cat "$work/out"; fail "errors of variables are not counted"; }
try 3 env ACCEL_BATCH=abc ACCEL_MEMORY_BUDGET=12 "$accelctl" profile lint --json
is "$(value errors)" 2 "errors of variables in JSON"
is "$(value findings.0.place) $(value findings.1.place)" "environment ACCEL_BATCH environment ACCEL_MEMORY_BUDGET" "their places"
try 0 env ACCEL_BATCH=64tok "$accelctl" profile lint
# Unknown variables have no effect, and fail the strict check. Options of drivers that are here are checked by them.
set -- env -u ACCEL_TEST_SRCDIR -u ACCEL_TEST_BUILDDIR ACCEL_CONTXT=3 WEBGPU_NOTHERE=1 ACCEL_CPU_ISA=avx2 ACCEL_CUDA_X=2
try 0 "$@" "$accelctl" profile lint
has "environment ACCEL_CONTXT: warning: unknown variable without effect; did you mean ACCEL_CONTEXT?"
has "environment WEBGPU_NOTHERE: warning: unknown variable without effect"
grep -qE ' 0 errors, 2 warnings$' "$work/out" || { cat "$work/out"; fail "unknown variables are not counted"; }
try 3 "$@" "$accelctl" profile lint --strict
try 3 env ACCEL_CPU_ISA=avx9 ACCEL_CPU_ISAA=avx2 "$accelctl" profile lint
has 'environment ACCEL_CPU_ISA: error: cpu.isa: "avx9" is not auto, scalar, '
has 'environment ACCEL_CPU_ISAA: error: the driver cpu has no option "isaa"; did you mean "cpu.isa"?'
has "  remedy: unset ACCEL_CPU_ISAA, or set it to a value that accelctl profile settings cpu lists"
# Numbers of an option, as a run reads them.
for wrong in 99999999999999999999 -1 7x; do
    try 3 env "ACCEL_CPU_EXPERT_BYTES=$wrong" "$accelctl" profile lint
    has "environment ACCEL_CPU_EXPERT_BYTES: error: cpu.expert_bytes: \"$wrong\" is not a whole number"
done
for right in 9223372036854775807 2GiB; do try 0 env ACCEL_CPU_EXPERT_BYTES=$right "$accelctl" profile lint; done
# Names in a file that no language knows: options of drivers and their values, clients, and names in conditions.
mkdir -p "$work/mine"
cat >"$work/mine/accel.yaml" <<'END'
accel-profile: 1
defaults:
  cpu.isaa: {value: avx2, because: misspelt}
  cpu.isa: {value: avx9, because: no instruction set}
  cpu.simd: {value: true, because: a flag}
  client: {value: chromee, because: misspelt}
  cuda.anything: {value: 3, because: its driver is not here}
rules:
  - when: [model.name == llama-9, platform == cpuu, "device.kind in [cpu, gpuu]"]
    set: {context: 30tok}
    because: misspelt
END
profile 3 lint "$work/mine/accel.yaml"
is "$(sed -n 's/.*accel.yaml:\([0-9]*\): error: .*/\1/p' "$work/out" | tr '\n' ' ')" "3 4 " "lines of options that are wrong"
is "$(sed -n 's/.*accel.yaml:\([0-9]*\): warning: .*/\1/p' "$work/out" | tr '\n' ' ')" "6 9 9 9 9 9 " "lines of names that are wrong"
has 'there is no client "chromee"'
for word in 'model.name is never "llama-9"' 'platform is never "cpuu"' 'device.kind is never "gpuu"'; do has "$word"; done
printf 'accel-profile: 1\ndefaults: {memory.budget: 128}\n' >"$work/mine.yaml"
profile 3 lint mine.yaml
grep -qE 'mine.yaml:2:[0-9]+: error: memory.budget: "128" lacks its unit' "$work/out" || { cat "$work/out"; fail "lint of a file"; }
printf 'accel-profile: 1\ndefaults: {batch: {value: 128tok, because: small memory}}\n' >"$work/mine.yaml"
profile 0 lint mine.yaml
has "1 file, 0 errors, 0 warnings"
profile 0 lint cuda devices/t4
has "2 files, 0 errors"
# A folder is checked as a folder of profiles, and one of its folders file by file.
cp -r "$profiles" "$work/other"
chmod -R u+w "$work/other"
profile 0 lint --strict "$work/other"
grep -qE '^[0-9]+ files, 0 errors, 0 warnings$' "$work/out" || { cat "$work/out"; fail "lint of a folder"; }
[ "$(sed 's/ files.*//' "$work/out")" -gt 20 ] || fail "lint of a folder checks few files"
printf 'accel-profile: 1\nfacts: {device.mem: 1GiB}\n' >"$work/other/devices/wrong.yaml"
profile 3 lint "$work/other/"
grep -qF 'devices/wrong.yaml:2:9: error: fact "device.mem" is unknown; did you mean "device.memory"?' "$work/out" ||
    { cat "$work/out"; fail "lint of a folder finds nothing in devices"; }
profile 3 lint "$work/other/devices"
grep -qE ' 1 error,' "$work/out" || { cat "$work/out"; fail "lint of the folder devices"; }
printf 'accel-profile: 1\ndefaults:\n\tbatch: 1tok\n' >"$work/tab.yaml"
profile 3 lint tab.yaml
grep -qx '  remedy: indent with spaces, no tabs' "$work/out" || { cat "$work/out"; fail "lint prints no remedy"; }
is "$(wc -l <"$work/out" | tr -d ' ')" 3 "lines of an error with its remedy, and of the sum"
profile 3 lint tab.yaml --json
is "$(value findings.0.remedy)" "indent with spaces, no tabs" "remedy in JSON"
is "$(value errors) $(value warnings)" "1 0" "a remedy is no finding"
# One that is wrong in devices fails plans of every device, since it is asked for its match.
folder=$work/other
profile 3 show cuda
one_error 'did you mean "device.memory"?'
profile 0 show cuda+t4 --fact model.kind=generation
folder=$work/copy
profile 3 lint nothing.yaml
grep -qE '^nothing.yaml: error: cannot open' "$work/out" || { cat "$work/out"; fail "lint of no file"; }
printf 'accel-profile: 1\nrules: [{when: model.kind == generatoin, set: {batch: 12tok}, because: x}]\n' >"$work/mine.yaml"
profile 0 lint mine.yaml
grep -qE '^mine.yaml:2: warning: model.kind is never "generatoin"$' "$work/out" || { cat "$work/out"; fail "lint warns"; }
profile 3 lint --strict mine.yaml
rm "$work/copy/broken.yaml"
printf 'accel-profile: 2\n' >"$work/copy/base.yaml"
profile 0 list
grep -qE '^  base +base.yaml:1:[0-9]+: ' "$work/out" || { cat "$work/out"; fail "list does not say that base is broken"; }
profile 3 show cuda
folder=$work/nowhere
profile 3 list
one_error "--profiles $work/nowhere"
folder=$profiles

# ---- files of the site ----
# What stands at the wrong place has a remedy wherever it is read, and a typo is no corrupt file.
remedy='  remedy: settings stand below "defaults:", the first line is "accel-profile: 1"; man accel-profile'
for text in 'context: 1024' 'defaults: {context: 1024}'; do
    echo "$text" >"$work/accel.yaml"
    for command in "plan $q8" "run $q8 -n 1" "profile show cpu"; do
        # shellcheck disable=SC2086
        try 3 "$accelctl" $command
        one_error "(ACCEL_E_INVALID)"
        grep -qFx -- "$remedy" "$work/err" || { cat "$work/err"; fail "$command has no remedy for $text"; }
    done
done
printf 'accel-profile: 1\ndefaults: {fallback.device: warn}\n' >"$work/accel.yaml"
try 3 "$accelctl" plan "$q8"
grep -qF 'type --set fallback.device=warn, or set ACCEL_FALLBACK_DEVICE=warn' "$work/err" || fail "no remedy for a fallback in a file"
printf 'accel-profile: 1\ndefaults: {context: many}\n' >"$work/accel.yaml"
try 3 "$accelctl" plan "$q8"
grep -qFx '  remedy: accelctl profile settings context lists the allowed values' "$work/err" || fail "no remedy for a value in a file"
printf 'accel-profile: 1\nabout: mine\ndefaults: {batch: {value: 32tok, because: little memory}}\n' >"$work/accel.yaml"
chmod 644 "$work/accel.yaml"
profile 0 list
grep -qx 'of this site' "$work/out" || fail "list has no heading for the site"
grep -qE 'accel.yaml +mine \(1 setting\)$' "$work/out" || { cat "$work/out"; fail "list does not show ./accel.yaml"; }
profile 0 show cuda
grep -qE '^  batch +32 tok +\./accel.yaml:3: little memory$' "$work/out" || { cat "$work/out"; fail "show does not take ./accel.yaml"; }
chmod 666 "$work/accel.yaml"
profile 0 list
grep -qE 'accel.yaml +.*not trusted' "$work/out" || { cat "$work/out"; fail "list does not refuse what others may write"; }
profile 4 show cuda
one_error "not trusted"
# What is over a limit of the language is malformed, for every command that reads it, and no want of memory.
chmod 644 "$work/accel.yaml"
for wrong in large deep; do
    printf 'accel-profile: 1\nabout: mine\n' >"$work/accel.yaml"
    case $wrong in
    large) awk 'BEGIN { for (i = 0; i < 20000; i++) print "# sixty bytes of a comment that nobody wants to read, over again" }' ;;
    deep) awk 'BEGIN { printf "defaults: "; for (i = 0; i < 200; i++) printf "["; for (i = 0; i < 200; i++) printf "]" }' ;;
    esac >>"$work/accel.yaml"
    for command in "plan $q8" "run $q8 -n 1" "profile lint $work/accel.yaml"; do
        # shellcheck disable=SC2086 # words
        try 3 sh -c 'cd "$1" && shift && exec "$@"' sh "$work" "$accelctl" $command
        grep -q 'accel.yaml:.* *longer than 1048576 bytes\|accel.yaml:.*: nested too deeply' "$work/err" "$work/out" ||
            { cat "$work/err"; fail "$wrong: not told by $command"; }
    done
done
rm "$work/accel.yaml"

# ---- env ----
profile 0 env
grep -qE '^ *[0-9]+ of [0-9]+ variables are not set' "$work/out" || fail "env with nothing set"
ACCEL_BATCH=12tok WEBGPU_DEFAULT_TO_4BIT=1 ACCEL_KV_TYP_K=f16 ACCEL_CPU_ISA=avx2
export ACCEL_BATCH WEBGPU_DEFAULT_TO_4BIT ACCEL_KV_TYP_K ACCEL_CPU_ISA
profile 0 env
grep -qE '^  ACCEL_BATCH=12tok +batch = 12tok$' "$work/out" || fail "env: a setting"
grep -qE '^  WEBGPU_DEFAULT_TO_4BIT=1 +weights.type = q4$' "$work/out" || fail "env: a name of the documents"
grep -qE '^  ACCEL_KV_TYP_K=f16 +.*did you mean ACCEL_KV_TYPE_K\?$' "$work/out" || fail "env: a misspelt one"
grep -qE '^  ACCEL_CPU_ISA=avx2 +an option of a driver$' "$work/out" || fail "env: an option"
ACCEL_WEIGHTS_TYPE=q8
export ACCEL_WEIGHTS_TYPE
WEBGPU_KV_CACHE_PRUNING=1 WEBGPU_FLASH_ATTENTION_BLOCK_SIZE=64 ACCEL_MEMORY_BUDGET=12
export WEBGPU_KV_CACHE_PRUNING WEBGPU_FLASH_ATTENTION_BLOCK_SIZE ACCEL_MEMORY_BUDGET
profile 0 env
grep -qE '^  WEBGPU_KV_CACHE_PRUNING=1 +kv.prune = usage, kv.full = prune$' "$work/out" || fail "env: a variable of two settings"
grep -qE '^  WEBGPU_FLASH_ATTENTION_BLOCK_SIZE=64 +attention.block = 64tok$' "$work/out" || fail "env: a unit of the table"
grep -qE '^  ACCEL_MEMORY_BUDGET=12 +memory.budget: "12" lacks its unit' "$work/out" || fail "env: a value that cannot be"
unset WEBGPU_KV_CACHE_PRUNING WEBGPU_FLASH_ATTENTION_BLOCK_SIZE ACCEL_MEMORY_BUDGET
profile 0 env WEBGPU_DEFAULT_TO_4BIT
has "weights.type = q4, overruled by ACCEL_WEIGHTS_TYPE"
unset ACCEL_BATCH WEBGPU_DEFAULT_TO_4BIT ACCEL_KV_TYP_K ACCEL_CPU_ISA ACCEL_WEIGHTS_TYPE
profile 0 env --json
"$json" "$work/out" accelctl/profile-env/1 || fail "env --json"
is "$(grep -c '"kind": "document"' "$work/out")" 40 "names of the documents"
profile 0 env --all
has "names of the documents"
profile 2 env ACCEL_BACH
one_error "did you mean ACCEL_BATCH?"

# ---- settings, facts ----
profile 0 settings
cp "$work/out" "$work/settings"
rows=$(grep -c '^ACCEL_KEY(' "$src/include/accel/keys.def")
profile 0 settings --json
options=$(value options.#)
profile 0 settings --names
is "$(wc -l <"$work/out" | tr -d ' ')" "$((rows + options))" "number of settings and options of drivers"
while read -r name; do
    grep -qE "^$name +" "$work/settings" || fail "settings does not tell $name"
done <"$work/out"
profile 0 settings --json
"$json" "$work/out" accelctl/profile-settings/1 || fail "settings --json"
is "$(value settings.#)" "$rows" "settings of --json"
profile 0 settings kv.type
is "$(grep -c '^kv' "$work/out")" 2 "settings below kv.type"
grep -qE '^ +auto, f32, f16, q8 or q4; built in auto; honored by runs$' "$work/out" || fail "settings: values"
profile 2 settings kv.typ
one_error 'did you mean "kv.type.k"?'
profile 0 facts --names
is "$(wc -l <"$work/out" | tr -d ' ')" "$(grep -c '^ACCEL_PROFILE_FACT(' "$src/core/profile/known_facts.def")" "number of facts"
profile 0 facts device.memory
grep -qE '^device.memory +.*\(bytes\)$' "$work/out" || fail "facts: device.memory"
profile 0 facts --json
"$json" "$work/out" accelctl/profile-facts/1 || fail "facts --json"
profile 2 facts device.mem0ry
one_error 'did you mean "device.memory"?'

# ---- the command ----
profile 2 lst
one_error "did you mean 'list'?"
try 2 "$accelctl" profile
one_error "requires an argument: ACTION"
profile 2 schema more
one_error "one argument too many"
for action in list show diff lint env settings facts schema; do
    try 0 "$accelctl" profile --help
    grep -qE "^  $action( |$)" "$work/out" || fail "--help does not tell $action"
done
for call in list "show cuda" "diff cuda rocm" lint env settings facts schema; do
    # shellcheck disable=SC2086 # actions have arguments
    try 1 sh -c "exec \"\$@\" >/dev/full" sh "$accelctl" profile $call --profiles "$profiles"
    one_error "cannot write"
done

# ---- schema ----
profile 0 schema
cp "$work/out" "$work/schema.json"
"$json" "$work/schema.json" - '$schema' | grep -q 2020-12 || fail "schema names no draft"
if python3 -c 'import jsonschema, yaml' 2>/dev/null; then
    python3 "$src/tests/accelctl/schema.py" "$work/schema.json" "$profiles" >"$work/out" 2>&1 || { cat "$work/out"; fail "schema"; }
    checks=$((checks + $(sed -n 's/^\([0-9]*\) documents$/\1/p' "$work/out")))
else
    echo "skipped: Python's jsonschema and yaml are not here to check documents against the schema"
fi
finish
