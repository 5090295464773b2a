# SPDX-License-Identifier: Apache-2.0
# Every setting of keys.def has a place that honors it and a test, or is for later and refused from the user. What the
# settings of power, vector instructions, kept weights and measurements do.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"
cd "$work" || exit 99

# ---- keys.def ----

try 0 "$accelctl" profile settings --json
separator=$(printf '\037')
columns="name by carried type default highest unit variable words help"
for column in $columns; do "$json" "$work/out" - "settings.*.$column" >"column.$column"; done
# shellcheck disable=SC2046,SC2086 # words
paste -d "$separator" $(printf 'column.%s ' $columns) >settings

# A value that the setting of a row may have and that is not its default.
choose_value()
{
    case $type-$default in
    flag-false) value=true ;;
    flag-true) value=false ;;
    choice*) value=${words%\"]} value=${value##*\"} ;;
    extent*) value=8x8 ;;
    size*) value=1MiB ;;
    *) value=$highest$unit ;;
    esac
}

# The files that honor the option of a driver.
option_files()
{
    case $1 in
    opencl | vulkan) grep -l "name = \"${2#*.}\"" "$src"/sdk/gpu/*.c "$src/plugins/$1"/*.c ;;
    *) grep -l "name = \"${2#*.}\"" "$src/plugins/$1"/*.c ;;
    esac
}

count=$(wc -l <settings)
[ "$count" -gt 90 ] || fail "only $count settings"
unhonored=0 later=0
# shellcheck disable=SC2086 # the names of columns
while IFS=$separator read -r $columns; do
    case $carried in
    run)
        [ -f "$src/$by" ] && grep -qE "\"$name\"|[^a-z_]$(echo "$name" | tr . _)[^a-z_]" "$src/$by" ||
            { echo "$name: $by does not name it"; unhonored=$((unhonored + 1)); }
        grep -rlqF "$name" "$src/tests/unit" "$src/tests/accelctl" || fail "no test names $name"
        ;;
    driver)
        for driver in $by; do
            [ -n "$(option_files "$driver" "$name")" ] ||
                { echo "$name: the driver $driver has no such option"; unhonored=$((unhonored + 1)); }
        done
        [ -n "$by" ] || unhonored=$((unhonored + 1))
        ;;
    later)
        later=$((later + 1))
        choose_value
        try 4 "$accelctl" profile show cpu --set "$name=$value"
        one_error "(later: $by)"
        try 4 env "$variable=$value" "$accelctl" profile show cpu
        one_error "environment $variable: $name="
        mkdir -p site
        printf 'accel-profile: 1\ndefaults: {%s: %s}\n' "$name" "$value" >site/accel.yaml
        cd site || exit 99
        try 4 "$accelctl" profile show cpu
        cd "$work" || exit 99
        one_error "./accel.yaml:2:12: $name="
        # Its default changes nothing, and is accepted.
        if [ "$type" != size ] || [ "$default" = auto ]; then
            try 0 env "$variable=$default" "$accelctl" profile show cpu --set "$name=$default"
            printf 'accel-profile: 1\ndefaults: {%s: %s}\n' "$name" "$default" >site/accel.yaml
            cd site || exit 99
            try 0 "$accelctl" profile show cpu
            cd "$work" || exit 99
        fi
        ;;
    *) fail "$name: nothing says what honors it" ;;
    esac
done <settings
# What the table says of each setting is what a run does: it honors the value or refuses it for its own reason, a driver has
# the option, or nothing honors it yet.
# shellcheck disable=SC2086 # the names of columns
while IFS=$separator read -r $columns; do
    choose_value
    try 0 "$accelctl" profile settings "$name"
    words=$(tr -s '\n ' ' ' <"$work/out" | sed -n "s/^$name .*; built in [^;]*; \(honored by [a-z ]*\|later: [a-z ]*\).*/\1/p" | sed 's/ $//')
    checks=$((checks + 1))
    XDG_CACHE_HOME=$work/runs "$accelctl" run "$q8" -n 1 -q -p x --set "$name=$value" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    case "$words " in
    "honored by runs "*) ! grep -q "(later:\|has no such option" "$work/err" ;;
    *"honored by the driver"*" cpu "*) [ $status = 0 ] ;;
    "honored by the driver"*) [ $status = 4 ] && grep -q "has no such option" "$work/err" ;;
    "later: "*) [ $status = 4 ] && grep -qF "(${words% })" "$work/err" ;;
    *) false ;;
    esac || { cat "$work/err"; fail "$name=$value: status $status, and the table says '$words'"; }
