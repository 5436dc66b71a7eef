package main

import (
	"strings"
	"testing"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric/provider"
)

// Clients that read without the server are shown, on all paths on which they do.
func TestStatsOfReaders(t *testing.T) {
	bare(t)
	for name, c := range map[string]struct {
		args []string
		opts []remora.Option
	}{
		"links": {[]string{"--direct-reads", "on"}, []remora.Option{remora.WithLinks(8)}},
		"pilaf": {[]string{"--engine", "cuckoo"}, []remora.Option{remora.WithPath(remora.PathPilaf)}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, 1, nil, append(c.args, "--listen", shmURL(t))...)
			if st := s.stats()[0].Readers; st == nil || st.Clients != 0 || st.Connects != 0 || len(st.Verbs) != 0 {
				t.Errorf("before there are readers: %+v", st)
			}
			dev, err := provider.New().Open(provider.Shm)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = dev.Close() }()
			client, err := remora.Dial(t.Context(), s.urls[0], append(c.opts, remora.WithDevice(dev))...)
			if err != nil {
				t.Fatal(err)
			}
			s.ok("set", "k", "v")
			for range 3 {
				if _, err := client.Get(t.Context(), "k"); err != nil {
					t.Fatal(err)
				}
			}
			if st := s.stats()[0].Readers; st.Clients != 1 || st.Connects != 1 || st.Verbs["READ"] == 0 || st.Bytes == 0 {
				t.Errorf("%+v", st)
			}
			if text := s.ok("stats"); !strings.Contains(text, "1 clients read directly, 1 since the start") {
				t.Errorf("%s", text)
			}
			if err := client.Close(); err != nil {
				t.Error(err)
			}
			s.end()
		})
	}
	for _, args := range [][]string{{"--direct-reads", "off"}, {}, {"--engine", "lru8"}} {
		s := serve(t, 1, nil, append(args, "--listen", shmURL(t))...)
		if st := s.stats()[0].Readers; st != nil {
			t.Errorf("with %v nobody can read, and yet: %+v", args, st)
		}
		s.end()
	}
}
