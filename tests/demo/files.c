/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/files.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

#define TAIL_BYTES 8192

const char *temporary_directory(void)
{
	const char *directory = getenv("TMPDIR");

	return directory != NULL && directory[0] == '/' ? directory : "/tmp";
}

void path_join(char ret_path[DEMO_PATH_BYTES], const char *directory, const char *name)
{
	int n = snprintf(ret_path, DEMO_PATH_BYTES, "%s/%s", directory, name);

	if (n < 0 || n >= DEMO_PATH_BYTES) {
		fprintf(stderr, "demo: path too long: %s/%s\n", directory, name);
		abort();
	}
}

int file_put(const char *path, const char *text, struct error *reterr)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return error_errno(reterr, -errno, "open %s", path);
	ssize_t n = write(fd, text, strlen(text));
	int r = n < 0 ? -errno : 0;
	close(fd);
	return r == 0 ? 0 : error_errno(reterr, r, "write '%s' to %s", text, path);
}

int file_get(const char *path, char *ret_text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	ssize_t n = read(fd, ret_text, size - 1);
	int r = n < 0 ? -errno : 0;
	close(fd);
	if (r == 0)
		ret_text[n] = '\0';
	return r;
}

int file_copy(const char *from, const char *to, mode_t mode, struct error *reterr)
{
	ssize_t n = 0;
	int in = open(from, O_RDONLY | O_CLOEXEC);

	if (in < 0)
		return error_errno(reterr, -errno, "open %s", from);
	int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (out >= 0 && fchmod(out, mode) == 0)
		do
			n = sendfile(out, in, NULL, 1 << 20);
		while (n > 0);
	int r = out < 0 || n < 0 ? -errno : 0;
	if (out >= 0)
		close(out);
	close(in);
	return r == 0 ? 0 : error_errno(reterr, r, "copy %s to %s", from, to);
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *walk)
{
	(void)stat;
	(void)type;
	(void)walk;
	return remove(path);
}

int tree_remove(const char *directory, struct error *reterr)
{
	if (nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT)
		return error_errno(reterr, -errno, "remove %s", directory);
	return 0;
}

void file_print_tail(FILE *to, const char *path, const char *prefix, unsigned lines)
{
	char text[TAIL_BYTES + 1];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	off_t size = lseek(fd, 0, SEEK_END);
	ssize_t n = pread(fd, text, TAIL_BYTES, size > TAIL_BYTES ? size - TAIL_BYTES : 0);
	close(fd);
	if (n <= 0)
		return;
	text[n] = '\0';
	if (text[n - 1] == '\n')
		text[n - 1] = '\0';
	char *start = text + strlen(text);
	while (start > text && (start[-1] != '\n' || --lines > 0))
		start--;
	for (char *line = start, *end; line != NULL; line = end) {
		end = strchr(line, '\n');
		if (end != NULL)
			*end++ = '\0';
		fprintf(to, "%s%s\n", prefix, line);
	}
}
