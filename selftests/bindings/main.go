// SPDX-License-Identifier: GPL-2.0-only

// G3: command bindings gives the same random calls to a queue of the real client-go and to one of kwq's package workqueue, and
// compares every answer. Both queues have a clock that stands still between the calls. It prints TAP.
//
//	bindings
//
// KWQ_ITEMS in the environment is the number of calls, and KWQ_SEED the seed of the random numbers.
//
// Differences that kwq(7) lists are left out:
//
//   - The queue duration of an item that is processing, dirty and waiting at once. Only the number of queue durations is compared.
//   - A shut down of kwq forgets the requeues, so they are compared only before it.
//   - A stray Done may put a second copy into client-go's queue. So a stray Done names an item that is in neither.
//   - client-go's drain may end while items are ready. So the test takes all ready items first.
//
// Items that become ready at the same nanosecond have no order in client-go. There the test takes all ready items, and compares
// them as a set.
package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand"
	"net/netip"
	"os"
	"reflect"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	fake "k8s.io/utils/clock/testing"

	"kwq.example/kwq"
	"kwq.example/kwq/workqueue"
)

// The compiler checks that kwq's queue has the interfaces of the real client-go, and that limiters fit both ways.
var (
	_ clientgo.TypedInterface[string]              = (*workqueue.Typed[string])(nil)
	_ clientgo.TypedDelayingInterface[string]      = (*workqueue.Typed[string])(nil)
	_ clientgo.TypedRateLimitingInterface[string]  = (*workqueue.Typed[string])(nil)
	_ clientgo.TypedRateLimitingInterface[request] = (*workqueue.Typed[request])(nil)
	_ clientgo.TypedRateLimitingInterface[any]     = (*workqueue.Typed[any])(nil)
	_ clientgo.TypedRateLimitingInterface[string]  = workqueue.TypedRateLimitingInterface[string](nil)
	_ workqueue.TypedRateLimitingInterface[string] = clientgo.TypedRateLimitingInterface[string](nil)
	_ workqueue.TypedRateLimiter[string]           = clientgo.TypedRateLimiter[string](nil)
	_ clientgo.TypedRateLimiter[string]            = workqueue.TypedRateLimiter[string](nil)
	_ clientgo.TypedRateLimiter[string]            = (*workqueue.Limiter[string])(nil)
)

// The shape of reconcile.Request of controller-runtime.
type request struct {
	types.NamespacedName
}

// The shape of controller-runtime's option: one line gives a controller kwq's queue.
var options = struct {
	NewQueue func(string, clientgo.TypedRateLimiter[request]) clientgo.TypedRateLimitingInterface[request]
}{}

func init() {
	options.NewQueue = workqueue.NewQueue
}

