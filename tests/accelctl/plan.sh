#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accelctl plan as a user reads it: the verdict first, settings that somebody set, one of them explained, the longest
# context, the same as a call of other programs; and a plan in a file that a run repeats to the letter or refuses by name.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

# short: the plan is the one that is read first, with its five rows of memory.
short()
{
    [ "$(wc -l <"$work/out")" -le 21 ] || { cat "$work/out"; fail "a plan of over 21 lines"; }
    for row in "memory     weights" "           KV cache" "           activations" "           compiled graph" "           host"; do
        grep -q "^$row  *[0-9.]* [KMG]*i*B  " "$work/out" || { cat "$work/out"; fail "no row '$row' of memory"; }
    done
    for line in verdict model context speed more; do
        grep -q "^$line  *[^ ]" "$work/out" || { cat "$work/out"; fail "a plan without a line '$line'"; }
    done
}

model=$work/model.gguf
plan=$work/plan.json
cp "$q8" "$model"

# The verdict is the first line, and what nobody set is left out.
try 0 "$accelctl" plan "$model"
is "$(head -n 1 "$work/out" | cut -c 1-28)" "verdict    FITS on cpu:cpu0:" "the first line"
short
grep -q "base.yaml:" "$work/out" && fail "reasons are listed without --reasons"
try 0 "$accelctl" plan "$model" --reasons
# A value that the library decided is no default: it is listed, with its reason.
grep -qE "^  attention.kernel +tiled +built in$" "$work/out" || fail "attention.kernel is not listed"
grep -qE "^  attention.page +one sequence" "$work/out" || fail "attention.page has no reason"
grep -q "kernels.sparse" "$work/out" && fail "a setting that nobody set is listed"
has "base.yaml:"
try 0 "$accelctl" plan "$model" --all
has "kernels.sparse"
has "built in"
try 5 "$accelctl" plan "$model" --set memory.budget=1MiB
is "$(head -n 1 "$work/out" | cut -c 1-36)" "verdict    DOES NOT FIT on cpu:cpu0:" "the first line"
has "short by"
has "--fit"
short
# Two sizes that differ do not have one text.
try 0 "$accelctl" plan "$model" --json
needed=$(value verdict.needed)
try 5 "$accelctl" plan "$model" --set memory.budget=$((needed - 100))B
tr -s ' \n' '  ' <"$work/out" >"$work/line"
sizes=$(sed -n 's/.* needs \([0-9.]*\) MiB of \([0-9.]*\) MiB (.*), short by 100 B .*/\1 \2/p' "$work/line")
[ -n "$sizes" ] && [ "${sizes% *}" != "${sizes#* }" ] || fail "sizes that are near: $(cat "$work/line")"

# One setting: the winner, then every loser.
try 0 "$accelctl" plan "$model" --set batch=32tok --explain batch
is "$(head -n 1 "$work/out")" "batch = 32 tok" "what is explained"
has "from     command line --set batch=32tok"
has "is       "
has "variable ACCEL_BATCH"
has "over     256 tok"
has "base.yaml:"
has "built in"
# One profile has one name, whatever leads to it.
ln -s "$src/profiles" "$work/link"
for how in "" "--profiles $work/link" "--profiles $src/tests/../profiles"; do
    # shellcheck disable=SC2086 # an option and its value
    try 0 "$accelctl" plan "$model" --all $how
    folder=$(sed -n 's/^profiles  *//p' "$work/out")
    # shellcheck disable=SC2086 # an option and its value
    try 0 "$accelctl" plan "$model" --explain batch $how
    has "  from     $folder/base.yaml:"
    is "$folder" "$(cd "$src/profiles" && pwd -P)" "the folder of profiles with '$how'"
done
try 0 "$accelctl" plan "$model" --explain batch --json
"$json" "$work/out" accelctl/explain/1 || fail "--explain --json"
is "$(value value)" 256 "the value"
is "$(value origin.kind)" profile "its kind"
case $(value origin.file) in */base.yaml) ;; *) fail "origin.file is $(value origin.file)" ;; esac
[ "$(value origin.line)" -gt 1 ] || fail "origin.line"
is "$(value origin.losers.0.place)" "built in" "the loser"
try 2 "$accelctl" plan "$model" --explain batsh
one_error "did you mean 'batch'?"

# A setting that others refine is explained with them: the layout of weights, and the types that it leaves in rows.
try 0 "$accelctl" plan "$model" --device cpu --explain cpu.layout
is "$(head -n 1 "$work/out")" "cpu.layout = auto" "the layout"
is "$(grep -c '^cpu.layout_types = .*avx2:q2_k,.*=rows' "$work/out")" 1 "types in rows"
is "$(grep -c '/cpu.yaml:' "$work/out")" 2 "origins"
has "Zen 3"
has "Zen 4"
has "cpu-avx2.md"
has "cpu-zen4.md"
try 0 "$accelctl" plan "$model" --device cpu --explain cpu.layout --json
is "$(value refined_by.0.key)" cpu.layout_types "the setting that refines it"
[ "$(value refined_by.0.origin.line)" -gt "$(value origin.line)" ] || fail "the line of cpu.layout_types"
try 0 "$accelctl" plan "$model" --device cpu --set goal=throughput --explain cpu.layout
is "$(head -n 1 "$work/out")" "cpu.layout = panels" "the layout for several sequences"
try 2 "$accelctl" plan "$model" --device cpu --set "cpu.layout_types=avx2:q2_k=rows q3_k"
one_error 'cpu.layout_types: "q3_k": "q3_k": no instruction set'

# The document.
try 0 env ACCEL_BATCH=64tok "$accelctl" plan "$model" --set context=128tok --json
"$json" "$work/out" accelctl/plan/2 || fail "--json"
is "$(value settings.context.value)" 128 "the context"
is "$(value settings.context.origin.kind)" given "its origin"
is "$(value settings.batch.value)" 64 "the batch"
is "$(value settings.batch.origin.place)" "environment ACCEL_BATCH" "its place"
is "$(value settings.batch.origin.losers.0.value)" 256 "what it overruled"
is "$(value verdict.fits)" true "the verdict"
is "$(value verdict.exact)" true "the verdict"
is "$(value device.driver)" cpu "the driver"
is "$(value model.files.#)" 1 "files of the model"

# The longest context fits, and one token more does not.
budget="--set memory.budget=1200KiB"
# shellcheck disable=SC2086
{
    try 0 "$accelctl" plan "$model" --max-context $budget --json
    most=$(value max_context)
    [ "$most" -gt 10 ] && [ "$most" -lt 512 ] || fail "--max-context $most"
    try 0 "$accelctl" plan "$model" $budget --set "context=${most}tok"
    try 5 "$accelctl" plan "$model" $budget --set "context=$((most + 1))tok"
    try 0 "$accelctl" plan "$model" --max-context
    has "512 tokens fit (trained for as many); planned are 512"
    try 0 "$accelctl" plan "$model" --max-context $budget --json -c 2048 --set context.beyond_training=true
    is "$(value max_context)" "$most" "tokens in a budget, beyond the training"
    try 0 "$accelctl" plan "$model" --max-context --set memory.budget=16MiB --set context.beyond_training=true
    more=$(sed -n 's/^\([0-9]*\) tokens fit (trained for 512); planned are 512$/\1/p' "$work/out")
    [ "$more" -gt 512 ] || fail "no more than $more tokens fit"
    beyond="--set memory.budget=16MiB --set context.beyond_training=true"
    try 0 "$accelctl" plan "$model" $beyond -c $more
    try 5 "$accelctl" plan "$model" $beyond -c $((more + 1))
    try 5 "$accelctl" plan "$f32" --max-context --set memory.budget=1MiB
    has "not even of one token"
}

# A model that is not here, on a platform that is not: by formula, and every fact says where it is known from.
for gpu in t4:q4_g128 a100:q8_g128; do
    try 0 "$accelctl" plan gemma-2b --platform cuda --device ${gpu%%:*}
    grep -q "^weights    ${gpu#*:} by ${gpu%%:*}.yaml:[0-9]*; --set weights.type=auto keeps" "$work/out" ||
        { cat "$work/out"; fail "the type of weights is not near the verdict"; }
    try 0 "$accelctl" plan gemma-2b --platform cuda --device ${gpu%%:*} --set weights.type=auto
    grep -q "^weights " "$work/out" && fail "the model's own type is said to be another"
done
# Windows and latent attention of a described model, and what they do to its cache.
try 0 "$accelctl" plan gpt-oss-20b --platform cuda --device h100
has "sliding window of 128 tokens in 12 of 24 layers"
try 0 "$accelctl" plan deepseek-v2-lite --platform cuda --device h100
has "latent attention: the KV cache is planned for a Hugging Face folder, with 5120 elements"
try 0 "$accelctl" plan deepseek-v2-lite --platform cuda --device a100 --set weights.type=q4_k_m
has "latent attention: the KV cache is planned for a GGUF file that has blk.0.attn_k_b.weight, with"
grep -q "^           KV cache .* 57.4 KiB per token" "$work/out" || { cat "$work/out"; fail "a cache of compressed keys and values"; }
try 0 "$accelctl" plan llama-2-7b --platform cuda --device t4
is "$(head -n 1 "$work/out" | cut -c 1-24)" "verdict    FITS on cuda:" "the first line"
has "by formula"
has "platform   cuda, 1 x Tesla T4, of which no device is here"
short
try 0 "$accelctl" plan llama-2-7b --platform cuda --device t4 --all
grep -q "  device.memory  *16106127360  *t4.yaml:" "$work/out" || fail "device.memory has no place"
# The reason of a value that a rule decided names profiles as their own rows do.
has "(t4.yaml:"
grep '^ .*/[^ ]*\.yaml:' "$work/out" && fail "a plan names a profile by its folder"
try 3 "$accelctl" run llama-2-7b
one_error "is a description without weights, which can be planned (accelctl plan) but not run; it describes huggingface.co/meta-llama/Llama-2-7b-hf, config.json"
grep -q "remedy: to run it, download its GGUF file" "$work/err" || fail "no remedy for a described model"
# Names in other letters and those of Hugging Face; names of other models suggest the nearest one.
for name in Llama-2-7B meta-llama/Llama-2-7b-hf meta-llama/llama-2-7b Llama-2-7b-hf; do
    try 0 "$accelctl" plan "$name" --platform cuda --device t4 --json
    is "$(value facts.model.name.value)" llama-2-7b "the descriptor of $name"
    try 3 "$accelctl" run "$name"
    one_error "$name: is a description without weights"
    try 0 "$accelctl" profile show cuda+t4 --model "$name"
done
while IFS='|' read -r name near; do
    try 3 "$accelctl" plan "$name"
    one_error "\"$name\" is neither a file nor a model"
    grep -q "remedy: did you mean $near? accelctl plan plans it by its name" "$work/err" ||
        { cat "$work/err"; fail "$name does not suggest $near"; }
done <<'END'
meta-llama/Llama-3.1-8B|llama-3-8b (version 3, not 3.1)
Llama-3.1-8B-Instruct|llama-3-8b (version 3, not 3.1)
gemma2|gemma-2-2b
mistral-7b-instruct-v0.3|mistral-7b
qwen2.5-7b|qwen2-7b (version 2, not 2.5)
mistal-7b|mistral-7b
someone/gemma-2b|gemma-2b
HuggingFaceTB/SmolLM2-135M-Instruct|smollm2-135m
END
for name in ./gemma-2b models/llama-2-7b/x google/gemma-2b.gguf; do
    try 3 "$accelctl" plan "$name"
    one_error "$name: cannot open"
done
for command in run chat bench "cache warm"; do
    # shellcheck disable=SC2086 # a command and its action
    try 3 "$accelctl" $command llama3
    grep -q "remedy: did you mean llama-3-8b? accelctl plan plans it by its name; to run a model, download its GGUF file" "$work/err" ||
        { cat "$work/err"; fail "$command llama3: no remedy"; }
done
try 3 "$accelctl" plan llama-2-7c
one_error "llama-2-7c"
try 0 "$accelctl" plan llama-2-7b --platform cuda --device t4 --json
is "$(value verdict.exact)" false "a shape plan"
is "$(value platform)" cuda "the platform"
try 0 "$accelctl" plan llama-2-7b --platform cuda --device t4 --explain weights.type --json
is "$(value value)" q4 "4 bits on a T4"
case $(value origin.file) in */devices/t4.yaml) ;; *) fail "weights.type is not of t4.yaml" ;; esac
# A family that does not run can be planned. It is a model file that is not supported, for plans and runs.
sed 's/llama/blama/g' "$q8" >"$work/blama.gguf"
for command in "plan" "run --prompt Once" "bench decode" "chat" "plan --json"; do
    # shellcheck disable=SC2086 # a command and its options
    try 3 "$accelctl" $command "$work/blama.gguf"
    grep -q 'architecture ."*blama.*" has no implementation here' "$work/out" "$work/err" ||
        { cat "$work/out" "$work/err"; fail "$command: the family is not named"; }
done
for shown in "" --all; do
    # shellcheck disable=SC2086 # an option, or none
    try 3 "$accelctl" plan "$work/blama.gguf" $shown
    has "DOES NOT RUN"
    grep -q "tokens/s\|^speed" "$work/out" && fail "a speed of what does not run, $shown"
