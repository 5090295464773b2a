/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The arithmetic of ACCEL_OP_SAMPLE, which hosts and devices share: integers alone, so that every machine draws the
 * same token from the same logits, in whatever order it adds.
 *
 * An F32 is its 32 bits here. Products, differences and reciprocals are rounded to nearest even; what is below 2^-126
 * is 0, and what is above the largest F32 is the largest F32. The first part compiles as C, C++, OpenCL C and GLSL: a
 * kernel defines ACCEL_SAMPLE_FN and ACCEL_SAMPLE_HIGH before it includes the file. The second part, a whole row, is C.
 */
#ifndef ACCEL_DRIVER_SAMPLE_H
#define ACCEL_DRIVER_SAMPLE_H

#ifndef ACCEL_SAMPLE_FN
#define ACCEL_SAMPLE_HOST
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
/** A word, which OpenCL C and GLSL call so. */
#define uint uint32_t
/** Prefix of every function of the first part. */
#define ACCEL_SAMPLE_FN static inline
/** The high word of a product of two words. */
#define ACCEL_SAMPLE_HIGH(a, b) ((uint32_t)((uint64_t)(a) * (b) >> 32))
#endif

/** The weight of the likeliest token. */
#define ACCEL_SAMPLE_ONE 0x80000000u
#define ACCEL_SAMPLE_LARGEST 0x7f7fffffu /**< the largest F32 */
#define ACCEL_SAMPLE_LOG2_E 0x3fb8aa3bu  /**< log2 e as F32 */

/** Returns a word with the order of an F32: zeros of both signs are equal, and 0 is of NaNs alone. */
ACCEL_SAMPLE_FN uint accel_sample_key(uint bits)
{
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return 0u;
    if ((bits & 0x7fffffffu) == 0u)
        return 0x80000000u;
    return (bits & 0x80000000u) == 0u ? bits | 0x80000000u : ~bits;
}

/** Returns the F32 of a key that is not 0. */
ACCEL_SAMPLE_FN uint accel_sample_value(uint key)
{
    return (key & 0x80000000u) != 0u ? key & 0x7fffffffu : ~key;
}

/** Keys of what no logit may be, plus infinity and what is above, and of minus infinity, which bars a token. */
#define ACCEL_SAMPLE_KEY_INFINITE 0xff800000u
#define ACCEL_SAMPLE_KEY_BARRED 0x007fffffu

/** Returns an F32 of a mantissa of 24 bits, or 2^24, and an exponent that is 127 too high. */
ACCEL_SAMPLE_FN uint accel_sample_pack(uint sign, uint exponent, uint mantissa)
{
    const uint carry = mantissa >> 24;
    if (exponent + carry < 128u)
        return sign;
    if (exponent + carry > 381u)
        return sign | ACCEL_SAMPLE_LARGEST;
    return sign | (exponent + carry - 127u) << 23 | ((mantissa >> carry) & 0x7fffffu);
}

/** Returns a * b of finite F32. */
ACCEL_SAMPLE_FN uint accel_sample_product(uint a, uint b)
{
    const uint sign = (a ^ b) & 0x80000000u, ea = a >> 23 & 255u, eb = b >> 23 & 255u;
    const uint ma = ((a & 0x7fffffu) | 0x800000u) << 8, mb = (b & 0x7fffffu) | 0x800000u;
    const uint high = ACCEL_SAMPLE_HIGH(ma, mb), low = ma * mb;
    /* The product has 47 or 48 bits, of which `high` has the first 23 or 24. */
    const uint wide = high >> 23, mantissa = wide != 0u ? high : high << 1 | low >> 31;
    const uint rest = wide != 0u ? low : low << 1;
    const uint up = rest > 0x80000000u || (rest == 0x80000000u && (mantissa & 1u) != 0u) ? 1u : 0u;
    if (ea == 0u || eb == 0u)
        return sign;
    return accel_sample_pack(sign, ea + eb + wide, mantissa + up);
}

/** Returns 1 / b of a positive finite F32 of at least 2^-126. */
ACCEL_SAMPLE_FN uint accel_sample_reciprocal(uint b)
{
    const uint divisor = (b & 0x7fffffu) | 0x800000u, exponent = b >> 23;
    uint rest = 0x800000u, quotient = 0u;
    if (divisor == 0x800000u)
        return accel_sample_pack(0u, 381u - exponent, 0x800000u);
    /* 2^47 / divisor, bit by bit: between 2^23 and 2^24. */
    for (uint i = 0u; i < 24u; i++) {
        rest <<= 1;
        quotient <<= 1;
        if (rest >= divisor) {
            rest -= divisor;
            quotient |= 1u;
        }
    }
    return accel_sample_pack(0u, 380u - exponent, quotient + (2u * rest > divisor ? 1u : 0u));
}

