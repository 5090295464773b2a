# SPDX-License-Identifier: Apache-2.0
# One program per subject: check_PROGRAMS and TESTS, linked with $(core_test_libs) or $(model_test_libs).
