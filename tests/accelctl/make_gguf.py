# SPDX-License-Identifier: Apache-2.0
"""Converts a small checkpoint of a decoder to GGUF: names, keys and layouts as llama.cpp's converter has them.

make_gguf.py FOLDER OUT.gguf OTHER [KEY=VALUE | -KEY | qkv=one | windows=four | kv=one]...

KEY=VALUE writes a key behind the architecture and a dot, -KEY leaves one out; qkv=one writes queries, keys and values in
one matrix, as the first converters did; windows=four makes olmo3 of olmo2: a fourth layer, windows in three, YaRN in the
last; kv=one leaves keys and values of latent attention in one matrix, as older converters did. Needs the Python package gguf; exits with 77 where it is not installed. Where GGUF cannot state what config.json says
(experts' limit of gpt-oss, the layers without rotary positions of smollm3, the scale of scores of mpt, two weights of YaRN
in deepseek-v2), the folder is
written to OTHER with what GGUF implies, and converted from there; the last line printed is the folder that OUT.gguf
equals. 78: GGUF has no form of this model.
"""

import json
import math
import os
import shutil
import struct
import sys

try:
    import gguf
    import numpy
except ImportError as missing:
    print(f"the Python package {missing.name} is not installed")
    sys.exit(77)

F32 = numpy.float32


class NoForm(Exception):
    """GGUF cannot state the model."""


# ---- checkpoints ----


def read_tensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        raw = data[entry["data_offsets"][0] : entry["data_offsets"][1]]
        if entry["dtype"] == "BF16":
            values = (numpy.frombuffer(raw, numpy.uint16).astype(numpy.uint32) << 16).view(F32)
        else:
            values = numpy.frombuffer(raw, {"F32": F32, "F16": numpy.float16}[entry["dtype"]]).astype(F32)
        tensors[name] = values.reshape(entry["shape"])
    return tensors


def write_tensors(path, tensors):
    header, offset = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [offset, offset + values.nbytes]}
        offset += values.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for values in tensors.values():
            file.write(numpy.ascontiguousarray(values, F32).tobytes())


