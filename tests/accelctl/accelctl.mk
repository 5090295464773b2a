# SPDX-License-Identifier: Apache-2.0
# Tests that run the command as a user would.
