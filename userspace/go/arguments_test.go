// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

func hasText(t *testing.T, err error, kind error, text string) {
	t.Helper()
	if err == nil || !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Errorf("got %q, wanted %q with %q", fmt.Sprint(err), kind, text)
	}
}

// O4: wrong arguments are refused, with a text that says what to do.
func TestAddOptions(t *testing.T) {
	for _, c := range []struct {
		o    AddOptions
		kind error
		text string
	}{
		{AddOptions{Priority: Priority(32)}, ErrInvalid, "-32 to 31"},
		{AddOptions{Priority: Priority(-33)}, ErrInvalid, "-32 to 31"},
		{AddOptions{Delay: -1}, ErrInvalid, "negative"},
		{AddOptions{At: -1}, ErrInvalid, "negative"},
		{AddOptions{Delay: 1, At: 1}, ErrInvalid, "exclude"},
		{AddOptions{RateLimited: true, Delay: 1}, ErrInvalid, "RateLimited"},
		{AddOptions{RateLimited: true, Kick: true}, ErrInvalid, "RateLimited"},
		{AddOptions{Policy: 4}, ErrInvalid, "no policy 4"},
		{AddOptions{Policy: -1}, ErrInvalid, "no policy -1"},
		{AddOptions{Delay: 1, EndWait: true}, ErrInvalid, "EndWait"},
		{AddOptions{Policy: Keep, EndWait: true}, ErrInvalid, "EndWait"},
		{AddOptions{AtMost: 1}, ErrInvalid, "needs a Delay"},
		{AddOptions{AtMost: 1, Delay: 1, Policy: Keep}, ErrInvalid, "no other Policy"},
		{AddOptions{KeepValue: true}, ErrInvalid, "needs a Value"},
		{AddOptions{Value: make([]byte, ValueMax+1)}, ErrTooLong, "65537 bytes, and may have 65536"},
		{AddOptions{Note: make([]byte, NoteMax+1)}, ErrTooLong, "the note has 4097 bytes, and may have 4096"},
		{AddOptions{Group: Group(strings.Repeat("g", GroupMax+1))}, ErrTooLong, "256 bytes, and may have 255"},
	} {
		var e addEntry
		var x addExtra
		hasText(t, c.o.entry(&e, &x), c.kind, c.text)
	}

	for _, c := range []struct {
		o AddOptions
		e addEntry
		x addExtra
	}{
		{AddOptions{}, addEntry{}, addExtra{}},
		{AddOptions{Delay: 5}, addEntry{flags: addAfter, time: 5}, addExtra{}},
		{AddOptions{At: 5, Policy: Later}, addEntry{flags: addAt | addLater, time: 5}, addExtra{}},
		{AddOptions{Policy: Replace}, addEntry{flags: addAfter | addReplace}, addExtra{}},
		{AddOptions{Delay: 1, Policy: Keep}, addEntry{flags: addAfter | addKeep, time: 1}, addExtra{}},
		{AddOptions{RateLimited: true}, addEntry{flags: addRateLimited}, addExtra{}},
		{AddOptions{EndWait: true, Kick: true}, addEntry{flags: addEndWait | addKick}, addExtra{}},
		{AddOptions{Priority: Priority(-3)}, addEntry{flags: addPriority, priority: -3}, addExtra{}},
		{AddOptions{Delay: 2, AtMost: 9}, addEntry{flags: addAfter | addReplace | addAtMost, time: 2}, addExtra{atMost: 9}},
		{AddOptions{Value: []byte("abc"), KeepValue: true}, addEntry{flags: addValue | addKeepValue}, addExtra{valueLen: 3}},
		{AddOptions{Value: []byte{}}, addEntry{flags: addValue}, addExtra{}},
		{AddOptions{Note: []byte("why")}, addEntry{flags: addNote}, addExtra{noteLen: 3}},
		{AddOptions{Note: []byte{}}, addEntry{flags: addNote}, addExtra{}},
		{AddOptions{Group: Group("")}, addEntry{flags: addGroup}, addExtra{}},
		{AddOptions{Group: Group("ab")}, addEntry{flags: addGroup}, addExtra{groupLen: 2}},
	} {
		e, x := addEntry{flags: 77}, addExtra{value: 77}
		if err := c.o.entry(&e, &x); err != nil || e != c.e || x != c.x {
			t.Errorf("%+v: got %+v, %+v and %v", c.o, e, x, err)
		}
	}
}

