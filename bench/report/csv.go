package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/remora-kv/remora/bench/out"
)

// sheet is a table of text, with a head.
type sheet struct {
	head []string
	rows [][]string
}

func (s *sheet) add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = cell(c)
	}
	s.rows = append(s.rows, row)
}

// cell writes a value for a machine.
func cell(v any) string {
	switch x := v.(type) {
	case string:
		return harmless(x)
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	case *float64:
		if x == nil {
			return ""
		}
		return cell(*x)
	}
	return fmt.Sprint(v)
}

// harmless keeps spreadsheets from taking the words of a server for a formula.
func harmless(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

func (s *sheet) write(w io.Writer) error {
	c := csv.NewWriter(w)
	_ = c.Write(s.head) // it keeps the first error
	_ = c.WriteAll(s.rows)
	return c.Error()
}

func (s *sheet) String() string {
	var b strings.Builder
	_ = s.write(&b) // to memory
	return b.String()
}

// rowsCSV writes every trial, as --csv does.
func rowsCSV[R any](w io.Writer, rows []R) error {
	c := out.NewCSV[R](w)
	for i := range rows {
		if err := c.Write(rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// writeRows writes rows as JSON, one a line, as --json does.
func writeRows[R any](w io.Writer, rows []R) error {
	enc := json.NewEncoder(w)
	for i := range rows {
		if err := enc.Encode(&rows[i]); err != nil {
			return err
		}
	}
	return nil
}
