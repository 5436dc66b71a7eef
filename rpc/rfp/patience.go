package rfp

// patience is how many polls a client waits before the first READ of an answer, in
// 1/16: one number for answers to a request that was sent when no other was on its
// way, and one for answers that follow others, whose requests have been with the
// server for a while. It is learned, so that about one first READ in thirty fails.
type patience [2]int32

const (
	alone     = 0
	following = 1
)

// maxPatience bounds it. It is longer than what makes a call slow, so that calls
// which are nearly slow are fetched in time.
const maxPatience = 1 << 9

// polls is the patience for an answer.
func (p *patience) polls(follows int) int { return int(p[follows] >> 4) }

// hit is told that the first READ of an answer has brought it.
func (p *patience) hit(follows int) {
	if n := p[follows]; n > 0 {
		p[follows] = n - 1 - n>>10
	}
}

// missed is told that it has not.
func (p *patience) missed(follows int) {
	n := p[follows]
	p[follows] = min(n+20+n>>5, maxPatience<<4)
}

// lower makes it so many polls at most.
func (p *patience) lower(polls int) {
	most := int32(min(polls, maxPatience) << 4)
	p[alone], p[following] = min(p[alone], most), min(p[following], most)
}