done <settings
echo "$count settings, $later for later; accepted from a user and honored by no run: $unhonored"
is "$unhonored" 0 "settings that no run honors"

# ---- auto ----

# A user's auto leaves the choice to the plan: it is accepted, and nothing is reported as not honored.
autos=0
# shellcheck disable=SC2086 # the names of columns
while IFS=$separator read -r $columns; do
    case " $default $help " in
    *auto*) ;;
    *) continue ;;
    esac
    try 0 "$accelctl" plan "$q8" --set "$name=auto"
    grep -q "^not honored" "$work/out" && fail "$name=auto is not honored"
    autos=$((autos + 1))
done <settings
[ $autos -ge 40 ] || fail "only $autos settings may be auto"

# ---- options of drivers ----

# Three commands list or explain each option of the drivers of this tree, with the words of the driver's own table.
try 0 "$accelctl" plugins --json
cp "$work/out" plugins.json
found=0
for row in $(seq 0 $(($("$json" plugins.json - "plugins.#") - 1))); do
    driver=$("$json" plugins.json - "plugins.$row.name")
    for i in $(seq 0 $(($("$json" plugins.json - "plugins.$row.options.#") - 1))); do
        name=$("$json" plugins.json - "plugins.$row.options.$i.name")
        help=$("$json" plugins.json - "plugins.$row.options.$i.help")
        preset=$("$json" plugins.json - "plugins.$row.options.$i.default")
        [ -n "$(option_files "$driver" "$name")" ] || fail "$driver has no option $name in its source"
        try 0 "$accelctl" profile settings "$name" --json
        is "$(value options.#):$(value options.0.name):$(value options.0.by)" "1:$name:$driver" "profile settings $name"
        is "$(value options.0.help):$(value options.0.default)" "$help:$preset" "words of $name"
        try 0 "$accelctl" plan "$q8" --explain "$name"
        is "$(sed '2,/^  values/!d;s/^  is  *//;/^  values/d' "$work/out" | xargs -d '\n' | tr -s ' ')" "$help" "meaning of $name"
        [ "$driver" = cpu ] || has "  device   none of the driver $driver: the option changes nothing here"
        try 0 "$accelctl" plan "$q8" --explain "$name" --json
        is "$(value key)" "$name" "key of $name"
        found=$((found + 1))
    done
done
[ $found -ge 3 ] || fail "only $found options of drivers"
is "$(cat "$src"/plugins/cpu/driver.c "$src"/plugins/cpu/layout.c "$src"/plugins/cpu/experts.c | grep -c '_option = {$')" \
    "$("$accelctl" plugins | grep -c '^      cpu\.')" "options of the driver cpu"
explained()
{
    try 0 "$accelctl" plan "$q8" "$@"
    is "$(head -n 1 "$work/out")" "$key = $wanted_value" "value of $key"
}
key=cpu.isa wanted_value=auto
explained --explain cpu.isa
grep -q "^  device   cpu:cpu0: isa=" "$work/out" || fail "the instruction set that cpu.isa=auto chose is not printed"
grep -q "^  from     built in the driver cpu$" "$work/out" || fail "cpu.isa is of no driver"
wanted_value=scalar
explained --set cpu.isa=scalar --explain cpu.isa
grep -q "^  from     command line --set cpu.isa=scalar$" "$work/out" || fail "cpu.isa=scalar has no origin"
grep -q "^  over     auto       built in the driver cpu$" "$work/out" || fail "cpu.isa=scalar is over no built-in value"
key=cpu.simd wanted_value=false
explained --set kernels.simd=false --explain cpu.simd
grep -q "^  from     kernels.simd=false, command line --set kernels.simd=false$" "$work/out" || fail "cpu.simd is not kernels.simd"
try 2 "$accelctl" plan "$q8" --explain cpu.isaa
one_error "did you mean 'cpu.isa'?"

# ---- other names of settings ----

# Options, their letters, names of ollama and variables stand for settings, here and in the table.
while read -r name key; do
    try 0 "$accelctl" plan "$q8" "--explain=$name"
    is "$(head -n 1 "$work/out")" "$name sets $key" "what $name stands for"
    case $name in
    -*) ;;
    *)
        try 0 "$accelctl" profile settings "$name" --names
        grep -qx "$key" "$work/out" || [ "$key" = kv.type ] || fail "profile settings $name does not list $key"
        ;;
    esac
