# SPDX-License-Identifier: Apache-2.0
# Profiles: dist_profiles_DATA.
dist_profiles_DATA += %D%/base.yaml %D%/cpu.yaml
EXTRA_DIST += %D%/README.md
