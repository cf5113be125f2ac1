// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package workqueue

import (
	"math"
	"math/bits"
	"sync"
	"time"

	"kwq.example/kwq"
)

// Limiter has the parameters of limiters that the kernel can carry out. A queue that is created with one has its limiters in
// the kernel: the counts of requeues belong to the queue, and all processes that share it use one bucket.
//
// A Limiter also works by itself, in this process, for example within a limiter of your own. Then it has a count and a
// bucket of its own.
type Limiter[T comparable] struct {
	limiters []kwq.Limiter
	// 0 for no limit.
	maxWait time.Duration

	// Protects all that follows.
	mutex    sync.Mutex
	requeues map[T]int
	// One for each limiter; used by the buckets.
	levels []level
	now    func() time.Duration
}

func newLimiter[T comparable](limiters ...kwq.Limiter) *Limiter[T] {
	start := time.Now()

	return &Limiter[T]{
		limiters: limiters,
		requeues: map[T]int{},
		levels:   make([]level, len(limiters)),
		now:      func() time.Duration { return time.Since(start) },
	}
}

// DefaultTypedControllerRateLimiter returns the limiter of most controllers: an exponential one from 5 ms to 1000 s, and a
// bucket of 10 per second with a burst of 100.
func DefaultTypedControllerRateLimiter[T comparable]() TypedRateLimiter[T] {
	return NewTypedMaxOfRateLimiter(
		NewTypedItemExponentialFailureRateLimiter[T](5*time.Millisecond, 1000*time.Second),
		NewTypedBucketRateLimiter[T](10, time.Second, 100),
	)
}

// DefaultTypedItemBasedRateLimiter returns an exponential limiter from 1 ms to 1000 s.
func DefaultTypedItemBasedRateLimiter[T comparable]() TypedRateLimiter[T] {
	return NewTypedItemExponentialFailureRateLimiter[T](time.Millisecond, 1000*time.Second)
}

// NewTypedItemExponentialFailureRateLimiter returns a limiter whose delay is base x 2^requeues, at most max.
func NewTypedItemExponentialFailureRateLimiter[T comparable](base, max time.Duration) TypedRateLimiter[T] {
	// The kernel takes no base of 0, and none above max.
	if base <= 0 || max <= 0 {
		return newLimiter[T](kwq.FastSlow{})
	}
	return newLimiter[T](kwq.Exponential{Base: shorter(base, max), Max: max})
}

// NewTypedItemFastSlowRateLimiter returns a limiter whose delay is fast for the first maxFast requeues of an item, then slow.
func NewTypedItemFastSlowRateLimiter[T comparable](fast, slow time.Duration, maxFast int) TypedRateLimiter[T] {
	if maxFast < 0 {
		maxFast = 0
	}
	if maxFast > math.MaxInt32 {
		maxFast = math.MaxInt32
	}
	return newLimiter[T](kwq.FastSlow{Fast: notNegative(fast), Slow: notNegative(slow), MaxFast: maxFast})
}

// NewTypedBucketRateLimiter returns a bucket of burst tokens that gets events new ones each period. It stands for client-go's
// TypedBucketRateLimiter, with the delays of golang.org/x/time/rate.
func NewTypedBucketRateLimiter[T comparable](events int, period time.Duration, burst int) TypedRateLimiter[T] {
	return newLimiter[T](kwq.Bucket{Period: period, Events: events, Burst: burst})
}

// NewTypedMaxOfRateLimiter returns a limiter that asks all of these, and uses the longest delay. Up to 8 of this package work
// in the kernel. Together with limiters of another kind they work in this process.
func NewTypedMaxOfRateLimiter[T comparable](limiters ...TypedRateLimiter[T]) TypedRateLimiter[T] {
	var all []kwq.Limiter

	for _, limiter := range limiters {
		l, ok := limiter.(*Limiter[T])
		if !ok || l.maxWait != 0 {
			return maxOf[T](limiters)
		}
		all = append(all, l.limiters...)
	}
	if len(all) == 0 || len(all) > 8 {
		return maxOf[T](limiters)
	}
	return newLimiter[T](all...)
}