done <<'END'
-c context
--ctx-size context
ctx context
num_ctx context
-t cpu.threads
threads cpu.threads
num_thread cpu.threads
-ngl gpu.layers
ngl gpu.layers
-b batch
-fa attention.kernel
--no-mmap weights.load
-ctk kv.type.k
budget memory.budget
ACCEL_CPU_THREADS cpu.threads
ACCEL_KV_TYPE kv.type
END
for name in temperature temp --top-k seed -n; do
    try 2 "$accelctl" plan "$q8" "--explain=$name"
    one_error "$name is no setting, but an option of run and chat"
    try 0 eval "$accelctl run --help | grep -q -- '$(sed -n 's/.* explains //p' "$work/err")'"
done
try 2 "$accelctl" plan "$q8" --explain kv
one_error "kv is the beginning of several settings"
try 0 eval "$accelctl profile settings kv"

# ---- layers ----

# Every layer that sets a value is listed, the strongest first, and the command line's last option is stronger than those
# before it: files of user and folder, environment, command line.
mkdir -p layers/user/accel
printf 'accel-profile: 1\ndefaults:\n  batch: {value: 48tok, because: this user}\n  cpu.layout: panels\n' >layers/user/accel/accel.yaml
printf 'accel-profile: 1\ndefaults:\n  batch: {value: 32tok, because: this folder}\n  cpu.layout: rows\n  kv.type: {value: f32, because: both}\n' >layers/accel.yaml
cd layers || exit 99
layers()
{
    key=$1
    shift
    try 0 env XDG_CONFIG_HOME="$work/layers/user" ACCEL_BATCH=64tok ACCEL_CPU_LAYOUT=panels ACCEL_KV_TYPE=f16 \
        "$accelctl" plan "$q8" --set batch=80tok --set batch=96tok -b 112 --set kv.type.k=f32 --explain "$key" "$@"
}
layers batch
is "$(sed -n 's/^  \(from\|over\)  *//p' "$work/out" | sed "s|$work/||;s|[^ ]*/profiles/||;s/  */ /g" | tr '\n' ';')" \
    "command line -b 112;96 tok command line --set batch=96tok;80 tok command line --set batch=80tok;64 tok environment ACCEL_BATCH;32 tok layers/accel.yaml:3;48 tok layers/user/accel/accel.yaml:3;256 tok base.yaml:13;256 tok built in;" \
    "the layers of batch"
layers batch --json
is "$(value value) $(value origin.losers.#) $(value origin.losers.2.place)" "112 7 environment ACCEL_BATCH" "the layers in JSON"
layers cpu.layout
is "$(sed -n 's/^  \(from\|over\)  *//p' "$work/out" | sed "s|$work/||;s|[^ ]*/profiles/||;s/  */ /g" | tr '\n' ';')" \
    "environment ACCEL_CPU_LAYOUT;rows layers/accel.yaml:4;panels layers/user/accel/accel.yaml:4;auto cpu.yaml:23;rows built in the driver cpu;cpu.yaml:29;built in the driver cpu;" \
    "the layers of an option"
layers layout
is "$(head -n 1 "$work/out")" "cpu.layout = panels" "an option without the name of its driver"
# A name for two settings in each layer: a file may give it a reason, too.
layers kv.type
is "$(sed -n 's/^  from  *//p' "$work/out" | tr '\n' ';')" "command line --set kv.type.k=f32;environment ACCEL_KV_TYPE;" "what decides kv.type"
is "$(grep -c "^  over     f32 .*/layers/accel.yaml:5$" "$work/out")" 2 "kv.type of a file"
cd "$work" || exit 99

# ---- types by role ----

# Rows of 172 values have no group of 32, which the plan says of ffn.down.
for key in role.embedding role.attention.q role.attention.k role.attention.v role.attention.o role.ffn.up role.ffn.down; do
    try 0 "$accelctl" plan "$f32" --device cpu --set $key=q8 --parts
    type=q8_
    [ $key != role.ffn.down ] || type=f16
    grep -q "^  language  ${key#role.} .* $type.* --set $key=q8" "$work/out" || { cat "$work/out"; fail "$key=q8 has no effect"; }
done

# ---- power ----