// Functions of client-go, and those of kwq that take their places when a program changes its import.
var constructors = [][2]any{
	{clientgo.NewTyped[string], workqueue.NewTyped[string]},
	{clientgo.NewTypedWithConfig[string], workqueue.NewTypedWithConfig[string]},
	{clientgo.NewTypedDelayingQueue[string], workqueue.NewTypedDelayingQueue[string]},
	{clientgo.NewTypedDelayingQueueWithConfig[string], workqueue.NewTypedDelayingQueueWithConfig[string]},
	{clientgo.NewTypedRateLimitingQueue[string], workqueue.NewTypedRateLimitingQueue[string]},
	{clientgo.NewTypedRateLimitingQueueWithConfig[string], workqueue.NewTypedRateLimitingQueueWithConfig[string]},
	{clientgo.DefaultTypedControllerRateLimiter[string], workqueue.DefaultTypedControllerRateLimiter[string]},
	{clientgo.DefaultTypedItemBasedRateLimiter[string], workqueue.DefaultTypedItemBasedRateLimiter[string]},
	{clientgo.NewTypedItemExponentialFailureRateLimiter[string],
		workqueue.NewTypedItemExponentialFailureRateLimiter[string]},
	{clientgo.NewTypedItemFastSlowRateLimiter[string], workqueue.NewTypedItemFastSlowRateLimiter[string]},
	{clientgo.NewTypedMaxOfRateLimiter[string], workqueue.NewTypedMaxOfRateLimiter[string]},
	{clientgo.NewTypedWithMaxWaitRateLimiter[string], workqueue.NewTypedWithMaxWaitRateLimiter[string]},
	{clientgo.SetProvider, workqueue.SetProvider},
	{clientgo.New, workqueue.New},
	{clientgo.NewWithConfig, workqueue.NewWithConfig},
	{clientgo.NewNamed, workqueue.NewNamed},
	{clientgo.NewDelayingQueue, workqueue.NewDelayingQueue},
	{clientgo.NewDelayingQueueWithConfig, workqueue.NewDelayingQueueWithConfig},
	{clientgo.NewNamedDelayingQueue, workqueue.NewNamedDelayingQueue},
	{clientgo.NewRateLimitingQueue, workqueue.NewRateLimitingQueue},
	{clientgo.NewRateLimitingQueueWithConfig, workqueue.NewRateLimitingQueueWithConfig},
	{clientgo.NewNamedRateLimitingQueue, workqueue.NewNamedRateLimitingQueue},
	{clientgo.DefaultControllerRateLimiter, workqueue.DefaultControllerRateLimiter},
	{clientgo.DefaultItemBasedRateLimiter, workqueue.DefaultItemBasedRateLimiter},
	{clientgo.NewItemExponentialFailureRateLimiter, workqueue.NewItemExponentialFailureRateLimiter},
	{clientgo.NewItemFastSlowRateLimiter, workqueue.NewItemFastSlowRateLimiter},
	{clientgo.NewMaxOfRateLimiter, workqueue.NewMaxOfRateLimiter},
	{clientgo.NewWithMaxWaitRateLimiter, workqueue.NewWithMaxWaitRateLimiter},
}

// unlike returns what differs between two functions: the number of arguments or results, or the kind of one of them.
func unlike(real, kwq reflect.Type) string {
	if real.NumIn() != kwq.NumIn() || real.NumOut() != kwq.NumOut() || real.IsVariadic() != kwq.IsVariadic() {
		return fmt.Sprintf("%v in client-go, %v in kwq", real, kwq)
	}
	for i := 0; i < real.NumIn(); i++ {
		if real.In(i).Kind() != kwq.In(i).Kind() {
			return fmt.Sprintf("argument %d: %v in client-go, %v in kwq", i+1, real.In(i), kwq.In(i))
		}
	}
	for i := 0; i < real.NumOut(); i++ {
		if real.Out(i).Kind() != kwq.Out(i).Kind() {
			return fmt.Sprintf("a result: %v in client-go, %v in kwq", real.Out(i), kwq.Out(i))
		}
	}
	return ""
}

// compareConstructors returns how many it has compared, and the first difference.
func compareConstructors(int64, int) (int, string) {
	for i, pair := range constructors {
		if difference := unlike(reflect.TypeOf(pair[0]), reflect.TypeOf(pair[1])); difference != "" {
			return i, difference
		}
	}
	return len(constructors), ""
}

// A syncedClock is client-go's fake clock. The ticker of the delaying queue's loop has no buffer, so a beat is taken only when the
// loop waits for its next event.
type syncedClock struct {
	*fake.FakeClock
	beat chan time.Time
}

type beater chan time.Time

func (b beater) C() <-chan time.Time { return b }
func (b beater) Stop()               {}

func (c *syncedClock) NewTicker(d time.Duration) clock.Ticker {
	if d == 10*time.Second {
		return beater(c.beat)
	}
	return c.FakeClock.NewTicker(d)
}

// settle waits until client-go's loop has taken all delayed adds, and has added what is due. The first beat is taken when the loop
// has come to its end, and makes it look at the clock. The second is taken when it has come to its end again.
func (c *syncedClock) settle(queue any) {
	pending := reflect.ValueOf(queue).Elem().FieldByName("TypedDelayingInterface").Elem().Elem().FieldByName("waitingForAddCh")
	for pending.Len() > 0 {
		runtime.Gosched()
	}
	c.beat <- c.Now()
	c.beat <- c.Now()
}

// A bucket is x/time/rate on the fake clock.
type bucket[T comparable] struct {
	*rate.Limiter
	clock *fake.FakeClock
}

