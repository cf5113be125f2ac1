// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

// Command example is the program of docs/go.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"kwq.example/kwq"
)

func main() {
	q, err := kwq.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer q.Close()
	for _, host := range []string{"mars", "venus", "mars"} {
		result, err := q.Add(host)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(host, "is", result)
	}
	// No more adds. Get hands out what is left.
	if err := q.ShutDown(); err != nil {
		log.Fatal(err)
	}
	for {
		item, err := q.Get(context.Background())
		if errors.Is(err, kwq.ErrShutDown) {
			return
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("look at", item.Key)
		if _, err := item.Done(); err != nil {
			log.Fatal(err)
		}
	}
}
