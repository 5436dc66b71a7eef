package scale

import (
	"context"
	"os"
	"os/exec"
)

// Emulator names the environment variable with the command that runs test binaries of another
// CPU, as in REMORA_EMULATOR=qemu-aarch64. It is the same command as that of go test -exec: an
// emulator of one process, which cannot make the kernel execute a program of another CPU.
const Emulator = "REMORA_EMULATOR"

// Again returns a command that executes exe, this test binary or a copy of it, once more, and
// kills it when ctx ends.
func Again(ctx context.Context, exe string, args ...string) *exec.Cmd {
	if emulator := os.Getenv(Emulator); emulator != "" {
		exe, args = emulator, append([]string{exe}, args...)
	}
	return exec.CommandContext(ctx, exe, args...)
}