func (b bucket[T]) When(T) time.Duration {
	now := b.clock.Now()
	return b.ReserveN(now, 1).DelayFrom(now)
}
func (bucket[T]) Forget(T)          {}
func (bucket[T]) NumRequeues(T) int { return 0 }

// A recorder remembers the last delay of a limiter.
type recorder[T comparable] struct {
	clientgo.TypedRateLimiter[T]
	last time.Duration
}

func (r *recorder[T]) When(item T) time.Duration {
	r.last = r.TypedRateLimiter.When(item)
	return r.last
}

// With a bucket, times are multiples of this: a part of a second that is a whole number of nanoseconds, and a float64 without
// rounding. So x/time/rate, which counts tokens in float64, rounds nothing.
const tick = time.Second / 512

// A limiterSet is one limiter in both forms.
type limiterSet[T comparable] struct {
	name   string
	real   func(*fake.FakeClock) clientgo.TypedRateLimiter[T]
	kwq    func() workqueue.TypedRateLimiter[T]
	bucket bool
}

func limiterSets[T comparable]() []limiterSet[T] {
	exponential := func(base, max time.Duration) clientgo.TypedRateLimiter[T] {
		return clientgo.NewTypedItemExponentialFailureRateLimiter[T](base, max)
	}
	return []limiterSet[T]{
		{"exponential", func(*fake.FakeClock) clientgo.TypedRateLimiter[T] { return exponential(3, time.Millisecond) },
			func() workqueue.TypedRateLimiter[T] {
				return workqueue.NewTypedItemExponentialFailureRateLimiter[T](3, time.Millisecond)
			}, false},
		{"item based", func(*fake.FakeClock) clientgo.TypedRateLimiter[T] {
			return clientgo.DefaultTypedItemBasedRateLimiter[T]()
		}, workqueue.DefaultTypedItemBasedRateLimiter[T], false},
		{"fast-slow", func(*fake.FakeClock) clientgo.TypedRateLimiter[T] {
			return clientgo.NewTypedItemFastSlowRateLimiter[T](17, 4321, 3)
		}, func() workqueue.TypedRateLimiter[T] {
			return workqueue.NewTypedItemFastSlowRateLimiter[T](17, 4321, 3)
		}, false},
		{"without a delay", func(*fake.FakeClock) clientgo.TypedRateLimiter[T] { return exponential(0, 0) },
			func() workqueue.TypedRateLimiter[T] {
				return workqueue.NewTypedItemExponentialFailureRateLimiter[T](0, 0)
			}, false},
		{"longest of two, capped", func(*fake.FakeClock) clientgo.TypedRateLimiter[T] {
			return clientgo.NewTypedWithMaxWaitRateLimiter[T](clientgo.NewTypedMaxOfRateLimiter[T](
				exponential(5, time.Hour), clientgo.NewTypedItemFastSlowRateLimiter[T](11, 47, 5)), 1500)
		}, func() workqueue.TypedRateLimiter[T] {
			return workqueue.NewTypedWithMaxWaitRateLimiter(workqueue.NewTypedMaxOfRateLimiter(
				workqueue.NewTypedItemExponentialFailureRateLimiter[T](5, time.Hour),
				workqueue.NewTypedItemFastSlowRateLimiter[T](11, 47, 5)), 1500)
		}, false},
		{"default with a bucket", func(c *fake.FakeClock) clientgo.TypedRateLimiter[T] {
			return clientgo.NewTypedMaxOfRateLimiter[T](exponential(tick, 1000*tick), bucket[T]{rate.NewLimiter(64, 5), c})
		}, func() workqueue.TypedRateLimiter[T] {
			return workqueue.NewTypedMaxOfRateLimiter(
				workqueue.NewTypedItemExponentialFailureRateLimiter[T](tick, 1000*tick),
				workqueue.NewTypedBucketRateLimiter[T](64, time.Second, 5))
		}, true},
		// client-go's own limiter object, in both queues.
		{"client-go's", func(*fake.FakeClock) clientgo.TypedRateLimiter[T] { return exponential(7, time.Second) },
			func() workqueue.TypedRateLimiter[T] { return exponential(7, time.Second) }, false},
	}
}

