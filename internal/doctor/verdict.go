package doctor

// verdicts says of each fabric whether it is usable (D3).
func (p *patient) verdicts() []Verdict {
	loop := Verdict{Fabric: "loop", For: "one process, tests", Address: "loop:name"}
	shm := Verdict{Fabric: "shm", For: "processes of this host", Address: "shm:" + or(p.socket, "/run/remora.sock")}
	tcp := Verdict{Fabric: "tcp", For: "any two hosts", Address: "tcp://host:port"}
	verbs := Verdict{Fabric: "verbs", For: "hosts with RDMA", Address: "rdma://" + or(p.rdmaHost, "host") + ":port"}
	shm.need(p.noMemfd, p.noUnix)
	tcp.need(p.noTCP)
	verbs.need(p.noBinary, p.noLibraries, p.noNode, p.noHW)
	out := []Verdict{loop, shm, tcp, verbs}
	for i := range out {
		v := &out[i]
		if v.Usable = len(v.Reasons) == 0; !v.Usable {
			v.Mark = No
		}
	}
	if t := &out[2]; t.Usable && p.noUDP != "" {
		t.Mark, t.Reasons = Warn, []string{p.noUDP}
	}
	return out
}

// need adds the reasons that are not empty.
func (v *Verdict) need(reasons ...string) {
	for _, r := range reasons {
		if r != "" {
			v.Reasons = append(v.Reasons, r)
		}
	}
}
