package target

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// Holdings is what a server keeps: how many items, and the memory that they and the finding
// of them take.
type Holdings struct{ Items, Bytes int64 }

// inventory is how a program is asked for its holdings.
type inventory struct {
	// question is answered by lines of a name, sep and a number, the last of which begins
	// with end.
	question, sep, end string
	// names are those of the numbers that are needed.
	names []string
	count func(n map[string]int64) Holdings
}

// memcachedInventory: items with their headers, and the table. What slabs waste is not in it.
func memcachedInventory() inventory {
	return inventory{
		question: "stats\r\n", sep: " ", end: "END", names: []string{"STAT bytes", "STAT hash_bytes", "STAT curr_items"},
		count: func(n map[string]int64) Holdings {
			return Holdings{n["STAT curr_items"], n["STAT bytes"] + n["STAT hash_bytes"]}
		},
	}
}

// redisInventory: all memory but what it had at its start and what connections take.
func redisInventory() inventory {
	return inventory{
		question: "INFO memory\r\nDBSIZE\r\n", sep: ":", end: ":",
		names: []string{"used_memory", "used_memory_startup", "mem_clients_normal", ""},
		count: func(n map[string]int64) Holdings {
			return Holdings{n[""], n["used_memory"] - n["used_memory_startup"] - n["mem_clients_normal"]}
		},
	}
}

// Holdings asks the server what it keeps.
func (s *Foreign) Holdings(ctx context.Context) (h Holdings, err error) {
	err = s.talk(ctx, holdingsTimeout, func(conn net.Conn) (err error) {
		inv := s.program.inventory()
		h, err = inv.ask(conn)
		return err
	})
	if err != nil {
		return h, fmt.Errorf("asking %s what it keeps: %w", s.program.name, err)
	}
	return h, nil
}

// holdingsTimeout is how long a server may take to say what it keeps: it may be at work.
const holdingsTimeout = 10 * time.Second

func (inv *inventory) ask(rw io.ReadWriter) (h Holdings, err error) {
	if _, err := io.WriteString(rw, inv.question); err != nil {
		return h, err
	}
	numbers := make(map[string]int64)
	for lines := bufio.NewScanner(rw); ; {
		if !lines.Scan() {
			return h, errors.Join(io.ErrUnexpectedEOF, lines.Err())
		}
		text := lines.Text()
		if i := strings.LastIndex(text, inv.sep); i >= 0 {
			if n, err := strconv.ParseInt(text[i+len(inv.sep):], 10, 64); err == nil {
				numbers[text[:i]] = n
			}
		}
		if strings.HasPrefix(text, inv.end) {
			break
		}
	}
	for _, name := range inv.names {
		if _, ok := numbers[name]; !ok {
			return h, fmt.Errorf("it does not say %q", name)
		}
	}
	return inv.count(numbers), nil
}
