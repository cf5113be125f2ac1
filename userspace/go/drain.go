// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"context"
	"unsafe"
)

// opDrain is the operation of this file, as Error.Op names it.
const opDrain = "shut down and drain"

// ShutDownWithDrain shuts the queue down, and waits until nothing is ready and nothing is being processed. The queue stays shut
// down, however the wait ends: if the context ends it, the error is the context's, and if somebody's [Queue.ShutDown] ends it, the
// error is [ErrDrainEnded].
//
// The kernel tells only a call that waits of such a shut down. So a drain takes a thread until it ends. Waiting gets and adds take
// none.
func (q *Queue) ShutDownWithDrain(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	args := &drainArgs{deadline: noDeadline}
	args.size = uint32(unsafe.Sizeof(*args))
	return q.waitInKernel(ctx, opDrain, iocDrain, &args.size)
}
