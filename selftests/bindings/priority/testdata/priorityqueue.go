// SPDX-License-Identifier: GPL-2.0-only

// This file takes the place of controller-runtime's priorityqueue.go when its tests are compiled (client-go.sh), so that they test
// kwq's queue. The names are those that the tests use.
package priorityqueue

import (
	"bytes"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	clientgo "k8s.io/client-go/util/workqueue"

	"kwq.example/kwq"
	"kwq.example/kwq/workqueue"
)

type AddOpts struct {
	After       time.Duration
	RateLimited bool
	Priority    *int
}

type Opts[T comparable] struct {
	RateLimiter    clientgo.TypedRateLimiter[T]
	MetricProvider clientgo.MetricsProvider
}

type Opt[T comparable] func(*Opts[T])

type priorityqueue[T comparable] struct {
	rateLimiter clientgo.TypedRateLimiter[T]
	now         func() time.Time
	tick        func(time.Duration) <-chan time.Time

	// The tests look at these, and kwq has none.
	waiting, ready bTree[*item[T]]
	locked         sets.Set[T]
	lockedLock     sync.Mutex

	options Opts[T]
	opened  sync.Once
	queue   *workqueue.PriorityQueue[T, AddOpts]
	// How many items there may be.
	pending atomic.Int64
	// The clock is the test's. Of an item that waits, the test is told by a call of tick.
	manual bool
	last   time.Time
	waits  chan struct{}
}

type item[T comparable] struct {
	ReadyAt *time.Time
}

type bTree[T any] interface {
	ReplaceOrInsert(item T) (T, bool)
	Delete(item T) (T, bool)
}

// New returns an interface, as controller-runtime does.
func New[T comparable](_ string, o ...Opt[T]) PriorityQueue[T] {
	q := &priorityqueue[T]{now: time.Now, tick: time.Tick, waits: make(chan struct{}, 1)}
	for _, f := range o {
		f(&q.options)
	}
	q.rateLimiter = q.options.RateLimiter
	if q.rateLimiter == nil {
		q.rateLimiter = clientgo.NewTypedItemExponentialFailureRateLimiter[T](5*time.Millisecond, 1000*time.Second)
	}
	return q
}

type PriorityQueue[T comparable] interface {
	clientgo.TypedRateLimitingInterface[T]
	AddWithOpts(o AddOpts, items ...T)
	GetWithPriority() (item T, priority int, shutdown bool)
}

// limiter is the one that the test has set last.
type limiter[T comparable] struct {
	q *priorityqueue[T]
}

func (l limiter[T]) When(item T) time.Duration { return l.q.rateLimiter.When(item) }
func (l limiter[T]) Forget(item T)             { l.q.rateLimiter.Forget(item) }
func (l limiter[T]) NumRequeues(item T) int    { return l.q.rateLimiter.NumRequeues(item) }

// open makes the queue at its first use, because the test may set its clock before.
func (q *priorityqueue[T]) open() *workqueue.PriorityQueue[T, AddOpts] {
	q.opened.Do(func() {
		config := workqueue.TypedRateLimitingQueueConfig[T]{Name: "test", Options: workqueue.Options[T]{Private: true}}
		if q.options.MetricProvider != nil {
			config.MetricsProvider = workqueue.Adapt[clientgo.GaugeMetric, clientgo.CounterMetric,
				clientgo.HistogramMetric, clientgo.SettableGaugeMetric](q.options.MetricProvider)
		}
		if reflect.ValueOf(q.now).Pointer() != reflect.ValueOf(time.Now).Pointer() {
			q.manual, q.last, config.Clock = true, q.now(), kwq.ClockManual
		}
		var err error
		if q.queue, err = workqueue.OpenPriorityQueue[AddOpts](limiter[T]{q}, config); err != nil {
			panic(err)
		}
		if q.manual {
			go q.follow()
		}
	})
	return q.queue
}

