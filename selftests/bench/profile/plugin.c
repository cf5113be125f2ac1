// SPDX-License-Identifier: GPL-2.0-only
/*
 * A QEMU plugin that counts the instructions within a benchmark's measurement, by
 * address. A measurement begins and ends with no-op instructions that occur nowhere
 * else: see bench_mark_begin().
 *
 *   -plugin libprofile.so,out=FILE
 *
 * FILE has a line for each translated block of code: its address and the number of
 * instructions executed there.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qemu.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int qemu_plugin_version = 1;

/* nopl with a displacement that spells "qwk", as in bench.h. */
static const unsigned char begin_mark[] = { 0x0f, 0x1f, 0x80, 0x01, 0x71, 0x77, 0x6b };
static const unsigned char end_mark[] = { 0x0f, 0x1f, 0x80, 0x02, 0x71, 0x77, 0x6b };

/* QEMU may translate a block more than once. Each translation has its own count. */
struct block {
	struct block *next;
	uint64_t address;
	uint64_t length;
	uint64_t executed;
};

static struct block *blocks;
static bool measuring;
static const char *out;

static void begin(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	measuring = true;
}

static void end(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	measuring = false;
}

static void count(unsigned int cpu, void *data)
{
	struct block *block = data;

	(void)cpu;
	if (measuring)
		block->executed++;
}

static void look_for_marks(const struct qemu_plugin_tb *tb)
{
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		const void *bytes = qemu_plugin_insn_data(insn);

		if (qemu_plugin_insn_size(insn) != sizeof(begin_mark))
			continue;
		if (!memcmp(bytes, begin_mark, sizeof(begin_mark)))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, begin, 0, NULL);
		else if (!memcmp(bytes, end_mark, sizeof(end_mark)))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, end, 0, NULL);
	}
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
	struct block *block = calloc(1, sizeof(*block));

	(void)id;
	if (!block)
		abort();
	block->address = qemu_plugin_tb_vaddr(tb);
	block->length = qemu_plugin_tb_n_insns(tb);
	block->next = blocks;
	blocks = block;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, count, 0, block);
	look_for_marks(tb);
}

static void write_out(uint64_t id, void *data)
{
	FILE *file = fopen(out, "w");

	(void)id;
	(void)data;
	if (!file) {
		perror(out);
		return;
	}
	for (const struct block *block = blocks; block; block = block->next)
		if (block->executed)
			fprintf(file, "%" PRIx64 " %" PRIu64 "\n", block->address,
				block->length * block->executed);
	if (fclose(file))
		perror(out);
}

EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", 4)) {
		fprintf(stderr, "the plugin wants out=FILE\n");
		return -1;
	}
	out = strdup(argv[0] + 4);
	if (!out)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, write_out, NULL);
	return 0;
}
