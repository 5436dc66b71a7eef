package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Controller says who calls an agent.
type Controller struct {
	Token   string
	Version string
	Run     string // the same for all connections of a run
}

// ErrAgentRefuses is wrapped when an agent does not work for this controller.
var ErrAgentRefuses = errors.New("the agent refuses")

// DialAgent connects with an agent, and so with a new client process on its machine.
func DialAgent(ctx context.Context, address string, who Controller) (io.ReadWriteCloser, error) {
	ctx, cancel := context.WithTimeout(ctx, shakeTimeout)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w: is `remora bench agent` running there?", address, err)
	}
	tune(conn)
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	c := &agentCall{Conn: conn, in: bufio.NewReader(&bounded{r: conn, most: answerLine})}
	if err := c.shake(who); err != nil {
		_ = conn.Close() // that it is no good is known
		return nil, fmt.Errorf("agent %s: %w", address, err)
	}
	return c, conn.SetDeadline(time.Time{})
}

// call is a connection with an agent.
type agentCall struct {
	net.Conn
	in *bufio.Reader
}

// Read implements io.Reader.
func (c *agentCall) Read(p []byte) (int, error) { return c.in.Read(p) }

// Close hangs up, and waits until the agent has let go of the run: a controller that comes next
// is then not refused (A4).
func (c *agentCall) Close() error {
	if tcp, ok := c.Conn.(*net.TCPConn); ok && tcp.CloseWrite() == nil {
		_ = c.SetReadDeadline(time.Now().Add(hearTimeout))
		_, _ = io.Copy(io.Discard, c.Conn)
	}
	return c.Conn.Close()
}

func (c *agentCall) shake(who Controller) error {
	var hi greeting
	if err := readLine(c.in, &hi); err != nil {
		return fmt.Errorf("not a remora bench agent: %w", err)
	}
	if hi.Protocol != agentProtocol || hi.Version != who.Version {
		return fmt.Errorf("%w: %s", ErrAgentRefuses, otherVersion(hi.Version, who.Version))
	}
	err := writeLine(c, hello{Protocol: agentProtocol, Version: who.Version, Run: who.Run, Proof: prove(who.Token, hi.Nonce, who.Version, who.Run)})
	if err != nil {
		return err
	}
	var say verdict
	if err := readLine(c.in, &say); err != nil {
		return err
	}
	if say.Error != "" {
		return fmt.Errorf("%w: %s", ErrAgentRefuses, say.Error)
	}
	return nil
}

// otherVersion says what to do about two versions.
func otherVersion(agent, controller string) string {
	return fmt.Sprintf("it is of version %q, the controller of %q: use the same program on all machines", agent, controller)
}
