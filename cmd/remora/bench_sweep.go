package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/remora-kv/remora/bench/target/cache"
)

// sweepFlags are those of bench cache, and the axes.
type sweepFlags struct {
	benchFlags
	over []string
}

func newBenchSweepCmd(a *app) *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep --over FLAG=VALUE,VALUE...",
		Short: "Measure along one axis or several: clients, window, batch, rate, value-size, ...",
		Long: `Measure along one axis or several: a row for every combination of the values of --over,
and a small chart with the knee of each curve: the point after which more gains little,
or with --over rate the last one before p99 rises.

Axes are flags of bench cache; the first is the horizontal one:
` + wrapped(sweepAxes()) + `

All other flags are those of bench cache. Points are measured in rounds, in an order
shuffled by --seed.`,
		Example: `  remora bench sweep --over clients=1,2,4,8
  remora bench sweep --over window=1,2,4,8,16 --over batch=1,16 --trials 5
  remora bench sweep --over rate=100000,200000,400000,800000 --path rfp,memcached
  remora bench sweep --over value-size=32,128,512,2048 --path rfp,reply,herd --csv sizes.csv
  remora bench sweep --over cores=1,2,4 --clients 4`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), cmd, a) },
	}
	f.register(cmd)
	f.output.register(cmd)
	f.output.registerSummary(cmd)
	cmd.Flags().StringArrayVar(&f.over, "over", nil, "an axis, such as clients=1,2,4,8: a `FLAG` of bench cache and its values; can be repeated")
	completeFrom(cmd, "over", sweepAxes()...)
	complete(cmd)
	return cmd
}

// sweepFixed are flags that all points of a sweep have in common.
func sweepFixed() []string {
	return []string{"duration", "warmup", "warmup-ops", "ops", "trials", "seed", "server", "no-load", "help", "csv", "summary", "json", "report"}
}

// sweepAxes are the flags that can be an axis.
func sweepAxes() (names []string) {
	var f benchFlags
	cmd := &cobra.Command{}
	f.register(cmd)
	cmd.Flags().VisitAll(func(fl *pflag.Flag) {
		if fl.Value.Type() != "bool" && !slices.Contains(sweepFixed(), fl.Name) {
			names = append(names, fl.Name)
		}
	})
	return names
}

// wrapped writes names on lines of the help.
func wrapped(names []string) string {
	lines := []string{" "}
	for _, name := range names {
		if last := &lines[len(lines)-1]; len(*last)+len(name) < 86 {
			*last += " " + name
		} else {
			lines = append(lines, "  "+name)
		}
	}
	return strings.Join(lines, "\n")
}

// axis is a flag with its values.
type axis struct {
	name   string
	values []string
}

// axes reads --over.
func (f *sweepFlags) axes(cmd *cobra.Command) (out []axis, err error) {
	if len(f.over) == 0 {
		return nil, misuse("--over is missing: an axis, such as --over clients=1,2,4,8")
	}
	for _, text := range f.over {
		name, list, ok := strings.Cut(text, "=")
		switch {
		case !ok || list == "":
			return nil, misuse("--over %q: write a flag and its values, such as clients=1,2,4,8", text)
		case !slices.Contains(sweepAxes(), name):
			return nil, misuse("--over %s: no such axis: use %s", name, strings.Join(sweepAxes(), ", "))
		case cmd.Flags().Changed(name), slices.ContainsFunc(out, func(x axis) bool { return x.name == name }):
			return nil, misuse("--over %s: given twice", name)
		}
		out = append(out, axis{name, strings.Split(list, ",")})
	}
	return out, nil
}

// points makes a configuration for every combination, the first axis changing fastest: as
// bench cache would with one value for each.
func (f *sweepFlags) points(cmd *cobra.Command, axes []axis) ([]cache.SweepPoint, error) {
	combos := [][]string{nil}
	for i := len(axes) - 1; i >= 0; i-- {
		var next [][]string
		for _, c := range combos {
			for _, v := range axes[i].values {
				next = append(next, append([]string{v}, c...))
			}
		}
		combos = next
	}
	var points []cache.SweepPoint
	for _, values := range combos {
		cfg, err := f.at(cmd, axes, values)
		if err != nil {
			return nil, err
		}
		points = append(points, cache.SweepPoint{Values: values, Config: cfg})
	}
	return points, nil
}

// at is the configuration of one point.
func (f *sweepFlags) at(cmd *cobra.Command, axes []axis, values []string) (cache.Config, error) {
	var one benchFlags
	point := &cobra.Command{}
	one.register(point)
	fl := point.Flags()
	var fault error
	set := func(name, value string) {
		if err := fl.Set(name, value); err != nil && fault == nil {
			fault = usageError{err}
		}
	}
	cmd.Flags().Visit(func(given *pflag.Flag) {
		if fl.Lookup(given.Name) == nil {
			return // of sweep itself, or of all commands
		}
		if list, ok := given.Value.(pflag.SliceValue); ok {
			set(given.Name, strings.Join(list.GetSlice(), ","))
		} else {
			set(given.Name, exactly(given))
		}
	})
	for i := range axes {
		set(axes[i].name, values[i])
	}
	if fault != nil {
		return cache.Config{}, fault
	}
	return one.config(point)
}

func (f *sweepFlags) run(ctx context.Context, cmd *cobra.Command, a *app) error {
	axes, err := f.axes(cmd)
	if err != nil {
		return err
	}
	var sweep cache.Sweep
	for i := range axes {
		sweep.Axes = append(sweep.Axes, axes[i].name)
	}
	if sweep.Points, err = f.points(cmd, axes); err != nil {
		return err
	}
	env, sink, err := openBench[cache.Row](a, &f.output, "", workerCache)
	if err != nil {
		return err
	}
	env.Row = sink.row
	report, err := cache.RunSweep(ctx, sweep, env)
	return f.finish(ctx, sink, err, report.Report, report.WriteTable)
}
