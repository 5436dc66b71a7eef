package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// The flags of a server can also be set in the environment and in a file. The command line
// comes before the environment, that before the file, and that before the default.
//
// The flag --max-value is REMORA_MAX_VALUE in the environment and max-value in the file,
// which has one setting in a line: a name, an equals sign and a value. A # at the
// beginning of a line or behind a space begins a comment. A flag that is a list may stand in the file
// several times, or once with commas. A name that is no flag is an error, as on the
// command line.
//
//	# /etc/remora.conf
//	listen = shm:/run/remora.sock
//	listen = tcp://:7700
//	memory = 8GiB

// settings are the places of flags that were not on the command line.
type settings struct {
	env      func(name string) (string, bool) // as os.LookupEnv
	file     io.Reader                        // nil: none
	fileName string
}

// elsewhere reports whether a flag can stand elsewhere than on the command line.
func elsewhere(flag string) bool { return !slices.Contains([]string{"config", "help", "json"}, flag) }

// fill sets the flags that were not set on the command line. All mistakes are in one
// error, each with its place.
func (s *settings) fill(flags *pflag.FlagSet) error {
	lines, err := s.read(flags)
	if err != nil {
		return err
	}
	var faults []error
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Changed && elsewhere(f.Name) {
			faults = append(faults, s.fillOne(flags, f, lines[f.Name]))
		}
	})
	return errors.Join(faults...)
}

// setting is a line of the file.
type setting struct {
	line  int
	value string
}

// fillOne sets one flag, from the environment or else from the file.
func (s *settings) fillOne(flags *pflag.FlagSet, f *pflag.Flag, lines []setting) error {
	name := variable(f.Name)
	if value, ok := s.env(name); ok {
		if err := flags.Set(f.Name, value); err != nil {
			return fmt.Errorf("environment variable %s: %w", name, err)
		}
		return nil
	}
	for _, l := range lines {
		if err := flags.Set(f.Name, l.value); err != nil {
			return fmt.Errorf("%s:%d: %w", s.fileName, l.line, err)
		}
	}
	return nil
}

// variable is the name of a flag in the environment.
func variable(flag string) string {
	return "REMORA_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// read reads the file.
func (s *settings) read(flags *pflag.FlagSet) (map[string][]setting, error) {
	lines := make(map[string][]setting)
	if s.file == nil {
		return lines, nil
	}
	var faults []error
	scan := bufio.NewScanner(s.file)
	for n := 1; scan.Scan(); n++ {
		text := strings.TrimSpace(comment.ReplaceAllString(scan.Text(), ""))
		if text == "" {
			continue
		}
		name, value, ok := strings.Cut(text, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch f := flags.Lookup(name); {
		case !ok:
			faults = append(faults, fmt.Errorf("%s:%d: %q is not NAME = VALUE", s.fileName, n, text))
		case f == nil || !elsewhere(name):
			faults = append(faults, fmt.Errorf("%s:%d: there is no setting %q", s.fileName, n, name))
		case len(lines[name]) != 0 && !isList(f):
			faults = append(faults, fmt.Errorf("%s:%d: %s is already set in line %d", s.fileName, n, name, lines[name][0].line))
		default:
			lines[name] = append(lines[name], setting{n, value})
		}
	}
	if err := scan.Err(); err != nil {
		faults = append(faults, fmt.Errorf("%s: %w", s.fileName, err))
	}
	return lines, errors.Join(faults...)
}

// comment matches a comment at the end of a line.
var comment = regexp.MustCompile(`(^|\s)#.*$`)

// isList reports whether a flag may be given several times.
func isList(f *pflag.Flag) bool {
	_, ok := f.Value.(pflag.SliceValue)
	return ok
}
