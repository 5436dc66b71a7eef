package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// madeUp are the flags of a made-up command.
type madeUp struct {
	flags    *pflag.FlagSet
	listen   []string
	maxValue int
	mode     string
	config   string
}

func newMadeUp(args ...string) *madeUp {
	o := &madeUp{flags: pflag.NewFlagSet("serve", pflag.ContinueOnError)}
	o.flags.StringSliceVar(&o.listen, "listen", []string{"default"}, "")
	o.flags.IntVar(&o.maxValue, "max-value", 1, "")
	o.flags.StringVar(&o.mode, "mode", "cache", "")
	o.flags.StringVar(&o.config, "config", "", "")
	if err := o.flags.Parse(args); err != nil {
		panic(err)
	}
	return o
}

func source(env map[string]string, file string) *settings {
	s := &settings{env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }, fileName: "remora.conf"}
	if file != "" {
		s.file = strings.NewReader(file)
	}
	return s
}

// The command line comes before the environment, that before the file, and that
// before the default.
func TestSettingsPrecedence(t *testing.T) {
	file := "# a comment\n\nmode = store # or cache\nmax-value=3\t#\n listen = a \nlisten=b,c#1 # three\n"
	env := map[string]string{"REMORA_MAX_VALUE": "4", "REMORA_CONFIG": "ignored"}
	for _, c := range []struct {
		name   string
		args   []string
		env    map[string]string
		file   string
		max    int
		mode   string
		listen string
	}{
		{"defaults", nil, nil, "", 1, "cache", "default"},
		{"file", nil, nil, file, 3, "store", "a b c#1"},
		{"environment", nil, env, file, 4, "store", "a b c#1"},
		{"line", []string{"--max-value=5", "--listen=z"}, env, file, 5, "store", "z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newMadeUp(c.args...)
			if err := source(c.env, c.file).fill(o.flags); err != nil {
				t.Fatal(err)
			}
			if o.maxValue != c.max || o.mode != c.mode || !slices.Equal(o.listen, strings.Fields(c.listen)) || o.config != "" {
				t.Errorf("max-value %d, mode %s, listen %v, config %q", o.maxValue, o.mode, o.listen, o.config)
			}
		})
	}
}

// All mistakes are reported at once, each with its place.
func TestSettingsMistakes(t *testing.T) {
	o := newMadeUp()
	err := source(nil, "mode store\nmaxvalue = 3\nmode = a\nmode = b\nconfig = x\n").fill(o.flags)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`remora.conf:1: "mode store" is not NAME = VALUE`, `remora.conf:2: there is no setting "maxvalue"`,
		"remora.conf:4: mode is already set in line 3", `remora.conf:5: there is no setting "config"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	for env, file := range map[string]string{"REMORA_MAX_VALUE": "", "": "max-value = many"} {
		o := newMadeUp()
		values := map[string]string{}
		if env != "" {
			values[env] = "many"
		}
		err := source(values, file).fill(o.flags)
		if err == nil || !strings.Contains(err.Error(), "many") || !strings.Contains(err.Error(), env+"") {
			t.Errorf("%q %q: %v", env, file, err)
		}
	}
}
