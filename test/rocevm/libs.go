package rocevm

import (
	"bufio"
	"context"
	"debug/elf"
	"fmt"
	"slices"
	"strings"
)

// dynamic reports whether a file is a program or library that needs others at
// run time.
func dynamic(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return f.SectionByType(elf.SHT_DYNAMIC) != nil
}

// sharedLibraries returns the paths of the libraries that the files given load,
// the dynamic loader among them, sorted.
func sharedLibraries(ctx context.Context, files []string) ([]string, error) {
	var ask []string
	for _, f := range files {
		if dynamic(f) {
			ask = append(ask, f)
		}
	}
	if len(ask) == 0 {
		return nil, nil
	}
	text, err := output(ctx, "", "ldd", ask...)
	if err != nil {
		return nil, err
	}
	return parseLdd(text)
}

// parseLdd reads what ldd printed about one or several files.
func parseLdd(text string) ([]string, error) {
	found := make(map[string]bool)
	var missing []string
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		line, indented := strings.CutPrefix(lines.Text(), "\t")
		if !indented {
			continue // the name of the next file
		}
		name, target, arrow := strings.Cut(line, " => ")
		if !arrow {
			target = name
		}
		target, _, _ = strings.Cut(target, " (0x")
		switch {
		case strings.HasPrefix(target, "/"):
			found[target] = true
		case target == "not found":
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("rocevm: shared libraries missing on the host: %s; install their packages", strings.Join(missing, ", "))
	}
	paths := make([]string, 0, len(found))
	for p := range found {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return paths, lines.Err()
}
