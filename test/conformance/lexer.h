/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A scenario's text as statements, and a statement as words, numbers and signs. A statement is a line;
 * lines that begin with blanks continue it; '#' begins a comment. One thread.
 */

#ifndef UROCE_TEST_LEXER_H
#define UROCE_TEST_LEXER_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#define LEXER_WORD_BYTES 32

struct lexer {
	const char *file;
	char *text;		/* of the file */
	char *next;		/* where the next statement begins */
	unsigned int next_line;
	unsigned int line;	/* of the statement */
	char *at;		/* within the statement, which ends with a 0 */
	char word[LEXER_WORD_BYTES];
};

/** Read a file. Exits with a message when it cannot. */
void lexer_open(struct lexer *l, const char *file);
void lexer_close(struct lexer *l);
/** Go to the next statement. False: there is none. */
bool lexer_statement(struct lexer *l);

/** "file:line: …", and exit: what the script says is wrong, or is not what happens. */
__rte_noreturn __rte_format_printf(2, 3)
void lexer_fail(const struct lexer *l, const char *format, ...);

/** Is the statement at its end? */
bool lexer_done(struct lexer *l);
/** Take this word or sign, if it comes next. */
bool lexer_take(struct lexer *l, const char *literal);
void lexer_need(struct lexer *l, const char *literal);
/** Take a word, valid until the next one, if one comes next; else NULL. */
const char *lexer_word(struct lexer *l);
const char *lexer_need_word(struct lexer *l, const char *what);
/** Does a number come next? */
bool lexer_is_number(struct lexer *l);
uint64_t lexer_number(struct lexer *l);
/** "10ms", "0.64ms", "67us": nanoseconds */
uint64_t lexer_duration(struct lexer *l);
/** Anything up to a blank: an address. */
const char *lexer_text(struct lexer *l);
/** Bytes as pairs of hexadecimal digits, up to a blank. @return how many */
uint32_t lexer_hex(struct lexer *l, uint8_t *bytes, uint32_t room);

#endif /* UROCE_TEST_LEXER_H */
