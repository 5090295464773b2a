/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The face of the CPU kernels: one table of functions per level of vector instructions.
 *
 * Shapes are outermost first and rows are contiguous where no stride is named; strides count elements, those of weights
 * bytes. Activations are F32. Every kernel gets a range [begin, end) of the work that it does, in units which its type
 * states: callers cut the range over threads as they like (cuts at multiples of CPU_MATMUL_ROWS keep matmul's tiles
 * whole). Results do not depend on the cut, except in the last bits of matmul where a cut splits a tile.
 *
 * No kernel allocates, starts a thread, keeps a pointer, fails, or checks its arguments: the driver has checked them
 * when it compiled the graph. Any alignment of the element type will do. Inputs and outputs do not overlap; an
 * element-wise kernel may write over its first input, rotary over its input, matmul over its residual.
 */
#ifndef CPU_KERNELS_H
#define CPU_KERNELS_H

#include <accel/ops.h>
#include <accel/types.h>

#define CPU_LEVEL_SCALAR 0u     /* plain C, sums in double: the twin that the others are tested against */
#define CPU_LEVEL_AVX2 1u       /* AVX2, FMA, F16C, BMI2 */
#define CPU_LEVEL_AVXVNNI 2u    /* dot products of bytes in 256 bits on top */
#define CPU_LEVEL_AVX512 3u     /* AVX2 and AVX-512 F, BW, VL, DQ, VNNI */
#define CPU_LEVEL_AVX512BF16 4u /* dot products of BF16 on top */
#define CPU_LEVEL_AMX 5u        /* products of tiles of bytes and of BF16 on top */
#define CPU_LEVEL_NEON 6u       /* aarch64 as every one is */
#define CPU_LEVEL_DOTPROD 7u    /* dot products of bytes on top */
#define CPU_LEVEL_I8MM 8u       /* products of matrices of bytes on top */
#define CPU_LEVELS 9u

/* Types of weights that matmul and embed know, in the order of the tables' elements. */
enum cpu_weight {
    CPU_F32,
    CPU_F16,
    CPU_BF16,
    CPU_Q8_0,
    CPU_Q4_0,
    CPU_Q4_1,
    CPU_Q8_G32,
    CPU_Q8_G128,
    CPU_Q4_G32,
    CPU_Q4_G128,
    CPU_Q5_0,
    CPU_Q5_1,
    CPU_Q2_K,
    CPU_Q3_K,
    CPU_Q4_K,
    CPU_Q5_K,
    CPU_Q6_K,
    CPU_IQ4_NL,
    CPU_IQ4_XS,
    CPU_MXFP4,
    CPU_PLANAR, /* every planar type that has no place of its own: the matrix says which */
    CPU_WEIGHTS
};

/* Type ids that kernels read: one for each place, and for CPU_PLANAR 60 less those with a place. */
#define CPU_TYPES (CPU_PLANAR + 56u)

/* Good units for cutting the rows of weights over threads: of matmul and matmul8, and of matmul16. */
#define CPU_MATMUL_ROWS 16u
#define CPU_MATMUL16_ROWS 32u

/* Values that share a scale when activations are rounded to 8 bits. */
#define CPU_BLOCK 32u

/* Weights [n, k] where they lie (a mapped file or a buffer): planes of accel/quant/format.h, bytes from row to row; or
 * in panels, as cpu_panels_make left them, and the planes say nothing. */
struct cpu_matrix {
    const void *plane[3];
    size_t stride[3];
    const void *panels; /* NULL: rows in planes */
    uint32_t type;      /* of CPU_PLANAR and of panels: the type id */
};

#define CPU_TILE_ROWS 4u
#define CPU_TILE_FROM 2u /* fewest rows of x of which tiles are made */

