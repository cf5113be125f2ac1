// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

// Command replicas is a controller of controller-runtime, whose two replicas share one queue of kwq, and of which one is killed.
//
//	replicas [QUEUE]
//
// It needs no Kubernetes: each replica has a fake client with the same objects, as each replica of a real controller has a cache of
// its own. The replicas begin with an initial list of them, whose requests have controller-runtime's low priority, and then a user
// changes one object. It then comes next, while the objects that both replicas list run once. The object that the killed replica
// had runs in the other one.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kwq.example/kwq"
	"kwq.example/kwq/workqueue"
)

const (
	objects = 30
	// How long a run takes.
	work = 100 * time.Millisecond
	// When the user changes an object, and when a replica is killed.
	change = 5 * work
	kill   = 8 * work
)

func main() {
	log.SetFlags(0)
	crlog.SetLogger(logr.Discard())
	var err error
	switch {
	case len(os.Args) == 4 && os.Args[1] == "replica":
		err = replica(os.Args[2], os.Args[3])
	case len(os.Args) == 2:
		err = show(os.Args[1])
	default:
		err = show(fmt.Sprintf("replicas-%d", os.Getpid()))
	}
	if err != nil {
		log.Fatal(err)
	}
}

// show runs two replicas, and kills one.
func show(queue string) error {
	// The queue is here before the replicas, so it can be looked at until the end.
	q, err := kwq.Create(queue, &kwq.CreateOptions{Values: true})
	if err != nil {
		return err
	}
	defer kwq.Unlink(queue)
	var replicas [2]*exec.Cmd
	for i := range replicas {
		replicas[i] = exec.Command(os.Args[0], "replica", queue, fmt.Sprint(i+1))
		replicas[i].Stdout, replicas[i].Stderr = os.Stdout, os.Stderr
		if err := replicas[i].Start(); err != nil {
			return err
		}
		defer replicas[i].Wait()
		defer replicas[i].Process.Kill()
	}
	if err := adds(q, 2*objects); err != nil {
		return err
	}
	time.Sleep(kill)
	fmt.Println("replica 1 is killed")
	replicas[0].Process.Kill()
	for {
		stat, err := q.Stat()
		if err != nil {
			return err
		}
		if stat.Ready+stat.Waiting+stat.Processing == 0 {
			fmt.Printf("%d objects: %d adds, %d more of requests that were there already, %d runs, of which %d ended with its replica\n",
				objects, stat.Adds, stat.Coalesced+stat.Posted, stat.Gets, stat.Abandoned)
			return nil
		}
		time.Sleep(work)
	}
}

// adds waits until the replicas have added what they list.
func adds(q *kwq.Queue, wanted uint64) error {
	for {
		stat, err := q.Stat()
		if err != nil || stat.Adds+stat.Coalesced+stat.Posted >= wanted {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// replica is one process of the controller, as a real one would be.
func replica(queue, name string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cluster := newCluster()
	options := controller.Options{
		Reconciler: &reconciler{client: cluster, queue: queue, replica: name},
	}
	// The line that makes the queue one of kwq.
	options.NewQueue = workqueue.NewPriorityQueue[priorityqueue.AddOpts]
	c, err := controller.NewUnmanaged(queue, options)
	if err != nil {
		return err
	}
	if err := c.Watch(source.Func(func(ctx context.Context, q clientgo.TypedRateLimitingInterface[reconcile.Request]) error {
		if err := listAndWatch(ctx, cluster, q); err != nil {
			return err
		}
		if name == "2" {
			go changeOne(ctx, cluster)
		}
		return nil
	})); err != nil {
		return err
	}
	return c.Start(ctx)
}

// newCluster returns a client whose objects exist in this process alone.
func newCluster() client.WithWatch {
	cluster := fake.NewClientBuilder()
	for i := 0; i < objects; i++ {
		cluster.WithObjects(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("map-%02d", i)}})
	}
	return cluster.Build()
}

// listAndWatch does what an informer does: it reports the objects that there are, and then each change.
func listAndWatch(ctx context.Context, cluster client.WithWatch, q clientgo.TypedRateLimitingInterface[reconcile.Request]) error {
	// controller-runtime wraps the handlers of its own sources in this, too.
	events := handler.WithLowPriorityWhenUnchanged(&handler.EnqueueRequestForObject{})
	var list corev1.ConfigMapList
	if err := cluster.List(ctx, &list); err != nil {
		return err
	}
	known := map[string]*corev1.ConfigMap{}
	for i := range list.Items {
		known[list.Items[i].Name] = &list.Items[i]
		events.Create(ctx, event.CreateEvent{Object: &list.Items[i], IsInInitialList: true}, q)
	}
	changes, err := cluster.Watch(ctx, &list)
	if err != nil {
		return err
	}
	go func() {
		for change := range changes.ResultChan() {
			if object, ok := change.Object.(*corev1.ConfigMap); ok && change.Type == watch.Modified {
				events.Update(ctx, event.UpdateEvent{ObjectOld: known[object.Name], ObjectNew: object}, q)
				known[object.Name] = object
			}
		}
	}()
	return nil
}

// changeOne is the user, who changes the last object of the list.
func changeOne(ctx context.Context, cluster client.Client) {
	time.Sleep(change)
	last := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("map-%02d", objects-1)}}
	err := cluster.Get(ctx, client.ObjectKeyFromObject(last), last)
	if err == nil {
		last.Data = map[string]string{"changed": "by the user"}
		fmt.Println("a user changes", last.Name)
		err = cluster.Update(ctx, last)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		log.Print(err)
	}
}

type reconciler struct {
	client  client.Client
	queue   string
	replica string
	runs    int
}

// Reconcile reads the object and works for a while.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var object corev1.ConfigMap
	if err := r.client.Get(ctx, request.NamespacedName, &object); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	r.runs++
	held := workqueue.Holding(r.queue, request)
	note := ""
	if held.Abandoned > 0 {
		note = ", which a replica had that died"
	}
	fmt.Printf("replica %s, run %2d: %s, level %d%s\n", r.replica, r.runs, request, held.Priority, note)
	time.Sleep(work)
	return reconcile.Result{}, nil
}