done
try 3 "$accelctl" plan bert-tiny
has "DOES NOT RUN on cpu:cpu0"
has "architecture \"bert\" has no implementation here"
has "remedy: accelctl info --help lists the $(grep -c "^FAMILY(" "$src/model/family/families.def") supported architectures"
try 0 "$accelctl" info --help
for family in $(sed -n 's/^FAMILY(\(.*\))$/\1/p' "$src/model/family/families.def"); do
    grep -qw "$family" "$work/out" || fail "accelctl info --help does not list $family"
done
# What the activations of a pyramid leave out stands beside them.
try 3 "$accelctl" plan resnet-50
tr -s ' \n' '  ' <"$work/out" >"$work/line"
grep -qF "scratch of a step; vision: features between filters are not in the scratch of the plan compiled graph" "$work/line" ||
    { cat "$work/out"; fail "activations do not state what they leave out"; }
try 3 "$accelctl" plan bert-tiny --platform cuda
has "DOES NOT RUN on cuda"
has "architecture \"bert\" has no implementation here"
has "bert, 2 layers"
# A setting that a run does not carry out: planned by formula, and no run.
try 4 "$accelctl" plan "$model" --set role.norm=f16
has "DOES NOT RUN"
try 4 "$accelctl" run "$model" --set role.norm=f16
one_error "role.norm=f16"
# A setting that nothing honors yet: refused everywhere, and shown where a profile has it.
for command in plan run "profile show"; do
    target=$model
    [ "$command" != "profile show" ] || target=cpu
    # shellcheck disable=SC2086
    try 4 "$accelctl" $command "$target" --set kernels.sparse=true
    one_error "kernels.sparse=true is not honored yet (later: qualcomm driver)"
done
try 0 "$accelctl" plan llama-2-7b --platform webgpu --all
grep -q "^  kernels.tuned  *true  *later: webgpu driver (webgpu.yaml:[0-9]*)" "$work/out" || fail "plan --all shows no later"
grep -q "^  kernels.tuned  *false  *built in" "$work/out" || { cat "$work/out"; fail "a later value is in force"; }
try 0 "$accelctl" plan llama-2-7b --platform webgpu --json
is "$(value later.0.key)=$(value later.0.value) $(value later.0.later)" "kernels.tuned=true webgpu driver" "later in JSON"
is "$(value settings.kernels.tuned.value)" false "the value in force"
# What a run does not honor is on one line, and sections are added one by one.
try 0 "$accelctl" plan llama-2-7b --platform cuda --device 2xt4
short
for option in --reasons:settings --overruled:over --layers:layers --parts:parts; do
    try 0 "$accelctl" plan llama-2-7b --platform cuda --device 2xt4 "${option%%:*}"
    grep -q "^ *${option#*:}" "$work/out" || fail "$option: nothing is added"
done
try 0 "$accelctl" plan "$model" --nodes
has "layers.0.attention"
try 0 "$accelctl" plan llama-2-7b --platform cuda --device 2xt4 --nodes
has "nodes      none: a plan by formula builds no graph"
# A long value ends behind a whole item; --explain has it all.
layouts="avx2:q2_k,q3_k,q5_k,q6_k=rows avx512@amd:q4_g32,q4_g128,q8_g32=rows"
for option in --reasons "--emit llama-server"; do
    # shellcheck disable=SC2086 # a list of words
    try 0 "$accelctl" plan "$model" --device cpu --set "cpu.layout_types=$layouts" $option
    has " avx2:q2_k,q3_k,q5_k,q6_k=rows avx512@amd:q4_g32,q4_g128,... "
done
try 0 "$accelctl" plan "$model" --device cpu --set "cpu.layout_types=$layouts" --explain cpu.layout_types
has "cpu.layout_types = $layouts"
# Types and layers.
try 0 "$accelctl" plan llama-2-7b --set precision.adaptive=true --parts --layers
grep -q "language  ffn.up .* q4_g128 .* 4\.125 b" "$work/out" || fail "--parts: ffn.up is not in 4 bits"
grep -q "language  attention.q .* q8_g128" "$work/out" || fail "--parts: attention.q is not in 8 bits"
grep -q "language  *0-31 .*weights .*state" "$work/out" || fail "--layers: no row of all layers"

try 5 "$accelctl" plan llama-2-70b --platform cuda --device t4
short
# Devices that are not here, by count and by list: budgets and bandwidths of data sheets, less what is reserved.
try 0 "$accelctl" plan llama-2-70b --platform cuda --device 2xh100 --set weights.type=f16
has "platform   cuda, 2 x NVIDIA H100 80GB HBM3, of which no device is here"
has "of 157.3 GiB"
grep -q "^split      layers 0-4[0-9], embedding on cuda:0: " "$work/out" || fail "layers are not split over two devices"
grep -q "^speed      decode at most 2[0-9]\." "$work/out" || { cat "$work/out"; fail "no bound of two bandwidths"; }
short
# Heads of each layer are not split yet, and nothing counts on it.
try 0 "$accelctl" plan llama-2-70b --platform cuda --device 2xh100 --all
grep -q "^  tensor.parallel  *2  *later: tensor parallel runs" "$work/out" || fail "tensor.parallel is not shown as later"
grep -q "^  tensor.parallel  *1  *built in" "$work/out" || fail "tensor.parallel is in force"
try 4 "$accelctl" plan llama-2-70b --platform cuda --device a100,h200 --set tensor.parallel=2
one_error "tensor.parallel=2 is not honored yet (later: tensor parallel runs)"
try 5 "$accelctl" plan llama-2-70b --platform cuda --device rtx3090 --set gpu.layers=78 --set weights.type=q4
tr -s ' \n' '  ' <"$work/out" >"$work/line"
grep -q "(memory of 2 devices; cuda is short: it needs [0-9.]* GiB of its 23.0 GiB), short by [0-9.]* GiB on one device" "$work/line" ||
    { cat "$work/out"; fail "the device that is short is not named"; }
grep -q "^not honored.*gpu.layers" "$work/out" && fail "gpu.layers is planned and not honored"
try 0 "$accelctl" plan "$model" --platform cuda --device rtx3090 -ngl 3 --all
grep -q "language *0-2 *cpu:cpu0" "$work/out" || { cat "$work/out"; fail "-ngl 3 is not planned"; }
grep -q "refused by a run" "$work/out" && fail "-ngl 3 is planned and refused"
# Layers that lie on the CPU do not have the bandwidth of the described device, but the runs of the CPU.
XDG_STATE_HOME=$work/state.host try 0 "$accelctl" plan "$model" --platform cuda --device a100 -ngl 0 --json
case $(value speed.0.origin) in "nothing was measured on this device"*) ;; *) fail "-ngl 0: $(value speed.0.origin)" ;; esac
XDG_STATE_HOME=$work/state.host try 0 "$accelctl" run "$model" -q --greedy --ignore-end -n 24 -p Once
XDG_STATE_HOME=$work/state.host try 0 "$accelctl" plan "$model" --platform cuda --device a100 -ngl 0 --json
case $(value speed.0.origin) in "estimated: bytes/s of 1 run of this model with other settings"*) ;; *) fail "-ngl 0: $(value speed.0.origin)" ;; esac
# Threads are refused where no layer lies on a device that has them.
try 4 "$accelctl" plan llama-2-7b --platform cuda --device a100 -t 1
is "$(head -n 1 "$work/out" | cut -c 1-31)" "verdict    DOES NOT RUN on cuda" "a plan with a setting that a run refuses"
has "because    a run refuses cpu.threads=1: no layer runs on a device with threads"
has "refused by a run: cpu.threads=1, no layer runs on a device with threads"
# A device that does not open with its options has no memory in the plan, and a verdict all the same.
isa=neon
case $(uname -m) in aarch64 | arm*) isa=amx ;; esac
for more in "" --all; do
    # shellcheck disable=SC2086 # no word
    try 4 "$accelctl" plan "$q8" --device cpu --set cpu.isa=$isa $more
    is "$(head -n 1 "$work/out")" "verdict    DOES NOT RUN on cpu:cpu0" "the verdict of a device that does not open"
    grep -q "^because    driver cpu, open: cpu.isa=$isa: " "$work/out" || { cat "$work/out"; fail "no reason"; }
    has "remedy: set cpu.isa to auto or"
done
try 0 "$accelctl" plan "$model" --platform cuda --device rtx3090 -ngl 3 -t 1
grep "refused by a run" "$work/out" && fail "-t is refused where layers lie on the CPU"
# A speed is that of one sequence, and the number of sequences that fits is of the plan.
try 0 "$accelctl" plan llama-2-7b --platform cuda --device a100 --set sequences=4
grep -q "^speed      decode at most [0-9.]* tokens/s for one sequence" "$work/out" || fail "speed of 4 sequences: $(cat "$work/out")"
try 0 "$accelctl" plan llama-3-8b --platform cuda --device rtx4090 --explain sequences
has "from     the plan"
try 0 "$accelctl" plan llama-2-70b --platform cuda --device 2xh100 --set weights.type=f16 --json
is "$(value facts.device.count.value)" 2 "the count"
is "$(value verdict.budget)" $((2 * (81559 - 1024) * 1048576)) "the budget"
is "$(value speed.1.name)" prefill "the bound by operations"
cp "$work/out" "$work/counted"
try 0 "$accelctl" plan llama-2-70b --platform cuda --device h100 --set device.count=2 --set weights.type=f16 --json
is "$(value verdict.budget)" "$("$json" "$work/counted" - verdict.budget)" "the same by device.count"
is "$(value speed.0.upper)" "$("$json" "$work/counted" - speed.0.upper)" "the same speed"
try 0 "$accelctl" plan llama-2-7b --platform cuda --device a100 --json
is "$(value verdict.budget)" $((42405855232 - 1073741824)) "the budget of an A100 with 40 GB"
try 0 "$accelctl" plan llama-2-7b --platform cuda --device a100 --set device.reserve=5GiB --json
is "$(value verdict.budget)" $((42405855232 - 5368709120)) "the budget with another reserve"
try 0 "$accelctl" plan tinyllama-1.1b --platform mps --device m3 --set device.memory=16GiB --set device.reserve=0GiB --json
is "$(value verdict.budget)" 17179869184 "the budget of shared memory without a reserve"
try 2 "$accelctl" plan llama-2-7b --platform cuda --set device.memory=36
one_error "device.memory is no size"
grep -qF "remedy: write a whole number with its unit, as 36GiB, 1536MiB or 360GB" "$work/err" || fail "$(cat "$work/err")"
# Several devices without a profile are used like those of a profile.
try 0 "$accelctl" plan llama-2-70b --set weights.type=q4 --platform cuda --set device.memory=24GB --set device.count=2
grep -q "^verdict    FITS on cuda:0, cuda:1: needs " "$work/out" || { cat "$work/out"; fail "the second device holds no layers"; }
# Prefill of a small model is bound by reading its weights once for each batch.
try 0 "$accelctl" plan tinyllama-1.1b --platform cuda --device h100 --set batch=16tok --json
case $(value speed.1.origin) in *"device.bandwidth"*"for each batch of 16") ;; *) fail "prefill: $(value speed.1.origin)" ;; esac
# Different devices: layers are split, each device has its own memory, and the slower one bounds its part.
try 0 "$accelctl" plan llama-2-70b --platform cuda --device a100,h100
has "platform   cuda, 1 x NVIDIA H100 80GB HBM3 + 1 x NVIDIA A100-SXM4-40GB, of which no device is here"
tr -s ' \n' '  ' <"$work/out" >"$work/line"
grep -q -- "- no device of the list is here: .* with the settings of h100 " "$work/line" || fail "no note on the list"
short
try 0 "$accelctl" plan llama-2-70b --platform cuda --device a100,h100 --set context=4096tok --set sequences=16
grep -q "layers 0-[67][0-9], embedding on h100: " "$work/out" && grep -q "layers [67][0-9]-79, output on a100: " "$work/out" ||
    { cat "$work/out"; fail "layers are not split over an H100 and an A100"; }
# Many devices, and several of them that lack memory: three rows of the split, one warning, and no speed.
try 0 "$accelctl" plan llama-2-70b --platform cuda --device 16xt4 --set weights.type=f16
short
is "$(grep -c "^\(split\|     \)      layers .* on cuda:" "$work/out")" 2 "rows of the split"
grep -q "^           and 8 more: weights [0-9.]* GiB; --layers lists all" "$work/out" || fail "no rest of the split"
has "speed      decode at most"
for list in "vulkan --device 2xt4" "cuda --device 8xt4 --set sequences=16 --set weights.type=f16"; do
    # shellcheck disable=SC2086 # words
    try 5 "$accelctl" plan llama-2-70b --platform $list
    sed '/^ *remedy: /d' "$work/out" >"$work/line"
    is "$(grep -c "^! .* takes " "$work/line")" 1 "warnings of $list"
    grep -q "^speed" "$work/out" && fail "a speed of a split that does not fit"
    [ "$(wc -l <"$work/out")" -le 21 ] || { cat "$work/out"; fail "over 21 lines: $list"; }
done
try 5 "$accelctl" plan llama-2-70b --platform vulkan --device 2xt4
tr -s ' \n' '  ' <"$work/out" >"$work/line"
grep -qF "less 1024 MiB device.reserve): too much, as on 1 more" "$work/line" || { cat "$work/out"; fail "the second device"; }
try 5 "$accelctl" plan llama-2-70b --platform vulkan --device 2xt4 --all
is "$(grep -c "vulkan:[01] takes 17" "$work/out")" 2 "devices that lack memory, of --all"
# The order of the list changes nothing: the device with the most bandwidth is filled first.
for list in a100,h200 h200,a100; do
    try 0 "$accelctl" plan llama-2-70b --platform cuda --device $list
    is "$(head -n 1 "$work/out" | cut -c 1-24)" "verdict    FITS on h200:" "the first line of $list"
    has "context    4096 tokens"
    grep -q "^speed      decode at most 6[0-9]\." "$work/out" || { cat "$work/out"; fail "the speed of $list"; }
done
try 0 "$accelctl" plan llama-2-70b --platform cuda --device 4xl4,2xl40s --json
is "$(value verdict.fits)" true "pairs of equal devices"
# A device of another vendor or driver than the platform's, and names that mean a platform or a model.
try 4 "$accelctl" plan llama-2-7b --platform rocm --device h100
one_error "the platform rocm does not drive the device h100 (NVIDIA H100 80GB HBM3)"
grep -q "remedy: .*: --platform cuda --device h100" "$work/err" || fail "the platform of an H100 is not named"
try 4 "$accelctl" plan llama-2-7b --platform cuda --device h100,mi300x
try 0 "$accelctl" plan llama-2-7b --platform vulkan --device h100
for file in llama-2-7b "$q8"; do
    try 4 "$accelctl" plan "$file" --platform cuda --device cpu
    one_error "device cpu is of the driver cpu, not of the platform cuda"
    grep -q "remedy: .*--platform cpu" "$work/err" || fail "no remedy for a device of another platform"
