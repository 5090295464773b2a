# SPDX-License-Identifier: Apache-2.0
# Profiles: dist_profiles_DATA, and the folders below it.
dist_profiles_DATA += %D%/base.yaml %D%/cpu.yaml %D%/cuda.yaml %D%/edge-device.yaml %D%/mps.yaml %D%/opencl.yaml \
	%D%/openvino.yaml %D%/qualcomm.yaml %D%/rocm.yaml %D%/vulkan.yaml %D%/webgpu.yaml %D%/webnn.yaml \
	%D%/environment.yaml
EXTRA_DIST += %D%/README.md

profilesclientsdir = $(profilesdir)/clients
dist_profilesclients_DATA = %D%/clients/chrome.yaml %D%/clients/edge.yaml %D%/clients/firefox.yaml %D%/clients/safari.yaml
profilesdevicesdir = $(profilesdir)/devices
dist_profilesdevices_DATA = %D%/devices/2xt4.yaml %D%/devices/a100.yaml %D%/devices/h200.yaml %D%/devices/m1.yaml \
	%D%/devices/m2.yaml %D%/devices/m3.yaml %D%/devices/m4.yaml %D%/devices/rtx4090.yaml %D%/devices/snapdragon.yaml \
	%D%/devices/t4.yaml
# Tables beside the settings.
dist_profiles_DATA += %D%/advice.yaml %D%/claims.yaml %D%/compat.yaml
