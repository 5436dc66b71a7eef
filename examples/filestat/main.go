// Command filestat tells the size of files, and shows how errors travel.
//
//	filestat shm:/tmp/s.sock -serve /etc; filestat shm:/tmp/s.sock hosts
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
	addr, err := fabric.ParseAddr(os.Args[1])
	check(err)
	device, err := provider.New().Open(os.Args[1])
	check(err)
	if os.Args[2] != "-serve" {
		client, err := rfp.DialClient(context.Background(), addr, rfp.ConnConfig{Device: device})
		check(err)
		text, err := client.Call(context.Background(), stat, []byte(os.Args[2]), nil)
		if errors.Is(err, &rpc.Error{Code: codeNotThere}) {
			log.Fatal("there is no such file")
		}
		check(err)
		fmt.Printf("%s\n", text)
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
	server, err := rfp.NewServer(rfp.ServerConfig{Device: device, Serve: mux.Serve})
	check(err)
	_, err = server.Listen(addr, fabric.ListenConfig{})
	check(err)
	select {}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
