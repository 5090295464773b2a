# SPDX-License-Identifier: Apache-2.0
"""Folders in the layout of GPTQ in an unmodified reader of that layout, the Python package gptqmodel.

gptq_reader.py make FOLDER                 writes a small random llama; 77 where the reader is not installed
gptq_reader.py check FOLDER...            the reader's values of every packed matrix of each, against FOLDER.safetensors
"""

import json
import os
import sys

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "attention_bias": False,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "hidden_act": "silu",
    "hidden_size": 256,
    "intermediate_size": 512,
    "max_position_embeddings": 128,
    "mlp_bias": False,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "dtype": "float16",
    "vocab_size": 96,
}


def make(folder):
    import torch
    from safetensors.torch import save_file

    generator = torch.Generator().manual_seed(5)
    hidden, inner, heads = CONFIG["hidden_size"], CONFIG["intermediate_size"], CONFIG["hidden_size"] // 2
    shapes = {"model.embed_tokens.weight": (96, hidden), "lm_head.weight": (96, hidden)}
    tensors = {"model.norm.weight": torch.ones(hidden, dtype=torch.float16)}
    for layer in range(CONFIG["num_hidden_layers"]):
        stem = f"model.layers.{layer}."
        for name, shape in {
            "self_attn.q_proj": (hidden, hidden),
            "self_attn.k_proj": (heads, hidden),
            "self_attn.v_proj": (heads, hidden),
            "self_attn.o_proj": (hidden, hidden),
            "mlp.gate_proj": (inner, hidden),
            "mlp.up_proj": (inner, hidden),
            "mlp.down_proj": (hidden, inner),
        }.items():
            shapes[f"{stem}{name}.weight"] = shape
        for name in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"{stem}{name}.weight"] = torch.ones(hidden, dtype=torch.float16)
    for name, shape in shapes.items():
        tensors[name] = (torch.randn(shape, generator=generator) * 0.05).to(torch.float16)
    os.makedirs(folder)
    save_file(tensors, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
    words = {f"w{number}": number for number in range(CONFIG["vocab_size"])}
    texts = {
        "config.json": CONFIG,
        "tokenizer.json": {
            "version": "1.0",
            "added_tokens": [],
            "pre_tokenizer": {"type": "Whitespace"},
            "model": {"type": "WordLevel", "vocab": words, "unk_token": "w0"},
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": "w1",
            "eos_token": "w2",
            "pad_token": "w2",
            "unk_token": "w0",
        },
    }
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(text, file)


def check(folder):
    import gptqmodel
    import torch
    from gptqmodel import BACKEND, GPTQModel
    from safetensors.torch import load_file

    model = GPTQModel.load(folder, device="cpu", backend=BACKEND.GPTQ_TORCH, dtype=torch.float16)
    ours = load_file(folder + ".safetensors")
    compared, worst, equal, values = 0, 0.0, 0, 0
    for name, module in model.model.named_modules():
        if not hasattr(module, "qweight"):
            continue
        theirs = module.dequantize_weight().T.to(torch.float32)
        mine = ours[f"{name}.weight"]
        if theirs.shape != mine.shape:
            sys.exit(f"{name}: {tuple(theirs.shape)}, not {tuple(mine.shape)}")
        # The reader multiplies in halves: half a unit in the last place of the product.
        bound = mine.abs() * 2.0**-11 + 2.0**-25
        difference = (theirs - mine).abs()
        if not bool((difference <= bound).all()):
            sys.exit(f"{name}: differs by {float((difference - bound).max())} more than rounding")
        worst = max(worst, float(difference.max()))
        equal += int((theirs == mine.to(torch.float16).to(torch.float32)).sum())
        values += mine.numel()
        compared += 1
    if compared != 7 * CONFIG["num_hidden_layers"]:
        sys.exit(f"{compared} packed matrices")
    ids = torch.arange(1, 9).unsqueeze(0)
    with torch.no_grad():
        logits = model.model(input_ids=ids).logits
    if not bool(torch.isfinite(logits).all()):
        sys.exit("the reader's model gives scores that are not finite")
    print(
        f"{os.path.basename(folder)}: gptqmodel {gptqmodel.__version__}, torch {torch.__version__}: {compared} matrices, {equal} of {values} values "
        f"are ours rounded to a half, largest difference {worst:.3g}"
    )


def main():
    if len(sys.argv) < 3:
        sys.exit(2)
    if sys.argv[1] == "make":
        try:
            import gptqmodel  # noqa: F401
            import safetensors.torch  # noqa: F401
        except ImportError as missing:
            print(f"no reader: {missing}")
            sys.exit(77)
        make(sys.argv[2])
    else:
        for folder in sys.argv[2:]:
            check(folder)


main()
