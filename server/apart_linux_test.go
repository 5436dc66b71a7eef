package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/test/cachetest"
	"github.com/remora-kv/remora/test/scale"
)

func init() {
	roles["writer"], roles["reader"] = writerRole, readerRole
}

// hotKeys is how many keys a writer changes and readers read.
const hotKeys = 4

// apartTask is what a writer or a reader in a process of its own is told.
type apartTask struct {
	URL   string
	Board string // file with the number of the last value of each key that is known to be stored
	Path  remora.Path
	Links int
	Reads int
}

// board is memory that writer and readers share, beside the cache.
type board []byte

func openBoard(name string) (board, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if err := f.Truncate(8 * hotKeys); err != nil {
		return nil, err
	}
	return unix.Mmap(int(f.Fd()), 0, 8*hotKeys, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// join is what both roles begin with.
func (t *apartTask) join(ctx context.Context, opts ...remora.Option) (board, *remora.Session, error) {
	if err := json.Unmarshal([]byte(os.Args[1]), t); err != nil {
		return nil, nil, err
	}
	b, err := openBoard(t.Board)
	if err != nil {
		return nil, nil, err
	}
	if t.Path != "" {
		opts = append(opts, remora.WithPath(t.Path))
	}
	c, err := remora.Dial(ctx, t.URL, append(opts, unhurried, remora.WithLinks(t.Links))...)
	if err != nil {
		return nil, nil, err
	}
	s, err := c.Session(ctx)
	return b, s, err
}

// writerRole changes values as fast as it can, until its input ends, with others among
// them so that memory is used again at once.
func writerRole() error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		}
		cancel()
	}()
	var task apartTask
	b, s, err := task.join(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "writing")
	for n := uint64(1); ctx.Err() == nil; n++ {
		i := rand.IntN(hotKeys)
		if _, err := s.Set(ctx, fmt.Sprint("key ", i), told(i, n), 0); err != nil {
			break
		}
		fence.Word(b, 8*i).Store(n)
		if _, err := s.Set(ctx, fmt.Sprint("other ", rand.IntN(10_000)), told(9, n), 0); err != nil {
			break
		}
	}
	if ctx.Err() == nil {
		return errors.New("the writer was refused")
	}
	return nil
}

// readerRole reads values and says how many, and how many of them without the server; or
// what it has seen that must not be.
func readerRole() error {
	ctx := context.Background()
	var task apartTask
	b, s, err := task.join(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "reading")
	var keys [hotKeys]string
	for i := range keys {
		keys[i] = fmt.Sprint("key ", i)
	}
	found, buffer := 0, make([]byte, 0, 1024)
	for at := range task.Reads {
		if at%tellEvery == tellEvery-1 {
			fmt.Fprintln(os.Stdout, "at", at)
		}
		i := rand.IntN(hotKeys)
		before := fence.Word(b, 8*i).Load()
		item, err := s.GetInto(ctx, keys[i], buffer)
		switch {
		case errors.Is(err, remora.ErrNotFound): // it was evicted
			continue
		case err != nil:
			return err
		}
		found++
		if n, ok := numberOf(item.Value, i); !ok || n < before {
			fmt.Fprintf(os.Stdout, "key %d, after %d: %q\n", i, before, item.Value)
			return nil
		}
	}
	n := s.Counters()
	fmt.Fprintf(os.Stdout, "ok %d %d %d\n", task.Reads, found, n.OneSidedHits)
	return nil
}

// tellEvery is after how many reads a reader says that it is still there.
const tellEvery = 1 << 17

// numberOf returns the number of a value that was told, false if it is none of that key.
func numberOf(value []byte, key int) (uint64, bool) {
	head := strconv.Itoa(key) + ":"
	const digits = 20
	if len(value) < len(head)+digits || string(value[:len(head)]) != head {
		return 0, false
	}
	n, err := strconv.ParseUint(string(value[len(head):len(head)+digits]), 10, 64)
	return n, err == nil && bytes.Equal(value, told(key, n))
}

// A server, a writer and readers are processes of their own; readers are stopped at any
// moment for milliseconds, between two READs of one search, too. Nobody ever sees a value
// that is torn, of another key, or older than one whose change was answered before.
// REMORA_READS says how often each reader reads.
func TestReadersApart(t *testing.T) {
	reads := scale.Times(20_000)
	if text := os.Getenv("REMORA_READS"); text != "" {
		var err error
		if reads, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range across {
		t.Run(name, func(t *testing.T) {
			if name == provider.TCP && os.Getenv("REMORA_READS") == "" {
				reads /= 10
			}
			t.Run("links", func(t *testing.T) { readApart(t, name, reads, apartTask{Links: 16}) })
			for _, path := range searches {
				t.Run(string(path), func(t *testing.T) { readApart(t, name, reads, apartTask{Path: path}) })
			}
		})
	}
}

func readApart(t *testing.T, fabric string, reads int, task apartTask) {
	s := serverTask{URL: listenURL(t, fabric), Cores: 1, Memory: 1 << 18, Links: task.Links != 0}
	if task.Path != "" {
		s.Engine = server.Engine(string(task.Path))
	}
	task.URL, task.Board, task.Reads = startServer(t, s).url, filepath.Join(t.TempDir(), "board"), reads
	play := func(role string) *cachetest.Process {
		text, err := json.Marshal(task)
		if err != nil {
			t.Fatal(err)
		}
		p := cachetest.Play(t, role, string(text))
		p.Line()
		return p
	}
	play("writer")
	readers := []*cachetest.Process{play("reader"), play("reader")}
	done := make(chan struct{})
	go disturb(readers[0], done)
	for i, p := range readers {
		line := p.Line()
		for strings.HasPrefix(line, "at ") {
			line = p.Line()
		}
		var all, found, seen int
		if _, err := fmt.Sscanf(line, "ok %d %d %d", &all, &found, &seen); err != nil || found == 0 || seen == 0 {
			t.Errorf("reader %d: %s", i, strings.TrimSpace(line))
		} else {
			t.Logf("reader %d: %d reads, %d found, %d seen without the server", i, all, found, seen)
		}
		if i == 0 {
			close(done)
		}
	}
}

// disturb stops a process again and again.
func disturb(p *cachetest.Process, done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(rand.IntN(3000)) * time.Microsecond):
		}
		p.TrySignal(syscall.SIGSTOP)
		<-time.After(time.Duration(rand.IntN(5000)) * time.Microsecond)
		p.TrySignal(syscall.SIGCONT)
	}
}