done
try 4 "$accelctl" plan llama-2-7b --platform metal
one_error 'there is no platform "metal"; did you mean "mps"?'
# A device as its data sheet writes it, and one that no profile has.
try 4 "$accelctl" plan llama-2-7b --platform cuda --device MI300X
one_error "the platform cuda does not drive the device mi300x"
for name in A101 H10 RTX409; do
    try 4 "$accelctl" plan llama-2-7b --platform cuda --device $name
    one_error "there is no device \"$(echo $name | tr A-Z a-z)\"; the nearest is \""
    grep -qE "^  remedy: accelctl profile list devices lists the [0-9]+ files of that kind; --set device.memory=36GiB --set device.bandwidth=150GB \(and device.count=2\) describe a device without one$" "$work/err" ||
        { cat "$work/err"; fail "a list of devices that is cut"; }
done
try 3 "$accelctl" plan llama3
grep -q "remedy: did you mean llama-3-8b?" "$work/err" || fail "llama3: $(cat "$work/err")"
# A model of another version or size is no guess: then the remedy lists the descriptors of the family.
for name in llama-3.3-70b llama-70b llama3.1 Llama-3.1-70B meta-llama/Llama-3.3-70B-Instruct; do
    try 3 "$accelctl" plan $name
    one_error "remedy: no descriptor has this version and size: there are llama-2-13b, llama-2-70b, llama-2-7b, llama-3-8b, "
done
# The type in the name of a file is a setting.
try 3 "$accelctl" plan llama-2-70b-Q4_K_M
one_error "remedy: did you mean llama-2-70b, with --set weights.type=Q4_K_M? "
# A type that no run makes is none.
for type in IQ3_XXS q4_g128; do
    try 3 "$accelctl" plan llama-2-70b-$type
    one_error "remedy: did you mean llama-2-70b? "
done
try 3 "$accelctl" plan olmoe-7b
one_error "there are olmoe-1b-7b;"
try 3 "$accelctl" plan gpt-20b
one_error "there are gpt-neox-20b, gpt-oss-120b, gpt-oss-20b, gpt2;"
cp -r "$src/profiles" "$work/described"
chmod -R u+w "$work/described"
cp "$work/described/models/llama-2-70b.yaml" "$work/described/models/llama-3.1-70b.yaml"
try 3 "$accelctl" plan llama-3.3-70b --profiles "$work/described"
one_error "remedy: did you mean llama-3.1-70b (version 3.1, not 3.3)?"
# The list of descriptors ends with the last one that leaves room for the dots.
long=$(printf '%042d' 0)
for name in zz-1-$long-7b zz-2-$long-7b zz-3-${long}0-7b zz-4-$long-7b; do
    cp "$work/described/models/llama-2-70b.yaml" "$work/described/models/$name.yaml"
done
try 3 "$accelctl" plan zz-9-70b --profiles "$work/described"
one_error "version and size: there are zz-1-$long-7b, zz-2-$long-7b, ...; name the path"
# The remedy is the call with one more option, for a shell; what a run refuses is called so.
try 5 "$accelctl" plan llama-2-70b --platform cuda --device t4 --set placement=single
has "remedy: accelctl plan llama-2-70b --platform cuda --device t4 --set placement=single --fit"
cp "$q8" "$work/it's a model.gguf"
try 5 "$accelctl" plan "$work/it's a model.gguf" --set memory.budget=1MiB
sh -c "set -- $(sed -n 's/^ *remedy: accelctl plan //p' "$work/out"); [ \"\$1\" = \"$work/it's a model.gguf\" ] && [ \"\$4\" = --fit ]" ||
    { cat "$work/out"; fail "the remedy is no call for a shell"; }
mkdir "$work/site"
printf 'accel-profile: 1\ndefaults: {kv.enabled: false}\n' >"$work/site/accel.yaml"
(cd "$work/site" && try 4 "$accelctl" plan "$q8" && grep -q "^refused by a run: kv.enabled=false, a run always has a KV cache$" "$work/out") ||
    { cat "$work/out"; fail "kv.enabled of a file is not called refused"; }
# A call of another program says what the plan does: tokens of all sequences, and weights that stay as they are.
try 0 "$accelctl" quantize --type q4_0 "$f32" "$work/q4.gguf"
try 0 "$accelctl" plan "$work/q4.gguf" --platform cuda --device rtx3090 --set context=256tok --emit llama-server
has "context = 256 tok (command line --set context=256tok) x 4 sequences"
grep "weights.type = q8 .*llama-quantize" "$work/out" && fail "weights that stay are converted first"
try 0 "$accelctl" plan "$f32" --platform cuda --device rtx3090 --set weights.type=q8 --set context=1tok --emit llama-server
has "write the file in a type of GGUF first: accelctl quantize IN OUT Q4_K_M, or llama-quantize"
try 0 "$accelctl" plan "$f32" --set context=1tok
has "context    1 token (trained for "
# An error that is cut ends in dots.
try 4 "$accelctl" plan llama-3-8b --host "$src/tests/topologies/gpu-without-driver.json" -ngl 99
grep -q "[.][.][.] (ACCEL_E_FALLBACK)$" "$work/err" || { cat "$work/err"; fail "a cut error has no dots"; }
# Speed by other runs: as many threads as the plan has, or none.
XDG_STATE_HOME=$work/state.speed try 0 "$accelctl" run "$q8" -q --greedy -n 24 -t 1 -p "Once upon a time"
XDG_STATE_HOME=$work/state.speed try 0 "$accelctl" plan "$q8" -t 1 --set context=64tok
tr -s ' \n' '  ' <"$work/out" >"$work/line"
grep -qE "speed decode [0-9]+ .*\(estimated: bytes/s of 1 run of this model with other settings / [0-9.]+ [KM]iB to [0-9.]+ [KM]iB a step, cache empty to full\)" "$work/line" ||
    { cat "$work/out"; fail "no speed of another run"; }
XDG_STATE_HOME=$work/state.speed try 0 "$accelctl" plan "$q8" -t 2 --set context=64tok --set fallback.threads=warn
if [ "$(nproc)" -ge 2 ]; then
    has "speed      decode not known (nothing was measured on this device with as many threads; a"
fi
# Rows of layers name the tables beside them; bits per weight count scales.
try 0 "$accelctl" plan llama-2-7b --platform cuda --device 2xt4 --layers --parts --set weights.type=q4 --set weights.group=128
grep -q "language *embedding *cuda:0 " "$work/out" && grep -q "language *output *cuda:1 " "$work/out" ||
    fail "rows of layers: $(cat "$work/out")"
grep -q "attention.q *32 q4_g128 *264.0 MiB *4.125 b " "$work/out" || fail "bits per weight: $(cat "$work/out")"
# A tied token table is counted on both devices that read it, and the parts of the weights add up to their sum.
try 0 "$accelctl" plan gemma-2b --platform cuda --device t4 --set weights.type=f16 --json
rows_add_up
one=$memory
try 0 "$accelctl" plan gemma-2b --platform cuda --device t4 --set weights.type=f16 -ngl 10 --json
rows_add_up
is $((memory - one)) $((256000 * 2048 * 2)) "the copy of a tied token table of 256000 x 2048 values in F16"
try 0 "$accelctl" plan gemma-2b --platform cuda --device t4 --set weights.type=f16 -ngl 10
has "output with a copy of the embedding on cuda"
tr -s ' \n' '  ' <"$work/out" | grep -q "copies and padding 1000.0 MiB" || { cat "$work/out"; fail "parts of the weights"; }
# Of one device, the row of the output has what its driver packs besides.
try 0 "$accelctl" plan "$model" --json
rows_add_up
# The weights of several devices add up, with the tables of no layer.
for name in 2xa100 5xl4; do
    try 0 "$accelctl" plan llama-2-70b --platform cuda --device $name --json
    rows_add_up
done
try 0 "$accelctl" plan llama-2-70b --platform cuda --device 2xa100
has "split      layers 0-42, embedding on cuda:0: weights 35.1 GiB"
has "           layers 43-79, output on cuda:1: weights 30.2 GiB"
# A device that a list names twice is two of it.
cp "$work/out" "$work/wanted"
try 0 "$accelctl" plan llama-2-70b --platform cuda --device a100,a100
cmp "$work/out" "$work/wanted" || fail "a100,a100 is not 2xa100"
try 0 "$accelctl" plan llama-2-70b --platform cuda --device a100,h100,2xa100
has "1 x NVIDIA H100 80GB HBM3 + 3 x NVIDIA A100-SXM4-40GB"
# A card that has other versions names them if the plan does not fit.
try 5 "$accelctl" plan llama-2-70b --platform cuda --device a100
has "other      --device a100-80gb: An A100 with 80 GB on an SXM4 board"
try 5 "$accelctl" plan llama-2-70b --platform cuda --device 2xa100 --set weights.type=f16
has "other      --device 2xa100-80gb: An A100 with 80 GB on an SXM4 board"
try 0 "$accelctl" plan llama-2-7b --platform cuda --device a100
grep -q "^other " "$work/out" && fail "another device for a plan that fits"
# What --fit costs is of the types that it takes, and settings that come back with the memory are said.
try 0 "$accelctl" plan llama-2-70b --platform cuda --device a100 --fit
has "    weights   iq4_xs, q5_k, q6_k"
tr -s ' \n' '  ' <"$work/out" | grep -q "note memory holds 2 sequences then, as the plan has it; without the change it holds 1" ||
    { cat "$work/out"; fail "--fit does not say that sequences come back"; }
# Steps whose settings a later one replaces are no changes, also if all together do not suffice.
too_large="deepseek-v2 --platform cuda --device t4 --host $src/tests/topologies/laptop-hybrid.json"
# shellcheck disable=SC2086 # options
try 5 "$accelctl" plan $too_large --fit
is "$(grep -c "applied   Store the weights\|applied   Cache keys" "$work/out")" 2 "types of --fit that does not fit"
has "    weights   q2_g32"
settings=$(sed -n 's/^settings   //p' "$work/out")
needed=$(head -n 1 "$work/out" | grep -o "needs [0-9.]* GiB")
# shellcheck disable=SC2086 # options
try 5 "$accelctl" plan $too_large $settings
has "$needed"
try 0 "$accelctl" plan llama-2-13b --platform cuda --device rtx4090 --set sequences=8 --fit
has "    weights   q8_g128, q4_g128"
has "    needs     accelctl quantize --type q4 --critical q8 IN OUT"
grep -q "^weights " "$work/out" && fail "weights.type is said to choose what precision.adaptive chose"
try 0 "$accelctl" plan llama-2-70b --platform cuda --device 5xl4
has "           and 2 more: weights 25.3 GiB; --layers lists all"
# More memory does not shorten the context.
for name in a100 2xa100 a100-80gb 2xa100-80gb h100 h200 b200; do
    try 0 "$accelctl" plan llama-2-7b --platform cuda --device $name --explain context
    has "context = 4096 tok"
done
# Of devices that are here, a list means the first.
try 0 "$accelctl" plan "$model" --device gpu,cpu
has "- of gpu,cpu, cpu:cpu0 is the first that is here"
grep -q "remedy: --set placement=balanced" "$work/out" && fail "a list of kinds spreads no layers"
try 0 "$accelctl" plan "$model" --device cpu
grep -q "^- of" "$work/out" && fail "one device is no list"
# Options of another driver are no unknown settings.
try 2 "$accelctl" plan "$model" --device cpu --set vulkan.subgroups=on
one_error 'command line --set vulkan.subgroups=on: setting "vulkan.subgroups" is for the driver vulkan, and the plan is for cpu'
grep -q "remedy: leave it out, or choose a device of that driver: --device vulkan$" "$work/err" || fail "$(cat "$work/err")"
try 2 "$accelctl" plan llama-2-7b --platform cuda --device a100 --set cpu.isa=scalar
one_error "is for the driver cpu, and the plan is for cuda"
for name in 0xh100 33xh100 99999999999999999999xh100 20xh100,20xl4; do
    try 4 "$accelctl" plan llama-2-7b --platform cuda --device $name
    one_error "a count is 1 to 32"
done
for name in xh100 2xnope h100,nope h100, ,h100; do
    try 4 "$accelctl" plan llama-2-7b --platform cuda --device $name
    one_error "there is no device"
done
try 4 "$accelctl" plan llama-2-7b --device 2xh100
one_error "there is no device 2xh100 here; profiles describe it"
grep -q "remedy: .*--platform cuda --device 2xh100" "$work/err" || fail "a profile without its platform has no remedy"
try 4 "$accelctl" plan llama-2-7b --device 2xnope
one_error "there is no device 2xnope; here are"
try 2 "$accelctl" plan llama-2-7b --platform cuda --device 4xh100 --set device.count=2
one_error "the request names 4xh100"
try 2 "$accelctl" plan llama-2-7b --set device.count=2
one_error "device.count is for devices that are not here"
for count in 0 33 x 1.5; do
    try 2 "$accelctl" plan llama-2-7b --platform cuda --device h100 --set device.count=$count
    one_error "no number from 1 to 32"
done
# A count in another place is put right; another number is another device, and no misspelt one.
for name in a100x2 "2 x a100" "2 a100"; do
    try 4 "$accelctl" plan llama-2-7b --platform cuda --device "$name"
    one_error "there is no device \"$name\""
    [ "$name" = "2 a100" ] || grep -q "remedy: .*--device 2xa100$" "$work/err" || { cat "$work/err"; fail "no count for $name"; }
