// SPDX-License-Identifier: GPL-2.0-only

// G5: command priority gives the same random calls to a priority queue of controller-runtime and to one of kwq's package workqueue,
// and compares every answer. Both queues have a clock that stands still between the calls. It prints TAP.
//
//	priority
//
// KWQ_ITEMS in the environment is the number of calls, and KWQ_SEED the seed of the random numbers.
//
// Differences that kwq(7) lists are left out, by taking all ready items of both queues before:
//
//   - C2: an item that was added while it is processed has its place since then, and in kwq since its Done.
//   - C8: an item whose wait an add ends has its place since the first add, and in kwq since the last one.
//   - Items that become ready at the same nanosecond have the order of their first adds in kwq. Here the last rise of the
//     priority counts.
//   - C10: metrics are compared at the end of an episode, and a delay of 0 is no retry in either.
//   - A shut down of kwq forgets the requeues that its own limiters have counted.
package main

import (
	"fmt"
	"math"
	"math/rand"
	"os"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"kwq.example/kwq"
	"kwq.example/kwq/workqueue"
)

// The shape of reconcile.Request of controller-runtime, which is in a package with many dependencies.
type request struct {
	types.NamespacedName
}

// The shape of controller-runtime's option: one line gives a controller kwq's queue, which is a priority queue to it.
var options = struct {
	NewQueue func(string, clientgo.TypedRateLimiter[request]) clientgo.TypedRateLimitingInterface[request]
}{}

func init() {
	options.NewQueue = workqueue.NewPriorityQueue[priorityqueue.AddOpts]
	workqueue.SetProvider(workqueue.MetricsOf(func(name string) any { return priorityqueue.New[string](name) }))
}

var _ priorityqueue.PriorityQueue[request] = (*workqueue.PriorityQueue[request, priorityqueue.AddOpts])(nil)

// field is a member of controller-runtime's queue that has no name for others.
func field[F any](queue any, name string) *F {
	v := reflect.ValueOf(queue).Elem().FieldByName(name)
	if !v.IsValid() || v.Type() != reflect.TypeOf((*F)(nil)).Elem() {
		fmt.Printf("Bail out! controller-runtime's queue has no %s of the type that this test knows\n", name)
		os.Exit(1)
	}
	return (*F)(unsafe.Pointer(v.UnsafeAddr()))
}

// A counter is a metric.
type counter struct {
	value        float64
	observations int
}

func (c *counter) Inc()            { c.value++ }
func (c *counter) Dec()            { c.value-- }
func (c *counter) Set(v float64)   { c.value = v }
func (c *counter) Observe(float64) { c.observations++ }

// counters is a MetricsProvider of client-go.
type counters map[string]*counter

func (c counters) get(name string) *counter {
	c[name] = &counter{}
	return c[name]
}
func (c counters) NewDepthMetric(string) clientgo.GaugeMetric            { return c.get("depth") }
func (c counters) NewAddsMetric(string) clientgo.CounterMetric           { return c.get("adds") }
func (c counters) NewLatencyMetric(string) clientgo.HistogramMetric      { return c.get("latency") }
func (c counters) NewWorkDurationMetric(string) clientgo.HistogramMetric { return c.get("work") }
func (c counters) NewRetriesMetric(string) clientgo.CounterMetric        { return c.get("retries") }
func (c counters) NewUnfinishedWorkSecondsMetric(string) clientgo.SettableGaugeMetric {
	return &counter{}
}
func (c counters) NewLongestRunningProcessorSecondsMetric(string) clientgo.SettableGaugeMetric {
	return &counter{}
}

// A state is what the test knows of an item.
type state struct {
	held, ready, waits bool
	due                time.Duration
	priority           int // of the ready or waiting item
}

