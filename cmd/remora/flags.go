package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// choice is a flag with a few values, checked when it is set.
type choice struct {
	value *string
	of    []string
}

// choose defines such a flag. Its usage names what it chooses; the values are added.
func choose(f *pflag.FlagSet, p *string, name, value, usage string, of ...string) {
	*p = value
	f.Var(choice{p, of}, name, usage)
}

// Set implements pflag.Value.
func (c choice) Set(text string) error {
	if !slices.Contains(c.of, text) {
		return fmt.Errorf("use %s", either(c.of))
	}
	*c.value = text
	return nil
}

// String implements pflag.Value.
func (c choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}

// Type implements pflag.Value. It is what the help shows in place of a value.
func (c choice) Type() string {
	if text := strings.Join(c.of, "|"); len(text) <= 24 {
		return text
	}
	return "NAME"
}

// either writes alternatives: a, b or c.
func either(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// complete tells the shell what the flags of a command take: the values of those that
// have a few, files and directories where the usage says FILE or DIR, else nothing.
func complete(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		what, _ := pflag.UnquoteUsage(f)
		if c, ok := f.Value.(choice); ok {
			completeFrom(cmd, f.Name, c.of...)
		} else if what == "DIR" {
			_ = cmd.MarkFlagDirname(f.Name)
		} else if what != "FILE" && f.Value.Type() != "bool" {
			completeFrom(cmd, f.Name)
		}
	})
}

// completeFrom offers the values of a flag to the shell. In a list, which has commas, it
// completes the last one.
func completeFrom(cmd *cobra.Command, flag string, values ...string) {
	_, list := cmd.Flags().Lookup(flag).Value.(pflag.SliceValue)
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		cut := strings.LastIndexByte(typed, ',') + 1
		if !list || cut == 0 {
			return values, cobra.ShellCompDirectiveNoFileComp
		}
		var out []string
		for _, v := range values {
			out = append(out, typed[:cut]+v)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	})
}

// exclusive refuses a command line with two of the flags.
func exclusive(cmd *cobra.Command, names ...string) error {
	given := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !cmd.Flags().Changed(name) })
	if len(given) > 1 {
		return misuse("--%s and --%s exclude each other", given[0], given[1])
	}
	return nil
}

// needs refuses a flag without one of others, which it has no effect without.
func needs(cmd *cobra.Command, name string, others ...string) error {
	if changed := cmd.Flags().Changed; changed(name) && !slices.ContainsFunc(others, changed) {
		return misuse("--%s has no effect without --%s", name, strings.Join(others, " or --"))
	}
	return nil
}

// elsewhereNeedsListen refuses a server on another host without its address.
func elsewhereNeedsListen(cmd *cobra.Command) error {
	if changed := cmd.Flags().Changed; changed("server-command") && !changed("listen") {
		return misuse("--server-command needs --listen, an address at which this host reaches the server")
	}
	return nil
}

// size is a flag in bytes: 4096, 64KiB, 1.5GiB, 2GB. As everywhere outside of memory chips,
// GB is 1000 MB and GiB 1024 MiB.
type size int64

// Set implements pflag.Value.
func (s *size) Set(text string) error {
	n, err := humanize.ParseBytes(text)
	if err != nil || n > math.MaxInt64 {
		return fmt.Errorf("%q is not a size: write bytes, or a number with KiB, MiB, GiB or TiB", text)
	}
	*s = size(n)
	return nil
}

// String implements pflag.Value.
func (s *size) String() string { return bytesText(int64(*s)) }

// Type implements pflag.Value.
func (*size) Type() string { return "SIZE" }

// bytesText writes a number of bytes with a unit.
func bytesText(n int64) string { return strings.Replace(humanize.IBytes(uint64(n)), ".0 ", " ", 1) }
