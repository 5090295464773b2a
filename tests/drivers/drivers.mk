# SPDX-License-Identifier: Apache-2.0
# Drivers through the public headers, and the library that drivers are built with.
drivers_tests =
check_PROGRAMS += $(drivers_tests)
TESTS += $(drivers_tests)
drivers_rig = %D%/rig.h %D%/rig.c
drivers_rig_libs = libaccel.la libaccel-quant.la $(CMOCKA_LIBS) -lm

check_LTLIBRARIES += tests/drivers/four.la
tests_drivers_four_la_SOURCES = %D%/four.c
tests_drivers_four_la_LDFLAGS = $(test_driver_ldflags)
tests_drivers_four_la_LIBADD = $(driver_libs)

check_LTLIBRARIES += tests/drivers/faulty.la
tests_drivers_faulty_la_SOURCES = %D%/faulty.c
tests_drivers_faulty_la_LDFLAGS = $(test_driver_ldflags)
tests_drivers_faulty_la_LIBADD = $(driver_libs)

drivers_tests += tests/drivers/four_test
tests_drivers_four_test_SOURCES = %D%/four_test.c $(drivers_rig)
tests_drivers_four_test_LDADD = $(drivers_rig_libs)
EXTRA_tests_drivers_four_test_DEPENDENCIES = tests/drivers/four.la

drivers_sdk = %D%/stub.h %D%/stub.c
drivers_sdk_libs = libaccel-driver.la libaccel-quant.la libaccel.la $(CMOCKA_LIBS) -lpthread -lm

drivers_tests += tests/drivers/sdk_parts tests/drivers/sdk_program tests/drivers/sdk_weights
tests_drivers_sdk_weights_SOURCES = %D%/sdk_weights.c $(drivers_sdk)
tests_drivers_sdk_weights_LDADD = $(drivers_sdk_libs)
tests_drivers_sdk_parts_SOURCES = %D%/sdk_parts.c $(drivers_sdk)
tests_drivers_sdk_parts_LDADD = $(drivers_sdk_libs)
tests_drivers_sdk_program_SOURCES = %D%/sdk_program.c $(drivers_sdk)
tests_drivers_sdk_program_LDADD = $(drivers_sdk_libs)

drivers_cpu = %D%/cpu.h %D%/cpu.c sdk/conform/reference.c sdk/conform/reference.h $(drivers_rig)
drivers_tests += tests/drivers/cpu_matmul tests/drivers/cpu_rows
tests_drivers_cpu_matmul_SOURCES = %D%/cpu_matmul.c $(drivers_cpu)
tests_drivers_cpu_matmul_LDADD = $(drivers_rig_libs)
tests_drivers_cpu_rows_SOURCES = %D%/cpu_rows.c $(drivers_cpu)
tests_drivers_cpu_rows_LDADD = $(drivers_rig_libs)

drivers_tests += tests/drivers/cpu_layout
tests_drivers_cpu_layout_SOURCES = %D%/cpu_layout.c plugins/cpu/layout.c
tests_drivers_cpu_layout_CPPFLAGS = $(AM_CPPFLAGS)
tests_drivers_cpu_layout_LDADD = libcpu-kernels.la libaccel-driver.la libaccel-quant.la $(CMOCKA_LIBS)
drivers_tests += tests/drivers/cpu_experts
tests_drivers_cpu_experts_SOURCES = %D%/cpu_experts.c plugins/cpu/experts.c $(drivers_sdk)
tests_drivers_cpu_experts_CPPFLAGS = $(AM_CPPFLAGS)
tests_drivers_cpu_experts_LDADD = libaccel-model-core.la $(drivers_sdk_libs)
drivers_tests += tests/drivers/cpu_forms
tests_drivers_cpu_forms_SOURCES = %D%/cpu_forms.c plugins/cpu/operators/matmul.c
tests_drivers_cpu_forms_CPPFLAGS = $(AM_CPPFLAGS)
tests_drivers_cpu_forms_LDADD = libcpu-kernels.la libaccel-driver.la libaccel-quant.la $(CMOCKA_LIBS)

drivers_tests += tests/drivers/cpu_products
tests_drivers_cpu_products_SOURCES = %D%/cpu_products.c plugins/cpu/operators/arrange.c plugins/cpu/operators/attention.c \
	plugins/cpu/experts.c plugins/cpu/operators/conv.c plugins/cpu/operators/expert.c plugins/cpu/operators/half.c plugins/cpu/operators/matmul.c \
	plugins/cpu/operators/rows.c plugins/cpu/operators/sample.c plugins/cpu/operators/table.c
tests_drivers_cpu_products_CPPFLAGS = $(AM_CPPFLAGS)
tests_drivers_cpu_products_LDADD = $(tests_drivers_cpu_forms_LDADD)

drivers_tests += tests/drivers/gpu_features
tests_drivers_gpu_features_SOURCES = %D%/gpu_features.c %D%/stub.h %D%/stub.c
tests_drivers_gpu_features_LDADD = libaccel-gpu.la libaccel-quant.la $(drivers_sdk_libs)

drivers_tests += tests/drivers/gpu_cache
tests_drivers_gpu_cache_SOURCES = %D%/gpu_cache.c %D%/stub.h %D%/stub.c
tests_drivers_gpu_cache_LDADD = libaccel-gpu.la $(drivers_sdk_libs)

drivers_tests += tests/drivers/gpu_compile
tests_drivers_gpu_compile_SOURCES = %D%/gpu_compile.c %D%/gpu_fake.h %D%/gpu_fake.c %D%/stub.h %D%/stub.c
tests_drivers_gpu_compile_LDADD = libaccel-gpu.la libaccel-quant.la $(drivers_sdk_libs)

drivers_tests += tests/drivers/gpu_library
tests_drivers_gpu_library_SOURCES = %D%/gpu_library.c %D%/gpu_fake.h %D%/gpu_fake.c %D%/stub.h %D%/stub.c
tests_drivers_gpu_library_LDADD = libaccel-gpu.la libaccel-quant.la $(drivers_sdk_libs)

if ACCEL_VULKAN
drivers_tests += tests/drivers/vulkan_api
tests_drivers_vulkan_api_SOURCES = %D%/vulkan_api.c %D%/stub.h %D%/stub.c
tests_drivers_vulkan_api_LDADD = libvulkan-api.la libaccel-gpu.la libaccel-driver.la libaccel-quant.la libaccel.la $(CMOCKA_LIBS) -lpthread -lm
drivers_tests += tests/drivers/vulkan
tests_drivers_vulkan_SOURCES = %D%/vulkan.c $(drivers_rig)
tests_drivers_vulkan_LDADD = $(drivers_rig_libs)
EXTRA_tests_drivers_vulkan_DEPENDENCIES = plugins/vulkan/vulkan.la
tests/drivers/vulkan_api.$(OBJEXT): tests/drivers/vulkan_add.inc
tests/drivers/vulkan_add.inc: %D%/vulkan_add.comp
	@$(MKDIR_P) tests/drivers
	$(AM_V_GEN)$(GLSLC) --target-env=vulkan1.1 -O -mfmt=num $(srcdir)/tests/drivers/vulkan_add.comp -o $@
CLEANFILES += tests/drivers/vulkan_add.inc
EXTRA_DIST += %D%/vulkan_add.comp
endif
