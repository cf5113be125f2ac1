// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package workqueue

import (
	"fmt"
	"math"
	"math/rand"
	"sync"
	"testing"
	"time"

	"kwq.example/kwq"
)

// priorityQueue is a queue whose clock stands still.
type priorityQueue = PriorityQueue[string, AddOpts]

func openPriority(t *testing.T, config TypedRateLimitingQueueConfig[string]) *priorityQueue {
	t.Helper()
	q, err := OpenPriorityQueue[AddOpts, string](nil, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	return q
}

func manual() TypedRateLimitingQueueConfig[string] {
	return TypedRateLimitingQueueConfig[string]{Clock: kwq.ClockManual}
}

func at(priority int) AddOpts { return AddOpts{Priority: &priority} }

func after(delay time.Duration, priority int) AddOpts {
	return AddOpts{After: delay, Priority: &priority}
}

func wantAt(t *testing.T, q *priorityQueue, want string, wantPriority int) {
	t.Helper()
	if q.Len() == 0 {
		t.Fatalf("nothing is ready; wanted %s", want)
	}
	if item, priority, down := q.GetWithPriority(); item != want || priority != wantPriority || down {
		t.Fatalf("%v with priority %d, %v; wanted %v with %d", item, priority, down, want, wantPriority)
	}
}

func wantLen(t *testing.T, q *priorityQueue, want int) {
	t.Helper()
	if n := q.Len(); n != want {
		t.Fatalf("%d items; wanted %d", n, want)
	}
}

func advance(t *testing.T, q *priorityQueue, d time.Duration) {
	t.Helper()
	if err := q.Queue().Advance(d); err != nil {
		t.Fatal(err)
	}
}

// G5, Q12: priorities beyond the kernel's keep their order, and are reported as given.
func TestDevicePriorityOrder(t *testing.T) {
	needsDevice(t)
	priorities := []int{math.MaxInt, 1000, 101, 100, 99, 33, 32, 31, 1, 0, -1, -31, -32, -33, -100, -101, -1000, math.MinInt}
	for n := 0; n < 50; n++ {
		q := openPriority(t, manual())
		for _, i := range rand.Perm(len(priorities)) {
			q.AddWithOpts(at(priorities[i]), fmt.Sprint(priorities[i]))
		}
		for _, priority := range priorities {
			wantAt(t, q, fmt.Sprint(priority), priority)
		}
		q.Close()
	}
}

// C11, Q12: the highest priority counts, a higher one moves an item to the tail of that priority, and a lower one changes nothing.
func TestDevicePriorityHighest(t *testing.T) {
	needsDevice(t)
	q := openPriority(t, manual())
	for _, add := range []struct {
		key      string
		priority int
	}{{"a", 1}, {"a", 77}, {"a", -100}, {"b", 77}, {"c", 0}, {"d", -100}, {"d", 77}, {"a", 76}} {
		q.AddWithOpts(at(add.priority), add.key)
	}
	wantLen(t, q, 4)
	wantAt(t, q, "a", 77)
	wantAt(t, q, "b", 77)
	wantAt(t, q, "d", 77)
	wantAt(t, q, "c", 0)
	// nil is 0: it raises, and it is not what the item had.
	q.AddWithOpts(at(-100), "e")
	q.Add("e")
	wantAt(t, q, "e", 0)
	q.Add("a")
	q.Done("a")
	wantAt(t, q, "a", 0)
	q.AddWithOpts(at(-5), "a")
	q.AddWithOpts(at(-6), "a")
	q.Done("a")
	wantAt(t, q, "a", -5)
}

// C12: priorities that share a level of the kernel are reported as given, too.
func TestDevicePriorityShared(t *testing.T) {
	needsDevice(t)
	q := openPriority(t, manual())
	want := map[string]int{}
	for n := 0; n < 3000; n++ {
		key, priority := fmt.Sprint(rand.Intn(500)), rand.Intn(4000)-2000
		o := at(priority)
		if rand.Intn(3) == 0 {
			o.After = time.Duration(rand.Intn(10))
		}
		q.AddWithOpts(o, key)
		if old, ok := want[key]; !ok || old < priority {
			want[key] = priority
		}
		if rand.Intn(4) != 0 {
			continue
		}
		advance(t, q, time.Duration(rand.Intn(10)))
		if q.Len() > 0 {
			item, priority, _ := q.GetWithPriority()
			if priority != want[item] {
				t.Fatalf("add %d: %s has priority %d; wanted %d", n, item, priority, want[item])
			}
			delete(want, item)
			q.Done(item)
		}
	}
}

// C6, C7, D2: an item is ready or waits, and not both.
func TestDevicePriorityDelays(t *testing.T) {
	needsDevice(t)
	q := openPriority(t, manual())
	// C6
	q.AddAfter("a", 10)
	wantLen(t, q, 0)
	q.Add("a")
	// C7
	q.Add("b")
	q.AddAfter("b", 10)
	wantAt(t, q, "a", 0)
	wantAt(t, q, "b", 0)
	q.Done("a")
	q.Done("b")
	advance(t, q, 10)
	wantLen(t, q, 0)
	// A delay of an item at work stays, until it is added.
	q.Add("a")
	q.Add("b")
	wantAt(t, q, "a", 0)
	wantAt(t, q, "b", 0)
	q.AddAfter("a", 10)
	q.AddAfter("b", 10)
	q.Add("b")
	q.AddAfter("b", 20)
	q.Done("a")
	q.Done("b")
	wantAt(t, q, "b", 0)
	q.Done("b")
	wantLen(t, q, 0)
	advance(t, q, 9)
	wantLen(t, q, 0)
	advance(t, q, 1)
	wantAt(t, q, "a", 0)
	q.Done("a")
	advance(t, q, time.Hour)
	wantLen(t, q, 0)
	// The earlier of two delays, and the higher of two priorities.
	q.AddWithOpts(after(20, -100), "a")
	q.AddWithOpts(after(10, -50), "a")
	q.AddWithOpts(after(30, -70), "a")
	q.AddWithOpts(after(5, 7), "b")
	q.AddWithOpts(at(-100), "b")
	wantAt(t, q, "b", 7)
	advance(t, q, 10)
	wantAt(t, q, "a", -50)
	// A delay for a ready item can raise its priority. A negative one is none.
	q.AddWithOpts(at(-100), "c")
	q.AddWithOpts(after(10, 3), "c")
	q.AddWithOpts(after(-1, 2), "d")
	wantAt(t, q, "c", 3)
	wantAt(t, q, "d", 2)
}

// The items of one call do not affect each other, and the shorter one of two delays counts.
func TestDevicePriorityLimiters(t *testing.T) {
	needsDevice(t)
	for _, limiter := range []TypedRateLimiter[string]{
		NewTypedItemExponentialFailureRateLimiter[string](10, 1000),
		maxOf[string]{NewTypedItemExponentialFailureRateLimiter[string](10, 1000)},
	} {
		q, err := OpenPriorityQueue[AddOpts](limiter, manual())
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		limited := after(0, -100)
		limited.RateLimited = true
		q.AddWithOpts(limited, "a", "b")
		q.AddWithOpts(limited, "b")
		advance(t, q, 9)
		wantLen(t, q, 0)
		advance(t, q, 1)
		wantAt(t, q, "a", -100)
		wantAt(t, q, "b", -100)
		if a, b := q.NumRequeues("a"), q.NumRequeues("b"); a != 1 || b != 2 {
			t.Errorf("%d and %d requeues", a, b)
		}
		limited.After = 5
		q.AddWithOpts(limited, "b")
		q.Done("b")
		advance(t, q, 5)
		wantAt(t, q, "b", -100)
		// C7: of a ready item it counts, and delays nothing.
		q.Add("c")
		q.AddWithOpts(limited, "c")
		wantAt(t, q, "c", 0)
		q.Done("c")
		advance(t, q, time.Hour)
		wantLen(t, q, 0)
		if n := q.NumRequeues("c"); n != 1 {
			t.Errorf("%d requeues of a ready item", n)
		}
		q.Forget("b")
		if n := q.NumRequeues("b"); n != 0 {
			t.Errorf("%d requeues", n)
		}
	}
}

// A limiter of the kernel that chooses no delay ends a wait, as any add that makes an item ready.
func TestDevicePriorityLimiterWithoutDelay(t *testing.T) {
	needsDevice(t)
	q, err := OpenPriorityQueue[AddOpts](NewTypedItemFastSlowRateLimiter[string](0, 10, 1), manual())
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	q.AddAfter("a", 20)
	q.AddRateLimited("a")
	wantAt(t, q, "a", 0)
	q.Done("a")
	advance(t, q, 20)
	wantLen(t, q, 0)
	q.AddRateLimited("a")
	advance(t, q, 10)
	wantAt(t, q, "a", 0)
}

// C1: Len counts items that were added while they are processed. C2: such an item gets its place at its Done.
func TestDevicePriorityLocked(t *testing.T) {
	needsDevice(t)
	q := openPriority(t, manual())
	q.Add("a")
	wantAt(t, q, "a", 0)
	q.Add("a")
	q.Add("a")
	wantLen(t, q, 1)
	q.Add("b")
	wantLen(t, q, 2)
	wantAt(t, q, "b", 0)
	q.Add("c")
	q.Done("a")
	wantAt(t, q, "c", 0)
	wantAt(t, q, "a", 0)
	// A delay that ends while its item is processed.
	q.AddAfter("a", 10)
	advance(t, q, 10)
	wantLen(t, q, 1)
	q.Done("a")
	wantAt(t, q, "a", 0)
}

// C8: a waiting item has no place.
func TestDevicePriorityPlaceOfAWait(t *testing.T) {
	needsDevice(t)
	q := openPriority(t, manual())
	q.AddAfter("a", 10)
	q.Add("b")
	q.Add("a")
	wantAt(t, q, "b", 0)
	wantAt(t, q, "a", 0)
	q.AddWithOpts(after(20, 0), "late")
	q.AddWithOpts(after(10, 0), "soon")
	q.AddWithOpts(after(20, 1), "first")
	q.Add("now")
	advance(t, q, 20)
	wantAt(t, q, "first", 1)
	wantAt(t, q, "now", 0)
	wantAt(t, q, "soon", 0)
	wantAt(t, q, "late", 0)
}

// C3, C4, C13: a shut down ends all Gets at once. A queue of this process ignores later adds. A shared one keeps them for the others.
func TestDevicePriorityShutDown(t *testing.T) {
	needsDevice(t)
	q := openPriority(t, manual())
	ended := make(chan bool)
	go func() {
		_, _, down := q.GetWithPriority()
		ended <- down
	}()
	time.Sleep(10 * time.Millisecond)
	q.ShutDown()
	if !<-ended || !q.ShuttingDown() {
		t.Error("a Get went on after the shut down")
	}
	q = openPriority(t, manual())
	q.Add("a")
	q.ShutDown()
	q.Add("b")
	q.AddAfter("b", 1)
	wantLen(t, q, 1)
	for n := 0; n < 2; n++ {
		if item, priority, down := q.GetWithPriority(); item != "" || priority != 0 || !down {
			t.Errorf("%v, %v, %v after a shut down", item, priority, down)
		}
	}

	config := TypedRateLimitingQueueConfig[string]{Name: queueName(t)}
	q, other := openPriority(t, config), openPriority(t, config)
	q.AddWithOpts(at(-100), "a")
	q.AddWithOpts(at(12345), "b")
	q.ShutDown()
	wantDown(t, q.Typed)
	q.AddWithOpts(at(54321), "c")
	wantAt(t, other, "c", 54321)
	wantAt(t, other, "b", 12345)
	wantAt(t, other, "a", -100)
}

// A queue that exists without values reports usual priorities, and keeps the order.
func TestDevicePriorityWithoutValues(t *testing.T) {
	needsDevice(t)
	given, err := kwq.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer given.Close()
	config := TypedRateLimitingQueueConfig[string]{Options: Options[string]{Queue: given}}
	q := openPriority(t, config)
	q.AddWithOpts(at(-100), "a")
	q.AddWithOpts(at(35), "b")
	q.AddWithOpts(at(36), "c")
	wantAt(t, q, "c", 50)
	wantAt(t, q, "b", 40)
	wantAt(t, q, "a", -100)
}

// Items come once, whoever adds and gets them.
func TestDevicePriorityMany(t *testing.T) {
	needsDevice(t)
	q := openPriority(t, TypedRateLimitingQueueConfig[string]{})
	for n := 0; n < 3; n++ {
		for i := 0; i < 1000; i++ {
			if priority := rand.Intn(100); priority < 10 {
				q.AddWithOpts(AddOpts{After: time.Duration(priority) * time.Millisecond}, fmt.Sprint(i))
			} else {
				q.AddWithOpts(at(priority), fmt.Sprint(i))
			}
		}
		var workers sync.WaitGroup
		for w := 0; w < 100; w++ {
			workers.Add(1)
			go func() {
				defer workers.Done()
				for i := 0; i < 10; i++ {
					item, _, _ := q.GetWithPriority()
					q.Done(item)
				}
			}()
		}
		workers.Wait()
		wantLen(t, q, 0)
	}
}

// depthOf is controller-runtime's metric of a depth for each priority, whose type is in a package that nobody can import.
type depthOf map[int]int

func (d depthOf) Inc(priority int) { d[priority]++ }
func (d depthOf) Dec(priority int) { d[priority]-- }

type priorityProvider struct {
	*provider
	depths depthOf
}

func (p priorityProvider) NewDepthMetric(string) foreignGauge {
	panic("the depth of a queue without priorities")
}
func (p priorityProvider) NewDepthMetricWithPriority(string) interface {
	Inc(int)
	Dec(int)
} {
	return p.depths
}

// C10, M1: the metrics of controller-runtime's provider.
func TestDevicePriorityMetrics(t *testing.T) {
	needsDevice(t)
	p := priorityProvider{newProvider(true), depthOf{}}
	q := openPriority(t, TypedRateLimitingQueueConfig[string]{
		Name: "metrics", Clock: kwq.ClockManual, Options: Options[string]{Private: true},
		MetricsProvider: Adapt[foreignGauge, foreignCounter, foreignHistogram, foreignSettable](p),
	})
	want := func(adds, retries float64, depths map[int]int) {
		t.Helper()
		q.ReportMetrics()
		if got := p.all["adds metrics"].value; got != adds {
			t.Errorf("%v adds; wanted %v", got, adds)
		}
		if got := p.all["retries metrics"].value; got != retries {
			t.Errorf("%v retries; wanted %v", got, retries)
		}
		if fmt.Sprint(p.depths) != fmt.Sprint(depths) {
			t.Errorf("depths %v; wanted %v", p.depths, depths)
		}
	}
	q.AddWithOpts(after(10, -100), "a")
	want(0, 1, map[int]int{})
	q.AddWithOpts(after(10, 7), "a")
	advance(t, q, 10)
	want(1, 2, map[int]int{7: 1})
	q.AddWithOpts(at(33), "a")
	q.AddWithOpts(at(33), "b")
	want(2, 2, map[int]int{7: 0, 33: 2})
	wantAt(t, q, "a", 33)
	q.AddWithOpts(at(-100), "a")
	q.AddAfter("a", 0)
	q.AddAfter("a", 10)
	want(3, 3, map[int]int{0: 1, 7: 0, 33: 1})
	q.Done("a")
	wantAt(t, q, "b", 33)
	wantAt(t, q, "a", 0)
	want(3, 3, map[int]int{0: 0, 7: 0, 33: 0})
}