/* A block of CPU_TILE_ROWS rounded rows, as the matmuls of many rows read it: in one stream, four digits at a time. */
struct cpu_tile {
    int8_t q[8][CPU_TILE_ROWS][4];      /* q[c][r]: digits 4c .. 4c + 3 of row r */
    int16_t minus[3][CPU_TILE_ROWS][2]; /* minus the sums of digits 4c and 4c + 1, and of 4c + 2 and 4c + 3: of the
                                           whole block, of its first 16, of its last 16 */
    float scale[CPU_TILE_ROWS];
    float sum[3][CPU_TILE_ROWS]; /* scale times the sum of the digits: whole, first 16, last 16 */
};

/* Activations [m, k] rounded to 8 bits, k a multiple of CPU_BLOCK; q [m, k], scale and sum [m, k / CPU_BLOCK].
 * A block stands for scale * q[i]; sum is scale times the sum of its q, which formats with an offset need.
 * tiles say the same once more, where cpu_tile_of has them; NULL: not made. */
struct cpu_rows8 {
    int8_t *q;
    float *scale;
    float *sum;
    struct cpu_tile *tiles;
    size_t rows; /* m; matters where there are tiles: the last of them is filled up with zeros */
};

#define CPU_TILE_BLOCKS 16u /* of each row of tiles that lie together */

/* Tiles of a row of tiles that follow the one of block b, it included, without another's between. */
static inline size_t cpu_tiles_together(size_t blocks, size_t b)
{
    const size_t first = b / CPU_TILE_BLOCKS * CPU_TILE_BLOCKS;
    return (blocks - first < CPU_TILE_BLOCKS ? blocks : first + CPU_TILE_BLOCKS) - b;
}

/*
 * The tile of block b, of `blocks` in a row, of rows CPU_TILE_ROWS t and on: [runs of CPU_TILE_BLOCKS blocks, m /
 * CPU_TILE_ROWS rounded up, blocks of the run]. A panel of weights that is as many blocks long meets all rows of x in
 * the order in which they lie, which the processor's own prefetch follows (over rows that lie apart: a tenth slower).
 */
static inline struct cpu_tile *cpu_tile_of(const struct cpu_rows8 *rows, size_t blocks, size_t t, size_t b)
{
    const size_t first = b / CPU_TILE_BLOCKS * CPU_TILE_BLOCKS, count = b - first + cpu_tiles_together(blocks, b);
    return rows->tiles + first * ((rows->rows + CPU_TILE_ROWS - 1) / CPU_TILE_ROWS) + t * count + (b - first);
}

/* Bytes of the arrays for m rows of k values, and the arrays in that much memory; tiles from CPU_TILE_FROM rows on. */
size_t cpu_rows8_bytes(size_t m, size_t k);
void cpu_rows8_place(void *memory, size_t m, size_t k, struct cpu_rows8 *out_rows);

/* Rounds rows begin .. end of x [m, k] to nearest, scale = max / 127. */
typedef void cpu_quantize_fn(const float *x, size_t stride, size_t k, const struct cpu_rows8 *out, size_t begin,
                             size_t end);

/* Rows of x in F32 from which on matmul wants them arranged: for fewer it reads them as they lie. */
#define CPU_ROWS32_FROM 6u

/* The same where weights are F16 or BF16, which come as they are to three rows at a time, from memory for the first. */
#define CPU_HALVES32_FROM 10u

/* A unit in which rows are arranged. */
#define CPU_ROWS32 12u

/* Bytes that m rows of k values take when they are arranged, as each level's matmul of many rows reads them. */
size_t cpu_rows32_bytes(size_t m, size_t k);

/* Arranges rows begin .. end of x [rows, k]; `begin` is a multiple of CPU_ROWS32, and so is `end` or it is `rows`. */
typedef void cpu_arrange_fn(const float *x, size_t stride, size_t rows, size_t k, float *out, size_t begin, size_t end);

/* Rows of x in BF16 begin at multiples of so many elements, and are there in multiples of so many. */
#define CPU_ROWS16 32u

/* Rows of x from which on products of BF16 are faster with quantized weights, where a level has them. */
#define CPU_ROWS16_FROM 24u

