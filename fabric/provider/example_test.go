package provider_test

import (
	"fmt"

	"github.com/remora-kv/remora/fabric/provider"
)

// A device is opened by the name of its fabric or by an address of it.
func ExampleSet_Open() {
	set := provider.New()
	device, err := set.Open("shm:/run/remora.sock")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = device.Close() }()
	fmt.Println(device.Fabric())
	// Output: shm
}
