package main

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/kvl/keli"
)

func newKVLStatsCmd(a *app) *cobra.Command {
	o := &clientOptions{}
	cmd := &cobra.Command{
		Use:     "stats",
		Short:   "Show the contents, load and memory of a server",
		Long:    "Show the contents, load and memory of a server of items with links.",
		Example: "  remora kvl stats\n  remora kvl stats --json | jq .image.Items",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.withItems(cmd, a.itemStats) },
	}
	o.defineForItems(cmd)
	return cmd
}

// itemStats prints the statistics of a server of items with links.
func (a *app) itemStats(ctx context.Context, c *keli.Client) error {
	st, err := c.Stats(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return json.NewEncoder(a.out).Encode(st)
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	row(w, "generation", fmt.Sprintf("%d, built in %v; %d earlier ones until their lease (%v) ends", st.Generation, st.LastBuild.Round(time.Millisecond), st.Old, st.Lease))
	row(w, "published", fmt.Sprintf("%d generations; %d failed", st.Published, st.Failed))
	if st.LastFailed {
		row(w, "last failure", st.LastFailure)
	}
	row(w, "items", fmt.Sprintf("%d items, %d links, %d lists, %s", st.Image.Items, st.Image.Links, st.Image.Lists, bytesText(st.Image.Bytes)))
	row(w, "lookups", fmt.Sprintf("%d; %d without an item, %d for a generation that is over; %s", st.Lookups, st.Missing, st.Stale, plural(st.Cores, "core")))
	for _, m := range st.Memory {
		row(w, "memory", bytesText(m.Bytes)+" "+m.Purpose)
	}
	return w.Flush()
}