// counters is a MetricsProvider of client-go.
type counters struct {
	all map[string]*counter
}

type counter struct {
	value   float64
	buckets [11]int
}

func (c *counter) Inc()          { c.value++ }
func (c *counter) Dec()          { c.value-- }
func (c *counter) Set(v float64) { c.value = v }
func (c *counter) Observe(v float64) {
	i := 0
	for bound := 1e-6; i < 10 && v > bound*(1+1e-12); i++ {
		bound *= 10
	}
	c.buckets[i]++
}

func (c *counter) total() (n float64) {
	for _, count := range c.buckets {
		n += float64(count)
	}
	return n
}

func (c *counters) get(name string) *counter {
	c.all[name] = &counter{}
	return c.all[name]
}
func (c *counters) NewDepthMetric(string) clientgo.GaugeMetric            { return c.get("depth") }
func (c *counters) NewAddsMetric(string) clientgo.CounterMetric           { return c.get("adds") }
func (c *counters) NewLatencyMetric(string) clientgo.HistogramMetric      { return c.get("latency") }
func (c *counters) NewWorkDurationMetric(string) clientgo.HistogramMetric { return c.get("work") }
func (c *counters) NewRetriesMetric(string) clientgo.CounterMetric        { return c.get("retries") }
func (c *counters) NewUnfinishedWorkSecondsMetric(string) clientgo.SettableGaugeMetric {
	return c.get("unfinished")
}
func (c *counters) NewLongestRunningProcessorSecondsMetric(string) clientgo.SettableGaugeMetric {
	return c.get("longest")
}

// A pair is the two queues in one episode.
type pair[T comparable] struct {
	random  *rand.Rand
	items   []T
	strange T // never added
	clock   *syncedClock
	limiter *recorder[T]
	set     limiterSet[T]

	real clientgo.TypedRateLimitingInterface[T]
	kwq  *workqueue.Typed[T]

	realMetrics, kwqMetrics *counters

	now    time.Duration
	due    map[T]time.Duration
	held   []T
	down   bool
	log    []string
	failed string
}

func newPair[T comparable](random *rand.Rand, items []T, strange T, set limiterSet[T]) *pair[T] {
	c := &syncedClock{fake.NewFakeClock(time.Unix(0, 0)), make(chan time.Time)}
	p := &pair[T]{
		random: random, items: items, strange: strange, clock: c, set: set, due: map[T]time.Duration{},
		limiter:     &recorder[T]{TypedRateLimiter: set.real(c.FakeClock)},
		realMetrics: &counters{map[string]*counter{}}, kwqMetrics: &counters{map[string]*counter{}},
	}
	p.real = clientgo.NewTypedRateLimitingQueueWithConfig[T](p.limiter, clientgo.TypedRateLimitingQueueConfig[T]{
		Name: "q", Clock: c, MetricsProvider: p.realMetrics,
	})
	q, err := workqueue.Open(set.kwq(), workqueue.TypedRateLimitingQueueConfig[T]{
		Name: "q", Clock: kwq.ClockManual, MetricsProvider: workqueue.Adapt[clientgo.GaugeMetric, clientgo.CounterMetric,
			clientgo.HistogramMetric, clientgo.SettableGaugeMetric](p.kwqMetrics),
		Options: workqueue.Options[T]{Private: true, OnError: func(err error) { p.fail("an error: %v", err) }},
	})
	if err != nil {
		fmt.Printf("Bail out! %v\n", err)
		os.Exit(1)
	}
	p.kwq = q
	return p
}

func (p *pair[T]) fail(format string, args ...any) {
	if p.failed == "" {
		p.failed = fmt.Sprintf(format, args...)
	}
}

func (p *pair[T]) note(format string, args ...any) {
	p.log = append(p.log, fmt.Sprintf(format, args...))
}

func equal[T, A comparable](p *pair[T], what string, real, kwq A) {
	if real != kwq {
		p.fail("%s: client-go says %v, kwq %v", what, real, kwq)
	}
}

func (p *pair[T]) any() T {
	return p.items[p.random.Intn(len(p.items))]
}

