// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queue in every context from which it may be called (K1). Half of the test is lockdep,
 * which the kernels for this test have.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irq_sim.h>
#include <linux/irq_work.h>
#include <linux/irqdomain.h>
#include <linux/irqflags.h>
#include <linux/kwq.h>
#include <linux/lockdep.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include "compat.h"
#include "queue/queue.h"
#include "tests/form.h"
#include "tests/thread.h"

#define HOUR	(3600 * (u64)NSEC_PER_SEC)

/*
 * The context that a case visits
 * @queue: a thread waits here for @b, and a handler for @c
 * @handled: completed by the handler of @c
 * @own: a queue that nobody else uses; it owns references to @a
 * @gets: number of references that it took
 * @puts: number of references that it dropped
 * @preempt_count: of the visitor
 * @irqs_off: whether the visitor had interrupts off
 * @done: the visit is over
 * @hard: whether it was a hard interrupt
 * @soft: whether it was a softirq
 * @wrong: number of the failed step, 0 for none
 */
struct visit {
	struct kwq_queue *queue;
	struct kwq_queue *handled;
	struct kwq_queue *own;
	struct kwq_item a, b, c;
	int gets;
	int puts;
	int preempt_count;
	bool irqs_off;
	struct hrtimer timer;
	struct irq_work irq_work;
	struct rcu_head rcu;
	struct irq_domain *domain;
	int irq;
	struct completion done;
	struct completion ran;
	struct kwq_test_thread getter;
	struct kwq_item *got;
	bool hard;
	bool soft;
	int wrong;
};

/* Longer than a busy machine can stand still. */
static const struct kwq_limiter_config slow = {
	.nr = 1,
	.limiters[0] = {
		.kind = KWQ_LIMITER_EXPONENTIAL,
		.u.exponential = { .base = HOUR, .max = HOUR },
	},
};

/* Calls every operation that does not sleep. */
static int every_operation(struct kwq_queue *q, struct kwq_item *a)
{
	struct kwq_limiter_config config;

	if (kwq_add(q, a) != KWQ_ADDED)
		return 1;
	if (kwq_len(q) != 1)
		return 2;
	if (kwq_remove(q, a) != KWQ_WAS_READY)
		return 3;
	if (kwq_add_after(q, a, HOUR) != KWQ_WAITING)
		return 4;
	if (kwq_add_after(q, a, HOUR / 2) != KWQ_COALESCED)
		return 5;
	if (kwq_remove(q, a) != KWQ_WAS_WAITING)
		return 6;
	if (kwq_queue_now(q) < 0)
		return 7;
	if (kwq_add_rate_limited(q, a) != KWQ_WAITING)
		return 8;
	if (kwq_num_requeues(q, a) != 1 || kwq_forget(q, a) != 1)
		return 9;
	if (kwq_remove(q, a) != KWQ_WAS_WAITING)
		return 10;
	if (kwq_first_dead(q))
		return 11;
	kwq_read_config(q, &config);
	if (memcmp(&config, &slow, sizeof(config)))
		return 12;
	if (kwq_add_unless_pending(q, a, HOUR) != KWQ_WAITING || !kwq_item_pending(a))
		return 13;
	if (kwq_add_unless_pending(q, a, 0) != KWQ_COALESCED)
		return 14;
	if (kwq_expedite(q, a) != KWQ_ADDED)
		return 15;
	kwq_pause(q);
	if (kwq_try_get(q) != ERR_PTR(-EAGAIN) || kwq_try_get_item(q, a))
		return 16;
	if (kwq_done(q, a) != KWQ_FINISHED || kwq_item_pending(a))
		return 17;
	kwq_add(q, a);
	kwq_pause_for(q, HOUR);
	if (kwq_resume(q) || kwq_try_get(q) != ERR_PTR(-EAGAIN))
		return 18;
	kwq_pause_until(q, 0);
	if (kwq_resume(q) != -EINVAL)
		return 24;
	if (kwq_try_get(q) != a || kwq_add(q, a) != KWQ_DIRTIED)
		return 19;
	if (kwq_done(q, a) != KWQ_REQUEUED)
		return 20;
	if (kwq_shutting_down(q))
		return 21;
	kwq_shut_down(q);
	if (kwq_add(q, a) != -ESHUTDOWN || kwq_try_get(q) != a)
		return 22;
	if (kwq_done(q, a) != KWQ_FINISHED)
		return 23;
	return 0;
}

/* K5: under the lock. On PREEMPT_RT that leaves interrupts on. */
static void get_a(struct kwq_item *item)
{
	struct visit *v = container_of(item, struct visit, a);

	lockdep_assert_held(&v->own->lock);
	if (irqs_disabled() == !IS_ENABLED(CONFIG_PREEMPT_RT))
		v->gets++;
}