# Of 6 fast and 8 slow cores.
power()
{
    try 0 "$accelctl" plan llama-2-7b --platform cpu --host "$src/tests/topologies/laptop-hybrid.json" --set "power=$1" --json
    is "$(value settings.cpu.threads.value)" "$2" "threads with power=$1"
}
power balanced 14
power efficient 8
power performance 6
try 0 "$accelctl" plan llama-2-7b --platform cpu --host "$src/tests/topologies/laptop-hybrid.json" --set power=efficient --set cpu.threads=3 --all
grep -q "slow: 3 threads on 8 cores" "$work/out" || { cat "$work/out"; fail "three threads do not begin with slow cores"; }
try 0 "$accelctl" plan llama-2-7b --platform cpu --host "$src/tests/topologies/two-sockets.json" --set power=efficient --all
has "half of the cores"

# ---- vector instructions ----

try 0 "$accelctl" run "$f32" --greedy -n 2 -p Once --device cpu --verbose --set kernels.simd=false
grep -q "driver=cpu device=cpu0 isa=scalar" "$work/err" || { cat "$work/err"; fail "kernels.simd=false is not scalar"; }
try 4 "$accelctl" run "$f32" -n 1 -p Once --device cpu --set kernels.precompile=false

# ---- log ----

# Lines of log.KEY of the last run.
logged()
{
    grep "^log.$1 " "$work/err"
}

run_once()
{
    try 0 "$accelctl" run "$q8" --greedy -n 3 -p Once --device cpu --no-cache "$@"
}

run_once
grep -qE "component=|^log\." "$work/err" && fail "lines of log without a setting"
run_once --set log.level=info
grep -q "^info: component=driver.cpu " "$work/err" || fail "log.level=info has no line of the driver"
is "$(grep -c "component=driver.cpu driver=cpu device=cpu0" "$work/err")" 1 "times that the device is opened"
run_once --set log.level=error --set log.load=true
grep -q "component=" "$work/err" && fail "log.level=error writes lines of info"
run_once --set log.level=info --set log.load=true
grep -q "^info: component=plan key=log.load note=" "$work/err" || fail "log.level=info writes no line of log.load"
run_once --verbose --set log.level=error
grep -q "^info: component=driver.cpu " "$work/err" || fail "log.level=error silences --verbose"
mkdir quiet && printf 'accel-profile: 1\ndefaults: {log.level: info}\n' >quiet/accel.yaml && cd quiet || exit 99
run_once
grep -q "^info: component=driver.cpu " "$work/err" || fail "log.level of a profile has no effect"
cd "$work" || exit 99

# Each tensor is loaded: mapped, copied or converted.
try 0 "$accelctl" info "$q8" --tensors --json
"$json" "$work/out" - "tensors.*.name" | sort >tensors
[ "$(wc -l <tensors)" -gt 40 ] || fail "no tensors"
for way in "mapped weights.load=map" "copied weights.load=read"; do
    run_once --set log.load=true --set "${way#* }"
    logged load | sed -n "s/^log.load   \([^:]*\): .*, ${way% *}$/\1/p" | sort >named
    is "$(comm -23 tensors named)" "" "tensors of which log.load does not say ${way% *}"
done
run_once --set log.load=true --set weights.type=q4 --set weights.group=32
logged load | grep -q "^log.load   blk.0.attn_q.weight: .*, converted$" || fail "log.load: no converted weight"

run_once --set log.kernels=true
nodes=$(logged kernels | sed 's/.*: \([0-9]*\) nodes* of .*/\1/' | awk '{ sum += $1 } END { print sum }')
is "$nodes" "$(sed -n 's/^placement  \([0-9]*\) nodes.*/\1/p' "$work/err")" "nodes of log.kernels"
logged kernels | grep -q "cpu:cpu0: attention: .* of attention$" || fail "log.kernels has no kernel of attention"

run_once --set log.memory=true --json
for class in state weights scratch; do
    is "$(sed -n "s/.*: $class +\([0-9]*\) bytes.*/\1/p" "$work/out" | awk '{ sum += $1 } END { print sum }')" \
        "$(value "memory.classes.$class.allocated")" "bytes of $class that log.memory has"
done

run_once --set log.attention=true
is "$(logged attention | wc -l)" 3 "steps of log.attention"
logged attention | tail -n 1 | grep -q "1 token at 3 read 4 of 4 in the cache, .*, 2560 bytes of keys and values, kernel attention$" ||
    fail "log.attention: $(logged attention | tail -n 1)"

