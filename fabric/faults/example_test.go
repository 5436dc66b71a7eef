package faults_test

import (
	"context"
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/faults"
	"github.com/remora-kv/remora/fabric/loop"
)

func Example() {
	inner, err := loop.NewNetwork().NewDevice("a")
	if err != nil {
		panic(err)
	}
	plan, err := faults.ParsePlan("seed=42; ud.drop=30%")
	if err != nil {
		panic(err)
	}
	dev := faults.Wrap(inner, plan)
	defer dev.Close()

	dom, _ := dev.NewDomain()
	cq, _ := dev.NewCQ(64)
	cfg := fabric.QPConfig{Transport: fabric.UD, Domain: dom, SendCQ: cq, RecvCQ: cq, SendDepth: 16, RecvDepth: 16}
	qp, err := dom.NewUD(cfg)
	if err != nil {
		panic(err)
	}
	defer qp.Close()
	to, err := dom.NewAddressHandle(context.Background(), qp.Address())
	if err != nil {
		panic(err)
	}
	for range 10 {
		if _, err := qp.Post([]fabric.WR{{Op: fabric.OpSend, To: to}}); err != nil {
			panic(err)
		}
	}
	fmt.Println(dev.Struck())
	// Output: [{0 2 drop} {0 5 drop} {0 6 drop}]
}
