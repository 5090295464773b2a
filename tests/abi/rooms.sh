#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who may know whom: the order of the rooms as their includes say it, and words that a room must not contain.
set -u
cd "$ACCEL_TEST_SRCDIR" || exit 99
failed=0

# sources ROOM...: the C files below
sources()
{
    find "$@" -name '*.[ch]' | sort
}

# refuse WHY EXPRESSION ROOM...: no source line of the rooms matches the expression, but those of $exceptions
exceptions='^$'
refuse()
{
    why=$1
    expression=$2
    shift 2
    # shellcheck disable=SC2046 # file names have no blanks
    if grep -HniE "$expression" $(sources "$@") /dev/null | grep -vE "$exceptions"; then
        echo "FAIL: $why"
        failed=1
    fi
}

# may_include ROOM OTHER...: of the folders below core, files of core/ROOM include ROOM and OTHERs only
may_include()
{
    room=$1
    allowed=$(echo "$@" | tr ' ' '|')
    bad=$(grep -HnE '^ *# *include *"core/' $(sources "core/$room") /dev/null | grep -vE "\"core/($allowed)/")
    if [ -n "$bad" ]; then
        echo "$bad"
        echo "FAIL: core/$room includes a room above it"
        failed=1
    fi
}

may_include base
may_include thread base topology
may_include topology base
may_include plugin base
may_include profile base
may_include snapshot base profile topology
may_include device base topology thread plugin profile graph snapshot
may_include doctor base topology thread plugin profile snapshot device
may_include graph base
may_include tables base profile device
may_include plan base topology thread plugin profile device graph

private='^ *# *include *[<"](\.\./)*'
refuse "the core includes nothing outside of itself but public headers" "$private(plugins|tools|tests|sdk)/" core
refuse "drivers include nothing of the core, of tools or of the model library" "$private(core|tools|tests|sdk/model)/" plugins
refuse "a driver knows no model" '<accel/(model/|accel\.h|context\.h|plan\.h|run\.h)' plugins
refuse "the SDK includes nothing of the core, of plugins or of tools" "$private(core|plugins|tools|tests)/" sdk
refuse "block formats and the drivers' library know no models" "$private(sdk/model/|accel/model/)" sdk/quant sdk/driver
refuse "the command uses the public headers of the core" "$private(core|plugins)/" tools/accelctl

families='llama|gpt-?2|gpt-?neox|bert|roberta|distilbert|albert|t5|vit|deit|detr|llava|blip2?|xclip|whisper|wav2vec2?|hubert|clap'
families="$families|qwen[0-9]*|mistral|mixtral|gemma[0-9]*|phi-?[0-9]|smollm2?|dinov2|siglip|segformer|convnext|tinyllama"
end='([^[:alnum:]]|$)'
begin='(^|[^[:alnum:]])'
refuse "the core and the drivers know no family of models" "$begin($families)$end" core plugins
refuse "the core and the drivers know no model files and no tokenizers" "${begin}(safetensors|tokenizers?|tokenizer_[a-z]+)$end" \
    core plugins

vendors='nvidia|cuda|cublas|amd|rocm|hip|radeon|intel|openvino|qualcomm|qnn|adreno|hexagon|apple|metal|mps|mali|vulkan|opencl'
vendors="$vendors|webgpu|webnn|avx2?|avx-?512[a-z]*|neon|vnni|tensorrt"
# hwloc has parts that load vendors' libraries into the process; topology keeps them out, by the names hwloc gives them.
exceptions='^core/topology/topology\.[ch]:.*(static const char \*const parts|hwloc loads its own|OpenCL and GL)'
refuse "the core knows no vendor, no vendor's interface and no instruction set" "$begin($vendors)$end" core
exit $failed
