/* SPDX-License-Identifier: Apache-2.0 */
/* Stores results as rows of a database, for comparing runs over time: doc/benchmark.md has the tables. One run is
 * one transaction. */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tools/accelctl/bench/bench.h"
#include "tools/accelctl/bench/results.h"

#ifdef HAVE_SQLITE
#include <sqlite3.h>

#define APPLICATION 0x61636362 /* "accb" */
#define SCHEMA_VERSION 1

static const char *const tables =
    "CREATE TABLE run (id INTEGER PRIMARY KEY, begun TEXT NOT NULL, version TEXT NOT NULL, processor TEXT, device TEXT,"
    " threads INTEGER, model TEXT, model_file TEXT, model_bytes INTEGER, settings TEXT, memory_read REAL,"
    " memory_copy REAL, clock_drift REAL, stolen REAL, others REAL, interrupted INTEGER NOT NULL, against TEXT);"
    "CREATE TABLE fact (run INTEGER NOT NULL REFERENCES run(id), key TEXT NOT NULL, value TEXT);"
    "CREATE TABLE sequence (run INTEGER NOT NULL REFERENCES run(id), name TEXT NOT NULL, kind TEXT NOT NULL,"
    " digit_bits INTEGER, rate REAL NOT NULL, median REAL NOT NULL);"
    "CREATE TABLE result (id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run(id), subject TEXT NOT NULL,"
    " name TEXT NOT NULL, prompt INTEGER, tokens INTEGER, depth INTEGER, sequences INTEGER, unit TEXT NOT NULL,"
    " value REAL, rounds INTEGER NOT NULL, least REAL, lower_quartile REAL, median REAL, upper_quartile REAL, most "
    "REAL,"
    " bytes REAL, multiply_adds REAL, bound TEXT, limit_name TEXT, limit_seconds REAL, fraction REAL, peer_median REAL,"
    " ratio REAL);"
    "CREATE TABLE sample (result INTEGER NOT NULL REFERENCES result(id), round INTEGER NOT NULL, seconds REAL NOT "
    "NULL);"
    "CREATE TABLE warning (run INTEGER NOT NULL REFERENCES run(id), text TEXT NOT NULL);"
    "CREATE INDEX result_name ON result (name, run);";

struct database {
    const struct bench *bench;
    sqlite3 *handle;
    uint32_t json; /* an error is a document of its own: no other one was printed before */
    int failed;    /* the first code that was not right */
};

/* Returns whether the failure is one of the disk, not of the file. */
static bool is_of_disk(const struct database *db)
{
    return (db->failed & 0xff) == SQLITE_FULL || (db->failed & 0xff) == SQLITE_IOERR;
}

/* Suggests why a write failed, since SQLite does not report it. */
static const char *disk_remedy(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        return "raise the limit on the size of files (ulimit -f), or free disk space";
    return "free disk space, or name a file on another disk";
}

static int refuse(const struct database *db, int exit_code, const char *what)
{
    return report_error_format(
        db->json, is_of_disk(db) ? EXIT_FAILED : exit_code, accel_error_name(ACCEL_E_IO),
        is_of_disk(db)                       ? disk_remedy()
        : (db->failed & 0xff) == SQLITE_BUSY ? "another program writes it: try again when that has ended"
                                             : "--sqlite requires a new file, or one that it has created",
        "%.300s: %.250s", db->bench->chosen->sqlite, what != NULL ? what : sqlite3_errmsg(db->handle));
}

static void do_all(struct database *db, const char *text)
{
    if (db->failed == SQLITE_OK)
        db->failed = sqlite3_exec(db->handle, text, NULL, NULL, NULL);
}

