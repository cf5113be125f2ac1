// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

// The board of a queue: adds that coalesce, without a call of the kernel. See struct kwq_board in linux/kwq.h.
//
// A handle begins to look at the board when adds through it have coalesced. Then it maps the board. It stops after many looks in
// vain, and begins again when adds have coalesced again. So a handle whose adds never coalesce pays nothing.
//
// The lock of the queue is held for reading during a look, so that Close does not unmap the board under it.
const (
	// How many adds have to coalesce before the handle looks at the board.
	boardCoalesced = 16
	// After so many looks in vain without a hit in between, it stops.
	boardLooks = 64
	// The kernel is told of so many adds at once.
	boardUntold = 1024

	boardWords  = boardKeyMax / 8
	boardFactor = 0x9e3779b97f4a7c15
)

type board struct {
	memory  unsafe.Pointer // *boardABI; nil until it is mapped, and after Close
	mapped  []byte         // the same, for munmap
	looking uint32         // 1 while adds look
	looks   int32          // looks in vain that are left
	until   int32          // adds that have to coalesce before the handle looks; 0: it asks for no board
	untold  atomic.Uint64  // adds that the board answered, and of which the kernel was not told
}

// A packedKey is a key in words, as it is compared with a slot.
type packedKey struct {
	words [boardWords]uint64
	nr    int
}

func (p *packedKey) pack(key string) {
	copy((*[boardKeyMax]byte)(unsafe.Pointer(&p.words))[:], key)
	p.nr = (len(key) + 7) / 8
}

func (p *packedKey) hash(seed uint64, length int) uint64 {
	h := seed ^ uint64(length)
	for _, word := range p.words[:p.nr] {
		h = (h ^ word) * boardFactor
		h ^= h >> 32
	}
	return h * boardFactor
}

// look returns what an add of the key results in, if the key is on the board.
func (q *Queue) look(key string) (result AddResult, found bool) {
	b := &q.board
	if atomic.LoadUint32(&b.looking) == 0 || key == "" || len(key) > boardKeyMax {
		return 0, false
	}
	var packed packedKey
	packed.pack(key)
	q.mu.RLock()
	if memory := (*boardABI)(b.memory); memory != nil {
		result, found = memory.look(&packed, len(key))
	}
	q.mu.RUnlock()
	if !found {
		if atomic.AddInt32(&b.looks, -1) <= 0 {
			b.stopLooking()
		}
		return 0, false
	}
	if atomic.LoadInt32(&b.looks) != boardLooks {
		atomic.StoreInt32(&b.looks, boardLooks)
	}
	if b.untold.Add(1) >= boardUntold {
		q.tell()
	}
	return result, true
}

// look takes the steps that struct kwq_board names. An atomic load comes before all that follows it, and an atomic swap is a full
// barrier: sync/atomic promises one order of all atomic operations.
func (m *boardABI) look(key *packedKey, length int) (AddResult, bool) {
	var barrier uint32
	h := key.hash(m.seed, length)
	atomic.SwapUint32(&barrier, 1)
	for _, half := range [...]uint64{h >> 32, h & (1<<32 - 1)} {
		nr := half * uint64(m.nrSlots) >> 32
		slot := (*boardSlot)(unsafe.Add(unsafe.Pointer(m), unsafe.Sizeof(*m)+uintptr(nr)*unsafe.Sizeof(boardSlot{})))
		if result, found := slot.look(key, length); found {
			return result, atomic.LoadUint32(&m.closed) == 0
		}
	}
	return 0, false
}

func (s *boardSlot) look(key *packedKey, length int) (AddResult, bool) {
	seq := atomic.LoadUint32(&s.seq)
	if seq&1 != 0 {
		return 0, false
	}
	// The length and the result are two halves of one word.
	both := atomic.LoadUint32((*uint32)(unsafe.Pointer(&s.len)))
	halves := (*[2]uint16)(unsafe.Pointer(&both))
	if int(halves[0]) != length {
		return 0, false
	}
	for i, word := range key.words[:key.nr] {
		if atomic.LoadUint64(&s.key[i]) != word {
			return 0, false
		}
	}
	return AddResult(halves[1]), atomic.LoadUint32(&s.seq) == seq
}

func (b *board) stopLooking() {
	atomic.StoreUint32(&b.looking, 0)
	atomic.StoreInt32(&b.until, boardCoalesced)
}

// noteAdd counts adds that the kernel coalesced. The last one lets the handle look at the board.
func (q *Queue) noteAdd(key string, result AddResult) {
	b := &q.board
	if result != Coalesced && result != Dirty || len(key) > boardKeyMax || atomic.LoadInt32(&b.until) <= 0 {
		return
	}
	if atomic.AddInt32(&b.until, -1) == 0 && q.mapBoard() {
		atomic.StoreInt32(&b.looks, boardLooks)
		atomic.StoreUint32(&b.looking, 1)
	}
}

// mapBoard maps the board. A handle that gets none, for example from an old module, asks for none any more.
func (q *Queue) mapBoard() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.board.memory != nil || q.fd < 0 {
		return q.board.memory != nil
	}
	args := &boardArgs{openFlags: syscall.O_CLOEXEC}
	args.size = uint32(unsafe.Sizeof(*args))
	fd, errno := ioctl(q.fd, iocBoard, unsafe.Pointer(args))
	if errno != 0 {
		return false
	}
	defer syscall.Close(fd)
	mapped, err := syscall.Mmap(fd, 0, int(args.mapSize), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return false
	}
	q.board.mapped, q.board.memory = mapped, unsafe.Pointer(&mapped[0])
	return true
}

// tell tells the kernel of the adds that the board answered.
func (q *Queue) tell() {
	args := &tellArgs{adds: q.board.untold.Swap(0)}
	args.size = uint32(unsafe.Sizeof(*args))
	if args.adds != 0 {
		q.try(iocTell, unsafe.Pointer(args))
	}
}
