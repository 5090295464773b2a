# SPDX-License-Identifier: Apache-2.0
# Profiles: dist_profiles_DATA, and the folders below it.
dist_profiles_DATA += %D%/base.yaml %D%/cpu.yaml %D%/cuda.yaml %D%/edge-device.yaml %D%/mps.yaml %D%/opencl.yaml \
	%D%/openvino.yaml %D%/qualcomm.yaml %D%/rocm.yaml %D%/vulkan.yaml %D%/webgpu.yaml %D%/webnn.yaml \
	%D%/environment.yaml
dist_profiles_DATA += %D%/README.md

profilesclientsdir = $(profilesdir)/clients
dist_profilesclients_DATA = %D%/clients/chrome.yaml %D%/clients/edge.yaml %D%/clients/firefox.yaml %D%/clients/safari.yaml
profilesdevicesdir = $(profilesdir)/devices
dist_profilesdevices_DATA = %D%/devices/2xt4.yaml %D%/devices/a100.yaml %D%/devices/a100-80gb.yaml \
	%D%/devices/b200.yaml %D%/devices/gpu-adreno.yaml \
	%D%/devices/gpu-amd.yaml %D%/devices/gpu-intel.yaml %D%/devices/gpu-mali.yaml %D%/devices/gpu-nvidia.yaml \
	%D%/devices/gpu-amd-gfx.yaml %D%/devices/gpu-nvidia-quadro.yaml %D%/devices/gpu-nvidia-tesla.yaml \
	%D%/devices/h100.yaml %D%/devices/h200.yaml %D%/devices/l4.yaml %D%/devices/l40s.yaml %D%/devices/m1.yaml \
	%D%/devices/m2.yaml %D%/devices/m3.yaml %D%/devices/m4.yaml %D%/devices/mi300x.yaml \
	%D%/devices/rtx3090.yaml %D%/devices/rtx4090.yaml %D%/devices/rtx5090.yaml %D%/devices/snapdragon.yaml \
	%D%/devices/t4.yaml

# Tables beside the settings.
dist_profiles_DATA += %D%/advice.yaml %D%/claims.yaml %D%/compat.yaml

profilesmodelsdir = $(profilesdir)/models
dist_profilesmodels_DATA = \
	%D%/models/aya-23-8b.yaml \
	%D%/models/bert-base-uncased.yaml \
	%D%/models/bert-tiny.yaml \
	%D%/models/blip-captioning.yaml \
	%D%/models/blip2-opt-2.7b.yaml \
	%D%/models/bloom-560m.yaml \
	%D%/models/bloom-7b1.yaml \
	%D%/models/clap.yaml \
	%D%/models/clip-vit-base-patch32.yaml \
	%D%/models/command-r.yaml \
	%D%/models/convnext-tiny.yaml \
	%D%/models/deepseek-v2.yaml \
	%D%/models/deepseek-v2-lite.yaml \
	%D%/models/detr-resnet-50.yaml \
	%D%/models/falcon-7b.yaml \
	%D%/models/gemma-2-2b.yaml \
	%D%/models/gemma-2b.yaml \
	%D%/models/gemma-3-1b.yaml \
	%D%/models/gemma-3-270m.yaml \
	%D%/models/gemma-7b.yaml \
	%D%/models/glm-4-9b.yaml \
	%D%/models/glm-4-9b-0414.yaml \
	%D%/models/gpt-neox-20b.yaml \
	%D%/models/gpt-oss-120b.yaml \
	%D%/models/gpt-oss-20b.yaml \
	%D%/models/gpt2.yaml \
	%D%/models/granite-3.1-2b.yaml \
	%D%/models/granite-3.1-8b.yaml \
	%D%/models/llama-2-13b.yaml \
	%D%/models/llama-2-70b.yaml \
	%D%/models/llama-2-7b.yaml \
	%D%/models/llama-3-8b.yaml \
	%D%/models/llama-3.2-1b.yaml \
	%D%/models/llama-7b.yaml \
	%D%/models/llava-1.5-7b.yaml \
	%D%/models/llava-next.yaml \
	%D%/models/minilm.yaml \
	%D%/models/mistral-7b.yaml \
	%D%/models/mixtral-8x7b.yaml \
	%D%/models/mpt-7b.yaml \
	%D%/models/olmo-2-1b.yaml \
	%D%/models/olmo-2-7b.yaml \
	%D%/models/olmoe-1b-7b.yaml \
	%D%/models/opt-125m.yaml \
	%D%/models/phi-2.yaml \
	%D%/models/phi-3-mini.yaml \
	%D%/models/phi-4.yaml \
	%D%/models/phi-4-mini.yaml \
	%D%/models/pythia-1b.yaml \
	%D%/models/qwen1.5-moe-a2.7b.yaml \
	%D%/models/qwen2-7b.yaml \
	%D%/models/qwen3-0.6b.yaml \
	%D%/models/qwen3-30b-a3b.yaml \
	%D%/models/qwen3-8b.yaml \
	%D%/models/resnet-50.yaml \
	%D%/models/roberta-base.yaml \
	%D%/models/smollm2-135m.yaml \
	%D%/models/smollm3-3b.yaml \
	%D%/models/stablelm-2-1.6b.yaml \
	%D%/models/stablelm-3b.yaml \
	%D%/models/starcoder2-3b.yaml \
	%D%/models/stories260k.yaml \
	%D%/models/t5-base.yaml \
	%D%/models/t5-small.yaml \
	%D%/models/tinyllama-1.1b.yaml \
	%D%/models/vit-base.yaml \
	%D%/models/wav2vec2-base.yaml \
	%D%/models/wav2vec2-base-960h.yaml \
	%D%/models/whisper-base.yaml \
	%D%/models/whisper-small.yaml \
	%D%/models/whisper-tiny.yaml \
	%D%/models/xclip.yaml
# What hardware needs of the system.
dist_profiles_DATA += %D%/doctor.yaml
