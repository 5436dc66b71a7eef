package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/remora-kv/remora/test/rocevm"
)

// common are the flags of every verb that boots.
type common struct {
	config  rocevm.Config
	timeout time.Duration
	accel   string
	files   list
	env     list
}

func newFlags(name string, stderr io.Writer) (*flag.FlagSet, *common) {
	f := flag.NewFlagSet("rocevm "+name, flag.ContinueOnError)
	f.SetOutput(stderr)
	c := &common{}
	f.IntVar(&c.config.Guests, "guests", 1, "how many guests: 1, or 2 on a wire")
	f.IntVar(&c.config.Memory, "memory", 0, "memory of each guest in MiB (default 2048)")
	f.IntVar(&c.config.CPUs, "cpus", 0, "CPUs of each guest (default 2 for one guest, 1 each for two)")
	f.IntVar(&c.config.MTU, "mtu", 0, "MTU of the Ethernet interface (default 1500: RoCE MTU 1024; 4200 gives 4096)")
	f.StringVar(&c.accel, "accel", "auto", "auto, tcg, kvm, or icount: one CPU with a clock that counts instructions")
	f.StringVar(&c.config.CacheDir, "cache", "", "directory for kernel and base image (default: below the user's cache directory)")
	f.DurationVar(&c.timeout, "timeout", 5*time.Minute, "end the programs in the guests after this time")
	f.Var(&c.files, "file", "host:/guest file or directory to add, repeatable; shared libraries come along")
	f.Var(&c.env, "env", "NAME=value for the programs in the guests, repeatable")
	return f, c
}

// boot boots with the flags given and files of the verb's own.
func (c *common) boot(ctx context.Context, stderr io.Writer, files ...rocevm.File) (*rocevm.Cluster, error) {
	c.config.Accel = rocevm.Accel(c.accel)
	c.config.Files = files
	for _, text := range c.files {
		f, err := rocevm.ParseFile(text)
		if err != nil {
			return nil, err
		}
		c.config.Files = append(c.config.Files, f)
	}
	log := logger(stderr)
	c.config.Log = log
	cluster, err := rocevm.Boot(ctx, c.config)
	if err != nil {
		return nil, err
	}
	log("%v", cluster)
	return cluster, nil
}

// deadline bounds what runs in the guests.
func (c *common) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("not over after %v (-timeout)", c.timeout))
}

func logger(w io.Writer) func(string, ...any) {
	return func(format string, args ...any) { fmt.Fprintf(w, "rocevm: "+format+"\n", args...) }
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, " ") }

// Set adds a value.
func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}
