// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package workqueue

import (
	"errors"
	"math"
	"testing"
	"time"

	"kwq.example/kwq"
)

// A provider whose metrics can be read. With steps they take one step at a time.
type provider struct {
	steps bool
	all   map[string]*metric
}

type metric struct {
	value        float64
	calls        int
	observations []float64
}

func (m *metric) Inc()              { m.value++; m.calls++ }
func (m *metric) Dec()              { m.value--; m.calls++ }
func (m *metric) Set(v float64)     { m.value = v; m.calls++ }
func (m *metric) Observe(v float64) { m.observations = append(m.observations, v) }

// quick takes many steps at once.
type quick struct{ *metric }

func (q quick) Add(v float64) { q.value += v; q.calls++ }

// What client-go's interfaces are, in a package of their own.
type (
	foreignGauge interface {
		Inc()
		Dec()
	}
	foreignCounter   interface{ Inc() }
	foreignHistogram interface{ Observe(float64) }
	foreignSettable  interface{ Set(float64) }
)

func (p *provider) metric(kind, name string) foreignGauge {
	m := &metric{}
	p.all[kind+" "+name] = m
	if p.steps {
		return m
	}
	return quick{m}
}

func (p *provider) NewDepthMetric(name string) foreignGauge  { return p.metric("depth", name) }
func (p *provider) NewAddsMetric(name string) foreignCounter { return p.metric("adds", name) }
func (p *provider) NewLatencyMetric(name string) foreignHistogram {
	p.metric("latency", name)
	return p.all["latency "+name]
}
func (p *provider) NewWorkDurationMetric(name string) foreignHistogram {
	p.metric("work", name)
	return p.all["work "+name]
}
func (p *provider) NewUnfinishedWorkSecondsMetric(name string) foreignSettable {
	p.metric("unfinished", name)
	return p.all["unfinished "+name]
}
func (p *provider) NewLongestRunningProcessorSecondsMetric(name string) foreignSettable {
	p.metric("longest", name)
	return p.all["longest "+name]
}
func (p *provider) NewRetriesMetric(name string) foreignCounter { return p.metric("retries", name) }

func newProvider(steps bool) *provider {
	return &provider{steps, map[string]*metric{}}
}

func adaptedFor(p *provider) MetricsProvider {
	return Adapt[foreignGauge, foreignCounter, foreignHistogram, foreignSettable](p)
}

func wantValue(t *testing.T, p *provider, name string, want float64) {
	t.Helper()
	if got := p.all[name].value; got != want {
		t.Errorf("%s is %v, wanted %v", name, got, want)
	}
}

// M1
func TestMetrics(t *testing.T) {
	for _, steps := range []bool{false, true} {
		p := newProvider(steps)
		// The queue existed before.
		stat := &kwq.Stat{Adds: 1000, Retries: 50, Ready: 2, Dirty: 1}
		var failure error
		m, err := newMetrics(adaptedFor(p), "q", func() (*kwq.Stat, error) { s := *stat; return &s, failure }, nil)
		if err != nil {
			t.Fatal(err)
		}
		m.update(true)
		wantValue(t, p, "adds q", 0)
		wantValue(t, p, "depth q", 3)

		stat = &kwq.Stat{
			Adds: 1007, Retries: 52, Ready: 1, Unfinished: 3 * time.Second, LongestRunning: 2 * time.Second,
			WorkDuration: kwq.Histogram{Sum: time.Second, Counts: [11]uint64{6: 1}},
		}
		m.update(true)
		wantValue(t, p, "adds q", 7)
		wantValue(t, p, "retries q", 2)
		wantValue(t, p, "depth q", 1)
		wantValue(t, p, "unfinished q", 3)
		wantValue(t, p, "longest q", 2)
		if got := p.all["work q"].observations; len(got) != 1 || got[0] != 1 {
			t.Errorf("the work took %v", got)
		}
		if calls, want := p.all["adds q"].calls, map[bool]int{true: 7, false: 1}[steps]; calls != want {
			t.Errorf("%d calls for 7 adds", calls)
		}

		failure = errors.New("closed")
		stat = &kwq.Stat{Adds: 2000}
		m.update(true)
		wantValue(t, p, "adds q", 7)
		failure = nil
		stat = &kwq.Stat{Adds: 1008, Retries: 52, WorkDuration: stat.WorkDuration}
		stat.WorkDuration = m.reported.WorkDuration
		m.stop()
		m.stop()
		wantValue(t, p, "adds q", 8)
		wantValue(t, p, "depth q", 0)
		m.run() // returns, because it was stopped
	}

	if _, err := newMetrics(adaptedFor(newProvider(true)), "q", func() (*kwq.Stat, error) {
		return nil, kwq.ErrClosed
	}, nil); !errors.Is(err, kwq.ErrClosed) {
		t.Errorf("metrics of a closed queue: %v", err)
	}
	var none *metrics
	none.stop()
}

