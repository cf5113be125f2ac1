// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package workqueue

import (
	"reflect"
	"sync"
	"time"

	"kwq.example/kwq"
)

// GaugeMetric is a number that goes up and down.
type GaugeMetric interface {
	Inc()
	Dec()
}

// SettableGaugeMetric is a number that is set.
type SettableGaugeMetric interface {
	Set(float64)
}

// CounterMetric is a number that goes up.
type CounterMetric interface {
	Inc()
}

// HistogramMetric counts observations.
type HistogramMetric interface {
	Observe(float64)
}

// MetricsProvider is client-go's interface of a library for metrics.
type MetricsProvider interface {
	NewDepthMetric(name string) GaugeMetric
	NewAddsMetric(name string) CounterMetric
	NewLatencyMetric(name string) HistogramMetric
	NewWorkDurationMetric(name string) HistogramMetric
	NewUnfinishedWorkSecondsMetric(name string) SettableGaugeMetric
	NewLongestRunningProcessorSecondsMetric(name string) SettableGaugeMetric
	NewRetriesMetric(name string) CounterMetric
}

// PriorityGaugeMetric is a number for each priority.
type PriorityGaugeMetric interface {
	Inc(priority int)
	Dec(priority int)
}

// PriorityMetricsProvider is a MetricsProvider with a depth for each priority. A [PriorityQueue] uses it in place of NewDepthMetric.
type PriorityMetricsProvider interface {
	MetricsProvider
	// NewDepthMetricWithPriority may return nil. Then there is a depth for all priorities.
	NewDepthMetricWithPriority(name string) PriorityGaugeMetric
}

// ProviderOf is a MetricsProvider that returns types of its own, for example client-go's.
type ProviderOf[G GaugeMetric, C CounterMetric, H HistogramMetric, S SettableGaugeMetric] interface {
	NewDepthMetric(name string) G
	NewAddsMetric(name string) C
	NewLatencyMetric(name string) H
	NewWorkDurationMetric(name string) H
	NewUnfinishedWorkSecondsMetric(name string) S
	NewLongestRunningProcessorSecondsMetric(name string) S
	NewRetriesMetric(name string) C
}

// Adapt makes a MetricsProvider of one that was written for client-go. If that has the method NewDepthMetricWithPriority of
// controller-runtime's, a [PriorityQueue] calls it. Go before 1.21 wants the types named:
//
//	workqueue.Adapt[clientgo.GaugeMetric, clientgo.CounterMetric, clientgo.HistogramMetric, clientgo.SettableGaugeMetric](p)
func Adapt[G GaugeMetric, C CounterMetric, H HistogramMetric, S SettableGaugeMetric](
	provider ProviderOf[G, C, H, S]) MetricsProvider {
	if provider == nil {
		return nil
	}
	return adapted[G, C, H, S]{provider}
}

type adapted[G GaugeMetric, C CounterMetric, H HistogramMetric, S SettableGaugeMetric] struct {
	provider ProviderOf[G, C, H, S]
}

func (a adapted[G, C, H, S]) NewDepthMetric(name string) GaugeMetric {
	return a.provider.NewDepthMetric(name)
}

func (a adapted[G, C, H, S]) NewAddsMetric(name string) CounterMetric {
	return a.provider.NewAddsMetric(name)
}

func (a adapted[G, C, H, S]) NewLatencyMetric(name string) HistogramMetric {
	return a.provider.NewLatencyMetric(name)
}

func (a adapted[G, C, H, S]) NewWorkDurationMetric(name string) HistogramMetric {
	return a.provider.NewWorkDurationMetric(name)
}

func (a adapted[G, C, H, S]) NewUnfinishedWorkSecondsMetric(name string) SettableGaugeMetric {
	return a.provider.NewUnfinishedWorkSecondsMetric(name)
}

func (a adapted[G, C, H, S]) NewLongestRunningProcessorSecondsMetric(name string) SettableGaugeMetric {
	return a.provider.NewLongestRunningProcessorSecondsMetric(name)
}

func (a adapted[G, C, H, S]) NewRetriesMetric(name string) CounterMetric {
	return a.provider.NewRetriesMetric(name)
}