/* Elements of a row of k values in BF16, and bytes of m rows. */
static inline size_t cpu_row16(size_t k)
{
    return (k + CPU_ROWS16 - 1) / CPU_ROWS16 * CPU_ROWS16;
}

static inline size_t cpu_rows16_bytes(size_t m, size_t k)
{
    return cpu_row16(m) * cpu_row16(k) * sizeof(uint16_t);
}

/* Rounds rows begin .. end of x [m, k] to the nearest BF16, zeros after each row, in the order in which the level's
 * matmul16 reads them; `begin` is a multiple of CPU_ROWS16, and so is `end` or it is m. Rows from m on may hold
 * anything.
 */
typedef void cpu_round16_fn(const float *x, size_t stride, size_t k, uint16_t *out, size_t begin, size_t end);

/* y [m, n] = function(x [m, k] W^T + bias [n]) + residual [m, n]. The quantized types want k as a multiple of their
 * group. */
struct cpu_matmul {
    struct cpu_matrix w;
    size_t m;
    size_t n;
    size_t k;
    const float *x;        /* slot `matmul` */
    size_t x_stride;       /* elements from row to row of x, k or more */
    const float *x32;      /* slot `matmul`: x as cpu_arrange_fn left it; NULL: not made, and many rows are slow */
    struct cpu_rows8 x8;   /* slot `matmul8`: x as cpu_quantize_fn rounded it */
    const uint16_t *x16;   /* slot `matmul16`: x as cpu_round16_fn rounded it */
    const float *bias;     /* NULL: none */
    const float *residual; /* NULL: none; may be y */
    size_t residual_stride;
    uint32_t function; /* ACCEL_FN_... */
    float *y;
    size_t y_stride;
};

/* Computes all m rows of the columns begin .. end (rows of W). */
typedef void cpu_matmul_fn(const struct cpu_matmul *call, size_t begin, size_t end);

/*
 * Weights in panels: 16 rows side by side, in which one load has the same digits of all of them. A few rows of x are
 * multiplied 1.5 times as fast as with rows where they lie.
 */

/* Bytes of W [n, k] in panels for kernels of `level`, as many as in rows; 0: these want it in rows. */
size_t cpu_panels_bytes(uint32_t level, uint32_t type, size_t n, size_t k);

/* Rows begin .. end of W, multiples of CPU_MATMUL_ROWS, to panels; `out` is where all of them are. */
void cpu_panels_make(const struct cpu_matrix *w, size_t k, size_t begin, size_t end, void *out);

/* A matmul that knows rows only, with columns begin .. end of W in panels; both are multiples of CPU_MATMUL_ROWS. */
void cpu_panels_by_rows(cpu_matmul_fn *matmul, const struct cpu_matmul *call, size_t begin, size_t end);

/* Rows ids[begin .. end) of table [rows, width] to y [n, width]; an id outside of the table reads row 0. */
typedef void cpu_embed_fn(const struct cpu_matrix *table, size_t rows, size_t width, const int32_t *ids, float *y,
                          size_t begin, size_t end);

/* Rows begin .. end of x [rows, n]; bias is NULL for the rms norm, and may be for the layer norm. */
typedef void cpu_norm_fn(const float *x, const float *weight, const float *bias, float epsilon, size_t n, float *y,
                         size_t begin, size_t end);

struct cpu_rotary {
    const float *x; /* [tokens, heads, size] */
    float *y;
    size_t heads;
    size_t size;
    const int32_t *position; /* [tokens] */
    const float *frequency;  /* [pairs] */
    size_t pairs;            /* at most size / 2 */
    uint32_t pairing;        /* ACCEL_PAIR_... */
    float scale;
};

/* Tokens begin .. end. */
typedef void cpu_rotary_fn(const struct cpu_rotary *call, size_t begin, size_t end);

/* Elements begin .. end. */
typedef void cpu_activation_fn(uint32_t function, const float *x, float *y, size_t begin, size_t end);