// waits notes the time at which an item becomes ready. The earlier one counts (D2).
func (p *pair[T]) waits(item T, delay time.Duration) {
	if delay <= 0 || p.down {
		return
	}
	if old, ok := p.due[item]; !ok || old > p.now+delay {
		p.due[item] = p.now + delay
	}
	p.clock.settle(p.real)
}

func (p *pair[T]) step(d time.Duration) {
	if p.set.bucket {
		d = (d + tick - 1) / tick * tick
	}
	// client-go notices only at the end of a step that an item became ready during it. So each step ends at such a time.
	end := p.now + d
	for {
		next := end
		for _, due := range p.due {
			if due < next {
				next = due
			}
		}
		p.stepTo(next - p.now)
		if next == end || p.failed != "" {
			return
		}
	}
}

func (p *pair[T]) stepTo(d time.Duration) {
	p.note("step %d", d)
	p.now += d
	p.clock.Step(d)
	if err := p.kwq.Queue().Advance(d); err != nil {
		p.fail("advance: %v", err)
	}
	if p.down {
		p.due = map[T]time.Duration{}
		return
	}
	p.clock.settle(p.real)
	times := map[time.Duration]bool{}
	tie := false
	for item, due := range p.due {
		if due <= p.now {
			tie = tie || times[due]
			times[due] = true
			delete(p.due, item)
		}
	}
	if tie {
		p.takeAll()
	}
}

// takeAll gets all that is ready from both queues, in any order.
func (p *pair[T]) takeAll() {
	real, kwq := []string{}, []string{}
	byName := map[string]T{}
	n := p.real.Len()
	equal(p, "length", n, p.kwq.Len())
	for ; n > 0 && p.failed == ""; n-- {
		a, _ := p.real.Get()
		b, _ := p.kwq.Get()
		real, kwq = append(real, fmt.Sprint(a)), append(kwq, fmt.Sprint(b))
		byName[fmt.Sprint(a)] = a
	}
	sort.Strings(real)
	sort.Strings(kwq)
	equal(p, "all", fmt.Sprint(real), fmt.Sprint(kwq))
	for _, name := range real {
		p.held = append(p.held, byName[name])
	}
}

func (p *pair[T]) get() {
	a, downA := p.real.Get()
	b, downB := p.kwq.Get()
	p.note("get %v %v", a, downA)
	equal(p, "get", a, b)
	equal(p, "get after a shut down", downA, downB)
	if !downA {
		p.held = append(p.held, a)
	}
}

// blockedGet lets a Get of each wait, or come too late, before something is added.
func (p *pair[T]) blockedGet(item T) {
	p.note("add %v during a get", item)
	get := func(q clientgo.TypedInterface[T]) chan T {
		got := make(chan T)
		go func() { item, _ := q.Get(); got <- item }()
		return got
	}
	a, b := get(p.real), get(p.kwq)
	p.real.Add(item)
	p.kwq.Add(item)
	gotA, gotB := <-a, <-b
	equal(p, "get", gotA, gotB)
	p.held = append(p.held, gotA)
}

func (p *pair[T]) done() {
	i := p.random.Intn(len(p.held))
	item := p.held[i]
	p.held = append(p.held[:i], p.held[i+1:]...)
	p.note("done %v", item)
	p.real.Done(item)
	p.kwq.Done(item)
}

func (p *pair[T]) holds(item T) bool {
	for _, held := range p.held {
		if held == item {
			return true
		}
	}
	return false
}

