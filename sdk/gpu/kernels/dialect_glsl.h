/* SPDX-License-Identifier: Apache-2.0 */
/* The dialect as GLSL 4.50 for Vulkan 1.1; dialect.h documents it. C_NAME is the id of constant NAME. */
#ifdef ACCEL_GLSL
#extension GL_EXT_control_flow_attributes : require
#ifdef HAS_SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#define SUBGROUP_SUM(value) subgroupAdd(value)
#define SUBGROUP_MAX(value) subgroupMax(value)
#define SUBGROUP_ITEM gl_SubgroupInvocationID
#define SUBGROUP_NUMBER gl_SubgroupID
#define SUBGROUPS gl_NumSubgroups
#define IS_ONE_SUBGROUP (GROUP <= SUBGROUP)
#define SUBGROUP_BARRIER subgroupBarrier()
#endif
#ifdef MATRICES
/* Matrices that a subgroup holds together, of the sizes of a text's constants. */
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#define MATRIX_OF_X coopmat<float16_t, gl_ScopeSubgroup, MATRIX_M, MATRIX_K, gl_MatrixUseA>
#define MATRIX_OF_W coopmat<float16_t, gl_ScopeSubgroup, MATRIX_K, MATRIX_N, gl_MatrixUseB>
#define MATRIX_SUMS coopmat<float, gl_ScopeSubgroup, MATRIX_M, MATRIX_N, gl_MatrixUseAccumulator>
#define MATRIX_LOAD(matrix, array, at, pitch, order)                                                                   \
    coopMatLoad(matrix, array, at, pitch, gl_CooperativeMatrixLayout##order)
#define MATRIX_BARRIER                                                                                                 \
    controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease)
#define HALVES
#endif
#ifdef HALVES
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define half4 f16vec4
#define make_half4(x) f16vec4(x)
#define halves_of(v) f16vec4(v)
#define halves_of_bytes(u)                                                                                             \
    f16vec4(bitfieldExtract(int(u), 0, 8), bitfieldExtract(int(u), 8, 8), bitfieldExtract(int(u), 16, 8),              \
            bitfieldExtract(int(u), 24, 8))
#endif
#ifdef DOT
/* OpSDotKHR of packed bytes. glslc 2023.2 has no name for it. */
#extension GL_EXT_spirv_intrinsics : require
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [ 6019, 6018 ],
                  id = 4450) int sdot4(uint a, uint b, spirv_literal int format);
#define DOT4(a, b) sdot4(a, b, 0)
#endif
#ifdef HAS_STORAGE16
#extension GL_EXT_shader_16bit_storage : require
#define HALVES_OF(number, name)                                                                                        \
    layout(std430, set = 0, binding = number) readonly buffer halves_##name                                            \
    {                                                                                                                  \
        float16_t name##_halves[];                                                                                     \
    };
#define HALF_AT(name, word, i) float(name##_halves[2u * (word) + (i)])
#else
#define HALVES_OF(number, name)
#define HALF_AT(name, word, i) half_low(name[(word) + (i) / 2u] >> ((i) % 2u * 16u))
#endif
#ifdef HAS_STORAGE8
#extension GL_EXT_shader_8bit_storage : require
#define BYTES_OF(number, name)                                                                                         \
    layout(std430, set = 0, binding = number) readonly buffer bytes_##name                                             \
    {                                                                                                                  \
        uint8_t name##_bytes[];                                                                                        \
    };
#define BYTE_AT(name, word, i) uint(name##_bytes[4u * (word) + (i)])
#else
#define BYTES_OF(number, name)
#define BYTE_AT(name, word, i) (name[(word) + (i) / 4u] >> ((i) % 4u * 8u) & 255u)
#endif
#define BUFFER_PARTS(number, name) HALVES_OF(number, name) BYTES_OF(number, name)
#define CONSTANT(name) layout(constant_id = C_##name) const uint name = 1u;
#define CONST(name, value) const uint name = value;
#define TABLE16(name, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, q)                                                  \
    const float name[16] = float[16](a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, q);
#define PARAMETERS(buffers)                                                                                            \
    layout(push_constant) uniform parameters                                                                           \
    {                                                                                                                  \
        uint start[buffers];
#define END_PARAMETERS                                                                                                 \
    }                                                                                                                  \
    p;
#define BUFFER_IN(number, type, name)                                                                                  \
    layout(std430, set = 0, binding = number) readonly buffer binding_##name                                           \
    {                                                                                                                  \
        type name[];                                                                                                   \
    };
#define BUFFER_OUT(number, type, name)                                                                                 \
    layout(std430, set = 0, binding = number) buffer binding_##name                                                    \
    {                                                                                                                  \
        type name[];                                                                                                   \
    };
