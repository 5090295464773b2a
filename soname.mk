# SPDX-License-Identifier: Apache-2.0
# libtool's current:revision:age of the shared libraries, changed at a release only:
# code changed: revision + 1; interfaces added, removed or changed: current + 1, revision 0;
# interfaces only added: age + 1, too; interfaces removed or changed: age 0.
libaccel_version_info = 0:0:0
libaccel_model_version_info = 0:0:0