/* K5: without the lock, as the visitor is. */
static void put_a(struct kwq_item *item)
{
	struct visit *v = container_of(item, struct visit, a);

	lockdep_assert_not_held(&v->own->lock);
	if (preempt_count() == v->preempt_count && irqs_disabled() == v->irqs_off)
		v->puts++;
}

static const struct kwq_ref_ops ref_ops = { .get = get_a, .put = put_a };

static void visit(struct visit *v)
{
	v->hard = in_hardirq();
	v->soft = in_serving_softirq();
	v->preempt_count = preempt_count();
	v->irqs_off = irqs_disabled();
	v->wrong = every_operation(v->own, &v->a);
	kwq_add(v->queue, &v->b);
	kwq_add(v->handled, &v->c);
	complete(&v->done);
}

static int visit_from_process(struct visit *v)
{
	visit(v);
	return 0;
}

/* Not allowed where a spinlock_t sleeps (K1). */
static int __maybe_unused visit_with_irqs_off(struct visit *v)
{
	unsigned long flags;

	local_irq_save(flags);
	visit(v);
	local_irq_restore(flags);
	return 0;
}

static int visit_with_softirqs_off(struct visit *v)
{
	local_bh_disable();
	visit(v);
	local_bh_enable();
	return 0;
}

static enum hrtimer_restart timer_fn(struct hrtimer *timer)
{
	visit(container_of(timer, struct visit, timer));
	return HRTIMER_NORESTART;
}