/** Shifts a mantissa whose first bit belongs at bit 29 if it stays within that. */
#define ACCEL_SAMPLE_RAISE(mantissa, exponent, step)                                                                   \
    if (mantissa < 1u << (30u - (step))) {                                                                             \
        mantissa <<= (step);                                                                                           \
        exponent -= (step);                                                                                            \
    }

/** Returns a - b of finite F32, a >= b. */
ACCEL_SAMPLE_FN uint accel_sample_difference(uint a, uint b)
{
    const uint size_a = a & 0x7fffffffu, size_b = b & 0x7fffffffu;
    const uint more = size_a > size_b ? size_a : size_b, less = size_a > size_b ? size_b : size_a;
    const uint distance = (more >> 23) - (less >> 23);
    const uint large = more < 0x800000u ? 0u : ((more & 0x7fffffu) | 0x800000u) << 6;
    const uint whole = less < 0x800000u ? 0u : ((less & 0x7fffffu) | 0x800000u) << 6;
    /* Six bits behind the mantissa; the last one also stands for all that are shifted out. */
    const uint shifted = distance > 30u ? 0u : whole >> distance;
    const uint sticky = distance > 30u ? (whole != 0u ? 1u : 0u) : (shifted << distance != whole ? 1u : 0u);
    const uint small = shifted | sticky;
    uint sum = ((a ^ b) & 0x80000000u) != 0u ? large + small : large - small, exponent = (more >> 23) + 127u;
    if (sum == 0u)
        return 0u;
    if (sum >= 0x40000000u) {
        sum = sum >> 1 | (sum & 1u);
        exponent++;
    }
    /* No loop: some drivers count the turns of a kernel. */
    ACCEL_SAMPLE_RAISE(sum, exponent, 16u)
    ACCEL_SAMPLE_RAISE(sum, exponent, 8u)
    ACCEL_SAMPLE_RAISE(sum, exponent, 4u)
    ACCEL_SAMPLE_RAISE(sum, exponent, 2u)
    ACCEL_SAMPLE_RAISE(sum, exponent, 1u)
    return accel_sample_pack(0u, exponent, (sum >> 6) + ((sum & 63u) > 32u || (sum & 127u) == 96u ? 1u : 0u));
}

/** Returns the logit of a recent token: a positive one times the reciprocal of the penalty, another times it. */
ACCEL_SAMPLE_FN uint accel_sample_penalize(uint key, uint penalty, uint reciprocal)
{
    if (key <= ACCEL_SAMPLE_KEY_BARRED || key >= ACCEL_SAMPLE_KEY_INFINITE)
        return key;
    return accel_sample_key(accel_sample_product(accel_sample_value(key), key > 0x80000000u ? reciprocal : penalty));
}

/** Returns 2^-x of a positive F32, in units of 2^-31 and rounded: ACCEL_SAMPLE_ONE for 0, and 0 from 32 on. The error
 * is below 12 units: the x that is taken is cut to 2^-27. */
ACCEL_SAMPLE_FN uint accel_sample_power(uint x)
{
    const uint exponent = x >> 23, mantissa = (x & 0x7fffffu) | 0x800000u;
    uint fixed_point, fraction, whole, power;
    if (exponent >= 132u)
        return 0u;
    /* In units of 2^-27, what is less left out. */
    fixed_point = exponent >= 123u ? mantissa << (exponent - 123u)
                  : exponent < 99u ? 0u
                                   : mantissa >> (123u - exponent);
    whole = fixed_point >> 27;
    fraction = fixed_point << 5;
    /* 1 - 2^-f = f (c1 - f (c2 - f (c3 ...))) with ck = (ln 2)^k / k!, in units of 2^-32. */
    power = 2u;
    power = 30u - ACCEL_SAMPLE_HIGH(fraction, power);
    power = 437u - ACCEL_SAMPLE_HIGH(fraction, power);
    power = 5676u - ACCEL_SAMPLE_HIGH(fraction, power);
    power = 65510u - ACCEL_SAMPLE_HIGH(fraction, power);
    power = 661577u - ACCEL_SAMPLE_HIGH(fraction, power);
    power = 5726720u - ACCEL_SAMPLE_HIGH(fraction, power);
    power = 41309550u - ACCEL_SAMPLE_HIGH(fraction, power);
    power = 238388332u - ACCEL_SAMPLE_HIGH(fraction, power);
    power = 1031764991u - ACCEL_SAMPLE_HIGH(fraction, power);
    power = 2977044472u - ACCEL_SAMPLE_HIGH(fraction, power);
    power = ACCEL_SAMPLE_ONE - ((ACCEL_SAMPLE_HIGH(fraction, power) + 1u) >> 1);
    return whole == 0u ? power : ((power >> (whole - 1u)) + 1u) >> 1;
}

