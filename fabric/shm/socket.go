package shm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
)

// socket is a control socket.
type socket struct{ c *net.UnixConn }

// packet is a received message with its descriptors, which belong to the
// receiver.
type packet struct {
	data []byte
	fds  []int
}

func (p *packet) close() { closeFDs(p.fds) }

func closeFDs(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

// expect checks the number of descriptors.
func (p *packet) expect(fds int) error {
	if len(p.fds) != fds {
		return fmt.Errorf("message %d with %d descriptors instead of %d: %w",
			p.data[0], len(p.fds), fds, fabric.ErrProtocol)
	}
	return nil
}

// recv waits for the next message. The end of the socket is io.EOF.
func (s socket) recv() (*packet, error) {
	buf := make([]byte, maxPacket)
	oob := make([]byte, unix.CmsgSpace(4*maxFDs))
	n, oobn, flags, _, err := s.c.ReadMsgUnix(buf, oob)
	if errors.Is(err, unix.ECONNRESET) {
		// The peer closed with something of ours unread; what it said before
		// still waits behind this error.
		n, oobn, flags, _, err = s.c.ReadMsgUnix(buf, oob)
	}
	if err != nil {
		// n is not a length, but an empty packet may have brought descriptors.
		p := &packet{}
		if oobn > 0 && p.parse(oob[:oobn]) == nil {
			p.close()
		}
		return nil, err
	}
	p := &packet{data: buf[:n]}
	if err = p.parse(oob[:oobn]); err == nil {
		switch {
		case flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0:
			err = fmt.Errorf("a control message is too long: %w", fabric.ErrProtocol)
		case n == 0:
			err = io.EOF
		}
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *packet) parse(oob []byte) error {
	if len(oob) == 0 {
		return nil
	}
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return fmt.Errorf("control data: %w", err)
	}
	for i := range msgs {
		if msgs[i].Header.Level != unix.SOL_SOCKET || msgs[i].Header.Type != unix.SCM_RIGHTS {
			continue
		}
		fds, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			return fmt.Errorf("descriptors: %w", err)
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
		}
		p.fds = append(p.fds, fds...)
	}
	return nil
}

// errStuck is a peer that does not read its control socket (I5).
var errStuck = errors.New("the peer does not read its control messages")

// send sends a message without waiting.
func (s socket) send(data []byte, fds ...int) error {
	rc, err := s.c.SyscallConn()
	if err != nil {
		return err
	}
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	var serr error
	err = rc.Control(func(fd uintptr) {
		for {
			serr = unix.Sendmsg(int(fd), data, oob, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
			if !errors.Is(serr, unix.EINTR) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	if errors.Is(serr, unix.EAGAIN) {
		return errStuck
	}
	return serr
}

// refuse tells a peer why it is not served, and ends the conversation.
func (s socket) refuse(reason string) {
	_ = s.send(append([]byte{kindRefuse}, reason...))
	_ = s.c.Close()
}

// forbid tells a user that it may not connect, and ends the conversation.
func (s socket) forbid(reason string) {
	_ = s.send(append([]byte{kindForbid}, reason...))
	_ = s.c.Close()
}

// credentials returns who is at the other end, as the kernel knows it.
func (s socket) credentials() (fabric.Peer, error) {
	rc, err := s.c.SyscallConn()
	if err != nil {
		return fabric.Peer{}, err
	}
	var cred *unix.Ucred
	var cerr error
	if err := rc.Control(func(fd uintptr) {
		cred, cerr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return fabric.Peer{}, err
	}
	if cerr != nil {
		return fabric.Peer{}, fmt.Errorf("peer credentials: %w", cerr)
	}
	return fabric.Peer{
		Addr: fmt.Sprintf("pid %d uid %d", cred.Pid, cred.Uid),
		PID:  int(cred.Pid), UID: int(cred.Uid), GID: int(cred.Gid), HasCred: true,
	}, nil
}

// recvWithin is recv bounded by a context.
func (s socket) recvWithin(ctx context.Context) (*packet, error) {
	stop := context.AfterFunc(ctx, func() { _ = s.c.SetReadDeadline(time.Unix(1, 0)) })
	p, err := s.recv()
	if !stop() { // the socket has a deadline in the past by now, or soon
		if err == nil {
			p.close()
		}
		return nil, ctx.Err()
	}
	return p, err
}

// dialSocket connects to a socket file.
func dialSocket(ctx context.Context, path string) (socket, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unixpacket", path)
	for errors.Is(err, unix.EAGAIN) { // so many dial at once that the kernel's queue is full
		select {
		case <-ctx.Done():
		case <-time.After(acceptPause):
		}
		c, err = d.DialContext(ctx, "unixpacket", path)
	}
	if err != nil {
		switch {
		case ctx.Err() != nil:
			return socket{}, ctx.Err()
		case errors.Is(err, unix.ECONNREFUSED), errors.Is(err, unix.ENOENT):
			return socket{}, fmt.Errorf("no server listens there: %w", fabric.ErrRefused)
		case errors.Is(err, unix.EACCES):
			return socket{}, fmt.Errorf("the socket is closed to user %d: the server must be started with --allow-user %d, "+
				"in a directory that this user can enter: %w", os.Geteuid(), os.Geteuid(), fs.ErrPermission)
		}
		return socket{}, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		panic(fmt.Sprintf("fabric: dialing a unix socket gave %T", c))
	}
	return socket{c: u}, nil
}
