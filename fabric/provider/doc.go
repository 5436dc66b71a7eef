// Package provider opens devices by the name of their fabric or by an address,
// so that a command can offer --fabric and a client can dial a URL without
// either of them naming a provider package.
//
// A Set is the collection of providers that one program uses. There is no
// global one: devices on the loop fabric reach each other only when they come
// from the same Set, because the Set holds the network between them.
//
// The names are loop, shm, tcp and rdma (verbs is another name for rdma).
// rdma needs a binary that was built with -tags rdma; any other binary knows
// the name and says so, rather than using something else in its place.
package provider