#define IN(type, name)
#define OUT(type, name)
#define KERNEL layout(local_size_x_id = 0) in;
#define ENTRY void main()
#define FN
#define POINTER(type, name)
#define OUTPOINTER(type, name)
#define LOCAL_POINTER(type, name)
#define PASS(name)
#define WITH_PARAMETERS
#define SHARED(type, name, count) shared type name[count];
#define SHARED_HERE(type, name, count)

#define GROUP_X gl_WorkGroupID.x
#define GROUP_Y gl_WorkGroupID.y
#define GROUP_Z gl_WorkGroupID.z
#define GROUPS_X gl_NumWorkGroups.x
#define ITEM gl_LocalInvocationID.x
#define BARRIER barrier()
#define ATOMIC_ADD(place, value) atomicAdd(place, value)
#define UNROLL [[unroll]]
#define NOT_UNROLLED

#define float2 vec2
#define float4 vec4
#define make4 vec4
#define uint4 uvec4
#define make_uint4 uvec4
#define uint2 uvec2
#define make_uint2 uvec2
#define as_float uintBitsToFloat
#define as_uint floatBitsToUint
#define as_int int
#define fmin min
#define fmax max
#define fabs abs
#define rint roundEven
#define native_exp exp
#define is_nan(x) isnan(x)
#define to_int(x) int(x)
#define to_float(x) float(x)
#define to_uint(x) uint(x)
#define as_uint_of(x) uint(x)
#define LOAD4(buffer, i) vec4(buffer[i], buffer[(i) + 1u], buffer[(i) + 2u], buffer[(i) + 3u])

/* The high word of a product. */
uint mul_hi(uint a, uint b)
{
    uint high, low;
    umulExtended(a, b, high, low);
    return high;
}

float half_low(uint word)
{
    return unpackHalf2x16(word).x;
}

float half_high(uint word)
{
    return unpackHalf2x16(word).y;
}

/* packHalf2x16 may round either way. */
uint half_bits(float value)
{
    const uint bits = floatBitsToUint(value), sign = bits >> 16u & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return sign | 0x7e00u;
    if (magnitude >= 0x477ff000u)
        return sign | 0x7c00u;
    if (magnitude < 0x38800000u)
        return sign | uint(roundEven(abs(value) * 16777216.0));
    return sign | (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13u & 1u)) >> 13u;
}

/* Digits are small: converting them as signed integers is quicker on CPUs. */
#ifndef VEC_ROWS
#define VEC 1u
#define ROW_WORD uint
#define vuint uint
#define vint int
#define vfloat float
#define VLOAD(buffer, i) buffer[i]
#define VFLOAT(u) float(int(u))
#define VINT(u) int(u)
#define VBITS(u) uintBitsToFloat(u)
#define VSPLIT(value, parts) parts[0] = value
#define VSET(x) (x)
#define LOCAL_LOAD(array, i) array[i]
#define LOCAL_STORE(array, i, value) array[i] = value
#define VLOOKUP(table, q) table[q]
#define VGATHER(buffer, at, q) half_low(buffer[(at) + ((q) >> 1) * 32u] >> (((q)&1u) * 16u))
#define vhalf half_low
#else
/* Planes of matrices begin at multiples of 256 bytes, and a lane's rows at multiples of 4 words. */
#define VEC 4u
#define ROW_WORD uvec4
#define vuint uvec4
#define vint ivec4
#define vfloat vec4
#define VLOAD(buffer, i) buffer[(i) >> 2]
#define VFLOAT(u) vec4(ivec4(u))
#define VINT(u) ivec4(u)
#define VBITS(u) uintBitsToFloat(u)
#define VSPLIT(value, parts)                                                                                           \
    parts[0] = value.x;                                                                                                \
    parts[1] = value.y;                                                                                                \
    parts[2] = value.z;                                                                                                \
    parts[3] = value.w
#define VSET(x) vec4(x)
#define VLOOKUP(table, q) vec4(table[q.x], table[q.y], table[q.z], table[q.w])
#define GATHER1(buffer, at, q, lane) half_low(buffer[((at) >> 2) + ((q) >> 1) * 8u][lane] >> (((q)&1u) * 16u))
#define VGATHER(buffer, at, q)                                                                                         \
    vec4(GATHER1(buffer, at, q.x, 0), GATHER1(buffer, at, q.y, 1), GATHER1(buffer, at, q.z, 2),                        \
         GATHER1(buffer, at, q.w, 3))
#define vhalf(v) vec4(half_low((v).x), half_low((v).y), half_low((v).z), half_low((v).w))
#endif
#endif
