#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks the includes between folders, and words that a folder must not contain.
set -u
cd "$ACCEL_TEST_SRCDIR" || exit 99
failed=0

# sources FOLDER...: the C files below
sources()
{
    find "$@" -name '*.[ch]' | sort
}

# refuse WHY EXPRESSION FOLDER...: no source line of the folders matches the expression, but those of $exceptions
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

# may_include FOLDER OTHER...: of the folders below core, files of core/FOLDER include only FOLDER and OTHERs
may_include()
{
    folder=$1
    allowed=$(echo "$@" | tr ' ' '|')
    bad=$(grep -HnE '^ *# *include *"core/' $(sources "core/$folder") /dev/null | grep -vE "\"core/($allowed)/")
    if [ -n "$bad" ]; then
        echo "$bad"
        echo "FAIL: core/$folder includes a folder above it"
        failed=1
    fi
}

may_include base
may_include thread base topology
may_include topology base
may_include plugin base
may_include profile base
may_include snapshot base profile topology
may_include boundary base plugin
may_include registry base topology plugin profile snapshot boundary
may_include runtime base topology thread plugin profile graph snapshot boundary registry
may_include graph base
may_include plan base topology thread plugin profile boundary registry runtime graph

private='^ *# *include *[<"](\.\./)*'
refuse "the core includes nothing outside of itself but public headers" "$private(plugins|tools|tests|sdk|model|convert)/" core
refuse "drivers include nothing of the core, of tools or of the model library" "$private(core|tools|tests|model|convert|sdk/conform)/" plugins
refuse "a driver knows no model" '<accel/(model/|accel\.h|context\.h|plan\.h|run\.h)' plugins
refuse "the SDK includes nothing of the core, of plugins or of tools" "$private(core|plugins|tools|tests|model|convert)/" sdk
refuse "the model library includes nothing of the core, of plugins or of tools" "$private(core|plugins|tools|tests|sdk)/" model convert
refuse "block formats and the drivers' library know no models" "$private(model/|convert/|accel/model/)" quant sdk/driver
# Internal headers that the command and its external commands may include, each with what for: the list to shorten.
#   core/base/file.h    accel-scores reads its table
#   model/file/fault.h  accel-scores quotes names of columns in errors
#   core/profile/keys.h tools/accelctl/words.c takes the edit distance by which settings are suggested
#   of tools/doctor, which has the core in it and reports what no public header has:
#   core/base/          files, texts, checks
#   core/plugin/plugin.h, core/topology/topology.h, core/registry/{context,machine}.h, core/profile/profile.h    limits of
#                       the machine, faults of profiles, hwloc's description, names of hardware
#   core/profile/{members,yaml}.h   doctor.yaml
#   core/snapshot/      the fields of a snapshot, which it writes and replay reads
#   core/thread/pool.h  threads of the measurement
#   of tools/tables, which reads compat.yaml, claims.yaml and advice.yaml:
#   core/base/{arena,file,strbuf}.h, core/profile/{condition,keys,members,profile,yaml}.h   YAML, settings, conditions
#   of tools/history, which writes what core/plan/history.h reads:
#   core/base/{file,strbuf}.h, core/plan/history.h
#   of tools/profiles, which lists and checks files that the core reads:
#   core/base/{arena,file,strbuf,text}.h, core/profile/{environment,folder,language,members,site}.h   files and their language
# tools/accel-probe is the other end of the pipe of core/plugin and core/runtime, and includes what it needs of the core.
exceptions='^tools/accel-scores/[a-z]*\.c:.*"(core/base/(file|text)|model/file/fault)\.h"'
exceptions="$exceptions|^tools/accelctl/words\.c:.*\"core/profile/keys\.h\""
exceptions="$exceptions|^tools/accelctl/commands/info\.c:.*\"model/family/families\.def\""
exceptions="$exceptions|^tools/doctor/[a-z_]*\.[ch]:.*\"core/(base/[a-z0-9]*|plugin/plugin|topology/topology|registry/(context|machine)|profile/(members|profile|yaml)"
exceptions="$exceptions|snapshot/[a-z]*|thread/pool)\.h\""
exceptions="$exceptions|^tools/tables/[a-z]*\.[ch]:.*\"core/(base/(arena|file|strbuf)|profile/(condition|keys|members|profile|yaml))\.h\""
exceptions="$exceptions|^tools/history/history\.[ch]:.*\"core/(base/(file|strbuf)|plan/history)\.h\""
exceptions="$exceptions|^tools/profiles/[a-z]*\.[ch]:.*\"core/(base/(arena|file|strbuf|text)|profile/(environment|folder|language|members|site))\.h\""
refuse "the command uses public headers, and those listed here" "$private(core|plugins|model|convert|quant|sdk)/" \
    tools/accelctl tools/accel-scores tools/doctor tools/history tools/profiles tools/tables
exceptions='^$'

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
