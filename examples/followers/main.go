// Command followers counts the users that can be reached from a user by links.
//
//	go run ./examples/followers shm:/tmp/f.sock      # serves
//	go run ./examples/followers shm:/tmp/f.sock 7    # walks from user 7
package main

import (
	"context"
	"log"
	"os"
	"strconv"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/kvl/app"
	"github.com/remora-kv/remora/kvl/keli"
)

var data = app.Graph{Nodes: 10_000, Edges: 220_000, Seed: 1} // the paper has 1 M and 22 M: app.PaperGraph

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 && len(os.Args) != 3 {
		log.Fatal("usage: followers ADDRESS [USER]")
	}
	ctx := context.Background()
	if len(os.Args) == 3 {
		client, err := keli.Dial(ctx, os.Args[1])
		check(err)
		session, err := client.Session()
		check(err)
		user, err := strconv.Atoi(os.Args[2])
		check(err)
		reach, err := data.SearchByLinks(ctx, session, user, 0)
		check(err)
		log.Printf("%d users, %d edges, %d steps away at most", reach.Users, reach.Edges, reach.Depth)
		return
	}
	addr, err := fabric.ParseAddr(os.Args[1])
	check(err)
	device, err := provider.New().Open(os.Args[1])
	check(err)
	_, err = app.Serve(ctx, device, addr, data.Links)
	check(err)
	select {}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