// NewTypedWithMaxWaitRateLimiter returns the limiter with a longest delay.
func NewTypedWithMaxWaitRateLimiter[T comparable](limiter TypedRateLimiter[T], max time.Duration) TypedRateLimiter[T] {
	l, ok := limiter.(*Limiter[T])
	// In the kernel 0 means no limit.
	if !ok || max <= 0 {
		return &maxWait[T]{limiter, max}
	}
	capped := newLimiter[T](l.limiters...)
	capped.maxWait = max
	if l.maxWait != 0 {
		capped.maxWait = shorter(max, l.maxWait)
	}
	return capped
}

// When returns the longest delay of the limiters, and counts a requeue.
func (l *Limiter[T]) When(item T) time.Duration {
	l.mutex.Lock()
	defer l.mutex.Unlock()

	longest := time.Duration(0)
	for i, limiter := range l.limiters {
		delay := time.Duration(0)
		switch p := limiter.(type) {
		case kwq.Exponential:
			delay = p.Max
			if n := l.requeues[item]; n < 63 && p.Base <= p.Max>>n {
				delay = p.Base << n
			}
		case kwq.FastSlow:
			delay = p.Slow
			if l.requeues[item] < p.MaxFast {
				delay = p.Fast
			}
		case kwq.Bucket:
			delay = l.levels[i].take(p, l.now())
		}
		if delay > longest {
			longest = delay
		}
	}
	l.requeues[item]++
	if l.maxWait != 0 {
		longest = shorter(longest, l.maxWait)
	}
	return longest
}

// Forget sets the count of requeues to zero.
func (l *Limiter[T]) Forget(item T) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	delete(l.requeues, item)
}

// NumRequeues returns the count of requeues.
func (l *Limiter[T]) NumRequeues(item T) int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.requeues[item]
}

// A level is how full a bucket is. A bucket with debt has fewer tokens than none.
type level struct {
	// Tokens, and parts of a token in 1/period.
	tokens int64
	parts  uint64
	// When the tokens were counted. A bucket that was never used is full.
	at   time.Duration
	used bool
}

// take takes a token, and returns how long it takes until it is there.
func (l *level) take(b kwq.Bucket, now time.Duration) time.Duration {
	period, events := uint64(b.Period), uint64(b.Events)
	if !l.used {
		*l = level{tokens: int64(b.Burst), at: now, used: true}
	}
	high, low := bits.Mul64(uint64(now-l.at), events)
	low, carry := bits.Add64(low, l.parts, 0)
	high += carry
	l.at = now
	if high >= period {
		l.tokens, l.parts = int64(b.Burst), 0
	} else {
		var gained uint64
		gained, l.parts = bits.Div64(high, low, period)
		if gained > math.MaxInt32 || l.tokens+int64(gained) >= int64(b.Burst) {
			l.tokens, l.parts = int64(b.Burst), 0
		} else {
			l.tokens += int64(gained)
		}
	}
	l.tokens--
	if l.tokens >= 0 {
		return 0
	}
	high, low = bits.Mul64(uint64(-l.tokens), period)
	low, borrow := bits.Sub64(low, l.parts, 0)
	high -= borrow
	if high >= events {
		return math.MaxInt64
	}
	delay, _ := bits.Div64(high, low, events)
	if delay > math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(delay)
}

// maxOf asks limiters of any kind.
type maxOf[T comparable] []TypedRateLimiter[T]

func (l maxOf[T]) When(item T) time.Duration {
	longest := time.Duration(0)
	for _, limiter := range l {
		if delay := limiter.When(item); delay > longest {
			longest = delay
		}
	}
	return longest
}

func (l maxOf[T]) Forget(item T) {
	for _, limiter := range l {
		limiter.Forget(item)
	}
}

func (l maxOf[T]) NumRequeues(item T) int {
	most := 0
	for _, limiter := range l {
		if n := limiter.NumRequeues(item); n > most {
			most = n
		}
	}
	return most
}

// maxWait caps a limiter of any kind.
type maxWait[T comparable] struct {
	TypedRateLimiter[T]
	max time.Duration
}

func (l *maxWait[T]) When(item T) time.Duration {
	return shorter(l.TypedRateLimiter.When(item), l.max)
}

func shorter(a, b time.Duration) time.Duration {
	if a < b {
		return a
	}
	return b
}

func notNegative(d time.Duration) time.Duration {
	if d < 0 {
		return 0
	}
	return d
}
