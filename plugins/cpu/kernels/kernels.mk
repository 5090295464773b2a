# SPDX-License-Identifier: Apache-2.0
# The kernels of the cpu driver. libcpu-kernels.la contains all of them: the dispatch and the scalar reference, compiled
# for any processor, and one library per instruction set (ISA), the only objects that get its flags. configure selects
# the ISAs (CPU_ISA_LIBRARIES).
noinst_LTLIBRARIES += libcpu-kernels-scalar.la libcpu-kernels.la $(CPU_ISA_LIBRARIES)
EXTRA_LTLIBRARIES = libcpu-kernels-avx2.la libcpu-kernels-avxvnni.la libcpu-kernels-avx512.la \
	libcpu-kernels-avx512bf16.la libcpu-kernels-amx.la libcpu-kernels-neon.la libcpu-kernels-dotprod.la libcpu-kernels-i8mm.la
cpu_kernels_faces = %D%/kernels.h %D%/activations.h %D%/attention.h %D%/products.h %D%/weights.h %D%/kernels.def %D%/operators.def %D%/declare.h \
	%D%/view.h %D%/panels/panels.h
# Plain C that is compiled once per ISA, the scalar one included.
cpu_kernels_plain = %D%/plain/plain.h %D%/plain/pointwise.c %D%/plain/reduce.c %D%/plain/places.c \
	%D%/plain/rotary.c %D%/plain/top_k.c
# Sources that every program with kernels has once.
cpu_kernels_common = $(cpu_kernels_faces) %D%/isa_tables.c %D%/detect.c %D%/weights.c %D%/activations.c %D%/products.c \
	%D%/panels/panels.c
libcpu_kernels_scalar_la_SOURCES = $(cpu_kernels_faces) %D%/scalar/scalar.h %D%/scalar/matmul.c %D%/scalar/rows.c \
	%D%/scalar/pointwise.c %D%/scalar/attention.c $(cpu_kernels_plain)
libcpu_kernels_scalar_la_CFLAGS = $(AM_CFLAGS) -DCPU_BUILD_SCALAR
libcpu_kernels_la_SOURCES = $(cpu_kernels_common)
libcpu_kernels_la_LIBADD = libcpu-kernels-scalar.la $(CPU_ISA_LIBRARIES) libaccel-quant.la -lm
EXTRA_libcpu_kernels_la_DEPENDENCIES = $(CPU_ISA_LIBRARIES)

# Compiled once per ISA: kernels of floats, and kernels of codes with act_q8.
cpu_kernels_float = $(cpu_kernels_plain) %D%/vector/vec.h %D%/vector/simd.h %D%/vector/traits.h \
	%D%/vector/functions.h %D%/vector/act_sums.h %D%/vector/finish.h %D%/vector/unpack.h %D%/vector/attention_scratch.h \
	%D%/vector/attention_staged.h %D%/vector/attention_q4.h %D%/vector/gemm32.h %D%/vector/gemm_float.h %D%/vector/pointwise.c \
	%D%/vector/rows.c %D%/vector/attention.c %D%/vector/matmul.c %D%/vector/quantize.c %D%/vector/gemm32.c
cpu_kernels_codes = %D%/vector/planar.h %D%/vector/gemv.h %D%/vector/row4.h %D%/vector/gemv_row4.h \
	%D%/vector/gemv_k_fields.h %D%/vector/gemm.h %D%/vector/lanes.h %D%/vector/gemm_core.h %D%/vector/gemm_fill.h \
	%D%/vector/gemv_unpacked.c %D%/vector/gemv_k.c \
	%D%/vector/gemv_planar.c %D%/vector/gemm.c %D%/vector/gemm_core.c %D%/vector/table.c
cpu_kernels_vector = $(cpu_kernels_float) $(cpu_kernels_codes)
# AVX-VNNI multiplies codes in another way than AVX2, and nothing else.
cpu_kernels_avxvnni = $(cpu_kernels_codes) %D%/avx2/matmul8.c %D%/vector/gemv_packed.c
cpu_kernels_avx512 = $(cpu_kernels_vector) %D%/avx2/matmul8.c %D%/avx512/matmul8.c %D%/vector/gemv_packed.c
# Sources of these ISAs on top of AVX-512.
cpu_kernels_avx512bf16 = %D%/vector/gemm32.h %D%/vector/gemm_float.h %D%/vector/simd_bf16.h %D%/avx512bf16/matmul16.c
cpu_kernels_amx = %D%/vector/simd_bf16.h %D%/amx/tiles.h %D%/amx/decode.h %D%/amx/panels.h %D%/amx/matmul16.c %D%/amx/gemm8_row.c
cpu_kernels_neon = $(cpu_kernels_vector) %D%/vector/neon_dot.h %D%/vector/neon_i8mm.h %D%/vector/neon_m256.h \
	%D%/vector/neon_vec.h %D%/neon/matmul8.c

libcpu_kernels_avx2_la_SOURCES = $(cpu_kernels_vector) %D%/avx2/matmul8.c %D%/vector/gemv_packed.c
libcpu_kernels_avx2_la_CFLAGS = $(AM_CFLAGS) $(KERNEL_CFLAGS) $(AVX2_CFLAGS)
libcpu_kernels_avxvnni_la_SOURCES = $(cpu_kernels_avxvnni)
libcpu_kernels_avxvnni_la_CFLAGS = $(AM_CFLAGS) $(KERNEL_CFLAGS) $(AVXVNNI_CFLAGS) -DCPU_BUILD_AVXVNNI
libcpu_kernels_avx512_la_SOURCES = $(cpu_kernels_avx512)
libcpu_kernels_avx512_la_CFLAGS = $(AM_CFLAGS) $(KERNEL_CFLAGS) $(AVX512_CFLAGS) -DCPU_BUILD_AVX512
libcpu_kernels_avx512bf16_la_SOURCES = $(cpu_kernels_avx512bf16)
libcpu_kernels_avx512bf16_la_CFLAGS = $(AM_CFLAGS) $(KERNEL_CFLAGS) $(AVX512BF16_CFLAGS) -DCPU_BUILD_AVX512
libcpu_kernels_amx_la_SOURCES = $(cpu_kernels_amx)
libcpu_kernels_amx_la_CFLAGS = $(AM_CFLAGS) $(KERNEL_CFLAGS) $(AMX_CFLAGS) -DCPU_BUILD_AVX512
libcpu_kernels_neon_la_SOURCES = $(cpu_kernels_neon)
libcpu_kernels_neon_la_CFLAGS = $(AM_CFLAGS) $(KERNEL_CFLAGS) $(NEON_CFLAGS) -DCPU_BUILD_NEON
libcpu_kernels_dotprod_la_SOURCES = $(cpu_kernels_neon)
libcpu_kernels_dotprod_la_CFLAGS = $(AM_CFLAGS) $(KERNEL_CFLAGS) $(DOTPROD_CFLAGS) -DCPU_BUILD_NEON
libcpu_kernels_i8mm_la_SOURCES = $(cpu_kernels_neon)
libcpu_kernels_i8mm_la_CFLAGS = $(AM_CFLAGS) $(KERNEL_CFLAGS) $(I8MM_CFLAGS) -DCPU_BUILD_NEON
