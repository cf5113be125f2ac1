// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package workqueue

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"kwq.example/kwq"
)

// needsDevice skips a test on a machine without the module.
func needsDevice(t *testing.T) {
	t.Helper()
	if f, err := os.OpenFile("/dev/kwq", os.O_RDWR, 0); err != nil {
		t.Skip("there is no /dev/kwq for us")
	} else {
		f.Close()
	}
}

func open[T comparable](t *testing.T, limiter TypedRateLimiter[T], config TypedRateLimitingQueueConfig[T]) *Typed[T] {
	t.Helper()
	q, err := Open(limiter, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	return q
}

func wantItem[T comparable](t *testing.T, q *Typed[T], want T) {
	t.Helper()
	if item, down := q.Get(); item != want || down {
		t.Fatalf("%v, %v; wanted %v", item, down, want)
	}
}

func wantDown[T comparable](t *testing.T, q *Typed[T]) {
	t.Helper()
	if item, down := q.Get(); !down {
		t.Fatalf("%v after a shut down", item)
	}
}

// A name that no other test uses. The name is removed at the end.
func queueName(t *testing.T) string {
	name := fmt.Sprintf("%s-%d", t.Name(), os.Getpid())
	t.Cleanup(func() { kwq.Unlink(name) })
	return name
}

// G2, Q2, Q4, Q7, Q8
func TestDevicePrivate(t *testing.T) {
	needsDevice(t)
	q := open(t, nil, TypedRateLimitingQueueConfig[string]{})
	q.Add("a")
	q.Add("a")
	q.Add("b")
	if n := q.Len(); n != 2 {
		t.Errorf("%d items", n)
	}
	wantItem(t, q, "a")
	q.Add("a")
	if h := q.Holding("a"); h == nil || h.Key != "a" || q.Holding("b") != nil {
		t.Errorf("holds %v", h)
	}
	q.Done("a")
	q.Done("a")
	wantItem(t, q, "b")
	q.Done("b")
	q.ShutDown()
	q.Add("c")
	wantItem(t, q, "a")
	q.Done("a")
	wantDown(t, q)
	if !q.ShuttingDown() {
		t.Error("not shutting down")
	}
}

// L1, L8, L9, D1: in the kernel, and in this process.
func TestDeviceLimiters(t *testing.T) {
	needsDevice(t)
	for _, limiter := range []TypedRateLimiter[int]{
		NewTypedItemExponentialFailureRateLimiter[int](10, 100),
		maxOf[int]{NewTypedItemExponentialFailureRateLimiter[int](10, 100)},
	} {
		q := open(t, limiter, TypedRateLimitingQueueConfig[int]{Clock: kwq.ClockManual})
		for _, delay := range []time.Duration{10, 20, 40, 80, 100} {
			q.AddRateLimited(7)
			q.Queue().Advance(delay - 1)
			if n := q.Len(); n != 0 {
				t.Fatalf("ready before %v", delay)
			}
			q.Queue().Advance(1)
			wantItem(t, q, 7)
			q.Done(7)
		}
		if n := q.NumRequeues(7); n != 5 {
			t.Errorf("%d requeues", n)
		}
		q.Forget(7)
		if n := q.NumRequeues(7); n != 0 {
			t.Errorf("%d requeues after a forget", n)
		}
	}
}

// G2: objects leave the table with their keys.
func TestDeviceObjects(t *testing.T) {
	needsDevice(t)
	q := open(t, nil, TypedRateLimitingQueueConfig[*int]{Clock: kwq.ClockManual})
	table := q.keys.(*table[*int])
	a, b := new(int), new(int)
	q.Add(a)
	q.AddRateLimited(b)
	wantItem(t, q, a)
	q.Add(a)
	q.Done(a)
	wantItem(t, q, a)
	q.Done(a)
	wantSize(t, table, 1)
	q.Queue().Advance(time.Hour)
	wantItem(t, q, b)
	q.Done(b)
	wantSize(t, table, 1)
	if n := q.NumRequeues(b); n != 1 {
		t.Errorf("%d requeues", n)
	}
	q.Forget(b)
	wantSize(t, table, 0)
	q.Forget(b)
	if n := q.NumRequeues(b); n != 0 {
		t.Errorf("%d requeues", n)
	}
	q.AddAfter(a, time.Hour)
	q.ShutDown()
	q.Add(b)
	wantSize(t, table, 0)
}

// G2: a local shut down leaves everything to the other process, here a second handle.
func TestDeviceShared(t *testing.T) {
	needsDevice(t)
	config := TypedRateLimitingQueueConfig[string]{Name: queueName(t)}
	q, other := open(t, nil, config), open(t, nil, config)
	q.Add("a")
	q.Add("b")
	wantItem(t, q, "a")
	drained := make(chan bool)
	go func() { q.ShutDownWithDrain(); close(drained) }()
	for !q.ShuttingDown() {
		time.Sleep(time.Millisecond)
	}
	wantDown(t, q)
	select {
	case <-drained:
		t.Error("a drain ended while an item is held")
	default:
	}
	q.Add("a")
	q.Done("a")
	<-drained
	if other.ShuttingDown() {
		t.Error("a local shut down reached another process")
	}
	wantItem(t, other, "b")
	wantItem(t, other, "a")
	// O1: the items of a closed handle come back.
	other.Close()
	third := open(t, nil, config)
	wantItem(t, third, "b")
	wantItem(t, third, "a")
	go third.ShutDownWithDrain()
	third.ShutDown()
	wantDown(t, third)
}

func TestDeviceShutDownAll(t *testing.T) {
	needsDevice(t)
	config := TypedRateLimitingQueueConfig[string]{Name: queueName(t), Options: Options[string]{ShutDownAll: true}}
	q, other := open(t, nil, config), open(t, nil, config)
	q.ShutDownWithDrain()
	wantDown(t, other)
}

// O4: a full queue, and a key that is no item's.
func TestDeviceErrors(t *testing.T) {
	needsDevice(t)
	var got error
	q := open(t, nil, TypedRateLimitingQueueConfig[int]{Options: Options[int]{
		Create: &kwq.CreateOptions{MaxItems: 1}, OnError: func(err error) { got = err },
	}})
	if _, err := q.Queue().Add("007"); err != nil {
		t.Fatal(err)
	}
	q.Add(1)
	if !errors.Is(got, kwq.ErrFull) {
		t.Errorf("a full queue: %v", got)
	}
	q.ShutDown()
	wantDown(t, q)
	if !errors.Is(got, ErrKey) {
		t.Errorf("a key of nobody: %v", got)
	}

	full := open(t, nil, TypedRateLimitingQueueConfig[int]{Options: Options[int]{Create: &kwq.CreateOptions{MaxItems: 1}}})
	full.Add(1)
	func() {
		defer func() {
			if err, _ := recover().(error); !errors.Is(err, kwq.ErrFull) {
				t.Errorf("an add that loses its event: %v", err)
			}
		}()
		full.Add(2)
	}()

	if _, err := Open[*int](nil, TypedRateLimitingQueueConfig[*int]{Name: queueName(t)}); !errors.Is(err, ErrNoCodec) {
		t.Errorf("a shared queue of pointers: %v", err)
	}
	_, err := Open[int](nil, TypedRateLimitingQueueConfig[int]{
		Clock: kwq.ClockManual, Options: Options[int]{Queue: full.Queue()},
	})
	if err == nil {
		t.Error("a queue that exists got a clock")
	}
	named := TypedRateLimitingQueueConfig[int]{Name: queueName(t)}
	open(t, nil, named)
	named.Clock = kwq.ClockManual
	if _, err := Open[int](nil, named); err == nil || !strings.Contains(err.Error(), "another clock") {
		t.Errorf("a named queue that exists got a clock: %v", err)
	}
}

// OnError may call the queue, also to drain it, which waits for the calls under way.
func TestDeviceOnErrorDrains(t *testing.T) {
	needsDevice(t)
	var q *Typed[int]
	errs := 0
	q = open(t, nil, TypedRateLimitingQueueConfig[int]{Name: queueName(t), Options: Options[int]{OnError: func(err error) {
		errs++
		q.ShutDownWithDrain()
	}}})
	if _, err := q.Queue().Add("foreign"); err != nil {
		t.Fatal(err)
	}
	wantDown(t, q)
	if errs != 1 {
		t.Errorf("%d errors", errs)
	}
}

// Close ends the Gets of a queue that was given, and leaves the queue open.
func TestDeviceCloseOfAGivenQueue(t *testing.T) {
	needsDevice(t)
	given, err := kwq.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer given.Close()
	q := open(t, nil, TypedRateLimitingQueueConfig[string]{Options: Options[string]{Queue: given, ShutDownAll: true}})
	ended := make(chan bool)
	go func() {
		_, down := q.Get()
		ended <- down
	}()
	q.Close()
	if !<-ended {
		t.Error("a Get went on after Close")
	}
	if _, err := given.Add("a"); err != nil {
		t.Error(err)
	}
}

// A codec of somebody else that reads two keys as one item.
type folding struct{}

func (folding) Encode(item string) (string, error) { return "k" + item, nil }
func (folding) Decode(key string) (string, error)  { return key[1:], nil }

// Q3: an item whose key has another spelling is not handed out beside the right one.
func TestDeviceForeignSpelling(t *testing.T) {
	needsDevice(t)
	var got error
	q := open(t, nil, TypedRateLimitingQueueConfig[string]{Options: Options[string]{
		Codec: folding{}, OnError: func(err error) { got = err },
	}})
	for _, key := range []string{"ka", "xa"} {
		if _, err := q.Queue().Add(key); err != nil {
			t.Fatal(err)
		}
	}
	wantItem(t, q, "a")
	q.Done("a")
	q.ShutDown()
	wantDown(t, q)
	if !errors.Is(got, ErrKey) {
		t.Errorf("another spelling: %v", got)
	}
}

// L11: a rate-limited add of a dead letter of somebody else says so.
func TestDeviceDeadLetter(t *testing.T) {
	needsDevice(t)
	var got error
	q := open(t, nil, TypedRateLimitingQueueConfig[string]{Options: Options[string]{OnError: func(err error) { got = err }}})
	if _, err := q.Queue().Add("pod"); err != nil {
		t.Fatal(err)
	}
	item, err := q.Queue().TryGet()
	if err == nil {
		_, err = item.Bury()
	}
	if err != nil {
		t.Fatal(err)
	}
	q.AddRateLimited("pod")
	if got == nil || !strings.Contains(got.Error(), "dead letter") {
		t.Errorf("the event is lost: %v", got)
	}
	q.Add("pod")
	wantItem(t, q, "pod")
}

// U9: without the right to manage, a shut down ends the work of this process, and says why not more.
func TestDeviceShutDownWithoutTheRight(t *testing.T) {
	needsDevice(t)
	var errs []error
	config := TypedRateLimitingQueueConfig[string]{Name: queueName(t)}
	other := open(t, nil, config)
	config.Options = Options[string]{
		ShutDownAll: true,
		Create:      &kwq.CreateOptions{Rights: kwq.RightRead | kwq.RightWrite},
		OnError:     func(err error) { errs = append(errs, err) },
	}
	q := open(t, nil, config)
	q.ShutDown()
	wantDown(t, q)
	q.ShutDownWithDrain()
	if len(errs) != 2 || !errors.Is(errs[0], kwq.ErrRights) || other.ShuttingDown() {
		t.Errorf("%v, the other one: %v", errs, other.ShuttingDown())
	}
	config.Options.Create = &kwq.CreateOptions{Rights: kwq.RightWrite}
	errs = nil
	wantDown(t, open(t, nil, config))
	if len(errs) != 1 || !errors.Is(errs[0], kwq.ErrRights) {
		t.Errorf("a get without the right: %v", errs)
	}
}