# With windows attention reads less than the cache holds: here the window and the sinks.
run_once --set metrics.attention=true --json
case $(value metrics.0) in
"measured: 3 steps in "*" ms: attention read 9 tokens in the cache, 5760 bytes of keys and values, kernel attention") ;;
*) fail "metrics.attention: $(value metrics.0)" ;;
esac
try 0 "$accelctl" run "$q8" --greedy -n 64 -p Once --device cpu --no-cache --set log.attention=true --set kv.window=16 \
    --set kv.sinks=4
logged attention | tail -n 1 | grep -q " read 20 of [4-9][0-9] in the cache, .* $((20 * 640)) bytes of keys" ||
    fail "a window: $(logged attention | tail -n 1)"
# Metrics count what the lines of the log do: with a window, with pages, and in all texts of a batch.
for way in "" "--set kv.window=9" "--set kv.window=9 --set kv.sinks=0 --set attention.page=4 --set batch=7"; do
    # shellcheck disable=SC2086 # options
    try 0 "$accelctl" run "$q8" -q --greedy -n 24 -p Once -p "Lily and Tom" -p "A dog" --device cpu --no-cache $way \
        --set log.attention=true --set metrics.attention=true --set metrics.performance=true --set sequences=2
    is "$(grep -c '^metrics .* steps' "$work/err")" 2 "metrics of a batch ($way)"
    read_of_log=$(logged attention | sed 's/.* read \([0-9]*\) of .*/\1/' | awk '{ sum += $1 } END { print sum }')
    bytes_of_log=$(logged attention | sed 's/.* \([0-9]*\) bytes .*/\1/' | awk '{ sum += $1 } END { print sum }')
    is "$(sed -n 's/.*attention read \([0-9]* tokens in the cache, [0-9]*\) bytes.*/\1/p' "$work/err")" \
        "$read_of_log tokens in the cache, $bytes_of_log" "metrics.attention of a batch ($way)"
done
try 0 "$accelctl" run "$q8" -q --greedy -n 30 -p Once --device cpu --no-cache --set log.attention=true \
    --set kv.window=3 --set kv.sinks=5 --set attention.page=4 --set sequences=2
logged attention | tail -n 1 | grep -qE " read 8 of [0-9]+ in the cache, (3|4) pages of 4 tokens" ||
    fail "pages of sinks and window: $(logged attention | tail -n 1)"

# ---- who prints what settings request ----

# -q leaves out what nobody asked for.
try 0 "$accelctl" run "$q8" -q --greedy -n 3 -p Once --device cpu --no-cache --set log.kernels=true --set metrics.memory=true
grep -q "^log.kernels cpu:cpu0: attention" "$work/err" || fail "-q hides log.kernels"
grep -q "^metrics    measured: peak bytes" "$work/err" || fail "-q hides metrics.memory"
[ "$(grep -vcE '^(log.kernels|metrics) ' "$work/err")" = 0 ] || fail "-q prints more: $(cat "$work/err")"
try 0 env WEBGPU_SHADER_DEBUG=1 "$accelctl" run "$q8" -q --greedy -n 3 -p Once --device cpu --no-cache
[ -s "$work/err" ] && fail "-q prints what a variable of the documents recommends: $(cat "$work/err")"
# Several texts have the same members as one.
try 0 "$accelctl" run "$q8" --greedy -n 3 -p Once -p Tom --json --device cpu --no-cache --set log.kernels=true \
    --set metrics.attention=true --set weights.type=q4 --set weights.group=32 --set log.quantization=true
for member in weights.0 log.0 metrics.0; do
    [ -n "$(value $member)" ] || fail "run --json of two texts has no $member"
done
printf 'Hello\nBye\n' >said
for way in "" -q; do
    checks=$((checks + 1))
    "$accelctl" chat "$q8" $way --chat-template chatml -n 3 --device cpu --no-cache --set log.kernels=true \
        --set metrics.attention=true --set metrics.memory=true <said >"$work/out" 2>"$work/err" || fail "chat $way"
    is "$(logged kernels | grep -c ': attention: ')" 1 "lines of log.kernels in chat $way"
    is "$(grep -c '^metrics .* attention read' "$work/err")" 2 "metrics.attention of two answers $way"
done
"$accelctl" chat "$q8" --chat-template chatml -n 3 --device cpu --no-cache --json --set log.kernels=true --set metrics.attention=true \
    <said >"$work/lines" 2>/dev/null || fail "chat --json"
