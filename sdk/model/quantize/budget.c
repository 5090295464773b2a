/* SPDX-License-Identifier: Apache-2.0 */
#include "sdk/model/quantize/budget.h"

#include <stdlib.h>

void quantize_menus_free(struct quantize_menu *menus, uint64_t count)
{
    for (uint64_t i = 0; menus != NULL && i < count; i++)
        free(menus[i].candidates);
    free(menus);
}

const struct accel_quantize_candidate *accel_quantize_candidate_get(const struct accel_quantize_job *job,
                                                                    uint64_t tensor, uint32_t index) ACCEL_NOEXCEPT
{
    if (tensor >= accel_quantize_count(job) || job->menus == NULL || index >= job->menus[tensor].count)
        return NULL;
    return &job->menus[tensor].candidates[index];
}