static int visit_from_hrtimer(struct visit *v)
{
	hrtimer_setup(&v->timer, timer_fn, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	hrtimer_start(&v->timer, 1000, HRTIMER_MODE_REL);
	return 0;
}

static int visit_from_soft_hrtimer(struct visit *v)
{
	hrtimer_setup(&v->timer, timer_fn, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	hrtimer_start(&v->timer, 1000, HRTIMER_MODE_REL_SOFT);
	return 0;
}

static void cancel_hrtimer(struct visit *v)
{
	hrtimer_cancel(&v->timer);
}

static void irq_work_fn(struct irq_work *work)
{
	visit(container_of(work, struct visit, irq_work));
}

static int visit_from_irq_work(struct visit *v)
{
	init_irq_work(&v->irq_work, irq_work_fn);
	irq_work_queue(&v->irq_work);
	return 0;
}

static void sync_irq_work(struct visit *v)
{
	irq_work_sync(&v->irq_work);
}

static void rcu_fn(struct rcu_head *rcu)
{
	visit(container_of(rcu, struct visit, rcu));
}

static int visit_from_rcu(struct visit *v)
{
	call_rcu(&v->rcu, rcu_fn);
	return 0;
}

static void sync_rcu(struct visit *v)
{
	rcu_barrier();
}

#ifdef CONFIG_IRQ_SIM
/* Raises an interrupt like those of drivers. */
static int raise_irq(struct visit *v, irq_handler_t handler, irq_handler_t thread_fn)
{
	int err;

	v->domain = irq_domain_create_sim(NULL, 1);
	if (IS_ERR(v->domain))
		return PTR_ERR(v->domain);
	v->irq = irq_create_mapping(v->domain, 0);
	if (!v->irq) {
		irq_domain_remove_sim(v->domain);
		return -ENOSPC;
	}
	err = request_threaded_irq(v->irq, handler, thread_fn, 0, "kwq_test", v);
	if (err) {
		irq_dispose_mapping(v->irq);
		irq_domain_remove_sim(v->domain);
		return err;
	}
	return irq_set_irqchip_state(v->irq, IRQCHIP_STATE_PENDING, true);
}

static irqreturn_t visit_handler(int irq, void *data)
{
	visit(data);
	return IRQ_HANDLED;
}

static irqreturn_t wake_thread(int irq, void *data)
{
	return IRQ_WAKE_THREAD;
}

static int visit_from_irq(struct visit *v)
{
	return raise_irq(v, visit_handler, NULL);
}

static int visit_from_threaded_irq(struct visit *v)
{
	return raise_irq(v, wake_thread, visit_handler);
}

static void free_the_irq(struct visit *v)
{
	free_irq(v->irq, v);
	irq_dispose_mapping(v->irq);
	irq_domain_remove_sim(v->domain);
}
#endif

static const struct context_case {
	const char *desc;
	int (*go)(struct visit *v);
	void (*leave)(struct visit *v);
	bool hard;
	bool soft;
} context_cases[] = {
	{ "process", visit_from_process },
#ifndef CONFIG_PREEMPT_RT
	{ "interrupts off", visit_with_irqs_off },
#endif
	{ "softirqs off", visit_with_softirqs_off },
	{ "hrtimer, hard irq", visit_from_hrtimer, cancel_hrtimer,
	  .hard = true },
	{ "hrtimer, softirq", visit_from_soft_hrtimer, cancel_hrtimer,
	  .soft = true },
	{ "irq_work", visit_from_irq_work, sync_irq_work, .hard = true },
	{ "RCU callback", visit_from_rcu, sync_rcu, .soft = true },
#ifdef CONFIG_IRQ_SIM
	{ "interrupt", visit_from_irq, free_the_irq, .hard = true },
	{ "threaded interrupt", visit_from_threaded_irq, free_the_irq },
#endif
};

KUNIT_ARRAY_PARAM_DESC(context, context_cases, desc);

static void get_one(void *data)
{
	struct visit *v = data;

	v->got = kwq_get(v->queue, KTIME_MAX);
}

static struct kwq_result handle(struct kwq_queue *queue, struct kwq_item *item)
{
	complete(&container_of(item, struct visit, c)->ran);
	return kwq_result_done();
}

static const struct kwq_handler handler = { .handle = handle, .max_active = 1 };

static void any_context(struct kunit *test)
{
	const struct context_case *p = test->param_value;
	struct visit *v = kunit_kzalloc(test, sizeof(*v), GFP_KERNEL);
	bool waits;

	/* K1 K2: a thread and a handler wait for the items that are added. */
	KUNIT_ASSERT_NOT_NULL(test, v);
	v->queue = kwq_test_queue_alloc(test);
	v->handled = kwq_test_queue_alloc(test);
	v->own = kwq_test_queue_alloc(test);
	kwq_test_queue_init(v->queue, "visited", KWQ_CLOCK_MONOTONIC);
	kwq_test_queue_init(v->handled, "handled", KWQ_CLOCK_MONOTONIC);
	kwq_test_queue_init(v->own, "visited too", KWQ_CLOCK_MONOTONIC);
	KUNIT_ASSERT_EQ(test, kwq_configure(v->own, &slow), 0);
	KUNIT_ASSERT_EQ(test, kwq_queue_own_references(v->own, &ref_ops), 0);
	kwq_item_init(&v->a);
	kwq_item_init(&v->b);
	kwq_item_init(&v->c);
	init_completion(&v->done);
	init_completion(&v->ran);
	KUNIT_ASSERT_EQ(test, kwq_start_handler(v->handled, &handler), 0);
	kwq_test_thread_start(test, &v->getter, get_one, v);
	kwq_test_wait_until(test,
			    kwq_test_nr_sleepers(&v->queue->getters) == 1);

	KUNIT_ASSERT_EQ(test, p->go(v), 0);
	waits = wait_for_completion_timeout(&v->done, KWQ_TEST_HANGS_SECONDS * HZ);
	KUNIT_EXPECT_TRUE_MSG(test, waits, "it was never there");
	if (p->leave)
		p->leave(v);

	KUNIT_EXPECT_EQ(test, v->wrong, 0);
	/* K5: five adds of an idle item */
	KUNIT_EXPECT_EQ(test, v->gets, 5);
	KUNIT_EXPECT_EQ(test, v->puts, 5);
	/* On PREEMPT_RT all of them are threads, or softirqs in a thread. */
	KUNIT_EXPECT_EQ(test, v->hard,
			p->hard && !IS_ENABLED(CONFIG_PREEMPT_RT));
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		KUNIT_EXPECT_EQ(test, v->soft, p->soft);
	kwq_test_thread_join(test, &v->getter);
	KUNIT_EXPECT_PTR_EQ(test, v->got, &v->b);
	waits = wait_for_completion_timeout(&v->ran, KWQ_TEST_HANGS_SECONDS * HZ);
	KUNIT_EXPECT_TRUE_MSG(test, waits, "the handler was not called");
	kwq_done(v->queue, &v->b);
	kwq_queue_destroy(v->queue);
	kwq_queue_destroy(v->handled);
	kwq_queue_destroy(v->own);
}

static struct kunit_case context_test_cases[] = {
	KUNIT_CASE_PARAM(any_context, context_gen_params),
	{}
};

/* The same without what only a large queue has (K6). */
static struct kunit_case context_test_small_cases[] = {
	KUNIT_CASE_PARAM(any_context, context_gen_params),
	{}
};

KWQ_TEST_SUITES(context_test, "kwq-context", NULL, NULL);
