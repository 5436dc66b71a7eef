// Package suite is the frame that every benchmark runs in: it learns what the
// device can do, measures case after case, says which, and gives an error the name
// of its case.
package suite
