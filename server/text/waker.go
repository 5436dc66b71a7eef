package text

import "sync/atomic"

// waker wakes a thread that sleeps when it has nothing to do: a core, or the loop.
type waker struct {
	asleep atomic.Bool
	wake   func() // ends the sleep of the thread, or its next one
}

// notify wakes the thread if it sleeps. Others call it, after they have published something (M4).
func (w *waker) notify() {
	if w.asleep.Load() { // apart, so that it is inlined
		w.end()
	}
}

// end ends the sleep; one of those that call it does.
func (w *waker) end() {
	if w.asleep.CompareAndSwap(true, false) {
		w.wake()
	}
}

// beforeSleep says that the thread is about to sleep; it must look for work once more after it (M4).
func (w *waker) beforeSleep() { w.asleep.Store(true) }

// afterSleep says that the thread is awake.
func (w *waker) afterSleep() { w.asleep.Store(false) }