done
try 4 "$accelctl" plan llama-2-7b --platform cuda --device rtx4090x2
grep -q "remedy: .*--device 2xrtx4090$" "$work/err" || { cat "$work/err"; fail "no count for rtx4090x2"; }
try 4 "$accelctl" plan llama-2-7b --platform cuda --device rtx50
grep -q "write the count" "$work/err" && { cat "$work/err"; fail "a count for rtx50"; }
try 3 "$accelctl" plan llama-2-7c --platform cuda --device a100x2
one_error "remedy: did you mean llama-2-7b"
for name in rtx3060 2xrtx3060; do
    try 4 "$accelctl" plan llama-2-7b --platform cuda --device $name
    one_error "there is no device \"rtx3060\""
    one_error "; the nearest is \"rtx3090\""
    grep -q "remedy: .*profile list devices .* --set device.memory=" "$work/err" || fail "$name: no remedy"
done

line()
{
    tr -s ' \n' '  ' <"$work/out" >"$work/line"
    grep -qF "$1" "$work/line" || { cat "$work/out"; fail "no '$1'"; }
}

# A device with another memory or bandwidth than its file states, and one without a file.
try 0 "$accelctl" plan llama-2-7b --platform mps --device m3 --set device.memory=36GiB --set device.bandwidth=150GB --json
is "$(value facts.device.memory.value) $(value verdict.budget)" "38654705664 25772949504" "a Mac with 36 GiB less its reserve, in proportion"
case $(value speed.0.origin) in *"(command line --set device.bandwidth=150GB)"*) ;; *) fail "$(value speed.0.origin)" ;; esac
try 0 "$accelctl" plan llama-2-7b --platform mps --device m3 --set device.memory=36GiB
line "of 24.0 GiB (command line --set device.memory=36GiB, less 12285 MiB device.reserve)"
line "device.bandwidth is that of the profile, whose device has other memory, and may be a slower one: --set device.bandwidth=SIZE"
try 0 "$accelctl" plan llama-2-7b --platform mps --device m3 --set device.memory=36GiB --set device.bandwidth=100GB
grep -q "is that of the profile" "$work/out" && fail "a bandwidth that is given is not the profile's"
try 0 "$accelctl" plan tinyllama-1.1b --platform mps --device m3
grep -q "is that of the profile" "$work/out" && fail "the device is that of the profile"
# Metal recommends 3/4 of 64 GiB and more.
for size in 48:32.0 64:48.0 128:96.0; do
    try 0 "$accelctl" plan llama-2-7b --platform mps --device m3 --set device.memory=${size%:*}GiB
    line "of ${size#*:} GiB (command line --set device.memory=${size%:*}GiB, less "
done
try 0 "$accelctl" plan llama-2-7b --platform mps --device m3 --set device.memory=64GiB --set device.reserve=1GiB --json
is "$(value verdict.budget)" $((63 << 30)) "a reserve of the user's own on a large Mac"
# What no run can measure is not said to be measured by one.
for count in 1 2; do
    try 0 "$accelctl" plan llama-2-7b --platform cuda --set device.memory=24GiB --set device.count=$count
    has "speed      decode not known (no bandwidth is stated: --set device.bandwidth=SIZE)"
done
try 0 "$accelctl" plan llama-2-7b --platform cuda --device t4 --set device.memory=24GiB --json
is "$(value verdict.budget)" $((23 << 30)) "a card keeps its reserve"
try 0 "$accelctl" plan llama-2-7b --platform cuda --set device.memory=12GiB --set device.bandwidth=360GB --set device.compute=25 --json
is "$(value verdict.budget)" $((12 << 30)) "a card without a file"
case $(value speed.1.origin) in *"(command line --set device.compute=25)"*) ;; *) fail "$(value speed.1.origin)" ;; esac
for fact in memory=3 memory=0GiB memory=2ms bandwidth=fast compute=3GB; do
    try 2 "$accelctl" plan llama-2-7b --platform cuda --device h100 --set device.$fact
    one_error "command line --set device.$fact: device.${fact%%=*} is no "
done
try 2 "$accelctl" plan llama-2-7b --platform cuda --device a100,h100 --set device.memory=3GiB
one_error "device.memory is for devices of one kind, and the request names a100,h100"
try 2 "$accelctl" plan llama-2-7b --set device.memory=3GiB
one_error "device.memory is for devices that are not here"
try 2 "$accelctl" plan llama-2-7b --platform cuda --device 4xt4 --set placement=0-15=t4,16-31=cuda:3
grep -qx "  remedy: name devices of this plan: the first is cuda:0, the last cuda:3" "$work/err" || { cat "$work/err"; fail "devices of a map"; }
mkdir "$work/fact" && printf 'accel-profile: 1\ndefaults: {device.memory: 4GiB}\n' >"$work/fact/accel.yaml"
try 3 sh -c "cd '$work/fact' && exec '$accelctl' plan gpt2"
grep -q "^  remedy: it is a fact, which a file of a device states under facts" "$work/err" || { cat "$work/err"; fail "a fact as a setting"; }
try 4 "$accelctl" plan llama-2-7b --platform cuda --device=-1xt4
grep -q "429496" "$work/err" && fail "a count below 0 is read as another"
for wrong in "memory=36:as 36GiB" "memory=1.5GiB:as 36GiB" "bandwidth=360GB/s:or 360GB" "compute=2.5:as 65" "count=99:as 4$" \
    "memory=1024MiB:--set device.memory=4096MiB"; do
    try 2 "$accelctl" plan gpt2 --platform cuda --device t4 --set "device.${wrong%%:*}"
    grep -qe "^  remedy: .*${wrong#*:}" "$work/err" || { cat "$work/err"; fail "remedy of ${wrong%%:*}"; }
done
# A budget above the memory of the device is a note, one below it is the budget.
for key in memory.budget memory.device; do
    try 5 "$accelctl" plan llama-2-7b --platform mps --device m3 --set $key=24GiB
    tr -s ' \n' '  ' <"$work/out" >"$work/line"
    grep -qF "$key=24.0 GiB, the plan may take 5.33 GiB (profile: m3.yaml:" "$work/line" || { cat "$work/out"; fail "$key has no note"; }
    try 5 "$accelctl" plan llama-2-7b --platform mps --device m3 --set $key=3GiB
    grep -q "of 3.00 GiB" "$work/out" || fail "$key=3GiB is no budget"
    grep -q "$key=3.00 GiB, the plan" "$work/out" && fail "$key=3GiB has a note"
done
try 0 "$accelctl" run "$model" --greedy -n 1 -p Once --set memory.budget=900TiB
grep -q "not honored: memory.budget=900.0 TiB, the plan may take" "$work/err" || { cat "$work/err"; fail "no note of a run"; }

# Settings without effect: a run repeats the notes of its plan, unless it is quiet. Words of a driver have any case.
for set in compute.activations=q8_row "cpu.layout=panels --set compute.activations=f32"; do
    # shellcheck disable=SC2086 # options
    try 0 "$accelctl" run "$q8" --device cpu -n 1 -p Once --set $set
    grep -q "^note: .* changes nothing: .*; leave " "$work/err" || { cat "$work/err"; fail "no note of $set"; }
    # shellcheck disable=SC2086 # options
    try 0 "$accelctl" run "$q8" --device cpu -n 1 -p Once -q --set $set
    [ ! -s "$work/err" ] || { cat "$work/err"; fail "a note with -q"; }
done
try 0 env ACCEL_CPU_ISA=Scalar "$accelctl" run "$q8" --device cpu -n 1 -p Once -q --set cpu.layout=ROWS --set cpu.simd=off
try 2 "$accelctl" run "$q8" --device cpu -n 1 -p Once --set cpu.layout=panel
one_error '"panel" is none of: auto rows panels; did you mean "panels"?'

# Devices that a plan leaves idle, and the settings that use them.
host="--host $src/tests/topologies/server-8-gpus.json"
# shellcheck disable=SC2086 # words
{
    # What one device has no memory for goes to the next one, and to no further one than needed; a device that is named
    # stays alone, and a list of names is all that is used.
    try 0 "$accelctl" plan llama-2-70b $host
    line "idle 5 more Tesla V100-SXM3-32GB: the model's own type fits on 5 with --set weights.type=auto context"
    try 5 "$accelctl" plan llama-2-70b $host --device cuda:0000:34:00.0
    line "idle 7 more Tesla V100-SXM3-32GB: the model fits on 3 with --set placement=auto context"
    try 0 "$accelctl" plan llama-2-70b $host --device 0000:36:00.0,0000:3b:00.0 --set weights.type=q4
    line "verdict FITS on cuda:0000:36:00.0, cuda:0000:3b:00.0: needs "
    line "of 0000:36:00.0,0000:3b:00.0, cuda:0000:36:00.0 is the first that is here remedy: --set placement=balanced spreads the layers over all of the list that are like it"
    try 0 "$accelctl" plan llama-2-7b $host --device 0000:36:00.0,0000:3b:00.0 --set placement=balanced
    line "verdict FITS on cuda:0000:36:00.0, cuda:0000:3b:00.0: needs "
    try 5 "$accelctl" plan llama-2-70b $host --device 0000:36:00.0,0000:3b:00.0 --set weights.type=f16
    grep -q "on cpu" "$work/out" && fail "a list of devices uses processors"
    # All layers on GPUs are none on processors, and more layers than one GPU holds lie on several.
    try 0 "$accelctl" plan llama-2-70b $host -ngl 99
    line "verdict FITS on cuda:0000:34:00.0, cuda:0000:36:00.0, cuda:0000:39:00.0: needs "
    try 5 "$accelctl" plan llama-2-70b $host -ngl 99 --set weights.type=f32
    line "verdict DOES NOT FIT on 8 devices, cuda:0000:34:00.0 to cuda:0000:5e:00.0: needs "
    try 0 "$accelctl" plan llama-2-70b $host --set weights.type=f32
    line "verdict FITS on 9 devices, cuda:0000:34:00.0 to cpu:cpu0: needs "
    try 0 "$accelctl" plan llama-2-70b $host --set placement=balanced
    grep "^idle\|^balance" "$work/out" && fail "a placement of the user has a proposal"
    try 0 "$accelctl" plan llama-2-7b $host
    line "idle 7 more Tesla V100-SXM3-32GB, as fewer suffice: --set placement=balanced uses 8 context"
    try 5 "$accelctl" plan llama-2-70b $host --set memory.device=2GiB --device cuda:0000:34:00.0
    line "idle 7 more Tesla V100-SXM3-32GB: --set placement=balanced uses 8, still short by "
}
try 0 "$accelctl" plan llama-2-70b --platform cuda --device 2xa100-80gb
line "idle 1 more NVIDIA A100-SXM4-80GB: the model's own type fits on 2 with --set weights.type=auto context"
for given in gpu.layers=20 offload.layers=3; do
    try 0 "$accelctl" plan llama-2-7b --platform cuda --device 2xrtx3090 --set weights.type=Q4_K_M --set $given
    line "idle 1 more NVIDIA GeForce RTX 3090 beside $given: without it, --set placement=balanced uses 2 context"
done
try 0 "$accelctl" plan llama-2-7b --platform cuda --device 2xrtx3090 --set gpu.layers=0
grep "^idle" "$work/out" && fail "devices that the user takes no layers to are idle"
try 0 "$accelctl" plan llama-2-70b --platform cuda --device 2xa100-80gb --set weights.type=auto
grep "^idle" "$work/out" && fail "two used devices are idle"
try 0 "$accelctl" plan llama-2-70b --platform cuda --device 2xa100
line "balance --set placement=balanced has at most 35.1 GiB of the model on a device, not 37.7 GiB context"
try 0 "$accelctl" plan llama-2-70b --platform cuda --device a100,h100
grep "^idle\|^balance" "$work/out" && fail "a list is used as far as needed"
try 0 "$accelctl" plan llama-2-70b --platform cuda --device a100,h100 --set context=4096tok --set sequences=16
grep "^idle\|^balance" "$work/out" && fail "different devices are filled by their speed"
# What is short, and whose memory it is.
try 5 "$accelctl" plan llama-2-70b -ngl 70 --platform cuda --device t4
tr -s ' \n' '  ' <"$work/out" >"$work/line"
grep -q "on one device cpu:cpu0 and its memory are those of this machine, not of the one that is planned for remedy:" "$work/line" ||
    { cat "$work/out"; fail "the share of this machine is not named"; }

# A context that a profile keeps small, and how many sequences have the longest one.
try 0 "$accelctl" plan llama-3-8b --platform rocm --device mi300x
line "less than fits (rocm.yaml:"
# More than half of the memory of two cards, and one of them does not suffice: the longest context fits all the same.
try 0 "$accelctl" plan llama-2-70b --platform cuda --device 2xrtx3090 --set weights.type=Q4_K_M
line "less than fits (cuda.yaml:"
try 0 "$accelctl" plan llama-2-70b --platform cuda --device 2xrtx3090 --set weights.type=Q4_K_M --set sequences=8
grep "less than fits" "$work/out" && fail "the trained context of 8 sequences does not fit"
try 0 "$accelctl" plan llama-3-8b --platform rocm --device mi300x --max-context
has "8192 tokens fit (trained for as many) in each of 2 sequences; planned are 1024 in each of 2 sequences"
try 0 "$accelctl" plan gpt-oss-20b --platform cuda --device rtx4090 --max-context
has "tokens fit (trained for as many) in one sequence; planned are "
# The longest context of several devices fits each of them, and one token more does not.
for split in "2xt4 --set weights.type=q5_k_m" "4xt4 --set weights.type=q4 --set placement=auto" \
    "4xt4 --set weights.type=q4 --set placement=balanced"; do
    # shellcheck disable=SC2086 # words
    {
        try 0 "$accelctl" plan command-r --platform cuda --device $split --max-context --json
        most=$(value max_context)
        try 0 "$accelctl" plan command-r --platform cuda --device $split -c "$most"
        try 5 "$accelctl" plan command-r --platform cuda --device $split -c $((most + 1))
    }
done
try 0 "$accelctl" plan gpt-oss-20b --platform cuda --device b200
has "not honored: weights.type=q8, a recommended type never makes weights larger: those in mxfp4 stay so"
# -ngl 0 takes the processors of a list, and of no list without them.
laptop="--host $src/tests/topologies/laptop-hybrid.json -ngl 0"
# shellcheck disable=SC2086 # words
{
    try 0 "$accelctl" plan llama-2-7b $laptop --device vulkan,cpu --json
    is "$(value device.name)" cpu:cpu0 "the device of vulkan,cpu -ngl 0"
    try 2 "$accelctl" plan llama-2-7b $laptop --device vulkan,gpu
    one_error "gpu.layers=0 leaves no layer to a GPU, and the request names the device vulkan:"
}

