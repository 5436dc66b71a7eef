package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/server"
)

func newStatsCmd(a *app) *cobra.Command {
	o := &clientOptions{}
	perClient := false
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show the contents, load and memory of a server",
		Long: `Show the contents, load and memory of a server: fabrics and their verbs, clients,
operations, hits, evictions, memory by purpose. With --json there is one line per core;
core 0 also reports what belongs to the whole server. Of a server of items with links
it shows the same as remora kvl stats.`,
		Example: `  remora stats
  remora stats --per-client
  remora stats --json | jq .store.evicted`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if perClient && a.json {
				return misuse("--per-client has no effect with --json, which always has the clients")
			}
			err := o.withCache(cmd, func(ctx context.Context, c *remora.Client) error { return a.cacheStats(ctx, c, perClient) })
			if !servesItems(err) {
				return err
			}
			if perClient {
				return misuse("--per-client is for a cache: %s serves items with links", o.server)
			}
			return o.withItems(cmd, a.itemStats)
		},
	}
	cmd.Flags().BoolVar(&perClient, "per-client", false, "show each client, with R, F and batch size")
	o.define(cmd)
	return cmd
}

func (a *app) cacheStats(ctx context.Context, c *remora.Client, perClient bool) error {
	docs, err := c.Stats(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return a.statsLines(docs)
	}
	cores := make([]server.Stats, len(docs))
	for i, doc := range docs {
		if err := json.Unmarshal(doc, &cores[i]); err != nil {
			return fmt.Errorf("statistics of core %d: %w", i, err)
		}
	}
	return writeStats(a.out, cores, perClient)
}

func (a *app) statsLines(docs []json.RawMessage) error {
	for _, doc := range docs {
		if _, err := fmt.Fprintf(a.out, "%s\n", doc); err != nil {
			return err
		}
	}
	return nil
}

// writeStats writes the statistics of all cores as tables.
func writeStats(out io.Writer, cores []server.Stats, perClient bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	s := &cores[0]
	row(w, "server", s.Version+", up "+(time.Duration(s.UptimeMS)*time.Millisecond).Round(time.Second).String())
	row(w, "listening", strings.Join(s.Listen, ", "))
	row(w, "cache", fmt.Sprintf("%s engine, %s mode, %s polling, %s", s.Engine, s.Mode, s.Poll, plural(s.Cores, "core")))
	for i := range s.Fabrics {
		f := &s.Fabrics[i]
		row(w, "fabric "+f.Fabric, fmt.Sprintf("%s; by clients: %s; by the server: %s; %d errors", f.Device, countsText(f.In), countsText(f.Out), f.Errors))
	}
	if r := s.Readers; r != nil {
		row(w, "readers", fmt.Sprintf("%d clients read directly, %d since the start; %s, %s", r.Clients, r.Connects, countsText(r.Verbs), bytesText(int64(r.Bytes))))
	}
	row(w, "memory", bytesText(s.RSS)+" in RAM:")
	for _, m := range s.Memory {
		row(w, "", fmt.Sprintf("%s of %s %s", bytesText(m.Resident), bytesText(m.Bytes), m.Purpose))
	}
	row(w, "")
	writeCores(w, cores)
	if perClient {
		row(w, "")
		writeClients(w, cores)
	}
	return w.Flush()
}

func row(w io.Writer, cells ...string) { _, _ = fmt.Fprintln(w, strings.Join(cells, "\t")) }

// plural writes a number of things.
func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// countsText writes counts by name.
func countsText(counts map[string]uint64) string {
	if len(counts) == 0 {
		return "none"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[name], name))
	}
	return strings.Join(parts, ", ")
}

func writeCores(w io.Writer, cores []server.Stats) {
	row(w, "core", "clients", "gets", "hits", "puts", "deletes", "items", "keys+values", "used of memory", "evicted", "expired", "refused")
	for i := range cores {
		c := &cores[i]
		st := &c.Store
		hits := "-"
		if st.Gets != 0 {
			hits = fmt.Sprintf("%.1f %%", 100*float64(st.Hits)/float64(st.Gets))
		}
		row(w, fmt.Sprint(c.Core), fmt.Sprint(c.RPC.Clients), fmt.Sprint(st.Gets), hits, fmt.Sprint(st.Puts), fmt.Sprint(st.Deletes),
			fmt.Sprint(st.Items), bytesText(st.KeyBytes+st.ValueBytes),
			bytesText(st.IndexBytes+st.ItemBytes)+" of "+bytesText(st.Memory),
			fmt.Sprint(st.Evicted), fmt.Sprint(st.Expired), fmt.Sprint(st.Refused))
	}
}

func writeClients(w io.Writer, cores []server.Stats) {
	row(w, "core", "client", "fabric", "calls", "window", "batch", "R", "F", "replies", "polled", "memory")
	for i := range cores {
		for _, c := range cores[i].Sessions {
			row(w, fmt.Sprint(cores[i].Core), c.Peer, c.Fabric, fmt.Sprint(c.Calls), fmt.Sprint(c.Window), fmt.Sprint(c.Batch),
				fmt.Sprint(c.R), fmt.Sprint(c.F), fmt.Sprint(c.Replies), fmt.Sprint(c.Hot), bytesText(int64(c.Memory)))
		}
	}
}
