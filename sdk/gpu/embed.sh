#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Embeds the kernel texts in C: embed.sh opencl|spirv SOURCES.def OUT.c
# Each line of SOURCES.def is one source (struct gpu_source of sdk/gpu/api.h), in columns:
#   name       name of the source in rows
#   file       beside SOURCES.def; lines '#include "x"' include files beside it, each once
#   constants  names with commas between, GROUP first
#   variants   for SPIR-V: sets of features with commas between, best first; a set joins names with '+', '-' is
#              the set of none. Each is compiled with -DHAS_NAME=1. OpenCL compiles the text on the device, where
#              the macros say what the device has; a name without '-' is of devices that have the last set. 'opencl': no SPIR-V is made of this source.
#   defines    -DNAME=value with commas between, or '-'; 'spirv' among them: OpenCL has no source of this name
# Texts see ACCEL_OPENCL or ACCEL_GLSL. For GLSL constants are macros C_NAME with their ids. Lines that begin with '# '
# are comments. Environment: GLSLC; COOPMAT, "no" where that compiler knows no cooperative
# matrices: variants that need them are left out. The optimizer refuses code that is not valid: see HAS_OFFSET of weights.h.
set -eu
mode=$1 def=$2 out=$3
folder=$(dirname "$def")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

flatten() {
  awk -v folder="$folder" -v name="$1" '
    function expand(name,    line, path) {
      if (name in seen) return
      seen[name] = 1
      path = folder "/" name
      while ((got = (getline line < path)) > 0) {
        if (match(line, /^#include "[^"]*"/)) { split(line, part, "\""); expand(part[2]) }
        else print line
      }
      if (got < 0) { print path ": cannot be read" > "/dev/stderr"; exit 1 }
      close(path)
    }
    BEGIN { expand(name) }'
}

# Numbers for a C array of bytes, with a zero behind.
bytes_of() { od -An -v -tu1 "$1" | sed 's/  */,/g; s/^,//; s/$/,/'; echo 0; }

feature_bits() {
  [ "$1" = - ] && { echo 0; return; }
  echo "$1" | tr 'a-z+' 'A-Z\n' | sed 's/^/GPU_FEATURE_/' | paste -s -d'|' -
}

spaced() { [ "$1" = - ] || echo "$1" | tr ',' ' '; }

{
  echo '/* SPDX-License-Identifier: Apache-2.0 */'
  echo '/* Made by sdk/gpu/embed.sh. */'
  echo '#include "sdk/gpu/api.h"'
  echo
} >"$work/head"
: >"$work/rows"
: >"$work/units"

sed -e '/^# /d' -e '/^#$/d' -e '/^$/d' "$def" >"$work/def"
while read -r name file constants variants defines; do
  symbol=$(echo "$file" | tr -c 'a-zA-Z0-9\n' '_')
  if [ "$mode" = opencl ]; then
    case ,$defines, in *,spirv,*) continue ;; esac
    case ,$variants, in *,-,* | *,opencl,*) needs=0 ;; *) needs=$(feature_bits "${variants##*,}") ;; esac
    if [ ! -e "$work/$symbol.done" ]; then
      flatten "$file" >"$work/text"
      { echo "static const unsigned char text_$symbol[] = {"; bytes_of "$work/text"; echo '};'; } >>"$work/head"
      : >"$work/$symbol.done"
    fi
    echo "{\"$name\", \"$(spaced "$constants")\", \"$(spaced "$defines")\", text_$symbol, sizeof text_$symbol - 1, $needs, 0}," \
      >>"$work/rows"
    continue
  fi
  [ "$variants" != opencl ] || continue
  defines=$(echo "$defines" | sed 's/,spirv$//; s/^spirv$/-/')
  {
    echo "ACCEL_GLSL 1"
    spaced "$constants" | tr ' ' '\n' | awk '{ print "C_" $1, NR - 1 }'
    spaced "$defines" | tr ' ' '\n' | sed 's/^-D//; s/=/ /'
  } | sed 's/^/#define /' >"$work/macros"
  flatten "$file" >"$work/text"
  for variant in $(spaced "$variants" || true) $([ "$variants" = - ] && echo -); do
    # Cooperative matrices need a newer compiler and the Vulkan memory model.
    environment=vulkan1.1
    case +$variant+ in
    *+coopmat+*)
      [ "${COOPMAT-yes}" = yes ] || continue
      environment=vulkan1.2
      ;;
    esac
    unit=${name}_$(echo "$variant" | tr '+-' '__')
    mkdir -p "$work/$environment"
    {
      echo '#version 450'
      cat "$work/macros"
      [ "$variant" = - ] || echo "$variant" | tr 'a-z+' 'A-Z\n' | sed 's/.*/#define HAS_& 1/'
      cat "$work/text"
    } >"$work/$environment/$unit.comp"
    echo "$environment/$unit" >>"$work/units"
    echo "{\"$name\", \"$(spaced "$constants")\", \"\", spirv_$unit, sizeof spirv_$unit, $(feature_bits "$variant"), 0}," \
      >>"$work/rows"
  done
done <"$work/def"

# The compiler starts once for all sources of an environment: most of its time goes into its table of built-in functions.
for environment in "$work"/vulkan*; do
  [ -d "$environment" ] || continue
  (cd "$environment" && "${GLSLC:-glslc}" -fshader-stage=compute "--target-env=${environment##*/}" -O -mfmt=num -c ./*.comp) ||
    { echo "embed.sh: sources of $def do not compile, see above" >&2; exit 1; }
done
while read -r unit; do
  echo "static const uint32_t spirv_${unit##*/}[] = {"
  cat "$work/$unit.comp.spv"
  echo '};'
done <"$work/units" >>"$work/head"

{
  cat "$work/head"
  echo
  echo "extern const struct gpu_source gpu_${mode}_sources[];"
  echo "extern const uint32_t gpu_${mode}_source_count;"
  echo "const struct gpu_source gpu_${mode}_sources[] = {"
  cat "$work/rows"
  echo '};'
  echo "const uint32_t gpu_${mode}_source_count = sizeof gpu_${mode}_sources / sizeof *gpu_${mode}_sources;"
} >"$out.new"
mv "$out.new" "$out"
