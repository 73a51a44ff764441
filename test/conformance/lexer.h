/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A scenario's text as statements, and a statement as words, numbers and signs. A statement is a line; lines that begin
 * with blanks continue it; '#' begins a comment. For one thread.
 */

#ifndef UROCE_TEST_LEXER_H
#define UROCE_TEST_LEXER_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#define LEXER_WORD_BYTES 32

struct lexer {
	const char *file;
	char *text;		/* the whole file */
	char *next;		/* start of the next statement */
	unsigned int next_line;
	unsigned int line;	/* line number of the statement */
	char *at;		/* position in the statement, which ends with a 0 */
	char word[LEXER_WORD_BYTES];
};

/** Read a file. Exits with a message on failure. */
void lexer_open(struct lexer *l, const char *file);
void lexer_close(struct lexer *l);
/** Go to the next statement. @return false: none is left */
bool lexer_statement(struct lexer *l);

/** Print "file:line: …" and exit: the statement is wrong, or does not match what happens. */
__rte_noreturn __rte_format_printf(2, 3)
void lexer_fail(const struct lexer *l, const char *format, ...);

/** Is the position at the statement's end? */
bool lexer_done(struct lexer *l);
/** Take this word or sign if it is next. */
bool lexer_take(struct lexer *l, const char *literal);
void lexer_need(struct lexer *l, const char *literal);
/** Take the next word, valid until the one after it; NULL if a word is not next. */
const char *lexer_word(struct lexer *l);
const char *lexer_need_word(struct lexer *l, const char *what);
/** Is a number next? */
bool lexer_is_number(struct lexer *l);
uint64_t lexer_number(struct lexer *l);
/** "10ms", "0.64ms" or "67us", in nanoseconds */
uint64_t lexer_duration(struct lexer *l);
/** Take the text up to a blank: an address. */
const char *lexer_text(struct lexer *l);
/** Take bytes as pairs of hexadecimal digits, up to a blank. @return their number */
uint32_t lexer_hex(struct lexer *l, uint8_t *bytes, uint32_t room);

#endif /* UROCE_TEST_LEXER_H */
