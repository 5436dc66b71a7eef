package main

import (
	"log/slog"

	"github.com/remora-kv/remora/fabric/provider"
)

// providers returns the fabrics of one command. What is chosen where there is a
// choice, such as the adapter, goes to standard error.
func (a *app) providers() *provider.Set {
	set := provider.New()
	set.Log = slog.New(slog.NewTextHandler(a.err, nil))
	return set
}
