# SPDX-License-Identifier: Apache-2.0
"""schema.py SCHEMA FOLDER: every profile of the folder is valid, and documents with one mistake each are not."""
import json
import pathlib
import re
import sys

import jsonschema
import yaml


class Loader(yaml.SafeLoader):
    """YAML as editors read it: true and false, whole numbers, and text."""


Loader.yaml_implicit_resolvers = {}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(true|false)$"), list("tf"))
Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[0-9]+$"), list("0123456789"))

GOOD = """
accel-profile: 1
match: [device.kind == gpu, "driver.name in [cuda, rocm]"]
defaults: {weights.group: 128, kv.enabled: true, kv.type: f16, batch: 64 tok, kv.window: 128, cpu.isa: avx2}
rules:
  - {when: device.memory < 8GiB, set: {context: 2048tok}, because: small}
lock: [fallback.device]
later:
  - {set: {kernels.matmul.workgroup: 8x16, load.chunk: 4MiB}, because: browsers}
"""
BAD = {
    "no version": "about: x",
    "another version": "accel-profile: 2",
    "a misspelt section": "accel-profile: 1\ndefault: {}",
    "a misspelt setting": "accel-profile: 1\ndefaults: {kv.typ.k: f16}",
    "a word that a choice has not": "accel-profile: 1\ndefaults: {kv.type.k: f15}",
    "a number without its unit": "accel-profile: 1\ndefaults: {memory.budget: 64}",
    "the unit of something else": "accel-profile: 1\ndefaults: {batch: 64MiB}",
    "a number out of range": "accel-profile: 1\ndefaults: {attention.page: 100000}",
    "no flag": "accel-profile: 1\ndefaults: {cpu.pin: 2}",
    "no extent": "accel-profile: 1\nlater: [{set: {kernels.matmul.workgroup: 8xx}, because: x}]",
    "a setting that nothing honors yet": "accel-profile: 1\ndefaults: {kernels.matmul.workgroup: 8x8}",
    "a setting that is honored": "accel-profile: 1\nlater: [{set: {batch: 64tok}, because: x}]",
    "a value without its reason": "accel-profile: 1\ndefaults: {batch: {value: 64tok}}",
    "a rule without its reason": "accel-profile: 1\nrules: [{set: {batch: 64tok}}]",
    "a condition on no fact": "accel-profile: 1\nmatch: device.kin == gpu",
    "a condition without an operator": "accel-profile: 1\nmatch: device.kind gpu",
    "a lock of no setting": "accel-profile: 1\nlock: [fallback.devise]",
    "no fact": "accel-profile: 1\nfacts: {device.memry: {value: 8GB, because: x}}",
    "a fact without its unit": "accel-profile: 1\nfacts: {device.memory: 8}",
    "a variable without a reason": "accel-environment: 1\nvariables: {X: {key: batch}}",
    "a variable of no setting": "accel-environment: 1\nvariables: {X: {key: bach, because: x}}",
}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    failed = 0
    documents = [("the good one", yaml.load(GOOD, Loader))]
    for path in sorted(pathlib.Path(sys.argv[2]).rglob("*.yaml")):
        document = yaml.load(path.read_text(encoding="utf-8"), Loader)
        if "accel-profile" in document or "accel-environment" in document:
            documents.append((str(path), document))
    for name, document in documents:
        for error in validator.iter_errors(document):
            print(f"{name}: {list(error.absolute_path)}: {error.message[:300]}")
            failed = 1
    for name, text in BAD.items():
        if validator.is_valid(yaml.load(text, Loader)):
            print(f"the schema does not refuse {name}")
            failed = 1
    print(f"{len(documents) + len(BAD)} documents")
    return failed


sys.exit(main())
