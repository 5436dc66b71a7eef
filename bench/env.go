package bench

import (
	"errors"
	"io"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
)

// Env is what a run needs from the program around it.
type Env[R any] struct {
	// Providers opens the devices of this process; usually a provider.Set.
	Providers Opener
	// Server is the command line of a process that calls the Serve of the target on its
	// standard input and output.
	Server []string
	// Client is likewise that of a process with clients, for targets that can have them in
	// processes of their own.
	Client []string
	// Helper is likewise that of one which calls host.Help, for placements with neighbours.
	Helper []string
	// Version is that of the program.
	Version string
	// Row, when not nil, is called with every row as soon as it is measured.
	Row func(R) error
	// Progress, when not nil, is called before every trial.
	Progress func(Progress)
}

// Opener opens a device by the name of its fabric. On the loop fabric all that it
// opens must be on one network.
type Opener = provider.Opener

// Close closes what is there: the zero value of its type is not.
func Close[T interface {
	comparable
	io.Closer
}](x T) error {
	if x == *new(T) {
		return nil
	}
	return x.Close()
}

// CloseAll closes all of a list.
func CloseAll[T io.Closer](list []T) error {
	errs := make([]error, len(list))
	for i, x := range list {
		errs[i] = x.Close()
	}
	return errors.Join(errs...)
}

// FabricLimits opens a device to learn its limits. A fabric that is not known or not
// there is a mistake of the user.
func FabricLimits(providers Opener, name string) (fabric.Limits, error) {
	dev, err := providers.Open(name)
	if err != nil {
		if errors.Is(err, fabric.ErrInvalid) || errors.Is(err, fabric.ErrUnsupported) {
			err = UsageError(err)
		}
		return fabric.Limits{}, err
	}
	return dev.Limits(), dev.Close()
}

// Progress says what is being measured.
type Progress struct {
	Case, Cases   int // of, from 1
	Trial, Trials int // 0: connecting and warming up
	Name          string
}

// Report is the outcome of a run: rows in the order in which they were measured, notes and
// warnings.
type Report[R any] struct {
	Rows []R
	Remarks
}
