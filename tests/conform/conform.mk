# SPDX-License-Identifier: Apache-2.0
# The conformance kit: good drivers pass, bad ones fail by name, and what it writes is read. The guide is followed.
conform_tests = %D%/faults.sh %D%/guide.sh %D%/kit.sh %D%/races.sh
TESTS += $(conform_tests)
if ACCEL_OPENCL
check_PROGRAMS += tests/conform/racy
tests_conform_racy_SOURCES = %D%/racy.c
endif
EXTRA_DIST += $(conform_tests) %D%/swiftshader.yaml

# Both install, and installing links libaccel-model again: one at a time, and not while the command is tested.
tests/conform/kit.log: $(accelctl_tests:.sh=.log)
tests/conform/faults.log: tests/conform/kit.log
tests/conform/guide.log: tests/conform/faults.log
tests/install/installed.log: tests/conform/guide.log
