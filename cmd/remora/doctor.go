package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/internal/doctor"
)

func newDoctorCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what fabric this machine can use, and why not another",
		Long: `Say what fabric this machine can use, and why not another.

Each line is marked ok, warn (works, but slower or less of it than could be) or
no (a fabric cannot be used because of this), with what to do next. Nothing is
changed on the machine. The exit code is 0 when shm or tcp is usable, else 1.`,
		Example: `  remora doctor
  remora doctor --json | grep '"fabric"'      the verdicts only`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return diagnose(a, doctor.ThisHost()) },
	}
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
