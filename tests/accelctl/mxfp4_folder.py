# SPDX-License-Identifier: Apache-2.0
"""Writes a checkpoint of gpt-oss as it is published, experts in MXFP4, and the same values in BF16.

mxfp4_folder.py FOLDER OUT PLAIN

FOLDER is a small checkpoint in BF16. Its experts become wider, since rows of MXFP4 are whole blocks of 32: rows and
columns repeat. OUT has blocks and scales [experts, rows, ...]; PLAIN has what they mean, transposed as in FOLDER.
"""

import json
import math
import os
import shutil
import struct
import sys

LEVELS = [0, 0.5, 1, 1.5, 2, 3, 4, 6]


def read_tensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    header.pop("__metadata__", None)
    return {
        name: (entry["dtype"], entry["shape"], data[entry["data_offsets"][0] : entry["data_offsets"][1]])
        for name, entry in header.items()
    }


def write_folder(source, folder, tensors, config):
    os.makedirs(folder)
    for name in ("generation_config.json", "fixture.json", "inputs.safetensors"):
        if os.path.exists(os.path.join(source, name)):
            shutil.copy(os.path.join(source, name), folder)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    header, offset = {}, 0
    for name, (kind, shape, data) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


def values_of(data):
    return [struct.unpack("<f", b"\0\0" + data[i : i + 2])[0] for i in range(0, len(data), 2)]


def bytes_of(values):
    """BF16 of values that it holds exactly."""
    packed = b"".join(struct.pack("<f", value) for value in values)
    assert all(packed[i : i + 2] == b"\0\0" for i in range(0, len(packed), 4))
    return b"".join(packed[i + 2 : i + 4] for i in range(0, len(packed), 4))


def encode(block):
    """Returns scale, codes and values of 32 numbers."""
    most = max(abs(value) for value in block)
    exponent = 0 if most == 0 else math.floor(math.log2(most)) - 2
    codes, values = [], []
    for value in block:
        size = abs(value) / 2.0**exponent
        code = min(range(8), key=lambda level: abs(LEVELS[level] - size))
        codes.append(code | (8 if value < 0 else 0))
        values.append(math.copysign(LEVELS[code] * 2.0**exponent, value))
    return exponent + 127, codes, values


def widen(count, wanted, step):
    """Indexes of rows that repeat, `step` of them as one."""
    return [i // step % (count // step) * step + i % step for i in range(wanted)]


def convert(name, tensor, packed, plain):
    """An expert matrix [experts, inputs, outputs]."""
    _, (experts, inputs, outputs), data = tensor
    values = values_of(data)
    is_gate = name.endswith("gate_up_proj")
    columns = widen(outputs, 2 * WIDE, 2) if is_gate else range(outputs)
    rows = range(inputs) if is_gate else widen(inputs, WIDE, 1)
    blocks, scales, meant = bytearray(), bytearray(), []
    for expert in range(experts):
        lines = []
        for column in columns:
            line = []
            row = [values[(expert * inputs + i) * outputs + column] for i in rows]
            for at in range(0, len(row), 32):
                scale, codes, again = encode(row[at : at + 32])
                scales.append(scale)
                blocks += bytes(codes[i] | codes[i + 1] << 4 for i in range(0, 32, 2))
                line += again
            lines.append(line)
        meant += [line[i] for i in range(len(rows)) for line in lines]
    groups = len(rows) // 32
    packed[name + "_blocks"] = ("U8", [experts, len(columns), groups, 16], bytes(blocks))
    packed[name + "_scales"] = ("U8", [experts, len(columns), groups], bytes(scales))
    plain[name] = ("BF16", [experts, len(rows), len(columns)], bytes_of(meant))


WIDE = 64


def main(folder, out, other):
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    packed, plain = {}, {}
    for name, tensor in read_tensors(os.path.join(folder, "model.safetensors")).items():
        if name.endswith("experts.gate_up_proj") or name.endswith("experts.down_proj"):
            convert(name, tensor, packed, plain)
            continue
        if name.endswith("experts.gate_up_proj_bias"):
            kind, (experts, outputs), data = tensor
            places = widen(outputs, 2 * WIDE, 2)
            data = b"".join(
                data[2 * (e * outputs + i) : 2 * (e * outputs + i) + 2] for e in range(experts) for i in places
            )
            tensor = (kind, [experts, len(places)], data)
        packed[name] = plain[name] = tensor
    config["intermediate_size"] = WIDE
    write_folder(folder, other, plain, config)
    config["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]}
    write_folder(folder, out, packed, config)


if __name__ == "__main__":
    main(*sys.argv[1:])