func TestKeysAndNames(t *testing.T) {
	q := &Queue{name: "q", fd: -1}
	long := strings.Repeat("k", KeyMax+1)
	for name, call := range map[string]func(string) error{
		"Add":            func(k string) error { _, err := q.Add(k); return err },
		"AddBytes":       func(k string) error { _, err := q.AddBytes([]byte(k)); return err },
		"AddAfter":       func(k string) error { _, err := q.AddAfter(k, 1); return err },
		"AddRateLimited": func(k string) error { _, err := q.AddRateLimited(k); return err },
		"AddValue":       func(k string) error { _, err := q.AddValue(k, nil); return err },
		"AddWith":        func(k string) error { _, err := q.AddWith(k, nil); return err },
		"AddWait":        func(k string) error { _, err := q.AddWait(context.Background(), k, nil); return err },
		"AddMany":        func(k string) error { return q.AddMany([]Entry{{Key: k}}) },
		"Kick":           func(k string) error { _, err := q.Kick(k); return err },
		"DoneKey":        func(k string) error { _, err := q.DoneKey(k); return err },
		"Forget":         func(k string) error { _, err := q.Forget(k); return err },
		"NumRequeues":    func(k string) error { _, err := q.NumRequeues(k); return err },
		"Remove":         func(k string) error { _, err := q.Remove(k); return err },
		"Drop":           func(k string) error { _, err := q.Drop(k); return err },
		"Find":           func(k string) error { _, err := q.Find(k); return err },
		"Restore":        func(k string) error { _, err := q.Restore([]*Listed{{Key: k}}); return err },
	} {
		t.Run(name, func(t *testing.T) {
			hasText(t, call(""), ErrInvalid, "the key is empty")
			hasText(t, call(long), ErrTooLong, "4097 bytes, and may have 4096")
			hasText(t, call("k"), ErrClosed, "closed")
		})
	}

	for name, call := range map[string]func(string) error{
		"Create": func(name string) error { _, err := Create(name, nil); return err },
		"Open":   func(name string) error { _, err := Open(name, 0); return err },
		"Unlink": Unlink,
	} {
		t.Run(name, func(t *testing.T) {
			hasText(t, call(""), ErrInvalid, "the name is empty")
			for _, bad := range []string{".", "..", "a/b", "a\x00b"} {
				hasText(t, call(bad), ErrInvalid, "a name is neither")
			}
			hasText(t, call(strings.Repeat("n", NameMax+1)), ErrTooLong, "256 bytes, and may have 255")
			hasText(t, call(strings.Repeat("n", NameMax+1)), syscall.ENAMETOOLONG, "the name")
		})
	}
}

// Every method says that the handle is closed.
func TestClosed(t *testing.T) {
	ctx := context.Background()
	q := &Queue{fd: -1}
	q.getters.queue = q
	q.adders.queue = q
	item := &Item{Key: "k", Ticket: 1, queue: q}
	for name, err := range map[string]func() error{
		"Get":               func() error { _, err := q.Get(ctx); return err },
		"TryGet":            func() error { _, err := q.TryGet(); return err },
		"GetMany":           func() error { _, err := q.GetMany(ctx, 5); return err },
		"AddManyWait":       func() error { return q.AddManyWait(ctx, []Entry{{Key: "k"}}) },
		"Done":              func() error { _, err := item.Done(); return err },
		"DoneAndForget":     func() error { _, err := item.DoneAndForget(); return err },
		"DoneAndGet":        func() error { _, _, err := item.DoneAndGet(ctx); return err },
		"Retry":             func() error { _, err := item.Retry(); return err },
		"RetryAfter":        func() error { _, err := item.RetryAfter(1); return err },
		"GiveBack":          func() error { _, err := item.GiveBack(); return err },
		"Bury":              func() error { _, err := item.Bury(); return err },
		"Extend":            item.Extend,
		"Note":              func() error { return item.Note([]byte("why")) },
		"DoneMany":          func() error { _, err := q.DoneMany([]*Item{item}); return err },
		"Len":               func() error { _, err := q.Len(); return err },
		"ShutDown":          q.ShutDown,
		"ShutDownWithDrain": func() error { return q.ShutDownWithDrain(ctx) },
		"ShuttingDown":      func() error { _, err := q.ShuttingDown(); return err },
		"Pause":             q.Pause,
		"PauseFor":          func() error { return q.PauseFor(1) },
		"Resume":            q.Resume,
		"SetTerm":           func() error { return q.SetTerm(1) },
		"BPFToken":          func() error { _, err := q.BPFToken(); return err },
		"SetTermAt":         func() error { return q.SetTermAt(1) },
		"ClearTerm":         q.ClearTerm,
		"Configure":         func() error { return q.Configure(nil) },
		"Config":            func() error { _, err := q.Config(); return err },
		"Stat":              func() error { _, err := q.Stat(); return err },
		"Advance":           func() error { return q.Advance(1) },
		"AdvanceTo":         func() error { return q.AdvanceTo(1) },
		"List":              func() error { return q.List(AllStates, nil) },
		"ListWithValues":    func() error { return q.ListWithValues(AllStates, nil) },
		"Restore":           func() error { _, err := q.Restore([]*Listed{{Key: "k", State: IsReady}}); return err },
		"Reopen":            func() error { _, err := q.Reopen(0); return err },
		"File":              func() error { _, err := q.File(); return err },
		"CheckOwner":        q.CheckOwner,
		"Close":             q.Close,
	} {
		if err := err(); !errors.Is(err, ErrClosed) || !errors.Is(err, syscall.EBADF) {
			t.Errorf("%s: %v", name, err)
		}
	}
	q.clock = ClockManual
	if _, err := q.Now(); !errors.Is(err, ErrClosed) {
		t.Errorf("Now: %v", err)
	}
}