func (p *pair[T]) operation() {
	item := p.any()
	switch n := p.random.Intn(100); {
	case n < 22:
		p.note("add %v", item)
		p.real.Add(item)
		p.kwq.Add(item)
	case n < 34:
		// Now, soon, and late.
		delay := [...]time.Duration{0, -1, 1, 1000, time.Second, time.Hour, math.MaxInt64 / 4}[p.random.Intn(7)]
		if delay > 0 {
			delay = 1 + time.Duration(p.random.Int63n(int64(delay)))
		}
		p.note("add %v after %d", item, delay)
		p.real.AddAfter(item, delay)
		p.kwq.AddAfter(item, delay)
		p.waits(item, delay)
	case n < 44:
		p.real.AddRateLimited(item)
		p.kwq.AddRateLimited(item)
		p.note("add %v rate-limited: %d", item, p.limiter.last)
		p.waits(item, p.limiter.last)
	case n < 60:
		if p.real.Len() > 0 {
			p.get()
		} else if !p.down && !p.holds(item) && n < 48 {
			p.blockedGet(item)
		}
	case n < 78:
		if len(p.held) > 0 {
			p.done()
		}
	case n < 80:
		p.note("stray done")
		p.real.Done(p.strange)
		p.kwq.Done(p.strange)
	case n < 85:
		p.note("forget %v", item)
		p.real.Forget(item)
		p.kwq.Forget(item)
	case n < 90:
		// A shut down of kwq forgets requeues (Q8).
		if !p.down {
			equal(p, "requeues", p.real.NumRequeues(item), p.kwq.NumRequeues(item))
		}
	case n < 91:
		equal(p, "shutting down", p.real.ShuttingDown(), p.kwq.ShuttingDown())
	default:
		p.step(time.Duration(p.random.Int63n([...]int64{2, 100, 10000, int64(time.Second), int64(time.Hour)}[p.random.Intn(5)])))
	}
	equal(p, "length", p.real.Len(), p.kwq.Len())
}

func (p *pair[T]) compareMetrics() {
	for name, a := range p.realMetrics.all {
		real, kwq := *a, *p.kwqMetrics.all[name]
		if name == "latency" {
			real, kwq = counter{value: real.total()}, counter{value: kwq.total()}
		}
		if name != "unfinished" && name != "longest" && real != kwq {
			p.fail("metric %s: client-go %v, kwq %v", name, real, kwq)
		}
	}
}

// end shuts both queues down, with a drain or without, and works on until nothing is left.
func (p *pair[T]) end() {
	drained := make(chan bool, 2)
	drains := 0
	if p.random.Intn(2) == 0 {
		p.note("shut down")
		p.real.ShutDown()
		p.kwq.ShutDown()
		p.compareMetrics()
	} else {
		// client-go's drain may end while items are ready.
		for p.real.Len() > 0 {
			p.get()
		}
		p.note("drain")
		drains = 2
		for _, q := range []clientgo.TypedInterface[T]{p.real, p.kwq} {
			go func(q clientgo.TypedInterface[T]) { q.ShutDownWithDrain(); drained <- true }(q)
		}
		for !p.real.ShuttingDown() || !p.kwq.ShuttingDown() {
			runtime.Gosched()
		}
		if len(p.held) > 0 && len(drained) > 0 {
			p.fail("a drain ended while items are held")
		}
	}
	p.down = true
	for i := 0; i < 20 && p.failed == ""; i++ {
		p.operation()
	}
	for p.failed == "" && (len(p.held) > 0 || p.real.Len() > 0) {
		for p.real.Len() > 0 {
			p.get()
		}
		if len(p.held) > 0 {
			p.done()
		}
		equal(p, "length", p.real.Len(), p.kwq.Len())
	}
	if p.failed == "" {
		p.get() // reports the shut down
		for ; drains > 0; drains-- {
			<-drained
		}
	}
	p.real.ShutDown()
	if err := p.kwq.Close(); err != nil {
		p.fail("close: %v", err)
	}
	p.compareMetrics()
}

const episode = 1000

// compare runs episodes of one type of items with all limiters. It returns how many calls it made, and what went wrong.
func compare[T comparable](seed int64, ops int, items []T, strange T) (n int, failed string) {
	sets := limiterSets[T]()
	for i := 0; n < ops; i++ {
		set := sets[i%len(sets)]
		p := newPair(rand.New(rand.NewSource(seed+int64(i))), items, strange, set)
		for j := 0; j < episode && p.failed == ""; j++ {
			p.operation()
			n++
		}
		// After a difference one of the queues may lack an item, and a Get of both would wait for ever.
		if p.failed == "" {
			p.end()
		}
		if p.failed != "" {
			if len(p.log) > 60 {
				p.log = p.log[len(p.log)-60:]
			}
			return n, fmt.Sprintf("limiter %s, seed %d: %s\n%s", set.name, seed+int64(i), p.failed,
				strings.Join(p.log, "\n"))
		}
	}
	return n, ""
}

