// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * U5: the control socket of kwq run: its folder, and messages that are no requests.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "kwq/control/control.h"
#include "kwq/control/control_address.h"
#include "kwq/control/runtime_folder.h"
#include "tap.h"

static char top[32];

static void must(int ret)
{
	if (ret < 0) {
		perror("# unit-control");
		exit(1);
	}
}

/* ---- The folder ----------------------------------------------------------- */

/* All candidates, with spaces between them. */
static const char *folders(uid_t uid, const char *runtime_directory, const char *xdg)
{
	static char text[4 * RUNTIME_FOLDER_SIZE];
	const struct runtime_environment env = { runtime_directory, xdg };
	char one[RUNTIME_FOLDER_SIZE];
	unsigned int i;

	text[0] = '\0';
	for (i = 0; i < RUNTIME_FOLDERS; i++) {
		if (!runtime_folder(one, i, uid, &env))
			continue;
		strcat(text, one);
		strcat(text, " ");
	}
	return text;
}

static void test_folders(void)
{
	char long_one[5000];

	is_string(folders(0, NULL, NULL), "/run/kwq /tmp/kwq-0 ", "folders of root");
	is_string(folders(7, NULL, NULL), "/tmp/kwq-7 ", "of a user");
	is_string(folders(7, "/run/a:/run/b", "/run/user/7"), "/run/a /run/user/7/kwq /tmp/kwq-7 ",
		  "of a service, and of a session");
	is_string(folders(7, "", "relative"), "/tmp/kwq-7 ", "a path that is not absolute is none");
	memset(long_one, 'x', sizeof(long_one));
	long_one[0] = '/';
	long_one[sizeof(long_one) - 1] = '\0';
	is_string(folders(7, long_one, long_one), "/tmp/kwq-7 ", "nor one that is too long");
}

static void test_open(void)
{
	struct stat st;
	int fd;

	is_number(runtime_folder_open("f", geteuid(), false), -ENOENT, "a folder that is not there");
	fd = runtime_folder_open("f", geteuid(), true);
	ok(fd >= 0, "is made");
	must(fstat(fd, &st));
	is_number(st.st_mode & 0777, 0700, "for its user only");
	close(fd);
	fd = runtime_folder_open("f", geteuid(), true);
	ok(fd >= 0, "and used again");
	close(fd);
	is_number(runtime_folder_open("f", geteuid() + 1, false), -EPERM, "another user's is not used");
	must(chmod("f", 0770));
	is_number(runtime_folder_open("f", geteuid(), true), -EPERM, "nor one that others can write to");
	must(rmdir("f"));
	must(symlink("/tmp", "f"));
	ok(runtime_folder_open("f", geteuid(), true) < 0, "nor a link");
	must(unlink("f"));
}

/* ---- Messages ------------------------------------------------------------- */

/* Sends bytes, with @nr descriptors. */
static void send_to(const struct control *control, const void *bytes, size_t len, const int *fds,
		    size_t nr)
{
	union {
		struct cmsghdr aligned;
		char space[CMSG_SPACE(4 * sizeof(int))];
	} extras = { 0 };
	struct iovec part = { (void *)bytes, len };
	struct sockaddr_un address;
	struct msghdr header = {
		.msg_name = &address,
		.msg_namelen = sizeof(address),
		.msg_iov = &part,
		.msg_iovlen = 1,
	};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	control_address(&address, control->folder, control->name);
	if (nr) {
		header.msg_control = &extras;
		header.msg_controllen = CMSG_SPACE(nr * sizeof(int));
		extras.aligned.cmsg_level = SOL_SOCKET;
		extras.aligned.cmsg_type = SCM_RIGHTS;
		extras.aligned.cmsg_len = CMSG_LEN(nr * sizeof(int));
		memcpy(CMSG_DATA(&extras.aligned), fds, nr * sizeof(int));
	}
	must(sendmsg(fd, &header, 0));
	close(fd);
}