func TestArguments(t *testing.T) {
	q := &Queue{fd: -1}
	create := func(o CreateOptions) error { _, err := Create("q", &o); return err }
	hasText(t, create(CreateOptions{Mode: 0o1000}), ErrInvalid, "up to 0777")
	hasText(t, create(CreateOptions{GroupLimit: 1}), ErrInvalid, "needs Groups")
	hasText(t, create(CreateOptions{Sync: true}), ErrInvalid, "needs Changes")
	hasText(t, create(CreateOptions{Groups: true, GroupLimit: -1}), ErrInvalid, "GroupLimit is out of range: -1")
	hasText(t, create(CreateOptions{Rights: 8}), ErrInvalid, "unknown bits: 0x8")
	hasText(t, create(CreateOptions{Lease: -1}), ErrInvalid, "Lease is negative")
	hasText(t, create(CreateOptions{Aging: -1}), ErrInvalid, "Aging is negative")
	hasText(t, create(CreateOptions{Config: &Config{MaxWait: -1}}), ErrInvalid, "MaxWait is negative")
	_, err := New(&CreateOptions{OrOpen: true})
	hasText(t, err, ErrInvalid, "use Create")
	_, err = New(&CreateOptions{Mode: 0o700})
	hasText(t, err, ErrInvalid, "use Create")
	_, err = q.GetMany(context.Background(), 0)
	hasText(t, err, ErrInvalid, "max is 0")
	hasText(t, q.PauseFor(-1), ErrInvalid, "negative")
	hasText(t, q.SetTerm(-1), ErrInvalid, "the term is negative")
	hasText(t, q.SetTermAt(-1), ErrInvalid, "the term is negative")
	hasText(t, q.Advance(-1), ErrInvalid, "negative")
	hasText(t, q.List(0, nil), ErrInvalid, "AllStates")
	_, err = q.DoneMany([]*Item{{queue: &Queue{}}})
	hasText(t, err, ErrInvalid, "another handle")
	_, err = FromFile(nil)
	hasText(t, err, os.ErrInvalid, "")
}

