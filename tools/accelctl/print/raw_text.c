/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/print/raw_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/accelctl/clean_text.h"
#include "tools/accelctl/output.h"

static void print_cleaned(const char *text)
{
    while (*text != '\0') {
        const size_t plain = strcspn(text, "\n\t");
        char *piece = malloc(2 * plain + 1);

        if (piece == NULL)
            return;
        memcpy(piece + plain, text, plain);
        piece[2 * plain] = '\0';
        /* Cleans in place: the result is never longer than the text, and is written behind the position that is
         * read. */
        fputs(clean_text(piece + plain, piece, plain + 1), output());
        free(piece);
        text += plain;
        if (*text != '\0')
            fputc(*text++, output());
    }
}

void print_raw_text(const char *text)
{
    if (!isatty(output_file())) {
        fputs(text, output());
        return;
    }
    print_cleaned(text);
    fputc('\n', output());
}