sed -n 2p "$work/lines" >"$work/out"
case $(value metrics.0) in "measured: "*) ;; *) fail "chat --json: the second answer has no metrics" ;; esac
grep -q '"log":\[\]' "$work/out" || fail "chat --json repeats what it logged"
try 0 "$accelctl" eval --text "$src/README.md" -n 64 "$q8" "$f32" --device cpu --set log.attention=true --set log.kernels=true
logged kernels | grep -q "^log.kernels stories260K-f32.gguf: cpu:cpu0: attention" || fail "eval: log.kernels"
logged attention | grep -q "stories260K-q8_0.gguf: sequence 0: 64 tokens at 0" || fail "eval: log.attention"
try 0 "$accelctl" eval --text "$src/README.md" -n 64 "$q8" --device cpu --set log.kernels=true --json
[ -n "$(value models.0.log.0)" ] || fail "eval --json has no log"
llama=$src/tests/fixtures/llama-gqa
try 0 "$accelctl" trace "$llama" -i "$llama/inputs.safetensors" -o "$work/stages" --device cpu --set log.attention=true
logged attention | grep -q "sequence 0: .* tokens at 0" || fail "trace: log.attention"
# not_honored SETTING COMMAND...: the user's setting is refused, and that of a profile is noted.
not_honored()
{
    setting=$1
    shift
    try 2 "$accelctl" "$@" --set "$setting=true"
    one_error "$setting=true: accelctl $1"
    grep -q "remedy: accelctl run MODEL --prompt TEXT --set $setting=true prints" "$work/err" || fail "$setting: no remedy"
}
for setting in metrics.performance metrics.memory metrics.attention; do
    not_honored $setting eval --text "$src/README.md" -n 64 "$q8" --device cpu
    not_honored $setting trace "$llama" -i "$llama/inputs.safetensors" -o "$work/stages" --device cpu
done
for setting in log.load log.kernels log.memory log.attention log.quantization metrics.quantization metrics.performance; do
    not_honored $setting bench decode -n 2 -r 1 "$q8" --device cpu
done
not_honored log.load cache warm "$q8" --device cpu
try 0 env WEBGPU_SHADER_DEBUG=1 "$accelctl" bench decode -n 2 -r 1 "$q8" --device cpu
grep -q "^note       not honored: log.kernels=true, accelctl run prints it (environment WEBGPU_SHADER_DEBUG" "$work/err" ||
    fail "bench: a variable's log.kernels is silent: $(cat "$work/err")"

# ---- goal ----

# goal GOAL SEQUENCES WEIGHTS_LOAD [OPTION...]
goal()
{
    goal=$1 sequences=$2 load=$3
    shift 3
    try 0 "$accelctl" plan "$q8" --device cpu --set goal="$goal" --json "$@"
    is "$(value settings.sequences.value)" "$sequences" "sequences with goal=$goal $*"
    try 0 "$accelctl" plan "$q8" --device cpu --set goal="$goal" --explain weights.load "$@"
    grep -qE "(= $load\$|over  *$load .*base.yaml:)" "$work/out" || fail "weights.load with goal=$goal $* is not $load"
}
goal balanced 1 map
goal throughput 8 auto
goal latency 1 map
goal throughput 2 auto --set sequences=2
try 0 "$accelctl" plan "$q8" --device cpu --set goal=throughput --explain sequences
has "one read of the weights serves 8 texts"
grep -q "^  from  *.*/base.yaml:" "$work/out" || fail "goal: sequences are not from base.yaml"
# A profile may have a goal as well, and rules that depend on it.
mkdir goal && cd goal || exit 99
cat >accel.yaml <<END
accel-profile: 1
defaults: {goal: latency}
rules:
  - when: request.goal == latency
    set: {batch: 32tok}
    because: a test
END
try 0 "$accelctl" plan "$q8" --device cpu --json
is "$(value settings.batch.value)" 32 "batch by a rule for a goal"
try 2 env ACCEL_GOAL=latency "$accelctl" run "$q8" -n 1 -p Once --set goal=fast
cat >accel.yaml <<END
accel-profile: 1
defaults: {goal: latency}
rules:
  - {when: request.goal == latency, set: {goal: throughput}, because: a test}