func TestConfigArguments(t *testing.T) {
	for _, c := range []struct {
		config Config
		text   string
	}{
		{Config{Limiters: make([]Limiter, LimitersMax+1)}, "there are 9 limiters"},
		{Config{Limiters: []Limiter{nil}}, "limiter 0 is nil"},
		{Config{MaxWait: -1}, "MaxWait is negative"},
		{Config{ForgetAfter: -1}, "ForgetAfter is negative"},
		{Config{DeadAfter: -1}, "DeadAfter is out of range"},
		{Config{DeadAfterLost: -1}, "DeadAfterLost is out of range"},
		{Config{Limiters: []Limiter{Exponential{0, 1}}}, "Base is above 0"},
		{Config{Limiters: []Limiter{Exponential{2, 1}}}, "Max not below it"},
		{Config{Limiters: []Limiter{FastSlow{-1, 1, 1}}}, "Fast of FastSlow is negative"},
		{Config{Limiters: []Limiter{FastSlow{1, -1, 1}}}, "Slow of FastSlow is negative"},
		{Config{Limiters: []Limiter{FastSlow{1, 1, -1}}}, "MaxFast of FastSlow is out of range"},
		{Config{Limiters: []Limiter{Bucket{0, 1, 1}}}, "all are above 0"},
		{Config{Limiters: []Limiter{Bucket{1, 0, 1}}}, "all are above 0"},
		{Config{Limiters: []Limiter{Bucket{1, 1, 0}}}, "all are above 0"},
		{Config{Limiters: []Limiter{Backoff{Duration: -1}}}, "Duration of Backoff is negative"},
		{Config{Limiters: []Limiter{Backoff{Cap: -1}}}, "Cap of Backoff is negative"},
		{Config{Limiters: []Limiter{Backoff{Duration: 2, Cap: 1}}}, "below its Duration"},
		{Config{Limiters: []Limiter{Backoff{Factor: -1}}}, "Factor of Backoff"},
		{Config{Limiters: []Limiter{Backoff{Jitter: 1 << 17}}}, "Jitter of Backoff"},
		{Config{Limiters: []Limiter{Backoff{Factor: math.NaN()}}}, "Factor of Backoff"},
		{Config{Limiters: []Limiter{Backoff{Steps: 257}}}, "Steps of Backoff is 257"},
	} {
		hasText(t, new(configRequest).set(&c.config), ErrInvalid, c.text)
	}

	all := Config{
		Limiters: []Limiter{
			Exponential{time.Millisecond, time.Second},
			FastSlow{1, 2, 3},
			Bucket{time.Second, 10, 100},
			Backoff{Duration: 1, Cap: 9, Factor: 1.5, Jitter: 0.25, Steps: 4},
		},
		MaxWait: 1, ForgetAfter: 2, DeadAfter: 3, DeadAfterLost: 4, Coalesce: true,
	}
	r := new(configRequest)
	if err := r.set(&all); err != nil {
		t.Fatal(err)
	}
	if got := r.get(); !reflect.DeepEqual(*got, all) {
		t.Errorf("got %+v, wanted %+v", *got, all)
	}
	r.limiters[0].kind = 99
	if got := r.get(); got.Limiters[0] != nil {
		t.Errorf("a limiter of an unknown kind is %v", got.Limiters[0])
	}
}

func TestErrors(t *testing.T) {
	q := &Queue{name: "hosts"}
	for _, c := range []struct {
		op    string
		errno syscall.Errno
		is    error
	}{
		{opAdd, syscall.ESHUTDOWN, ErrShutDown},
		{opGet, syscall.EAGAIN, ErrEmpty},
		{opFind, syscall.ENOENT, ErrNotFound},
		{opOpen, syscall.ENOENT, fs.ErrNotExist},
		{opCreate, syscall.EEXIST, ErrExists},
		{opCreate, syscall.EEXIST, fs.ErrExist},
		{opAdd, syscall.ENOSPC, ErrFull},
		{opCreate, syscall.EDQUOT, ErrQuota},
		{opDone, syscall.ESTALE, ErrStale},
		{opDone, syscall.EPERM, ErrNotHolder},
		{opExtend, syscall.EPERM, ErrNotHolder},
		{opNote, syscall.EPERM, ErrNotHolder},
		{opCreate, syscall.EPERM, ErrNotOwner},
		{opOwner, syscall.EPERM, ErrNotOwner},
		{opOwner, syscall.EPERM, fs.ErrPermission},
		{opUnlink, syscall.EPERM, fs.ErrPermission},
		{opOpen, syscall.EACCES, fs.ErrPermission},
		{opAdd, syscall.EBADF, ErrRights},
		{opDrain, syscall.ECANCELED, ErrDrainEnded},
		{opAdd, syscall.EMSGSIZE, ErrTooLong},
		{opOpen, syscall.ENAMETOOLONG, ErrTooLong},
		{opCreate, syscall.EINVAL, ErrInvalid},
		{opAdd, syscall.EOPNOTSUPP, ErrUnsupported},
		{opAdd, syscall.E2BIG, ErrUnsupported},
		{opRestore, syscall.ENOTTY, ErrUnsupported},
		{opAdd, syscall.ENOMEM, syscall.ENOMEM},
	} {
		err := q.fail(c.op, "k", c.errno)
		var errno syscall.Errno
		if !errors.Is(err, c.is) || !errors.Is(err, c.errno) || !errors.As(err, &errno) || errno != c.errno {
			t.Errorf("%s, %v: %v", c.op, c.errno, err)
		}
	}
	if errors.Is(q.fail(opUnlink, "", syscall.EPERM), ErrNotHolder) {
		t.Error("an unlink has no holder")
	}
	for _, c := range []struct {
		err  *Error
		text string
	}{
		{&Error{opAdd, "hosts", "a\nb", ErrFull}, `kwq: add "a\nb" of queue hosts: the queue is full`},
		{&Error{opAdd, "", "a", ErrFull}, `kwq: add "a": the queue is full`},
		{&Error{opGet, "hosts", "", ErrShutDown}, `kwq: get queue hosts: the queue is shut down`},
		{&Error{opGet, "", "", ErrShutDown}, `kwq: get queue: the queue is shut down`},
	} {
		if c.err.Error() != c.text {
			t.Errorf("got %q, wanted %q", c.err.Error(), c.text)
		}
	}
}

