// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"math"
	"runtime"
	"time"
	"unsafe"
)

// The operations of this file, as Error.Op names them.
const (
	opConfig    = "read the configuration of"
	opConfigure = "configure"
)

// A Limiter computes how long an item waits for its next try. [Exponential], [FastSlow], [Bucket] and [Backoff] are limiters.
type Limiter interface {
	args() (limiterArgs, error)
}

// Exponential gives Base, then twice as much with each requeue, up to Max. It is client-go's
// NewTypedItemExponentialFailureRateLimiter.
type Exponential struct {
	Base, Max time.Duration
}

// FastSlow gives Fast for the first MaxFast requeues of a key, then Slow. It is client-go's NewTypedItemFastSlowRateLimiter.
type FastSlow struct {
	Fast, Slow time.Duration
	MaxFast    int
}

// Bucket holds up to Burst tokens, and gets Events new ones in each Period. Each rate-limited add takes one, and waits for one if
// there is none. It is client-go's TypedBucketRateLimiter, and golang.org/x/time/rate's Limiter.
type Bucket struct {
	Period        time.Duration
	Events, Burst int
}

// Backoff gives pauses that grow: Duration, multiplied by Factor for each requeue, Steps times at most, and up to Cap. Each pause
// is longer by a random part, up to Jitter times the pause. It is the Backoff of k8s.io/apimachinery/pkg/util/wait.
type Backoff struct {
	Duration time.Duration
	Cap      time.Duration // 0 for none
	Factor   float64       // 0 for 1: the pauses stay the same
	Jitter   float64
	Steps    int // up to 256
}

// Config says how a queue limits retries.
type Config struct {
	// Limiters are asked for each rate-limited add, and the longest delay counts. None means client-go's default: exponential from
	// 5 ms to 1000 s, with a bucket of 10 a second and a burst of 100.
	Limiters []Limiter
	// MaxWait is the longest delay that the limiters may give. 0 means any.
	MaxWait time.Duration
	// ForgetAfter is when an idle key loses its count of requeues. 0 means never.
	ForgetAfter time.Duration
	// DeadAfter is how often a key may be requeued. The next rate-limited add makes it dead. 0 means any number of times.
	DeadAfter int
	// DeadAfterLost is how many losses without a done between them make a key dead. 0 means any number of losses.
	DeadAfterLost int
	// Coalesce lets a rate-limited add of a waiting key take no token and raise no count.
	Coalesce bool
}

// Configure changes the limiters and the rules for retries. Keys that wait keep their times.
func (q *Queue) Configure(c *Config) error {
	r := new(configRequest)
	if c == nil {
		c = &Config{}
	}
	if err := r.set(c); err != nil {
		return q.refuse(opConfigure, "", err)
	}
	_, err := q.request(opConfigure, "", iocConfigure, unsafe.Pointer(&r.args))
	runtime.KeepAlive(r)
	return err
}

// Config returns the limiters and the rules for retries.
func (q *Queue) Config() (*Config, error) {
	r := new(configRequest)
	r.args.size = uint32(unsafe.Sizeof(r.args))
	r.args.nr = LimitersMax
	r.args.limiters = address(unsafe.Pointer(&r.limiters))
	r.args.limiterSize = uint32(unsafe.Sizeof(r.limiters[0]))
	if _, err := q.request(opConfig, "", iocConfig, unsafe.Pointer(&r.args)); err != nil {
		return nil, err
	}
	runtime.KeepAlive(r)
	return r.get(), nil
}

// A configRequest is a configuration with its limiters, on the heap.
type configRequest struct {
	args     configArgs
	limiters [LimitersMax]limiterArgs
}

func (r *configRequest) set(c *Config) error {
	if len(c.Limiters) > LimitersMax {
		return invalid("there are %d limiters: a queue has up to %d", len(c.Limiters), LimitersMax)
	}
	var err error
	r.args.size = uint32(unsafe.Sizeof(r.args))
	if c.Coalesce {
		r.args.flags = configCoalesce
	}
	if r.args.maxWait, err = span("MaxWait", c.MaxWait); err != nil {
		return err
	}
	if r.args.forgetAfter, err = span("ForgetAfter", c.ForgetAfter); err != nil {
		return err
	}
	if r.args.deadAfter, err = count("DeadAfter", c.DeadAfter); err != nil {
		return err
	}
	if r.args.deadAfterLost, err = count("DeadAfterLost", c.DeadAfterLost); err != nil {
		return err
	}
	for i, limiter := range c.Limiters {
		if limiter == nil {
			return invalid("limiter %d is nil", i)
		}
		if r.limiters[i], err = limiter.args(); err != nil {
			return err
		}
	}
	if len(c.Limiters) > 0 {
		r.args.nr = uint32(len(c.Limiters))
		r.args.limiters = address(unsafe.Pointer(&r.limiters))
		r.args.limiterSize = uint32(unsafe.Sizeof(r.limiters[0]))
	}
	return nil
}

