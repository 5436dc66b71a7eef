package remora

// habit decides for a connection whether its gets go by links, when nobody has said so
// (WithLinks). Links were measured to be worth while for one operation at a time, and for keys
// of which enough are got again. With several on their way a frame carries more for less. So
// links are followed when operations come one by one, for as long as enough of them are found.
// A nil *habit always follows them.
type habit struct {
	lone  int // operations in a row before which nothing was on its way
	looks int // gets of this period
	found int // those of them for which there was a link, and
	hits  int // whose link led to the item
	poor  int // periods in a row with too few hits
	rest  int // operations until links are tried again
}

const (
	// habitLone is how many operations come one by one before links are used.
	habitLone = 64
	// habitFirst is for how many links there is room at first. A period has as many gets as
	// there is room for links, and where in one there were too few links (rich), there is room
	// for twice as many in the next, up to habitLinks: of 32 bytes each.
	habitFirst = 1 << 10
	habitLinks = 1 << 16
	// After habitPoor periods in a row in which too few gets went by links (worth) comes a
	// rest of habitRest periods.
	habitPoor = 4
	habitRest = 64
)

// rich says whether there were links for nearly all gets, and worth whether enough of them led
// to an item.
func rich(found, looks int) bool { return 8*found >= 7*looks }

func worth(hits, looks int) bool { return 4*hits >= looks }

// follows is told of each operation whether others are on their way, and reports whether
// it may use links.
func (h *habit) follows(busy bool) bool {
	switch {
	case h == nil:
		return true
	case busy:
		h.lone = 0
	case h.lone < habitLone:
		h.lone++
	case h.rest > 0:
		h.rest--
	default:
		return true
	}
	return false
}

// looked is told of each get whether there is a link for its key.
func (h *habit) looked(found bool, links *linkCache) {
	if h == nil {
		return
	}
	if h.looks++; found {
		h.found++
		h.hits++
	}
	if h.looks >= links.room() {
		h.judge(links)
	}
}

// vain is told that a link led nowhere.
func (h *habit) vain() {
	if h != nil && h.hits > 0 {
		h.hits--
	}
}

// judge ends a period.
func (h *habit) judge(links *linkCache) {
	hits, found, looks := h.hits, h.found, h.looks
	h.hits, h.found, h.looks = 0, 0, 0
	switch {
	case !rich(found, looks) && links.grow():
		h.poor = 0
	case worth(hits, looks):
		h.poor = 0
	default:
		if h.poor++; h.poor == habitPoor {
			h.poor, h.rest = 0, habitRest*looks
		}
	}
}