END
try 3 "$accelctl" plan "$q8" --device cpu
one_error "with goal latency in force, goal becomes throughput"
cd "$work" || exit 99
# Words are spelled as people do, wherever they stand, and a file of the user needs no reason.
mkdir spelled && cd spelled || exit 99
printf 'accel-profile: 1\ndefaults:\n  kv.type: q8_0\n  weights.type: Q4_K_M\n  goal: Latency\n  cpu.threads: {value: 1}\n' >accel.yaml
try 0 "$accelctl" plan llama-2-7b --platform cpu --json
is "$(value settings.kv.type.k.value) $(value settings.weights.type.value) $(value settings.goal.value) $(value settings.cpu.threads.value)" \
    "q8 q4_k_m latency 1" "values of accel.yaml"
rm accel.yaml
ACCEL_KV_TYPE=Q8_0 try 0 "$accelctl" plan llama-2-7b --platform cpu --json
is "$(value settings.kv.type.v.value)" q8 "a variable"
try 2 env ACCEL_KV_TYPE=q5_0 "$accelctl" plan llama-2-7b --platform cpu
one_error '"q5_0" is none of: auto f32 f16 q8 q4 ('
# A name without its group, and a type of other bits.
try 2 "$accelctl" plan "$q8" --set threads=1
one_error 'setting "threads" is unknown; did you mean "cpu.threads"?'
printf 'accel-profile: 1\ndefaults: {threads: 1}\n' >accel.yaml
try 3 "$accelctl" plan "$q8"
one_error 'setting "threads" is unknown; did you mean "cpu.threads"?'
rm accel.yaml
try 2 "$accelctl" plan llama-2-7b --platform cpu --set weights.type=IQ2_XXS
one_error "weights.type has no value 'IQ2_XXS'"
grep -q "^  remedy: q2_k is the nearest in size" "$work/err" || fail "a type of llama.cpp: $(cat "$work/err")"
cd "$work" || exit 99
# Several texts are decoded in one step, and with goal=latency one after another.
for goal in balanced latency; do
    try 0 "$accelctl" run "$q8" --device cpu --greedy -n 2 -p Once -p Upon -p A --json --no-cache --set goal=$goal
    sequences=1
    [ $goal = latency ] || sequences=3
    is "$(value time.sequences)" $sequences "sequences of three texts with goal=$goal"
done

# ---- attention weights ----

# Each token of a step gives the tokens up to it weights of 1 in all, so that those of a step sum to its tokens.
try 0 "$accelctl" run "$q8" --greedy -q -n 4 -p "Once upon" --device cpu --no-cache
cp "$work/out" plain
try 0 "$accelctl" run "$q8" --greedy -q -n 4 -p "Once upon" --device cpu --no-cache --set output.attention=true \
    --set measure.folder="$work/attention"
cmp -s plain "$work/out" || fail "output.attention changes the text"
is "$(wc -l <attention/attention.jsonl)" 4 "steps of output.attention"
# Lines name the prompt: sequences are used again.
try 0 "$accelctl" run "$q8" --greedy -q -n 2 -p "Once upon" -p Tom -p "Lily and" --device cpu --no-cache \
    --set output.attention=true --set measure.folder="$work/several" --set sequences=2
for text in 0 1 2; do
    is "$(grep -c "\"text\": $text, " several/attention.jsonl)" 2 "lines of text $text"
done
is "$(grep -c '"sequence": [01], ' several/attention.jsonl)" 6 "lines of sequences"
tokens=$("$accelctl" tokenize "$q8" "Lily and" --json | sed -n '/"ids"/,/]/p' | grep -c '^ *[0-9]')
grep -q "\"text\": 2, \"sequence\": [01], \"tokens\": $tokens," several/attention.jsonl ||
    fail "the third prompt has $tokens tokens: $(cut -c1-60 several/attention.jsonl)"
for step in 1 2 3 4; do
    sed -n "${step}p" attention/attention.jsonl >line.json
    tokens=$("$json" line.json - tokens)
    is "$tokens" "$([ $step = 1 ] && echo 3 || echo 1)" "tokens of step $step"
    cached=$("$json" line.json - "weights.#")
    is "$cached" "$((step + 2))" "tokens in the cache in step $step"
    is "$("$json" line.json - "positions.$((cached - 1))")" "$((step + 1))" "the newest position in step $step"
    "$json" line.json - weights | tr -d '[]' | tr ',' '\n' | awk -v tokens="$tokens" '{ sum += $1; wrong += ($1 <= 0) }
        END { exit wrong != 0 || sum < tokens - 0.01 || sum > tokens + 0.01 }' ||
        fail "weights of step $step: $(cat line.json)"