// NewDepthMetricWithPriority calls the provider's method of that name. controller-runtime has its result's type in an internal
// package, so no interface here can have the method, and reflection finds it.
func (a adapted[G, C, H, S]) NewDepthMetricWithPriority(name string) PriorityGaugeMetric {
	method := reflect.ValueOf(a.provider).MethodByName("NewDepthMetricWithPriority")
	if !method.IsValid() || method.Type().NumIn() != 1 || method.Type().NumOut() != 1 ||
		method.Type().In(0) != reflect.TypeOf(name) {
		return nil
	}
	gauge, _ := method.Call([]reflect.Value{reflect.ValueOf(name)})[0].Interface().(PriorityGaugeMetric)
	return gauge
}

var (
	globalMutex    sync.Mutex
	globalProvider MetricsProvider
)

// SetProvider sets the provider of queues that are created later. Only the first call has an effect.
func SetProvider(provider MetricsProvider) {
	globalMutex.Lock()
	defer globalMutex.Unlock()
	if globalProvider == nil {
		globalProvider = provider
	}
}

func providerOrGlobal(provider MetricsProvider) MetricsProvider {
	if provider != nil {
		return provider
	}
	globalMutex.Lock()
	defer globalMutex.Unlock()
	return globalProvider
}

const metricsPeriod = 500 * time.Millisecond

// metrics tells a provider what has changed in the statistics of a queue. Adds, retries and durations count from the opening of
// the queue on. The depth and the unfinished work are those of the queue, with the work of other processes.
type metrics struct {
	depth                 GaugeMetric
	adds, retries         CounterMetric
	latency, workDuration HistogramMetric
	unfinished, longest   SettableGaugeMetric
	reportedDepth         uint64
	reported              *kwq.Stat
	stat                  func() (*kwq.Stat, error)

	// Of a priority queue whose provider has a depth for each priority; the depth above is nil then.
	depthOf        PriorityGaugeMetric
	reportedDepths map[int]int
	depths         func() (map[int]int, error)
	// The depths are counted again at this time, because that lists all ready keys.
	listAt time.Time

	// Protects all that follows, and what was reported.
	mutex sync.Mutex
	// The queue is shut down, so the reports end when it is empty.
	ending bool
	ended  bool
	// Closed at the end.
	stopped chan struct{}
}

// newMetrics begins reports. depths returns the depth of each priority, or is nil.
func newMetrics(provider MetricsProvider, name string, stat func() (*kwq.Stat, error),
	depths func() (map[int]int, error)) (*metrics, error) {
	first, err := stat()
	if err != nil {
		return nil, err
	}
	m := &metrics{
		adds:         provider.NewAddsMetric(name),
		latency:      provider.NewLatencyMetric(name),
		workDuration: provider.NewWorkDurationMetric(name),
		unfinished:   provider.NewUnfinishedWorkSecondsMetric(name),
		longest:      provider.NewLongestRunningProcessorSecondsMetric(name),
		retries:      provider.NewRetriesMetric(name),
		reported:     first,
		stat:         stat,
		stopped:      make(chan struct{}),

		reportedDepths: map[int]int{},
		depths:         depths,
	}
	if p, ok := provider.(PriorityMetricsProvider); ok && depths != nil {
		m.depthOf = p.NewDepthMetricWithPriority(name)
	}
	if m.depthOf == nil {
		m.depth = provider.NewDepthMetric(name)
	}
	return m, nil
}

func (m *metrics) run() {
	ticker := time.NewTicker(metricsPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			m.update(false)
		case <-m.stopped:
			return
		}
	}
}

// endWhenEmpty reports, and lets the reports end when the queue, which is shut down, has neither ready items nor items at work.
func (m *metrics) endWhenEmpty() {
	if m == nil {
		return
	}
	m.mutex.Lock()
	m.ending = true
	m.mutex.Unlock()
	m.update(true)
}

// stop reports the last changes. The queue must be open.
func (m *metrics) stop() {
	if m == nil {
		return
	}
	m.update(true)
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.end()
}

// end leaves no depth and no work behind, because a provider may have one gauge for all queues of a name. The lock is held.
func (m *metrics) end() {
	if m.ended {
		return
	}
	m.ended = true
	close(m.stopped)
	if m.depthOf != nil {
		m.moveDepths(nil)
	} else {
		move(m.depth, m.reportedDepth, 0)
	}
	m.unfinished.Set(0)
	m.longest.Set(0)
}

