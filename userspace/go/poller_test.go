// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"context"
	"errors"
	"math/rand"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// A counter of the kernel (eventfd) stands for a queue here. Each read takes one of it, as a get takes an item. So these tests need
// no device.

func newCounter(t *testing.T) *Queue {
	t.Helper()
	const semaphore = 1
	fd, _, errno := syscall.Syscall(syscall.SYS_EVENTFD2, 0, semaphore|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	q := &Queue{fd: int(fd)}
	q.getters.queue = q
	q.adders.queue = q
	q.news.queue, q.news.wake = q, make(chan struct{}, 1)
	t.Cleanup(func() { _ = q.Close() })
	return q
}

func (q *Queue) post(t *testing.T, n uint64) {
	t.Helper()
	_, _, errno := syscall.Syscall(syscall.SYS_WRITE, uintptr(q.fd), uintptr(unsafe.Pointer(&n)), 8)
	if errno != 0 {
		t.Fatal(errno)
	}
}

func (q *Queue) takeOne() (syscall.Errno, bool) {
	var n uint64
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.fd < 0 {
		return 0, true
	}
	_, _, errno := syscall.Syscall(syscall.SYS_READ, uintptr(q.fd), uintptr(unsafe.Pointer(&n)), 8)
	return errno, false
}

// sleepers waits until so many goroutines sleep in a get.
func (q *Queue) sleepers(n int) {
	for {
		got := 0
		q.getters.mu.Lock()
		for w := q.getters.list.first(); w != nil; w = q.getters.list.after(w) {
			got++
		}
		q.getters.mu.Unlock()
		if got == n {
			return
		}
		runtime.Gosched()
	}
}

// Q5: each item wakes one goroutine.
func TestWakesOne(t *testing.T) {
	const goroutines, items = 100, 40
	q := newCounter(t)
	ctx, cancel := context.WithCancel(context.Background())
	var tries, got int64
	var wg sync.WaitGroup
	for i := 0; i < goroutines; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			err := q.waitFor(ctx, false, func() (syscall.Errno, bool) {
				atomic.AddInt64(&tries, 1)
				return q.takeOne()
			})
			if err == nil {
				atomic.AddInt64(&got, 1)
			} else if err != context.Canceled {
				t.Error(err)
			}
		}()
	}
	q.sleepers(goroutines)
	if n := atomic.LoadInt64(&tries); n != goroutines {
		t.Errorf("%d tries before the first item, not %d", n, goroutines)
	}
	for i := 1; i <= items; i++ {
		q.post(t, 1)
		q.sleepers(goroutines - i)
	}
	// A goroutine that is awake has not tried yet.
	for atomic.LoadInt64(&got) < items {
		runtime.Gosched()
	}
	if n := atomic.LoadInt64(&tries); n != goroutines+items {
		t.Errorf("%d tries for %d items, not %d", n-goroutines, items, items)
	}
	cancel()
	wg.Wait()
	if got != items {
		t.Errorf("%d goroutines got an item, not %d", got, items)
	}
}

// Q5: many items at once wake as many goroutines.
func TestWakesForEach(t *testing.T) {
	const goroutines = 1000
	q := newCounter(t)
	var wg sync.WaitGroup
	for i := 0; i < goroutines; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if err := q.waitFor(context.Background(), false, q.takeOne); err != nil {
				t.Error(err)
			}
		}()
	}
	q.sleepers(goroutines)
	q.post(t, goroutines)
	wg.Wait()
}

// Q5: a context that ends while its goroutine is woken loses no wake-up.
func TestCancelLosesNoWakeUp(t *testing.T) {
	const rounds = 2000
	q := newCounter(t)
	for i := 0; i < rounds; i++ {
		ctx, cancel := context.WithCancel(context.Background())
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- q.waitFor(ctx, false, q.takeOne) }()
		q.sleepers(1)
		go func() { second <- q.waitFor(context.Background(), false, q.takeOne) }()
		q.sleepers(2)
		// The item and the end of the context meet.
		go cancel()
		q.post(t, 1)
		if <-first == nil {
			// It was faster. The second one gets the next item.
			q.post(t, 1)
		}
		if err := <-second; err != nil {
			t.Fatal(err)
		}
		cancel()
	}
}

