// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

// Command checksums keeps a checksum for each file of a folder: a controller without Kubernetes.
//
//	checksums QUEUE FOLDER CHECKSUMS
//
// It watches FOLDER, and writes the SHA-256 of each file NAME to CHECKSUMS/NAME.sha256. Several of them can share QUEUE.
// If one is killed, the others get its files. With client-go's import in place of kwq's it works alone.
package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"kwq.example/kwq/workqueue"
)

const (
	workers = 2
	suffix  = ".sha256"
)

type controller struct {
	queue     workqueue.TypedRateLimitingInterface[string]
	folder    string
	checksums string
}

// reconcile makes the checksum of a file right, whatever has happened to the file.
func (c *controller) reconcile(name string) error {
	// Any process may add a key. Only names of files are for this one.
	if filepath.Base(name) != name || name == "." || name == ".." {
		return nil
	}
	sum := filepath.Join(c.checksums, name+suffix)
	data, err := os.ReadFile(filepath.Join(c.folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		err = os.Remove(sum)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if err != nil {
		return err
	}
	// A reader sees the old checksum or the new one. No other worker has this name now, so the part needs no name of its own.
	part := filepath.Join(c.checksums, name+".part")
	if err := os.WriteFile(part, []byte(fmt.Sprintf("%x\n", sha256.Sum256(data))), 0o644); err != nil {
		return err
	}
	return os.Rename(part, sum)
}

func (c *controller) processNextItem() bool {
	name, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(name)
	if err := c.reconcile(name); err != nil {
		log.Printf("%s, try %d: %v", name, c.queue.NumRequeues(name)+1, err)
		c.queue.AddRateLimited(name)
		return true
	}
	c.queue.Forget(name)
	return true
}

// addAll adds all files, and those of all checksums, because a file may be gone.
func (c *controller) addAll() error {
	files, err := os.ReadDir(c.folder)
	if err != nil {
		return err
	}
	for _, file := range files {
		if file.Type().IsRegular() {
			c.queue.Add(file.Name())
		}
	}
	checksums, err := os.ReadDir(c.checksums)
	if err != nil {
		return err
	}
	for _, checksum := range checksums {
		if name := strings.TrimSuffix(checksum.Name(), suffix); name != checksum.Name() {
			c.queue.Add(name)
		}
	}
	return nil
}

// watch adds the files that change. The events begin before the list, so that no change is missed.
func (c *controller) watch() error {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC)
	if err != nil {
		return err
	}
	const mask = syscall.IN_CLOSE_WRITE | syscall.IN_MOVED_FROM | syscall.IN_MOVED_TO | syscall.IN_DELETE | syscall.IN_ONLYDIR
	if _, err := syscall.InotifyAddWatch(fd, c.folder, mask); err != nil {
		return fmt.Errorf("%s: %w", c.folder, err)
	}
	if err := c.addAll(); err != nil {
		return err
	}
	fmt.Println("watching")
	buffer := make([]byte, 65536)
	for {
		n, err := syscall.Read(fd, buffer)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		for at := 0; at < n; {
			event := (*syscall.InotifyEvent)(unsafe.Pointer(&buffer[at]))
			name := buffer[at+syscall.SizeofInotifyEvent:][:event.Len]
			at += syscall.SizeofInotifyEvent + int(event.Len)
			if event.Mask&syscall.IN_Q_OVERFLOW != 0 {
				if err := c.addAll(); err != nil {
					return err
				}
			} else if event.Mask&syscall.IN_ISDIR == 0 && len(name) > 0 {
				c.queue.Add(strings.TrimRight(string(name), "\x00"))
			}
		}
	}
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: checksums QUEUE FOLDER CHECKSUMS")
	}
	c := &controller{
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.DefaultTypedControllerRateLimiter[string](),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: os.Args[1]},
		),
		folder:    os.Args[2],
		checksums: os.Args[3],
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		if err := c.watch(); err != nil {
			log.Fatal(err)
		}
	}()
	var group sync.WaitGroup
	for i := 0; i < workers; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for c.processNextItem() {
			}
		}()
	}
	<-stop
	c.queue.ShutDownWithDrain()
	group.Wait()
}
