/* SPDX-License-Identifier: Apache-2.0 */
/* The dialect as OpenCL C 1.2; dialect.h documents it. Constants are macros of the compiler's command line. */
#ifdef ACCEL_OPENCL
#pragma OPENCL FP_CONTRACT ON
#ifdef HALVES
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define make_half4(x) ((half4)(x))
#define halves_of(v) convert_half4(v)
#define halves_of_bytes(u) convert_half4(as_char4(u))
#endif
#ifdef HAS_SUBGROUP
#ifdef cl_khr_subgroups
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#endif
#define SUBGROUP_SUM(value) sub_group_reduce_add(value)
#define SUBGROUP_MAX(value) sub_group_reduce_max(value)
#define SUBGROUP_ITEM get_sub_group_local_id()
#define SUBGROUP_NUMBER get_sub_group_id()
#define SUBGROUPS get_num_sub_groups()
#define IS_ONE_SUBGROUP (get_num_sub_groups() == 1u)
#define SUBGROUP_BARRIER sub_group_barrier(CLK_LOCAL_MEM_FENCE)
#endif
/* The subgroup size, if the compiler accepts one. */
#ifdef SUBGROUP_SIZE
#define WITH_SUBGROUPS __attribute__((intel_reqd_sub_group_size(SUBGROUP_SIZE)))
#else
#define WITH_SUBGROUPS
#endif
#define CONSTANT(name)
#define CONST(name, value) enum { name = value };
#define TABLE16(name, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, q)                                                  \
    constant float name[16] = {a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, q};
#define PARAMETERS(buffers)                                                                                            \
    struct parameters {                                                                                                \
        uint start[buffers];
#define END_PARAMETERS                                                                                                 \
    }                                                                                                                  \
    ;
#define BUFFER_IN(binding, type, name)
#define BUFFER_OUT(binding, type, name)
#define BUFFER_PARTS(binding, name)
#ifdef HAS_STORAGE16
#define HALF_AT(name, word, i) half_low(((global const ushort *)((name) + (word)))[i])
#else
#define HALF_AT(name, word, i) half_low(name[(word) + (i) / 2u] >> ((i) % 2u * 16u))
#endif
#ifdef HAS_STORAGE8
#define BYTE_AT(name, word, i) ((uint)((global const uchar *)((name) + (word)))[i])
#else
#define BYTE_AT(name, word, i) (name[(word) + (i) / 4u] >> ((i) % 4u * 8u) & 255u)
#endif
#define IN(type, name) global const type *restrict name,
#define OUT(type, name) global type *name,
#define KERNEL kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) WITH_SUBGROUPS void gpu_main(
#define ENTRY const struct parameters p)
#define FN static inline
#define POINTER(type, name) global const type *name,
#define OUTPOINTER(type, name) global type *name,
#define LOCAL_POINTER(type, name) local const type *name,
#define PASS(name) name,
#define WITH_PARAMETERS const struct parameters p,
#define SHARED(type, name, count)
#define SHARED_HERE(type, name, count) local type name[count];

#define GROUP_X ((uint)get_group_id(0))
#define GROUP_Y ((uint)get_group_id(1))
#define GROUP_Z ((uint)get_group_id(2))
#define GROUPS_X ((uint)get_num_groups(0))
#define ITEM ((uint)get_local_id(0))
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define ATOMIC_ADD(place, value) atomic_add(&place, value)
#define UNROLL _Pragma("unroll")
#define NOT_UNROLLED _Pragma("unroll 1")

#ifdef cl_khr_integer_dot_product
#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable
#define DOT4(a, b) dot_4x8packed_ss_int(a, b)
#else
FN int DOT4(uint a, uint b)
{
    const int4 products = convert_int4(as_char4(a)) * convert_int4(as_char4(b));
    return (products.x + products.y) + (products.z + products.w);
}
#endif