// follow moves kwq's clock with the test's.
func (q *priorityqueue[T]) follow() {
	var next <-chan time.Time
	for !q.queue.ShuttingDown() {
		select {
		case <-q.waits:
		case <-next:
			now := q.now()
			// No waiting Get takes what has become due before it is in a report.
			q.check(q.queue.Queue().Pause())
			q.check(q.queue.Queue().Advance(now.Sub(q.last)))
			q.last = now
			// Once is not long, and all priorities may be there.
			q.queue.ReportMetrics()
			q.check(q.queue.Queue().Resume())
		}
		earliest := time.Duration(-1)
		q.check(q.queue.Queue().List(kwq.IsWaiting, func(l *kwq.Listed) error {
			if earliest < 0 || l.DueIn < earliest {
				earliest = l.DueIn
			}
			return nil
		}))
		next = nil
		if earliest > 0 {
			next = q.tick(earliest)
		}
	}
}

func (q *priorityqueue[T]) check(err error) {
	if err != nil {
		panic(err)
	}
}

// report reports the metrics, which the tests read without a call. With many items that takes long, and tells nothing new.
func (q *priorityqueue[T]) report() {
	if q.pending.Load() < 100 {
		q.queue.ReportMetrics()
	}
}

func (q *priorityqueue[T]) AddWithOpts(o AddOpts, items ...T) {
	q.open().AddWithOpts(o, items...)
	q.pending.Add(int64(len(items)))
	q.report()
	if q.manual && (o.After > 0 || o.RateLimited) {
		select {
		case q.waits <- struct{}{}:
		default:
		}
	}
}

func (q *priorityqueue[T]) GetWithPriority() (item T, priority int, shutdown bool) {
	item, priority, shutdown = q.open().GetWithPriority()
	q.pending.Add(-1)
	q.report()
	return item, priority, shutdown
}

func (q *priorityqueue[T]) Get() (item T, shutdown bool) {
	item, _, shutdown = q.GetWithPriority()
	return item, shutdown
}

func (q *priorityqueue[T]) Done(item T) {
	q.open().Done(item)
	q.report()
}

func (q *priorityqueue[T]) Add(item T) { q.AddWithOpts(AddOpts{}, item) }
func (q *priorityqueue[T]) AddAfter(item T, after time.Duration) {
	q.AddWithOpts(AddOpts{After: after}, item)
}
func (q *priorityqueue[T]) AddRateLimited(item T)  { q.AddWithOpts(AddOpts{RateLimited: true}, item) }
func (q *priorityqueue[T]) Forget(item T)          { q.open().Forget(item) }
func (q *priorityqueue[T]) NumRequeues(item T) int { return q.open().NumRequeues(item) }
func (q *priorityqueue[T]) Len() int               { return q.open().Len() }
func (q *priorityqueue[T]) ShuttingDown() bool     { return q.open().ShuttingDown() }
func (q *priorityqueue[T]) ShutDownWithDrain()     { q.open().ShutDownWithDrain() }

// ShutDown does not wait for the last report of the metrics, because a test ends with their lock held.
func (q *priorityqueue[T]) ShutDown() {
	queue := q.open()
	go queue.ShutDown()
	for !queue.ShuttingDown() {
		time.Sleep(time.Millisecond)
	}
}

// synctest takes the place of the package testing/synctest, whose bubbles cannot contain a queue of the kernel.
var synctest bubble

type bubble struct{}

func (bubble) Test(t *testing.T, f func(*testing.T)) { f(t) }

// Wait waits until no other goroutine runs, three times in a row. The tests run one after the other (-test.parallel 1).
func (bubble) Wait() {
	for quiet := 0; quiet < 3; {
		time.Sleep(time.Millisecond)
		if quiet++; busy() {
			quiet = 0
		}
	}
}

func busy() bool {
	stacks := make([]byte, 1<<20)
	// The first one is the caller.
	for _, stack := range bytes.Split(stacks[:runtime.Stack(stacks, true)], []byte("\n\n"))[1:] {
		line, _, _ := bytes.Cut(stack, []byte("\n"))
		for _, state := range []string{"[running", "[runnable", "[syscall"} {
			if bytes.Contains(line, []byte(state)) && !bytes.Contains(stack, []byte("signal_recv")) {
				return true
			}
		}
	}
	return false
}
