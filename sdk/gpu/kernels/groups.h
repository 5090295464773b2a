/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums and maxima over a workgroup through a local array of GROUP floats: GROUP is a power of two. Every item gets the
 * result. Small groups (software devices, which pay for every barrier) read all parts after one barrier, others halve.
 * The array may be used again after the next barrier.
 */
#define SUM_OF_GROUP(value, parts)                                                                                     \
    parts[ITEM] = (value);                                                                                             \
    BARRIER;                                                                                                           \
    if (GROUP > 32u) {                                                                                                 \
        for (uint step = GROUP / 2u; step > 0u; step >>= 1u) {                                                         \
            if (ITEM < step)                                                                                           \
                parts[ITEM] += parts[ITEM + step];                                                                     \
            BARRIER;                                                                                                   \
        }                                                                                                              \
        (value) = parts[0];                                                                                            \
    } else {                                                                                                           \
        (value) = 0.0f;                                                                                                \
        for (uint other = 0u; other < GROUP; other++)                                                                  \
            (value) += parts[other];                                                                                   \
    }

#define MAX_OF_GROUP(value, parts)                                                                                     \
    parts[ITEM] = (value);                                                                                             \
    BARRIER;                                                                                                           \
    if (GROUP > 32u) {                                                                                                 \
        for (uint step = GROUP / 2u; step > 0u; step >>= 1u) {                                                         \
            if (ITEM < step)                                                                                           \
                parts[ITEM] = fmax(parts[ITEM], parts[ITEM + step]);                                                   \
            BARRIER;                                                                                                   \
        }                                                                                                              \
        (value) = parts[0];                                                                                            \
    } else {                                                                                                           \
        for (uint other = 0u; other < GROUP; other++)                                                                  \
            (value) = fmax((value), parts[other]);                                                                     \
    }
