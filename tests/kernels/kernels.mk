# SPDX-License-Identifier: Apache-2.0
# Tests of the cpu kernels: one program per instruction set (ISA), which is skipped if the machine lacks it. ISAs with dot
# products of bytes are tested everywhere: if the machine lacks one (configure --enable-emulation: always), its sources are
# compiled a second time with replacements of the instructions that are absent, and tested with a sample of the shapes
# (ACCEL_TEST_ALL=1, which .ci/nightly sets: with all of them); the real programs run under an emulator if ACCEL_BOCHS names
# one (RUNNER PROGRAM [ARG...]). Programs for aarch64 are cross-built and emulated by `make check-aarch64`, which takes minutes.
kernels_tests = %D%/scalar
if HAVE_AVX2
kernels_tests += %D%/avx2
endif
if HAVE_AVXVNNI
kernels_tests += %D%/avxvnni
endif
if HAVE_AVX512
kernels_tests += %D%/avx512
endif
if HAVE_AVX512BF16
kernels_tests += %D%/avx512bf16
endif
if HAVE_AMX
kernels_tests += %D%/amx
endif
if HAVE_NEON
kernels_tests += %D%/neon
endif
if HAVE_DOTPROD
kernels_tests += %D%/dotprod
endif
if HAVE_I8MM
kernels_tests += %D%/i8mm
endif
check_LTLIBRARIES += libkernels-tests.la
libkernels_tests_la_SOURCES = %D%/support.h %D%/support.c %D%/matmul.c %D%/rows.c %D%/attention.c
kernels_test_libs = libkernels-tests.la libcpu-kernels.la libaccel-quant.la $(CMOCKA_LIBS) -lm
tests_kernels_scalar_SOURCES = %D%/main.c
tests_kernels_scalar_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_ISA=CPU_ISA_SCALAR
tests_kernels_scalar_LDADD = $(kernels_test_libs)
tests_kernels_avx2_SOURCES = %D%/main.c
tests_kernels_avx2_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_ISA=CPU_ISA_AVX2
tests_kernels_avx2_LDADD = $(kernels_test_libs)
tests_kernels_avxvnni_SOURCES = %D%/main.c
tests_kernels_avxvnni_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_ISA=CPU_ISA_AVXVNNI
tests_kernels_avxvnni_LDADD = $(kernels_test_libs)
tests_kernels_avx512_SOURCES = %D%/main.c
tests_kernels_avx512_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_ISA=CPU_ISA_AVX512
tests_kernels_avx512_LDADD = $(kernels_test_libs)
tests_kernels_avx512bf16_SOURCES = %D%/main.c
tests_kernels_avx512bf16_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_ISA=CPU_ISA_AVX512BF16
tests_kernels_avx512bf16_LDADD = $(kernels_test_libs)
tests_kernels_amx_SOURCES = %D%/main.c
tests_kernels_amx_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_ISA=CPU_ISA_AMX
tests_kernels_amx_LDADD = $(kernels_test_libs)
tests_kernels_neon_SOURCES = %D%/main.c
tests_kernels_neon_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_ISA=CPU_ISA_NEON
tests_kernels_neon_LDADD = $(kernels_test_libs)
tests_kernels_dotprod_SOURCES = %D%/main.c
tests_kernels_dotprod_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_ISA=CPU_ISA_DOTPROD
tests_kernels_dotprod_LDADD = $(kernels_test_libs)
tests_kernels_i8mm_SOURCES = %D%/main.c
tests_kernels_i8mm_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_ISA=CPU_ISA_I8MM
tests_kernels_i8mm_LDADD = $(kernels_test_libs)

if HAVE_AVX512
TESTS += %D%/bochs.sh
endif

# SIMDe's replacements are made of AVX2.
kernels_emulation = -I$(top_srcdir)/%D%
EXTRA_DIST += %D%/simd_emulated.h %D%/simd_bf16_emulated.h %D%/simd_flush.h %D%/tiles_emulated.h
kernels_emulated_libs = libcpu-kernels-scalar.la libcpu-kernels-avx2.la libaccel-quant.la $(CMOCKA_LIBS) -lm

if EMULATE_AVX512
kernels_tests += tests/kernels/emulated tests/kernels/emulated_avx512bf16 tests/kernels/emulated_amx
check_LTLIBRARIES += libcpu-kernels-emulated.la
libcpu_kernels_emulated_la_SOURCES = $(cpu_kernels_avx512) $(cpu_kernels_avx512bf16) $(cpu_kernels_amx) $(cpu_kernels_common)
libcpu_kernels_emulated_la_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_BUILD_AVX512 -DEMULATE_AVX512 -DSIMD_EMULATE $(kernels_emulation)
libcpu_kernels_emulated_la_CFLAGS = $(AM_CFLAGS) $(KERNEL_CFLAGS) $(SIMDE_CFLAGS) -Wno-psabi
tests_kernels_emulated_SOURCES = %D%/main.c
tests_kernels_emulated_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_ISA=CPU_ISA_AVX512 -DKERNELS_EMULATED=CPU_ISA_AVX2
tests_kernels_emulated_LDADD = libkernels-tests.la libcpu-kernels-emulated.la $(kernels_emulated_libs)
tests_kernels_emulated_avx512bf16_SOURCES = %D%/main.c
tests_kernels_emulated_avx512bf16_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_ISA=CPU_ISA_AVX512BF16 -DKERNELS_EMULATED=CPU_ISA_AVX2
tests_kernels_emulated_avx512bf16_LDADD = $(tests_kernels_emulated_LDADD)
tests_kernels_emulated_amx_SOURCES = %D%/main.c
tests_kernels_emulated_amx_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_ISA=CPU_ISA_AMX -DKERNELS_EMULATED=CPU_ISA_AVX2
tests_kernels_emulated_amx_LDADD = $(tests_kernels_emulated_LDADD)
endif

