package server_test

import (
	"fmt"
	"testing"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/faults"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/test/scale"
)

// What clients see has one order, too, where READs look at lines of memory in any order, or twice,
// and WRITEs are placed in any order: on all paths, by links and by searches.
func TestHistoryOfDisorder(t *testing.T) {
	for _, c := range []struct {
		name, engine string
		large        bool
		join         func(c *crowd, dial func(...remora.Option) *remora.Client)
	}{
		{"paths", "mica", false, (*crowd).joinAll},
		{"large", "mica", true, (*crowd).joinAll},
		{"links", "mica", false, joinLinked},
		{"pilaf", "", false, joinSearching(remora.PathPilaf)},
		{"farm", "", false, joinSearching(remora.PathFarm)},
		{"onesided", "", false, joinSearching(remora.PathOneSided)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, disorderOn())
			cfg := r.linked()
			if cfg.Engine = c.engine; c.engine == "" {
				cfg.Engine = server.Engine(c.name)
			}
			crowd := newCrowd(t, 4, scale.Times(100))
			crowd.large = c.large
			var devices []*faults.Device
			wrap := func(d fabric.Device) fabric.Device {
				plan, err := faults.ParsePlan(fmt.Sprintf("seed=%d; rc.shuffle=30%%; rc.replay=10%%; uc.shuffle=30%%", crowd.seed+uint64(len(devices))))
				if err != nil {
					t.Fatal(err)
				}
				devices = append(devices, faults.Wrap(d, plan))
				return devices[len(devices)-1]
			}
			r.start(cfg.Behind(wrap))
			c.join(crowd, func(opts ...remora.Option) *remora.Client { return dialOn(t, r.url, wrap(r.device()), opts...) })
			crowd.start()
			crowd.check(r.dial)
			struck := 0
			for _, d := range devices {
				struck += len(d.Struck())
			}
			if struck < crowd.each {
				t.Errorf("%d operations were struck", struck)
			}
		})
	}
}

// disorderOn is a fabric on which the race detector does not see what clients READ while it
// changes, which is judged by its checksum.
func disorderOn() string {
	if scale.Race {
		return provider.Shm
	}
	return provider.Loop
}

func joinLinked(c *crowd, dial func(...remora.Option) *remora.Client) {
	for range 2 {
		client := dial(append(patient(), remora.WithLinks(100))...)
		c.join(client)
		c.join(sessionPatiently(c.t, client))
	}
	c.join(dial(patient()...))
}

func joinSearching(path remora.Path) func(c *crowd, dial func(...remora.Option) *remora.Client) {
	return func(c *crowd, dial func(...remora.Option) *remora.Client) {
		c.joinBy(path, dial)
		c.join(dial(patient()...))
	}
}
