// Command counter keeps named counters: one core, one handler at a time, no lock.
//
//	go run ./examples/counter shm:/tmp/c.sock            # serves
//	go run ./examples/counter shm:/tmp/c.sock hits 5     # calls
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
	if len(os.Args) != 2 && len(os.Args) != 4 {
		log.Fatal("usage: counter ADDRESS [NAME DELTA]")
	}
	ctx := context.Background()
	addr := must(fabric.ParseAddr(os.Args[1]))
	device := must(provider.New().Open(os.Args[1]))
	if len(os.Args) == 4 {
		delta := must(strconv.ParseInt(os.Args[3], 10, 64))
		client := must(rfp.DialClient(ctx, addr, rfp.ConnConfig{Device: device}))
		arg := binary.BigEndian.AppendUint64(nil, uint64(delta))
		sum := must(client.Call(ctx, add, append(arg, os.Args[2]...), nil))
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