/* Returns the number that a statement answers, -1 on failure. */
static int64_t ask(struct database *db, const char *text)
{
    sqlite3_stmt *statement = NULL;
    int64_t answer = -1;

    if (sqlite3_prepare_v2(db->handle, text, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        answer = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return answer;
}

/* Opens the file and makes the tables if it is empty. Answers -1, or an exit code after an error has been printed. */
static int open_database(struct database *db)
{
    const char *path = db->bench->chosen->sqlite;
    char text[64];

    /* SQLite treats these names as temporary databases, which are deleted on close. */
    if (path[0] == '\0' || strcmp(path, ":memory:") == 0)
        return refuse(db, EXIT_INPUT, "names no file");
    if (sqlite3_open_v2(path, &db->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK)
        return refuse(db, EXIT_INPUT, NULL);
    sqlite3_busy_timeout(db->handle, 10000);
    do_all(db, "BEGIN IMMEDIATE");
    if (db->failed != SQLITE_OK)
        return refuse(db, EXIT_INPUT, NULL);
    if (ask(db, "PRAGMA schema_version") == 0) {
        do_all(db, tables);
        snprintf(text, sizeof(text), "PRAGMA application_id = %d; PRAGMA user_version = %d", APPLICATION,
                 SCHEMA_VERSION);
        do_all(db, text);
    }
    do_all(db, "COMMIT");
    if (db->failed != SQLITE_OK)
        return refuse(db, EXIT_INPUT, NULL);
    if (ask(db, "PRAGMA application_id") != APPLICATION)
        return refuse(db, EXIT_INPUT, "a database of something else");
    if (ask(db, "PRAGMA user_version") != SCHEMA_VERSION)
        return refuse(db, EXIT_INPUT, "was made by another version of accelctl bench");
    return -1;
}

/* Rows from the document ?1 of run ?2, whose first result is ?3. */
static const char *const inserts[] = {
    "INSERT INTO run (id, begun, version, processor, device, threads, model, model_file, model_bytes, settings,"
    " memory_read, memory_copy, clock_drift, stolen, others, interrupted, against)"
    " SELECT ?2, f->>'begun', f->>'version', f->>'processor', f->>'device', m->>'threads', f->>'model',"
    " f->>'model_file', f->>'model_bytes', f->>'settings', m->>'$.memory_read.most', m->>'$.memory_copy.most',"
    " m->>'clock_drift', ?1->>'$.noise.stolen', ?1->>'$.noise.others', ?1->>'interrupted', ?1->>'$.against.program'"
    " FROM (SELECT ?1->'facts' f, ?1->'machine' m)",
    "INSERT INTO fact SELECT ?2, key, value FROM json_each(?1, '$.facts.host')",
    "INSERT INTO sequence SELECT ?2, value->>'name', value->>'kind', value->>'digit_bits', value->>'$.rate.most',"
    " value->>'$.rate.median' FROM json_each(?1, '$.machine.sequences')",
    "INSERT INTO warning SELECT ?2, value FROM json_each(?1, '$.warnings')",
    "INSERT INTO result (id, run, subject, name, prompt, tokens, depth, sequences, unit, value, rounds, least,"
    " lower_quartile, median, upper_quartile, most, bytes, multiply_adds, bound, limit_name, limit_seconds, fraction,"
    " peer_median, ratio)"
    " SELECT ?3 + key, ?2, value->>'subject', value->>'name', value->>'prompt', value->>'tokens', value->>'depth',"
    " value->>'sequences', value->>'unit', value->>'value', value->>'$.time.count', value->>'$.time.least',"
    " value->>'$.time.lower_quartile', value->>'$.time.median', value->>'$.time.upper_quartile', value->>'$.time.most',"
    " value->>'bytes', (SELECT total(p.value) FROM json_each(r.value, '$.multiply_adds') p), value->>'bound',"
    " value->>'limit', value->>'limit_seconds', value->>'fraction', value->>'$.peer.median', value->>'ratio'"
    " FROM json_each(?1, '$.rows') r",
    "INSERT INTO sample SELECT ?3 + r.key, s.key, s.value"
    " FROM json_each(?1, '$.rows') r, json_each(r.value, '$.seconds') s",
};

static void insert_run(struct database *db, const json_t *document)
{
    const int64_t run = ask(db, "SELECT coalesce(max(id), 0) + 1 FROM run");
    const int64_t result = ask(db, "SELECT coalesce(max(id), 0) + 1 FROM result");
    char *text = json_dumps(document, JSON_COMPACT);

    if (db->failed == SQLITE_OK && (run < 0 || result < 0))
        db->failed = sqlite3_errcode(db->handle);
    if (db->failed == SQLITE_OK && text == NULL)
        db->failed = SQLITE_NOMEM;
    for (size_t i = 0; db->failed == SQLITE_OK && i < sizeof(inserts) / sizeof(*inserts); i++) {
        sqlite3_stmt *statement = NULL;

        if (sqlite3_prepare_v2(db->handle, inserts[i], -1, &statement, NULL) != SQLITE_OK ||
            sqlite3_bind_text(statement, 1, text, -1, SQLITE_STATIC) != SQLITE_OK) {
            db->failed = sqlite3_errcode(db->handle);
        } else {
            sqlite3_bind_int64(statement, 2, run);
            sqlite3_bind_int64(statement, 3, result); /* not in all of them */
            if (sqlite3_step(statement) != SQLITE_DONE)
                db->failed = sqlite3_errcode(db->handle);
        }
        sqlite3_finalize(statement);
    }
    free(text);
}

int bench_sqlite_check(const struct bench *bench)
{
    struct database db = {.bench = bench, .json = bench->chosen->common.json};
    bool was_there = bench->chosen->sqlite != NULL && access(bench->chosen->sqlite, F_OK) == 0;
    int code = bench->chosen->sqlite == NULL ? -1 : open_database(&db);

    sqlite3_close(db.handle);
    /* Removes a new file that has no tables, since it is of no use. */
    if (code >= 0 && !was_there && is_of_disk(&db))
        unlink(bench->chosen->sqlite);
    return code;
}

/* Appends a run. The results have been printed already, so an error goes to the error output as text. */
int bench_sqlite_append(const struct bench *bench, const json_t *document)
{
    struct database db = {.bench = bench};
    int code = open_database(&db);

    if (code < 0) {
        do_all(&db, "BEGIN IMMEDIATE");
        insert_run(&db, document);
        do_all(&db, "COMMIT");
        if (db.failed != SQLITE_OK)
            code = refuse(&db, EXIT_FAILED, NULL);
    }
    sqlite3_close(db.handle);
    return code;
}
#else
int bench_sqlite_check(const struct bench *bench)
{
    if (bench->chosen->sqlite == NULL)
        return -1;
    return report_error_text(bench->chosen->common.json, EXIT_USAGE, accel_error_name(ACCEL_E_UNSUPPORTED),
                             "bench: this build has no SQLite, which --sqlite writes with",
                             "install libsqlite3-dev, configure and build again; or --json");
}

int bench_sqlite_append(const struct bench *bench, const json_t *document)
{
    (void)document;
    return bench_sqlite_check(bench);
}
#endif
