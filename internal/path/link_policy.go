package path

// linkPolicy decides for a connection whether its gets follow links, where the user did not
// decide (WithLinks). Links are faster for one operation at a time, if enough of the keys are
// got again; with several operations in flight a frame carries more for less (docs/results). So links are followed when operations come one by one, for as long as enough of
// them lead to an item. A nil *linkPolicy always follows them.
type linkPolicy struct {
	alone int // operations in a row that found nothing in flight
	looks int // gets of this period
	found int // those for which there was a link
	hits  int // those whose link led to the item
	poor  int // periods in a row with too few hits
	rest  int // operations until links are tried again
}

const (
	// aloneBefore is how many operations come one by one before links are followed.
	aloneBefore = 64
	// firstAutoLinks is how many links there is room for at first. A period has as many gets
	// as there is room for links. After a period in which too many links were missing
	// (enoughFound) there is room for twice as many, up to maxAutoLinks of 32 bytes each.
	firstAutoLinks = 1 << 10
	maxAutoLinks   = 1 << 16
	// After poorPeriods periods in a row with too few hits (enoughHits) links are not
	// followed for restPeriods periods.
	poorPeriods = 4
	restPeriods = 64
)

// enoughFound reports whether there were links for nearly all gets.
func enoughFound(found, looks int) bool { return 8*found >= 7*looks }

// enoughHits reports whether enough gets were served by links.
func enoughHits(hits, looks int) bool { return 4*hits >= looks }

// follows notes an operation, before which others are in flight or not, and reports whether it
// may follow a link.
func (p *linkPolicy) follows(busy bool) bool {
	switch {
	case p == nil:
		return true
	case busy:
		p.alone = 0
	case p.alone < aloneBefore:
		p.alone++
	case p.rest > 0:
		p.rest--
	default:
		return true
	}
	return false
}

// looked notes a get that looked for a link.
func (p *linkPolicy) looked(found bool, links *linkCache) {
	if p == nil {
		return
	}
	if p.looks++; found {
		p.found++
		p.hits++
	}
	if p.looks >= links.room() {
		p.endPeriod(links)
	}
}

// missed notes that a link did not lead to its item.
func (p *linkPolicy) missed() {
	if p != nil && p.hits > 0 {
		p.hits--
	}
}

// endPeriod judges a period and begins the next.
func (p *linkPolicy) endPeriod(links *linkCache) {
	hits, found, looks := p.hits, p.found, p.looks
	p.hits, p.found, p.looks = 0, 0, 0
	switch {
	case !enoughFound(found, looks) && links.grow():
		p.poor = 0
	case enoughHits(hits, looks):
		p.poor = 0
	default:
		if p.poor++; p.poor == poorPeriods {
			p.poor, p.rest = 0, restPeriods*looks
		}
	}
}