/* Elements begin .. end: y = function(gate) * up. */
typedef void cpu_gate_fn(uint32_t function, const float *gate, const float *up, float *y, size_t begin, size_t end);

/* Elements begin .. end: y[i] = a[i] op b[i % period]. */
typedef void cpu_binary_fn(const float *a, const float *b, size_t period, float *y, size_t begin, size_t end);

/* Rows begin .. end of x [rows, n]. */
typedef void cpu_softmax_fn(const float *x, size_t n, float *y, size_t begin, size_t end);

/* Rows begin .. end of x [rows, n]: the first of the largest; NaN counts as smaller than everything. */
typedef void cpu_argmax_fn(const float *x, size_t n, int32_t *y, size_t begin, size_t end);

/* Keys or values of all slots, `row` elements each: those of the heads one after the other. Types: ACCEL_F32,
 * ACCEL_F16, and the symmetric planar ones of 8 and 4 bits whose group divides a head. Of a planar type the digits of a
 * slot's row come first, then its scales. */
struct cpu_cache {
    const void *data;
    uint32_t type;
    size_t row;
    size_t stride; /* bytes from slot to slot */
};

/* Attention over caches; its meaning is ACCEL_OP_ATTENTION's. */
struct cpu_attention {
    const float *q; /* [tokens, heads, size] */
    float *y;       /* [tokens, heads, value_size] */
    struct cpu_cache k;
    struct cpu_cache v;
    size_t tokens;
    size_t heads;
    size_t kv_heads;
    size_t size; /* at most CPU_HEAD */
    size_t value_size;
    size_t sequences;
    const int32_t *first;  /* [sequences + 1] */
    const int32_t *length; /* [sequences] */
    const int32_t *table;  /* [sequences, pages] */
    size_t pages;
    size_t page; /* tokens in a page */
    size_t window;
    size_t sinks; /* first keys that are seen beside the window */
    uint32_t causal;
    uint32_t rounding; /* ACCEL_Q8_0: q may be rounded to 8 bits, and weights of values to 14 */
    float scale;
    float softcap;
    size_t part; /* of `parts` into which the keys that are seen are cut; parts 0 or 1: all of them */
    size_t parts;
    float *partial; /* [tokens * heads, value_size + 2]: instead of y, the largest score, the sum of weights under it,
                       and the weighted values; NULL: y */
    const uint32_t *mask; /* [sequences, blocks, (blocks + 31) / 32] bits; NULL: none */
    size_t blocks;        /* pages * page / block, rounded up */
    size_t block;         /* places that share a bit */
    float *stats;         /* [tokens * heads, 2]: largest score and sum of each item, or NULL */
    float *mass;          /* [sequences, pages * page], of slot `attention_mass` alone */
};

/* Elements of a head at most. */
#define CPU_HEAD 1024u

/* Items begin .. end of tokens * heads, item = token * heads + head. */
typedef void cpu_attention_fn(const struct cpu_attention *call, size_t begin, size_t end);

/* Adds the weights of items begin .. end (of their part of the keys) to the mass of the places they are given to. The
 * stats are those of all parts. Scores are made once more, so that nothing is kept that grows with the length. */
typedef void cpu_attention_mass_fn(const struct cpu_attention *call, size_t begin, size_t end);

/* Puts parts together: items begin .. end of y [items, value_size] from partial [parts, items, value_size + 2]; stats
 * as in cpu_attention. */
void cpu_attention_merge(const float *partial, size_t parts, size_t items, size_t value_size, size_t begin, size_t end,
                         float *y, float *stats);

/* Rows begin .. end of x [tokens, row] to the cache; slot -1 writes nothing. */
typedef void cpu_cache_write_fn(const float *x, const int32_t *slot, const struct cpu_cache *cache, size_t begin,
                                size_t end);