# What would make it fit: bytes of every step are those of a plan, and the settings together are what was said.
short="--platform cuda --device t4 --set memory.device=3800MiB --set placement=single"
# shellcheck disable=SC2086
{
    try 5 "$accelctl" plan llama-2-7b $short
    try 0 "$accelctl" plan llama-2-7b $short --fit
    is "$(head -n 1 "$work/out" | cut -c 1-24)" "verdict    FITS on cuda:" "the first line"
    settings=$(sed -n 's/^settings   //p' "$work/out")
    [ -n "$settings" ] || fail "--fit names no settings"
    grep -q "^ 1  applied " "$work/out" || fail "--fit does not list what it applied"
    grep -q "^ *[0-9]*  no use  " "$work/out" && fail "--fit lists what it did not apply"
    has "--fit --all lists all"
    try 0 "$accelctl" plan llama-2-7b $short --fit --all
    grep -q "^ *[0-9]*  no use  " "$work/out" || fail "--fit --all does not list all steps"
    try 0 "$accelctl" plan llama-2-7b $short $settings
    try 0 "$accelctl" plan llama-2-7b $short --fit --json
    "$json" "$work/out" accelctl/plan/2 || fail "--fit --json"
    is "$(value verdict.fits)" true "the verdict"
    [ "$(value steps.#)" -ge 2 ] || fail "--fit: too few steps"
}
# The cheapest change on processors is not to pack weights, which memory.efficient does, too.
try 0 "$accelctl" plan "$q8" --set kv.enabled=true --json
packed=$(value verdict.needed)
try 0 "$accelctl" plan "$q8" --set cpu.layout=rows --json
rows=$(value verdict.needed)
if [ "$rows" -lt "$packed" ]; then
    try 0 "$accelctl" plan "$q8" --set memory.budget=$(((rows + packed) / 2))B --fit
    has "settings   --set cpu.layout=rows"
    has "applied   Use the weights as the file has them, without packed copies"
fi
try 0 "$accelctl" plan "$q8" --set memory.efficient=true --json
[ $(($(value verdict.needed) - rows)) -lt 1024 ] || fail "memory.efficient keeps a second copy"
# A file type of llama.cpp is planned by name: the types and bytes that quantize writes, also where nothing but the
# configuration is there.
bytes() # NAME: the sum of a list's bytes
{
    total=0 count=$(value "$1.#")
    for i in $(seq 0 $((count - 1))); do
        total=$((total + $(value "$1.$i.bytes")))
    done
    echo $total
}
for type in Q4_K_M Q3_K_S q8_0; do
    try 0 "$accelctl" quantize "$f32" "$work/mix.gguf" $type --dry-run --json
    written=$(bytes tensors)
    try 0 "$accelctl" plan "$f32" --set weights.type=$type --json
    is "$(bytes parts)" "$written" "bytes of a plan in $type"
done
for folder in mixtral-tiny falcon-new qwen3-moe-tiny bloom-base gpt-neox-parallel mpt-base phi3-base; do
    [ -d "${ACCEL_SHARED_FIXTURES-}/$folder" ] || continue
    mkdir -p "$work/$folder"
    cp "$ACCEL_SHARED_FIXTURES/$folder/config.json" "$work/$folder"
    try 0 "$accelctl" quantize "$ACCEL_SHARED_FIXTURES/$folder" "$work/mix" Q4_K_M --dry-run --json
    written=$(bytes tensors)
    try 0 "$accelctl" plan "$work/$folder" --set weights.type=q4_k_m --json
    is "$(bytes parts)" "$written" "bytes of $folder by its configuration"
done
# Options of a driver are checked in a plan by name, too, and those whose effect it does not know are named.
case $(uname -m) in x86_64) other=neon ;; *) other=avx2 ;; esac
try 4 "$accelctl" plan llama-3-8b --platform cpu --set cpu.isa=$other
one_error "driver cpu, open: cpu.isa=$other: the processor has no such instructions"
try 2 "$accelctl" plan llama-3-8b --platform cpu --set cpu.isax=avx2
one_error "driver cpu has no such option"
for host in "" "--host $src/tests/topologies/two-sockets.json"; do
    try 5 "$accelctl" plan mixtral-8x7b $host --platform cpu --set weights.type=Q4_K_M --set memory.budget=12GiB --set cpu.expert_bytes=8GiB
    has "experts    cpu.expert_bytes=8589934592 is not counted: "
done
# The token embedding and fused queries, keys and values have their types under every family's names.
try 0 "$accelctl" plan bloom-7b1 --platform cpu --set weights.type=Q4_K_M --parts
has "embedding       1 q6_k"
has "attention.q    14 q6_k"
try 0 "$accelctl" plan gpt-neox-20b --platform cpu --set weights.type=Q4_K_M --parts
has "embedding       1 q4_k"
try 0 "$accelctl" plan gpt2 --platform cpu --set weights.type=Q4_K_M --parts
has "embedding       1 f32         3.00 MiB" # positions
grep -q "no group of 32 or more" "$work/out" && fail "a type of the mix has the reason of another type"
try 0 "$accelctl" plan llama-2-70b --platform cuda --device 2xrtx4090 --set weights.type=Q4_K_M
has "FITS on cuda:0, cuda:1"
has "weights          38.6 GiB  q4_k "
try 0 "$accelctl" run "$f32" -q --greedy -n 8 -p Once --set weights.type=q4_k_m
try 0 "$accelctl" plan "$f32" --set weights.type=c4 --set weights.group=32 --json
c4=$(bytes parts)
try 0 "$accelctl" plan "$f32" --set weights.type=cluster4 --set weights.group=32 --json
is "$(bytes parts)" "$c4" "two names of a type"
try 2 "$accelctl" plan "$f32" --set weights.type=q4_x
one_error '; did you mean "q4_k"?'
# A step that costs less than a shorter context is taken where the context gets longer by it.
try 0 "$accelctl" plan llama-2-7b --platform cpu --set memory.budget=3800MiB --set weights.type=q4 --set context=4096tok --fit
has "settings   --set kv.type.k=q4 --set kv.type.v=q4 --set context=3"
# --fit proposes the types that lose least first, and no original weights of a model that was published in 4 bits.
try 0 "$accelctl" plan llama-2-13b --platform cuda --device rtx4090 --set memory.budget=10GiB --fit
has "settings  --set weights.type=q4_k_m --set precision.adaptive=false"
try 0 "$accelctl" plan gpt-oss-120b --platform cuda --device 2xrtx4090 --fit
tr -s ' \n' '  ' <"$work/out" >"$work/line"
grep -q "needs accelctl quantize --type q3 .* --requantize IN OUT if the model was published in mxfp4" "$work/line" ||
    { cat "$work/out"; fail "--fit needs weights that do not exist"; }
# The row of the KV cache has the type that a fallback chose.
try 0 "$accelctl" plan "$f32" --set kv.type.k=q8 --set fallback.kv=warn
has "KV cache        320.0 KiB  keys f16, values f16"
# --fit names the type that a profile chose, and that it changed nothing. Experts of gpt-oss are in MXFP4 as published.
for shown in "" --all; do
    # shellcheck disable=SC2086 # an option, or none
    try 0 "$accelctl" plan gpt-oss-20b --platform cuda --device t4 --fit $shown
    has "weights    q4_g64 by t4.yaml:"
    has "applied    nothing: the plan fits without a change"
done
try 0 "$accelctl" plan gpt-oss-20b --platform cuda --device t4 --set weights.type=auto
has "mxfp4 9.46 GiB (72)"
# A mixture by formula: a run of its file leaves experts on the disk.
try 5 "$accelctl" plan olmoe-1b-7b --set memory.budget=4GiB
line "experts 12288.0 MiB of it are experts. A run of the model's file reads them from the disk as tokens are routed to them (cpu.expert_bytes), if"
grep -q "then a budget of 15[0-9][0-9]\.[0-9] MiB fits, for all else and the experts of a token in one layer" "$work/line" ||
    fail "no budget from which a run would fit"
for given in weights.load=read cpu.expert_bytes=2GiB; do
    "$accelctl" plan olmoe-1b-7b --set memory.budget=4GiB --set $given >"$work/out"
    grep "^experts .* of it are experts" "$work/out" && fail "a limit of experts that no run has with $given"
done
# A search that is not needed, and one whose best value does not suffice.
try 0 "$accelctl" plan "$f32" --set memory.budget=16MiB --advise oom
has "Shorten the context to the longest that fits: the plan fits without it"
try 0 "$accelctl" plan "$f32" --set memory.budget=1MiB --advise oom
has ", does not fit: short by "
has "note      no value of context fits without other changes: 256tok is short by least"
# A step that leaves most of quantized weights as they are states how many matrices it converts, and needs no other file.
try 0 "$accelctl" plan gpt-oss-20b --advise oom
sed -n '/Store the weights in 4 bits/,/because/p' "$work/out" | tr -s ' \n' '  ' >"$work/line"
grep -qF "cost converts 122 of 194 matrices, as the others have as few bits; if all are converted: accuracy" "$work/line" ||
    { cat "$work/line"; fail "--advise oom does not state how few matrices it converts"; }
grep -q " needs " "$work/line" && fail "a step that a run carries out needs a file"
# A step that later ones make needless is left out.
try 0 "$accelctl" plan llama-2-70b --platform cuda --device rtx3090 --set placement=single --fit --all
grep -q "^settings   --set weights.type=q2 " "$work/out" || { cat "$work/out"; fail "--fit keeps a step that is not needed"; }
grep -q "no use  *Shorten the context .*: not needed beside the others" "$work/out" || fail "--fit does not list what it dropped"
# The context is the longest beside the other changes.
smaller="llama-2-13b --platform cuda --device rtx4090 --set memory.device=5200MiB --set placement=single"
# shellcheck disable=SC2086
{
    try 0 "$accelctl" plan $smaller --fit
    settings=$(sed -n 's/^settings   //p' "$work/out")
    most=$(echo "$settings" | sed -n 's/.*--set context=\([0-9]*\)tok.*/\1/p')
    has "context    $most tokens (trained for 4096), 1 sequence, prefill batch"
    [ "$most" -gt 256 ] || fail "--fit leaves $most tokens"
    try 0 "$accelctl" plan $smaller $settings
    try 5 "$accelctl" plan $smaller $settings --set context=$((most + 1))tok
}
# Recommended sequences fall to as many as fit; those of the user do not.
large="llama-2-7b --platform cuda --device rtx4090"
# shellcheck disable=SC2086
{
    try 0 "$accelctl" plan $large --json
    fewer=$(value settings.sequences.value)
    is "$(value not_honored.0.key) $(value not_honored.0.value)" "sequences 8" "what is declined"
    [ "$fewer" -gt 1 ] && [ "$fewer" -lt 8 ] || fail "$fewer sequences"
    try 0 "$accelctl" plan $large
    has "$fewer sequences, prefill"
    has "not honored: sequences=8, the memory budget holds fewer"
    try 0 "$accelctl" plan $large --set sequences=$fewer
    try 5 "$accelctl" plan $large --set sequences=$((fewer + 1))
    try 5 "$accelctl" plan llama-2-70b --platform cuda --device rtx4090 --set placement=single
    has ", 1 sequence, prefill"
}
# A run has as many as its plan.
cp -r "$src/profiles" "$work/wide"
cat >"$work/wide/devices/wide.yaml" <<'EOT'
accel-profile: 1
about: several sequences
match: [device.kind == cpu]
rules:
  - when: model.kind == generation
    set: {sequences: 64}
    because: a test
EOT
for budget in 8MiB 2MiB; do
    try 0 "$accelctl" plan "$q8" --profiles "$work/wide" --set memory.budget=$budget --out "$work/wide.json" --json
    fewer=$(value settings.sequences.value)
    [ "$fewer" -lt 64 ] || fail "$fewer sequences in $budget"
    try 0 "$accelctl" run "$q8" --profiles "$work/wide" --set memory.budget=$budget --prompt Once -n 2
    grep -q "sequences=64.*the memory budget holds fewer" "$work/err" || fail "a run does not say why: $(cat "$work/err")"
    try 0 "$accelctl" run "$work/wide.json" --prompt Once -n 2