type pod struct {
	Cluster string
	Shard   int
	Name    types.NamespacedName
}

// compareUntyped uses the names that client-go has deprecated, in a queue that processes share. It returns its number of calls.
func compareUntyped(int64, int) (n int, failed string) {
	const name = "untyped"
	q := workqueue.NewNamedRateLimitingQueue(workqueue.DefaultControllerRateLimiter(), name)
	defer kwq.Unlink(name)
	q.Add("a")
	if item, down := q.Get(); item != any("a") || down {
		return 2, fmt.Sprintf("got %v, %v", item, down)
	}
	q.Done("a")
	defer func() {
		n = 4
		if err, _ := recover().(error); !errors.Is(err, workqueue.ErrNoCodec) {
			failed = fmt.Sprintf("an item that is no string: %v", err)
		}
	}()
	q.Add(5)
	return 4, ""
}

func strings10() []string {
	all := []string{"", "\x00", "/", "a/b", "%2F"}
	for i := 0; len(all) < 10; i++ {
		all = append(all, fmt.Sprintf("key-%d", i))
	}
	return all
}

// number returns a number of the environment.
func number(name string, otherwise int64) int64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		fmt.Printf("Bail out! %s=%s: give a number of 1 or more\n", name, text)
		os.Exit(1)
	}
	return n
}

func main() {
	ops := int(number("KWQ_ITEMS", 1000000))
	seed := number("KWQ_SEED", time.Now().UnixNano())

	if options.NewQueue == nil {
		fmt.Println("Bail out! NewQueue is no value for controller-runtime's option")
		os.Exit(1)
	}
	var (
		ints    []int
		names   []types.NamespacedName
		reqs    []request
		pods    []pod
		addrs   []netip.Addr
		objects []*pod
		anys    []any
	)
	for i := 0; i < 10; i++ {
		name := types.NamespacedName{Namespace: "ns/" + string(rune('a'+i%3)), Name: fmt.Sprint(i)}
		ints = append(ints, i-5)
		names = append(names, name)
		reqs = append(reqs, request{name})
		pods = append(pods, pod{"cluster", i, name})
		addrs = append(addrs, netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}))
		objects = append(objects, &pods[i])
		anys = append(anys, []any{i, fmt.Sprint(i), float64(i)}[i%3])
	}
	cases := []struct {
		name string
		run  func(seed int64, ops int) (int, string)
	}{
		{"constructors", compareConstructors},
		{"a shared queue without types", compareUntyped},
		{"items of type string", func(s int64, n int) (int, string) { return compare(s, n, strings10(), "strange") }},
		{"items of type int", func(s int64, n int) (int, string) { return compare(s, n, ints, 1<<40) }},
		{"items of type types.NamespacedName", func(s int64, n int) (int, string) {
			return compare(s, n, names, types.NamespacedName{Name: "strange"})
		}},
		{"items of type reconcile.Request", func(s int64, n int) (int, string) { return compare(s, n, reqs, request{}) }},
		{"items of type struct", func(s int64, n int) (int, string) { return compare(s, n, pods, pod{}) }},
		{"items of type netip.Addr", func(s int64, n int) (int, string) { return compare(s, n, addrs, netip.Addr{}) }},
		{"items of type pointer", func(s int64, n int) (int, string) { return compare(s, n, objects, &pod{}) }},
		{"items of type any", func(s int64, n int) (int, string) { return compare(s, n, anys, any("strange")) }},
	}
	fmt.Println("TAP version 13")
	fmt.Printf("1..%d\n# seed %d\n", len(cases), seed)
	status := 0
	for i, c := range cases {
		// The first two cases make few calls.
		n, failed := c.run(seed+int64(i)<<32, ops/(len(cases)-2))
		if failed == "" {
			fmt.Printf("ok %d - %s: %d calls\n", i+1, c.name, n)
			continue
		}
		status = 1
		fmt.Printf("not ok %d - %s: after %d calls\n# %s\n", i+1, c.name, n,
			strings.ReplaceAll(fmt.Sprintf("%q", failed), `\n`, "\n# "))
	}
	os.Exit(status)
}
