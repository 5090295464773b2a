#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# GGUF files of the decoder families against the reference: every stage of every case within the fixture's tolerance, in
# one pass and token by token. ACCEL_PYTHON: the interpreter that has the package gguf (default python3).
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"
python=${ACCEL_PYTHON:-python3}
make_gguf=$src/tests/accelctl/make_gguf.py
file=$work/model.gguf
other=$work/other

# convert FOLDER [KEY=VALUE...]: writes $file, and the folder that it equals to $folder; skips the test where the package
# is missing.
convert()
{
    source=$1
    shift
    rm -rf "$file" "$other"
    "$python" "$make_gguf" "$source" "$file" "$other" "$@" >"$work/made" 2>&1
    status=$?
    folder=$(tail -n 1 "$work/made")
    case $status in
    77)
        echo "skipped: $folder"
        exit 77
        ;;
    0 | 78) ;;
    *)
        tail -n 5 "$work/made"
        exit 99
        ;;
    esac
}

# Sets $expected, of the fixture $source. What the fixture states and GGUF cannot is compared with what the folder gives,
# which trace.sh holds to the reference in all other respects.
reference()
{
    expected=$source/expected.safetensors
    [ "$folder" != "$source" ] || return 0
    expected=$work/expected.safetensors
    rm -f "$expected"
    try 0 "$accelctl" trace "$folder" --in "$source/inputs.safetensors" --out "$expected"
}

# compare FIXTURE WAYS: the stages of $file with those of the reference.
compare()
{
    reference
    for way in $2; do
        [ "$way" != pass ] || way=
        rm -f "$work/stages.safetensors"
        # shellcheck disable=SC2086
        try 0 "$accelctl" trace "$file" --in "$source/inputs.safetensors" --out "$work/stages.safetensors" $way
        "$stages" "$work/stages.safetensors" "$expected" "$source/fixture.json" || fail "$1 $way: the stages differ"
    done
}

# differ FIXTURE: $file runs, and its stages are others.
differ()
{
    reference
    rm -f "$work/stages.safetensors"
    try 0 "$accelctl" trace "$file" --in "$source/inputs.safetensors" --out "$work/stages.safetensors"
    "$stages" "$work/stages.safetensors" "$expected" "$source/fixture.json" 2>"$work/err" &&
        fail "$1: a key changes nothing"
}

command -v "$python" >/dev/null 2>&1 || { echo "skipped: no $python"; exit 77; }
fixtures=${ACCEL_SHARED_FIXTURES:-/nowhere}
[ -d "$fixtures/gemma2-base" ] || { echo "skipped: no fixtures of all families (ACCEL_SHARED_FIXTURES)"; exit 77; }

forms=0
for fixture in $(family_fixtures) llama-attention-bias gpt2-large-ish phi4-mini-like; do
    place "$fixture"
    convert "$folder"
    case $fixture in
    falcon-alibi | llama-rope-dynamic | opt-*)
        is $status 78 "$fixture"
        continue
        ;;
    esac
    [ $status = 0 ] || fail "$fixture: $folder"
    forms=$((forms + 1))
    ways="pass --stepwise"
    # Beyond the original length cached keys have other frequencies than those of one pass.
    case $fixture in phi3-longrope | phi4-mini-like) ways=pass ;; esac
    compare $fixture "$ways"
done
# Older files have queries, keys and values in one matrix.
for fixture in glm-base phi-base qwen2-tied; do
    convert "$fixtures/$fixture" qkv=one
    compare $fixture pass
done
# Older files of latent attention have keys and values in one matrix, and so their heads in the cache.
for fixture in deepseek-v2-tiny deepseek-v2-lite-like; do
    convert "$fixtures/$fixture" kv=one
    compare $fixture "pass --stepwise"
done
# olmo3 has the architecture olmo2 in GGUF.
convert "$fixtures/olmo2-base" windows=four
compare olmo2-base "pass --stepwise"
# Keys that may be left out, and that state what is implied.
convert "$fixtures/qwen2-moe-tiny" -expert_shared_feed_forward_length -expert_feed_forward_length
try 3 "$accelctl" trace "$file" --in "$fixtures/qwen2-moe-tiny/inputs.safetensors" --out "$work/x"
one_error "blk.0.ffn_gate_exps.weight"
convert "$fixtures/qwen3-moe-tiny" -expert_feed_forward_length
try 3 "$accelctl" trace "$file" --in "$fixtures/qwen3-moe-tiny/inputs.safetensors" --out "$work/x"
one_error "blk.0.ffn_gate_exps.weight"
# Stacked experts are converted when they are loaded to what quantize writes; their biases stay vectors.
for fixture in mixtral-tiny gpt-oss-tiny; do
    convert "$fixtures/$fixture"
    for type in q4_k_m q4; do
        rm -f "$work/of_file.safetensors" "$work/of_load.safetensors"
        try 0 "$accelctl" quantize "$file" "$work/quantized.gguf" $type
        try 0 "$accelctl" trace "$work/quantized.gguf" --in "$source/inputs.safetensors" --out "$work/of_file.safetensors"
        try 0 "$accelctl" trace "$file" --in "$source/inputs.safetensors" --out "$work/of_load.safetensors" \
            --set weights.type=$type
        cmp "$work/of_file.safetensors" "$work/of_load.safetensors" || fail "$fixture: experts converted to $type differ"
    done