done
# A limit that the user has set is named with the least that would do, and that does.
limited="llama-2-7b --platform webgpu --set memory.device=1300MiB --fit"
# shellcheck disable=SC2086
try 5 "$accelctl" plan $limited
settings=$(sed -n 's/^settings   //p' "$work/out")
larger=$(sed -n 's/.*remedy: no change below is enough: \(--set memory.device=[0-9]*MiB\) with.*/\1/p' "$work/out")
[ -n "$settings$larger" ] || { cat "$work/out"; fail "--fit names no memory that would do"; }
# shellcheck disable=SC2086
try 0 "$accelctl" plan llama-2-7b --platform webgpu $settings $larger
try 5 "$accelctl" plan llama-2-7b --platform cuda --device t4 --set memory.device=100MiB --set placement=single --fit
has "a larger memory.device, a smaller model, or a device"
# shellcheck disable=SC2086 # options
try 0 "$accelctl" plan llama-2-70b ${too_large#* } --set placement=single --fit
grep -q "^settings .* --set offload.layers=25$" "$work/out" || { cat "$work/out"; fail "--fit does not offload what the device lacks"; }
# Neither the device nor the processors hold all 80 layers: the search finds a split between, of all layers.
# shellcheck disable=SC2086 # options
{
    try 0 "$accelctl" plan llama-2-70b ${too_large#* } --set placement=single --set weights.type=Q4_K_M --advise oom
    has "    settings  --set offload.layers=54"
    try 5 "$accelctl" plan llama-2-70b ${too_large#* } --set placement=single --set weights.type=Q4_K_M --set offload.layers=53
    has "DOES NOT FIT"
    try 0 "$accelctl" plan llama-2-70b ${too_large#* } --set placement=single --set weights.type=Q8_0 --advise oom
    grep -q "no value of offload.layers fits without other changes: [0-9]* is short by least" "$work/out" || fail "no split fits"
}
# shellcheck disable=SC2086 # options
try 5 "$accelctl" plan $too_large --set placement=single --fit
has "remedy: no change below is enough: a smaller model, or a device with more memory"
grep -q -- '--fit$' "$work/out" && fail "what --fit prints recommends --fit"
for topic in oom slow accuracy; do
    try 0 "$accelctl" plan "$model" --advise $topic
    has "because   "
done
try 0 "$accelctl" plan "$model" --advise oom --json
"$json" "$work/out" accelctl/advice/1 || fail "--advise --json"
try 2 "$accelctl" plan "$model" --advise weather
one_error 'no advice on "weather"'

# A machine that was recorded.
for host in server-8-gpus laptop-hybrid container-quota; do
    file=$src/tests/topologies/$host.json
    [ -f "$file" ] || fail "no $file"
    "$accelctl" plan llama-2-7b --host "$file" --json >"$work/out" 2>"$work/err" </dev/null
    case $? in 0 | 5) ;; *) cat "$work/err"; fail "--host $host" ;; esac
    is "$(value verdict.exact)" false "a recorded machine"
done
# A device whose record has no types refuses none, and no recommendation makes weights larger there.
for host in two-sockets board-arm gpu-node-closed; do
    "$accelctl" plan llama-3-8b --host "$src/tests/topologies/$host.json" --set weights.type=Q4_K_M >"$work/out" 2>"$work/err" </dev/null
    case $? in 0 | 5) ;; *) cat "$work/err"; fail "Q4_K_M on $host" ;; esac
done
try 0 "$accelctl" plan gpt-oss-20b --host "$src/tests/topologies/desktop-two-gpus.json"
has "FITS on cuda:0000:01:00.0: needs 18.8 GiB"

# Calls of other programs are scripts that a shell reads, with a comment for every flag.
for program in llama-server vllm; do
    try 0 "$accelctl" plan "$model" --emit $program --set weights.load=read --set context=100tok
    sh -n "$work/out" || fail "--emit $program: the shell does not read it"
    has "exec $program"
    has "context = 100 tok (command line"
    has "# Settings that $program has no option for:"
done
has "--max-model-len 100"
# Names of files cannot end a comment, and are no options.
broken=$(printf '%s/broken\nexit 9\n#.gguf' "$work")
cp "$model" "$broken"
cp "$model" "$work/-dash.gguf"
mkdir -p "$work/folder
exit 9"
cp "$models/hf/config.json" "$work/folder
exit 9"
for program in llama-server vllm; do
    try 0 "$accelctl" plan "$broken" --emit $program
    grep -v "^ " "$work/out" | sed "/^exec/,\$d" | grep "^[^#]" && fail "--emit $program: the name of a file is a command"
    try 0 sh -c 'cd "$1" && exec "$2" plan --emit "$3" -- -dash.gguf' sh "$work" "$accelctl" $program
    has "'./-dash.gguf'"
done
try 0 "$accelctl" plan "$work/folder
exit 9" --emit vllm
sed "/^exec/,\$d" "$work/out" | grep "^[^#]" && fail "--emit vllm: the name of a folder is a command"
try 0 "$accelctl" plan "$model" --emit llama-server --set weights.load=read --set attention.page=32
has "--no-mmap"
has "-ctk f16"
has "attention.page = 32 tok (command line"
grep -q "no-repack" "$work/out" && fail "a flag of packed weights that nobody set"
try 0 "$accelctl" plan "$model" --emit llama-server --set cpu.layout=rows
has "--no-repack"
grep -q "cpu.layout = rows.*: it has no flag" "$work/out" && fail "cpu.layout=rows has a flag of llama-server"
# Placements are carried over, and what is not is listed.
try 0 "$accelctl" plan llama-2-7b --platform cuda --device 2xt4 --set placement=0-9=cuda:0,10-31=cuda:1 --emit llama-server
has "    -ngl 33 \\"
has "    -ts 10,23"
sh -n "$work/out" || fail "-ts: the shell does not read it"
try 0 "$accelctl" plan llama-2-7b --platform cuda --device 2xt4 --emit llama-server \
    --set placement=0-9=cpu:cpu0,10-19=cuda:0,20-31=cuda:1
has "    -ngl 23 \\"
has "    -ts 10,13"
try 0 "$accelctl" plan llama-2-7b --platform cuda --device t4 --set offload.layers=4 --emit llama-server
has "    -ngl 33 \\"
has "    -ot 'blk\\.(28|29|30|31)\\.=CPU'"
has "#   not translated: the KV cache of these layers"
sh -n "$work/out" || fail "-ot: the shell does not read it"
# One GPU of several holds the layers, which llama-server divides otherwise.
for given in "" "-ngl 20"; do
    # shellcheck disable=SC2086 # words
    try 0 "$accelctl" plan llama-2-7b --platform cuda --device 2xrtx3090 --set weights.type=Q4_K_M $given --emit llama-server
    has "    --split-mode none"
    sh -n "$work/out" || fail "--split-mode: the shell does not read it"
done
try 0 "$accelctl" plan llama-2-7b --platform cuda --device rtx3090 --set weights.type=Q4_K_M --emit llama-server
grep -q -- "--split-mode" "$work/out" && fail "the only GPU is chosen"
try 0 "$accelctl" plan llama-2-7b --platform cuda --device t4 --emit llama-server --set kv.type.v=q8 \
    --set attention.kernel=eager
has "attention.kernel = eager (command line"
grep -q -- "-fa off" "$work/out" && fail "-fa is both on and off"
try 0 "$accelctl" plan llama-2-7b --platform cuda --device 2xt4 --set placement=0-9=cuda:0,10-31=cuda:1 --emit vllm
has "export VLLM_PP_LAYER_PARTITION=10,22"
has "    --pipeline-parallel-size 2"
has "#   In one host vllm is mostly called with --tensor-parallel-size 2 instead"
sh -n "$work/out" || fail "VLLM_PP_LAYER_PARTITION: the shell does not read it"
try 0 "$accelctl" plan llama-2-7b --platform cuda --device 4xa100 --emit vllm
grep -q -- "parallel-size\|PARTITION" "$work/out" && fail "stages of a model that is planned on one device"
try 0 "$accelctl" plan llama-2-7b --platform cuda --device 2xt4 --set placement=0-9=cpu:cpu0,10-19=cuda:0,20-31=cuda:1 --emit vllm
has "#   not translated: layers on the processors"
try 4 "$accelctl" plan llama-2-7b --platform cuda --device 2xt4 --set tensor.parallel=2 --emit vllm
one_error "tensor.parallel=2 is not honored yet"
# What the program cannot read is refused.
try 3 "$accelctl" plan "$models/hf" --emit llama-server
one_error "llama-server reads GGUF, and $models/hf is safetensors"
try 0 "$accelctl" plan tinyllama-1.1b --platform mps --device m3 --emit vllm
has "# THE PLAN IS FOR mps: vllm has kernels for cuda rocm cpu, and may run on the processors instead."
try 0 "$accelctl" plan "$models/hf" --emit vllm
grep "THE PLAN IS FOR" "$work/out" && fail "a warning of the platform cpu"
for kind in "$f32 $work/planes.gguf" "$models/hf $work/planes"; do
    # shellcheck disable=SC2086
    try 0 "$accelctl" quantize $kind q4_g32
    for program in llama-server vllm; do
        try 3 "$accelctl" plan "${kind#* }" --emit $program
        one_error "$program does not read layout accel 1, in which ${kind#* } is"
    done
done
# The call of what --fit finds; its types are to be written first.
try 0 "$accelctl" plan llama-2-70b --platform cuda --device rtx3090 --fit --emit llama-server
grep -q "^#   weights.type = q2 (advice.yaml:[0-9]*): write the file in a type of GGUF first" "$work/out" || { cat "$work/out"; fail "--fit --emit"; }
grep -q "^exec llama-server -m 'llama-2-70b'" "$work/out" || fail "--fit --emit has no call"
try 0 "$accelctl" plan llama-2-7b --platform cuda --device rtx3090 --set precision.adaptive=true --emit llama-server
grep -q "^#   precision.adaptive = true .*: write the file in a type of GGUF first" "$work/out" || { cat "$work/out"; fail "--emit of adaptive precision"; }
try 0 "$accelctl" plan llama-2-7b --platform cuda --device rtx3090 --emit vllm
grep -q "kv.enabled" "$work/out" && fail "a cache is what vllm always has"
try 2 "$accelctl" plan "$model" --out -
one_error "-: is no name of a file here"
try 2 "$accelctl" plan "$model" --emit nothing
one_error "llama-server or vllm"
try 2 "$accelctl" plan "$model" --mode foo
one_error "stream or components"

# A name for two settings explains both; an unknown one is answered with the nearest name.
try 0 "$accelctl" plan "$model" --explain kv.type --set kv.type=f32
is "$(grep -c '^kv.type.[kv] = f32' "$work/out")" 2 "settings that kv.type explains"
try 0 "$accelctl" plan "$model" --explain kv.type --json
is "$("$json" "$work/out" accelctl/explain/1 members.1.key)" kv.type.v "the second member"
# guessed STATUS WORD ARGUMENT...: the error asks whether WORD was meant.
guessed()
{
    wanted_status=$1 meant=$2
    shift 2
    try "$wanted_status" "$accelctl" "$@"
    one_error "did you mean"
    grep -qE "did you mean [\"']?$meant[\"']?\?" "$work/err" || { cat "$work/err"; fail "no guess $meant: $*"; }
}
guessed 2 context plan "$model" --explain contxt
guessed 2 kv.type plan "$model" --explain kv.typ
guessed 4 cuda plan llama-2-7b --platform nvidia --device 2xa100
guessed 4 vulkan plan llama-2-7b --platform vulkn
guessed 4 a100-80gb plan llama-2-7b --platform cuda --device a100-80
guessed 4 cpu plan "$model" --device cpux
guessed 2 slow plan "$model" --advise slw
guessed 2 llama-server plan "$model" --emit lama-server
guessed 2 stream plan "$model" --mode strem
guessed 2 q8 plan "$model" --set kv.type=q9
guessed 2 latency plan "$model" --set goal=latensy
guessed 4 cuda profile show cdua
guessed 2 platforms profile list platfrms
guessed 2 context profile settings contxt
guessed 2 D1 matrix --table D9
guessed 2 rejected claims --verdict rejectd
try 2 "$accelctl" plan "$model" --explain nope
grep -q "did you mean" "$work/err" && fail "a guess for a name that resembles none"
# Letters of names of devices and platforms have no case.
for device in CPU Cpu:CPU0 cpu0 CPU0; do
    try 0 "$accelctl" plan "$model" --device $device
    has "FITS on cpu:cpu0"
done
try 0 "$accelctl" plan llama-2-7b --platform CUDA --device 2xA100
has "NVIDIA A100"

# Flags are spelt as people do on the command line and in the environment, and as true and false in files.
for word in true on yes 1 TRUE On; do
    try 0 "$accelctl" plan "$model" --explain cpu.pin --set cpu.pin=$word
    has "cpu.pin = true"
done
for word in false off no 0; do
    try 0 env ACCEL_CPU_PIN=$word "$accelctl" plan "$model" --explain cpu.pin
    has "cpu.pin = false"
done
try 2 "$accelctl" plan "$model" --set cpu.pin=2
one_error "none of: true false"
mkdir "$work/flags" && printf 'accel-profile: 1\ndefaults: {cpu.pin: off}\n' >"$work/flags/accel.yaml"
try 0 sh -c "cd '$work/flags' && exec '$accelctl' plan '$q8' --explain cpu.pin"
has "cpu.pin = false"

# A variable that nothing reads is named, by plans and runs.
for command in plan "run -q -n 1 --prompt Once"; do
    # shellcheck disable=SC2086 # a command and its options
    try 0 env ACCEL_NOPE=1 "$accelctl" $command "$model"
    grep -q "environment ACCEL_NOPE: unknown variable without effect$" "$work/out" "$work/err" ||
        { cat "$work/out" "$work/err"; fail "$command: ACCEL_NOPE is silent"; }
done
try 0 env ACCEL_CONTXT=1 "$accelctl" plan "$model"
has "ACCEL_CONTXT: unknown variable without effect; did you mean ACCEL_CONTEXT?"
for answer in "--explain context" --max-context "--advise oom" "--emit llama-server" --fit; do
    # shellcheck disable=SC2086 # an option and its value
    try 0 env ACCEL_CONTXT=1 "$accelctl" plan "$model" $answer
    grep -qx "warn: environment ACCEL_CONTXT: .* did you mean ACCEL_CONTEXT?" "$work/err" || fail "plan $answer: a misspelt variable is silent"
done

# Numbers of tokens take K and M in variables and profiles as on the command line; another spelling is refused with the word.
mkdir "$work/counts" && printf 'accel-profile: 1\ndefaults: {batch: 1k}\n' >"$work/counts/accel.yaml"
try 0 sh -c "cd '$work/counts' && ACCEL_CONTEXT=1K exec '$accelctl' plan llama-2-7b --json"
is "$(value settings.context.value) $(value settings.batch.value)" "1024 1024" "K in a variable and in a profile"
# Words are taken in any case.
try 0 env ACCEL_WEIGHTS_TYPE=Q4_K_M ACCEL_KV_TYPE=F16 ACCEL_CONTEXT=AUTO ACCEL_PRECISION_ADAPTIVE=Off "$accelctl" plan llama-2-7b --json
is "$(value settings.weights.type.value) $(value settings.kv.type.k.value)" "q4_k_m f16" "words of variables in upper case"
for wrong in 'ACCEL_KV_TYPE=q8_1:did you mean "q8"?' 'ACCEL_CONTEXT=0:and none of: auto' 'ACCEL_CPU_THREADS=-1:and none of: auto'; do
    try 2 env "${wrong%%:*}" "$accelctl" plan llama-2-7b
    one_error "${wrong#*:}"
