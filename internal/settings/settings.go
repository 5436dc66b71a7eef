package settings

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

// Source says where the settings are that were not on the command line.
type Source struct {
	// Env looks up a variable, as os.LookupEnv; Prefix is in front of its name.
	Env    func(name string) (string, bool)
	Prefix string
	// File is the file and FileName its name for errors; nil is none.
	File     io.Reader
	FileName string
	// Skip are flags that are filled from nowhere, such as the name of the file.
	Skip []string
}

// Fill sets the flags that were not set on the command line. All that is wrong
// is in one error, and says where it stands.
func Fill(flags *pflag.FlagSet, from Source) error {
	lines, err := from.read(flags)
	if err != nil {
		return err
	}
	var faults []error
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Changed && !from.skips(f.Name) {
			faults = append(faults, from.fill(flags, f, lines[f.Name]))
		}
	})
	return errors.Join(faults...)
}

// line is a setting of the file.
type line struct {
	number int
	value  string
}

// fill sets one flag, from the environment or else from the file.
func (s *Source) fill(flags *pflag.FlagSet, f *pflag.Flag, lines []line) error {
	name := s.Variable(f.Name)
	if value, ok := s.Env(name); ok {
		if err := flags.Set(f.Name, value); err != nil {
			return fmt.Errorf("environment variable %s: %w", name, err)
		}
		return nil
	}
	for _, l := range lines {
		if err := flags.Set(f.Name, l.value); err != nil {
			return fmt.Errorf("%s:%d: %w", s.FileName, l.number, err)
		}
	}
	return nil
}

// Variable is the name of a flag in the environment.
func (s *Source) Variable(flag string) string {
	return s.Prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func (s *Source) skips(flag string) bool {
	for _, name := range s.Skip {
		if name == flag {
			return true
		}
	}
	return false
}

// read reads the file.
func (s *Source) read(flags *pflag.FlagSet) (map[string][]line, error) {
	lines := make(map[string][]line)
	if s.File == nil {
		return lines, nil
	}
	var faults []error
	scan := bufio.NewScanner(s.File)
	for n := 1; scan.Scan(); n++ {
		text := strings.TrimSpace(scan.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(text, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch f := flags.Lookup(name); {
		case !ok:
			faults = append(faults, fmt.Errorf("%s:%d: %q is not NAME = VALUE", s.FileName, n, text))
		case f == nil || s.skips(name):
			faults = append(faults, fmt.Errorf("%s:%d: there is no setting %q", s.FileName, n, name))
		case len(lines[name]) != 0 && !isList(f):
			faults = append(faults, fmt.Errorf("%s:%d: %s stands in line %d already", s.FileName, n, name, lines[name][0].number))
		default:
			lines[name] = append(lines[name], line{n, value})
		}
	}
	if err := scan.Err(); err != nil {
		faults = append(faults, fmt.Errorf("%s: %w", s.FileName, err))
	}
	return lines, errors.Join(faults...)
}

// isList reports whether a flag may be given several times.
func isList(f *pflag.Flag) bool {
	_, ok := f.Value.(pflag.SliceValue)
	return ok
}
