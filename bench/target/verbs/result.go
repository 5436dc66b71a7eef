package verbs

import (
	"github.com/remora-kv/remora/bench"
)

// Row is one measurement: one trial of one case. Its JSON form is one line of
// `remora bench verbs --json`.
type Row struct {
	Test      string `json:"test"`
	Fabric    string `json:"fabric"`
	Transport string `json:"transport"`
	Size      int    `json:"size"`
	Inline    bool   `json:"inline"`
	Signaled  bool   `json:"signaled"`
	Window    int    `json:"window"`
	bench.Measure
	Threads int `json:"threads"`
	// QPs is the number of queue pairs of each client thread: of those who share
	// one for datagrams 1.
	QPs  int    `json:"qps"`
	Poll string `json:"poll"`
	// Lost counts the messages, or calls of an echo, that UC or UD lost.
	Lost uint64 `json:"lost,omitempty"`
	// LimitRatio is OpsPerSec as a share of the limit's at the same window and
	// size, when that was measured in the same run.
	LimitRatio *float64 `json:"limit_ratio,omitempty"`
	// Accesses is how many lines of a table of TableBytes the server loaded for
	// each request, and Prefetch, on or off, whether it asked for them ahead.
	Accesses   int    `json:"accesses,omitempty"`
	Prefetch   string `json:"prefetch,omitempty"`
	TableBytes int    `json:"table_bytes,omitempty"`
	// ReplyTransport is that of the replies, where it is not that of the requests.
	ReplyTransport string `json:"reply_transport,omitempty"`
	// Placement is what client and server shared their CPUs with, where it is not nothing.
	Placement string `json:"placement,omitempty"`
}

// memoryFabric and noTransport are what a row says whose test involves no fabric.
const (
	memoryFabric = "memory"
	noTransport  = "none"
)

// rowOf makes the row of one trial. Whose CPU time was used is not said but of idle: both
// sides spin.
func rowOf(c *Case, m bench.Measure, lost uint64) Row {
	m.ClientCPU, m.ServerCPU = nil, nil
	row := Row{
		Test: c.Test, Fabric: c.Fabric, Transport: c.Transport.String(), Size: c.Size,
		Inline: c.Inline, Signaled: c.Signaled, Window: c.Window,
		Measure: m,
		Threads: c.Threads, QPs: c.QPs, Poll: c.Poll.String(), Lost: lost,
	}
	if !c.sharing().Own() {
		row.Placement = c.Placement
	}
	if c.crowded() {
		row.QPs = 1
	}
	if c.mails() {
		row.ReplyTransport = c.ReplyTransport.String()
	}
	if c.Accesses > 0 {
		row.Accesses, row.Prefetch, row.TableBytes = c.Accesses, onOff(c.Prefetch), c.Table
	}
	if c.Kind == kindLimit {
		row.Transport, row.Poll = noTransport, "busy"
	}
	return row
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
