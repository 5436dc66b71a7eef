// Command filestat serves the sizes of files, and shows how errors travel.
//
//	go run ./examples/filestat shm:/tmp/s.sock -serve /etc    # serves
//	go run ./examples/filestat shm:/tmp/s.sock hosts          # calls
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
)

const stat, codeNotThere = 1, rpc.CodeUser

func main() {
	if len(os.Args) != 3 && (len(os.Args) != 4 || os.Args[2] != "-serve") {
		log.Fatal("usage: filestat ADDRESS -serve DIR | filestat ADDRESS FILE")
	}
	addr := must(fabric.ParseAddr(os.Args[1]))
	device := must(provider.New().Open(os.Args[1]))
	if len(os.Args) == 3 {
		client := must(rfp.DialClient(context.Background(), addr, rfp.ConnConfig{Device: device}))
		text, err := client.Call(context.Background(), stat, []byte(os.Args[2]), nil)
		if errors.Is(err, &rpc.Error{Code: codeNotThere}) {
			log.Fatal("there is no such file")
		}
		fmt.Printf("%s\n", must(text, err))
		return
	}
	dir, mux := os.DirFS(os.Args[3]), rpc.Mux{}
	mux.Handle(stat, func(c *rpc.Call, out []byte) ([]byte, error) {
		info, err := fs.Stat(dir, string(c.Request))
		if errors.Is(err, fs.ErrNotExist) {
			return out, &rpc.Error{Code: codeNotThere, Text: err.Error()}
		} else if err != nil {
			return out, err
		}
		return fmt.Appendf(out, "%s: %d bytes", info.Name(), info.Size()), nil
	})
	server := must(rfp.NewServer(rfp.ServerConfig{Device: device, Serve: mux.Serve}))
	must(server.Listen(addr, fabric.ListenConfig{}))
	select {}
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