class Model:
    def __init__(self, folder):
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            self.config = json.load(file)
        self.folder = folder
        self.tensors = read_tensors(os.path.join(folder, "model.safetensors"))

    def first(self, *keys, default=None):
        for key in keys:
            if self.config.get(key) is not None:
                return self.config[key]
        return default

    @property
    def layers(self):
        return self.first("num_hidden_layers", "n_layer", "n_layers")

    @property
    def hidden(self):
        return self.first("hidden_size", "n_embd", "d_model")

    @property
    def heads(self):
        return self.first("num_attention_heads", "n_head", "n_heads")

    @property
    def kv_heads(self):
        return self.first("num_key_value_heads", default=self.heads)

    @property
    def head_size(self):
        return self.first("head_dim", default=self.hidden // self.heads)

    @property
    def rope(self):
        rope = self.first("rope_parameters", default={})
        return rope.get("full_attention", rope)


# ---- models that GGUF implies ----


def change_gpt_oss(model):
    if model.config["swiglu_limit"] == 7.0:
        return False
    model.config["swiglu_limit"] = 7.0
    return True


def add_layers(model):
    """Copies of the first layer make four."""
    for layer in range(model.layers, 4):
        for name in [name for name in model.tensors if ".layers.0." in name]:
            model.tensors[name.replace(".layers.0.", f".layers.{layer}.")] = model.tensors[name]
    model.config["num_hidden_layers"] = 4


def change_smollm3(model):
    """Every fourth layer has no rotary positions."""
    add_layers(model)
    model.config.update( no_rope_layers=[1, 1, 1, 0], layer_types=["full_attention"] * 4)
    return True


def change_mpt(model):
    if model.config["attn_config"].get("softmax_scale") is None:
        return False
    model.config["attn_config"]["softmax_scale"] = None
    return True


def change_deepseek(model):
    """Cosine and sine of YaRN have the weight of the scores."""
    rope = model.config["rope_parameters"]
    if rope.get("mscale") == rope.get("mscale_all_dim"):
        return False
    rope["mscale"] = rope["mscale_all_dim"]
    return True


def make_olmo3(model):
    add_layers(model)
    plain = {"rope_theta": 10000.0, "rope_type": "default"}
    scaled = {"rope_theta": 10000.0, "rope_type": "yarn", "factor": 4.0, "beta_fast": 2.0, "beta_slow": 0.5}
    model.config.update(
        model_type="olmo3",
        sliding_window=8,
        layer_types=["sliding_attention"] * 3 + ["full_attention"],
        rope_parameters={
            "full_attention": {**scaled, "original_max_position_embeddings": 32},
            "sliding_attention": plain,
        },
    )
    return True


CHANGES = {
    "gpt_oss": change_gpt_oss,
    "smollm3": change_smollm3,
    "mpt": change_mpt,
    "deepseek_v2": change_deepseek,
}


def write_other(model, folder):
    os.makedirs(folder, exist_ok=True)
    for name in ("generation_config.json", "fixture.json", "inputs.safetensors"):
        if os.path.exists(os.path.join(model.folder, name)):
            shutil.copy(os.path.join(model.folder, name), os.path.join(folder, name))
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(model.config, file, indent=1)
    write_tensors(os.path.join(folder, "model.safetensors"), model.tensors)
    model.folder = folder


# ---- names ----

LLAMA = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "model.layers.#.input_layernorm": "attn_norm",
    "model.layers.#.self_attn.q_proj": "attn_q",
    "model.layers.#.self_attn.k_proj": "attn_k",
    "model.layers.#.self_attn.v_proj": "attn_v",
    "model.layers.#.self_attn.qkv_proj": "attn_qkv",
    "model.layers.#.self_attn.o_proj": "attn_output",
    "model.layers.#.self_attn.q_norm": "attn_q_norm",
    "model.layers.#.self_attn.k_norm": "attn_k_norm",
    "model.layers.#.post_attention_layernorm": "ffn_norm",
    "model.layers.#.mlp.gate_proj": "ffn_gate",
    "model.layers.#.mlp.up_proj": "ffn_up",
    "model.layers.#.mlp.gate_up_proj": "ffn_up",
    "model.layers.#.mlp.down_proj": "ffn_down",
    "model.layers.#.mlp.gate": "ffn_gate_inp",
    "model.layers.#.mlp.experts.gate_proj": "ffn_gate_exps",
    "model.layers.#.mlp.experts.up_proj": "ffn_up_exps",
    "model.layers.#.mlp.experts.down_proj": "ffn_down_exps",
    "model.layers.#.mlp.shared_expert.gate_proj": "ffn_gate_shexp",
    "model.layers.#.mlp.shared_expert.up_proj": "ffn_up_shexp",
    "model.layers.#.mlp.shared_expert.down_proj": "ffn_down_shexp",
    "model.layers.#.mlp.shared_expert_gate": "ffn_gate_inp_shexp",
}
GEMMA2 = {
    "model.layers.#.post_attention_layernorm": "post_attention_norm",
    "model.layers.#.pre_feedforward_layernorm": "ffn_norm",
    "model.layers.#.post_feedforward_layernorm": "post_ffw_norm",
}
FALCON = {
    "transformer.word_embeddings": "token_embd",
    "transformer.word_embeddings_layernorm": "token_embd_norm",
    "transformer.ln_f": "output_norm",
    "transformer.h.#.input_layernorm": "attn_norm",
    "transformer.h.#.ln_attn": "attn_norm_2",
    "transformer.h.#.ln_mlp": "attn_norm",
    "transformer.h.#.post_attention_layernorm": "ffn_norm",
    "transformer.h.#.self_attention.query_key_value": "attn_qkv",
    "transformer.h.#.self_attention.dense": "attn_output",
    "transformer.h.#.mlp.dense_h_to_4h": "ffn_up",
    "transformer.h.#.mlp.dense_4h_to_h": "ffn_down",
}
OWN = {
    "gemma2": GEMMA2,
    "gemma3_text": GEMMA2,
    "olmo2": {
        "model.layers.#.post_attention_layernorm": "post_attention_norm",
        "model.layers.#.post_feedforward_layernorm": "post_ffw_norm",
    },
    "glm4": {
        "model.layers.#.post_self_attn_layernorm": "post_attention_norm",
        "model.layers.#.post_mlp_layernorm": "post_ffw_norm",
    },
    "phi": {
        "model.final_layernorm": "output_norm",
        "model.layers.#.self_attn.dense": "attn_output",
        "model.layers.#.mlp.fc1": "ffn_up",
        "model.layers.#.mlp.fc2": "ffn_down",
    },
    "starcoder2": {"model.layers.#.mlp.c_fc": "ffn_up", "model.layers.#.mlp.c_proj": "ffn_down"},
    "mixtral": {
        "model.layers.#.block_sparse_moe.gate": "ffn_gate_inp",
        "model.layers.#.mlp.experts.w1": "ffn_gate_exps",
        "model.layers.#.mlp.experts.w3": "ffn_up_exps",
        "model.layers.#.mlp.experts.w2": "ffn_down_exps",
    },
    "gpt_oss": {
        "model.layers.#.post_attention_layernorm": "post_attention_norm",
        "model.layers.#.self_attn.sinks": "attn_sinks",
        "model.layers.#.mlp.router": "ffn_gate_inp",
    },
    "deepseek_v2": {
        "model.layers.#.self_attn.q_a_proj": "attn_q_a",
        "model.layers.#.self_attn.q_a_layernorm": "attn_q_a_norm",
        "model.layers.#.self_attn.q_b_proj": "attn_q_b",
        "model.layers.#.self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa",
        "model.layers.#.self_attn.kv_a_layernorm": "attn_kv_a_norm",
        "model.layers.#.self_attn.kv_b_proj": "attn_kv_b",
        "model.layers.#.self_attn.k_b_proj": "attn_k_b",
        "model.layers.#.self_attn.v_b_proj": "attn_v_b",
        "model.layers.#.mlp.shared_experts.gate_proj": "ffn_gate_shexp",
        "model.layers.#.mlp.shared_experts.up_proj": "ffn_up_shexp",
        "model.layers.#.mlp.shared_experts.down_proj": "ffn_down_shexp",
    },
    "gpt2": {
        "transformer.wte": "token_embd",
        "transformer.wpe": "position_embd",
        "transformer.ln_f": "output_norm",
        "transformer.h.#.ln_1": "attn_norm",
        "transformer.h.#.attn.c_attn": "attn_qkv",
        "transformer.h.#.attn.c_proj": "attn_output",
        "transformer.h.#.ln_2": "ffn_norm",
        "transformer.h.#.mlp.c_fc": "ffn_up",
        "transformer.h.#.mlp.c_proj": "ffn_down",
    },
    "gpt_neox": {
        "gpt_neox.embed_in": "token_embd",
        "gpt_neox.final_layer_norm": "output_norm",
        "embed_out": "output",
        "gpt_neox.layers.#.input_layernorm": "attn_norm",
        "gpt_neox.layers.#.attention.query_key_value": "attn_qkv",
        "gpt_neox.layers.#.attention.dense": "attn_output",
        "gpt_neox.layers.#.post_attention_layernorm": "ffn_norm",
        "gpt_neox.layers.#.mlp.dense_h_to_4h": "ffn_up",
        "gpt_neox.layers.#.mlp.dense_4h_to_h": "ffn_down",
    },
    "falcon": FALCON,
    "bloom": FALCON,
    "mpt": {
        "transformer.wte": "token_embd",
        "transformer.norm_f": "output_norm",
        "transformer.blocks.#.norm_1": "attn_norm",
        "transformer.blocks.#.attn.Wqkv": "attn_qkv",
        "transformer.blocks.#.attn.out_proj": "attn_output",
        "transformer.blocks.#.norm_2": "ffn_norm",
        "transformer.blocks.#.ffn.up_proj": "ffn_up",
        "transformer.blocks.#.ffn.down_proj": "ffn_down",
    },
}

