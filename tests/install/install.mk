# SPDX-License-Identifier: Apache-2.0
# Tests of what make install makes.
install_tests = %D%/installed.sh
TESTS += $(install_tests)
EXTRA_DIST += $(install_tests) %D%/driver.c %D%/sample.c