func (r *configRequest) get() *Config {
	c := &Config{
		MaxWait:       duration(r.args.maxWait),
		ForgetAfter:   duration(r.args.forgetAfter),
		DeadAfter:     int(r.args.deadAfter),
		DeadAfterLost: int(r.args.deadAfterLost),
		Coalesce:      r.args.flags&configCoalesce != 0,
	}
	for i := 0; i < int(r.args.nr) && i < LimitersMax; i++ {
		c.Limiters = append(c.Limiters, r.limiters[i].limiter())
	}
	return c
}

// limiter returns nil for a kind that this package does not know.
func (a *limiterArgs) limiter() Limiter {
	u := unsafe.Pointer(&a.u)
	switch a.kind {
	case limiterExponential:
		e := (*exponentialArgs)(u)
		return Exponential{duration(e.base), duration(e.max)}
	case limiterFastSlow:
		f := (*fastSlowArgs)(u)
		return FastSlow{duration(f.fast), duration(f.slow), int(f.nrFast)}
	case limiterBucket:
		b := (*bucketArgs)(u)
		return Bucket{duration(b.period), int(b.events), int(b.burst)}
	case limiterBackoff:
		b := (*backoffArgs)(u)
		return Backoff{duration(b.duration), duration(b.cap), float64(b.factor) / one, float64(b.jitter) / one,
			int(b.steps)}
	}
	return nil
}

func (l Exponential) args() (a limiterArgs, err error) {
	if l.Base <= 0 || l.Max < l.Base {
		return a, invalid("Exponential has Base %v and Max %v: Base is above 0, and Max not below it", l.Base, l.Max)
	}
	a.kind = limiterExponential
	*(*exponentialArgs)(unsafe.Pointer(&a.u)) = exponentialArgs{uint64(l.Base), uint64(l.Max)}
	return a, nil
}

func (l FastSlow) args() (a limiterArgs, err error) {
	a.kind = limiterFastSlow
	f := (*fastSlowArgs)(unsafe.Pointer(&a.u))
	if f.fast, err = span("Fast of FastSlow", l.Fast); err != nil {
		return a, err
	}
	if f.slow, err = span("Slow of FastSlow", l.Slow); err != nil {
		return a, err
	}
	f.nrFast, err = count("MaxFast of FastSlow", l.MaxFast)
	return a, err
}

func (l Bucket) args() (a limiterArgs, err error) {
	if l.Period <= 0 || l.Events <= 0 || l.Burst <= 0 {
		return a, invalid("Bucket has Period %v, Events %d and Burst %d: all are above 0", l.Period, l.Events, l.Burst)
	}
	a.kind = limiterBucket
	b := (*bucketArgs)(unsafe.Pointer(&a.u))
	b.period = uint64(l.Period)
	if b.events, err = count("Events of Bucket", l.Events); err != nil {
		return a, err
	}
	b.burst, err = count("Burst of Bucket", l.Burst)
	return a, err
}

func (l Backoff) args() (a limiterArgs, err error) {
	a.kind = limiterBackoff
	b := (*backoffArgs)(unsafe.Pointer(&a.u))
	if b.duration, err = span("Duration of Backoff", l.Duration); err != nil {
		return a, err
	}
	if b.cap, err = span("Cap of Backoff", l.Cap); err != nil {
		return a, err
	}
	if l.Cap != 0 && l.Cap < l.Duration {
		return a, invalid("Cap of Backoff is below its Duration: %v and %v", l.Cap, l.Duration)
	}
	if b.factor, err = fixed("Factor of Backoff", l.Factor); err != nil {
		return a, err
	}
	if b.jitter, err = fixed("Jitter of Backoff", l.Jitter); err != nil {
		return a, err
	}
	if l.Steps < 0 || l.Steps > 256 {
		return a, invalid("Steps of Backoff is %d: it is 0 to 256", l.Steps)
	}
	b.steps = uint32(l.Steps)
	return a, nil
}

// fixed is a number in the kernel's fixed-point format.
func fixed(what string, f float64) (uint32, error) {
	scaled := math.Round(f * one)
	if !(scaled >= 0 && scaled <= math.MaxUint32) {
		return 0, invalid("%s is %v: it is 0 to 65535", what, f)
	}
	return uint32(scaled), nil
}

// duration is a time span of the kernel. A longer one than a time.Duration can have becomes the longest one.
func duration(ns uint64) time.Duration {
	if ns > math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}