// A pair is the two queues in one episode.
type pair[T comparable] struct {
	random     *rand.Rand
	items      []T
	priorities []int
	kernel     bool // kwq's limiter is the kernel's

	real priorityqueue.PriorityQueue[T]
	kwq  *workqueue.PriorityQueue[T, priorityqueue.AddOpts]
	beat chan struct{}

	realMetrics, kwqMetrics counters

	now    time.Duration
	states map[T]*state
	held   []T
	down   bool
	log    []string
	failed string
}

func newPair[T comparable](random *rand.Rand, items []T, priorities []int) *pair[T] {
	p := &pair[T]{
		random: random, items: items, priorities: priorities, states: map[T]*state{}, kernel: random.Intn(2) == 0,
		realMetrics: counters{}, kwqMetrics: counters{},
	}
	for _, item := range items {
		p.states[item] = &state{}
	}
	limiter := func() clientgo.TypedRateLimiter[T] {
		return clientgo.NewTypedItemExponentialFailureRateLimiter[T](3, time.Millisecond)
	}
	p.real = priorityqueue.New("q", func(o *priorityqueue.Opts[T]) {
		o.RateLimiter, o.MetricProvider = limiter(), p.realMetrics
	})
	start := time.Now()
	*field[func() time.Time](p.real, "now") = func() time.Time { return start.Add(p.now) }
	*field[func(time.Duration) <-chan time.Time](p.real, "tick") = func(time.Duration) <-chan time.Time { return nil }
	p.beat = *field[chan struct{}](p.real, "waitingItemAddedOrUpdated")

	var own workqueue.TypedRateLimiter[T] = limiter()
	if p.kernel {
		own = workqueue.NewTypedItemExponentialFailureRateLimiter[T](3, time.Millisecond)
	}
	q, err := workqueue.OpenPriorityQueue[priorityqueue.AddOpts](own, workqueue.TypedRateLimitingQueueConfig[T]{
		Name: "q", Clock: kwq.ClockManual, MetricsProvider: workqueue.Adapt[clientgo.GaugeMetric, clientgo.CounterMetric,
			clientgo.HistogramMetric, clientgo.SettableGaugeMetric](p.kwqMetrics),
		Options: workqueue.Options[T]{Private: true, OnError: func(err error) { p.fail("an error: %v", err) }},
	})
	if err != nil {
		fmt.Printf("Bail out! %v\n", err)
		os.Exit(1)
	}
	p.kwq = q
	// A priority that is met while others are queued may change the order of these, once. So all are met before.
	for _, i := range random.Perm(len(priorities)) {
		p.within(func() {
			p.add(items[0], priorityqueue.AddOpts{Priority: &priorities[i]})
			p.get()
			p.done(0)
		})
	}
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
		p.fail("%s: controller-runtime says %v, kwq %v", what, real, kwq)
	}
}

// settle waits until controller-runtime's goroutine has made ready what is due. The channel has room for one. When the third send
// returns, the goroutine has taken the second, so it has come to its end after the first.
func (p *pair[T]) settle() {
	for i := 0; i < 3 && !p.down; i++ {
		p.beat <- struct{}{}
	}
}

// available returns how many items a Get can take.
func (p *pair[T]) available() (n int) {
	for _, s := range p.states {
		if s.ready && !s.held {
			n++
		}
	}
	return n
}

// delayOf is what controller-runtime makes of a delay, here with the limiter's, which is nil if it is not asked.
func delayOf(after time.Duration, limiter *time.Duration) time.Duration {
	if limiter != nil && (after == 0 || *limiter < after) {
		return *limiter
	}
	return after
}

