# SPDX-License-Identifier: Apache-2.0
# The kernels of the cpu driver, one program per level: the same tests. A level that the machine lacks is skipped. The 512-bit
# level is tested everywhere: its sources are compiled a second time with SIMDe's stand-ins for the instructions, and its
# real program runs under an emulator where ACCEL_BOCHS names one (RUNNER PROGRAM [ARG...]).
kernels_test_sources = %D%/support.h %D%/support.c %D%/main.c %D%/matmul.c %D%/rows.c %D%/attention.c
kernels_test_libs = libcpu-kernels.la libaccel-quant.la $(CMOCKA_LIBS) -lm
kernels_tests = tests/kernels/scalar

tests_kernels_scalar_SOURCES = $(kernels_test_sources)
tests_kernels_scalar_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_LEVEL=0u
tests_kernels_scalar_LDADD = $(kernels_test_libs)

if HAVE_AVX2
kernels_tests += tests/kernels/avx2
tests_kernels_avx2_SOURCES = $(kernels_test_sources)
tests_kernels_avx2_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_LEVEL=1u
tests_kernels_avx2_LDADD = $(kernels_test_libs)
endif

if HAVE_AVX512
kernels_tests += tests/kernels/avx512
tests_kernels_avx512_SOURCES = $(kernels_test_sources)
tests_kernels_avx512_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_LEVEL=2u
tests_kernels_avx512_LDADD = $(kernels_test_libs)
TESTS += tests/kernels/avx512_bochs.sh
endif

if HAVE_SIMDE
kernels_tests += tests/kernels/emulated
check_LTLIBRARIES += libcpu-kernels-emulated.la
libcpu_kernels_emulated_la_SOURCES = $(cpu_kernels_avx512) plugins/cpu/kernels/dispatch.c plugins/cpu/kernels/rows8.c
libcpu_kernels_emulated_la_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_BUILD_AVX512 -DHAVE_AVX512=1 -DSIMD_EMULATE
libcpu_kernels_emulated_la_CFLAGS = $(AM_CFLAGS) $(SIMDE_CFLAGS) -Wno-psabi
tests_kernels_emulated_SOURCES = $(kernels_test_sources)
tests_kernels_emulated_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_LEVEL=2u -DKERNELS_EMULATED
tests_kernels_emulated_LDADD = libcpu-kernels-emulated.la libcpu-kernels-scalar.la libcpu-kernels-avx2.la \
	libaccel-quant.la $(CMOCKA_LIBS) -lm
else
TESTS += tests/kernels/emulated_absent.sh
endif

EXTRA_DIST += tests/kernels/avx512_bochs.sh tests/kernels/emulated_absent.sh
check_PROGRAMS += $(kernels_tests)
TESTS += $(kernels_tests)
