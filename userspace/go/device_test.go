// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// These tests need /dev/kwq. They run in the test machine: make test SUITES=kselftest-stock PROGRAMS=go. kwq(7) states the rules.

// The test program is its own child: see child.
func TestMain(m *testing.M) {
	if role := os.Getenv("KWQ_TEST_CHILD"); role != "" {
		children[role]()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var children = map[string]func(){
	// Gets an item through descriptor 3, says so, and holds it until it is killed.
	"hold": func() {
		q, err := FromFile(os.NewFile(3, "queue"))
		item := &Item{}
		if err == nil {
			item, err = q.Get(context.Background())
		}
		fmt.Println(item.Key, err)
		// With select {} Go would end a process without other goroutines.
		for {
			time.Sleep(time.Hour)
		}
	},
	// Works on a named queue until it is shut down.
	"work": func() {
		q, err := Open(os.Getenv("KWQ_TEST_QUEUE"), RightRead|RightWrite)
		for err == nil {
			var item *Item
			if item, err = q.Get(context.Background()); err == nil {
				fmt.Println(item.Key)
				_, err = item.Done()
			}
		}
		if !errors.Is(err, ErrShutDown) {
			fmt.Println("error:", err)
		}
	},
}

type child struct {
	*exec.Cmd
	out *bufio.Scanner
}

func startChild(t *testing.T, role, name string, files ...*os.File) *child {
	t.Helper()
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), "KWQ_TEST_CHILD="+role, "KWQ_TEST_QUEUE="+name)
	c.ExtraFiles = files
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return &child{c, bufio.NewScanner(out)}
}

func (c *child) line() string {
	c.out.Scan()
	return c.out.Text()
}

func device(t *testing.T) {
	t.Helper()
	f, err := os.OpenFile(devicePath, os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	f.Close()
}

func newQueue(t *testing.T, o *CreateOptions) *Queue {
	t.Helper()
	device(t)
	q, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Close() })
	return q
}

var manual = &CreateOptions{Clock: ClockManual}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func is(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got %v, wanted %v", err, want)
	}
}

func added(t *testing.T, want AddResult) func(AddResult, error) {
	t.Helper()
	return func(got AddResult, err error) {
		t.Helper()
		check(t, err)
		if got != want {
			t.Fatalf("got %v, wanted %v", got, want)
		}
	}
}

func done(t *testing.T, want DoneResult) func(DoneResult, error) {
	t.Helper()
	return func(got DoneResult, err error) {
		t.Helper()
		check(t, err)
		if got != want {
			t.Fatalf("got %v, wanted %v", got, want)
		}
	}
}

func (q *Queue) add(t *testing.T, keys ...string) {
	t.Helper()
	for _, key := range keys {
		_, err := q.Add(key)
		check(t, err)
	}
}

// wants the next item to have this key.
func (q *Queue) wants(t *testing.T, key string) *Item {
	t.Helper()
	item, err := q.TryGet()
	check(t, err)
	if item.Key != key {
		t.Fatalf("got %q, wanted %q", item.Key, key)
	}
	return item
}

func (q *Queue) wantsNone(t *testing.T) {
	t.Helper()
	_, err := q.TryGet()
	is(t, err, ErrEmpty)
}

var background = context.Background()

// Q2, Q4, Q6, Q7: a key goes through the queue.
func TestDeviceCycle(t *testing.T) {
	q := newQueue(t, nil)
	added(t, Added)(q.Add("a"))
	added(t, Coalesced)(q.Add("a"))
	if n, err := q.Len(); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	item, err := q.Get(background)
	check(t, err)
	if item.Key != "a" || item.Ticket == 0 || item.Queue() != q || item.Value != nil || item.Group != "" {
		t.Fatalf("%+v", item)
	}
	added(t, Dirtied)(q.Add("a"))
	added(t, Dirty)(q.Add("a"))
	q.wantsNone(t)
	done(t, Requeued)(item.Done())
	_, err = item.Done()
	is(t, err, ErrStale)
	item = q.wants(t, "a")
	check(t, item.Extend())
	done(t, Finished)(q.DoneKey("a"))
	is(t, item.Extend(), ErrStale)
	_, err = q.DoneKey("a")
	is(t, err, ErrNotFound)
	long := strings.Repeat("\x00\xff", KeyMax/2)
	q.add(t, long)
	q.wants(t, long)
	_, err = q.Remove("nothing")
	is(t, err, ErrNotFound)
	q.add(t, "b")
	if was, err := q.Remove("b"); was != IsReady || err != nil {
		t.Fatal(was, err)
	}
}

// U9: a queue that another user has made first is opened, but not taken for an own one.
func TestDeviceOwner(t *testing.T) {
	device(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	was, err := os.Stat(devicePath)
	check(t, err)
	check(t, os.Chmod(devicePath, 0o666))
	defer os.Chmod(devicePath, was.Mode().Perm())
	name := fmt.Sprintf("go-owner-%d", os.Getpid())
	options := &CreateOptions{OrOpen: true, Mode: 0o777}

	// Only this thread is another user.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	become := func(uid uintptr) {
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uid, ^uintptr(0)); errno != 0 {
			t.Fatal(errno)
		}
	}
	become(12345)
	theirs, err := Create(name, options)
	if err == nil {
		check(t, theirs.CheckOwner())
	}
	become(0)
	check(t, err)
	defer theirs.Close()
	defer func() { _ = Unlink(name) }()

	_, err = Create(name, options)
	is(t, err, ErrNotOwner)
	q, err := Open(name, 0)
	check(t, err)
	defer q.Close()
	is(t, q.CheckOwner(), ErrNotOwner)
}

// O5, U9: names, modes and rights.
func TestDeviceNames(t *testing.T) {
	device(t)
	name := fmt.Sprintf("go-names-%d", os.Getpid())
	q, err := Create(name, nil)
	check(t, err)
	defer q.Close()
	defer func() { _ = Unlink(name) }()
	_, err = Create(name, nil)
	is(t, err, ErrExists)
	again, err := Create(name, &CreateOptions{OrOpen: true, Rights: RightWrite})
	check(t, err)
	defer again.Close()
	if q.Name() != name || again.Name() != name {
		t.Fatal(q.Name(), again.Name())
	}
	again.add(t, "a")
	_, err = again.TryGet()
	is(t, err, ErrRights)
	_, err = again.Get(background)
	is(t, err, ErrRights)
	is(t, again.ShutDown(), ErrRights)
	is(t, again.ShutDownWithDrain(background), ErrRights)
	_, err = again.Reopen(AllRights)
	is(t, err, fs.ErrPermission)
	reader, err := Open(name, RightRead)
	check(t, err)
	defer reader.Close()
	reader.wants(t, "a")
	_, err = q.DoneKey("a")
	is(t, err, ErrNotHolder)
	_, err = reader.Add("b")
	is(t, err, ErrRights)
	_, err = reader.AddWait(background, "b", nil)
	is(t, err, ErrRights)

	queues, err := Queues()
	check(t, err)
	i := sort.Search(len(queues), func(i int) bool { return queues[i].Name >= name })
	if i == len(queues) || queues[i].Name != name || queues[i].Mode != 0o700 || int(queues[i].UID) != os.Getuid() {
		t.Fatalf("%+v", queues)
	}
	st, err := q.Stat()
	check(t, err)
	if st.Name != name || st.Handles != 3 || st.Mode != 0o700 || st.Clock != ClockMonotonic || st.Processing != 1 {
		t.Fatalf("%+v", st)
	}
	check(t, Unlink(name))
	is(t, Unlink(name), ErrNotFound)
	_, err = Open(name, 0)
	is(t, err, ErrNotFound)
	is(t, err, fs.ErrNotExist)
	info, err := Info()
	check(t, err)
	if info.KeyMax != KeyMax || info.BatchMax != BatchMax || info.Features&FeatureSettle == 0 || info.UserQueues == 0 {
		t.Fatalf("%+v", info)
	}
}