// Each observation lies in its bucket, and their sum is that of the queue.
func TestObservations(t *testing.T) {
	bounds := []float64{0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1000, math.Inf(1)}
	for _, h := range []kwq.Histogram{
		{},
		{Sum: 1, Counts: [11]uint64{1}},
		{Sum: 3 * time.Microsecond, Counts: [11]uint64{3}},
		{Sum: 2000*time.Second + 1, Counts: [11]uint64{10: 2}},
		{Sum: 90000 * time.Second, Counts: [11]uint64{10: 2}},
		{Sum: 10*time.Microsecond + 101*time.Microsecond, Counts: [11]uint64{1: 1, 3: 1}},
		{Sum: 5*time.Second + 7, Counts: [11]uint64{0: 100, 2: 5, 7: 2}},
		{Sum: time.Microsecond + 1, Counts: [11]uint64{1: 1}},
	} {
		before := kwq.Histogram{Sum: time.Hour, Counts: [11]uint64{5: 9, 10: 1}}
		now := before
		now.Sum += h.Sum
		for i := range now.Counts {
			now.Counts[i] += h.Counts[i]
		}
		m := &metric{}
		observe(m, &before, &now)

		var counts [11]uint64
		sum := 0.0
		for _, v := range m.observations {
			i := 0
			for v > bounds[i+1] {
				i++
			}
			counts[i]++
			sum += v
		}
		if counts != h.Counts {
			t.Errorf("%v became %v", h.Counts, counts)
		}
		if want := h.Sum.Seconds(); math.Abs(sum-want) > 1e-6*want+1e-12 {
			t.Errorf("a sum of %v became %v", want, sum)
		}
	}
}

func TestSetProvider(t *testing.T) {
	defer func() { globalProvider = nil }()
	if providerOrGlobal(nil) != nil {
		t.Fatal("there is a provider")
	}
	first, second := adaptedFor(newProvider(true)), adaptedFor(newProvider(true))
	SetProvider(first)
	SetProvider(second)
	if providerOrGlobal(nil) != first {
		t.Error("the second provider replaced the first")
	}
	if providerOrGlobal(second) != second {
		t.Error("the queue's own provider did not come first")
	}
}

// A provider may have one gauge for all queues of a name. So a queue that ends leaves no depth behind, and one that is shut down
// reports until it is empty.
func TestMetricsEnd(t *testing.T) {
	p := newProvider(true)
	stat := &kwq.Stat{Ready: 1, Processing: 1, Unfinished: time.Second, LongestRunning: time.Second}
	m, err := newMetrics(adaptedFor(p), "q", func() (*kwq.Stat, error) { now := *stat; return &now, nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.endWhenEmpty()
	*stat = kwq.Stat{Adds: 2, Processing: 1}
	m.update(true)
	select {
	case <-m.stopped:
		t.Error("the reports ended before the work")
	default:
	}
	*stat = kwq.Stat{Adds: 3}
	m.update(true)
	<-m.stopped
	*stat = kwq.Stat{Adds: 4, Ready: 5}
	m.update(true)
	m.stop()
	for name, want := range map[string]float64{"depth q": 0, "adds q": 3, "unfinished q": 0, "longest q": 0} {
		if got := p.all[name].value; got != want {
			t.Errorf("%s is %v at the end, not %v", name, got, want)
		}
	}

	p = newProvider(true)
	*stat = kwq.Stat{Ready: 7}
	if m, err = newMetrics(adaptedFor(p), "q", func() (*kwq.Stat, error) { now := *stat; return &now, nil }, nil); err != nil {
		t.Fatal(err)
	}
	m.stop()
	if got := p.all["depth q"]; got.value != 0 || got.calls != 14 {
		t.Errorf("a closed queue leaves a depth of %v after %d steps", got.value, got.calls)
	}
}

func TestAdaptNothing(t *testing.T) {
	if p := Adapt[foreignGauge, foreignCounter, foreignHistogram, foreignSettable](nil); p != nil {
		t.Errorf("a provider of nothing: %v", p)
	}
}