static int count_descriptors(void)
{
	int fd, nr = 0;

	for (fd = 0; fd < 200; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

/* As a worker that was killed does. And makes a file that is none of ours. */
static void leave_socket(void)
{
	const struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "kwq/run-0" };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	must(bind(fd, (const struct sockaddr *)&address, sizeof(address)));
	close(fd);
	fd = open("kwq/other", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	must(fd);
	close(fd);
}

static void test_messages(void)
{
	struct {
		struct control_request request;
		char key[KWQ_KEY_MAX + 1];
	} sent = {
		.request = { .size = sizeof(sent.request), .ticket = 7, .key_len = 3 },
		.key = "key",
	};
	size_t len = sizeof(sent.request) + 3;
	struct control_message message;
	struct control_reply reply;
	struct control control;
	int pair[2], four[4], open_before, other;

	must(setenv("XDG_RUNTIME_DIR", top, 1));
	must(unsetenv("RUNTIME_DIRECTORY"));
	control_open(&control);
	if (!ok(control.fd >= 0, "the socket opens"))
		return;
	ok(!access("kwq", F_OK), "in the folder of the session");
	is_number(control_receive(&control, &message), 0, "no message");
	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair));
	open_before = count_descriptors();

	send_to(&control, &sent, len, &pair[1], 1);
	is_number(control_receive(&control, &message), 1, "a request");
	ok(message.request.ticket == 7 && !memcmp(message.key, "key", 3), "with its key");
	control_reply(message.reply, -ESTALE, NULL, 0);
	close(message.reply);
	is_number(read(pair[0], &reply, sizeof(reply)), sizeof(reply), "has a reply");
	is_number(reply.err, -ESTALE, "with its error");

	send_to(&control, "x", 1, &pair[1], 1);
	is_number(control_receive(&control, &message), -EPROTO, "one byte");
	is_number(read(pair[0], &reply, sizeof(reply)), sizeof(reply), "is refused with a reply");
	is_number(reply.err, -EPROTO, "that says so");
	send_to(&control, &sent, len, NULL, 0);
	is_number(control_receive(&control, &message), -EPROTO, "a request without a way to reply");
	sent.request.key_len = 4;
	send_to(&control, &sent, len, &pair[1], 1);
	is_number(control_receive(&control, &message), -EPROTO, "a key that is shorter than it says");
	sent.request.key_len = UINT32_MAX;
	send_to(&control, &sent, len, &pair[1], 1);
	is_number(control_receive(&control, &message), -EPROTO, "or longer than any");
	sent.request.key_len = 3;
	sent.request.size++;
	send_to(&control, &sent, len, &pair[1], 1);
	is_number(control_receive(&control, &message), -EPROTO, "another version");
	sent.request.size--;
	sent.request.key_len = sizeof(sent.key);
	send_to(&control, &sent, sizeof(sent), &pair[1], 1);
	is_number(control_receive(&control, &message), -EPROTO, "a key that is too long");
	for (other = 0; other < 4; other++)
		four[other] = pair[1];
	sent.request.key_len = 3;
	send_to(&control, &sent, len, four, 4);
	if (control_receive(&control, &message) > 0)
		close(message.reply);
	is_number(count_descriptors(), open_before, "no descriptor stays open");

	/* A reply to a pipe, or to nobody, does no harm. */
	control_reply(-1, 0, NULL, 0);
	close(pair[0]);
	control_reply(pair[1], 0, NULL, 0);
	close(pair[1]);

	leave_socket();
	control_close(&control);
	control_open(&control);
	ok(access("kwq/run-0", F_OK), "a socket without a worker is removed");
	ok(!access("kwq/other", F_OK), "other files stay");
	control_close(&control);
	is_number(control.fd, -1, "the socket is closed");
	control_close(&control);
	must(unlink("kwq/other"));
	is_number(rmdir("kwq"), 0, "and its name is gone");
}

int main(void)
{
	snprintf(top, sizeof(top), "/tmp/kwq-test-XXXXXX");
	if (!mkdtemp(top) || chdir(top)) {
		perror(top);
		return 1;
	}
	test_folders();
	test_open();
	test_messages();
	must(rmdir(top));
	return done_testing();
}