done
# Experts of a folder that are transposed are converted along their inputs, as those of the GGUF file.
rm -f "$work/of_file.safetensors"
try 0 "$accelctl" trace "$folder" --in "$source/inputs.safetensors" --out "$work/of_file.safetensors" --set weights.type=q4
cmp "$work/of_file.safetensors" "$work/of_load.safetensors" || fail "$fixture: transposed experts differ"
# Keys that have no default.
for key in gemma3-base:attention.sliding_window gpt-oss-tiny:attention.sliding_window cohere-base:logit_scale; do
    convert "$fixtures/${key%:*}" "-${key#*:}"
    try 3 "$accelctl" trace "$file" --in "$fixtures/${key%:*}/inputs.safetensors" --out "$work/x"
    one_error "${key#*:}"
    grep -q missing "$work/err" || fail "$key: $(cat "$work/err")"
done
convert "$fixtures/mixtral-tiny" expert_gating_func=1 expert_weights_norm=false expert_weights_scale=1.0
compare mixtral-tiny pass
convert "$fixtures/llama-rope-linear" -rope.scaling.type
compare llama-rope-linear pass
convert "$fixtures/gemma2-base" attention.sliding_window_pattern=2 rope.freq_base_swa=10000.0
compare gemma2-base pass
# What llama.cpp writes where nothing differs.
convert "$fixtures/gemma3-base" attention.causal=true attention.key_length_swa=24 attention.max_alibi_bias=0.0 \
    attention.clamp_kqv=0.0 attention.output_scale=0.0 rope.dimension_count_swa=24 rope.scaling.yarn_ext_factor=-1.0 \
    expert_count=0 expert_gating_func=0 expert_weights_norm=false expert_weights_scale=0.0
compare gemma3-base pass
# A slope of another base, and layers without windows, differ.
convert "$fixtures/mpt-base" attention.max_alibi_bias=4.0
differ mpt-base
convert "$fixtures/gemma3-base" attention.sliding_window_pattern=1
differ gemma3-base
convert "$fixtures/gpt-oss-tiny" rope.freq_base_swa=100.0
differ gpt-oss-tiny
convert "$fixtures/deepseek-v2-tiny" expert_group_used_count=4
differ deepseek-v2-tiny
convert "$fixtures/deepseek-v2-lite-like" rope.scaling.yarn_log_multiplier=0.1
differ deepseek-v2-lite-like
[ $forms -ge 40 ] || fail "$forms GGUF forms"

# Keys that change results and that a family does not read are refused by name.
refused()
{
    source=$fixtures/$1
    convert "$source" "$2"
    try 3 "$accelctl" trace "$file" --in "$source/inputs.safetensors" --out "$work/x"
    one_error ".${2%%=*} "
    grep -q 'ACCEL_E_UNSUPPORTED' "$work/err" || fail "$1 with $2: $(cat "$work/err")"
}
refused llama-gqa attention.causal=false
refused llama-gqa attention.max_alibi_bias=8.0
refused llama-gqa attention.scale=0.5
refused llama-gqa attention.temperature_scale=0.1
refused llama-gqa attn_logit_softcapping=50.0
refused llama-gqa embedding_scale=2.0
refused llama-gqa final_logit_softcapping=30.0
refused llama-gqa logit_scale=0.5
refused llama-gqa residual_scale=0.5
refused llama-gqa rope.dimension_sections=4
refused llama-rope-yarn rope.scaling.yarn_attn_factor=1.5
refused llama-rope-yarn rope.scaling.yarn_ext_factor=0.5
refused llama-rope-yarn rope.scaling.yarn_log_multiplier=1.0
refused gemma3-base attention.key_length_swa=12
refused gemma3-base rope.dimension_count_swa=12
refused mistral-window attention.sliding_window_pattern=2
refused qwen2-tied expert_count=4
refused mixtral-tiny expert_gating_func=2
refused qwen2-moe-tiny expert_weights_norm=true
refused mixtral-tiny expert_weights_scale=2.5
refused qwen3-moe-tiny expert_group_count=4
refused deepseek-v2-tiny expert_weights_norm=true
refused deepseek-v2-tiny expert_gating_func=2
refused llama-gqa attention.key_length_mla=24
refused gpt-oss-tiny swiglu_clamp_exp=3.0
refused bloom-base attention.max_alibi_bias=4.0
refused glm4-base nextn_predict_layers=1
refused granite-base rope.scaling.finetuned=false

finish
