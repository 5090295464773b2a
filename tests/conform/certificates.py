#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""certificates.py BUILD REPORT.json...: tables of doc/certificates.md from what `accel-conform DRIVER.so --json` printed.

The first table has a row for each report of a complete run. The second has, for each operator, the tests that each device
passed of those that the kit has: of an operator with weights or caches there is one for each type. Tests that a device
does not claim, or cannot run, are named below with the reason that the driver or the kit gave.
"""
import json
import sys
import textwrap

# Groups of tests that are about the interface and no operator.
INTERFACE = ("file", "life", "layout", "slot", "options", "memory", "leaks", "manners", "threads", "module", "weights",
             "refused", "step", "timeline", "whole", "sets", "pairs", "misuse", "short", "steps")
PASSED = "passed"


def read(path):
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    if "tests" not in report:
        sys.exit("certificates.py: %s: is no report of accel-conform --json" % path)
    return report


def group_of(test):
    return test["test"].split("/")[0]


def name_of(report):
    return "`%s` on %s" % (report["driver"], report["name"].strip())


def print_runs(build, reports):
    print("| driver | device, software | passed | known | failed | not claimed | cases | seed | build |")
    print("|---|---|---|---|---|---|---|---|---|")
    for r in reports:
        print("| `%s` | %s, %s | %d | %d | %d | %d | %d | %d | %s |"
              % (r["driver"], r["name"].strip(), r["detail"].strip(), r["passed"], r["expected"], r["failed"],
                 r["unclaimed"], r["cases"], r["seed"], build))


def print_operators(reports):
    groups = []
    for test in reports[0]["tests"]:
        if group_of(test) not in groups and group_of(test) not in INTERFACE:
            groups.append(group_of(test))
    print("\n| operator | tests | %s |" % " | ".join(name_of(r) for r in reports))
    print("|---|---|%s" % ("---|" * len(reports)))
    for group in groups:
        cells = []
        for r in reports:
            tests = [t for t in r["tests"] if group_of(t) == group]
            passed = sum(t["state"] == PASSED for t in tests)
            cells.append("all" if passed == len(tests) else str(passed))
        total = sum(group_of(t) == group for t in reports[0]["tests"])
        print("| %s | %d | %s |" % (group, total, " | ".join(cells)))


def print_others(reports):
    for r in reports:
        reasons = {}
        for test in r["tests"]:
            if test["state"] != PASSED:
                group, name = test["test"].split("/", 1)
                reasons.setdefault((test["state"], test["text"]), {}).setdefault(group, []).append(name)
        for (state, text), groups in reasons.items():
            print("\n%s, %s (%s):" % (name_of(r), state, text))
            for names in dict.fromkeys(tuple(n) for n in groups.values()):
                alike = [g for g in groups if tuple(groups[g]) == names]
                line = "- %s: %s" % (", ".join("`%s`" % g for g in alike), ", ".join(names))
                print("\n".join(textwrap.wrap(line, 118, subsequent_indent="  ", break_on_hyphens=False)))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    reports = [read(path) for path in sys.argv[2:]]
    print_runs(sys.argv[1], reports)
    print_operators(reports)
    print_others(reports)


main()