done

# --explain states what the plan notes of a value that is not honored.
for key in weights.group weights.scheme; do
    try 0 "$accelctl" plan "$model" --set weights.type=q2 --set weights.group=512 --explain $key
    cp "$work/out" "$work/explained"
    try 0 "$accelctl" plan "$model" --set weights.type=q2 --set weights.group=512 --json
    noted=$(grep -c "\"key\": \"$key\"" "$work/out")
    is "$(grep -c "^  not honored: $key=" "$work/explained")" "$([ "$noted" = 0 ] && echo 0 || echo 1)" "--explain $key"
done
try 0 "$accelctl" plan "$model" --set weights.type=q2 --set weights.group=512 --explain weights.group --json
grep -q '"outcome": "noted"' "$work/out" || fail "--explain --json does not state that a value is not honored"

# The page of the cache that a plan shows is the page of the run, whoever decides it.
# pages WANTED OPTION...: both have pages of WANTED tokens.
pages()
{
    wanted_page=$1
    shift
    try 0 "$accelctl" plan "$model" --explain attention.page "$@"
    is "$(head -n 1 "$work/out")" "attention.page = $wanted_page tok" "plan, $*"
    try 0 "$accelctl" run "$model" -q -n 2 --prompt "Once upon" --set log.attention=true --set log.level=info "$@"
    grep -q "component=plan key=log.attention.* pages* of $wanted_page tokens*," "$work/err" ||
        { cat "$work/err"; fail "run, $*: no page of $wanted_page tokens"; }
}
pages 512
pages 64 --set attention.page=64
pages 64 --set sequences=2
pages 128 --set attention.page=300 --set context=128tok
pages 32 --set context=128tok --set kv.full=slide
pages 1 --set attention.page=64 --set kv.full=prune --set kv.prune=recency
try 0 "$accelctl" plan "$model" --all --set attention.page=300 --set context=128tok
has "attention.page=300 tok comes to 128"

# A plan in a file: a run repeats it, whatever profiles and variables say meanwhile.
try 0 "$accelctl" plan "$model" --set context=128tok --out "$plan"
"$json" "$plan" accelctl/plan/2 || fail "--out"
is "$(tail -n 1 "$work/out")" "written    $plan, for accelctl run to repeat" "where a plan was written"
try 0 "$accelctl" plan "$model" --json --out "$work/twice.json"
"$json" "$work/out" accelctl/plan/2 || fail "--out with --json"
try 0 "$accelctl" run "$model" --set context=128tok -q --greedy -n 20
cp "$work/out" "$work/text"
try 0 "$accelctl" run "$plan" -q --greedy -n 20
cmp "$work/out" "$work/text" || fail "the plan's run wrote another text"
try 0 env ACCEL_CONTEXT=8tok ACCEL_BATCH=2tok "$accelctl" run "$plan" -q --greedy -n 20
cmp "$work/out" "$work/text" || fail "variables changed the run of a plan"
# So do variables that no plan could have.
try 0 env ACCEL_KV_FULL=prune "$accelctl" run "$plan" -q --greedy -n 20
cmp "$work/out" "$work/text" || fail "a variable that permits no plan changed the run of a plan"
# Nor do options of a driver that the plan leaves to it, from a variable or a file, beside one that permits no plan either.
mkdir "$work/isa"
printf 'accel-profile: 1\ndefaults:\n  cpu.isa: scalar\n' >"$work/isa/accel.yaml"
(cd "$work/isa" && "$accelctl" run "$plan" -q --greedy -n 20 </dev/null >"$work/out")
cmp "$work/out" "$work/text" || fail "an option of accel.yaml changed the run of a plan"
for variable in ACCEL_BATCH=2tok ACCEL_KV_FULL=prune; do
    try 0 env ACCEL_CPU_ISA=scalar "$variable" "$accelctl" run "$plan" -q --greedy -n 20
    cmp "$work/out" "$work/text" || fail "a driver's variable changed the run of a plan"
    grep -qF "warn: environment ACCEL_CPU_ISA=scalar has no effect: the plan $plan has no cpu.isa" "$work/err" ||
        { cat "$work/err"; fail "a driver's variable is ignored silently"; }
done
(cd / && "$accelctl" run "$plan" -q --greedy -n 20 </dev/null >"$work/out")
cmp "$work/out" "$work/text" || fail "the run of a plan from another folder"
try 0 "$accelctl" run "$plan" --json -n 5
is "$(value memory.planned)" "$("$json" "$plan" - memory.needed)" "planned memory"

# The content decides, not the name; other commands say what the file is.
cp "$plan" "$work/saved"
try 0 "$accelctl" run "$work/saved" -q --greedy -n 20
cmp "$work/out" "$work/text" || fail "the run of a plan without .json in its name"
for command in plan info "quantize --dry-run"; do
    # shellcheck disable=SC2086
    try 3 "$accelctl" $command "$work/saved"
    one_error "$work/saved: is a saved plan, not a model"
done
# A plan by formula is no plan for a run, and says so when it is written; the run names the reason and its remedy.
recorded="--host $src/tests/topologies/container-quota.json"
for arguments in "$model $recorded" "llama-2-7b --platform cuda --device a100"; do
    # shellcheck disable=SC2086
    try 0 "$accelctl" plan $arguments --out "$work/formula.json"
    is "$(tail -n 1 "$work/out")" \
        "written    $work/formula.json, to read or to compare: accelctl run follows no plan by formula" "$arguments"
    try 4 "$accelctl" run "$work/formula.json" -q -n 3
    one_error "is a plan by formula, which no run can follow: $("$json" "$work/formula.json" - verdict.reason)"
    grep -q "^  remedy: ." "$work/err" || fail "no remedy: $(cat "$work/err")"
    case $arguments in
    llama-2-7b*) grep -q "^  remedy: accelctl run PATH runs the GGUF file" "$work/err" ;;
    *) grep -qF "  remedy: accelctl run $model runs the model on a device of this machine, and accelctl plan $model --out" "$work/err" ;;
    esac || { cat "$work/err"; fail "the remedy of a run of $arguments"; }
done
try 0 "$accelctl" plan "$model" --platform cuda --device t4 --out "$work/formula.json"
try 4 "$accelctl" run "$work/formula.json" -q -n 3
grep -qF "  remedy: accelctl run $model runs the model on a device of this machine" "$work/err" || fail "a plan for cuda"
# shellcheck disable=SC2086
try 0 "$accelctl" plan "$model" $recorded --out "$work/formula.json"
tr -s ' \n' '  ' <"$work/out" | grep -qF "weights that it packs are not counted" || fail "what a recorded plan leaves out"
grep -q "remedy: to run, or to plan exactly, repeat the command on that machine without --host" "$work/out" ||
    fail "remedy: $(cat "$work/out")"

# What differs is refused by its name.
refused()
{
    try "$1" "$accelctl" run "$work/other.json" -q -n 3
    one_error "$2"
}
sed 's/"driver_version": "[^"]*"/"driver_version": "0.0.9"/' "$plan" >"$work/other.json"
refused 4 "other.json:$(sed -n '/"driver_version"/=' "$plan"): device.driver_version is \"0.0.9\", and \"0.1.0\" when the plan is made again"
sed 's/cpu:cpu0/gpu:gpu7/' "$plan" >"$work/other.json"
refused 4 "there is no device gpu:gpu7"
sed 's/matmul q8_0 x q8/matmul magic/' "$plan" >"$work/other.json"
refused 4 '.kernel is "matmul magic", and "matmul q8_0 x q8" when the plan is made again'
sed 's/"header": "/"header": "f/' "$plan" >"$work/other.json"
refused 4 ': model.files.0.header is "f'
sed 's/"name": "layers.0.q_heads"/"name": "query"/' "$plan" >"$work/other.json"
refused 4 '.name is "query", and "layers.0.q_heads" when'
sed 's/"device": {/"device": 5, "before": {/' "$plan" >"$work/other.json"
refused 3 "is no plan: its device is missing, or has no name"
sed 's/"device": {/"before": {/' "$plan" >"$work/other.json"
refused 3 "is no plan: its device is missing, or"
sed 's/"device": {/"device": null, "before": {/' "$plan" >"$work/other.json"
refused 4 ': device is null, and {"name":"cpu:cpu0",'
sed 's/"exact": true,//' "$plan" >"$work/other.json"
refused 3 "is no plan: verdict.exact is missing"
# An edited setting is named beside what follows from it, and one that cannot be had has a remedy of a plan.
sed '/"batch": {/,/}/s/"value": "256"/"value": "64"/' "$plan" >"$work/other.json"
refused 4 "; line $(sed -n '/"batch": {/,/}/{/"value"/=}' "$plan" | head -n 1) has batch=64tok, 256tok without it"
grep -q "^  remedy: .*make the plan anew: accelctl plan MODEL --out FILE, and --set batch=64tok to keep that value$" "$work/err" ||
    { cat "$work/err"; fail "the remedy of an edited setting"; }
sed '/"cpu.threads": {/,/}/s/"value": "[0-9]*"/"value": "4096"/' "$plan" >"$work/other.json"
refused 4 "4096 threads requested, but only "
grep -qx "  remedy: make the plan anew on this machine: accelctl plan MODEL --out FILE" "$work/err" || { cat "$work/err"; fail "its remedy"; }
# A profile with other values changes no run either, not even the lengths of its texts.
sed 's/256tok/128tok/' "$src/profiles/base.yaml" >"$work/base.yaml"
cp -r "$src/profiles" "$work/elsewhere"
chmod -R u+w "$work/elsewhere"
cp "$work/base.yaml" "$work/elsewhere/base.yaml"
try 0 "$accelctl" run "$plan" --profiles "$work/elsewhere" -q --greedy -n 20
cmp "$work/out" "$work/text" || fail "profiles changed the run of a plan"
# A setting that cannot be had: the profile locks another value.
cp -r "$src/profiles" "$work/profiles"
chmod -R u+w "$work/profiles"
sed 's/256tok/128tok/' "$src/profiles/base.yaml" >"$work/profiles/base.yaml"
printf '\nlock: [batch]\n' >>"$work/profiles/base.yaml"
try 4 "$accelctl" run "$plan" --profiles "$work/profiles" -q -n 3
one_error "batch is locked by"
# Memory that does not suffice any more.
try 5 "$accelctl" plan "$model" --set memory.budget=1MiB --out "$work/other.json"
has "written    $work/other.json, which accelctl run refuses as long as it does not fit"
refused 5 "more than the plan may take (memory.budget: "
grep -q "^  remedy: make the plan anew with a larger memory.budget or without it" "$work/err" || fail "the user's own budget: $(cat "$work/err")"
printf '{"schema": "accelctl/plan/2"}' >"$work/other.json"
refused 3 "is no plan"
for cut in 12 3000; do
    head -c $cut "$plan" >"$work/other.json"
    refused 3 "other.json:"
    one_error "remedy: the file is cut or damaged"
done
{ printf '\357\273\277' && cat "$plan"; } >"$work/other.json"
refused 3 "other.json:1:1: "
one_error "remedy: the file is cut or damaged"
printf '{"a": 1}' >"$work/other.json"
refused 3 "is JSON, neither GGUF nor safetensors, and no saved plan"
# A plan whose model has a name that JSON cannot state is not written; nor one whose own name is too long.
latin=$(printf '%s/caf\351.gguf' "$work")
cp "$model" "$latin"
try 1 "$accelctl" plan "$latin" --out "$work/latin.json"
one_error "is not UTF-8, as all text of a plan file is"
[ ! -e "$work/latin.json" ] || fail "a plan that no run can repeat was written"
long=$(printf '%0250d' 7)
try 1 "$accelctl" plan "$model" --out "$work/$long"
one_error "remedy: name a file with a shorter name"
try 3 "$accelctl" plan "$work/$long$long"
one_error "remedy: name the file by a shorter path"
try 2 "$accelctl" run "$plan" --set batch=8tok
one_error "--set batch=8tok and the plan $plan: a plan has all settings, and runs only as it was written"
touch -d '2020-01-01' "$model"
cp "$plan" "$work/other.json"
refused 4 "other.json:$(sed -n '/"changed"/=' "$plan" | head -n 1): model.files.0.changed is $("$json" "$plan" - model.files.0.changed), and "
grep -q "model.gguf was changed since, or is a copy" "$work/err" || fail "$(cat "$work/err")"
mv "$model" "$work/moved.gguf"
refused 3 "model.gguf is not there"
grep -qF "name it where it is now, accelctl run MODEL --plan $work/other.json" "$work/err" || fail "$(cat "$work/err")"
# A model that was moved or copied runs by its plan, if its size, header and end are those of the record.
try 0 "$accelctl" run "$work/moved.gguf" --plan "$plan" -q --greedy -n 20
cmp "$work/out" "$work/text" || fail "the run of a model that was moved"
try 2 "$accelctl" run "$plan" "$work/moved.gguf"
one_error "TEXT behind a plan is the text to continue, and this one is the name of a file"
grep -q "remedy: accelctl run MODEL --plan FILE" "$work/err" || fail "no remedy"
try 3 "$accelctl" run "$work/moved.gguf" --plan "$work/no.json"
grep -qx "  remedy: check the path: accelctl plan MODEL --out FILE writes a plan" "$work/err" || fail "no remedy"
cp "$work/moved.gguf" "$work/edited.gguf"
printf 'x' | dd of="$work/edited.gguf" bs=1 seek=$(($(wc -c <"$work/edited.gguf") - 20)) conv=notrunc 2>/dev/null
try 4 "$accelctl" run "$work/edited.gguf" --plan "$plan" -q -n 3
one_error "the contents of the file differ"
try 2 "$accelctl" plan "$model" --output "$work/no.json"
grep -q "remedy: --out FILE writes the plan" "$work/err" || fail "no hint at --out"
printf ' 1 ' >"$work/in"
"$accelctl" chat "$work/moved.gguf" --plan "$plan" --chat-template chatml -q -n 1 <"$work/in" >"$work/out" 2>"$work/err" ||
    { cat "$work/err"; fail "a chat with a model that was moved"; }