func (p *pair[T]) add(item T, o priorityqueue.AddOpts) {
	s := p.states[item]
	var limiter *time.Duration
	if o.RateLimited {
		delay := time.Millisecond
		if n := p.real.NumRequeues(item); n < 20 && 3<<n < time.Millisecond {
			delay = 3 << n
		}
		limiter = &delay
	}
	delay, priority := delayOf(o.After, limiter), 0
	if o.Priority != nil {
		priority = *o.Priority
	}
	if delay <= 0 && s.waits && !s.held && priority <= s.priority {
		p.takeAll() // C8
	}
	p.note("add %v after %d, rate-limited %v, priority %d", item, o.After, o.RateLimited, priority)
	p.real.AddWithOpts(o, item)
	p.kwq.AddWithOpts(o, item)
	p.real.Len() // takes it out of the buffer
	if p.down {
		return
	}
	if (s.ready || s.waits) && s.priority > priority {
		priority = s.priority
	}
	s.priority = priority
	switch {
	case s.ready:
	case delay <= 0:
		s.ready, s.waits = true, false
	case !s.waits || p.now+delay < s.due:
		s.waits, s.due = true, p.now+delay
	}
	p.settle()
}

func (p *pair[T]) step(d time.Duration) {
	end := p.now + d
	for p.failed == "" {
		next := end
		for _, s := range p.states {
			if s.waits && s.due < next {
				next = s.due
			}
		}
		p.stepTo(next)
		if next == end {
			return
		}
	}
}

func (p *pair[T]) stepTo(next time.Duration) {
	d := next - p.now
	p.note("step %d", d)
	p.now = next
	if err := p.kwq.Queue().Advance(d); err != nil {
		p.fail("advance: %v", err)
	}
	if p.down {
		return
	}
	p.settle()
	due := 0
	for _, s := range p.states {
		if s.waits && s.due <= p.now {
			s.waits, s.ready = false, true
			due++
		}
	}
	if due > 1 {
		p.takeAll()
	}
}

// takeAll gets all that is ready from both queues. Items of one priority may come in any order. After a shut down nothing comes.
func (p *pair[T]) takeAll() {
	if p.down {
		return
	}
	var real, kwq []string
	for n := p.available(); n > 0 && p.failed == ""; n-- {
		a, priorityA, _ := p.real.GetWithPriority()
		b, priorityB, _ := p.kwq.GetWithPriority()
		equal(p, "priority", priorityA, priorityB)
		real = append(real, fmt.Sprint(a, priorityA))
		kwq = append(kwq, fmt.Sprint(b, priorityB))
		p.took(a)
	}
	sort.Strings(real)
	sort.Strings(kwq)
	equal(p, "all", strings.Join(real, ", "), strings.Join(kwq, ", "))
	p.note("took all: %v", real)
}

func (p *pair[T]) took(item T) {
	s := p.states[item]
	s.ready, s.held = false, true
	p.held = append(p.held, item)
}

func (p *pair[T]) get() {
	a, priorityA, downA := p.real.GetWithPriority()
	b, priorityB, downB := p.kwq.GetWithPriority()
	p.note("get %v with priority %d, %v", a, priorityA, downA)
	equal(p, "get", a, b)
	equal(p, "priority", priorityA, priorityB)
	equal(p, "get after a shut down", downA, downB)
	if !downA {
		p.took(a)
	}
}

// blockedGet lets a Get of each wait, or come too late, before something is added.
func (p *pair[T]) blockedGet(item T) {
	type answer struct {
		item     T
		priority int
	}
	get := func(q priorityqueue.PriorityQueue[T]) chan answer {
		got := make(chan answer)
		go func() {
			item, priority, _ := q.GetWithPriority()
			got <- answer{item, priority}
		}()
		return got
	}
	a, b := get(p.real), get(p.kwq)
	p.add(item, priorityqueue.AddOpts{Priority: p.options().Priority})
	gotA, gotB := <-a, <-b
	p.note("a get waited for %v with priority %d", gotA.item, gotA.priority)
	equal(p, "get", gotA, gotB)
	p.took(gotA.item)
}

func (p *pair[T]) done(i int) {
	item := p.held[i]
	s := p.states[item]
	if s.ready {
		p.takeAll() // C2
	}
	p.held = append(p.held[:i], p.held[i+1:]...)
	s.held = false
	p.note("done %v", item)
	p.real.Done(item)
	p.kwq.Done(item)
}

