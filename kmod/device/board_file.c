// SPDX-License-Identifier: GPL-2.0-only
/*
 * Descriptors of boards, which programs map.
 *
 * A board needs a descriptor of its own. A mapping needs one that is open for reading, and the
 * queue's descriptor of a program that only adds is open for writing. It is open for nothing
 * else, so no program can map the board for writing, not even later by mprotect(2).
 */
#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include "board_file.h"
#include "keyed/keyed.h"
#include "words.h"

/*
 * The mapping of a file that is not open for writing has neither VM_MAYWRITE nor VM_SHARED, even if
 * the program asked for a shared one. A private one could be written, and would be a copy.
 */
static int board_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct kwq_keyed *keyed = file->private_data;
	const void *map = READ_ONCE(keyed->board)->map;
	unsigned long offset;
	int err = 0;

	if (vma->vm_flags & (VM_WRITE | VM_MAYWRITE | VM_EXEC))
		return -EACCES;
	if (vma->vm_pgoff || vma->vm_end - vma->vm_start != KWQ_BOARD_BYTES)
		return -EINVAL;
	/* Others choose the bytes of the keys, so nobody may execute them. */
	kwq_vm_flags_mod(vma, VM_DONTEXPAND, VM_MAYEXEC);
	for (offset = 0; offset < KWQ_BOARD_BYTES && !err; offset += PAGE_SIZE)
		err = vm_insert_page(vma, vma->vm_start + offset, vmalloc_to_page(map + offset));
	return err;
}

static int board_release(struct inode *inode, struct file *file)
{
	kwq_keyed_put(file->private_data);
	return 0;
}

static const struct file_operations board_fops = {
	.owner = THIS_MODULE,
	.mmap = board_mmap,
	.release = board_release,
};

/**
 * kwq_board_open() - open a descriptor of a queue's board
 * @keyed: the queue; the descriptor and its mappings have a reference
 * @open_flags: 0 or O_CLOEXEC
 * @map_size: where to store how many bytes to map
 *
 * Context: process; may sleep.
 * Return: the descriptor, or a negative errno.
 */
int kwq_board_open(struct kwq_keyed *keyed, u32 open_flags, u64 __user *map_size)
{
	struct file *file;
	int fd, err;

	err = kwq_keyed_provide_board(keyed);
	if (err)
		return err;
	fd = get_unused_fd_flags(open_flags);
	if (fd < 0)
		return fd;
	kref_get(&keyed->ref);
	file = anon_inode_getfile("[kwq-board]", &board_fops, keyed, O_RDONLY);
	if (IS_ERR(file)) {
		kwq_keyed_put(keyed);
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	if (kwq_put_user(KWQ_BOARD_BYTES, map_size)) {
		/* Drops the reference. */
		fput(file);
		put_unused_fd(fd);
		return -EFAULT;
	}
	fd_install(fd, file);
	return fd;
}
