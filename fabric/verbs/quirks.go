//go:build rdma

package verbs

// Quirks are where an adapter does less than the specification of verbs asks
// for, as far as this package has to know.
type Quirks struct {
	// SolicitedMissesFailures: a completion queue armed for solicited events
	// says nothing of requests that failed (Soft-RoCE). A waiter with
	// SolicitedOnly then arms for everything while requests are outstanding.
	SolicitedMissesFailures bool
	// SilentTarget: when a request of the peer breaks a queue pair here, there
	// is no event (Soft-RoCE), and a READ that fails in the middle is never
	// answered. Queue pairs are then asked for their state now and then.
	SilentTarget bool
}

// vendorRXE is what Soft-RoCE calls its vendor.
const vendorRXE = 0xffffff

// Quirks returns those of the device.
func (d *Device) Quirks() Quirks { return d.quirks }

func quirksOf(vendor uint32) Quirks {
	rxe := vendor == vendorRXE
	return Quirks{SolicitedMissesFailures: rxe, SilentTarget: rxe}
}