/** Returns the weight of a token: 2^-(distance of its logit from the highest * scale). `scale` is log2 e / temperature;
 * a barred token has none. */
ACCEL_SAMPLE_FN uint accel_sample_weight(uint key, uint highest, uint scale)
{
    if (key <= ACCEL_SAMPLE_KEY_BARRED)
        return 0u;
    return accel_sample_power(
        accel_sample_product(accel_sample_difference(accel_sample_value(highest), accel_sample_value(key)), scale));
}

/** Returns an F32 of 0 up to 1, without 1, in units of 2^-32; what is less is left out. */
ACCEL_SAMPLE_FN uint accel_sample_fraction(uint bits)
{
    const uint exponent = bits >> 23 & 255u, mantissa = (bits & 0x7fffffu) | 0x800000u;
    if (exponent < 95u)
        return 0u;
    return exponent >= 118u ? mantissa << (exponent - 118u) : mantissa >> (118u - exponent);
}

/** Returns 1 if the settings of a row are in range. */
ACCEL_SAMPLE_FN uint accel_sample_is_valid(uint temperature, uint top_p, uint min_p, uint penalty)
{
    const uint minus_zero = 0x80000000u, one = 0x3f800000u;
    return (temperature <= ACCEL_SAMPLE_LARGEST || temperature == minus_zero) &&
                   (top_p <= one || top_p == minus_zero) && (min_p <= one || min_p == minus_zero) &&
                   penalty >= 0x800000u && penalty <= ACCEL_SAMPLE_LARGEST
               ? 1u
               : 0u;
}

/** Returns log2 e / temperature, or 0 where the temperature counts as 0. */
ACCEL_SAMPLE_FN uint accel_sample_scale(uint temperature)
{
    if ((temperature & 0x7fffffffu) < 0x800000u)
        return 0u;
    return accel_sample_product(accel_sample_reciprocal(temperature), ACCEL_SAMPLE_LOG2_E);
}

/* Recent tokens are looked up in a table of bits first, that of ids modulo its size. */
#define ACCEL_SAMPLE_MARKS 1024u /**< words of the table */

#ifdef ACCEL_SAMPLE_HOST
#undef uint

/* Elements of a row of `settings` and of `draw`. */
enum { ACCEL_SAMPLE_TEMPERATURE, ACCEL_SAMPLE_TOP_P, ACCEL_SAMPLE_MIN_P, ACCEL_SAMPLE_PENALTY, ACCEL_SAMPLE_SETTINGS };
enum { ACCEL_SAMPLE_SEED, ACCEL_SAMPLE_SEQUENCE = 2, ACCEL_SAMPLE_STEP = 4, ACCEL_SAMPLE_TOP_K = 6, ACCEL_SAMPLE_DRAW };

#define ACCEL_SAMPLE_LISTED 1024u /**< so many tokens that top-k leaves are listed, others found again */

/** One row. The caller sets the first members and zeroes the others; accel_sample_filter fills them. */
struct accel_sample {
    const float *logits; /**< [count] */
    const float *settings;
    const int32_t *draw;
    const int32_t *recent; /**< [recent_count], or NULL */
    uint32_t count;
    uint32_t recent_count;
    uint32_t scale;      /**< 0: greedy */
    uint32_t penalty;    /**< 0: nothing is penalized */
    uint32_t reciprocal; /**< of the penalty */
    uint32_t highest;    /**< key of the likeliest token */
    uint32_t best;       /**< its id */
    uint32_t bound;      /**< tokens with a greater key pass, and the first `ties` that have this one */
    uint32_t ties;
    uint32_t least; /**< least weight of what passes */
    uint32_t listed;
    uint32_t is_listed; /**< 1: `ids` and `keys` have all tokens that top-k left */
    uint32_t ids[ACCEL_SAMPLE_LISTED];
    uint32_t keys[ACCEL_SAMPLE_LISTED];
    uint32_t marks[ACCEL_SAMPLE_MARKS];
};

/** Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011): four words of a
 * counter and a key. */
