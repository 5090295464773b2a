/* SPDX-License-Identifier: Apache-2.0 */
/* Truncated open structs, each in front of a guard page: the driver refuses them by name, or reads them up to
 * their size. */
#include "config.h"

#include "sdk/conform/abi.h"
#include "sdk/conform/list.h"

/* Tests every length of one struct of the compile inputs. */
static void compiled(struct conform *conform)
{
    struct direct direct;
    struct altered altered;

    if (!abi_open(&direct, conform))
        return;
    for (uint32_t place = 0; place < ALTERED_END; place++)
        for (uint32_t cut = 0;; cut += 8) {
            int32_t code;

            if (!altered_make(&altered, &direct, place, ALTERED_CUT, cut))
                break;
            conform_case(conform, "%s without its last %u bytes", altered_name(place), cut);
            code = abi_compile(&direct, altered.changed_graph, altered.changed_options);
            if (cut == 0)
                conform_ok(conform, code, "claim and compile");
            else if (code != ACCEL_OK)
                abi_refused(conform, code, ACCEL_OK, direct.module);
            accel_error_clear(&conform->error);
            direct_undo(&direct, DIRECT_COMPILE);
        }
    direct_end(&direct);
}

/* Tests every length of the struct that a stage is called with. */
static void given(struct conform *conform)
{
    static const struct {
        enum direct_stage stage;
        const char *name;
        uint32_t bytes;
    } rows[] = {{DIRECT_WEIGHTS, "accel_weight", sizeof(struct accel_weight)},
                {DIRECT_SET, "accel_set_description", sizeof(struct accel_set_description)},
                {DIRECT_RUN, "accel_step", sizeof(struct accel_driver_step)}};
    struct direct direct;

    if (!direct_begin(&direct, conform))
        return;
    for (uint32_t stage = 0, row = 0; stage < DIRECT_END; stage++) {
        int32_t code;

        for (uint32_t cut = 8; row < 3 && rows[row].stage == stage && cut <= rows[row].bytes - 8; cut += 8) {
            conform_case(conform, "%s without its last %u bytes", rows[row].name, cut);
            direct.cut = cut;
            code = direct_do(&direct, stage);
            direct.cut = 0;
            conform->error = direct.error;
            if (code != ACCEL_OK)
                abi_refused(conform, code, ACCEL_OK, stage == DIRECT_SET ? (const void *)direct.set : NULL);
            direct_undo(&direct, stage);
        }
        row += row < 3 && rows[row].stage == stage;
        conform_case(conform, "%s", direct_stage_name(stage));
        if (!direct_do_stages(&direct, stage, stage + 1))
            break;
    }
    direct_end(&direct);
}

void conform_add_short(struct conform_list *list)
{
    conform_add(list, CONFORM_DRIVER, 0, compiled, "layout/short");
    conform_add(list, CONFORM_DRIVER, 0, given, "layout/short-steps");
}
