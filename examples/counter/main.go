// Command counter keeps named counters: one core, one handler at a time, no lock.
//
//	counter shm:/tmp/c.sock; counter shm:/tmp/c.sock hits 5
package main

import (
	"context"
	"encoding/binary"
	"log"
	"os"
	"strconv"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
)

const add = 1 // 8 bytes, then the name; returns 8 bytes

func main() {
	log.SetFlags(0)
	ctx := context.Background()
	addr, err := fabric.ParseAddr(os.Args[1])
	check(err)
	device, err := provider.New().Open(os.Args[1])
	check(err)
	if len(os.Args) == 4 {
		delta, err := strconv.ParseInt(os.Args[3], 10, 64)
		check(err)
		client, err := rfp.DialClient(ctx, addr, rfp.ConnConfig{Device: device})
		check(err)
		arg := binary.BigEndian.AppendUint64(nil, uint64(delta))
		sum, err := client.Call(ctx, add, append(arg, os.Args[2]...), nil)
		check(err)
		log.Print(int64(binary.BigEndian.Uint64(sum)))
		return
	}
	counters, mux := map[string]uint64{}, rpc.Mux{}
	mux.Handle(add, func(c *rpc.Call, out []byte) ([]byte, error) {
		if len(c.Request) < 8 {
			return out, &rpc.Error{Code: rpc.CodeMalformed}
		}
		name := string(c.Request[8:])
		counters[name] += binary.BigEndian.Uint64(c.Request)
		return binary.BigEndian.AppendUint64(out, counters[name]), nil
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
