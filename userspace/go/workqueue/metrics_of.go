// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package workqueue

import (
	"fmt"
	"reflect"
	"sync"
	"unsafe"
)

// MetricsOf makes a provider of the metrics that controller-runtime's own queues have, so that kwq's fill the same dashboards:
//
//	workqueue.SetProvider(workqueue.MetricsOf(func(name string) any { return priorityqueue.New[string](name) }))
//
// controller-runtime keeps its provider in an internal package, and gives it to its queues only. So for each name newQueue makes
// such a queue, which is shut down at once, and reflection finds the metrics in it. A version of controller-runtime that has them
// elsewhere is a panic when the first queue is made.
func MetricsOf(newQueue func(name string) interface{}) MetricsProvider {
	return &metricsOf{newQueue: newQueue, queues: map[string]reflect.Value{}}
}

type metricsOf struct {
	newQueue func(string) interface{}

	mutex  sync.Mutex
	queues map[string]reflect.Value // the structure behind the field metrics of each name's queue
}

// of returns the metrics of a name.
func (p *metricsOf) of(name string) reflect.Value {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if found, ok := p.queues[name]; ok {
		return found
	}
	queue := p.newQueue(name)
	if q, ok := queue.(interface{ ShutDown() }); ok {
		defer q.ShutDown()
	}
	value := reflect.ValueOf(queue)
	if value.Kind() != reflect.Pointer || value.Elem().Kind() != reflect.Struct {
		panic(unlike(queue, "metrics"))
	}
	found := reflect.ValueOf(member(value.Elem(), "metrics"))
	if found.Kind() != reflect.Pointer || found.Elem().Kind() != reflect.Struct {
		panic(unlike(queue, "metrics"))
	}
	p.queues[name] = found.Elem()
	return found.Elem()
}

// member returns a member of a structure, also one without a name for others; nil if there is none.
func member(structure reflect.Value, name string) interface{} {
	field := structure.FieldByName(name)
	if !field.IsValid() || field.Kind() != reflect.Interface || field.IsNil() {
		return nil
	}
	return reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Interface()
}

func unlike(queue interface{}, name string) error {
	return fmt.Errorf("kwq: MetricsOf finds no %s in a %T: this version of controller-runtime is not known; use kwq exporter", name, queue)
}

// metricOf returns a metric that the queue must have.
func metricOf[M any](p *metricsOf, name, field string) M {
	metrics := p.of(name)
	metric, ok := member(metrics, field).(M)
	if !ok {
		panic(unlike(metrics.Addr().Interface(), field))
	}
	return metric
}

func (p *metricsOf) NewDepthMetric(name string) GaugeMetric {
	return metricOf[GaugeMetric](p, name, "depth")
}

// NewDepthMetricWithPriority returns nil for a queue without priorities.
func (p *metricsOf) NewDepthMetricWithPriority(name string) PriorityGaugeMetric {
	gauge, _ := member(p.of(name), "depthWithPriority").(PriorityGaugeMetric)
	return gauge
}

func (p *metricsOf) NewAddsMetric(name string) CounterMetric {
	return metricOf[CounterMetric](p, name, "adds")
}

func (p *metricsOf) NewLatencyMetric(name string) HistogramMetric {
	return metricOf[HistogramMetric](p, name, "latency")
}

func (p *metricsOf) NewWorkDurationMetric(name string) HistogramMetric {
	return metricOf[HistogramMetric](p, name, "workDuration")
}

func (p *metricsOf) NewUnfinishedWorkSecondsMetric(name string) SettableGaugeMetric {
	return metricOf[SettableGaugeMetric](p, name, "unfinishedWorkSeconds")
}

func (p *metricsOf) NewLongestRunningProcessorSecondsMetric(name string) SettableGaugeMetric {
	return metricOf[SettableGaugeMetric](p, name, "longestRunningProcessor")
}

func (p *metricsOf) NewRetriesMetric(name string) CounterMetric {
	return metricOf[CounterMetric](p, name, "retries")
}
