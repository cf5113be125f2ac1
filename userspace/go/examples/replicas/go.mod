// This example is a module of its own, so that kwq's module needs no other one.
module kwq.example/kwq/examples/replicas

go 1.26.0

require (
	github.com/go-logr/logr v1.4.3
	k8s.io/api v0.36.0
	k8s.io/apimachinery v0.36.0
	k8s.io/client-go v0.36.0
	kwq.example/kwq v0.0.0
	sigs.k8s.io/controller-runtime v0.24.1
)

replace kwq.example/kwq => ../..
