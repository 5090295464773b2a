# SPDX-License-Identifier: Apache-2.0
# The conformance kit: good drivers pass, bad ones fail by name, and what it writes is read. The guide is followed.
conform_tests = %D%/faults.sh %D%/guide.sh %D%/kit.sh %D%/races.sh
TESTS += $(conform_tests)
if ACCEL_OPENCL
check_PROGRAMS += tests/conform/racy
tests_conform_racy_SOURCES = %D%/racy.c
endif
EXTRA_DIST += $(conform_tests) %D%/certificates.py %D%/planted.sh %D%/planted/README.md %D%/planted/driver.list %D%/planted/gpu.list \
	%D%/planted/gpu_slots.list %D%/planted/kernels.list %D%/planted/operators.list %D%/planted/slots.list %D%/swiftshader.yaml

# Every planted bug, or those named in BUGS; the check alone plants a few. The emulated levels are libraries of the tests.
.PHONY: check-planted
check-planted: all tests/drivers/faulty.la $(check_LTLIBRARIES)
	@$(AM_TESTS_ENVIRONMENT) MAKE='$(MAKE)' ACCEL_PLANTED=all $(SHELL) $(top_srcdir)/%D%/planted.sh $(BUGS)

# Installing links libaccel-model again, which renames it for a moment: one installation at a time, and after the tests of
# the command. `make check-TESTS TESTS=... before_install=` runs such a test alone.
before_install = $(accelctl_tests:.sh=.log) tests/accelctl/honored.log tests/conform/kit.log tests/conform/faults.log tests/conform/planted.log
tests/conform/guide.log: $(before_install)
tests/install/installed.log: $(before_install:planted.log=guide.log)