// D1 to D5, D9: delays, policies and debounce, on a manual clock.
func TestDeviceDelays(t *testing.T) {
	q := newQueue(t, manual)
	added(t, Waiting)(q.AddAfter("a", 10))
	added(t, Coalesced)(q.AddAfter("a", 5))
	added(t, Added)(q.AddAfter("now", 0))
	done(t, Finished)(q.wants(t, "now").Done())
	check(t, q.Advance(4))
	q.wantsNone(t)
	check(t, q.AdvanceTo(5))
	done(t, Finished)(q.wants(t, "a").Done())
	is(t, q.AdvanceTo(4), ErrInvalid)
	if now, err := q.Now(); now != 5 || err != nil {
		t.Fatal(now, err)
	}

	added(t, Waiting)(q.AddWith("at", &AddOptions{At: 20}))
	added(t, Coalesced)(q.AddWith("at", &AddOptions{At: 30, Policy: Replace}))
	check(t, q.AdvanceTo(29))
	q.wantsNone(t)
	added(t, Added)(q.AddWith("at", &AddOptions{EndWait: true, Priority: Priority(3)}))
	item := q.wants(t, "at")
	if item.Priority != 3 {
		t.Fatal(item.Priority)
	}
	added(t, Waiting)(q.AddAfter("at", 100))
	done(t, StillWaiting)(item.Done())

	added(t, Waiting)(q.AddWith("quiet", &AddOptions{Delay: 10, AtMost: 15}))
	check(t, q.Advance(8))
	added(t, Coalesced)(q.AddWith("quiet", &AddOptions{Delay: 10, AtMost: 15}))
	check(t, q.Advance(6))
	q.wantsNone(t)
	check(t, q.Advance(1))
	q.wants(t, "quiet")

	real := newQueue(t, nil)
	is(t, real.Advance(1), ErrUnsupported)
	before, err := real.Now()
	check(t, err)
	if after, err := real.Now(); after < before || err != nil {
		t.Fatal(before, after, err)
	}
	added(t, Waiting)(real.AddAfter("soon", time.Millisecond))
	item, err = real.Get(background)
	check(t, err)
	if item.Key != "soon" {
		t.Fatal(item.Key)
	}
}

// Q12: the highest priority first.
func TestDevicePriorities(t *testing.T) {
	q := newQueue(t, nil)
	q.add(t, "middle")
	added(t, Added)(q.AddWith("last", &AddOptions{Priority: Priority(PriorityMin)}))
	added(t, Added)(q.AddWith("first", &AddOptions{Priority: Priority(PriorityMax)}))
	for _, key := range []string{"first", "middle", "last"} {
		q.wants(t, key)
	}
}

// Q18: values, short and long.
func TestDeviceValues(t *testing.T) {
	q := newQueue(t, &CreateOptions{Values: true})
	long := []byte(strings.Repeat("0123456789abcdef", ValueMax/16))
	for _, value := range [][]byte{[]byte("v"), long[:shortValue+GroupMax+KeyMax], long} {
		added(t, Added)(q.AddValue("k", value))
		listed, err := q.Find("k")
		check(t, err)
		if string(listed.Value) != string(value) || listed.ValueLen != len(value) {
			t.Fatal(len(listed.Value), listed.ValueLen)
		}
		item, err := q.Get(background)
		check(t, err)
		if item.Key != "k" || string(item.Value) != string(value) {
			t.Fatal(item.Key, len(item.Value))
		}
		done(t, Finished)(item.Done())
	}
	added(t, Added)(q.AddValue("k", []byte("first")))
	added(t, Coalesced)(q.AddWith("k", &AddOptions{Value: []byte("second"), KeepValue: true}))
	item := q.wants(t, "k")
	if string(item.Value) != "first" {
		t.Fatalf("%q", item.Value)
	}
	// The next item comes with its long value in the same call.
	added(t, Added)(q.AddValue("long", long))
	next, result, err := item.DoneAndGet(background)
	check(t, err)
	if result != Finished || next.Key != "long" || string(next.Value) != string(long) {
		t.Fatal(result, next.Key, len(next.Value))
	}
	added(t, Added)(q.AddValue("none", nil))
	if item := q.wants(t, "none"); item.Value != nil {
		t.Fatal(item.Value)
	}
	entries := make([]Entry, 20)
	for i := range entries {
		entries[i] = Entry{Key: fmt.Sprint(i), AddOptions: AddOptions{Value: long[:i*1000]}}
	}
	check(t, q.AddMany(entries))
	items, err := q.GetMany(background, 5000)
	check(t, err)
	for i, item := range items {
		if item.Key != fmt.Sprint(i) || len(item.Value) != i*1000 {
			t.Fatal(i, item.Key, len(item.Value))
		}
	}
	without := newQueue(t, nil)
	_, err = without.AddValue("k", long)
	is(t, err, ErrUnsupported)
}

// noted wants the key to have this note.
func (q *Queue) noted(t *testing.T, key, note string) {
	t.Helper()
	listed, err := q.Find(key)
	check(t, err)
	if string(listed.Note) != note || listed.NoteLen != len(note) {
		t.Fatalf("%s has the note %.40q of %d bytes, not %.40q", key, listed.Note, listed.NoteLen, note)
	}
}

// Q18: a key has a note from an add or from its worker, until a run ends well.
func TestDeviceNotes(t *testing.T) {
	q := newQueue(t, &CreateOptions{Values: true, Groups: true})
	long := strings.Repeat("0123456789abcdef", NoteMax/16)
	added(t, Added)(q.AddWith("k", &AddOptions{Note: []byte(long), Value: make([]byte, ValueMax), Group: Group("g")}))
	q.noted(t, "k", long)
	item := q.wants(t, "k")
	for _, note := range []string{"half way", long, "", "why"} {
		check(t, item.Note([]byte(note)))
		q.noted(t, "k", note)
	}
	is(t, item.Note(make([]byte, NoteMax+1)), ErrTooLong)
	added(t, Waiting)(item.RetryAfter(time.Hour))
	q.noted(t, "k", "why")

	entries := make([]Entry, 20)
	for i := range entries {
		entries[i] = Entry{Key: fmt.Sprint(i), AddOptions: AddOptions{Note: []byte(long[:i*200])}}
	}
	entries[3].Value = []byte("v")
	check(t, q.AddMany(entries))
	for _, e := range entries {
		q.noted(t, e.Key, string(e.Note))
	}
	added(t, Coalesced)(q.AddWith("1", &AddOptions{Note: []byte{}}))
	q.noted(t, "1", "")
	added(t, Coalesced)(q.Add("2"))
	q.noted(t, "2", long[:400])

	item = q.wants(t, "0")
	check(t, item.Note([]byte("bad")))
	done(t, Buried)(item.Bury())
	q.noted(t, "0", "bad")
	item = q.wants(t, "1")
	check(t, item.Note([]byte("bad")))
	q.add(t, "1")
	done(t, Requeued)(item.DoneAndForget())
	q.noted(t, "1", "")
}

// O3, O4, Q18: a note extends the lease, and one that is refused changes nothing.
func TestDeviceNotesRefused(t *testing.T) {
	q := newQueue(t, &CreateOptions{Clock: ClockManual, Lease: 10, Values: true, MaxBytes: 20000})
	var err error
	for i := 0; err == nil; i++ {
		_, err = q.Add(fmt.Sprint(i))
	}
	is(t, err, ErrFull)
	item := q.wants(t, "0")
	for i := 0; i < 3; i++ {
		check(t, q.Advance(9))
		check(t, item.Note(nil))
	}
	check(t, q.Advance(9))
	is(t, item.Note(make([]byte, NoteMax)), ErrFull)
	_, err = q.AddWith("0", &AddOptions{Note: make([]byte, NoteMax)})
	is(t, err, ErrFull)
	q.noted(t, "0", "")
	check(t, q.Advance(1))
	is(t, item.Note(nil), ErrStale)

	without := newQueue(t, nil)
	without.add(t, "k")
	item = without.wants(t, "k")
	is(t, item.Note([]byte("why")), ErrUnsupported)
	done(t, Finished)(item.Done())
	check(t, without.Close())
	is(t, item.Note(nil), ErrClosed)
}

