package rfp

// attempts are the READs for one answer after another: when the next one is due, and
// how many have failed. Time is counted in polls.
type attempts struct {
	follows int // 1 where the answer follows another, 0 where it was sent for alone
	tries   int // failed READs for it, with those that patience has saved
	pauses
	pausing int // the last of them, at first patience

	readPolls int // what a READ takes
	overdue   int // the patience that stands for more than R of them
}

const (
	// retryPause is how many polls lie at least between the first two READs for the
	// same frame. That is twice as much for each further one, and to it comes half of
	// what was waited before. So R READs cover a time that goes with what this
	// fabric's calls take, however cheap a READ is. R = 5 in memory of one host are
	// more than three microseconds: there replies cost next to nothing, and at half of
	// that time they would cost a tenth.
	retryPause = 6
	// maxPause bounds these pauses.
	maxPause = 1 << 10
	// leastReadPolls is what a READ takes where it is over when it is posted.
	leastReadPolls = 10
)

// pauses are those between the READs for one answer.
type pauses struct {
	retries int // how many there were
	waited  int // polls in all of them, and in patience
}

// another is how many polls lie before one more READ.
func (p *pauses) another() int {
	n := min(retryPause<<min(p.retries, 8)+p.waited/2, maxPause)
	p.retries++
	p.waited += n
	return n
}

// readsIn is how many READs would have failed in so many polls, had there been no
// patience.
func readsIn(polls, readPolls int) (n int) {
	var p pauses
	for ; polls >= readPolls; n++ {
		polls -= readPolls + p.another()
	}
	return n
}

// pollsOf is the least number of polls in which n READs would have failed, or one
// that no patience reaches.
func pollsOf(n, readPolls int) int {
	var p pauses
	polls := readPolls
	for i := 1; i < n && polls <= maxPatience; i++ {
		polls += readPolls + p.another()
	}
	return polls
}

// allow sets R.
func (a *attempts) allow(retries int) {
	a.readPolls = max(a.readPolls, leastReadPolls)
	a.overdue = pollsOf(retries+1, a.readPolls)
}

// took is told how many polls a READ was on its way, and R.
func (a *attempts) took(polls, retries int) {
	a.readPolls += (max(polls, leastReadPolls) - a.readPolls) / 8
	a.allow(retries)
}

// begin is told of an answer to be waited for, and of the patience for it.
func (a *attempts) begin(p *patience, follows int) {
	a.follows = follows
	a.pausing = p.polls(follows)
	a.retries, a.waited = 0, a.pausing
}

// reset forgets what was done for an answer.
func (a *attempts) reset() { a.tries, a.pausing, a.retries, a.waited = 0, 0, 0, 0 }

// hit is told that a READ has brought the answer, and reports whether READs were
// saved that count: one that was patiently waited for is as slow as one that was
// asked for in vain.
func (a *attempts) hit(p *patience) bool {
	if a.tries != 0 {
		return false
	}
	p.hit(a.follows)
	return a.pausing >= a.overdue
}

// saved is how many READs were.
func (a *attempts) saved() int { return readsIn(a.pausing, a.readPolls) }

// missed is told that a READ has failed, and returns how many have. The next one is
// due after pausing.
func (a *attempts) missed(p *patience) int {
	failed := a.tries + 1
	if a.tries == 0 {
		failed = max(readsIn(a.pausing+a.readPolls, a.readPolls), 1)
		p.missed(a.follows)
	}
	a.pausing = a.another()
	return failed
}