ARCHITECTURES = {
    "mistral": "llama",
    "mixtral": "llama",
    "gemma3_text": "gemma3",
    "phi": "phi2",
    "gpt_neox": "gptneox",
    "cohere": "command-r",
    "glm": "chatglm",
    "qwen2_moe": "qwen2moe",
    "qwen3_moe": "qwen3moe",
    "gpt_oss": "gpt-oss",
    "deepseek_v2": "deepseek2",
}

# The architectures whose rotary pairs are neighbours in GGUF and halves in config.json checkpoints.
PERMUTED = ("llama", "mistral", "mixtral", "granite", "smollm3")


def gguf_name(model, name):
    """Returns the name in GGUF and the layer, or None."""
    stem, suffix = name, ""
    for end in (".weight", ".bias"):
        if name.endswith(end):
            stem, suffix = name[: -len(end)], end
    words = stem.split(".")
    layer = next((int(word) for word in words if word.isdigit()), None)
    stem = ".".join("#" if word.isdigit() else word for word in words)
    own = OWN.get(model.config["model_type"], {})
    found = own.get(stem, LLAMA.get(stem))
    if found is None:
        raise NoForm(f"tensor {name} has no name in GGUF")
    if found == "attn_sinks":
        suffix = ".weight"
    return (found if layer is None else f"blk.{layer}.{found}") + suffix


