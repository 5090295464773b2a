#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# float_folder.py SOURCE TARGET FORMAT: copies a folder of safetensors in F32 with the matrices of its layers as floats
# of 8 or 4 bits and scales in tensors of their own, as a checkpoint of FORMAT stores them: nvfp4, mxfp4
# (compressed-tensors), nvfp4-modelopt, fp8 (a scale for a row), fp8-block, e5m2 (a scale for a matrix). nvfp4-experts
# makes a mixture of it: four experts that differ by powers of two, two for a token. FORMAT-values: what the codes and
# scales of an nvfp4 format are, in F32.
import json
import math
import os
import shutil
import struct
import sys

E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6]


def float8_table(exponent_bits, mantissa_bits, codes):
    bias, table = (1 << (exponent_bits - 1)) - 1, []
    for code in range(codes):
        exponent, mantissa = code >> mantissa_bits, code & ((1 << mantissa_bits) - 1)
        fraction = mantissa / (1 << mantissa_bits)
        table.append(math.ldexp(fraction + (exponent > 0), max(exponent, 1) - bias))
    return table


E4M3 = float8_table(4, 3, 0x7F)
E5M2 = float8_table(5, 2, 0x7C)


def nearest(table, value):
    low, high = 0, len(table) - 1
    while low < high:
        middle = (low + high) // 2
        if table[middle] < value:
            low = middle + 1
        else:
            high = middle
    if low > 0 and value - table[low - 1] < table[low] - value:
        low -= 1
    return low


def codes_of(values, table, scale, sign):
    return [nearest(table, abs(v) / scale if scale else 0) | (sign if v < 0 else 0) for v in values]


def weights_of(bits, kind, size, strategy):
    weights = {"num_bits": bits, "type": kind, "symmetric": True, "strategy": strategy, "group_size": size}
    return {"targets": ["Linear"], "weights": weights}


CONFIGS = {
    "nvfp4": {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized",
              "config_groups": {"group_0": weights_of(4, "float", 16, "tensor_group")}},
    "mxfp4": {"quant_method": "compressed-tensors", "format": "mxfp4-pack-quantized",
              "config_groups": {"group_0": weights_of(4, "float", 32, "group")}},
    "nvfp4-modelopt": {"quant_method": "modelopt", "quant_algo": "NVFP4"},
    "fp8": {"quant_method": "fbgemm_fp8"},
    "fp8-block": {"quant_method": "fp8", "weight_block_size": [32, 32]},
    "e5m2": {"quant_method": "fp8"},
}


def pack_fours(values, width, group, power_of_two, unit):
    """Returns codes and scales of groups of a row; `unit` is what one stored scale of 1 multiplies."""
    codes, scales = bytearray(), bytearray()
    for at in range(0, len(values), group):
        part = values[at:at + group]
        wanted = max(abs(v) for v in part) / 6
        if power_of_two:
            exponent = math.ceil(math.log2(wanted)) if wanted else 0
            scales.append(exponent + 127)
            scale = 2.0 ** exponent
        else:
            scales.append(max(nearest(E4M3, wanted / unit), 0x08))
            scale = E4M3[scales[-1]] * unit
        four = codes_of(part, E2M1, scale, 8)
        codes += bytes(four[i] | four[i + 1] << 4 for i in range(0, group, 2))
    return bytes(codes), bytes(scales)


