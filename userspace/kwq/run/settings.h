/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * kwq run --config: options that may change while kwq run runs, from a file.
 */
#ifndef KWQ_SETTINGS_H
#define KWQ_SETTINGS_H

#include <stdio.h>

#include "worker.h"

/* Room for the text of an error, with the NUL. */
enum { SETTINGS_WHY = 512 };

/**
 * settings_parse() - reads settings from an open file
 * @options: receives the settings; undefined after an error
 * @file: lines "NAME VALUE" or "NAME = VALUE"; empty lines and lines that begin with # are
 *	ignored
 * @name: the name of the file, for @why
 * @why: receives the text of an error
 *
 * Return: 0, -EINVAL for a line that is wrong, or the error of a read.
 */
int settings_parse(struct run_options *options, FILE *file, const char *name,
		   char why[SETTINGS_WHY]);

/**
 * settings_read() - as settings_parse(), from a file by its name
 * @options: as in settings_parse()
 * @path: the file
 * @why: as in settings_parse()
 *
 * Return: as settings_parse(), or the negative errno value of a file that cannot be opened.
 */
int settings_read(struct run_options *options, const char *path, char why[SETTINGS_WHY]);

/**
 * settings_jobs() - parses the value of --jobs
 * @text: the value
 * @jobs: receives the number of jobs
 * @why: receives the text of an error, which names --jobs
 *
 * Return: 0, -EINVAL or -ERANGE.
 */
int settings_jobs(const char *text, unsigned int *jobs, char why[SETTINGS_WHY]);

#endif /* KWQ_SETTINGS_H */
