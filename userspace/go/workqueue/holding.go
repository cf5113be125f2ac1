// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package workqueue

import (
	"sync"

	"kwq.example/kwq"
)

// The open queues of this process by their names. A reconciler of controller-runtime gets the item and not the queue, which its
// controller has made.
var (
	openMutex  sync.Mutex
	openQueues = map[string]map[interface{}]bool{}
)

func noteOpen(name string, queue interface{}) {
	openMutex.Lock()
	defer openMutex.Unlock()
	if openQueues[name] == nil {
		openQueues[name] = map[interface{}]bool{}
	}
	openQueues[name][queue] = true
}

func noteClosed(name string, queue interface{}) {
	openMutex.Lock()
	defer openMutex.Unlock()
	delete(openQueues[name], queue)
	if len(openQueues[name]) == 0 {
		delete(openQueues, name)
	}
}

// Holding returns the hand-out of an item that this process has got from its queue of that name: see [Typed.Holding].
func Holding[T comparable](name string, item T) *kwq.Item {
	openMutex.Lock()
	defer openMutex.Unlock()
	for queue := range openQueues[name] {
		if q, ok := queue.(*Typed[T]); ok {
			if held := q.Holding(item); held != nil {
				return held
			}
		}
	}
	return nil
}

// Token returns the token of an item that this process has got from its queue of that name. In a queue that kwq share spans over
// machines, each hand-out of a key has a higher token than the one before. So a store that refuses lower ones refuses the write of a
// machine that has lost the key: docs/share.md has the statement. ok is false if this process does not have the item, and
// if the queue gives no tokens. Nothing then protects the store.
//
// The name of a controller's queue is the name of the controller:
//
//	func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
//		token, ok := workqueue.Token("hosts", req)
func Token[T comparable](name string, item T) (token uint64, ok bool) {
	held := Holding(name, item)
	if held == nil || held.Token == 0 {
		return 0, false
	}
	return held.Token, true
}
