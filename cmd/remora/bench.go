package main

import "github.com/spf13/cobra"

func newBenchCmd(a *app) *cobra.Command {
	cmd := newGroup(&cobra.Command{
		Use:   "bench COMMAND",
		Short: "Measure the cache, calls, verbs and links",
		Long: `Measure the cache, calls, verbs and links. Servers are processes that bench starts on
CPUs of their own, unless --server or --server-command names others.`,
		Example: `  remora bench compare --quick        every path, memcached and Redis, in half a minute
  remora bench cache --window 4 --batch 1,4,16
  remora bench verbs read --size 64
  remora bench figure rfp-fig4        measure a figure of a paper`,
	})
	cmd.AddCommand(newBenchCacheCmd(a), newBenchCompareCmd(a), newBenchSweepCmd(a), newBenchRPCCmd(a), newBenchVerbsCmd(a),
		newBenchKVLCmd(a), newBenchFigureCmd(a), newBenchAgentCmd(a), newBenchWorkerCmd(a))
	return cmd
}
