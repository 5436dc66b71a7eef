package text

import "sync/atomic"

// waker wakes a core or the loop from its sleep.
type waker struct {
	asleep atomic.Bool
	wake   func() // ends the current sleep of the thread, or its next one
}

// notify wakes the thread if it sleeps. Other threads call it after they have published something (M4).
func (w *waker) notify() {
	if w.asleep.Load() { // separate from end, so that notify is inlined
		w.end()
	}
}

// end ends the sleep. If several threads call it, one of them does.
func (w *waker) end() {
	if w.asleep.CompareAndSwap(true, false) {
		w.wake()
	}
}

// beforeSleep announces a sleep. The thread must then check for work once more (M4).
func (w *waker) beforeSleep() { w.asleep.Store(true) }

// afterSleep announces that the thread is awake.
func (w *waker) afterSleep() { w.asleep.Store(false) }
