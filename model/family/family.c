/* SPDX-License-Identifier: Apache-2.0 */
#include "model/family/family.h"

#include <stdio.h>
#include <string.h>

int32_t model_family_find(const char *path, const char *architecture, const struct model_family **out_family,
                          struct accel_error *error)
{
    char names[256] = "";
    size_t used = 0;

    *out_family = NULL;
    for (uint32_t i = 0; i < llama_family_count; i++) {
        int count;

        if (strcmp(llama_families[i].architecture, architecture) == 0) {
            *out_family = &llama_families[i];
            return ACCEL_OK;
        }
        count =
            snprintf(names + used, sizeof(names) - used, "%s%s", used == 0 ? "" : ", ", llama_families[i].architecture);
        used += count > 0 && (size_t)count < sizeof(names) - used ? (size_t)count : 0;
    }
    accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: architecture \"%s\" has no implementation here", path,
                    architecture);
    accel_error_remedy(error, "supported architectures: %s", names);
    return accel_error_origin(error, ACCEL_FROM_MODEL, ACCEL_E_UNSUPPORTED);
}

void step_graph_free(struct step_graph *step)
{
    accel_builder_free(step->builder);
    memset(step, 0, sizeof(*step));
}
