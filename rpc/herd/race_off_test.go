//go:build !race

package herd_test

const raceBuild = false
