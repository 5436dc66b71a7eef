package main

import "github.com/spf13/cobra"

func newKVLCmd(a *app) *cobra.Command {
	cmd := newGroup(&cobra.Command{
		Use:   "kvl COMMAND",
		Short: "Serve a database as items with links, and read it",
		Long: `Serve a database as items with links, and read it. Rows become items and references
become links: a client that holds an item follows each of its links with one READ,
bypassing the CPU of the server.`,
		Example: `  remora kvl check university.db             what a server would hold
  remora kvl serve university.db
  remora kvl get student/stu001
  remora kvl walk student/stu001 --depth 2`,
	})
	cmd.AddCommand(newKVLServeCmd(a), newKVLCheckCmd(a), newKVLGetCmd(a), newKVLWalkCmd(a), newKVLReloadCmd(a), newKVLStatsCmd(a))
	return cmd
}
