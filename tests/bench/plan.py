#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plan.py ACCELCTL MODEL...: how long `accelctl plan MODEL` takes, with the caches that earlier calls left: the median,
the least and the most of 20 calls after three, in milliseconds from the start of the process to its end, for an empty
history of runs and for one of 340 KiB: lines of one run of the first MODEL that is a file, some of them renamed."""
import json, os, statistics, subprocess, sys, tempfile, time

CALLS, BEFORE, HISTORY = 20, 3, 340 << 10


def measure(program, model):
    times = []
    for call in range(BEFORE + CALLS):
        begin = time.perf_counter()
        end = subprocess.run([program, 'plan', model], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        times.append(1e3 * (time.perf_counter() - begin))
        if end.returncode not in (0, 5):
            sys.exit(f'plan.py: accelctl plan {model}: exit status {end.returncode}')
    return times[BEFORE:]


def fill_history(program, models, path):
    """Returns whether there is a model to run."""
    files = [model for model in models if os.path.exists(model)]
    if not files:
        return False
    subprocess.run([program, 'run', files[0], '-q', '-n', '17', '--prompt', 'Once'], stdout=subprocess.DEVNULL, check=True)
    line = open(path, encoding='utf-8').read().splitlines()[-1]
    record = json.loads(line)
    other = json.dumps({**record, 'model': 'another ' + record['model']}, separators=(',', ':'), ensure_ascii=False)
    with open(path, 'w', encoding='utf-8') as out:
        while out.tell() < HISTORY:
            out.write(line + '\n' + other + '\n')
    return True


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program, models = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as state:
        os.environ['XDG_STATE_HOME'] = state
        print('| model | history | median, ms | least | most | load |\n|---|---|---|---|---|---|')
        for history in 'empty', '340 KiB':
            if history != 'empty' and not fill_history(program, models, f'{state}/accel/history.jsonl'):
                break
            for model in models:
                times = measure(program, model)
                print(f'| {os.path.basename(model)} | {history} | {statistics.median(times):.1f} | {min(times):.1f} '
                      f'| {max(times):.1f} | {os.getloadavg()[0]:.1f} |')


main()
