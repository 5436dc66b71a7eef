package serving

// List is sessions of a core that it looks at for some reason, in no order. Adding and
// removing take the same time however many there are. The zero value is an empty list.
type List[T any] struct {
	All    []*T // for loops
	places []*Place
}

// Place is where a session is in a list. Each session has one for each list. The zero
// value is that of a session which is not in it.
type Place struct {
	at int // counted from 1
}

// In reports whether the session is in the list.
func (p *Place) In() bool { return p.at != 0 }

// Add puts a session into the list, unless it is there.
func (l *List[T]) Add(s *T, p *Place) {
	if p.at == 0 {
		l.All, l.places = append(l.All, s), append(l.places, p)
		p.at = len(l.All)
	}
}

// Remove takes a session out, if it is there. The last one gets its place.
func (l *List[T]) Remove(p *Place) {
	if p.at == 0 {
		return
	}
	at, last := p.at-1, len(l.All)-1
	l.All[at], l.places[at] = l.All[last], l.places[last]
	l.places[at].at = p.at
	l.All[last], l.places[last] = nil, nil
	l.All, l.places = l.All[:last], l.places[:last]
	p.at = 0
}

// RemoveIf takes out the sessions for which remove reports true. remove itself may take out
// the session that it was given.
func (l *List[T]) RemoveIf(remove func(*T) bool) {
	for i := len(l.All) - 1; i >= 0; i-- {
		if p := l.places[i]; remove(l.All[i]) {
			l.Remove(p)
		}
	}
}