def pack_eights(values, rows, width, table, block):
    """Returns codes and scales in F32, each for `block` rows and columns."""
    lines, groups = -(-rows // block[0]), -(-width // block[1])
    most = [0.0] * (lines * groups)
    for i, v in enumerate(values):
        at = i // width // block[0] * groups + i % width // block[1]
        most[at] = max(most[at], abs(v))
    scales = [struct.unpack("<f", struct.pack("<f", m / table[-1] if m else 1))[0] for m in most]
    codes = bytearray()
    for i, v in enumerate(values):
        scale = scales[i // width // block[0] * groups + i % width // block[1]]
        codes.append(nearest(table, abs(v) / scale) | (0x80 if v < 0 else 0))
    return bytes(codes), struct.pack("<%df" % len(scales), *scales), [lines, groups]


EXPERTS = {"mlp.gate_proj": "w1", "mlp.up_proj": "w3", "mlp.down_proj": "w2"}


def experts_of(name, shape, values):
    """Returns the matrices that a mixture has in the place of one, and a router in that of its first."""
    for part, short in EXPERTS.items():
        if part in name:
            base = name.split("mlp.")[0] + "block_sparse_moe."
            rows = [("%sexperts.%d.%s.weight" % (base, e, short), shape, [v * 2.0 ** (1 - e) for v in values])
                    for e in range(4)]
            if short == "w1":
                router = [math.sin(0.7 * i * i + len(base)) for i in range(4 * shape[1])]
                rows.append((base + "gate.weight", [4, shape[1]], router))
            return rows
    return [(name, shape, values)]


def convert(name, shape, values, form):
    """Returns the tensors of a matrix, by name: type, shape, bytes."""
    rows, width = shape
    base = name[:-len(".weight")]
    if form.startswith(("nvfp4", "mxfp4")):
        group = 32 if form == "mxfp4" else 16
        unit = max(abs(v) for v in values) / (6 * 448)
        unit = struct.unpack("<f", struct.pack("<f", unit))[0]
        codes, scales = pack_fours(values, width, group, form == "mxfp4", unit)
        if form.endswith("-values"):
            levels = E2M1 + [-level for level in E2M1]
            halves = [levels[code >> shift & 15] for code in codes for shift in (0, 4)]
            values = [v * E4M3[scales[i // group]] * unit for i, v in enumerate(halves)]
            return {name: ("F32", shape, struct.pack("<%df" % len(values), *values))}
        end = ".weight" if form == "nvfp4-modelopt" else ".weight_packed"
        tensors = {base + end: ("U8", [rows, width // 2], codes),
                   base + ".weight_scale": ("U8" if form == "mxfp4" else "F8_E4M3", [rows, width // group], scales)}
        if form in ("nvfp4", "nvfp4-experts"):
            tensors[base + ".weight_global_scale"] = ("F32", [1], struct.pack("<f", 1 / unit))
        if form == "nvfp4-modelopt":
            tensors[base + ".weight_scale_2"] = ("F32", [], struct.pack("<f", unit))
        return tensors
    block = {"fp8": (1, width), "fp8-block": (32, 32), "e5m2": (rows, width)}[form]
    codes, scales, shape_of_scales = pack_eights(values, rows, width, E5M2 if form == "e5m2" else E4M3, block)
    end = ".weight_scale_inv" if form == "fp8-block" else ".weight_scale"
    return {name: ("F8_E5M2" if form == "e5m2" else "F8_E4M3", [rows, width], codes),
            base + end: ("F32", [] if form == "e5m2" else shape_of_scales, scales)}


def main():
    source, target, form = sys.argv[1:]
    os.makedirs(target, exist_ok=True)
    for file in os.listdir(source):
        if file.startswith("tokenizer"):
            shutil.copyfile(os.path.join(source, file), os.path.join(target, file))
    with open(os.path.join(source, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    if not form.endswith("-values"):
        config["quantization_config"] = CONFIGS[form.replace("-experts", "")]
    if "-experts" in form:
        config.update(model_type="mixtral", architectures=["MixtralForCausalLM"], num_local_experts=4,
                      num_experts_per_tok=2)
    with open(os.path.join(target, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    with open(os.path.join(source, "model.safetensors"), "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    head, body, out = json.loads(data[8:8 + size]), data[8 + size:], {}
    head.pop("__metadata__", None)
    for name, row in head.items():
        raw, shape = body[row["data_offsets"][0]:row["data_offsets"][1]], row["shape"]
        if len(shape) != 2 or ".layers." not in name:
            out[name] = (row["dtype"], shape, raw)
            continue
        values = struct.unpack("<%df" % (len(raw) // 4), raw)
        for part in experts_of(name, shape, values) if "-experts" in form else [(name, shape, values)]:
            if shape[1] % 32 == 0 and not part[0].endswith("moe.gate.weight"):
                out.update(convert(*part, form))
            else:
                out[part[0]] = ("F32", part[1], struct.pack("<%df" % len(part[2]), *part[2]))
    table, at = {}, 0
    for name, (dtype, shape, raw) in out.items():
        table[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(raw)]}
        at += len(raw)
    text = json.dumps(table).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(target, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(raw for _, _, raw in out.values()))


main()