/* Whether kernels read and write caches of a type whose heads have `size` elements. */
static inline int cpu_is_cache_type(uint32_t type, size_t size)
{
    const uint32_t bits = ACCEL_PLANAR_BITS(type), log2_group = ACCEL_PLANAR_LOG2_GROUP(type);
    if (type == ACCEL_F32 || type == ACCEL_F16)
        return 1;
    return (bits == 4 || bits == 8) && log2_group >= 5 && log2_group <= 7 &&
           type == ACCEL_PLANAR(bits, log2_group, ACCEL_SCHEME_SYMMETRIC) && size % ((size_t)1 << log2_group) == 0;
}

/* Bytes of a slot. */
static inline size_t cpu_cache_stride(uint32_t type, size_t row)
{
    if (type == ACCEL_F32 || type == ACCEL_F16)
        return row * (type == ACCEL_F32 ? 4 : 2);
    return row / 8 * ACCEL_PLANAR_BITS(type) + (row >> ACCEL_PLANAR_LOG2_GROUP(type)) * 2;
}

/* Digits of a planar cache from element `at` of a slot on, a multiple of 32. */
static inline const unsigned char *cpu_cache_digits(const struct cpu_cache *cache, size_t slot, size_t at)
{
    return (const unsigned char *)cache->data + slot * cache->stride + at / 8 * ACCEL_PLANAR_BITS(cache->type);
}

/* Scales of a planar cache from element `at` of a slot on, a multiple of its group. */
static inline const unsigned char *cpu_cache_scales(const struct cpu_cache *cache, size_t slot, size_t at)
{
    return cpu_cache_digits(cache, slot, cache->row) + (at >> ACCEL_PLANAR_LOG2_GROUP(cache->type)) * 2;
}

/* Every slot is filled at every level, but matmul8 of the scalar types F32, F16 and BF16; and matmul16 and round16,
 * which are there for the types and at the levels where products of BF16 are faster than those of F32. matmul16 takes
 * W in panels too. */
struct cpu_kernels {
    uint32_t level;
    cpu_matmul_fn *matmul[CPU_WEIGHTS];   /* x in F32 */
    cpu_matmul_fn *matmul8[CPU_WEIGHTS];  /* x rounded to 8 bits */
    cpu_matmul_fn *matmul16[CPU_WEIGHTS]; /* x rounded to BF16 */
    cpu_matmul_fn *panels8;               /* the same, W in panels; NULL where cpu_panels_bytes says 0 of all */
    cpu_embed_fn *embed[CPU_WEIGHTS];
    cpu_quantize_fn *quantize;
    cpu_round16_fn *round16;
    cpu_arrange_fn *arrange;
    cpu_norm_fn *rms_norm;
    cpu_norm_fn *layer_norm;
    cpu_rotary_fn *rotary;
    cpu_activation_fn *activation;
    cpu_gate_fn *gate;
    cpu_binary_fn *add;
    cpu_binary_fn *mul;
    cpu_softmax_fn *softmax;
    cpu_argmax_fn *argmax;
    cpu_attention_fn *attention;
    cpu_attention_mass_fn *attention_mass;
    cpu_cache_write_fn *cache_write;
};

/* The place of a type id in the tables, or -1 when no kernel reads it. */
int cpu_weight_of(uint32_t type);

/* The type ids that kernels read, index 0 .. CPU_TYPES - 1: first those of the places before CPU_PLANAR, in order. */
uint32_t cpu_type_at(uint32_t index);

/* The best level that was built and that this processor and its operating system allow. */
uint32_t cpu_level_detect(void);

/* NULL where a level can be used here, or what is in the way: "the processor has no such instructions". */
const char *cpu_level_obstacle(uint32_t level);

/* The name of a level: "scalar", "avx2", ... */
const char *cpu_level_name(uint32_t level);

/* Fills the table for a level, in whose way there must be no obstacle. A level that was not built counts as the one
 * that it builds upon. */
void cpu_kernels_fill(struct cpu_kernels *out_kernels, uint32_t level);

#endif
