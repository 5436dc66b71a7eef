package main

import (
	"errors"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/doctor"
)

func newDoctorCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Show which fabrics this machine can use, and why not others",
		Long: `Show which fabrics this machine can use, and why not others. Nothing is changed.

Each line is ok, warn (works, but slower than it could) or no (rules out a fabric), with
advice. The exit code is 0 if shm or tcp is usable, else 1.`,
		Example: `  remora doctor
  remora doctor --json | grep '"fabric"'      only the verdicts`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			h := doctor.ThisHost()
			h.TryDevice = tryDevice
			return diagnose(a, h)
		},
	}
}

// tryDevice opens a port of an RDMA device as the verbs provider does.
func tryDevice(name string, port int) (doctor.Limits, error) {
	addr := fabric.Addr{Fabric: provider.RDMA, Name: "localhost:0", Options: url.Values{
		"device": {name}, "port": {strconv.Itoa(port)},
	}}
	d, err := provider.New().Open(addr.String())
	if err != nil {
		return doctor.Limits{}, err
	}
	l := d.Limits()
	return doctor.Limits{
		Inline: l.MaxInline, Segments: l.MaxSegs, Depth: l.MaxDepth, CQDepth: l.MaxCQDepth, Message: l.MaxMessage,
		MTU: l.MTU, Reads: l.MaxReads, Region: l.MaxRegion, UC: l.UC, UD: l.UD, Atomics: l.Atomics,
	}, d.Close()
}

// diagnose reports on a host. Its error is for the exit code: what is wrong is
// in the report.
func diagnose(a *app, h *doctor.Host) error {
	r := doctor.Examine(h)
	write := r.WriteText
	if a.json {
		write = r.WriteJSON
	}
	if err := write(a.out); err != nil {
		return err
	}
	if r.ExitCode() != 0 {
		return errors.New("neither shm nor tcp is usable on this machine")
	}
	return nil
}