func (p *pair[T]) options() (o priorityqueue.AddOpts) {
	if n := p.random.Intn(4); n > 0 {
		o.Priority = &p.priorities[p.random.Intn(len(p.priorities))]
	}
	// None, now, soon, and late.
	switch longest := [...]time.Duration{0, 0, 0, 1, 1000, time.Hour, math.MaxInt64 / 8}[p.random.Intn(7)]; {
	case longest > 0:
		o.After = 1 + time.Duration(p.random.Int63n(int64(longest)))
	case p.random.Intn(20) == 0:
		o.After = -1
	}
	o.RateLimited = p.random.Intn(5) == 0
	return o
}

func (p *pair[T]) operation() {
	item := p.items[p.random.Intn(len(p.items))]
	switch n := p.random.Intn(100); {
	case n < 45:
		p.add(item, p.options())
	case n < 60:
		if p.down || p.available() > 0 {
			p.get()
		} else if !p.states[item].held && n < 48 {
			p.blockedGet(item)
		}
	case n < 80:
		if len(p.held) > 0 {
			p.done(p.random.Intn(len(p.held)))
		}
	case n < 82:
		if !p.states[item].held {
			p.note("stray done of %v", item)
			p.real.Done(item)
			p.kwq.Done(item)
		}
	case n < 86:
		p.note("forget %v", item)
		p.real.Forget(item)
		p.kwq.Forget(item)
	case n < 90:
		if !p.down {
			equal(p, "requeues", p.real.NumRequeues(item), p.kwq.NumRequeues(item))
		}
	case n < 91:
		equal(p, "shutting down", p.real.ShuttingDown(), p.kwq.ShuttingDown())
	case !p.down:
		p.step(time.Duration(p.random.Int63n([...]int64{2, 100, 10000, int64(time.Second), int64(time.Hour)}[p.random.Intn(5)])))
	}
	equal(p, "length", p.real.Len(), p.kwq.Len())
}

func (p *pair[T]) compareMetrics() {
	p.kwq.ReportMetrics()
	for name, real := range p.realMetrics {
		equal(p, "metric "+name, *real, *p.kwqMetrics[name])
	}
}

// end shuts both queues down, and goes on for a while.
func (p *pair[T]) end() {
	if !p.kernel {
		p.compareMetrics()
	}
	p.note("shut down")
	p.real.ShutDown()
	p.kwq.ShutDown()
	p.down = true
	for _, s := range p.states {
		s.waits = false
	}
	for i := 0; i < 20 && p.failed == ""; i++ {
		p.operation()
	}
	if err := p.kwq.Close(); err != nil {
		p.fail("close: %v", err)
	}
}

// tail is the end of the log.
func (p *pair[T]) tail() []string {
	if len(p.log) > 60 {
		return p.log[len(p.log)-60:]
	}
	return p.log
}

const episode = 1000

// sets of priorities: those of controller-runtime itself, usual ones, dense ones beyond the kernel's, and any.
func priorities(random *rand.Rand) []int {
	switch random.Intn(4) {
	case 0:
		return []int{-100, 0}
	case 1:
		return []int{-1000, -100, -10, -5, -1, 0, 1, 5, 10, 100, 1000}
	case 2:
		return []int{-101, -100, -34, -33, -32, -31, 0, 30, 31, 32, 33, 34, 99, 100}
	}
	all := map[int]bool{0: true}
	for len(all) < 64 {
		all[[...]int{random.Intn(200) - 100, random.Int() - random.Int()}[random.Intn(2)]] = true
	}
	var list []int
	for priority := range all {
		list = append(list, priority)
	}
	sort.Ints(list)
	return list
}

// within ends the program if the calls take a minute, because a Get that finds nothing waits for ever.
func (p *pair[T]) within(calls func()) {
	timer := time.AfterFunc(time.Minute, func() {
		fmt.Printf("Bail out! a call does not return, controller-runtime has %d items, kwq %d, after\n# %s\n",
			p.real.Len(), p.kwq.Len(), strings.Join(p.tail(), "\n# "))
		os.Exit(1)
	})
	defer timer.Stop()
	calls()
}