// Q16: groups take turns, and have limits.
func TestDeviceGroups(t *testing.T) {
	q := newQueue(t, &CreateOptions{Groups: true, GroupLimit: 1})
	for _, key := range []string{"a1", "a2", "b1"} {
		added(t, Added)(q.AddWith(key, &AddOptions{Group: Group(key[:1])}))
	}
	first := q.wants(t, "a1")
	if first.Group != "a" {
		t.Fatal(first.Group)
	}
	q.wants(t, "b1")
	q.wantsNone(t)
	waited := make(chan *Item, 1)
	go func() {
		item, err := q.Get(background)
		if err != nil {
			t.Error(err)
		}
		waited <- item
	}()
	q.sleepers(1)
	done(t, Finished)(first.Done())
	if item := <-waited; item.Key != "a2" || item.Group != "a" {
		t.Fatalf("%+v", item)
	}
}

// L1, L8 to L12: limiters, retries and dead keys.
func TestDeviceRetries(t *testing.T) {
	q := newQueue(t, &CreateOptions{Clock: ClockManual, Config: &Config{
		Limiters: []Limiter{Exponential{time.Second, time.Hour}}, DeadAfter: 2,
	}})
	q.add(t, "k")
	added(t, Waiting)(q.wants(t, "k").Retry())
	check(t, q.Advance(time.Second))
	item := q.wants(t, "k")
	if item.Requeues != 1 {
		t.Fatal(item.Requeues)
	}
	added(t, Waiting)(item.Retry())
	check(t, q.Advance(2*time.Second))
	if n, err := q.NumRequeues("k"); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	added(t, Dead)(q.wants(t, "k").Retry())
	check(t, q.Advance(5))
	added(t, Added)(q.Add("a"))
	done(t, Buried)(q.wants(t, "a").Bury())
	var dead []*Listed
	check(t, q.List(IsDead, func(l *Listed) error { dead = append(dead, l); return nil }))
	SortListed(dead)
	if len(dead) != 2 || dead[0].Key != "k" || dead[0].Requeues != 2 || dead[0].DeadFor != 5 || dead[1].Key != "a" {
		t.Fatalf("%+v", dead)
	}
	_, err := q.Kick("other")
	is(t, err, ErrNotFound)
	added(t, Added)(q.Kick("k"))
	done(t, Buried)(q.wants(t, "k").Bury())
	if was, err := q.Drop("k"); was != IsDead || err != nil {
		t.Fatal(was, err)
	}
	_, err = q.Drop("k")
	is(t, err, ErrNotFound)

	added(t, Waiting)(q.AddRateLimited("f"))
	if n, err := q.Forget("f"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	added(t, Added)(q.AddWith("f", &AddOptions{EndWait: true}))
	added(t, Waiting)(q.wants(t, "f").RetryAfter(7))
	check(t, q.Advance(7))
	done(t, Finished)(q.wants(t, "f").DoneAndForget())

	want := &Config{Limiters: []Limiter{Bucket{time.Second, 1, 1}, FastSlow{1, 2, 3}}, Coalesce: true, DeadAfterLost: 3}
	check(t, q.Configure(want))
	got, err := q.Config()
	check(t, err)
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v", got)
	}
	q.add(t, "g")
	item = q.wants(t, "g")
	done(t, Returned)(item.GiveBack())
	item = q.wants(t, "g")
	check(t, q.ShutDown())
	_, err = item.Retry()
	is(t, err, ErrShutDown)
	_, err = item.Done()
	is(t, err, ErrStale)
}

// O3: leases, on a manual clock.
func TestDeviceLeases(t *testing.T) {
	q := newQueue(t, &CreateOptions{Clock: ClockManual, Lease: 10})
	q.add(t, "k", "next")
	item := q.wants(t, "k")
	check(t, q.Advance(9))
	check(t, item.Extend())
	check(t, q.Advance(9))
	check(t, item.Extend())
	check(t, q.Advance(10))
	is(t, item.Extend(), ErrStale)
	_, err := item.Done()
	is(t, err, ErrStale)
	_, err = item.Retry()
	is(t, err, ErrStale)
	// The next one is given back, because an error means that there is none.
	_, _, err = item.DoneAndGet(background)
	is(t, err, ErrStale)
	st, err := q.Stat()
	check(t, err)
	if st.Processing != 0 || st.Returned != 1 || st.Expired != 1 || st.Ready != 2 || st.Waiting != 1 {
		t.Fatalf("%+v", st)
	}
}

// Q14: a paused queue hands nothing out.
func TestDevicePause(t *testing.T) {
	q := newQueue(t, manual)
	check(t, q.Pause())
	q.add(t, "a", "b")
	got := make(chan error, 2)
	for i := 0; i < 2; i++ {
		go func() { _, err := q.Get(background); got <- err }()
	}
	q.sleepers(2)
	st, err := q.Stat()
	check(t, err)
	if !st.Paused || st.Ready != 2 {
		t.Fatalf("%+v", st)
	}
	check(t, q.Resume())
	check(t, <-got)
	check(t, <-got)
	check(t, q.PauseFor(10))
	q.add(t, "c")
	q.wantsNone(t)
	go func() { _, err := q.Get(background); got <- err }()
	q.sleepers(1)
	check(t, q.Advance(10))
	check(t, <-got)
}

// E1: a handle has one token, which another handle has not.
func TestDeviceBPFToken(t *testing.T) {
	q := newQueue(t, nil)
	token, err := q.BPFToken()
	if errors.Is(err, ErrUnsupported) {
		t.Skip("this kernel, or the module, has no BTF")
	}
	check(t, err)
	again, err := q.BPFToken()
	check(t, err)
	other, err := newQueue(t, nil).BPFToken()
	check(t, err)
	if token == 0 || again != token || other == token {
		t.Fatal(token, again, other)
	}
}

// Q20: after its term a queue hands nothing out, and takes back what is handed out.
func TestDeviceTerm(t *testing.T) {
	q := newQueue(t, manual)
	st, err := q.Stat()
	check(t, err)
	if st.TermOver || st.Term != math.MaxInt64 {
		t.Fatalf("%+v", st)
	}
	check(t, q.Advance(5))
	check(t, q.SetTerm(10))
	q.add(t, "a", "b")
	item, err := q.Get(background)
	check(t, err)
	check(t, q.Advance(10))
	_, err = item.Done()
	is(t, err, ErrStale)
	st, err = q.Stat()
	check(t, err)
	if !st.TermOver || st.Term != 15 || st.Ready != 2 || st.Abandoned != 1 {
		t.Fatalf("%+v", st)
	}
	q.wantsNone(t)
	got := make(chan error, 2)
	for i := 0; i < 2; i++ {
		go func() { _, err := q.Get(background); got <- err }()
	}
	q.sleepers(2)
	check(t, q.SetTermAt(16))
	check(t, <-got)
	check(t, <-got)
	check(t, q.SetTerm(0))
	q.wantsNone(t)
	check(t, q.ClearTerm())
	_, err = q.Get(background)
	check(t, err)
}

