package path

import (
	"errors"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
)

// The errors that the root package passes on to users.
var (
	ErrInvalid     = errors.New("remora: invalid argument")
	ErrUnsupported = errors.New("remora: the server does not support this operation")
	ErrClosed      = errors.New("remora: closed")
	ErrProtocol    = errors.New("remora: protocol violation by the server (do client and server have the same version?)")
)

// ErrDraining says that the server is shutting down and did nothing.
var ErrDraining = errors.New("the server is shutting down")

// errRestarted says that the server was restarted between two connections.
var errRestarted = errors.New("the server was restarted during the operation")

// refused reports whether the server itself refused a connection.
func refused(err error) bool {
	var r *fabric.RejectedError
	return errors.As(err, &r)
}

// CallError returns the failure of a call at the server.
func CallError(err error) (*rpc.Error, bool) {
	var e *rpc.Error
	return e, errors.As(err, &e)
}

// Final reports whether a second attempt to connect cannot do better than the one that
// failed with err.
func Final(err error) bool {
	return errors.Is(err, ErrProtocol) || errors.Is(err, ErrUnsupported) ||
		errors.Is(err, fabric.ErrUnsupported) || errors.Is(err, fabric.ErrInvalid)
}