// Q5: items come while goroutines come and go.
func TestGettersComeAndGo(t *testing.T) {
	const items, goroutines = 5000, 16
	q := newCounter(t)
	var got int64
	all, stop := context.WithCancel(context.Background())
	defer stop()
	var wg sync.WaitGroup
	for i := 0; i < goroutines; i++ {
		wg.Add(1)
		go func(seed int64) {
			defer wg.Done()
			random := rand.New(rand.NewSource(seed))
			for all.Err() == nil {
				ctx, cancel := context.WithTimeout(all, time.Duration(random.Intn(200))*time.Microsecond)
				if q.waitFor(ctx, false, q.takeOne) == nil && atomic.AddInt64(&got, 1) == items {
					stop()
				}
				cancel()
			}
		}(int64(i))
	}
	// One goroutine only waits, so a lost wake-up would leave an item.
	wg.Add(1)
	go func() {
		defer wg.Done()
		for q.waitFor(all, false, q.takeOne) == nil {
			if atomic.AddInt64(&got, 1) == items {
				stop()
			}
		}
	}()
	for i := 0; i < items; i++ {
		q.post(t, 1)
		if i%16 == 0 {
			runtime.Gosched()
		}
	}
	wg.Wait()
	if got != items {
		t.Errorf("%d of %d items", got, items)
	}
}

func TestCloseWakesAll(t *testing.T) {
	const goroutines = 50
	q := newCounter(t)
	errs := make(chan error, goroutines)
	for i := 0; i < goroutines; i++ {
		go func() { errs <- q.waitFor(context.Background(), false, q.takeOne) }()
	}
	q.sleepers(goroutines)
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < goroutines; i++ {
		if err := <-errs; !errors.Is(err, ErrClosed) {
			t.Fatalf("%v", err)
		}
	}
	if err := q.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("the second close: %v", err)
	}
	if err := q.waitFor(context.Background(), false, q.takeOne); !errors.Is(err, ErrClosed) {
		t.Errorf("a wait after the close: %v", err)
	}
	if err := q.waitFor(context.Background(), true, q.takeOne); !errors.Is(err, ErrClosed) {
		t.Errorf("a wait that begins after the close: %v", err)
	}
}