// Q19: adds wait for room.
func TestDeviceRoom(t *testing.T) {
	const adders = 50
	q := newQueue(t, &CreateOptions{MaxItems: 1})
	q.add(t, "full")
	_, err := q.Add("more")
	is(t, err, ErrFull)
	added(t, Coalesced)(q.AddWait(background, "full", nil))
	ctx, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	_, err = q.AddWait(ctx, "more", nil)
	is(t, err, context.DeadlineExceeded)
	if _, err := q.AddWait(ctx, "more", nil); err != context.DeadlineExceeded {
		t.Fatal(err)
	}

	var wg sync.WaitGroup
	for i := 0; i < adders; i++ {
		wg.Add(1)
		go func(key string) {
			defer wg.Done()
			if _, err := q.AddWait(background, key, nil); err != nil {
				t.Error(err)
			}
		}(fmt.Sprintf("%0*d", i+1, i))
	}
	for i := 0; i <= adders; i++ {
		item, err := q.Get(background)
		check(t, err)
		done(t, Finished)(item.Done())
	}
	wg.Wait()
	if q.adders.users != 0 || q.adders.poller != nil {
		t.Error("the handle is still watched")
	}

	entries := make([]Entry, 3000)
	for i := range entries {
		entries[i].Key = fmt.Sprint(i)
	}
	all := make(chan error, 1)
	go func() { all <- q.AddManyWait(background, entries) }()
	for i := range entries {
		item, err := q.Get(background)
		check(t, err)
		if item.Key != fmt.Sprint(i) {
			t.Fatal(i, item.Key)
		}
		done(t, Finished)(item.Done())
	}
	check(t, <-all)

	q.add(t, "full")
	cancelled, cancel := context.WithCancel(background)
	go func() { all <- q.AddManyWait(cancelled, entries[:2]) }()
	for !q.hasAdders(1) {
		runtime.Gosched()
	}
	cancel()
	is(t, <-all, context.Canceled)
	is(t, entries[1].Err, context.Canceled)
	go func() { all <- q.AddManyWait(background, entries[:2]) }()
	for !q.hasAdders(1) {
		runtime.Gosched()
	}
	check(t, q.ShutDown())
	is(t, <-all, ErrShutDown)

	small := newQueue(t, &CreateOptions{Values: true, MaxBytes: 20000})
	_, err = small.AddWait(background, "k", &AddOptions{Value: make([]byte, ValueMax)})
	is(t, err, ErrFull)
}

// hasAdders tells whether so many goroutines sleep in an add.
func (q *Queue) hasAdders(n int) bool {
	q.adders.mu.Lock()
	defer q.adders.mu.Unlock()
	for w := q.adders.list.first(); w != nil; w = q.adders.list.after(w) {
		n--
	}
	return n == 0
}

// Q13: many entries, each with a result of its own.
func TestDeviceMany(t *testing.T) {
	q := newQueue(t, nil)
	entries := make([]Entry, 2500)
	for i := range entries {
		entries[i].Key = fmt.Sprint(i)
	}
	entries[7].Key = ""
	entries[8].Priority = Priority(99)
	entries[9].Key = "6"
	entries[10].Value = []byte("v")
	is(t, q.AddMany(entries), ErrInvalid)
	is(t, entries[7].Err, ErrInvalid)
	is(t, entries[8].Err, ErrInvalid)
	is(t, entries[10].Err, ErrUnsupported)
	if entries[9].Result != Coalesced || entries[9].Err != nil {
		t.Fatalf("%+v", entries[9])
	}
	var all []*Item
	for len(all) < 2496 {
		items, err := q.GetMany(background, BatchMax)
		check(t, err)
		all = append(all, items...)
	}
	q.wantsNone(t)
	check(t, all[5].Extend())
	done(t, Finished)(all[5].Done())
	results, err := q.DoneMany(all)
	is(t, err, ErrStale)
	if len(results) != len(all) {
		t.Fatal(len(results))
	}
	st, err := q.Stat()
	check(t, err)
	if st.Processing != 0 || st.Dones != uint64(len(all)) || st.WorkDuration.Counts == [HistogramBuckets]uint64{} {
		t.Fatalf("%+v", st)
	}
	check(t, q.AddMany(nil))
	if results, err := q.DoneMany(nil); len(results) != 0 || err != nil {
		t.Fatal(results, err)
	}
}

