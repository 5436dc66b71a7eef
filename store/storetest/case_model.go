package storetest

func modelCases() []*testCase {
	return join(
		both("S1/model", ruleGet, func(t *trial) { randomPrograms(t, 300, 100) }),
		both("S1/model-long", ruleNever, func(t *trial) { randomPrograms(t, 10, 4000) }),
	)
}

// randomPrograms plays programs of random bytes. It shortens a program that fails
// before it shows it.
func randomPrograms(t *trial, programs, commands int) {
	for i := range t.times(programs) {
		id := t.seed + uint64(i)
		program := pattern(id, headerSize+commands*commandSize)
		err := play(t.engine, program, t.mode)
		if err == nil {
			continue
		}
		program = shrink(program, func(p []byte) bool { return play(t.engine, p, t.mode) != nil })
		t.Fatalf("program %d: %v\nmade shorter: %v\n%s", id, err, play(t.engine, program, t.mode), listing(program, t.mode))
	}
}