#define make4 (float4)
#define make_uint4 (uint4)
#define make_uint2 (uint2)
#define LOAD4(buffer, i) vload4(0, (buffer) + (i))
#define is_nan(x) isnan(x)
#define to_int(x) convert_int(x)
#define to_float(x) convert_float(x)
#define to_uint(x) convert_uint(x)
#define as_uint_of(x) as_uint(x)

#ifdef HAS_SOFTWARE
/* As vhalf below: libraries for CPUs convert by branches. */
FN float half_low(uint word)
{
    const uint magnitude = (word & 0x7fffu) << 13;
    const uint wide = as_uint(as_float(magnitude) * 5.192296858534828e33f);
    return as_float(wide | (magnitude >= 0x0f800000u ? 0x7f800000u : 0u) | (word & 0x8000u) << 16);
}

FN float half_high(uint word)
{
    return half_low(word >> 16);
}
#else
FN float half_low(uint word)
{
    return vload_half(0, (const half *)&word);
}

FN float half_high(uint word)
{
    return vload_half(1, (const half *)&word);
}
#endif

/* The bits of a float as half, rounded to nearest. */
FN uint half_bits(float value)
{
    ushort bits;
    vstore_half_rte(value, 0, (half *)&bits);
    return bits;
}

#ifndef VEC_ROWS
#define VEC 1u
typedef uint vuint;
typedef int vint;
typedef float vfloat;
#define VLOAD(buffer, i) (buffer)[i]
#define VFLOAT(u) convert_float(as_int(u))
#define VINT(u) as_int(u)
#define VBITS(u) as_float(u)
#define VSPLIT(value, parts) (parts)[0] = value
#define VSET(x) (x)
#define LOCAL_LOAD(array, i) (array)[i]
#define LOCAL_STORE(array, i, value) (array)[i] = value
#define VLOOKUP(table, q) table[q]
#define VGATHER(buffer, at, q) half_low((buffer)[(at) + ((q) >> 1) * 32u] >> (((q)&1u) * 16u))
FN vfloat vhalf(vuint w)
{
    return half_low(w);
}
#else
#define VEC 8u
typedef uint8 vuint;
typedef int8 vint;
typedef float8 vfloat;
#define VLOAD(buffer, i) vload8(0, (buffer) + (i))
#define VFLOAT(u) convert_float8(as_int8(u))
#define VINT(u) as_int8(u)
#define VBITS(u) as_float8(u)
#define VSPLIT(value, parts) vstore8(value, 0, parts)
#define VSET(x) ((float8)(x))
#define LOCAL_LOAD(array, i) vload8(0, (array) + (i))
#define LOCAL_STORE(array, i, value) vstore8(value, 0, (array) + (i))
#define VLOOKUP(table, q)                                                                                              \
    (float8)(table[q.s0], table[q.s1], table[q.s2], table[q.s3], table[q.s4], table[q.s5], table[q.s6], table[q.s7])
#define GATHER1(buffer, at, q, lane) half_low((buffer)[(at) + lane + (q >> 1) * 32u] >> ((q & 1u) * 16u))
#define VGATHER(buffer, at, q)                                                                                         \
    (float8)(GATHER1(buffer, at, q.s0, 0u), GATHER1(buffer, at, q.s1, 1u), GATHER1(buffer, at, q.s2, 2u),              \
             GATHER1(buffer, at, q.s3, 3u), GATHER1(buffer, at, q.s4, 4u), GATHER1(buffer, at, q.s5, 5u),              \
             GATHER1(buffer, at, q.s6, 6u), GATHER1(buffer, at, q.s7, 7u))
/* The lower halves of words as floats, by a multiplication that is exact for finite halves where floats have subnormals
 * (CPUs have); infinities and what is none keep all ones in the exponent. */
FN vfloat vhalf(vuint w)
{
    const vuint magnitude = (w & 0x7fffu) << 13;
    const vuint wide = as_uint8(as_float8(magnitude) * 5.192296858534828e33f);
    const vuint special = as_uint8(magnitude >= 0x0f800000u) & 0x7f800000u;
    return as_float8(wide | special | (w & 0x8000u) << 16);
}
#endif
#endif
