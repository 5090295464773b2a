#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures mixtures that are twice as large as the memory of their control group, with experts read as tokens are routed
# to them (memory.budget) and with the whole file mapped:
#   experts.sh FOLDER
# FOLDER  takes two models of 1 GiB each, and stays; one router chooses experts by Zipf's law, one equally often
# Variables: ACCELCTL (the command), MAKE_MODEL (tests/bench/make_model), BYTES of the group (545259520), TOKENS (32),
# ZIPF, the exponent (1.5).
# Needs root and the memory controller of control groups, version 1 or 2. The group is removed at the end. The
# hierarchy is hidden from the command: it would find the limit, and refuse to map what does not fit.
set -eu
[ $# = 1 ] || { sed -n '3,11s/^# //p' "$0" >&2; exit 2; }
folder=$1 accelctl=${ACCELCTL:-accelctl} make_model=${MAKE_MODEL:-tests/bench/make_model}
bytes=${BYTES:-545259520} tokens=${TOKENS:-32} zipf=${ZIPF:-1.5}
if [ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ]; then
    root=/sys/fs/cgroup/memory limit=memory.limit_in_bytes most=memory.max_usage_in_bytes
else
    root=/sys/fs/cgroup limit=memory.max most=memory.peak
fi
group=$root/accel-experts-$$
trap 'rmdir "$group" 2>/dev/null || :' EXIT
mkdir -p "$folder"
[ -e "$folder/zipf.gguf" ] || "$make_model" "$folder/zipf.gguf" q4_0 24 1024 3072 16 4 2000 8 2 "$zipf"
[ -e "$folder/equal.gguf" ] || "$make_model" "$folder/equal.gguf" q4_0 24 1024 3072 16 4 2000 8 2 0

# Runs in the group, with an empty page cache of the model: run MODEL SETTING...
run()
{
    model=$1
    shift
    sync "$model"
    dd if="$model" iflag=nocache count=0 status=none
    mkdir "$group"
    echo "$bytes" >"$group/$limit"
    (
        echo "$(exec sh -c 'echo $PPID')" >"$group/cgroup.procs"
        exec unshare -m sh -c 'umount "$1"; shift; exec "$@"' sh "$root" "$accelctl" run "$model" --json --no-cache \
            --temperature 1 --seed 7 -c 256 -p ab -n "$tokens" "$@"
    ) >"$folder/run.json"
    peak=$(cat "$group/$most")
    while ! rmdir "$group" 2>/dev/null; do sleep 0.1; done
}

number()
{
    sed 's/[{,]/\n/g' "$folder/run.json" | sed -n "s/^ *\"$1\": *\\([0-9.]*\\).*/\\1/p" | head -1
}

echo "| router | experts | tokens/s | read for each token, MiB | planned, bytes | held, bytes | peak of the group, bytes |"
echo "|---|---|---|---|---|---|---|"
for router in zipf equal; do
    for way in limited mapped; do
        case $way in
        limited) run "$folder/$router.gguf" --set memory.budget="${bytes}B" ;;
        mapped) run "$folder/$router.gguf" --set cpu.layout=rows --set weights.load=map ;;
        esac
        awk -v router=$router -v way=$way -v speed="$(number tokens_per_second)" -v read="$(number read_bytes_per_step)" \
            -v planned="$(number planned)" -v held="$(number allocated)" -v peak="$peak" \
            'BEGIN { printf "| %s | %s | %.2f | %.1f | %s | %s | %s |\n", router, way, speed, read / 1048576, planned, held, peak }'
    done
done
rm -f "$folder/run.json"