// compare runs episodes of one type of items. It returns how many calls it made, and what went wrong.
func compare[T comparable](seed int64, ops int, items []T) (n int, failed string) {
	for i := int64(0); n < ops; i++ {
		random := rand.New(rand.NewSource(seed + i))
		p := newPair(random, items, priorities(random))
		for j := 0; j < episode && p.failed == ""; j++ {
			p.within(p.operation)
			n++
		}
		if p.failed == "" {
			p.within(p.end)
		}
		if p.failed != "" {
			return n, fmt.Sprintf("seed %d, priorities %v: %s\n%s", seed+i, p.priorities, p.failed, strings.Join(p.tail(), "\n"))
		}
	}
	return n, ""
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

// assigned checks what the option of a controller makes: a priority queue that other processes share, with metrics in the manager's
// registry.
func assigned(int64, int) (int, string) {
	const name = "assigned"
	q := options.NewQueue(name, clientgo.NewTypedItemExponentialFailureRateLimiter[request](1, 1))
	defer kwq.Unlink(name)
	queue, ok := q.(priorityqueue.PriorityQueue[request])
	if !ok {
		return 1, "the queue is no priority queue to controller-runtime"
	}
	low, want := -100, request{types.NamespacedName{Name: "b"}}
	queue.AddWithOpts(priorityqueue.AddOpts{Priority: &low}, request{types.NamespacedName{Name: "a"}})
	queue.Add(want)
	if item, priority, down := queue.GetWithPriority(); item != want || priority != 0 || down {
		return 4, fmt.Sprintf("got %v with priority %d, %v", item, priority, down)
	}
	q.(interface{ ReportMetrics() }).ReportMetrics()
	families, err := metrics.Registry.Gather()
	if err != nil {
		return 4, err.Error()
	}
	reported := ""
	for _, family := range families {
		for _, metric := range family.Metric {
			for _, label := range metric.Label {
				if label.GetName() == "priority" {
					reported += fmt.Sprintf("%s of %s: %v ", family.GetName(), label.GetValue(), metric.GetGauge().GetValue())
				}
			}
			if strings.HasSuffix(family.GetName(), "adds_total") {
				reported += fmt.Sprintf("%s: %v ", family.GetName(), metric.GetCounter().GetValue())
			}
		}
	}
	if reported != "workqueue_adds_total: 2 workqueue_depth of -100: 1 " {
		return 4, "the manager's registry has " + reported
	}
	return 4, ""
}

func main() {
	ops := int(number("KWQ_ITEMS", 1000000))
	seed := number("KWQ_SEED", time.Now().UnixNano())

	var strs []string
	var requests []request
	for i := 0; i < 10; i++ {
		strs = append(strs, fmt.Sprintf("key-%d", i))
		requests = append(requests, request{types.NamespacedName{Namespace: "ns/" + fmt.Sprint(i%3), Name: fmt.Sprint(i)}})
	}
	cases := []struct {
		name string
		run  func(seed int64, ops int) (int, string)
	}{
		{"the queue of a controller", assigned},
		{"priorities of items of type string", func(s int64, n int) (int, string) { return compare(s, n, strs) }},
		{"priorities of items of type reconcile.Request", func(s int64, n int) (int, string) { return compare(s, n, requests) }},
	}
	fmt.Println("TAP version 13")
	fmt.Printf("1..%d\n# seed %d\n", len(cases), seed)
	status := 0
	for i, c := range cases {
		// The first case makes few calls.
		n, failed := c.run(seed+int64(i)<<32, ops/(len(cases)-1))
		if failed == "" {
			fmt.Printf("ok %d - %s: %d calls\n", i+1, c.name, n)
			continue
		}
		status = 1
		fmt.Printf("not ok %d - %s: after %d calls\n# %s\n", i+1, c.name, n, strings.ReplaceAll(failed, "\n", "\n# "))
	}
	os.Exit(status)
}
