#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Accuracy tools through the command: what it prints, and what it says of tables that are none.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

table=$src/tests/fixtures/scores/synthetic.csv
try 0 "$accelctl" scores --top-k 2 "$table"
has "56 rows of 24 responses"
has "AUC 0.8438 of responses, 0.8021 of rows"
has "5 folds of whole responses, 10 shuffles, seed 1"
has "1960 points, 336 that can differ"
has "ensemble-vote"
cp "$work/out" "$work/first"
try 0 "$accelctl" scores --top-k 2 "$table"
cmp "$work/out" "$work/first" || fail "two runs differ"
try 0 "$accelctl" scores --columns --seed 2 --folds 3 --repeats 2 "$table"
has "seed 2"
has "PK_2, the last"
try 0 "$accelctl" scores --json --top-n 1 --top-k 1 "$table"
is "$(value baseline.auc_responses)" 0.875 "AUC of (1, 1)"
is "$(value held_out.seed)" 1 "seed in JSON"
is "$(value gains.0.tool)" grid "first tool"

printf 'response,label,ES_0\n1,0,0.5\n2,1,x\n' >"$work/bad.csv"
try 3 "$accelctl" scores "$work/bad.csv"
one_error "bad.csv:3:5: expected a number"
try 3 "$accelctl" scores --folds 9 "$table"
one_error "9 folds: 2 to 8"
try 3 "$accelctl" scores --external XX --parametric YY "$table"
one_error "no column of scores"
try 3 "$accelctl" scores "$src/README.md"
one_error "README.md:1:1: no column is called 'response'"
grep -q "^  remedy: .*(accelctl scores: --group, --label, --external, --parametric)$" "$work/err" || fail "no remedy for a text"
try 3 "$accelctl" scores "$work/none.csv"
one_error "none.csv"
try 3 "$accelctl" scores --json "$work/none.csv"
is "$(value error.exit)" 3 "exit status in JSON"

# The published table, where it is here.
real=${ACCEL_SHARED_FIXTURES:-}/../data/redeep_kaggle.csv
if [ -r "$real" ]; then
    try 0 "$accelctl" scores --repeats 2 "$real"
    has "AUC 0.6885 of responses, 0.5985 of rows"
    has "0.6885 to 0.7090 +0.0204"
else
    echo "skipped: redeep_kaggle.csv is not here"
fi
finish
