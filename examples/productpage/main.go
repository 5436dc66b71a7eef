// Command productpage writes the page of a product with its reviews, by links.
//
//	go run ./examples/productpage shm:/tmp/p.sock      # serves
//	go run ./examples/productpage shm:/tmp/p.sock 7    # writes the page of product 7
package main

import (
	"bytes"
	"context"
	"log"
	"os"
	"strconv"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/kvl/app"
	"github.com/remora-kv/remora/kvl/keli"
)

var data = app.Shop{Products: 1200, Reviews: 20_000, Users: 6000, Seed: 1} // the paper has ten times that: app.PaperShop

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 && len(os.Args) != 3 {
		log.Fatal("usage: productpage ADDRESS [PRODUCT]")
	}
	ctx := context.Background()
	if len(os.Args) == 3 {
		client, err := keli.Dial(ctx, os.Args[1])
		check(err)
		session, err := client.Session()
		check(err)
		product, err := strconv.Atoi(os.Args[2])
		check(err)
		var page bytes.Buffer
		err = data.PageByLinks(ctx, session, product, &page)
		check(err)
		log.Print(page.String())
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