# ---- layouts ----


def neighbours(values, heads):
    """Rows of each head that are halves of pairs become neighbours."""
    shape = values.shape
    return values.reshape(heads, 2, shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(shape)


def in_order(values, groups, shared, size):
    """Groups of `shared` queries, a key and a value become all queries, all keys, all values."""
    parts = values.reshape(groups, shared + 2, size, -1)
    rows = [parts[:, :shared], parts[:, shared : shared + 1], parts[:, shared + 1 :]]
    return numpy.concatenate([part.reshape(-1, parts.shape[-1]) for part in rows]).reshape(values.shape)


def stack_experts(model):
    """Tensors of single experts, and of heads with a norm each, become one."""
    stacks = {}
    for name in list(model.tensors):
        words = name.split(".")
        for word in ("experts", "norms"):
            if word not in words or not words[words.index(word) + 1].isdigit():
                continue
            place = words.index(word)
            number = int(words.pop(place + 1))
            joined = ".".join(words).replace("block_sparse_moe.experts", "mlp.experts")
            joined = joined.replace("q_layernorm.norms", "q_norm").replace("k_layernorm.norms", "k_norm")
            stacks.setdefault(joined, {})[number] = model.tensors.pop(name)
    for name, parts in stacks.items():
        model.tensors[name] = numpy.stack([parts[number] for number in range(len(parts))])


def split_gpt_oss(model):
    for name in [name for name in model.tensors if ".experts." in name]:
        values = model.tensors.pop(name)
        stem, suffix = (name[:-5], ".bias") if name.endswith("_bias") else (name, ".weight")
        if suffix == ".weight":
            values = values.swapaxes(1, 2)
        if stem.endswith("gate_up_proj"):
            stem = stem[: -len("gate_up_proj")]
            model.tensors[stem + "gate_proj" + suffix] = values[:, 0::2]
            model.tensors[stem + "up_proj" + suffix] = values[:, 1::2]
        else:
            model.tensors[stem + suffix] = values


def split_latent(model):
    """Keys, from queries to compressed ones, and values of latent attention."""
    size = model.config["qk_nope_head_dim"]
    for name in [name for name in model.tensors if ".kv_b_proj." in name]:
        values = model.tensors.pop(name)
        values = values.reshape(model.heads, -1, values.shape[-1])
        model.tensors[name.replace("kv_b", "k_b")] = values[:, :size].swapaxes(1, 2)
        model.tensors[name.replace("kv_b", "v_b")] = values[:, size:]


def rearrange(model, name, values):
    kind = model.config["model_type"]
    is_qkv = "query_key_value" in name
    if kind in PERMUTED and ".self_attn.q_proj." in name:
        return neighbours(values, model.heads)
    if kind in PERMUTED and ".self_attn.k_proj." in name:
        return neighbours(values, model.kv_heads)
    if kind.startswith("gemma") and name.endswith("norm.weight"):
        values = values + F32(1)
    if kind in ("gemma2", "gemma3_text"):
        # GGUF has no key for the scale of scores: what differs from the head size goes into the queries.
        scaled = ".q_norm." if kind == "gemma3_text" else ".q_proj."
        if scaled in name:
            values = values * F32(math.sqrt(model.head_size / model.config["query_pre_attn_scalar"]))
    if kind == "gpt2" and values.ndim == 2 and ".h." in name:
        return values.T
    if kind in ("bloom", "gpt_neox") and is_qkv:
        return in_order(values, model.heads, 1, model.head_size)
    if kind == "falcon" and is_qkv and model.config["new_decoder_architecture"]:
        groups = model.config["num_kv_heads"]
        return in_order(values, groups, model.heads // groups, model.head_size)
    return values


# ---- keys ----


def write_rope(model, writer):
    rope, kind = model.rope, model.config["model_type"]
    partial = rope.get("partial_rotary_factor", 1.0)
    dims = int(model.head_size * partial)
    writer.add_rope_freq_base(float(rope["rope_theta"]))
    writer.add_rope_dimension_count(dims)
    scaling = rope.get("rope_type", "default")
    if scaling == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rope["factor"])
    elif scaling == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(rope["factor"])
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        writer.add_rope_scaling_yarn_beta_fast(rope["beta_fast"])
        writer.add_rope_scaling_yarn_beta_slow(rope["beta_slow"])
        if kind == "deepseek_v2":
            writer.add_rope_scaling_yarn_log_mul(0.1 * rope["mscale_all_dim"])
    elif scaling == "llama3":
        inverse = rope["rope_theta"] ** (-numpy.arange(0, dims, 2, dtype=numpy.float64) / dims)
        wave = 2 * math.pi / inverse
        original, low, high = (
            rope["original_max_position_embeddings"],
            rope["low_freq_factor"],
            rope["high_freq_factor"],
        )
        smooth = (original / wave - low) / (high - low)
        between = 1 / ((1 - smooth) / rope["factor"] + smooth)
        divisors = numpy.where(wave < original / high, 1.0, numpy.where(wave > original / low, rope["factor"], between))
        writer.add_tensor("rope_freqs.weight", divisors.astype(F32))
    elif scaling == "longrope":
        original = rope["original_max_position_embeddings"]
        scale = model.config["max_position_embeddings"] / original
        writer.add_rope_scaling_orig_ctx_len(original)
        writer.add_rope_scaling_attn_factors(1.0 if scale <= 1 else math.sqrt(1 + math.log(scale) / math.log(original)))
        writer.add_tensor("rope_factors_long.weight", numpy.array(rope["long_factor"], F32))
        writer.add_tensor("rope_factors_short.weight", numpy.array(rope["short_factor"], F32))
    elif scaling != "default":
        raise NoForm(f"rotary positions of type {scaling}")
    sliding = model.config["rope_parameters"].get("sliding_attention")
    if kind == "gemma3_text" and sliding:
        writer.add_float32(f"{writer.arch}.rope.freq_base_swa", sliding["rope_theta"])


def write_norms(model, writer):
    epsilon = model.first("rms_norm_eps")
    if epsilon is not None:
        writer.add_layer_norm_rms_eps(epsilon)
    else:
        writer.add_layer_norm_eps(model.first("layer_norm_eps", "layer_norm_epsilon", "norm_epsilon"))


def write_experts(model, writer):
    config, kind = model.config, model.config["model_type"]
    experts = model.first("num_local_experts", "num_experts", "n_routed_experts")
    if experts is None:
        return
    writer.add_expert_count(experts)
    writer.add_expert_used_count(config["num_experts_per_tok"])
    if kind == "gpt_oss":
        writer.add_expert_feed_forward_length(config["intermediate_size"])
    if config.get("moe_intermediate_size"):
        writer.add_expert_feed_forward_length(config["moe_intermediate_size"])
    if config.get("shared_expert_intermediate_size"):
        writer.add_expert_shared_feed_forward_length(config["shared_expert_intermediate_size"])


def write_latent(model, writer, is_one):
    """The keys of latent attention: with one matrix the cache has all heads, else one head of compressed keys."""
    config = model.config
    if config.get("q_lora_rank"):
        writer.add_q_lora_rank(config["q_lora_rank"])
    latent, rotary = config["kv_lora_rank"], config["qk_rope_head_dim"]
    key, value = config["qk_nope_head_dim"] + rotary, config["v_head_dim"]
    writer.add_kv_lora_rank(latent)
    writer.add_head_count_kv(model.heads if is_one else 1)
    writer.add_key_length(key if is_one else latent + rotary)
    writer.add_value_length(value if is_one else latent)
    if not is_one:
        writer.add_key_length_mla(key)
        writer.add_value_length_mla(value)
    writer.add_leading_dense_block_count(config["first_k_dense_replace"])
    writer.add_expert_shared_count(config["n_shared_experts"])
    writer.add_expert_weights_scale(config["routed_scaling_factor"])
    writer.add_expert_weights_norm(config["norm_topk_prob"])
    if config["topk_method"] == "group_limited_greedy":
        writer.add_expert_group_count(config["n_group"])
        writer.add_expert_group_used_count(config["topk_group"])


def write_own(model, writer):
    """Writes the keys of single families."""
    config, kind = model.config, model.config["model_type"]
    if kind in ("gpt_neox", "stablelm"):
        writer.add_parallel_residual(config["use_parallel_residual"])
    if kind == "gemma2":
        writer.add_attn_logit_softcapping(config["attn_logit_softcapping"])
        writer.add_final_logit_softcapping(config["final_logit_softcapping"])
    if kind == "gemma3_text":
        writer.add_uint32(f"{writer.arch}.attention.sliding_window_pattern", 2)
    if kind == "cohere":
        writer.add_logit_scale(config["logit_scale"])
        writer.add_rope_scaling_type(gguf.RopeScalingType.NONE)
    if kind == "granite":
        writer.add_attention_scale(config["attention_multiplier"])
        writer.add_embedding_scale(config["embedding_multiplier"])
        writer.add_residual_scale(config["residual_multiplier"])
        writer.add_logit_scale(config["logits_scaling"])
    if kind == "mpt":
        writer.add_clamp_kqv(config["attn_config"]["clip_qkv"])
        writer.add_max_alibi_bias(float(config["attn_config"]["alibi_bias_max"]))
    if kind == "falcon":
        writer.add_tensor_data_layout("jploski")


def write_keys(model, writer, changes):
    config, kind = model.config, model.config["model_type"]
    kv_heads = model.kv_heads
    if kind == "falcon":
        kv_heads = config["num_kv_heads"] if config["new_decoder_architecture"] else 1
    writer.add_block_count(model.layers)
    writer.add_context_length(model.first("max_position_embeddings", "n_positions", "max_seq_len", default=2048))
    writer.add_embedding_length(model.hidden)
    writer.add_feed_forward_length(
        model.first("intermediate_size", "ffn_hidden_size", "n_inner", default=4 * model.hidden)
    )
    writer.add_head_count(model.heads)
    if kind == "deepseek_v2":
        write_latent(model, writer, "kv=one" in changes)
    else:
        writer.add_head_count_kv(kv_heads)
    if config.get("head_dim") and kind != "deepseek_v2":
        writer.add_key_length(config["head_dim"])
        writer.add_value_length(config["head_dim"])
    writer.add_vocab_size(config["vocab_size"])
    if config.get("sliding_window"):
        writer.add_sliding_window(config["sliding_window"])
    write_norms(model, writer)
    if "rope_parameters" in config:
        write_rope(model, writer)
    write_experts(model, writer)
    write_own(model, writer)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([f"<{number}>" for number in range(config["vocab_size"])])
    writer.add_token_scores([0.0] * config["vocab_size"])
    writer.add_token_types([1] * config["vocab_size"])


def change_keys(writer, changes):
    """Leaves keys out, and writes others; a value is a boolean, a whole number or a real one."""
    for change in changes:
        name, _, text = change.partition("=")
        if name.startswith("-"):
            for data in writer.kv_data:
                data.pop(f"{writer.arch}.{name[1:]}")
            continue
        key, value = f"{writer.arch}.{name}", json.loads(text)
        for data in writer.kv_data:
            data.pop(key, None)
        if isinstance(value, bool):
            writer.add_bool(key, value)
        elif isinstance(value, int):
            writer.add_uint32(key, value)
        else:
            writer.add_float32(key, value)


def join_qkv(model):
    """Queries, keys and values in one matrix, and their biases in one vector."""
    for name in [name for name in model.tensors if ".self_attn.q_proj." in name]:
        parts = [model.tensors.pop(name.replace("q_proj", f"{part}_proj")) for part in "qkv"]
        model.tensors[name.replace("q_proj", "qkv_proj")] = numpy.concatenate(parts)


def convert(model, path, changes):
    kind = model.config["model_type"]
    if kind == "falcon" and (model.config["alibi"] or not model.config["parallel_attn"]):
        raise NoForm("falcon with ALiBi, or with branches one after the other")
    if kind == "opt":
        raise NoForm("the architecture opt")
    writer = gguf.GGUFWriter(path, ARCHITECTURES.get(kind, kind))
    write_keys(model, writer, changes)
    change_keys(writer, [change for change in changes if change not in ("qkv=one", "windows=four", "kv=one")])
    if kind == "deepseek_v2" and "kv=one" not in changes:
        split_latent(model)
    if "qkv=one" in changes:
        join_qkv(model)
    stack_experts(model)
    if kind == "gpt_oss":
        split_gpt_oss(model)
    for name, values in model.tensors.items():
        values = rearrange(model, name, values)
        name = gguf_name(model, name)
        if name.endswith("ffn_gate_inp_shexp.weight"):
            values = values.reshape(-1)
        writer.add_tensor(name, numpy.ascontiguousarray(values, F32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main(arguments):
    if len(arguments) < 4:
        sys.exit("make_gguf.py FOLDER OUT.gguf OTHER [KEY=VALUE | -KEY | qkv=one | windows=four | kv=one]...")
    try:
        model = Model(arguments[1])
        change = make_olmo3 if "windows=four" in arguments else CHANGES.get(model.config["model_type"])
        if change is not None and change(model):
            write_other(model, arguments[3])
        if model.config["model_type"] == "olmo3":
            model.config["model_type"] = "olmo2"  # which GGUF calls it
        folder = model.folder
        convert(model, arguments[2], arguments[4:])
    except NoForm as lacking:
        print(f"{arguments[1]}: GGUF has no form of {lacking}")
        return 78
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