// Q15: a list while the queue works.
func TestDeviceList(t *testing.T) {
	const keys = 3000
	q := newQueue(t, &CreateOptions{Values: true, Groups: true})
	entries := make([]Entry, keys)
	for i := range entries {
		entries[i].Key = fmt.Sprintf("%0*d", 1+i%400, i)
		entries[i].Value = make([]byte, i%700)
		entries[i].Note = make([]byte, i%60)
		entries[i].Group = Group(fmt.Sprint(i % 3))
	}
	check(t, q.AddMany(entries))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			item, err := q.Get(background)
			if err == nil {
				_, err = item.GiveBack()
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for _, list := range []func(State, func(*Listed) error) error{q.List, q.ListWithValues} {
		seen := map[string]bool{}
		check(t, list(IsReady|IsProcessing, func(l *Listed) error {
			if seen[l.Key] {
				t.Errorf("%q is listed twice", l.Key)
			}
			seen[l.Key] = true
			if l.Value != nil && len(l.Value) != l.ValueLen || l.Note != nil && len(l.Note) != l.NoteLen {
				t.Errorf("%q has %d and %d bytes, not %d and %d", l.Key, len(l.Value), len(l.Note), l.ValueLen, l.NoteLen)
			}
			return nil
		}))
		if len(seen) != keys {
			t.Errorf("%d of %d keys", len(seen), keys)
		}
	}
	close(stop)
	<-stopped
	end := errors.New("end")
	is(t, q.List(AllStates, func(*Listed) error { return end }), end)

	listed, err := q.Find(entries[5].Key)
	check(t, err)
	if listed.Key != entries[5].Key || listed.Group != "2" || listed.ValueLen != 5 || len(listed.Note) != 5 || listed.State&IsReady == 0 {
		t.Fatalf("%+v", listed)
	}
	_, err = q.Find("nothing")
	is(t, err, ErrNotFound)
	plain := newQueue(t, nil)
	plain.add(t, "k")
	plain.wants(t, "k")
	listed, err = plain.Find("k")
	check(t, err)
	if listed.State != IsProcessing || listed.PID != os.Getpid() || listed.Value != nil {
		t.Fatalf("%+v", listed)
	}
}

// U8: a queue is restored from its list.
func TestDeviceRestore(t *testing.T) {
	o := &CreateOptions{Clock: ClockManual, Values: true, Groups: true}
	q, to := newQueue(t, o), newQueue(t, o)
	q.add(t, "held", "ready")
	q.wants(t, "held")
	added(t, Added)(q.AddWith("rich", &AddOptions{Value: []byte("v"), Group: Group("g"), Priority: Priority(-5)}))
	added(t, Coalesced)(q.AddWith("rich", &AddOptions{Note: []byte("why")}))
	added(t, Waiting)(q.AddWith("later", &AddOptions{Delay: 50, Priority: Priority(4)}))
	added(t, Waiting)(q.AddAfter("plain", 60))
	check(t, q.Advance(20))
	var list []*Listed
	check(t, q.ListWithValues(AllStates, func(l *Listed) error { list = append(list, l); return nil }))
	SortListed(list)
	results, err := to.Restore(list)
	check(t, err)
	for i, result := range results {
		if result != Restored {
			t.Errorf("%s: %v", list[i].Key, result)
		}
	}
	to.noted(t, "rich", "why")
	to.noted(t, "ready", "")
	for _, key := range []string{"held", "ready", "rich"} {
		item := to.wants(t, key)
		if key == "rich" && (string(item.Value) != "v" || item.Group != "g" || item.Priority != -5) {
			t.Errorf("%+v", item)
		}
	}
	check(t, to.Advance(29))
	to.wantsNone(t)
	check(t, to.Advance(1))
	if item := to.wants(t, "later"); item.Priority != 4 {
		t.Error(item.Priority)
	}
	results, err = to.Restore([]*Listed{{Key: "bad"}, {Key: "plain", State: IsReady}, {Key: "x", State: IsReady, Requeues: -1}})
	is(t, err, ErrInvalid)
	if results[1] != Added {
		t.Error(results)
	}
	for _, bad := range []*Listed{
		{Key: "k", State: IsReady, DirtyFor: -1}, {Key: "k", State: IsDead, DeadFor: -1},
		{Key: "k", State: IsWaiting, DueIn: -1}, {Key: "k", State: IsWaiting, WaitingFor: -1},
		{Key: "k", State: IsReady, Abandoned: -1}, {Key: "k", State: 0},
	} {
		_, err := to.Restore([]*Listed{bad})
		is(t, err, ErrInvalid)
	}
	_, err = to.Restore([]*Listed{{Key: "k", State: IsReady, Value: make([]byte, ValueMax+1)}})
	is(t, err, ErrTooLong)
	_, err = to.Restore([]*Listed{{Key: "k", State: IsReady, Note: make([]byte, NoteMax+1)}})
	is(t, err, ErrTooLong)
	_, err = to.Restore([]*Listed{{Key: "k", State: IsReady, Group: strings.Repeat("g", 256)}})
	is(t, err, ErrTooLong)
	many := make([]*Listed, 1500)
	for i := range many {
		many[i] = &Listed{Key: fmt.Sprint("many", i), State: IsReady}
	}
	_, err = to.Restore(many)
	check(t, err)
	if n, err := to.Len(); n != 1501 || err != nil {
		t.Error(n, err)
	}
}

// Q8: a shut down wakes everybody.
func TestDeviceShutDown(t *testing.T) {
	const goroutines = 200
	q := newQueue(t, nil)
	errs := make(chan error, goroutines)
	for i := 0; i < goroutines; i++ {
		go func() { _, err := q.Get(background); errs <- err }()
	}
	q.sleepers(goroutines)
	if down, err := q.ShuttingDown(); down || err != nil {
		t.Fatal(down, err)
	}
	check(t, q.ShutDown())
	for i := 0; i < goroutines; i++ {
		is(t, <-errs, ErrShutDown)
	}
	if down, err := q.ShuttingDown(); !down || err != nil {
		t.Fatal(down, err)
	}
	_, err := q.Add("k")
	is(t, err, ErrShutDown)
	_, err = q.AddWait(background, "k", nil)
	is(t, err, ErrShutDown)
}

// Q8: after a shut down a get waits for what other handles hold.
func TestDeviceShutDownWaits(t *testing.T) {
	q := newQueue(t, nil)
	other, err := q.Reopen(0)
	check(t, err)
	q.add(t, "k", "l")
	other.wants(t, "k")
	item := other.wants(t, "l")
	check(t, q.ShutDown())
	got := make(chan error, 2)
	go func() {
		_, err := q.Get(background)
		got <- err
		_, err = q.Get(background)
		got <- err
	}()
	q.sleepers(1)
	done(t, Finished)(item.Done())
	check(t, other.Close())
	check(t, <-got)
	is(t, <-got, ErrShutDown)
}

// Q9: drains.
func TestDeviceDrain(t *testing.T) {
	q := newQueue(t, nil)
	q.add(t, "k")
	item := q.wants(t, "k")
	begin := func(ctx context.Context) chan error {
		ended := make(chan error, 1)
		go func() { ended <- q.ShutDownWithDrain(ctx) }()
		for {
			q.waits.mu.Lock()
			n := len(q.waits.set)
			q.waits.mu.Unlock()
			if down, _ := q.ShuttingDown(); down && n > 0 {
				return ended
			}
			runtime.Gosched()
		}
	}
	ctx, cancel := context.WithCancel(background)
	ended := begin(ctx)
	cancel()
	is(t, <-ended, context.Canceled)
	is(t, q.ShutDownWithDrain(ctx), context.Canceled)
	for i := 0; i < 100; i++ {
		ctx, cancel := context.WithTimeout(background, time.Duration(i)*10*time.Microsecond)
		is(t, q.ShutDownWithDrain(ctx), context.DeadlineExceeded)
		cancel()
	}
	// Many signals interrupt the wait.
	ended = begin(background)
	for i := 0; i < 100; i++ {
		check(t, syscall.Kill(os.Getpid(), syscall.SIGURG))
		runtime.GC()
	}
	done(t, Finished)(item.Done())
	check(t, <-ended)
	check(t, q.ShutDownWithDrain(background))

	q = newQueue(t, nil)
	q.add(t, "k")
	item = q.wants(t, "k")
	ended = begin(background)
	for len(ended) == 0 {
		// The drain may not wait yet.
		check(t, q.ShutDown())
	}
	is(t, <-ended, ErrDrainEnded)
	ended = begin(background)
	check(t, q.Close())
	is(t, <-ended, ErrClosed)
}

// O1: a close gives the items back, and ends the calls that wait.
func TestDeviceClose(t *testing.T) {
	q := newQueue(t, &CreateOptions{MaxItems: 1})
	other, err := q.Reopen(0)
	check(t, err)
	file, err := other.File()
	check(t, err)
	q.add(t, "k")
	other.wants(t, "k")
	gets, adds := make(chan error, 1), make(chan error, 1)
	go func() { _, err := other.Get(background); gets <- err }()
	go func() { _, err := other.AddWait(background, "more", nil); adds <- err }()
	other.sleepers(1)
	for !other.hasAdders(1) {
		runtime.Gosched()
	}
	check(t, other.Close())
	is(t, <-gets, ErrClosed)
	is(t, <-adds, ErrClosed)
	// The duplicate still has the handle.
	q.wantsNone(t)
	again, err := FromFile(file)
	check(t, err)
	check(t, file.Close())
	done(t, Requeued)(func() (DoneResult, error) { _, _ = again.Add("k"); return again.DoneKey("k") }())
	again.wants(t, "k")
	check(t, again.Close())
	if item := q.wants(t, "k"); item.Abandoned != 1 {
		t.Error(item.Abandoned)
	}
}

// Q5: no context that ends loses a wake-up.
func TestDeviceCancel(t *testing.T) {
	const items, goroutines = 3000, 16
	q := newQueue(t, nil)
	var got int64
	all, stop := context.WithCancel(background)
	defer stop()
	var wg sync.WaitGroup
	for i := 0; i < goroutines; i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			for n := 0; all.Err() == nil; n++ {
				ctx, cancel := context.WithCancel(all)
				if i > 0 {
					ctx, cancel = context.WithTimeout(all, time.Duration((n*i)%300)*time.Microsecond)
				}
				item, err := q.Get(ctx)
				cancel()
				if err != nil {
					continue
				}
				if _, err := item.Done(); err != nil {
					t.Error(err)
				}
				if atomic.AddInt64(&got, 1) == items {
					stop()
				}
			}
		}(i)
	}
	for i := 0; i < items; i++ {
		q.add(t, fmt.Sprint(i))
	}
	wg.Wait()
	if got != items {
		t.Errorf("%d of %d items", got, items)
	}
}

func threads(t *testing.T) int {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	check(t, err)
	return len(tasks)
}

// G1: ten thousand goroutines wait and take no threads.
func TestDeviceTenThousand(t *testing.T) {
	const goroutines = 10000
	q := newQueue(t, nil)
	keys := make(chan string, goroutines)
	for i := 0; i < goroutines; i++ {
		go func() {
			key := ""
			item, err := q.Get(background)
			if err == nil {
				key = item.Key
				_, err = item.Done()
			}
			if err != nil {
				t.Error(err)
			}
			// The test may end when it has all keys.
			keys <- key
		}()
	}
	q.sleepers(goroutines)
	if n := threads(t); n >= 50 {
		t.Errorf("%d threads", n)
	}
	entries := make([]Entry, goroutines)
	for i := range entries {
		entries[i].Key = fmt.Sprint(i)
	}
	check(t, q.AddMany(entries))
	seen := map[string]bool{}
	for range entries {
		seen[<-keys] = true
	}
	if len(seen) != goroutines {
		t.Errorf("%d keys", len(seen))
	}
	if n := threads(t); n >= 50 {
		t.Errorf("%d threads at the end", n)
	}
}

