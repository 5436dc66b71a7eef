package bench

import "runtime"

// NoteServer notes where the server is: in this process (loop), started by a command of the
// user (remote), or a process of its own.
func (r *Runner[C, R]) NoteServer(loop, remote bool) {
	switch {
	case loop:
		r.Report.Note("loop: client and server are threads of one process")
	case remote:
		r.Report.Note("server: started by --server-command; garbage collection is off in both while measuring")
	default:
		r.Report.Note("server: a process of its own; garbage collection is off in both while measuring")
	}
}

// NoteClock notes what times are read from.
func (r *Runner[C, R]) NoteClock() {
	r.Report.Note("clock: time-stamp counter at %.0f MHz, %.1f ns to read, which a timed operation includes once",
		r.Scale.PerSecond()/1e6, r.Scale.Overhead())
}

// NoteProgram notes how idle threads wait, and what the program was built by and for.
func (r *Runner[C, R]) NoteProgram(waiting string) {
	r.Report.Note("waiting: %s; %s %s/%s", waiting, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
