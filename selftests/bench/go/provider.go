// SPDX-License-Identifier: GPL-2.0-only

package main

import (
	"math"
	"sync/atomic"

	"k8s.io/client-go/util/workqueue"
)

// provider makes metrics that cost what those of Prometheus' library for Go cost. A counter is an atomic addition, and a gauge a
// loop of compare and swap. A histogram is a search through its bounds, three atomic additions, and such a loop. Labels are
// looked up once, when the queue is made, as Kubernetes does it. The bounds are Kubernetes', too.
type provider struct{}

func (provider) NewDepthMetric(string) workqueue.GaugeMetric            { return new(gauge) }
func (provider) NewAddsMetric(string) workqueue.CounterMetric           { return new(counter) }
func (provider) NewLatencyMetric(string) workqueue.HistogramMetric      { return newHistogram() }
func (provider) NewWorkDurationMetric(string) workqueue.HistogramMetric { return newHistogram() }
func (provider) NewRetriesMetric(string) workqueue.CounterMetric        { return new(counter) }
func (provider) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return new(gauge)
}
func (provider) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return new(gauge)
}

type counter struct {
	value atomic.Uint64
}

func (c *counter) Inc() { c.value.Add(1) }

// A gauge has the bits of a floating-point number.
type gauge struct {
	bits atomic.Uint64
}

func (g *gauge) Inc()              { g.add(1) }
func (g *gauge) Dec()              { g.add(-1) }
func (g *gauge) Set(value float64) { g.bits.Store(math.Float64bits(value)) }

func (g *gauge) add(value float64) {
	for {
		old := g.bits.Load()
		if g.bits.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+value)) {
			return
		}
	}
}

const nrBuckets = 12

// A histogram has two sets of counts, so that a reader sees one that nobody changes. The highest bit of observations says which
// set counts now.
type histogram struct {
	observations atomic.Uint64
	counts       [2]counts
	bounds       [nrBuckets]float64
}

type counts struct {
	finished atomic.Uint64
	sum      gauge
	buckets  [nrBuckets]atomic.Uint64
}

func newHistogram() *histogram {
	h := &histogram{}
	bound := 1e-8
	for i := range h.bounds {
		h.bounds[i] = bound
		bound *= 10
	}
	return h
}

func (h *histogram) Observe(value float64) {
	bucket := 0
	for bucket < nrBuckets && value > h.bounds[bucket] {
		bucket++
	}
	counts := &h.counts[h.observations.Add(1)>>63]
	if bucket < nrBuckets {
		counts.buckets[bucket].Add(1)
	}
	counts.sum.add(value)
	counts.finished.Add(1)
}
