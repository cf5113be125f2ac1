// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package workqueue

import (
	"strings"
	"testing"
)

// The shape of controller-runtime's queue.
type foreignQueue struct {
	metrics interface{ add() }
	down    bool
}

func (q *foreignQueue) ShutDown() { q.down = true }

type foreignMetrics struct {
	depth             foreignGauge
	depthWithPriority interface {
		Inc(int)
		Dec(int)
	}
	adds, retries                                  foreignCounter
	latency, workDuration                          foreignHistogram
	unfinishedWorkSeconds, longestRunningProcessor foreignSettable
}

func (*foreignMetrics) add() {}

// M1: the metrics in another queue, once for each name.
func TestMetricsOf(t *testing.T) {
	var made []*foreignQueue
	metrics := map[string]*metric{}
	for _, name := range []string{"depth", "adds", "retries", "latency", "work", "unfinished", "longest"} {
		metrics[name] = &metric{}
	}
	depths := depthOf{}
	p := MetricsOf(func(string) interface{} {
		made = append(made, &foreignQueue{metrics: &foreignMetrics{
			depth: metrics["depth"], depthWithPriority: depths, adds: metrics["adds"], retries: metrics["retries"],
			latency: metrics["latency"], workDuration: metrics["work"],
			unfinishedWorkSeconds: metrics["unfinished"], longestRunningProcessor: metrics["longest"],
		}})
		return made[len(made)-1]
	})
	p.NewDepthMetric("a").Inc()
	p.(PriorityMetricsProvider).NewDepthMetricWithPriority("a").Inc(-100)
	p.NewAddsMetric("a").Inc()
	p.NewRetriesMetric("a").Inc()
	p.NewLatencyMetric("a").Observe(1)
	p.NewWorkDurationMetric("a").Observe(1)
	p.NewUnfinishedWorkSecondsMetric("a").Set(1)
	p.NewLongestRunningProcessorSecondsMetric("a").Set(1)
	for name, m := range metrics {
		if m.value+float64(len(m.observations)) != 1 {
			t.Errorf("%s: %v", name, m)
		}
	}
	if depths[-100] != 1 || len(made) != 1 || !made[0].down {
		t.Errorf("%v, %d queues", depths, len(made))
	}
	p.NewAddsMetric("b").Inc()
	if len(made) != 2 {
		t.Errorf("%d queues for two names", len(made))
	}
}

// A queue of another shape says so, and what to do.
func TestMetricsOfAnotherShape(t *testing.T) {
	for _, queue := range []interface{}{
		nil, 5, &struct{}{}, &struct{ metrics int }{}, &foreignQueue{}, &foreignQueue{metrics: &foreignMetrics{}},
	} {
		func() {
			defer func() {
				if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), "kwq exporter") {
					t.Errorf("%T: %v", queue, err)
				}
			}()
			MetricsOf(func(string) interface{} { return queue }).NewAddsMetric("a")
		}()
	}
}
