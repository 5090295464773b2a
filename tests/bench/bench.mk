# SPDX-License-Identifier: Apache-2.0
# Benchmarks: EXTRA_PROGRAMS, built by name, never asserted on time.
