package target

import (
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Who waits for an answer is told that there is none, though signals come more often than
// that: those of a debugger or a profiler, or of a shell that stops the program and has it
// go on.
func TestSignalsDoNotMakeNextWait(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // nobody answers
	c, err := DialPipeline("tcp", l.Addr().String(), RESP{}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	thread, over := make(chan int, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		thread <- unix.Gettid()
		a, ok, err := c.Next()
		if ok {
			t.Errorf("an answer of nobody: %+v", a)
		}
		over <- err
	}()
	tid := <-thread
	tick := time.NewTicker(patience / 10)
	defer tick.Stop()
	for range 100 * 10 {
		if err := unix.Tgkill(os.Getpid(), tid, unix.SIGURG); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-over:
			if err != nil {
				t.Error(err)
			}
			return
		case <-tick.C:
		}
	}
	t.Errorf("it waited for an answer, though %v were over a hundred times", patience)
	<-over
}