if EMULATE_AMX
kernels_tests += tests/kernels/emulated_amx
check_LTLIBRARIES += libcpu-kernels-emulated-amx.la
libcpu_kernels_emulated_amx_la_SOURCES = $(cpu_kernels_amx) $(cpu_kernels_common)
libcpu_kernels_emulated_amx_la_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_BUILD_AVX512 -DEMULATE_AMX $(kernels_emulation)
libcpu_kernels_emulated_amx_la_CFLAGS = $(AM_CFLAGS) $(KERNEL_CFLAGS) $(AVX512BF16_CFLAGS)
tests_kernels_emulated_amx_SOURCES = %D%/main.c
tests_kernels_emulated_amx_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_ISA=CPU_ISA_AMX -DKERNELS_EMULATED=CPU_ISA_AVX512BF16
tests_kernels_emulated_amx_LDADD = libkernels-tests.la libcpu-kernels-emulated-amx.la libcpu-kernels.la \
	libaccel-quant.la $(CMOCKA_LIBS) -lm
endif

if EMULATE_AVXVNNI
kernels_tests += tests/kernels/emulated_avxvnni
check_LTLIBRARIES += libcpu-kernels-emulated-avxvnni.la
libcpu_kernels_emulated_avxvnni_la_SOURCES = $(cpu_kernels_avxvnni) $(cpu_kernels_common)
libcpu_kernels_emulated_avxvnni_la_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_BUILD_AVXVNNI -DEMULATE_AVXVNNI -DSIMD_EMULATE $(kernels_emulation)
libcpu_kernels_emulated_avxvnni_la_CFLAGS = $(AM_CFLAGS) $(KERNEL_CFLAGS) $(SIMDE_CFLAGS) -Wno-psabi
tests_kernels_emulated_avxvnni_SOURCES = %D%/main.c
tests_kernels_emulated_avxvnni_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_ISA=CPU_ISA_AVXVNNI -DKERNELS_EMULATED=CPU_ISA_AVX2
tests_kernels_emulated_avxvnni_LDADD = libkernels-tests.la libcpu-kernels-emulated-avxvnni.la $(kernels_emulated_libs)
endif

if RECODE_AVXVNNI
kernels_tests += tests/kernels/emulated_avxvnni
check_LTLIBRARIES += libcpu-kernels-emulated-avxvnni.la
libcpu_kernels_emulated_avxvnni_la_SOURCES = $(cpu_kernels_avxvnni) $(cpu_kernels_common)
libcpu_kernels_emulated_avxvnni_la_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_BUILD_AVXVNNI -DEMULATE_AVXVNNI
libcpu_kernels_emulated_avxvnni_la_CFLAGS = $(AM_CFLAGS) $(KERNEL_CFLAGS) $(AVX2_CFLAGS) -mavx512vl -mavx512vnni
tests_kernels_emulated_avxvnni_SOURCES = %D%/main.c
tests_kernels_emulated_avxvnni_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_ISA=CPU_ISA_AVXVNNI -DKERNELS_EMULATED=CPU_ISA_AVX512
tests_kernels_emulated_avxvnni_LDADD = libkernels-tests.la libcpu-kernels-emulated-avxvnni.la libcpu-kernels.la \
	libaccel-quant.la $(CMOCKA_LIBS) -lm
endif

if EMULATE_NOTHING_FOR_LACK
TESTS += tests/kernels/emulated_absent.sh
endif

.PHONY: check-aarch64 check-kernels
check-kernels: $(kernels_tests)
	$(MAKE) check-TESTS check_PROGRAMS= check_LTLIBRARIES= check_DATA= TESTS='$(kernels_tests)'
check-aarch64:
	+@$(MKDIR_P) %D%
	+@MAKE='$(MAKE)' ACCEL_TEST_SRCDIR='$(abs_top_srcdir)' ACCEL_TEST_BUILDDIR='$(abs_top_builddir)' \
		$(SHELL) $(top_srcdir)/%D%/aarch64.sh || test $$? -eq 77

EXTRA_DIST += tests/kernels/aarch64.sh tests/kernels/aarch64/cmocka.h tests/kernels/bochs.sh tests/kernels/emulated_absent.sh
check_PROGRAMS += $(kernels_tests)
TESTS += $(kernels_tests)
