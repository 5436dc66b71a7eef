// Package examples holds small programs that use the library; each directory is
// one of them. Its test runs them all.
package examples
