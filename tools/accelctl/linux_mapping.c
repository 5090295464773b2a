/* SPDX-License-Identifier: Apache-2.0 */
/* Parses lines of /proc/self/maps: "begin-end rights offset device inode path", numbers in hexadecimal. */
#include "config.h"

#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "tools/accelctl/mapping.h"

/* State of the parser, which reads a line one character after the other. */
struct line {
    uintptr_t begin, end;
    unsigned field; /* words before this one */
    bool after_dash, in_gap;
    size_t length; /* of the path */
};

static unsigned hex_value(char c)
{
    return c >= 'a' ? (unsigned)(c - 'a') + 10 : (unsigned)(c - '0');
}

static void take(struct line *line, char c, char *path, size_t bytes)
{
    if (line->field < 5 && c == ' ') {
        line->field += !line->in_gap;
        line->in_gap = true;
        return;
    }
    line->in_gap = false;
    if (line->field == 0 && c == '-')
        line->after_dash = true;
    else if (line->field == 0 && line->after_dash)
        line->end = line->end << 4 | hex_value(c);
    else if (line->field == 0)
        line->begin = line->begin << 4 | hex_value(c);
    else if (line->field == 5 && c == ' ' && line->length == 0)
        return;
    else if (line->field == 5 && line->length + 1 < bytes)
        path[line->length++] = c;
}

bool mapped_file(const void *address, char *path, size_t bytes)
{
    const uintptr_t at = (uintptr_t)address;
    struct line line = {0};
    char piece[1024];
    bool found = false;
    ssize_t got;
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

    if (maps < 0)
        return false;
    while (!found && (got = read(maps, piece, sizeof(piece))) > 0) {
        for (ssize_t i = 0; i < got && !found; i++) {
            if (piece[i] != '\n') {
                take(&line, piece[i], path, bytes);
                continue;
            }
            found = at >= line.begin && at < line.end && line.length != 0 && path[0] == '/';
            path[line.length] = '\0';
            if (!found)
                line = (struct line){0};
        }
    }
    close(maps);
    return found;
}
