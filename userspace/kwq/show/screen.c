// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/cmd.h"

static struct termios before;
static bool has_keys, entered;

bool screen_possible(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb");
}

void screen_enter(void)
{
	struct termios keys;

	/* Keys arrive one by one and are not echoed. Ctrl-C still sends a signal. */
	has_keys = !tcgetattr(STDIN_FILENO, &before);
	if (has_keys) {
		keys = before;
		keys.c_lflag &= ~(ICANON | ECHO);
		keys.c_cc[VMIN] = 1;
		keys.c_cc[VTIME] = 0;
		tcsetattr(STDIN_FILENO, TCSADRAIN, &keys);
	}
	/* Use the alternate screen, hide the cursor, and turn line wrapping off. */
	fputs("\033[?1049h\033[?25l\033[?7l", stdout);
	entered = true;
}

void screen_leave(void)
{
	if (!entered)
		return;
	entered = false;
	fputs("\033[?7h\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	if (has_keys)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

bool screen_has_keys(void)
{
	return has_keys;
}

void screen_size(unsigned int *rows, unsigned int *columns)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col)
		size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
	*rows = size.ws_row;
	*columns = size.ws_col;
}
