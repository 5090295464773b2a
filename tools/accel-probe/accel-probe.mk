# SPDX-License-Identifier: Apache-2.0
# The child process that probes drivers; installed in $(pkglibexecdir).
