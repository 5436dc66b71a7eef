// Command mapmatch finds the street that a GPS signal belongs to, by links.
//
//	go run ./examples/mapmatch shm:/tmp/m.sock      # serves
//	go run ./examples/mapmatch shm:/tmp/m.sock 7    # matches signal 7
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

var data = app.City{Side: 100, Seed: 1} // the paper has 6 M items: app.PaperCity

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 && len(os.Args) != 3 {
		log.Fatal("usage: mapmatch ADDRESS [SIGNAL]")
	}
	ctx := context.Background()
	if len(os.Args) == 3 {
		client, err := keli.Dial(ctx, os.Args[1])
		check(err)
		session, err := client.Session()
		check(err)
		signal, err := strconv.Atoi(os.Args[2])
		check(err)
		place := data.Signal(signal)
		match, err := data.MatchByLinks(ctx, session, place)
		check(err)
		log.Printf("%+v is on %s, %.1f micro-degrees off", place, match.Street, match.Distance)
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
