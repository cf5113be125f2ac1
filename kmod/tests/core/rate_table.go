// SPDX-License-Identifier: GPL-2.0-only

// Makes rate_table.h: the delays of golang.org/x/time/rate over a day. No test runs
// this; its output is committed. With Debian's golang-go and
// golang-golang-x-time-dev:
//
//	GO111MODULE=off GOPATH=/usr/share/gocode go run rate_table.go >rate_table.h
package main

import (
	"fmt"
	"math/rand"
	"time"

	"golang.org/x/time/rate"
)

const (
	burst = 100
	day   = 24 * time.Hour
	// Beside these: one row for each change of the rate.
	rows = 64
)

// So many events in so long.
type speed struct {
	events int64
	period time.Duration
}

func (s speed) limit() rate.Limit {
	return rate.Limit(float64(s.events) / s.period.Seconds())
}

var speeds = []speed{
	{10, time.Second},
	{3, time.Second},
	{7, 1000003},
	{1, time.Second},
	{1000, time.Second},
	{1, time.Minute},
	{10, time.Second},
	{1, 7 * time.Millisecond},
}

func main() {
	random := rand.New(rand.NewSource(20261121))
	start := time.Unix(1800000000, 0)
	now := time.Duration(0)
	current := 0
	limiter := rate.NewLimiter(speeds[0].limit(), burst)

	fmt.Println("/* SPDX-License-Identifier: GPL-2.0-only */")
	fmt.Println("/* Made by rate_table.go: { now, nr, first, last }, { now, 0, period, events }. */")
	for i := 0; i < rows; i++ {
		if at := i * len(speeds) / rows; at != current {
			current = at
			s := speeds[current]
			limiter.SetLimitAt(start.Add(now), s.limit())
			fmt.Printf("{ %d, 0, %d, %d },\n", now.Nanoseconds(), s.period.Nanoseconds(), s.events)
		}

		// Mostly one at a time; now and then a burst.
		nr := 1
		switch random.Intn(8) {
		case 0:
			nr = 1 + random.Intn(40)
		case 1:
			nr = 1 + random.Intn(2*burst)
		}
		var first, last time.Duration
		for n := 0; n < nr; n++ {
			last = limiter.ReserveN(start.Add(now), 1).DelayFrom(start.Add(now))
			if n == 0 {
				first = last
			}
		}
		fmt.Printf("{ %d, %d, %d, %d },\n", now.Nanoseconds(), nr, first.Nanoseconds(), last.Nanoseconds())

		// Mostly about as long as a token takes; now and then idle.
		step := speeds[current].period.Nanoseconds() / speeds[current].events
		switch random.Intn(10) {
		case 0:
			now += time.Duration(random.Int63n(int64(day / rows * 20)))
		case 1:
		default:
			now += time.Duration(random.Int63n(6*step + 1))
		}
		if now > day*time.Duration(i+1)/rows {
			now = day * time.Duration(i+1) / rows
		} else if i%40 == 20 && now < day*time.Duration(i)/rows {
			now = day * time.Duration(i) / rows
		}
	}
}
