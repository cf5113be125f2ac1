// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"time"
	"unsafe"
)

// The operations of this file, as Error.Op names them.
const (
	opAdvance  = "advance"
	opBPF      = "give a token for"
	opLen      = "read the length of"
	opPause    = "pause"
	opResume   = "resume"
	opShutDown = "shut down"
	opTerm     = "set the term of"
)

// Pause lets the queue hand nothing out until [Queue.Resume]. Adds and dones go on. The pause belongs to the queue, and outlives this
// process. It takes the place of an earlier one.
func (q *Queue) Pause() error {
	args := new(pauseArgs)
	args.size = uint32(unsafe.Sizeof(*args))
	_, err := q.request(opPause, "", iocPause, unsafe.Pointer(args))
	return err
}

// PauseFor does the same for some time.
func (q *Queue) PauseFor(d time.Duration) error {
	args := &pauseArgs{flags: pauseFor}
	args.size = uint32(unsafe.Sizeof(*args))
	var err error
	if args.time, err = span("the pause", d); err != nil {
		return q.refuse(opPause, "", err)
	}
	_, err = q.request(opPause, "", iocPause, unsafe.Pointer(args))
	return err
}

// Resume ends a pause.
func (q *Queue) Resume() error {
	args := new(resumeArgs)
	args.size = uint32(unsafe.Sizeof(*args))
	_, err := q.request(opResume, "", iocResume, unsafe.Pointer(args))
	return err
}

// BPFToken returns a random number, by which BPF programs name the queue in the kernel's functions bpf_kwq_add and
// bpf_kwq_add_value. Whoever knows it may add keys, until this handle is closed. All calls return the same number. It fails with
// [ErrUnsupported] on a kernel that has not what BPF programs need.
func (q *Queue) BPFToken() (uint64, error) {
	args := new(bpfArgs)
	args.size = uint32(unsafe.Sizeof(*args))
	_, err := q.request(opBPF, "", iocBpf, unsafe.Pointer(args))
	return args.token, err
}

// SetTerm ends all hand-outs after a time, unless it is called again before. From then on the queue hands nothing out, takes back what
// is handed out, and refuses later dones. So a manager that may be stopped calls this again and again. A later term ends all that. If
// the old or the new term is over, all is taken back before the call returns. The term belongs to the queue, and outlives this process.
func (q *Queue) SetTerm(d time.Duration) error { return q.setTerm(termRelative, d) }

// SetTermAt does the same with a time on the queue's clock, as [Queue.Now] returns it. A time that has passed ends all hand-outs now.
func (q *Queue) SetTermAt(t time.Duration) error { return q.setTerm(0, t) }

// ClearTerm lets the queue hand out keys without an end, as at first.
func (q *Queue) ClearTerm() error { return q.requestTerm(&termArgs{until: noDeadline}) }

func (q *Queue) setTerm(flags uint32, t time.Duration) error {
	until, err := span("the term", t)
	if err != nil {
		return q.refuse(opTerm, "", err)
	}
	return q.requestTerm(&termArgs{flags: flags, until: until})
}

func (q *Queue) requestTerm(args *termArgs) error {
	args.size = uint32(unsafe.Sizeof(*args))
	_, err := q.request(opTerm, "", iocTerm, unsafe.Pointer(args))
	return err
}

// ShutDown refuses all later adds, and drops waiting times and dead keys. Get still hands out what is ready. It also ends the wait
// of every drain.
func (q *Queue) ShutDown() error {
	args := new(shutDownArgs)
	args.size = uint32(unsafe.Sizeof(*args))
	_, err := q.request(opShutDown, "", iocShutDown, unsafe.Pointer(args))
	return err
}

// ShuttingDown tells whether the queue is shut down.
func (q *Queue) ShuttingDown() (bool, error) {
	n, err := q.request(opStat, "", iocShuttingDown, nil)
	return n == 1, err
}

// Len returns how many keys are ready.
func (q *Queue) Len() (int, error) {
	return q.request(opLen, "", iocLen, nil)
}

// Advance moves a manual clock on. Keys that become due are ready when it returns.
func (q *Queue) Advance(d time.Duration) error { return q.advance(0, d) }

// AdvanceTo moves a manual clock on to a time.
func (q *Queue) AdvanceTo(t time.Duration) error { return q.advance(advanceTo, t) }

func (q *Queue) advance(flags uint32, t time.Duration) error {
	args := &advanceArgs{flags: flags}
	args.size = uint32(unsafe.Sizeof(*args))
	var err error
	if args.time, err = span("the time", t); err != nil {
		return q.refuse(opAdvance, "", err)
	}
	_, err = q.request(opAdvance, "", iocAdvance, unsafe.Pointer(args))
	return err
}
