#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every open struct of the public headers is one that tests/unit/device_tails.c gives to the library with a tail that is
# not zero, or stands here with the reason why nobody can.
set -u
top=$ACCEL_TEST_SRCDIR
# What the library writes, and programs read: a later minor appends what an earlier program does not look at.
out='fact plugin_info device_info verdict plan_setting plan_part plan_weight plan_layer plan_note
    plan_cores plan_speed plan_past plan_memory plan_fit plan_node plan_unhonored setting_row fact_row model_fact
    recording'
# What the library gives to drivers: accel-conform sets tails there (layout/tails), or they hold functions.
to_drivers='hardware device_sink claim_sink estimate_sink report_sink blob_writer weight set_description driver_step host team'
# Tables of functions: a slot that is not known is not called.
tables='instance_table device_table weights_table module_table buffer_table state_table set_table queue_table task'
# Of drivers: device_minors has facts, the others are read as far as they are known.
of_drivers='facts driver option'
# Refused where the graph is verified, by the name of the attributes (graph_verify, graph_shapes); and what only a plan takes.
elsewhere='matmul norm rotary attention activation scale clamp axis slice permute pad reduce group_norm conv pool resize top_k
    cast expert_matmul dense_attention plan_work sketch'
failures=0
for tag in $(cat "$top"/include/accel/*.h | awk '
    tag == "" && /\/\*/ { comment = "" }
    tag == "" { comment = comment " " $0 }
    /^struct [a-z_0-9]+ \{/ { tag = $2; if (comment ~ /(^|[^a-zA-Z])Open\./) print tag }
    /^};/ { tag = ""; comment = "" }'); do
    grep -q "{\"$tag\"," "$top/tests/unit/device_tails.c" && continue
    for known in $out $to_drivers $tables $of_drivers $elsewhere; do
        [ "accel_$known" = "$tag" ] && continue 2
    done
    echo "struct $tag: nothing says what becomes of a member that a later minor appends"
    failures=1
done
exit $failures