// G1: goroutines wait for different queues.
func TestDeviceManyHandles(t *testing.T) {
	const handles = 100
	got := make(chan string, handles)
	var queues []*Queue
	for i := 0; i < handles; i++ {
		q := newQueue(t, nil)
		queues = append(queues, q)
		go func() {
			item, err := q.Get(background)
			if err != nil {
				t.Error(err)
				return
			}
			got <- item.Key
		}()
		q.sleepers(1)
	}
	for i, q := range queues {
		q.add(t, fmt.Sprint(i))
		if key := <-got; key != fmt.Sprint(i) {
			t.Fatal(i, key)
		}
	}
}

// O1: the item of a killed process comes back. U2: a descriptor is passed on.
func TestDeviceKilledHolder(t *testing.T) {
	q := newQueue(t, nil)
	own, err := q.Reopen(RightRead)
	check(t, err)
	file, err := own.File()
	check(t, err)
	check(t, own.Close())
	holder := startChild(t, "hold", "", file)
	check(t, file.Close())
	q.add(t, "k")
	if line := holder.line(); line != "k <nil>" {
		t.Fatal(line)
	}
	got := make(chan *Item, 1)
	go func() {
		item, err := q.Get(background)
		if err != nil {
			t.Error(err)
		}
		got <- item
	}()
	q.sleepers(1)
	listed, err := q.Find("k")
	check(t, err)
	if listed.PID != holder.Process.Pid {
		t.Errorf("%d holds it, not %d", listed.PID, holder.Process.Pid)
	}
	check(t, holder.Process.Kill())
	if item := <-got; item.Key != "k" || item.Abandoned != 1 {
		t.Errorf("%+v", item)
	}
	_ = holder.Wait()
}

// Q3: two processes share a queue, and no key is handed out twice.
func TestDeviceTwoProcesses(t *testing.T) {
	device(t)
	const keys = 500
	name := fmt.Sprintf("go-work-%d", os.Getpid())
	q, err := Create(name, nil)
	check(t, err)
	defer q.Close()
	defer func() { _ = Unlink(name) }()
	workers := []*child{startChild(t, "work", name), startChild(t, "work", name)}
	for i := 0; i < keys; i++ {
		q.add(t, fmt.Sprint(i))
	}
	check(t, q.ShutDownWithDrain(background))
	seen := map[string]int{}
	for _, worker := range workers {
		for worker.out.Scan() {
			seen[worker.out.Text()]++
		}
		check(t, worker.Wait())
	}
	for i := 0; i < keys; i++ {
		if seen[fmt.Sprint(i)] != 1 {
			t.Errorf("%d was handed out %d times", i, seen[fmt.Sprint(i)])
		}
	}
	if len(seen) != keys {
		t.Errorf("%d keys: %v", len(seen), seen)
	}
}

// A context that has ended gets nothing, and finishes what it has.
func TestDeviceEndedContext(t *testing.T) {
	q := newQueue(t, nil)
	q.add(t, "a", "b")
	ended, cancel := context.WithCancel(background)
	cancel()
	_, err := q.Get(ended)
	is(t, err, context.Canceled)
	_, err = q.GetMany(ended, 2)
	is(t, err, context.Canceled)
	err = q.AddManyWait(ended, []Entry{{Key: "c"}})
	is(t, err, context.Canceled)
	item := q.wants(t, "a")
	next, result, err := item.DoneAndGet(ended)
	is(t, err, context.Canceled)
	if next != nil || result != Finished {
		t.Fatal(next, result)
	}
	_, _, err = item.DoneAndGet(ended)
	is(t, err, ErrStale)
	item = q.wants(t, "b")
	ctx, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	_, result, err = item.DoneAndGet(ctx)
	is(t, err, context.DeadlineExceeded)
	if result != Finished {
		t.Fatal(result)
	}
	q.add(t, "c")
	item = q.wants(t, "c")
	check(t, q.ShutDown())
	_, result, err = item.DoneAndGet(background)
	is(t, err, ErrShutDown)
	if result != Finished {
		t.Fatal(result)
	}
}

// O4: a module that lacks something is an error.
func TestDeviceNotAQueue(t *testing.T) {
	device(t)
	f, err := os.OpenFile(devicePath, os.O_RDWR, 0)
	check(t, err)
	defer f.Close()
	_, err = FromFile(f)
	is(t, err, syscall.ENOTTY)
	_, err = New(&CreateOptions{MaxItems: 1 << 62})
	is(t, err, ErrInvalid)
}

// onBoard adds the key until the handle looks at the board, and the key is on it.
func onBoard(t *testing.T, q *Queue, key string, want AddResult) {
	t.Helper()
	for i := 0; i < boardCoalesced+2; i++ {
		if result, err := q.Add(key); i > 0 && result != want || err != nil {
			t.Fatalf("%v, %v; wanted %v", result, err, want)
		}
	}
	if _, found := q.look(key); !found {
		t.Fatalf("%q is not on the board", key)
	}
}

