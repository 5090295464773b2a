/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums and maxima over a workgroup: GROUP is a power of two. Every item gets the result.
 *
 * With SUBGROUP (its size, or 1 if only the device knows it) values are reduced in subgroups, whose results are
 * combined in a local array of GROUP floats; a workgroup of one subgroup needs no barrier. Without subgroups all values
 * go through the array: small groups (software devices, where barriers are slow) read all parts after one barrier,
 * others halve. After either, all earlier writes to local memory are visible. The array may be reused after the next
 * GROUP_BARRIER.
 */
#ifdef HAS_SUBGROUP
#define GROUP_BARRIER                                                                                                  \
    if (SUBGROUP > 0u && IS_ONE_SUBGROUP)                                                                              \
        SUBGROUP_BARRIER;                                                                                              \
    else                                                                                                               \
        BARRIER;

#define OF_SUBGROUPS(value, parts, of_subgroup, of_two, none)                                                          \
    (value) = of_subgroup(value);                                                                                      \
    if (!(IS_ONE_SUBGROUP)) {                                                                                          \
        if (SUBGROUP_ITEM == 0u)                                                                                       \
            parts[SUBGROUP_NUMBER] = (value);                                                                          \
        BARRIER;                                                                                                       \
        (value) = (none);                                                                                              \
        for (uint other = 0u; other < SUBGROUPS; other++)                                                              \
            (value) = of_two(value, parts[other]);                                                                     \
    } else {                                                                                                           \
        SUBGROUP_BARRIER;                                                                                              \
    }
#else
#define GROUP_BARRIER BARRIER;
#endif

#define OF_ITEMS(value, parts, of_two, none)                                                                           \
    parts[ITEM] = (value);                                                                                             \
    BARRIER;                                                                                                           \
    if (GROUP > 32u) {                                                                                                 \
        for (uint step = GROUP / 2u; step > 0u; step >>= 1u) {                                                         \
            if (ITEM < step)                                                                                           \
                parts[ITEM] = of_two(parts[ITEM], parts[ITEM + step]);                                                 \
            BARRIER;                                                                                                   \
        }                                                                                                              \
        (value) = parts[0];                                                                                            \
    } else {                                                                                                           \
        (value) = (none);                                                                                              \
        for (uint other = 0u; other < GROUP; other++)                                                                  \
            (value) = of_two(value, parts[other]);                                                                     \
    }

#define SUM_OF_TWO(a, b) ((a) + (b))

#ifdef HAS_SUBGROUP
#define SUM_OF_GROUP(value, parts)                                                                                     \
    if (SUBGROUP > 0u) {                                                                                               \
        OF_SUBGROUPS(value, parts, SUBGROUP_SUM, SUM_OF_TWO, 0.0f)                                                     \
    } else {                                                                                                           \
        OF_ITEMS(value, parts, SUM_OF_TWO, 0.0f)                                                                       \
    }
#define MAX_OF_GROUP(value, parts)                                                                                     \
    if (SUBGROUP > 0u) {                                                                                               \
        OF_SUBGROUPS(value, parts, SUBGROUP_MAX, fmax, MOST_NEGATIVE)                                                  \
    } else {                                                                                                           \
        OF_ITEMS(value, parts, fmax, MOST_NEGATIVE)                                                                    \
    }
#else
#define SUM_OF_GROUP(value, parts) OF_ITEMS(value, parts, SUM_OF_TWO, 0.0f)
#define MAX_OF_GROUP(value, parts) OF_ITEMS(value, parts, fmax, MOST_NEGATIVE)
#endif
