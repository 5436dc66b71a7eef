package remora

import (
	"fmt"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/internal/path"
)

// target is the server of a client or session.
type target struct {
	dialer path.Dialer
	name   string // the address in errors
}

// now is the time on the device's clock.
func (t *target) now() int64 { return t.dialer.Clock.Now() }

// dialError is the error of Dial: ErrUnavailable if a second attempt could succeed.
func (t *target) dialError(err error) error {
	if path.Final(err) {
		return fmt.Errorf("remora: dial %s: %w", t.name, err)
	}
	return &LostError{Op: opDial, Addr: t.name, Err: err}
}

// lost is the error of an operation without an answer.
func (t *target) lost(op command.Proc, sent bool, why error) error {
	return &LostError{Op: op.String(), Addr: t.name, Sent: sent, Err: why}
}

// found reads the result of a get behind the first base bytes.
func (t *target) found(result []byte, base int) (item Item, err error) {
	if !item.read(result[base:]) {
		return item, t.resultError(command.Get, result[base:])
	}
	item.Value = result[:base+len(item.Value)]
	return item, nil
}

// stored reads the result of a put.
func (t *target) stored(result []byte) (uint64, error) {
	version, status, err := command.ParseStored(result)
	if err != nil || status != command.OK {
		return 0, t.resultError(command.Put, result)
	}
	return version, nil
}

// counted reads the result of an incr.
func (t *target) counted(result []byte) (int64, error) {
	sum, _, status, err := command.ParseCounted(result)
	if err != nil || status != command.OK {
		return 0, t.resultError(command.Incr, result)
	}
	return sum, nil
}

// done reads a result that is only a status.
func (t *target) done(op command.Proc, result []byte) error {
	if body, status, err := command.ParseStatus(result); err == nil && status == command.OK && len(body) == 0 {
		return nil
	}
	return t.resultError(op, result)
}

// resultError is the error of a result that does not report success: what its status says,
// or that it is malformed.
func (t *target) resultError(op command.Proc, result []byte) error {
	body, status, err := command.ParseStatus(result)
	if err != nil || status == command.OK || len(body) != 0 {
		return t.lost(op, true, malformed(op, result))
	}
	return statusError(status)
}
