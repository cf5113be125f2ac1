/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A line: nodes in the order in which they joined. Any of them may leave.
 *
 * It is an hlist that knows its end, like the tail queues of BSD. A list_head would do, too. But
 * where the kernel is built with CONFIG_LIST_HARDENED or CONFIG_DEBUG_LIST, each join and each
 * leave of a list calls a check. An item joins two lines and leaves them between its add and its
 * done. Lists would cost add, get and done 89 instructions.
 */
#ifndef KWQ_LINE_H
#define KWQ_LINE_H

#include <linux/kwq_types.h>
#include <linux/list.h>

static inline void kwq_line_init(struct kwq_line *line)
{
	INIT_HLIST_HEAD(&line->nodes);
	line->end = &line->nodes.first;
}

static inline bool kwq_line_is_empty(const struct kwq_line *line)
{
	return hlist_empty(&line->nodes);
}

/* The structure of a @type whose @member is the first node of a line that is not empty. */
#define kwq_line_first(line, type, member)	hlist_entry((line)->nodes.first, type, member)

/**
 * kwq_line_join() - become the last one of a line
 * @line: the line
 * @node: the node; in no line
 */
static inline void kwq_line_join(struct kwq_line *line, struct hlist_node *node)
{
	node->next = NULL;
	node->pprev = line->end;
	*line->end = node;
	line->end = &node->next;
}

/**
 * kwq_line_join_first() - become the first one of a line
 * @line: the line
 * @node: the node; in no line
 */
static inline void kwq_line_join_first(struct kwq_line *line, struct hlist_node *node)
{
	if (kwq_line_is_empty(line))
		line->end = &node->next;
	hlist_add_head(node, &line->nodes);
}

/**
 * kwq_line_leave() - leave a line
 * @line: the line; any one if @node is not its last one
 * @node: a node in it
 */
static inline void kwq_line_leave(struct kwq_line *line, struct hlist_node *node)
{
	struct hlist_node *next = node->next;

	*node->pprev = next;
	if (next)
		next->pprev = node->pprev;
	else
		line->end = node->pprev;
}

/**
 * kwq_line_move() - move all nodes of a line to another one
 * @from: the line; empty afterwards
 * @to: the other one; empty before
 */
static inline void kwq_line_move(struct kwq_line *from, struct kwq_line *to)
{
	if (kwq_line_is_empty(from))
		return;
	hlist_move_list(&from->nodes, &to->nodes);
	to->end = from->end;
	kwq_line_init(from);
}

#endif /* KWQ_LINE_H */