static inline void accel_sample_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t k0 = key[0], k1 = key[1];

    memcpy(out, counter, 4 * sizeof(*out));
    for (int round = 0; round < 10; round++) {
        const uint64_t a = (uint64_t)0xd2511f53u * out[0], b = (uint64_t)0xcd9e8d57u * out[2];

        out[0] = (uint32_t)(b >> 32) ^ out[1] ^ k0;
        out[1] = (uint32_t)b;
        out[2] = (uint32_t)(a >> 32) ^ out[3] ^ k1;
        out[3] = (uint32_t)a;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
}

/** Returns the bits of an F32. */
static inline uint32_t accel_sample_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/** Returns whether a token is penalized. */
static inline bool accel_sample_is_recent(const struct accel_sample *row, uint32_t id)
{
    const uint32_t mark = id % (32 * ACCEL_SAMPLE_MARKS);

    if (row->penalty == 0 || (row->marks[mark / 32] >> mark % 32 & 1u) == 0)
        return false;
    for (uint32_t i = 0; i < row->recent_count; i++)
        if (row->recent[i] == (int32_t)id)
            return true;
    return false;
}

/** Returns the key of a token's logit after the penalty. */
static inline uint32_t accel_sample_key_of(const struct accel_sample *row, uint32_t id)
{
    const uint32_t key = accel_sample_key(accel_sample_bits(row->logits[id]));

    return accel_sample_is_recent(row, id) ? accel_sample_penalize(key, row->penalty, row->reciprocal) : key;
}

/** Returns token number `index` in order of id, of those that top-k left if these are listed; and its key. */
static inline uint32_t accel_sample_at(const struct accel_sample *row, uint32_t index, uint32_t *out_key)
{
    *out_key = row->is_listed ? row->keys[index] : accel_sample_key_of(row, index);
    return row->is_listed ? row->ids[index] : index;
}

/** Returns the number of indices of accel_sample_at. */
static inline uint32_t accel_sample_indices(const struct accel_sample *row)
{
    return row->is_listed ? row->listed : row->count;
}

/** Finds the smallest key and the fewest tokens that have it with which the tokens from the highest on amount to
 * `wanted`: tokens with the greater keys and `ties` of the key. A token amounts to 1, or to its weight; then `wanted`
 * is a fraction of the whole in units of 2^-32. Only tokens that pass so far count. */
static inline void accel_sample_select(struct accel_sample *row, bool by_weight, uint64_t wanted)
{
    const uint32_t bound = row->bound, ties = row->ties, count = accel_sample_indices(row);
    const uint64_t bound_weight = by_weight ? accel_sample_weight(bound, row->highest, row->scale) : 1;
    uint32_t prefix = 0;

    for (uint32_t shift = 32; shift > 0;) {
        uint64_t amounts[256] = {0}, above = 0;
        uint32_t bin = 256, key;

        shift -= 8;
        if (shift == 24 || (bound ^ prefix) >> (shift + 8) == 0)
            amounts[bound >> shift & 255u] += ties * bound_weight;
        for (uint32_t i = 0; i < count; i++) {
            accel_sample_at(row, i, &key);
            if (key > bound && (shift == 24 || (key ^ prefix) >> (shift + 8) == 0))
                amounts[key >> shift & 255u] += by_weight ? accel_sample_weight(key, row->highest, row->scale) : 1;
        }
        if (by_weight && shift == 24) {
            uint64_t total = 0, fraction = wanted;

            for (uint32_t i = 0; i < 256; i++)
                total += amounts[i];
            wanted = (total >> 32) * fraction + (((total & 0xffffffffu) * fraction + 0xffffffffu) >> 32);
            wanted = wanted == 0 ? 1 : wanted;
        }
        while (above < wanted && bin > 0)
            above += amounts[--bin];
        wanted -= above - amounts[bin];
        prefix |= bin << shift;
    }
    row->bound = prefix;
    if (by_weight) {
        const uint64_t weight = accel_sample_weight(prefix, row->highest, row->scale);

        wanted = (wanted + weight - 1) / weight;
    }
    row->ties = (uint32_t)wanted;
}

/** Lists the tokens that pass, if they are few. */
static inline void accel_sample_list(struct accel_sample *row)
{
    uint32_t ties = row->ties;

    for (uint32_t id = 0; id < row->count; id++) {
        const uint32_t key = accel_sample_key_of(row, id);

        if (key > row->bound || (key == row->bound && ties > 0)) {
            ties -= key == row->bound;
            row->ids[row->listed] = id;
            row->keys[row->listed++] = key;
        }
    }
    row->is_listed = 1;
}