// A descriptor that cannot be polled is an error for each goroutine.
func TestCannotPoll(t *testing.T) {
	fd, err := syscall.Open("/", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	q := &Queue{fd: fd}
	q.getters.queue = q
	q.adders.queue = q
	defer q.Close()
	never := func() (syscall.Errno, bool) { return syscall.EAGAIN, false }
	for i := 0; i < 2; i++ {
		if err := q.waitFor(context.Background(), false, never); !errors.Is(err, syscall.EPERM) {
			t.Errorf("%v", err)
		}
	}
	if err := q.adders.join(&waiter{}, 1); !errors.Is(err, syscall.EPERM) {
		t.Errorf("%v", err)
	}
	// The one that was woken cannot wait again. The next one must not sleep for ever.
	w := &waiter{wake: make(chan struct{}, 1)}
	q.getters.list.pushBack(w)
	q.getters.passOn()
	<-w.wake
	q.getters.list.pushBack(w)
	if err := q.getters.sleep(context.Background(), true); !errors.Is(err, syscall.EPERM) {
		t.Errorf("%v", err)
	}
	<-w.wake
}

func TestPollErrors(t *testing.T) {
	q := &Queue{name: "q"}
	err := q.pollError(opGet, syscall.ENOSPC)
	if !errors.Is(err, syscall.ENOSPC) || err.Error() !=
		"kwq: get queue q: too many descriptors are polled: raise fs.epoll.max_user_watches" {
		t.Error(err)
	}
	if err := q.pollError(opGet, errors.New("else")); err.Error() != "kwq: get queue q: else" {
		t.Error(err)
	}
}

// The adders of a queue, without one.

func sleepingAdder(q *Queue, size int) (*waiter, chan error, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	w := &waiter{wake: make(chan struct{}, 1)}
	slept := make(chan error, 1)
	a := &q.adders
	a.mu.Lock()
	a.users++
	a.turns++
	w.turn = a.turns
	a.mu.Unlock()
	seen := a.seen()
	go func() { slept <- a.sleep(ctx, w, size, seen) }()
	for {
		a.mu.Lock()
		listed := w.listed
		a.mu.Unlock()
		if listed {
			return w, slept, cancel
		}
		runtime.Gosched()
	}
}

func (q *Queue) isAsleep(w *waiter) bool {
	q.adders.mu.Lock()
	defer q.adders.mu.Unlock()
	return w.listed
}

// Q19: room wakes the first adder. It wakes the next one if it found room, and else only one that needs less.
func TestRoomWakesInTurn(t *testing.T) {
	q := newCounter(t)
	a := &q.adders
	first, firstSlept, _ := sleepingAdder(q, 100)
	second, secondSlept, _ := sleepingAdder(q, 100)
	small, smallSlept, _ := sleepingAdder(q, 10)
	// Keeps the handle watched, so that the adders can leave.
	keeper := &waiter{wake: make(chan struct{}, 1)}
	if err := a.join(keeper, 1); err != nil {
		t.Fatal(err)
	}
	// The counter is writable, so the poller reports one event of its own.
	if err := <-firstSlept; err != nil {
		t.Fatal(err)
	}
	if q.isAsleep(first) || !q.isAsleep(second) || !q.isAsleep(small) {
		t.Error("the event did not wake the first one only")
	}
	// The first one finds no room again.
	go func() { firstSlept <- a.sleep(context.Background(), first, 100, a.seen()) }()
	if err := <-smallSlept; err != nil {
		t.Fatal(err)
	}
	if !q.isAsleep(first) || !q.isAsleep(second) {
		t.Error("one that needs as much was woken")
	}
	a.leave(small)
	if !q.isAsleep(first) || !q.isAsleep(second) {
		t.Error("one that needs more was woken")
	}
	a.event()
	if err := <-firstSlept; err != nil {
		t.Fatal(err)
	}
	if !q.isAsleep(second) {
		t.Error("the second one was woken before the first one tried")
	}
	a.leave(first)
	if err := <-secondSlept; err != nil {
		t.Fatal(err)
	}
	a.leave(second)
	a.leave(keeper)
	if a.poller != nil || a.users != 0 {
		t.Error("the handle is still watched")
	}
}

// Q19: an adder whose context ends passes its wake-up on.
func TestRoomCanceled(t *testing.T) {
	q := newCounter(t)
	a := &q.adders
	// As if a further goroutine waited, so that the handle stays watched.
	a.users++
	first, firstSlept, cancel := sleepingAdder(q, 1)
	second, secondSlept, _ := sleepingAdder(q, 1)
	// As event() does, but the goroutine does not hear of it before the context ends.
	a.mu.Lock()
	a.list.remove(first)
	first.limit = 100
	a.mu.Unlock()
	cancel()
	first.wake <- struct{}{}
	<-firstSlept
	a.leave(first)
	if err := <-secondSlept; err != nil {
		t.Fatal(err)
	}
	a.leave(second)

	third, thirdSlept, cancel := sleepingAdder(q, 1)
	cancel()
	if err := <-thirdSlept; err != context.Canceled {
		t.Error(err)
	}
	if q.isAsleep(third) {
		t.Error("it is still in the list")
	}
}

// Q19: an event between the try and the sleep is not lost.
func TestRoomBeforeSleep(t *testing.T) {
	q := newCounter(t)
	a := &q.adders
	w := &waiter{wake: make(chan struct{}, 1)}
	seen := a.seen()
	a.event()
	if err := a.sleep(context.Background(), w, 1, seen); err != nil {
		t.Fatal(err)
	}
}

func TestCloseWakesAdders(t *testing.T) {
	q := newCounter(t)
	_, first, _ := sleepingAdder(q, 1)
	_, second, _ := sleepingAdder(q, 1)
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	<-first
	<-second
	if err := q.adders.join(&waiter{}, 1); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestEventIDs(t *testing.T) {
	for _, id := range []uint64{1, 1<<32 - 1, 1 << 32, 1<<64 - 1} {
		if got := idOf(eventOf(pollIn, id)); got != id {
			t.Errorf("%#x became %#x", id, got)
		}
	}
	p, err := readyPoller()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := readyPoller(); again != p || err != nil {
		t.Errorf("%v", err)
	}
	if _, err := p.add(-1, pollIn, nil); err != syscall.EBADF {
		t.Errorf("%v", err)
	}
}
