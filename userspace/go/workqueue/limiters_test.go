// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package workqueue

import (
	"math"
	"reflect"
	"testing"
	"time"

	"kwq.example/kwq"
)

// When returns the first delays of an item.
func delays(l TypedRateLimiter[string], item string, n int) []time.Duration {
	var all []time.Duration
	for i := 0; i < n; i++ {
		all = append(all, l.When(item))
	}
	return all
}

func wantDelays(t *testing.T, l TypedRateLimiter[string], item string, want ...time.Duration) {
	t.Helper()
	if got := delays(l, item, len(want)); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, wanted %v", got, want)
	}
}

// L2
func TestExponential(t *testing.T) {
	l := NewTypedItemExponentialFailureRateLimiter[string](1, 5)
	wantDelays(t, l, "a", 1, 2, 4, 5, 5)
	wantDelays(t, l, "b", 1)
	if n := l.NumRequeues("a"); n != 5 {
		t.Errorf("%d requeues", n)
	}
	l.Forget("a")
	if n := l.NumRequeues("a"); n != 0 {
		t.Errorf("%d requeues after a forget", n)
	}
	wantDelays(t, l, "a", 1)

	l = NewTypedItemExponentialFailureRateLimiter[string](1, math.MaxInt64)
	if all := delays(l, "a", 200); all[62] != 1<<62 || all[63] != math.MaxInt64 || all[199] != math.MaxInt64 {
		t.Errorf("%v", all)
	}
	wantDelays(t, NewTypedItemExponentialFailureRateLimiter[string](7, 5), "a", 5, 5)
	wantDelays(t, NewTypedItemExponentialFailureRateLimiter[string](0, 5), "a", 0, 0)
	wantDelays(t, NewTypedItemExponentialFailureRateLimiter[string](-1, 5), "a", 0)
	wantDelays(t, NewTypedItemExponentialFailureRateLimiter[string](1, -5), "a", 0)
}

// L3
func TestFastSlow(t *testing.T) {
	wantDelays(t, NewTypedItemFastSlowRateLimiter[string](5, 9, 2), "a", 5, 5, 9, 9)
	wantDelays(t, NewTypedItemFastSlowRateLimiter[string](-5, 9, -2), "a", 9)
	wantDelays(t, NewTypedItemFastSlowRateLimiter[string](-5, 9, math.MaxInt), "a", 0, 0)
}

// L4
func TestBucket(t *testing.T) {
	l := NewTypedBucketRateLimiter[string](2, 10, 2).(*Limiter[string])
	now := time.Duration(0)
	l.now = func() time.Duration { return now }
	wantDelays(t, l, "a", 0, 0, 5, 10, 15)
	now = 7
	// 7 ns bring 1.4 tokens: -3 becomes -1.6, and one more is taken.
	wantDelays(t, l, "b", 13, 18)
	now = 1000
	wantDelays(t, l, "c", 0, 0, 5)
	now = math.MaxInt64
	wantDelays(t, l, "c", 0, 0, 5)

	slow := NewTypedBucketRateLimiter[string](1, math.MaxInt64, 1)
	wantDelays(t, slow, "a", 0)
	if d := slow.When("a"); d < math.MaxInt64-time.Hour {
		t.Errorf("%v", d)
	}
	if d := slow.When("a"); d != math.MaxInt64 {
		t.Errorf("a delay does not saturate: %v", d)
	}
	fast := NewTypedBucketRateLimiter[string](math.MaxInt32, 1, math.MaxInt32).(*Limiter[string])
	fast.now = func() time.Duration { return now }
	now = 0
	wantDelays(t, fast, "a", 0)
	now = math.MaxInt64
	wantDelays(t, fast, "a", 0)
}

// L5, L6, L7
func TestCombined(t *testing.T) {
	exponential := NewTypedItemExponentialFailureRateLimiter[string](1, 100)
	fastSlow := NewTypedItemFastSlowRateLimiter[string](3, 6, 4)
	both := NewTypedMaxOfRateLimiter(exponential, fastSlow)
	wantDelays(t, both, "a", 3, 3, 4, 8, 16)
	if l, ok := both.(*Limiter[string]); !ok || len(l.limiters) != 2 {
		t.Errorf("two limiters do not fit into the kernel: %#v", both)
	}
	capped := NewTypedWithMaxWaitRateLimiter(both, 5)
	wantDelays(t, capped, "a", 3, 3, 4, 5, 5)
	if l, ok := capped.(*Limiter[string]); !ok || l.maxWait != 5 {
		t.Errorf("a capped limiter does not fit into the kernel: %#v", capped)
	}
	wantDelays(t, NewTypedWithMaxWaitRateLimiter(capped, 3), "b", 3, 3, 3)
	wantDelays(t, NewTypedWithMaxWaitRateLimiter(capped, 9), "b", 3, 3, 4, 5)
	wantDelays(t, NewTypedWithMaxWaitRateLimiter(both, 0), "b", 0, 0)

	def := DefaultTypedControllerRateLimiter[string]().(*Limiter[string])
	want := []kwq.Limiter{
		kwq.Exponential{Base: 5 * time.Millisecond, Max: 1000 * time.Second},
		kwq.Bucket{Period: time.Second, Events: 10, Burst: 100},
	}
	if !reflect.DeepEqual(def.limiters, want) {
		t.Errorf("the default is %#v", def.limiters)
	}
	wantDelays(t, DefaultTypedItemBasedRateLimiter[string](), "a", time.Millisecond, 2*time.Millisecond)
}

// ownLimiter is one that only this process knows.
type ownLimiter struct {
	n, forgotten int
}

func (o *ownLimiter) When(string) time.Duration { o.n++; return time.Duration(10 * o.n) }
func (o *ownLimiter) Forget(string)             { o.forgotten++; o.n = 0 }
func (o *ownLimiter) NumRequeues(string) int    { return o.n }

func TestOwnLimiters(t *testing.T) {
	own := &ownLimiter{}
	mixed := NewTypedMaxOfRateLimiter[string](own, NewTypedItemFastSlowRateLimiter[string](15, 15, 0))
	wantDelays(t, mixed, "a", 15, 20, 30)
	if n := mixed.NumRequeues("a"); n != 3 {
		t.Errorf("%d requeues", n)
	}
	capped := NewTypedWithMaxWaitRateLimiter(mixed, 25)
	wantDelays(t, capped, "a", 25)
	if n := capped.NumRequeues("a"); n != 4 {
		t.Errorf("%d requeues", n)
	}
	capped.Forget("a")
	if own.forgotten != 1 || mixed.NumRequeues("a") != 0 {
		t.Error("a forget did not reach all limiters")
	}

	// A cap of one among several holds for this one alone.
	one := NewTypedWithMaxWaitRateLimiter(NewTypedItemExponentialFailureRateLimiter[string](8, 64), 20)
	wantDelays(t, NewTypedMaxOfRateLimiter(one, NewTypedItemFastSlowRateLimiter[string](0, 30, 3)), "a", 8, 16, 20, 30)

	var nine []TypedRateLimiter[string]
	for i := 1; i <= 9; i++ {
		nine = append(nine, NewTypedItemFastSlowRateLimiter[string](time.Duration(i), 0, 1))
	}
	wantDelays(t, NewTypedMaxOfRateLimiter(nine...), "a", 9, 0)
	none := NewTypedMaxOfRateLimiter[string]()
	wantDelays(t, none, "a", 0, 0)
	if n := none.NumRequeues("a"); n != 0 {
		t.Errorf("%d requeues without a limiter", n)
	}
}
