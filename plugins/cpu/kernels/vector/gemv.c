/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatches GEMV to the family of a type. */
#include "gemv.h"

int CPU_NAME(gemv8)(uint32_t type, const struct cpu_matmul *call, size_t begin, size_t end)
{
    if (call->m > GEMV_ROWS || call->m == 0 || call->m * call->k > GEMV_VALUES || begin >= end)
        return 0;
#if !defined(CPU_BUILD_AVX512) && !defined(CPU_BUILD_NEON)
    if (CPU_NAME(gemv8_fields)(type, call, begin, end))
        return 1;
#endif
    return CPU_NAME(gemv8_k)(type, call, begin, end) || CPU_NAME(gemv8_planar)(type, call, begin, end) ||
           CPU_NAME(gemv8_blocks)(type, call, begin, end);
}