done
# Scores for both uses.
try 0 "$accelctl" run "$q8" --greedy -q -n 40 -p "Once upon" --device cpu --no-cache --set output.attention=true \
    --set measure.folder="$work/attention" --set context=32 --set kv.full=prune --set kv.prune=usage
is "$(wc -l <attention/attention.jsonl)" 40 "steps of output.attention with a cache that is pruned"
is "$(tail -n 1 attention/attention.jsonl >line.json; "$json" line.json - "weights.#")" 32 "weights of a full cache"

# ---- kept weights ----

kept()
{
    find "$XDG_CACHE_HOME" -name "cpu-weights-*" | wc -l
}
try 0 "$accelctl" run "$q8" -q --greedy -n 1 -p Once --device cpu --set cpu.layout=panels --set cache.components=false
is "$(kept)" 0 "files of packed weights with cache.components=false"
try 0 "$accelctl" run "$q8" -q --greedy -n 1 -p Once --device cpu --set cpu.layout=panels
is "$(kept)" 1 "files of packed weights"

# ---- measurements ----

try 0 "$accelctl" run "$f32" --greedy -n 4 -p Once --json --set trace.steps=true --set measure.memory=true \
    --set measure.folder="$work/measured" --set metrics.performance=true --set metrics.memory=true
steps=$(wc -l <measured/steps.jsonl)
is "$steps" "$(wc -l <measured/memory.jsonl)" "lines of memory and of steps"
tokens=$(value time.tokens)
is "$steps" "$tokens" "a step of the prompt, and one for each token but the last"
case $(value metrics.0) in "measured: $steps steps, "*) ;; *) fail "metrics: $(value metrics.0)" ;; esac
case $(value metrics.1) in "measured: peak bytes: weights "*" state "[1-9]*) ;; *) fail "metrics: $(value metrics.1)" ;; esac
end=0
for line in $(seq 1 "$steps"); do
    sed -n "${line}p" measured/steps.jsonl >step.json
    begin=$("$json" step.json - begin_ns)
    [ "$begin" -ge "$end" ] || fail "step $line begins at $begin, before the one before it ends"
    end=$("$json" step.json - end_ns)
    [ "$end" -gt "$begin" ] || fail "step $line ends before it begins"
    is "$("$json" step.json - step)" "$line" "the number of a step"
done
sed -n 1p measured/memory.jsonl >memory.json
[ "$("$json" memory.json - state)" -gt 0 ] || fail "no bytes of the KV cache"
# A warm-up of the cache is no run: the files of the last one stay.
cp measured/steps.jsonl kept.jsonl
try 0 "$accelctl" cache warm "$f32" --device cpu --set trace.steps=true --set measure.memory=true \
    --set measure.folder="$work/measured"
cmp -s measured/steps.jsonl kept.jsonl || fail "cache warm wrote to steps.jsonl"
# A place that cannot be written has the status of an output that failed. A FIFO is refused before it is waited for.
mkdir "$work/irregular"
mkfifo "$work/irregular/steps.jsonl"
ln -s /dev/null "$work/irregular/memory.jsonl"
mkdir "$work/irregular/attention.jsonl"
for row in /dev/null/x:trace.steps "$work/irregular/steps.jsonl:trace.steps" "$work/irregular:trace.steps" \
    "$work/irregular:measure.memory" "$work/irregular:output.attention"; do
    try 1 timeout 300 "$accelctl" run "$f32" -n 1 -p Once --set "${row##*:}=true" --set "measure.folder=${row%:*}"
    one_error "measure.folder: cannot write ${row%:*}/"
done
# A disk that is full, here by the limit of files.
for row in trace.steps:steps measure.memory:memory output.attention:attention; do
    # shellcheck disable=SC2016 # the inner shell expands
    try 1 sh -c 'ulimit -f 1; exec "$@"' sh "$accelctl" run "$f32" -n 60 -g -q -p Once --no-cache --ignore-end \
        --set "${row%%:*}=true" --set measure.folder="$work/full"
    one_error "${row#*:}.jsonl: cannot write: "
    tail -n 1 "$work/full/${row#*:}.jsonl" | grep -q '}$' || fail "${row#*:}.jsonl of a full disk ends within a line"
done
try 0 "$accelctl" run "$f32" -n 1 -p Once --set weights.type=q4 --set weights.group=32 --set metrics.quantization=true --json
"$json" "$work/out" - weights.0 | grep -q "relative error" || fail "metrics.quantization: $(value weights.0)"
finish
