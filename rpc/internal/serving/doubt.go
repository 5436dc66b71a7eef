package serving

// Doubt bounds what it costs to look at something that a client has not written whole: each
// look that finds that its checksum does not fit doubles the number of sweeps until the next one.
// So bytes that are late delay a request by at most as long again, and a client that leaves
// garbage for ever costs a core less than one that sends requests.
type Doubt struct {
	until uint64 // the sweep of the next look
	skips uint64 // sweeps between the last look and that one
}

// maxSkips bounds the sweeps between two looks.
const maxSkips = 1 << 10

// Waits reports whether it is too early for the next look.
func (d *Doubt) Waits(sweep uint64) bool { return sweep < d.until }

// Any reports whether the last look found a checksum that does not fit.
func (d *Doubt) Any() bool { return d.skips != 0 }

// Failed notes that a look found a checksum that does not fit.
func (d *Doubt) Failed(sweep uint64) {
	d.skips = min(2*d.skips+1, maxSkips)
	d.until = sweep + d.skips
}

// Clear has the next look made at once: it fits, or there is a reason to believe so.
func (d *Doubt) Clear() { *d = Doubt{} }
