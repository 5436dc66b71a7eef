package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/bench/target/verbs"
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

R is the number of READs that a client spends on a result before it asks the server to
reply, F the size of its first READ. tune measures the hardware once, in about 20
seconds, and keeps a profile: rate and latency of in-bound READs by size, and the rate
of replies. The profile bounds the search, F in [L,H] and R in [1,N], and gives I(R,F),
the results per second if each takes R READs of F bytes.

tune then evaluates every candidate on a sample of the application: sizes of results and
times to process them. Without a sample it shows the profile.`,
		Example: `  remora tune                                           measure shared memory, once
  remora tune --result-size 32,300,300 --process-time 1us,7us
  remora tune --fabric tcp --sample app.json            what tune.Sample.Save wrote
  remora tune --measure --result-size 1024                    measure again
  remora tune --profile node7.json --result-size 300 --json --rows 0
  remora tune --fabric rdma --server-command 'ssh node2 remora bench worker verbs' --listen rdma://node2:0`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), cmd, a) },
	}
	f.register(cmd)
	return cmd
}

func (f *tuneFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	choose(fl, &f.fabric, "fabric", verbs.DefaultFabric, "fabric of the profile: "+either(provider.Names()), provider.Names()...)
	fl.StringVar(&f.profile, "profile", "", "`FILE` of the profile (default: profile-FABRIC.json in the user's configuration directory)")
	fl.BoolVar(&f.measure, "measure", false, "measure again, and replace the profile")
	fl.IntSliceVar(&f.sizes, "result-size", nil, "`BYTES` of results, a list; repeat a size to give it more weight")
	fl.StringVar(&f.sample, "sample", "", "`FILE` with a sample that tune.Sample.Save wrote, instead of --result-size")
	fl.DurationSliceVar(&f.times, "process-time", nil, "time that the server takes for a result, a `LIST` (default: unknown)")
	fl.Lookup("process-time").DefValue = ""
	fl.IntVar(&f.rows, "rows", 12, "`NUMBER` of candidates to show, best first; 0 shows all")
	fl.IntVar(&f.threads, "threads", spareCPUs(), "`NUMBER` of client threads; each needs a CPU, and so does the server")
	fl.DurationVar(&f.duration, "duration", 60*time.Millisecond, "length of a trial, of about a hundred")
	fl.StringVar(&f.server, "server-command", "", "`COMMAND` that runs remora bench worker verbs on another host, such as ssh")
	fl.StringVar(&f.listen, "listen", "", "`URL` for that server to listen on")
	section(fl, "Measurement", "threads", "duration", "server-command", "listen")
	complete(cmd)
}

// spareCPUs is how many threads leave a CPU to the server.
func spareCPUs() int { return min(max(runtime.NumCPU()-1, 1), 4) }

// check refuses what cannot be meant.
func (f *tuneFlags) check(cmd *cobra.Command) error {
	negative := func(n int) bool { return n < 0 }
	switch {
	case f.sample != "" && len(f.sizes) != 0:
		return misuse("--result-size and --sample exclude each other")
	case f.sample != "" && len(f.times) != 0:
		return misuse("--process-time and --sample exclude each other: a sample has its own times")
	case len(f.times) != 0 && len(f.sizes) == 0:
		return misuse("--process-time needs --result-size")
	case slices.ContainsFunc(f.sizes, negative):
		return misuse("--result-size %v: a size is negative", f.sizes)
	case slices.ContainsFunc(f.times, func(d time.Duration) bool { return d < 0 }):
		return misuse("--process-time %v: a time is negative", f.times)
	case f.rows < 0:
		return misuse("--rows %d must not be negative", f.rows)
	case cmd.Flags().Changed("rows") && f.sample == "" && len(f.sizes) == 0:
		return misuse("--rows has no effect without --result-size or --sample")
	case f.duration <= 0:
		return misuse("--duration %v must be more than 0", f.duration)
	case f.threads < 1:
		return misuse("--threads %d must be at least 1", f.threads)
	}
	return elsewhereNeedsListen(cmd)
}

func (f *tuneFlags) run(ctx context.Context, cmd *cobra.Command, a *app) error {
	if err := f.check(cmd); err != nil {
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
			return fmt.Errorf("%w\nRepair the file, or measure again with --measure", err)
		}
	}
	if out.readings, err = f.readings(ctx, a); err != nil {
		return err
	}
	if out.profile, err = tune.NewProfile(f.fabric, out.readings); err != nil {
		return fmt.Errorf("%w\nMeasure longer: --duration %v", err, 5*f.duration)
	}
	out.profile.Machine, out.profile.Date = thisMachine(), time.Now().Truncate(time.Second)
	out.profile.How = howMeasured(f)
	return out.profile.Save(out.path)
}