// retry counts a delayed add that the kernel has not seen, because its key was ready.
func (m *metrics) retry() {
	if m != nil {
		m.retries.Inc()
	}
}

// update reports what has changed since the last time; with now, also what takes long to find out. A queue that was closed
// meanwhile has no statistics.
func (m *metrics) update(now bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()

	stat, err := m.stat()
	if err != nil || m.ended {
		return
	}
	m.updateDepth(stat.Ready+stat.Dirty, now)
	count(m.adds, stat.Adds-m.reported.Adds)
	count(m.retries, stat.Retries-m.reported.Retries)
	observe(m.latency, &m.reported.QueueDuration, &stat.QueueDuration)
	observe(m.workDuration, &m.reported.WorkDuration, &stat.WorkDuration)
	m.unfinished.Set(stat.Unfinished.Seconds())
	m.longest.Set(stat.LongestRunning.Seconds())
	m.reported = stat
	if m.ending && stat.Ready == 0 && stat.Processing == 0 {
		m.end()
	}
}

// A list of the depths takes at most one part in so many of the time.
const listShare = 50

// updateDepth reports the depth. Those of priorities need a list of all keys, unless there are none. The lock is held.
func (m *metrics) updateDepth(depth uint64, now bool) {
	if m.depthOf == nil {
		move(m.depth, m.reportedDepth, depth)
		m.reportedDepth = depth
		return
	}
	start := time.Now()
	if depth == 0 {
		m.moveDepths(nil)
	} else if now || !start.Before(m.listAt) {
		if depths, err := m.depths(); err == nil {
			m.moveDepths(depths)
		}
		end := time.Now()
		m.listAt = end.Add(listShare * end.Sub(start))
	}
}

// moveDepths reports the depth of each priority. The lock is held.
func (m *metrics) moveDepths(depths map[int]int) {
	for priority, n := range depths {
		for ; m.reportedDepths[priority] < n; m.reportedDepths[priority]++ {
			m.depthOf.Inc(priority)
		}
	}
	for priority := range m.reportedDepths {
		for ; m.reportedDepths[priority] > depths[priority]; m.reportedDepths[priority]-- {
			m.depthOf.Dec(priority)
		}
	}
}

// adder is a metric that can take many steps at once. Those of Prometheus can.
type adder interface {
	Add(float64)
}

func count(metric CounterMetric, n uint64) {
	if a, ok := metric.(adder); ok && n > 0 {
		a.Add(float64(n))
		return
	}
	for ; n > 0; n-- {
		metric.Inc()
	}
}

func move(metric GaugeMetric, from, to uint64) {
	if a, ok := metric.(adder); ok && from != to {
		a.Add(float64(to) - float64(from))
		return
	}
	for ; from < to; from++ {
		metric.Inc()
	}
	for ; from > to; from-- {
		metric.Dec()
	}
}

// observe makes an observation for each new duration. The queue knows their sum, and how many belong in each bucket. Each
// observation lies in its bucket, and together they have that sum, up to the rounding.
func observe(metric HistogramMetric, before, now *kwq.Histogram) {
	// The bounds of the buckets in seconds. The last bucket has no upper one; this one makes room for the sum.
	bounds := [len(now.Counts) + 1]float64{}
	bound := 1e-6
	for i := 1; i < len(bounds); i++ {
		bounds[i] = bound
		bound *= 10
	}
	sum := (now.Sum - before.Sum).Seconds()
	low, width := 0.0, 0.0
	for i := range now.Counts {
		n := float64(now.Counts[i] - before.Counts[i])
		low += n * bounds[i]
		width += n * (bounds[i+1] - bounds[i])
	}
	part := 0.0
	if width > 0 {
		part = (sum - low) / width
	}
	for i := range now.Counts {
		value := bounds[i] + part*(bounds[i+1]-bounds[i])
		// A float64 may lie on the wrong side of a bound.
		if i > 0 && value <= bounds[i] {
			value = bounds[i] * (1 + 1e-9)
		}
		if i < len(now.Counts)-1 && value > bounds[i+1] {
			value = bounds[i+1]
		}
		for n := now.Counts[i] - before.Counts[i]; n > 0; n-- {
			metric.Observe(value)
		}
	}
}
