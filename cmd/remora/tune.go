package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/bench/perf"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc/rfp/tune"
)

// tuneFlags are the flags of tune.
type tuneFlags struct {
	fabric, profile, sample string
	measure                 bool
	sizes                   []int
	times                   []time.Duration
	rows                    int

	// Of the measurement.
	threads        int
	duration       time.Duration
	server, listen string
}

func newTuneCmd(a *app) *cobra.Command {
	var f tuneFlags
	cmd := &cobra.Command{
		Use:   "tune",
		Short: "Choose R and F, the parameters of remote fetching, for this hardware and an application",
		Long: `Choose R and F, the parameters of remote fetching, for this hardware and an
application.

R is how many READs a client spends on a result before it has the server reply, F
the size of its first READ. What the hardware can do is measured once and kept in
a profile, which takes about 20 seconds: the rate of in-bound READs and the time
of one by size, and the rate at which a server can reply. From that follow the
bounds of the search, F in [L,H] and R in [1,N], and I(R,F), the results per
second when each takes R READs of F bytes: the measured rate of READs divided by R.

Then every candidate is tried on a sample of the application: the sizes of its
results and the times that the server takes for them. Without a sample tune shows
the profile.`,
		Example: `  remora tune                                           measure shared memory, once
  remora tune --sizes 32,300,300 --process-time 1us,7us
  remora tune --fabric tcp --sample app.json            what tune.Sample.Save wrote
  remora tune --measure --sizes 1024                    measure again
  remora tune --profile node7.json --sizes 300 --json --rows 0
  remora tune --fabric rdma --server-command 'ssh node2 remora perf-server' --listen rdma://node2:0`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), cmd, a) },
	}
	f.register(cmd)
	return cmd
}

func (f *tuneFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.fabric, "fabric", perf.DefaultFabric, "`NAME` of the fabric: "+strings.Join(provider.Names(), ", "))
	fl.StringVar(&f.profile, "profile", "", "`FILE` of the profile (default: profile-FABRIC.json in the user's configuration directory)")
	fl.BoolVar(&f.measure, "measure", false, "measure the profile even if there is one")
	fl.IntSliceVar(&f.sizes, "sizes", nil, "`BYTES` of results, a list; what is there twice counts twice")
	fl.StringVar(&f.sample, "sample", "", "`FILE` with the sample of an application, instead of --sizes")
	fl.DurationSliceVar(&f.times, "process-time", nil, "how long the server takes for results, a `LIST` (default: not known)")
	fl.Lookup("process-time").DefValue = ""
	fl.IntVar(&f.rows, "rows", 12, "how many candidates to show, best first; 0 shows all")
	fl.IntVar(&f.threads, "threads", spareCPUs(), "client threads of the measurement: a CPU for each, and one for the server")
	fl.DurationVar(&f.duration, "duration", 60*time.Millisecond, "length of a trial of the measurement, of which there are about a hundred")
	fl.StringVar(&f.server, "server-command", "", "`COMMAND` that starts perf-server elsewhere for the measurement, its standard input and output connected to here")
	fl.StringVar(&f.listen, "listen", "", "`URL` where that server listens (default: a place of its own on this host)")
	fixed := func(name string, values ...string) {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	fixed("fabric", provider.Names()...)
	for _, name := range []string{"sizes", "process-time", "rows", "threads", "duration", "server-command", "listen"} {
		fixed(name)
	}
}

// spareCPUs is how many threads leave a CPU to the server.
func spareCPUs() int { return min(max(runtime.NumCPU()-1, 1), 4) }

// check refuses what cannot be meant.
func (f *tuneFlags) check() error {
	negative := func(n int) bool { return n < 0 }
	switch {
	case !slices.Contains(provider.Names(), f.fabric):
		return misuse("--fabric %q is unknown: use %s", f.fabric, strings.Join(provider.Names(), ", "))
	case f.sample != "" && len(f.sizes) != 0:
		return misuse("--sizes and --sample say the same: use one of them")
	case f.sample != "" && len(f.times) != 0:
		return misuse("--process-time goes with --sizes: a sample has times of its own")
	case len(f.times) != 0 && len(f.sizes) == 0:
		return misuse("--process-time needs --sizes")
	case slices.ContainsFunc(f.sizes, negative):
		return misuse("--sizes %v: a size is negative", f.sizes)
	case slices.ContainsFunc(f.times, func(d time.Duration) bool { return d < 0 }):
		return misuse("--process-time %v: a time is negative", f.times)
	case f.rows < 0:
		return misuse("--rows %d must not be negative", f.rows)
	case f.duration <= 0:
		return misuse("--duration %v must be more than 0", f.duration)
	case f.threads < 1:
		return misuse("--threads %d must be at least 1", f.threads)
	case f.server != "" && f.listen == "":
		return misuse("--server-command needs --listen, the address that the server is reached at from here")
	}
	return nil
}

func (f *tuneFlags) run(ctx context.Context, cmd *cobra.Command, a *app) error {
	if err := f.check(); err != nil {
		return err
	}
	sample, err := f.application()
	if err != nil {
		return err
	}
	out := tuneReport{sample: sample, rows: f.rows}
	if out.path = f.profile; out.path == "" {
		if out.path, err = tune.DefaultPath(f.fabric); err != nil {
			return err
		}
	}
	if err := f.hardware(ctx, a, &out); err != nil {
		return err
	}
	if named := cmd.Flags().Changed("fabric"); named && out.profile.Fabric != f.fabric {
		return misuse("%s is a profile of %s: use --fabric %[2]s, or --measure to replace it", out.path, out.profile.Fabric)
	}
	if a.json {
		return out.writeJSON(a.out)
	}
	return out.writeText(a.out)
}

// application is the sample, nil if there is none.
func (f *tuneFlags) application() (*tune.Sample, error) {
	if f.sample != "" {
		s, err := tune.LoadSample(f.sample)
		if err == nil && s.Results() == 0 {
			err = fmt.Errorf("sample %s has no results", f.sample)
		}
		return s, err
	}
	if len(f.sizes) == 0 {
		return nil, nil
	}
	s := tune.NewSample()
	for _, n := range f.sizes {
		s.Result(n)
	}
	for _, d := range f.times {
		s.Process(d)
	}
	return s, nil
}

// hardware loads the profile, or measures and saves it.
func (f *tuneFlags) hardware(ctx context.Context, a *app, out *tuneReport) (err error) {
	if !f.measure {
		out.profile, err = tune.LoadProfile(out.path)
		if err == nil {
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w\nmend the file, or measure again with --measure", err)
		}
	}
	if out.readings, err = f.readings(ctx, a); err != nil {
		return err
	}
	if out.profile, err = tune.NewProfile(f.fabric, out.readings); err != nil {
		return fmt.Errorf("%w\nmeasure longer: --duration %v", err, 5*f.duration)
	}
	out.profile.Machine, out.profile.Date = thisMachine(), time.Now().Truncate(time.Second)
	out.profile.How = howMeasured(f)
	return out.profile.Save(out.path)
}