// Q2: an add of a key on the board needs no call, and has the result of the call. Nothing is on the board that is not dirty.
func TestDeviceBoard(t *testing.T) {
	q := newQueue(t, nil)
	for _, key := range []string{"a", "12345678", "123456789", strings.Repeat("x", boardKeyMax)} {
		onBoard(t, q, key, Coalesced)
		item, err := q.TryGet()
		if err != nil || item.Key != key {
			t.Fatalf("%v, %v", item, err)
		}
		if result, err := q.Add(key); result != Dirtied || err != nil {
			t.Errorf("an add during the work: %v, %v", result, err)
		}
		onBoard(t, q, key, Dirty)
		if result, err := item.Done(); result != Requeued || err != nil {
			t.Errorf("%v, %v", result, err)
		}
		if result, err := q.Add(key); result != Coalesced || err != nil {
			t.Errorf("an add of a key that is ready again: %v, %v", result, err)
		}
		onBoard(t, q, key, Coalesced)
		if _, err := q.Remove(key); err != nil {
			t.Fatal(err)
		}
		if result, err := q.Add(key); result != Added || err != nil {
			t.Errorf("an add of a removed key: %v, %v", result, err)
		}
		if _, err := q.Remove(key); err != nil {
			t.Fatal(err)
		}
	}
	st, err := q.Stat()
	if err != nil || st.Posted == 0 {
		t.Errorf("%+v, %v", st, err)
	}
	long := strings.Repeat("x", boardKeyMax+1)
	for i := 0; i < 3; i++ {
		if _, err := q.Add(long); err != nil {
			t.Error(err)
		}
	}
	onBoard(t, q, "a", Coalesced)
	// Some versions of Go allocate memory for the barrier of a look.
	looks := testing.AllocsPerRun(100, func() { q.look("a") })
	key := []byte("a")
	if n := testing.AllocsPerRun(100, func() {
		if result, err := q.AddBytes(key); result != Coalesced || err != nil {
			t.Errorf("an add of a key in a buffer: %v, %v", result, err)
		}
	}); n != looks {
		t.Errorf("an add of a key in a buffer made %v allocations, and a look %v", n, looks)
	}
	if result, err := q.AddBytes([]byte("new")); result != Added || err != nil {
		t.Errorf("an add of a new key in a buffer: %v, %v", result, err)
	}
	// Q8
	if err := q.ShutDown(); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Add("a"); !errors.Is(err, ErrShutDown) {
		t.Errorf("an add after a shut down: %v", err)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Add("a"); !errors.Is(err, ErrClosed) {
		t.Errorf("an add after Close: %v", err)
	}
}

// A handle that looks in vain stops.
func TestDeviceBoardInVain(t *testing.T) {
	q := newQueue(t, nil)
	onBoard(t, q, "a", Coalesced)
	for i := 0; i < boardLooks; i++ {
		if _, err := q.Add(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if q.board.looking != 0 {
		t.Error("it still looks")
	}
	onBoard(t, q, "a", Coalesced)
}

// Q4: no add is lost, whoever answered it. Each add follows a change of the world, and the worker sees the last one.
func TestDeviceBoardLosesNoAdd(t *testing.T) {
	const adders, adds = 4, 20000
	q := newQueue(t, nil)
	var world, seen int64
	var wg sync.WaitGroup
	for i := 0; i < adders; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := 0; j < adds; j++ {
				atomic.AddInt64(&world, 1)
				if _, err := q.Add("a"); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	for seen < adders*adds {
		item, err := q.Get(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		seen = atomic.LoadInt64(&world)
		if _, err := item.Done(); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	if st, err := q.Stat(); err != nil || st.Posted == 0 {
		t.Errorf("the board answered nothing: %+v, %v", st, err)
	}
}

// M1: a queue without durations.
func TestDeviceNoDurations(t *testing.T) {
	q := newQueue(t, &CreateOptions{NoDurations: true})
	if _, err := q.Add("a"); err != nil {
		t.Fatal(err)
	}
	item, err := q.TryGet()
	if err == nil {
		_, err = item.Done()
	}
	if err != nil {
		t.Fatal(err)
	}
	st, err := q.Stat()
	if err != nil || !st.NoDurations || st.Gets != 1 || st.QueueDuration != (Histogram{}) || st.WorkDuration != (Histogram{}) {
		t.Errorf("%+v, %v", st, err)
	}
	check(t, q.Close())
	q = newQueue(t, &CreateOptions{NoDurations: true, Clock: ClockManual})
	added(t, Added)(q.Add("dead"))
	done(t, Buried)(q.wants(t, "dead").Bury())
	added(t, Added)(q.Add("held"))
	q.wants(t, "held")
	added(t, Added)(q.Add("ready"))
	added(t, Waiting)(q.AddWith("later", &AddOptions{Delay: time.Hour}))
	check(t, q.Advance(5))
	ages := map[string][4]time.Duration{
		"dead": {0, 0, 0, AgeUnknown}, "held": {0, AgeUnknown, 0, 0}, "ready": {AgeUnknown, 0, 0, 0}, "later": {0, 0, 5, 0},
	}
	var list []*Listed
	check(t, q.List(AllStates, func(l *Listed) error { list = append(list, l); return nil }))
	for _, l := range list {
		if got := [4]time.Duration{l.DirtyFor, l.ProcessingFor, l.WaitingFor, l.DeadFor}; got != ages[l.Key] {
			t.Error(l.Key, got)
		}
	}

	// U8: they stay unknown there, and count from the restore elsewhere.
	for _, to := range []*CreateOptions{{NoDurations: true, Clock: ClockManual}, {Clock: ClockManual}} {
		q := newQueue(t, to)
		_, err := q.Restore(list)
		check(t, err)
		check(t, q.Advance(7))
		want := AgeUnknown
		if !to.NoDurations {
			want = 7
		}
		for key, got := range map[string]func(*Listed) time.Duration{
			"dead": func(l *Listed) time.Duration { return l.DeadFor }, "ready": func(l *Listed) time.Duration { return l.DirtyFor },
		} {
			if l, err := q.Find(key); err != nil || got(l) != want {
				t.Error(key, l, err)
			}
		}
	}
	if _, err := New(&CreateOptions{NoDurations: true, Lease: time.Second}); !errors.Is(err, ErrInvalid) {
		t.Errorf("with a lease: %v", err)
	}
}

// changed reads the keys that have changed, as "key:state" in order.
func (f *Follower) changed(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(background, time.Minute)
	defer cancel()
	changes, err := f.Changes(ctx)
	check(t, err)
	var keys []string
	for _, l := range changes.Keys {
		keys = append(keys, l.Key+":"+l.State.String())
	}
	return strings.Join(keys, " ")
}

func (f *Follower) wants(t *testing.T, want string) {
	t.Helper()
	if got := f.changed(t); got != want {
		t.Fatalf("got %q, wanted %q", got, want)
	}
}

// N8: a follower reads the keys that have changed.
func TestDeviceChanges(t *testing.T) {
	q := newQueue(t, &CreateOptions{Changes: true, Values: true, Groups: true})
	worker, err := q.Reopen(0)
	check(t, err)
	defer worker.Close()
	f, err := q.Follow()
	check(t, err)
	_, err = worker.Follow()
	is(t, err, ErrFollowed)
	is(t, err, syscall.EBUSY)
	st, err := q.Stat()
	check(t, err)
	if !st.HasChanges || st.HasSync || st.ID == 0 || !st.Followed || st.LastChange == 0 || st.Getters != 0 {
		t.Errorf("%+v", st)
	}

	changes, err := f.Changes(background)
	check(t, err)
	if len(changes.Keys) != 0 || !changes.OfQueue || changes.Number != st.LastChange {
		t.Errorf("%+v", changes)
	}
	worker.add(t, "a", "b")
	f.wants(t, "a:ready b:ready")
	item := worker.wants(t, "a")
	worker.add(t, "a")
	f.wants(t, "a:processing, dirty")
	_, err = worker.Remove("b")
	check(t, err)
	f.wants(t, "b:")
	f.Again()
	done(t, Requeued)(item.Done())
	f.wants(t, "b: a:ready")
	check(t, worker.Pause())
	changes, err = f.Changes(background)
	check(t, err)
	if len(changes.Keys) != 0 || !changes.OfQueue {
		t.Errorf("%+v", changes)
	}
	_, err = worker.AddWith("v", &AddOptions{Value: make([]byte, ValueMax), Note: make([]byte, NoteMax), Group: Group("g")})
	check(t, err)
	changes, err = f.ChangesWithValues(background)
	check(t, err)
	if len(changes.Keys) != 1 || len(changes.Keys[0].Value) != ValueMax || len(changes.Keys[0].Note) != NoteMax ||
		changes.Keys[0].Group != "g" || changes.OfQueue || changes.Keys[0].Change != changes.Number {
		t.Errorf("%+v", changes)
	}
	check(t, worker.AddMany([]Entry{{Key: "w", AddOptions: AddOptions{Note: []byte("1")}},
		{Key: "x", AddOptions: AddOptions{Note: []byte("22")}}}))
	changes, err = f.ChangesWithValues(background)
	check(t, err)
	if len(changes.Keys) != 2 || string(changes.Keys[0].Note) != "1" || string(changes.Keys[1].Note) != "22" {
		t.Errorf("%+v", changes)
	}
	_, err = worker.AddWith("w", &AddOptions{Note: []byte("333")})
	check(t, err)
	changes, err = f.Changes(background)
	check(t, err)
	if len(changes.Keys) != 1 || changes.Keys[0].Note != nil || changes.Keys[0].NoteLen != 3 {
		t.Errorf("%+v", changes)
	}
	ctx, cancel := context.WithCancel(background)
	cancel()
	_, err = f.Changes(ctx)
	is(t, err, context.Canceled)

	_, err = newQueue(t, nil).Follow()
	is(t, err, ErrUnsupported)
	reader, err := q.Reopen(RightRead)
	check(t, err)
	defer reader.Close()
	_, err = reader.Follow()
	is(t, err, ErrRights)
	_, err = New(&CreateOptions{Sync: true})
	is(t, err, ErrInvalid)
}

// waitsForNews returns once a goroutine waits for changes.
func (q *Queue) waitsForNews() {
	for {
		q.news.mu.Lock()
		armed := q.news.armed
		q.news.mu.Unlock()
		if armed {
			return
		}
		runtime.Gosched()
	}
}

// N8, G1: a goroutine that waits for changes takes no thread.
func TestDeviceChangesWait(t *testing.T) {
	const queues = 100
	type result struct {
		changes *Changes
		err     error
	}
	var all []*Queue
	results := make(chan result, queues)
	read := func(f *Follower, ctx context.Context) {
		changes, err := f.Changes(ctx)
		results <- result{changes, err}
	}
	ctx, cancel := context.WithCancel(background)
	var followers []*Follower
	for i := 0; i < queues; i++ {
		q := newQueue(t, &CreateOptions{Changes: true})
		f, err := q.Follow()
		check(t, err)
		_ = f.changed(t)
		go read(f, ctx)
		q.waitsForNews()
		all, followers = append(all, q), append(followers, f)
	}
	if n := threads(t); n >= 50 {
		t.Errorf("%d threads", n)
	}
	_, err := followers[0].Changes(background)
	is(t, err, syscall.EBUSY)
	for _, q := range all[1:] {
		q.add(t, "a")
	}
	for range all[1:] {
		if r := <-results; r.err != nil || len(r.changes.Keys) != 1 || r.changes.Keys[0].Key != "a" {
			t.Fatalf("%+v", r)
		}
	}
	cancel()
	is(t, (<-results).err, context.Canceled)
	// A cancelled wait loses nothing.
	all[0].add(t, "b")
	followers[0].wants(t, "b:ready")
	go read(followers[0], background)
	all[0].waitsForNews()
	check(t, all[0].Close())
	is(t, (<-results).err, ErrClosed)
	_, err = followers[0].Changes(background)
	is(t, err, ErrClosed)
}

// keep says that all changes up to a number are kept. Nothing else may have changed. It tells the queue by a read that does not wait,
// since a read whose context ends early may not reach the queue.
func (f *Follower) keep(t *testing.T, number uint64) {
	t.Helper()
	f.Keep(number)
	_, errno, _ := f.try()
	is(t, errno, syscall.EAGAIN)
}

// N8: Sync waits until the follower has kept all changes.
func TestDeviceSync(t *testing.T) {
	q := newQueue(t, &CreateOptions{Changes: true})
	worker, err := q.Reopen(0)
	check(t, err)
	is(t, newQueue(t, nil).Sync(background), ErrUnsupported)
	f, err := q.Follow()
	check(t, err)
	keep := func() {
		changes, err := f.Changes(background)
		check(t, err)
		f.keep(t, changes.Number)
	}
	keep()
	check(t, worker.Sync(background))
	begin := func(ctx context.Context) chan error {
		ended := make(chan error, 1)
		go func() { ended <- worker.Sync(ctx) }()
		for {
			worker.waits.mu.Lock()
			n := len(worker.waits.set)
			worker.waits.mu.Unlock()
			if n > 0 {
				return ended
			}
			runtime.Gosched()
		}
	}
	worker.add(t, "a")
	ctx, cancel := context.WithCancel(background)
	ended := begin(ctx)
	cancel()
	is(t, <-ended, context.Canceled)
	is(t, worker.Sync(ctx), context.Canceled)
	for {
		// The thread of that wait may not have ended.
		worker.waits.mu.Lock()
		n := len(worker.waits.set)
		worker.waits.mu.Unlock()
		if n == 0 {
			break
		}
		runtime.Gosched()
	}
	ended = begin(background)
	// Many signals interrupt the wait.
	for i := 0; i < 100; i++ {
		check(t, syscall.Kill(os.Getpid(), syscall.SIGURG))
		runtime.GC()
	}
	keep()
	check(t, <-ended)
	worker.add(t, "b")
	ended = begin(background)
	check(t, worker.Close())
	is(t, <-ended, ErrClosed)
	is(t, worker.Sync(background), ErrClosed)

	// An add that waits until its change is kept leaves Go's only processor to the follower.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	q = newQueue(t, &CreateOptions{Changes: true, Sync: true})
	worker, err = q.Reopen(0)
	check(t, err)
	defer worker.Close()
	f, err = q.Follow()
	check(t, err)
	f.Keep(f.next)
	// The follower's own handle does not wait for itself.
	q.add(t, "own")
	for f.changed(t) != "own:ready" {
	}
	added := make(chan error, 1)
	go func() { _, err := worker.Add("a"); added <- err }()
	f.wants(t, "a:ready")
	if len(added) != 0 {
		t.Error("an add returned before its change was kept")
	}
	changes := f.next
	f.keep(t, changes)
	check(t, <-added)
	q.add(t, "more")
	if st, err := q.Stat(); err != nil || !st.HasSync || st.Kept != changes || st.Unread == 0 {
		t.Errorf("%+v, %v", st, err)
	}
}

// N3: the adds of a queue go to its outbox, and a manager puts keys in, with tokens.
func TestDeviceOutbox(t *testing.T) {
	outbox := newQueue(t, &CreateOptions{Changes: true})
	q := newQueue(t, &CreateOptions{Changes: true, Outbox: outbox})
	st, err := q.Stat()
	check(t, err)
	if !st.HasOutbox || !st.HasChanges {
		t.Errorf("%+v", st)
	}
	f, err := outbox.Follow()
	check(t, err)
	q.add(t, "a")
	_, err = q.TryGet()
	is(t, err, ErrEmpty)
	f.Changes(background) // of the queue itself
	l, err := outbox.Find("a")
	check(t, err)
	results, err := q.Restore([]*Listed{{Key: "a", State: IsReady, Token: 1 << 63}})
	check(t, err)
	if results[0] != Restored {
		t.Error(results)
	}

	// An add that the manager does not know keeps the key in the outbox.
	_, err = q.Add("a")
	check(t, err)
	_, err = outbox.RemoveWith("a", RemoveOptions{Unchanged: true, Change: l.Change})
	is(t, err, ErrChanged)
	is(t, err, syscall.ESTALE)
	changes, err := f.Changes(background)
	check(t, err)
	if len(changes.Keys) != 1 {
		t.Fatalf("%+v", changes)
	}
	_, err = outbox.RemoveWith("a", RemoveOptions{Unchanged: true, Change: changes.Keys[0].Change})
	check(t, err)
	_, err = outbox.RemoveWith("a", RemoveOptions{Change: 1})
	is(t, err, ErrInvalid)
	_, err = outbox.RemoveWith("a", RemoveOptions{Revoke: true})
	is(t, err, ErrNotFound)
	_, err = newQueue(t, nil).RemoveWith("a", RemoveOptions{Unchanged: true})
	is(t, err, ErrUnsupported)

	item := q.wants(t, "a")
	if item.Token != 1<<63 {
		t.Error(item.Token)
	}
	l, err = q.Find("a")
	check(t, err)
	if l.Token != 1<<63 {
		t.Errorf("%+v", l)
	}
	state, err := q.RemoveWith("a", RemoveOptions{Revoke: true})
	check(t, err)
	if state != IsProcessing {
		t.Error(state)
	}
	_, err = item.Done()
	is(t, err, ErrStale)
	is(t, item.Extend(), ErrStale)

	// Q11: a forget is for the outbox, and a remove for the queue.
	_, err = q.Restore([]*Listed{{Key: "a", State: IsRemembered, Requeues: 2}})
	check(t, err)
	if n, err := q.Forget("a"); n != 0 || err != nil {
		t.Error(n, err)
	}
	if was, err := q.Remove("a"); was != IsRemembered || err != nil {
		t.Error(was, err)
	}
	_, err = q.Find("a")
	is(t, err, ErrNotFound)

	_, err = New(&CreateOptions{Outbox: q})
	is(t, err, ErrInvalid)
	_, err = New(&CreateOptions{Outbox: outbox, Clock: ClockManual})
	is(t, err, ErrInvalid)
	reader, err := outbox.Reopen(RightRead)
	check(t, err)
	_, err = New(&CreateOptions{Outbox: reader})
	is(t, err, ErrRights)
	check(t, reader.Close())
	_, err = New(&CreateOptions{Outbox: reader})
	is(t, err, ErrClosed)
	_, err = newQueue(t, nil).Restore([]*Listed{{Key: "a", State: IsReady, Token: 1}})
	is(t, err, ErrUnsupported)
	// Such a queue has no board.
	q.add(t, "b", "b", "b", "b", "b", "b")
	if st, err = outbox.Stat(); err != nil || st.Ready != 1 || st.Posted != 0 {
		t.Errorf("%+v %v", st, err)
	}
}
