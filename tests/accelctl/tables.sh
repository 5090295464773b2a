#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accelctl claims and accelctl matrix as text, JSON and HTML: whole, filtered, into a file that is never half written.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

count()
{
    grep -oF -- "$1" "$2" | wc -l | tr -d ' '
}

# claims: every row of the table, each filter, arithmetic beside the documents' number
try 0 "$accelctl" claims
is "$(grep -c '^Z' "$work/out")" 97 "claims in text"
has "estimated: 87.5 %, ours 86.7 %"
try 0 "$accelctl" claims --verdict rejected --subject kv
is "$(grep -c '^Z' "$work/out")" 5 "rejected claims on kv"
has "Z6.b"
has "rule: The verdict follows from"
try 0 "$accelctl" claims --all --subject weights
has "estimated: 100 * (1 - (2 + 16 / 128) / 16)"
has "claims.yaml:"
try 0 "$accelctl" claims --json
is "$(count '"verdict"' "$work/out")" 97 "claims in JSON"
is "$(value claims.0.id)" Z1.a "first claim"
is "$(value claims.0.ours)" 86.7 "our number"
is "$(value claims.0.origin.ours)" "estimated: 100 * (1 - (2 + 16 / 128) / 16)" "its origin"
value rule | grep -q "at most 5 %" || fail "the document has no rule"
is "$(value schema)" accelctl/claims/1 "schema"
try 0 "$accelctl" claims --format html --out "$work/claims.html"
is "$(count '<tr><th scope' "$work/claims.html")" 97 "claims in HTML"
is "$(count '&lt;1 %' "$work/claims.html")" 1 "what HTML reserves is escaped"
try 2 "$accelctl" claims --verdict wrong
one_error "--verdict requires claimed, estimated, measured or rejected, not 'wrong'"
try 2 "$accelctl" claims --format pdf
one_error "--format requires text, json or html"
try 2 "$accelctl" claims --out "$work/x"
one_error "--out requires --format"

# matrix: 95 cells of the documents, and a row of the host's own device for each model
try 0 "$accelctl" matrix --json
is "$(count '"rating"' "$work/out")" 95 "cells of the documents"
is "$(value cells.0.rating)" high "first rating"
is "$(value cells.0.because)" S0:15 "its line"
is "$(value cells.7.platform)" cpu "the host's device"
try 0 "$accelctl" matrix --table D3
is "$(grep -c ', client ' "$work/out")" 4 "browsers"
has "no device here; a plan needs "
try 0 "$accelctl" matrix --table D1
has "no rating"
try 0 "$accelctl" matrix --table D1 --json
is "$(value cells.0.host.verdict)" absent "a platform without a device"
is "$(value cells.7.host.verdict)" refused "a family that does not run"
has 'has no implementation here; it would fit: needs '
is "$(value cells.23.row)$(value cells.23.platform)" "Medium (1B-7B)cpu" "the processors' row"
is "$(value cells.23.host.needed | tr -d '0-9')" "" "its bytes"
for format in html json; do
    try 1 sh -c 'ulimit -f 8; exec "$@"' sh "$accelctl" matrix --format $format --out "$work/large"
    [ $format = json ] || one_error "large: File too large"
    grep -q 'ulimit -f' "$work/out" "$work/err" || fail "no remedy of a limit on files"
    [ "$(find "$work" -name 'large*')" = "" ] || fail "a part of a file is left"
done
try 2 "$accelctl" matrix --table D9
one_error "--table requires D1, D2, D3 or D4, not"
try 0 "$accelctl" matrix --recommended
is "$(grep -c '^D' "$work/out")" 3 "tables of recommendations"
try 0 "$accelctl" matrix --recommended --json
is "$(count '"subject"' "$work/out")" 18 "recommendations"

# of a recorded machine: devices that are not here fit or not, and nothing is said to run
try 0 "$accelctl" matrix --table D1 --json --host "$src/tests/topologies/server-8-gpus.json"
is "$(value cells.16.platform)$(value cells.16.host.verdict)" cudafits "a recorded device"
is "$(value cells.17.host.verdict)" absent "a platform that the recorded machine has not"

# a page: one document, balanced, no other file needed
try 0 "$accelctl" matrix --format html --out "$work/matrix.html"
page=$work/matrix.html
for tag in table thead tbody; do is "$(count "<$tag>" "$page")" "$(count "</$tag>" "$page")" "ends of $tag"; done
is "$(count '<tr>' "$page")" "$(count '</tr>' "$page")" "ends of rows"
is "$(count '<td>' "$page")" "$(count '</td>' "$page")" "ends of cells"
is "$(count '<table>' "$page")" 4 "tables"
is "$(grep -cE '(src|href)=' "$page")" 0 "other files"
is "$(count 'Tiny (&lt;100M)' "$page")" 1 "what HTML reserves is escaped"

# a file is replaced as a whole or not at all, and nothing is left beside it
mkdir "$work/pages" && echo "<!-- old -->" >"$work/pages/page.html"
try 0 "$accelctl" matrix --table D4 --format html --out "$work/pages/page.html"
is "$(ls "$work/pages")" page.html "files in the folder"
is "$(head -c 9 "$work/pages/page.html")" "<!DOCTYPE" "the new page"
try 1 "$accelctl" claims --format html --out "$work/nowhere/page.html"
one_error "nowhere/page.html"
try 2 "$accelctl" claims --format html --out "$work/pages"
is "$(ls "$work" | grep -c 'pages\.')" 0 "files left beside a folder"

# a run of a row's model on this very device is a measurement, once there is one
cp -R "$src/profiles" "$work/measured" && chmod -R u+w "$work/measured"
sed -i "s#model: bert-tiny#model: $q8#" "$work/measured/compat.yaml"
XDG_STATE_HOME=$work/state
export XDG_STATE_HOME
try 0 "$accelctl" matrix --table D1 --json --profiles "$work/measured"
is "$(value cells.7.host.verdict)" fits "a model that runs, and has not yet"
try 0 "$accelctl" run "$q8" --prompt Once --tokens 40 --ignore-end
try 0 "$accelctl" matrix --table D1 --json --profiles "$work/measured"
is "$(value cells.7.host.verdict)" measured "a model that has run"
has '"tokens_per_second": '

# a table that is wrong is an error with its place
cp -R "$src/profiles" "$work/profiles" && chmod -R u+w "$work/profiles"
sed -i 's/ours: "86.7"/ours: "88.7"/' "$work/profiles/claims.yaml"
try 3 "$accelctl" claims --profiles "$work/profiles"
one_error "claims.yaml:"
grep -q 'the formula gives 86.7188, not 88.7' "$work/err" || fail "the formula is not named"
rm "$work/profiles/claims.yaml"
try 3 "$accelctl" matrix --profiles "$work/profiles"
one_error "claims.yaml"
# Advice names claims, and leaves their verdicts to the rule.
grep -nE 'Z[0-9]+(\.[a-z0-9]+)?,? (is|was|are) (rejected|measured|estimated|claimed)' "$src/profiles/advice.yaml" && fail "advice.yaml has a verdict"
for claim in $(grep -oE '\bZ[0-9]+(\.[a-z0-9]+)?' "$src/profiles/advice.yaml" | sort -u); do
    checks=$((checks + 1))
    grep -q "^  - id: $claim\$" "$src/profiles/claims.yaml" || fail "advice.yaml names the claim $claim, which is none"
done
finish