func TestStrings(t *testing.T) {
	for _, c := range []struct {
		v    fmt.Stringer
		want string
	}{
		{Added, "added"}, {Restored, "restored"}, {AddResult(-1), "unknown"}, {AddResult(7), "unknown"},
		{Finished, "finished"}, {Requeued | StillWaiting, "requeued, still waiting"}, {Returned, "returned"},
		{IsReady | IsDying, "ready, dying"}, {State(0), ""},
	} {
		if got := c.v.String(); got != c.want {
			t.Errorf("got %q, wanted %q", got, c.want)
		}
	}
	var full nameField
	for i := range full {
		full[i] = 'n'
	}
	if len(full.String()) != NameMax+1 {
		t.Error("a field without an end")
	}
}

func TestSortListed(t *testing.T) {
	want := []*Listed{
		{Key: "a", OrderOf: IsProcessing, Order: 5},
		{Key: "b", OrderOf: IsReady, Priority: 3, Order: 9},
		{Key: "c", OrderOf: IsReady, State: IsReady | IsReturned, Order: 8},
		{Key: "d", OrderOf: IsReady, State: IsReady, Order: 1},
		{Key: "e", OrderOf: IsReady, State: IsReady, Order: 2},
		{Key: "f", OrderOf: IsWaiting, Order: 1},
		{Key: "g", OrderOf: IsDead, Order: 1},
		{Key: "h", OrderOf: IsRemembered},
	}
	list := []*Listed{want[7], want[3], want[6], want[4], want[0], want[2], want[5], want[1]}
	SortListed(list)
	if !reflect.DeepEqual(list, want) {
		for i := range list {
			t.Errorf("%d is %s", i, list[i].Key)
		}
	}
}

func TestDurations(t *testing.T) {
	if duration(math.MaxUint64) != math.MaxInt64 || duration(5) != 5 {
		t.Error("a duration")
	}
	if h := (&histogramABI{sum: 1, sumHigh: 1}).histogram(); h.Sum != math.MaxInt64 {
		t.Error("a sum")
	}
}

// Without the module the error says so.
func TestNoDevice(t *testing.T) {
	if _, err := os.Stat(devicePath); err == nil {
		t.Skip("there is a device")
	}
	_, err := New(nil)
	hasText(t, err, ErrNoDevice, "modprobe kwq")
	hasText(t, err, syscall.ENODEV, "")
	if _, err := Info(); !errors.Is(err, ErrNoDevice) {
		t.Error(err)
	}
	if _, err := Queues(); !errors.Is(err, ErrNoDevice) {
		t.Error(err)
	}
}

func TestNotAQueue(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, err = FromFile(f)
	hasText(t, err, ErrInvalid, "not the descriptor of a queue")
	hasText(t, err, syscall.ENOTTY, "")
	f.Close()
	_, err = FromFile(f)
	hasText(t, err, err, "closed file")
}

// Q13: a result that was not written never reads as success.
func TestResultsOfFailures(t *testing.T) {
	q := &Queue{fd: -1}
	added, err := q.Restore([]*Listed{{Key: "a", State: IsReady}, {State: IsReady}})
	if err == nil || added[0].String() != "unknown" || added[1].String() != "unknown" {
		t.Errorf("Restore: %v, %v", added, err)
	}
	done, err := q.DoneMany([]*Item{{Key: "a", Ticket: 5, queue: q}})
	if err == nil || done[0].String() != "unknown" {
		t.Errorf("DoneMany: %v, %v", done, err)
	}
}