for changed in header bytes; do
    sed "s/\"$changed\": \"*/&1/" "$plan" >"$work/other.json"
    try 4 "$accelctl" run "$work/moved.gguf" --plan "$work/other.json" -q -n 3
    one_error "other.json:$(sed -n "/\"$changed\"/=" "$plan" | head -n 1): model.files.0.$changed is "
    grep -q "; its model was .*/model.gguf$" "$work/err" || { cat "$work/err"; fail "where the model of a plan was"; }
done

# A tokenizer that a run of texts refuses: the plan says so, and stays a plan.
LC_ALL=C sed 's/\(tokenizer\.ggml\.model.\{12\}\)llama/\1ammel/' "$q8" >"$work/strange.gguf"
LC_ALL=C sed 's/tokenizer\.ggml\.model/tokenizer.ggml.medal/' "$q8" >"$work/mute.gguf"
for name in 'strange:tokenizer.ggml.model "ammel" is not known' 'mute:holds no tokenizer'; do
    file=$work/${name%%:*}.gguf
    try 3 "$accelctl" run "$file" -q -n 2
    one_error "${name#*:}"
    grep -q "name another conversion of the model" "$work/err" || fail "no remedy: $(cat "$work/err")"
    for host in "" "--host $src/tests/topologies/container-quota.json"; do
        # shellcheck disable=SC2086
        try 0 "$accelctl" plan "$file" $host
        is "$(head -n 1 "$work/out" | cut -c 1-15)" "verdict    FITS" "the first line"
        tr -s ' \n' '  ' <"$work/out" >"$work/line"
        grep -qF "! a run of texts is refused: " "$work/line" || fail "no warning: $(cat "$work/out")"
        grep -qF "${name#*:}" "$work/line" || fail "the warning has no reason"
        grep -q "name another conversion of the model" "$work/line" || fail "the warning has no remedy"
        # shellcheck disable=SC2086
        try 0 "$accelctl" plan "$file" --json $host
        last=$(($(value notes.#) - 1))
        is "$(value notes.$last.key)" tokenizer "the note"
        is "$(value notes.$last.level)" warn "its level"
        case $(value notes.$last.text) in *"${name#*:}"*) ;; *) fail "its text: $(value notes.$last.text)" ;; esac
        case $(value notes.$last.remedy) in *"accelctl trace"*) ;; *) fail "its remedy" ;; esac
    done
done
try 0 "$accelctl" plan "$work/mute.gguf" --out "$work/mute.json"
last=$(($("$json" "$work/mute.json" - notes.#) - 1))
is "$("$json" "$work/mute.json" - "notes.$last.key")" tokenizer "the note of a plan in a file"

# A wrong value is wrong usage, whoever of the caller's sets it, and a platform is missed as a device is.
try 2 "$accelctl" plan "$q8" --set memory.budget=64
one_error "lacks its unit, MiB or GiB"
ACCEL_MEMORY_BUDGET=64 try 2 "$accelctl" plan "$q8"
one_error "environment ACCEL_MEMORY_BUDGET: memory.budget: \"64\" lacks its unit"
# So is a limit of the library, with or without a unit, and a path of the environment.
for set in ACCEL_PACKED_BYTES=some ACCEL_PACKED_BYTES=4tok ACCEL_COMPILE_BYTES=0 ACCEL_COMPILE_BYTES=-1 \
    ACCEL_COMPILE_MILLISECONDS=soon ACCEL_COMPILE_MILLISECONDS=1MiB; do
    for command in plan "run -n 1"; do
        # shellcheck disable=SC2086 # words
        try 2 env "$set" "$accelctl" $command "$q8"
        one_error "environment ${set%=*}: \"${set#*=}\" is no "
        grep -q "^  remedy: set ${set%=*} to a .*, or unset it$" "$work/err" || fail "no remedy for $set"
    done
    try 3 env "$set" "$accelctl" profile lint
    has "environment ${set%=*}: error: \"${set#*=}\" is no "
done
try 0 env ACCEL_PACKED_BYTES=1GiB ACCEL_COMPILE_BYTES=4GiB ACCEL_COMPILE_MILLISECONDS=10min "$accelctl" plan "$q8"
mkdir "$work/empty"
for command in devices plugins "plan $q8" "profile lint" "profile list"; do
    # shellcheck disable=SC2086 # words
    ACCEL_PROFILE_PATH=$work/empty try 2 "$accelctl" $command
    one_error "environment ACCEL_PROFILE_PATH $work/empty: holds no profiles: base.yaml cannot be read"
    grep -q "^  remedy: set ACCEL_PROFILE_PATH to the folder" "$work/err" || fail "no remedy for profiles"
done
# Named by an option, such a folder is a missing file.
for command in devices "plan $q8"; do
    # shellcheck disable=SC2086 # words
    try 3 "$accelctl" $command --profiles "$work/empty"
    one_error "--profiles $work/empty: holds no profiles: base.yaml cannot be read"
done
try 2 "$accelctl" run "$q8" -n 1 --set kv.full=slide --set context=16tok
one_error "command line --set kv.full=slide: kv.full=slide: 4 sinks never leave, so a context of less than 20 tokens"
grep -qF "  remedy: set context=20tok or more" "$work/err" || fail "no remedy for a context that is too short"
for model_name in "$q8" llama-2-7b; do
    try 4 "$accelctl" plan "$model_name" --platform foo
    one_error 'there is no platform "foo"'
done
try 3 "$accelctl" plan llama-2-7
one_error "neither a file nor a model"
# What does not fit, in one unit.
try 5 "$accelctl" run "$f32" -n 1 --set memory.budget=1MiB
one_error "MiB more than the budget of 1.00 MiB"
try 5 "$accelctl" run "$f32" -n 1 --set memory.device=1MiB
one_error "MiB more than the budget of 1.00 MiB (memory.device: command line --set memory.device=1MiB)"
# A remedy that is a value of the setting.
try 4 "$accelctl" run "$f32" -n 1 --set role.norm=f16
grep -qF "role.norm=auto" "$work/err" ||
    { cat "$work/err"; fail "a remedy that is no value"; }
# What a step of advice does not change has no arrow.
try 0 "$accelctl" plan "$q8" --advise oom
has "    memory    its saving is unknown; without it 1."
grep -E '^    memory +([0-9.]+ .iB) -> \1(,|$)' "$work/out" && fail "an arrow between equal numbers"
# Documents and rows that advice cites are named.
has "    S0 to S4 are guides to optimization, with their lines: doc/plan.md names them"
try 0 "$accelctl" plan bert-base-uncased --advise accuracy
has "measured: accelctl claims, row Z21.a)"

# Advice on the weights of a quantized file: as many bits are no use, and accelctl quantize wants the original.
try 0 "$accelctl" plan "$q8" --advise accuracy
has "most weights of the file are q8_0 already"
grep -qF -- "--set weights.type=q8" "$work/out" && fail "Q8_0 is offered 8 bits"
try 0 "$accelctl" plan "$q8" --advise slow
tr -s ' \n' '  ' <"$work/out" >"$work/line"
grep -qF "accelctl quantize --type q4_k_m ORIGINAL OUT, with the original weights (F16, BF16 or F32): this file is quantized" \
    "$work/line" || { cat "$work/out"; fail "a quantized file is offered to accelctl quantize"; }
try 0 "$accelctl" plan "$f32" --advise slow
has "accelctl quantize --type q4_k_m IN OUT"
# Where the documents disagree, what was measured stands there.
tr -s ' \n' '  ' <"$work/out" >"$work/line"
grep -qF "+2.7 % in Q4_K_M and +82 % in q4_g64 (quantize --type q4 takes groups of 128 where they divide the rows, of 64 there)" "$work/line" || fail "--advise slow names no type with its measured cost"
grep -qF "2.6 and 3.4 times that of F16 measured" "$work/line" || fail "--advise slow has claims and no answer"

# A setting of the environment that is misspelt does nothing, and the plan and the doctor say so.
ACCEL_CONTXT=64tok try 0 "$accelctl" plan "$q8"
tr -s ' \n' '  ' <"$work/out" >"$work/line"
grep -qF "! environment ACCEL_CONTXT: unknown variable without effect; did you mean ACCEL_CONTEXT?" "$work/line" ||
    { cat "$work/out"; fail "a plan does not tell of a misspelt setting"; }
ACCEL_CONTXT=64tok try 0 "$accelctl" plan "$q8" --json
case $(cat "$work/out") in *"environment ACCEL_CONTXT: unknown variable"*) ;; *) fail "no note of a misspelt setting in JSON" ;; esac
ACCEL_CONTEXT=64tok try 0 "$accelctl" plan "$q8"
grep -q "nobody knows" "$work/out" && fail "a plan does not know a setting of the environment"
ACCEL_CONTXT=64tok "$accelctl" doctor >"$work/out" 2>"$work/err" </dev/null
tr -s ' \n' '  ' <"$work/out" >"$work/line"
grep -qF "environment ACCEL_CONTXT: unknown variable without effect; did you mean ACCEL_CONTEXT?" "$work/line" &&
    grep -qF "remedy: set ACCEL_CONTEXT instead, or unset ACCEL_CONTXT" "$work/line" ||
    { cat "$work/out"; fail "the doctor does not tell of a misspelt setting"; }
# A run says it once, on the error output, quiet or not; a variable for what is an option names the option.
for call in "run $q8 -n 1 --prompt a" "run $q8 -n 1 --prompt a -q" "chat $q8 --chat-template chatml -n 1" "bench $q8 -p 8 -n 4 -r 1" \
    "eval $q8 --against $f32 --text $src/README.md -n 64 -c 32"; do
    # shellcheck disable=SC2086
    ACCEL_CONTXT=64tok "$accelctl" $call >"$work/out" 2>"$work/err" </dev/null
    is "$(grep -cF "warn: environment ACCEL_CONTXT: unknown variable without effect; did you mean ACCEL_CONTEXT?" "$work/err")" 1 \
        "warnings of a misspelt setting by $call: $(cat "$work/err")"
done
for call in "bench operators --operator add -r 1" "profile show cpu" "matrix --table D1"; do
    # shellcheck disable=SC2086
    ACCEL_CONTXT=64tok "$accelctl" $call >"$work/out" 2>"$work/err" </dev/null
    is "$(grep -cF "warn: environment ACCEL_CONTXT: unknown variable without effect; did you mean ACCEL_CONTEXT?" "$work/err")" 1 \
        "warnings of a misspelt setting by $call: $(cat "$work/err")"
done
ACCEL_DEVICE=vulkan try 0 "$accelctl" run "$q8" -n 1 --prompt a
grep -qF "did you mean --device NAME?" "$work/err" || { cat "$work/err"; fail "ACCEL_DEVICE has no suggestion"; }

# A folder that is not there is named before any work, and not as a full disk.
for call in "plan $q8 --out" "quantize --type q4_0 $q8" "quantize --type q3 $models/hf" "matrix --format json --out" "snapshot"; do
    # shellcheck disable=SC2086
    try 1 "$accelctl" $call "$work/nowhere/p.json"
    one_error "$work/nowhere/p.json: cannot be written: there is no folder $work/nowhere"
    grep -q "^  remedy: make the folder first" "$work/err" || fail "no remedy: $call"
done

# Writing: a plan takes no other thing's place, and what fails leaves the old file.
cp "$q8" "$model"
try 2 "$accelctl" plan "$model" --out "$work"
one_error "not a regular file"
try 2 "$accelctl" plan "$model" --out "$model"
one_error "$model: is there, and no JSON document"
cmp "$q8" "$model" || fail "a plan replaced the model"
mkfifo "$work/fifo.json"
ln -s plan.json "$work/link.json"
for name in "" "$work/new/" "$work/fifo.json" "$work/link.json"; do
    try 2 "$accelctl" plan "$model" --out "$name"
    try 2 "$accelctl" snapshot "$name"
    try 2 "$accelctl" matrix --format json --out "$name"
    try 2 "$accelctl" claims --format html --out "$name"
    try 2 "$accelctl" eval "$model" --against "$model" --html "$name"
    try 2 "$accelctl" trace "$model" --in "$model" --out "$name"
done
[ -p "$work/fifo.json" ] && [ -h "$work/link.json" ] || fail "a file that is not regular was replaced"
try 2 "$accelctl" snapshot "$model"
one_error "no JSON document"
try 2 "$accelctl" matrix --format html --out "$plan"
one_error "no page of HTML"
try 0 "$accelctl" matrix --format json --out "$work/matrix.json"
try 0 "$accelctl" matrix --format json --out "$work/matrix.json"
cmp "$q8" "$model" || fail "the model was replaced"
try 1 "$accelctl" plan "$model" --out "$work/none/plan.json"
one_error "$work/none/plan.json"
is "$(ls "$work" | grep -c 'json\.')" 0 "files left beside"
# A budget makes no memory, and limits of the process count.
try 5 "$accelctl" plan llama-2-70b --platform cpu --set memory.budget=100000GiB
if ! sanitized; then
    try 5 sh -c "ulimit -v 2000000; exec '$accelctl' plan llama-2-7b --platform cpu"
    has "RLIMIT_AS"
fi
# More threads than processors: both ways out are named, and the second one is one.
try 4 "$accelctl" plan "$q8" --set cpu.threads=4096
one_error "cpu.threads=4096: 4096 threads requested, but only "
grep -qE "remedy: request at most [0-9]+ threads?, or set fallback.threads to warn or allow" "$work/err" || fail "no remedy: $(cat "$work/err")"
try 0 "$accelctl" plan "$q8" --set cpu.threads=4096 --set fallback.threads=warn
# One question at a time.
try 2 "$accelctl" plan "$q8" --fit --max-context
one_error "plan: only one of --fit, --max-context, --advise, --explain and --emit can be given, or --fit and --emit"
try 2 "$accelctl" plan "$q8" --advise oom --out "$work/never.json"
one_error "--out"
finish