/** Finds which tokens pass the filters. Returns false for a row that gives -1. */
static inline bool accel_sample_filter(struct accel_sample *row)
{
    const uint32_t temperature = accel_sample_bits(row->settings[ACCEL_SAMPLE_TEMPERATURE]);
    const uint32_t top_p = accel_sample_bits(row->settings[ACCEL_SAMPLE_TOP_P]);
    const uint32_t min_p = accel_sample_bits(row->settings[ACCEL_SAMPLE_MIN_P]);
    const uint32_t penalty = accel_sample_bits(row->settings[ACCEL_SAMPLE_PENALTY]), one = 0x3f800000u;
    const int32_t top_k = row->draw[ACCEL_SAMPLE_TOP_K];

    if (accel_sample_is_valid(temperature, top_p, min_p, penalty) == 0)
        return false;
    row->penalty = penalty == one || row->recent_count == 0 ? 0 : penalty;
    row->reciprocal = accel_sample_reciprocal(penalty);
    for (uint32_t i = 0; row->penalty != 0 && i < row->recent_count; i++) {
        const uint32_t mark = (uint32_t)row->recent[i] % (32 * ACCEL_SAMPLE_MARKS);

        row->marks[mark / 32] |= 1u << mark % 32;
    }
    row->scale = accel_sample_scale(temperature);
    for (uint32_t id = 0; id < row->count; id++) {
        const uint32_t key = accel_sample_key_of(row, id);

        if (key == 0 || key >= ACCEL_SAMPLE_KEY_INFINITE)
            return false;
        if (key > row->highest) {
            row->highest = key;
            row->best = id;
        }
    }
    if (row->highest <= ACCEL_SAMPLE_KEY_BARRED)
        return false;
    if (row->scale == 0)
        return true;
    row->least = min_p == one ? ACCEL_SAMPLE_ONE : accel_sample_fraction(min_p) >> 1;
    if (top_k > 0 && (uint32_t)top_k < row->count) {
        accel_sample_select(row, false, (uint32_t)top_k);
        if ((uint32_t)top_k <= ACCEL_SAMPLE_LISTED)
            accel_sample_list(row);
    }
    if (top_p != one)
        accel_sample_select(row, true, accel_sample_fraction(top_p));
    return true;
}

/** Returns the weight of a token if it passes the filters, or 0. `ties`: those that have passed at lower ids. */
static inline uint32_t accel_sample_passing(const struct accel_sample *row, uint32_t key, uint32_t *ties)
{
    uint32_t weight;

    if (key < row->bound || (key == row->bound && *ties == row->ties))
        return 0;
    *ties += key == row->bound;
    weight = accel_sample_weight(key, row->highest, row->scale);
    return weight < row->least ? 0 : weight;
}

/** Returns the token that the operator defines, or -1. */
static inline int32_t accel_sample_row(struct accel_sample *row)
{
    uint32_t counter[4], seed[2], words[4], ties = 0, key;
    uint64_t total = 0, random, low, middle, other, point;

    if (!accel_sample_filter(row))
        return -1;
    if (row->scale == 0)
        return (int32_t)row->best;
    for (uint32_t i = 0; i < accel_sample_indices(row); i++) {
        accel_sample_at(row, i, &key);
        total += accel_sample_passing(row, key, &ties);
    }
    counter[0] = (uint32_t)row->draw[ACCEL_SAMPLE_STEP];
    counter[1] = (uint32_t)row->draw[ACCEL_SAMPLE_STEP + 1];
    counter[2] = (uint32_t)row->draw[ACCEL_SAMPLE_SEQUENCE];
    counter[3] = (uint32_t)row->draw[ACCEL_SAMPLE_SEQUENCE + 1];
    seed[0] = (uint32_t)row->draw[ACCEL_SAMPLE_SEED];
    seed[1] = (uint32_t)row->draw[ACCEL_SAMPLE_SEED + 1];
    accel_sample_philox(counter, seed, words);
    /* The high half of random * total is below total. */
    random = (uint64_t)words[1] << 32 | words[0];
    low = (random & 0xffffffffu) * (total & 0xffffffffu);
    middle = (random >> 32) * (total & 0xffffffffu) + (low >> 32);
    other = (random & 0xffffffffu) * (total >> 32) + (middle & 0xffffffffu);
    point = (random >> 32) * (total >> 32) + (middle >> 32) + (other >> 32);
    ties = 0;
    for (uint32_t i = 0; i < accel_sample_indices(row); i++) {
        const uint32_t id = accel_sample_at(row, i, &key), weight = accel_sample_passing(row, key, &ties);

        if (point < weight)
            return (int32_t)id;
        point -= weight;
    }
    return -1;
}
#endif

#endif
