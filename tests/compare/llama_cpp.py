# SPDX-License-Identifier: Apache-2.0
"""Compares GGUF files of decoder fixtures in accelctl and in llama.cpp: greedy tokens, and logits of the case `single`.

llama_cpp.py ACCELCTL LLAMA_CPP MAKE_GGUF FIXTURE [CHANGE...]

LLAMA_CPP is the program of llama_cpp.c, MAKE_GGUF is tests/accelctl/make_gguf.py, whose arguments CHANGE are. Needs the
packages gguf and numpy. Differences are the largest one of all logits beside the largest logit. Where MAKE_GGUF changes the
model, the reference is accelctl on the changed folder, or on the file itself with a CHANGE of keys.
"""

import json
import os
import struct
import subprocess
import sys
import tempfile

import numpy


def read(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    types = {"F32": numpy.float32, "I64": numpy.int64}
    return {
        name: numpy.frombuffer(data[slice(*entry["data_offsets"])], types[entry["dtype"]]).reshape(entry["shape"])
        for name, entry in header.items()
        if name != "__metadata__" and entry["dtype"] in types
    }


def call(*words):
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    return done.returncode, done.stdout, done.stderr


def trace(accelctl, work, model, ids):
    """Logits of accelctl for all of the tokens, or its error."""
    values = numpy.array([ids], numpy.int64)
    entry = {"dtype": "I64", "shape": list(values.shape), "data_offsets": [0, values.nbytes]}
    header = json.dumps({"c.input_ids": entry}).encode()
    header += b" " * (-len(header) % 8)
    with open(f"{work}/in", "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header + values.tobytes())
    status, _, text = call(accelctl, "trace", model, "--in", f"{work}/in", "--out", f"{work}/out")
    if status != 0:
        sys.exit(text)
    return read(f"{work}/out")["c.logits"][0]


def theirs(program, work, model, ids, count):
    """Logits and greedy tokens of llama.cpp, or its error."""
    status, text, error = call(program, model, f"{work}/logits", str(count), *map(str, ids))
    if status != 0:
        sys.exit(f"llama.cpp refuses the file:\n{error}")
    logits = numpy.fromfile(f"{work}/logits", numpy.float32).reshape(len(ids), -1)
    return logits, [int(word) for word in text.split()]


def difference(values, right):
    return float(numpy.abs(values - right).max() / numpy.abs(right).max())


def main(accelctl, program, make_gguf, fixture, *changes):
    with tempfile.TemporaryDirectory() as work:
        file = f"{work}/model.gguf"
        status, text, error = call(sys.executable, make_gguf, fixture, file, f"{work}/other", *changes)
        if status != 0:
            sys.exit(text + error)
        folder = text.splitlines()[-1]
        if any(change[0] == "-" or change.split("=")[0] not in ("qkv", "kv", "windows") for change in changes):
            folder = file
        with open(os.path.join(fixture, "fixture.json"), encoding="utf-8") as text:
            generate = json.load(text)["generate"]
        prompt, greedy = generate["prompt_ids"], generate["greedy_ids"]
        single = [int(token) for token in read(os.path.join(fixture, "inputs.safetensors"))["single.input_ids"][0]]
        right = read(os.path.join(fixture, "expected.safetensors"))["single.logits"][0]
        if folder != fixture:
            right = trace(accelctl, work, folder, single)
            for at in range(len(greedy)):
                greedy[at] = int(trace(accelctl, work, folder, prompt + greedy[:at])[-1].argmax())
        ours = trace(accelctl, work, file, single)
        own = trace(accelctl, work, file, prompt + greedy[:-1])[len(prompt) - 1 :].argmax(-1).tolist()
        logits, _ = theirs(program, work, file, single, 0)
        _, tokens = theirs(program, work, file, prompt, len(greedy))
        print(f"accelctl: greedy tokens {'equal' if own == greedy else 'differ'}, logits {difference(ours, right):.1e}")
        print(f"llama.cpp: greedy tokens {'equal' if tokens == greedy else 'differ'}, logits {difference(logits, right):.1e}")


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
