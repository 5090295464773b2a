/* SPDX-License-Identifier: Apache-2.0 */
/* Stores results as rows of a database, for comparing runs over time: doc/benchmark.md has the tables. One run is
 * one transaction. */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
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
    char text[600];

    snprintf(text, sizeof(text), "%.300s: %.250s", db->bench->chosen->sqlite,
             what != NULL ? what : sqlite3_errmsg(db->handle));
    return report_error_text(db->json, is_of_disk(db) ? EXIT_FAILED : exit_code, accel_error_name(ACCEL_E_IO), text,
                             is_of_disk(db) ? disk_remedy()
                             : (db->failed & 0xff) == SQLITE_BUSY
                                 ? "another program writes it: try again when that has ended"
                                 : "--sqlite requires a new file, or one that it has created");
}

static void do_all(struct database *db, const char *text)
{
    if (db->failed == SQLITE_OK)
        db->failed = sqlite3_exec(db->handle, text, NULL, NULL, NULL);
}

/* Returns the number that a pragma answers, -1 on failure. */
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

/* Binds a member of a document by its type; an absent one is NULL. */
static void bind(sqlite3_stmt *statement, int at, const json_t *value)
{
    if (json_is_string(value))
        sqlite3_bind_text(statement, at, json_string_value(value), -1, SQLITE_TRANSIENT);
    else if (json_is_integer(value))
        sqlite3_bind_int64(statement, at, json_integer_value(value));
    else if (json_is_real(value))
        sqlite3_bind_double(statement, at, json_real_value(value));
    else if (json_is_boolean(value))
        sqlite3_bind_int64(statement, at, json_is_true(value));
}

/* Inserts one row of values; `parent`, unless it is 0, comes first. Answers its id. */
static int64_t insert(struct database *db, const char *text, int64_t parent, json_t *const *values, int count)
{
    sqlite3_stmt *statement = NULL;

    if (db->failed == SQLITE_OK)
        db->failed = sqlite3_prepare_v2(db->handle, text, -1, &statement, NULL);
    if (db->failed != SQLITE_OK)
        return 0;
    if (parent != 0)
        sqlite3_bind_int64(statement, 1, parent);
    for (int i = 0; i < count; i++)
        bind(statement, i + 1 + (parent != 0), values[i]);
    if (sqlite3_step(statement) != SQLITE_DONE)
        db->failed = sqlite3_errcode(db->handle);
    sqlite3_finalize(statement);
    return sqlite3_last_insert_rowid(db->handle);
}

/* Returns the member at "a.b"; NULL if there is none. */
static json_t *at(const json_t *object, const char *path)
{
    char name[64];
    const char *dot = strchr(path, '.');

    if (dot == NULL)
        return json_object_get(object, path);
    snprintf(name, sizeof(name), "%.*s", (int)(dot - path), path);
    return at(json_object_get(object, name), dot + 1);
}

#define VALUES(list) list, (int)(sizeof(list) / sizeof(*list))

static int64_t insert_run(struct database *db, const json_t *d)
{
    json_t *const values[] = {at(d, "facts.begun"),
                              at(d, "facts.version"),
                              at(d, "facts.processor"),
                              at(d, "facts.device"),
                              at(d, "machine.threads"),
                              at(d, "facts.model"),
                              at(d, "facts.model_file"),
                              at(d, "facts.model_bytes"),
                              at(d, "facts.settings"),
                              at(d, "machine.memory_read.most"),
                              at(d, "machine.memory_copy.most"),
                              at(d, "machine.clock_drift"),
                              at(d, "noise.stolen"),
                              at(d, "noise.others"),
                              at(d, "interrupted"),
                              at(d, "against.program")};

    return insert(db,
                  "INSERT INTO run (begun, version, processor, device, threads, model, model_file, model_bytes,"
                  " settings, memory_read, memory_copy, clock_drift, stolen, others, interrupted, against)"
                  " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                  0, VALUES(values));
}

static void insert_result(struct database *db, int64_t run, const json_t *row)
{
    double products = 0;
    const char *key;
    json_t *value, *sum;
    int64_t result;
    size_t i;

    json_object_foreach(at(row, "multiply_adds"), key, value) products += json_number_value(value);
    sum = json_real(products);
    {
        json_t *const values[] = {at(row, "subject"),
                                  at(row, "name"),
                                  at(row, "prompt"),
                                  at(row, "tokens"),
                                  at(row, "depth"),
                                  at(row, "sequences"),
                                  at(row, "unit"),
                                  at(row, "value"),
                                  at(row, "time.count"),
                                  at(row, "time.least"),
                                  at(row, "time.lower_quartile"),
                                  at(row, "time.median"),
                                  at(row, "time.upper_quartile"),
                                  at(row, "time.most"),
                                  at(row, "bytes"),
                                  sum,
                                  at(row, "bound"),
                                  at(row, "limit"),
                                  at(row, "limit_seconds"),
                                  at(row, "fraction"),
                                  at(row, "peer.median"),
                                  at(row, "ratio")};

        result = insert(db,
                        "INSERT INTO result (run, subject, name, prompt, tokens, depth, sequences, unit, value, rounds,"
                        " least, lower_quartile, median, upper_quartile, most, bytes, multiply_adds, bound, limit_name,"
                        " limit_seconds, fraction, peer_median, ratio)"
                        " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                        run, VALUES(values));
    }
    json_decref(sum);
    json_array_foreach(at(row, "seconds"), i, value)
    {
        json_t *const values[] = {json_integer((json_int_t)i), value};

        insert(db, "INSERT INTO sample (result, round, seconds) VALUES (?,?,?)", result, VALUES(values));
        json_decref(values[0]);
    }
}

static void insert_facts(struct database *db, int64_t run, const json_t *document)
{
    const char *key;
    json_t *value;
    size_t i;

    json_object_foreach(at(document, "facts.host"), key, value)
    {
        json_t *const values[] = {json_string(key), value};

        insert(db, "INSERT INTO fact (run, key, value) VALUES (?,?,?)", run, VALUES(values));
        json_decref(values[0]);
    }
    json_array_foreach(at(document, "machine.sequences"), i, value)
    {
        json_t *const values[] = {at(value, "name"), at(value, "kind"), at(value, "digit_bits"), at(value, "rate.most"),
                                  at(value, "rate.median")};

        insert(db, "INSERT INTO sequence (run, name, kind, digit_bits, rate, median) VALUES (?,?,?,?,?,?)", run,
               VALUES(values));
    }
    json_array_foreach(at(document, "warnings"), i, value)
        insert(db, "INSERT INTO warning (run, text) VALUES (?,?)", run, &value, 1);
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
    const json_t *row;
    int64_t run;
    size_t i;
    int code = open_database(&db);

    if (code < 0) {
        do_all(&db, "BEGIN IMMEDIATE");
        run = insert_run(&db, document);
        insert_facts(&db, run, document);
        json_array_foreach(json_object_get(document, "rows"), i, row) insert_result(&db, run, row);
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
