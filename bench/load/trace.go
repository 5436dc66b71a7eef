package load

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"strings"
)

// Trace reads one of so many shares of a file (T2). It belongs to one thread.
type Trace struct {
	path   string
	share  uint64
	of     uint64
	again  bool
	most   int // bytes of a key
	file   *os.File
	lines  *bufio.Reader
	line   int
	record TraceRecord
	found  bool // a line of this share, since the file was opened
}

// bufferSize holds the longest line, and what is read at once.
const bufferSize = 256 << 10

// OpenTrace opens a file for share number n of so many. If it is to be read again and again,
// Next begins anew behind the last line. Keys of more than so many bytes are refused.
func OpenTrace(path string, n, of int, again bool, longestKey int) (*Trace, error) {
	r := &Trace{path: path, share: uint64(n), of: uint64(of), again: again, most: longestKey, lines: bufio.NewReaderSize(nil, bufferSize)}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r.file = file
	if err := r.rewind(); err != nil {
		_ = file.Close()
		return nil, err
	}
	return r, nil
}

// rewind goes to the first line.
func (r *Trace) rewind() error {
	if _, err := r.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r.line, r.found = 0, false
	if !strings.HasSuffix(r.path, ".gz") {
		r.lines.Reset(r.file)
		return nil
	}
	packed, err := gzip.NewReader(bufio.NewReader(r.file))
	if err != nil {
		return fmt.Errorf("%s: %w", r.path, err)
	}
	r.lines.Reset(packed)
	return nil
}

// Close ends reading.
func (r *Trace) Close() error { return r.file.Close() }

// Next returns the next line of the share and the hash of its key, until the next call;
// io.EOF when there is none. A share without a line ends also where it was to begin anew.
func (r *Trace) Next() (*TraceRecord, uint64, error) {
	for {
		line, err := r.read()
		if errors.Is(err, io.EOF) && r.again && r.found {
			if err := r.rewind(); err != nil {
				return nil, 0, err
			}
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		if len(line) == 0 || line[0] == '#' || r.line == 1 && bytes.HasPrefix(line, []byte("op,")) {
			continue
		}
		if err := ParseTraceLine(line, &r.record); err != nil {
			return nil, 0, r.at(err)
		}
		if len(r.record.Key) > r.most {
			return nil, 0, r.at(fmt.Errorf("%w: a key of %d bytes, and the server takes %d", ErrTraceLine, len(r.record.Key), r.most))
		}
		hash := HashKey(r.record.Key)
		if mine, _ := bits.Mul64(hash, r.of); mine == r.share {
			r.found = true
			return &r.record, hash, nil
		}
	}
}

// read returns a line without its end.
func (r *Trace) read() ([]byte, error) {
	line, err := r.lines.ReadSlice('\n')
	r.line++
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, r.at(fmt.Errorf("%w: it is longer than %d bytes", ErrTraceLine, bufferSize))
	case errors.Is(err, io.EOF) && len(line) == 0:
		return nil, io.EOF
	case err != nil && !errors.Is(err, io.EOF):
		return nil, r.at(err)
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// at says where an error is (T3).
func (r *Trace) at(err error) error { return fmt.Errorf("%s:%d: %w", r.path, r.line, err) }

// HashKey is that of a key: it decides whose line it is, and what its value says.
func HashKey(key []byte) uint64 {
	const odd = 0x9E3779B97F4A7C15
	h := uint64(len(key)) * odd
	for ; len(key) >= 8; key = key[8:] {
		h = fold(h ^ binary.LittleEndian.Uint64(key))
	}
	var tail [8]byte
	copy(tail[:], key)
	return fold(fold(h^binary.LittleEndian.Uint64(tail[:])) + odd)
}

// fold is a permutation in which every bit counts everywhere.
func fold(x uint64) uint64 {
	x = (x ^ x>>32) * 0xD6E8FEB86659FD93
	x = (x ^ x>>32) * 0xD6E8FEB86659FD93
	return x ^ x>>32
}
